"""
Processes of two Pythons with different SQLites, at work on one store at once.

``TOOLEXEC_TEST_PYTHON`` is the command of another Python; it has to have what this package needs, and to see the same
files. Else one is looked for on PATH, and at last it is this Python with the SQLite that ``pysqlite3`` brings.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import random
import shlex
import shutil
import sqlite3
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from executor.tasks import TaskManager
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
INSTEAD = (
    "import sys, pysqlite3, pysqlite3.dbapi2; "
    "sys.modules.update({'sqlite3': pysqlite3, 'sqlite3.dbapi2': pysqlite3.dbapi2})"
)
LEAVE_A_WAL = """
import os, signal, sqlite3, sys
from executor import ToolCall, ToolExecutor
from executor.tasks import TaskManager
executor = ToolExecutor(tasks=TaskManager.open(sys.argv[1], host="test"))
executor.register("work", lambda args: "x" * 1000, auto_background=60)
ids = [executor.start(ToolCall("1", "work")).task_id]
executor.tasks.wait(ids[0])
other = sqlite3.connect(sys.argv[1] + "/tasks.db", isolation_level=None, timeout=20)
assert other.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
for number in range(20):
    ids.append(executor.start(ToolCall("1", "work")).task_id)
    executor.tasks.wait(ids[-1])
print(*ids, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
WORK = """
import sqlite3, sys, threading
from executor import ToolCall, ToolExecutor
from executor.errors import ExecutorUnavailableError
from executor.tasks import TaskManager
folder, vacuum = sys.argv[1], sys.argv[2] == "vacuum"
with ToolExecutor(tasks=TaskManager.open(folder, host="test", patience=20)) as executor:
    executor.register("work", lambda args: "x" * 1000, auto_background=60)
    before, ids = [info.id for info in executor.tasks.list()], []
    print(*before, flush=True)
    sys.stdin.readline()
    for number in range(60):
        ids.append(executor.start(ToolCall("1", "work")).task_id)
        executor.tasks.wait(ids[-1])
        executor.tasks.list()
        if vacuum and number % 10 == 5:
            other = sqlite3.connect(folder + "/tasks.db", isolation_level=None, timeout=20)
            other.execute("VACUUM")
            other.close()
        elif number % 10 == 9:
            executor.tasks.prune(3600)
    assert executor.shutdown(timeout=20)
    executor.tasks.close()
print(*ids, flush=True)
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


ENV = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])}


def run(python, program, folder):
    subprocess.run([*python, "-c", program, str(folder)], env=ENV, capture_output=True, timeout=60, check=True)


def with_pysqlite3(folder):
    """This Python with another SQLite; None where that is not installed."""
    if importlib.util.find_spec("pysqlite3") is None:
        return None
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    here = [path for path in sys.path if path.endswith("site-packages")]
    (site / "pysqlite3.pth").write_text("\n".join([*here, INSTEAD]))
    return str(folder / "bin" / "python")


@pytest.fixture(scope="module")
def other_python(tmp_path_factory):
    """The command of a Python whose SQLite is another than this one's."""
    folder, seen = tmp_path_factory.mktemp("probe"), []
    names = [*(shutil.which(f"python3.{minor}") for minor in range(11, 20)), with_pysqlite3(folder / "venv")]
    for python in [shlex.split(NAMED)] if NAMED else [[name] for name in names if name]:
        version = sqlite_of(python, folder)
        if version not in (None, sqlite3.sqlite_version):
            return python
        seen.append(f"{Path(python[0]).name}: {version or 'cannot be used'}")
    others = ", ".join(seen) or "there is no other"
    pytest.skip(
        f"no Python here has another SQLite than {sqlite3.sqlite_version} ({others}): install pysqlite3, or set "
        "TOOLEXEC_TEST_PYTHON"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="processes are told apart by /proc")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [6, pytest.param(KILLS, marks=pytest.mark.long)])
def test_kills_on_a_store_of_two_sqlites_lose_nothing(tmp_path, other_python, kills):
    seed = random.randrange(10**9)
    run(random.choice([[sys.executable], other_python]), MAKE, tmp_path)
    found = torture(tmp_path, kills, seed, 4.0, pythons=[(sys.executable,), other_python])
    print(f"\nseed {seed}, {kills} kills, SQLite {sqlite3.sqlite_version} and {other_python}: {dict(found)}")
    assert found["tasks"] > 0


@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed by a signal")
@pytest.mark.parametrize("first", ["this", "other"])
def test_a_wal_that_one_has_left_and_vacuums_and_prunes_of_both_lose_nothing(tmp_path, other_python, first):
    pythons = {"this": [sys.executable], "other": other_python}
    left = subprocess.run(
        [*pythons[first], "-W", "ignore", "-c", LEAVE_A_WAL, tmp_path],
        env=ENV,
        capture_output=True,
        timeout=60,
        check=False,
    )
    ids = left.stdout.decode().split()
    assert len(ids) == 21, left.stderr.decode()
    assert (tmp_path / "tasks.db-wal").stat().st_size > 0, "it was killed before it was copied into the store"
    with contextlib.ExitStack() as running:
        both = []
        for who in sorted(pythons, key=lambda who: who == first):  # the one that has not made it opens it first
            command = [*pythons[who], "-W", "ignore", "-c", WORK, tmp_path, "vacuum" if who == first else "prune"]
            process = subprocess.Popen(command, env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            both.append(running.enter_context(process))
            running.callback(process.kill)
            assert set(ids) <= set(process.stdout.readline().split())
        for process in both:
            process.stdin.write("go on\n")
            process.stdin.flush()
        for process in both:
            ids += process.stdout.readline().split()
            assert process.wait(60) == 0
    assert len(ids) == 21 + 2 * 60
    tasks = TaskManager.open(tmp_path, host="test")
    assert sorted(info.id for info in tasks.list("completed")) == sorted(ids)
    assert {tasks.result(task_id) for task_id in ids} == {(True, "x" * 1000)}
    tasks.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "tasks.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA journal_mode").fetchone() != ("wal",)
    assert sorted(tmp_path.glob("*damaged*")) == []
