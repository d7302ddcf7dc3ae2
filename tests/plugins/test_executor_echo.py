"""The plugin that people copy."""

from __future__ import annotations

from pathlib import Path

import executor_echo
from executor import PluginRegistry, ToolExecutor
from executor.testing import check_plugin


def test_it_says_the_text_back_and_shows_it_word_by_word(recorder):
    registry = PluginRegistry(entry_points=False)
    registry.expose("echo")
    with ToolExecutor(registry=registry) as executor:
        assert executor.execute("echo", {"text": "one two"}, recorder) == (True, {"text": "one two"})
    assert recorder.chunks == ["one\n", "two\n"]


def test_it_passes_the_checks_for_plugin_authors_and_stays_short():
    assert check_plugin(executor_echo) == []
    assert len(Path(executor_echo.__file__).read_text(encoding="utf-8").splitlines()) <= 30
