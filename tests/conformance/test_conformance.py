"""The official conformance suite, over HTTP. What is not offered stands in a file, and nothing else may fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SUITE = Path("node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
WITHIN = 300  # seconds; on an idle machine it takes a tenth of them

# Prompts, completion, sampling and roots are not offered.
NOT_OFFERED = {
    "2025-11-25": {
        "completion-complete",
        "tools-call-sampling",
        "prompts-list",
        "prompts-get-simple",
        "prompts-get-with-args",
        "prompts-get-embedded-resource",
        "prompts-get-with-image",
    },
    "2026-07-28": {
        "completion-complete",
        "prompts-list",
        "prompts-get-simple",
        "prompts-get-with-args",
        "prompts-get-embedded-resource",
        "prompts-get-with-image",
        "caching",  # of its eight checks the one of prompts/list
        "input-required-result-basic-sampling",
        "input-required-result-basic-list-roots",
        "input-required-result-multiple-input-requests",  # sampling and roots among them
        "input-required-result-non-tool-request",  # a prompt
        "input-required-result-capability-check",  # sampling
    },
}
_LINE = re.compile(r"^([✓✗]) ([\w-]+): (\d+) passed, (\d+) failed$", re.MULTILINE)


@pytest.fixture
def url(tmp_path):
    """Where a server with the suite's fixtures answers."""
    command = [sys.executable, str(HERE / "server.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=os.environ) as server:
        yield server.stdout.readline().strip()
        server.terminate()


@pytest.mark.timeout(WITHIN + 30)
@pytest.mark.parametrize("revision", NOT_OFFERED)
def test_the_official_suite_finds_wrong_only_what_is_not_offered(revision, url, npm_folder, node22, tmp_path):
    suite = npm_folder(HERE / "package.json") / SUITE
    words = [str(node22), str(suite), "server", "--url", url, "--requirements", revision, "-o", str(tmp_path / "out")]
    run = subprocess.run(words, capture_output=True, text=True, timeout=WITHIN, cwd=tmp_path, check=False)
    found = {name: mark for mark, name, *_ in _LINE.findall(run.stdout)}
    assert len(found) >= 30, run.stdout[-2000:] + run.stderr[-2000:]
    assert {name for name, mark in found.items() if mark == "✗"} == NOT_OFFERED[revision], run.stdout[-6000:]
