"""The vendors' own types take what is made here, and their objects are read as the dicts are."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from executor import models

HERE = Path(__file__).parent / "vendors"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def findings(pip_folder):
    python = pip_folder(HERE / "requirements.txt") / "bin" / "python"
    done = subprocess.run(
        [python, HERE / "check.py"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("form", models.FORMS)
def test_the_vendor_takes_every_message_and_tool_and_its_objects_are_read(findings, form):
    assert findings[form] == []
