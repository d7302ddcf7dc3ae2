"""
Processes of two Pythons with different SQLites, at work on one store at once.

Another Python is looked for on PATH; ``TOOLEXEC_TEST_PYTHON`` is the command of one that is elsewhere. It has to have
what this package needs, and to see the same files.
"""

from __future__ import annotations

import os
import random
import shlex
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.test_tasks_torture import ROOT, torture

NAMED = os.environ.get("TOOLEXEC_TEST_PYTHON")  # read here: tests run without such variables
KILLS = int(os.environ.get("TOOLEXEC_TEST_KILLS", "100"))
PROBE = """
import sqlite3, sys
from pathlib import Path
from executor import PluginRegistry, ToolExecutor
with PluginRegistry(entry_points=False) as registry:
    assert registry.expose("shell", {})
Path(sys.argv[1]).write_text(sqlite3.sqlite_version)
"""
MAKE = "import sys; from executor.tasks import TaskManager; TaskManager.open(sys.argv[1]).list()"


def sqlite_of(python, folder):
    """The version of the SQLite of another Python; None when it cannot be used."""
    said = folder / "version"
    said.unlink(missing_ok=True)
    try:
        run(python, PROBE, said)
        return said.read_text()
    except (OSError, subprocess.SubprocessError):
        return None


def run(python, program, folder):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])}
    subprocess.run([*python, "-c", program, str(folder)], env=env, capture_output=True, timeout=60, check=True)


@pytest.fixture(scope="module")
def other_python(tmp_path_factory):
    """The command of a Python whose SQLite is another than this one's."""
    folder, seen = tmp_path_factory.mktemp("probe"), []
    names = [shutil.which(f"python3.{minor}") for minor in range(11, 20)]
    for python in [shlex.split(NAMED)] if NAMED else [[name] for name in names if name]:
        version = sqlite_of(python, folder)
        if version not in (None, sqlite3.sqlite_version):
            return python
        seen.append(f"{Path(python[0]).name}: {version or 'cannot be used'}")
    others = ", ".join(seen) or "there is no other"
    pytest.skip(f"no Python here has another SQLite than {sqlite3.sqlite_version} ({others}): set TOOLEXEC_TEST_PYTHON")


@pytest.mark.skipif(sys.platform != "linux", reason="processes are told apart by /proc")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [6, pytest.param(KILLS, marks=pytest.mark.long)])
def test_kills_on_a_store_of_two_sqlites_lose_nothing(tmp_path, other_python, kills):
    seed = random.randrange(10**9)
    run(random.choice([[sys.executable], other_python]), MAKE, tmp_path)
    found = torture(tmp_path, kills, seed, 4.0, pythons=[(sys.executable,), other_python])
    print(f"\nseed {seed}, {kills} kills, SQLite {sqlite3.sqlite_version} and {other_python}: {dict(found)}")
    assert found["tasks"] > 0
