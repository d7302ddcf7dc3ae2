"""Changes of files are taken back: what is kept, for how long, of what, and when it is refused."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading

import pytest

from executor import PluginRegistry, ToolExecutor
from executor_files import _history, _undo
from executor_files._history import History
from executor_permissions import PermissionPlugin


@pytest.fixture
def database(own_folders):
    """Where it is kept."""
    return own_folders / "state" / "toolexec" / "files" / "undo.db"


def rows(database, query):
    with contextlib.closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


def test_changes_are_taken_back_one_after_the_other(here, tools):
    path = here / "f"
    tools.writeFile(path, content="one\n")
    tools.writeFile(path, content="two\n")
    tools.editFile(path, old_text="two", new_text="three")
    path.chmod(0o640)
    tools.deleteFile(path)
    for undone, content in (("deleteFile", "three\n"), ("editFile", "two\n"), ("writeFile", "one\n")):
        result = tools.undoFileChange(path)
        assert (result["undone"], result["now"], path.read_text()) == (undone, "file", content)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert "-two\n+one\n" in result["diff"]
    assert tools.undoFileChange(path)["now"] == "nothing"
    assert not path.exists()
    assert "no change" in tools.refuse("undoFileChange", path)


@pytest.mark.parametrize("change", ["writeFile", "editFile", "deleteFile"])
def test_what_somebody_writes_while_a_change_is_taken_back_is_not_lost(here, tools, monkeypatch, change):
    def meanwhile(*args):
        path.write_text("somebody else's\n")
        return possible(*args)

    possible, path = _undo._check_possible, here / "f"
    if change == "writeFile":
        tools.writeFile(path, content="one\n")
    else:
        path.write_text("one\n")
        more = {"old_text": "one", "new_text": "two"} if change == "editFile" else {}
        getattr(tools, change)(path, **more)
    monkeypatch.setattr(_undo, "_check_possible", meanwhile)
    assert "changed by somebody else" in tools.refuse("undoFileChange", path)
    assert path.read_text() == "somebody else's\n"


@pytest.mark.parametrize("error", [sqlite3.OperationalError("disk I/O error"), OSError(5, "Input/output error")])
def test_what_was_taken_back_is_told_though_it_cannot_be_noted(here, tools, monkeypatch, error):
    def fails(*_):
        raise error

    path = here / "f"
    tools.writeFile(path, content="one\n")
    tools.writeFile(path, content="two\n")
    with monkeypatch.context() as patched:
        patched.setattr(History, "mark_undone", fails)
        assert tools.undoFileChange(path)["undone"] == "writeFile"
    assert path.read_text() == "one\n"
    assert tools.undoFileChange(path)["now"] == "nothing"  # the change before, not the same one again


def test_a_disk_that_has_failed_once_loses_nothing_that_was_kept(here, tools, database, monkeypatch):
    def fails(*_):
        error = sqlite3.DatabaseError("database disk image is malformed")  # so it is told of a page, too
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error

    path = here / "f"
    tools.writeFile(path, content="one\n")
    tools.writeFile(path, content="two\n")
    with monkeypatch.context() as patched:
        patched.setattr(History, "_connect", fails)
        assert "malformed" in tools.refuse("undoFileChange", path)
    assert [kept.name for kept in database.parent.glob("undo.damaged-*")] == []
    assert tools.undoFileChange(path)["undone"] == "writeFile"
    assert path.read_text() == "one\n"


def test_links_and_empty_folders_come_back(here, tools):
    (here / "link").symlink_to("nowhere")
    (here / "folder").mkdir(mode=0o750)
    for name in ("link", "folder"):
        tools.deleteFile(name)
        assert not os.path.lexists(here / name)
        tools.undoFileChange(name)
    assert os.readlink(here / "link") == "nowhere"
    assert stat.S_IMODE((here / "folder").stat().st_mode) == 0o750


def test_what_somebody_else_has_changed_since_stays(here, tools):
    path = here / "f"
    path.write_text("one")
    tools.writeFile(path, content="two")
    path.write_text("two and a half")
    assert "changed by somebody else after writeFile" in tools.refuse("undoFileChange", path)
    assert path.read_text() == "two and a half"
    tools.deleteFile(path)
    path.write_text("another")
    assert "changed by somebody else" in tools.refuse("undoFileChange", path)
    assert path.read_text() == "another"


def test_what_was_taken_back_by_hand_is_passed_over(here, tools):
    path = here / "f"
    path.write_text("one")
    tools.writeFile(path, content="two")
    tools.writeFile(path, content="three")
    path.write_text("two")
    tools.undoFileChange(path)
    assert path.read_text() == "one"


def test_what_is_no_text_comes_back_too(here, tools):
    path = here / "f"
    path.write_bytes(data := bytes(range(256)))
    tools.writeFile(path, content="text")
    assert tools.undoFileChange(path)["diff"] == ""
    assert path.read_bytes() == data


def test_a_change_that_fails_or_changes_nothing_is_none(here, tools):
    path = here / "f"
    path.write_text("one")
    tools.writeFile(path, content="one")
    tools.refuse("editFile", path, old_text="two", new_text="three")
    (here / "full").mkdir()
    (here / "full" / "f").touch()
    tools.refuse("deleteFile", "full")
    assert History().changes() == []


def test_it_is_private_and_each_content_is_kept_once(here, tools, database):
    old = os.umask(0)
    try:
        for name in ("a", "b"):
            (here / name).write_text("the same")
            tools.writeFile(name, content="other")
    finally:
        os.umask(old)
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    assert stat.S_IMODE(database.parent.stat().st_mode) == 0o700
    assert rows(database, "SELECT data FROM content") == [(b"the same",)]


def test_large_files_are_changed_and_not_kept(here, tools, monkeypatch):
    monkeypatch.setattr(_history, "MAX_FILE", 10)
    path = here / "f"
    path.write_text("x" * 11)
    result = tools.writeFile(path, content="y")
    assert result["undo"] == "not possible: it has 11 bytes, and up to 10 are kept"
    assert "up to 10 are kept" in tools.refuse("undoFileChange", path)
    assert path.read_text() == "y"


def test_the_oldest_go_when_it_is_too_much_or_too_long_ago(here, tools, database, monkeypatch):
    monkeypatch.setattr(_history, "MAX_ALL", 250_000)
    for number in range(5):
        (here / "f").write_bytes(b"%d" % number * 100_000)
        tools.writeFile("f", content="")
    assert [row[0][:1] for row in rows(database, "SELECT data FROM content ORDER BY 1")] == [b"3", b"4"]
    assert database.stat().st_size < 400_000, "what is forgotten frees its room"
    later = _history.time.time() + _history.MAX_AGE + 1
    for number in range(2):
        monkeypatch.setattr(_history.time, "time", lambda: later + number * _history.DAY)
        (here / "g").write_text(f"{number}")
        tools.writeFile("g", content="two")
    assert [change.path.name for change in History().changes()] == ["g", "g"]
    assert rows(database, "SELECT count(*) FROM content") == [(2,)]


def test_a_clock_that_is_ahead_costs_nothing_that_can_be_taken_back(here, tools, monkeypatch):
    now = _history.time.time()
    (here / "f").write_text("one")
    tools.writeFile("f", content="two")
    for ahead in (365 * _history.DAY, 365 * _history.DAY + 60, 60):  # then it was set right
        monkeypatch.setattr(_history.time, "time", lambda: now + ahead)
        tools.writeFile("g", content=f"{ahead}")
    tools.undoFileChange("f")
    assert (here / "f").read_text() == "one"


def test_changes_are_made_though_nothing_can_be_kept(here, tools, database):
    (here / "f").write_text("one")
    database.parent.mkdir(parents=True)
    database.mkdir()
    result = tools.writeFile("f", content="two")
    assert result["undo"].startswith("not possible: what was there could not be kept")
    assert (here / "f").read_text() == "two"
    database.rmdir()
    database.write_bytes(b"no database " * 100)
    assert "undo" not in tools.writeFile("f", content="three")
    tools.undoFileChange("f")
    assert (here / "f").read_text() == "two"
    assert len(list(database.parent.glob("undo.damaged-*"))) == 1, "what was there is set aside"


def test_a_content_that_was_tampered_with_is_not_put_back(here, tools, database):
    (here / "f").write_text("one")
    tools.writeFile("f", content="two")
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE content SET data = ?", (b"evil",))
    assert "not kept: it is gone" in tools.refuse("undoFileChange", "f")
    assert (here / "f").read_text() == "two"


def test_many_at_once_from_threads_and_processes_lose_nothing(here, tools):
    code = (
        "import sys; from tests.plugins.files.conftest import Tools; t = Tools()\n"
        "for n in range(20): t.writeFile(sys.argv[1], content=str(n))\n"
    )
    path = os.pathsep.join(sys.path)
    others = [
        subprocess.Popen([sys.executable, "-c", code, str(here / name)], env={**os.environ, "PYTHONPATH": path})
        for name in "ab"
    ]

    def write():
        for number in range(20):
            assert "undo" not in tools.writeFile("c", content=str(number))

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [other.wait() for other in others] == [0, 0]
    for name in "ab":
        for number in range(18, -1, -1):
            tools.undoFileChange(here / name)
            assert (here / name).read_text() == str(number)


def test_without_undo_nothing_is_kept(here, configured, database):
    tools = configured(undo=False)
    tools.writeFile("f", content="one")
    assert not database.exists()
    assert "undoFileChange" not in tools.registered
    with pytest.raises(ValueError, match="undo is 1: give true or false"):
        configured(undo=1)


@pytest.fixture
def judged(here):
    """An executor of the file tools, behind this policy."""
    executors = []

    def make(policy):
        (here / "policy.json").write_text(json.dumps({"version": "1.0", "defaultPolicy": "allow", **policy}))
        registry = PluginRegistry(entry_points=False)
        registry.discover()
        registry.expose("files")
        executors.append(ToolExecutor(registry=registry, permission_plugin=PermissionPlugin(here / "policy.json")))
        return executors[-1]

    yield make
    for executor in executors:
        executor.shutdown()


def test_what_may_not_be_read_is_not_kept(here, judged, database):
    (here / "key.pem").write_text("unmistakable")
    executor = judged({"blacklist": {"arguments": {"readFile": {"path": ["*.pem"]}}}})
    success, value = executor.execute("writeFile", {"path": "key.pem", "content": "new"})
    assert (success, value["undo"]) == (True, "not possible: the policy keeps its content from being read")
    assert b"unmistakable" not in database.read_bytes()


def test_no_diff_or_error_tells_what_may_not_be_read(here, judged):
    path = here / "key.pem"
    policy = {"blacklist": {"arguments": {"readFile": {"path": ["*.pem"]}}}}
    path.write_text("unmistakable")
    assert judged({}).execute("writeFile", {"path": "key.pem", "content": "new"})[0]
    executor = judged(policy)
    success, value = executor.execute("undoFileChange", {"path": "key.pem"})
    assert success, value
    assert path.read_text() == "unmistakable"
    assert "unmistakable" not in str(value)
    for guess in ("unmis", "nothing of it"):
        success, value = executor.execute("editFile", {"path": "key.pem", "old_text": guess, "new_text": "x"})
        assert not success
        assert "may not be read" in value["error"]
    success, value = executor.execute("writeFile", {"path": "key.pem", "content": "newer"})
    assert success, value
    assert "unmistakable" not in str(value)
    assert "diff" not in value


def test_what_may_not_be_written_is_not_put_back(here, judged):
    (here / "f").write_text("one")
    assert judged({}).execute("writeFile", {"path": "f", "content": "two"})[0]
    success, value = judged({"blacklist": {"tools": ["undoFileChange"]}}).execute("undoFileChange", {"path": "f"})
    assert not success
    executor = judged({"blacklist": {"arguments": {"writeFile": {"path": ["f"]}}}})
    success, value = executor.execute("undoFileChange", {"path": "f"})
    assert not success
    assert "may not be written" in value["error"]
    assert (here / "f").read_text() == "two"
