"""The figures are what their script draws, and name what is there."""

from __future__ import annotations

import runpy
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from executor import TaskStatus

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture
def drawing(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)  # as for a script: it imports the one beside it
    return runpy.run_path(str(DOCS / "draw_figures.py"))


def test_the_figures_are_what_is_drawn(drawing):
    for path, draw in drawing["FIGURES"].items():
        assert path.read_text(encoding="utf-8") == draw(), "run: python docs/draw_figures.py"
        assert ET.fromstring(draw()).tag == "{http://www.w3.org/2000/svg}svg"


def test_every_state_is_shown_and_every_final_one_is_reached(drawing):
    shown = [element.text for element in ET.fromstring(drawing["states"]()).iter() if element.text]
    for state in TaskStatus:
        assert shown.count(state.value) == 1
    assert list(drawing["ENDS"]) == [state for state in TaskStatus if state.final]


def test_the_steps_of_the_judgement_are_those_of_the_page(drawing):
    page = (DOCS / "permissions.md").read_text(encoding="utf-8")
    steps = page.partition("## The order of judgement\n")[2].partition("\n## ")[0]
    numbered = [line for line in steps.splitlines() if line[:1].isdigit()]
    assert len(numbered) == len(drawing["JUDGING"])
    words = ("judged", "blacklist", "ask", "whitelist", "defaultPolicy")
    for word, line, (question, *_) in zip(words, numbered, drawing["JUDGING"], strict=True):
        assert word in question
        assert word.lower() in line.lower()
