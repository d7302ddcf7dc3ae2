"""Grants, trust and the files they are kept in."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import errno
import io
import json
import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from executor import Decision, wholefiles
from executor.errors import PermissionConfigError
from executor.paths import regular_only
from executor_permissions.judge.rules._rules import Part, Placeholders
from executor_permissions.store import _private
from executor_permissions.store._grants import Grant, GrantBook, GrantView, arguments_digest, new_grant_id
from executor_permissions.store._private import write_private
from executor_permissions.store._trust import Trust

PLACES = Placeholders("/proj", "/home/me")


@pytest.fixture
def book(tmp_path):
    """Makes books on one folder; their time stands at `now[0]`."""
    now = [100.0]

    def book(places=PLACES):
        return GrantBook(tmp_path / "state", places, lambda: now[0])

    book.now = now
    book.file = tmp_path / "state" / "grants.json"
    return book


def grant(name, **fields):
    return Grant(**{"id": name, "tool": "t", "verdict": "allow", "kind": "tool", "rule": "t", **fields})


def test_a_clock_that_is_set_back_makes_no_permission_last_for_longer(book):
    one, given = book(), {"created": 100.0}
    one.add(grant("a", expires=150.0, **given), grant("b", verdict="deny", expires=150.0, **given), grant("c", **given))
    assert [item.id for item in one.all()] == ["a", "b", "c"]
    book.now[0] = 99.0
    assert [item.id for item in one.all()] == ["b", "c"]
    book.now[0] = 101.0
    assert [item.id for item in one.all()] == ["a", "b", "c"]


def test_only_lasting_grants_are_kept_in_the_file(book):
    one = book()
    one.add(grant("a"))
    assert not book.file.exists()
    one.add(grant("b", scope="user"), grant("c"), grant("d", scope="project", project="/proj"))
    stored = json.loads(book.file.read_text())
    assert stored["version"] == 1
    assert [entry["id"] for entry in stored["grants"]] == ["b", "d"]
    assert stored["grants"][0] == grant("b", scope="user").to_dict()
    assert stat.S_IMODE(book.file.stat().st_mode) == 0o600
    assert [item.id for item in one.all()] == ["a", "c", "b", "d"]
    assert [item.id for item in book().all()] == ["b", "d"]
    one.end_session()
    assert [item.id for item in one.all()] == ["b", "d"]


def test_of_grants_that_have_ended_no_rule_is_kept(book):
    made = book()
    for number in range(50):
        made.add(grant(f"g{number}", kind="shell", rule=f"make {number}"))
        for each in made.all():
            made.compiled(each)
        if number % 5 == 4:
            made.end_session()
    assert len(made._compiled) <= 12
    made.add(*(grant(f"h{number}", kind="shell", rule=f"ls {number}") for number in range(30)))
    rules = [made.compiled(each) for each in made.all()]
    assert [
        made.compiled(each).patterns[0] is rule.patterns[0] for each, rule in zip(made.all(), rules, strict=True)
    ] == [True] * 30


def test_grants_end_by_time_and_number(book):
    one = book()
    one.add(grant("a", expires=150.0), grant("b", uses_left=0), grant("c", uses_left=1), grant("d"))
    assert [item.id for item in one.all()] == ["a", "c", "d"]
    book.now[0] = 150.0
    assert [item.id for item in one.all()] == ["c", "d"]
    assert [item.id for item in one.about("t", None)] == ["c", "d"]


def test_grants_of_this_process_that_have_ended_are_let_go(book):
    one = book()
    for number in range(50):
        one.add(grant(f"timed {number}", expires=book.now[0] + 1), grant(f"counted {number}", uses_left=1))
        assert one.use([f"counted {number}"])
        book.now[0] += 2
    one.add(grant("last"))
    assert [item.id for item in one._grants] == ["last"]


def test_grants_are_for_their_tool_agent_and_project(book):
    one = book()
    one.add(
        grant("a"),
        grant("b", tool="u"),
        grant("c", agent="x"),
        grant("d", scope="project", project="/proj"),
        grant("e", scope="project", project="/other"),
    )
    assert [item.id for item in one.about("t", None)] == ["a", "d"]
    assert [item.id for item in one.about("t", "x")] == ["c"]
    assert [item.id for item in one.about("u", None)] == ["b"]
    assert (one.concerns("u"), one.concerns("v")) == (True, False)


def test_a_grant_is_revoked_by_its_id_for_every_process(book):
    one, other = book(), book()
    one.add(grant("a"), grant("b", scope="user"), grant("c", scope="user"))
    other.refresh()
    assert [item.id for item in other.all()] == ["b", "c"]
    assert one.revoke("b")
    assert not one.revoke("b")
    assert one.revoke("a")
    assert [item.id for item in one.all()] == ["c"]
    other.refresh()
    assert [item.id for item in other.all()] == ["c"]


def test_uses_are_counted_together_or_not_at_all(book):
    one = book()
    one.add(grant("a", uses_left=1), grant("b", uses_left=2, scope="user"), grant("c"))
    assert one.use(())
    assert one.use(["a", "b"])
    assert [(item.id, item.uses_left) for item in one.all()] == [("c", None), ("b", 1)]
    assert not one.use(["a", "b"])
    assert [(item.id, item.uses_left) for item in one.all()] == [("c", None), ("b", 1)]
    other = book()
    assert [(item.id, item.uses_left) for item in other.all()] == [("b", 1)]
    assert other.use(["b"])
    assert not one.use(["b"])
    assert [item.id for item in one.all()] == ["c"]


def test_a_decision_counts_the_grants_that_it_rests_on(book):
    one = book()
    shell = {"kind": "shell", "definition_hash": "h"}
    one.add(
        grant("a", rule="x", uses_left=1, **shell),
        grant("b", rule="x", **shell),
        grant("c", rule="y", uses_left=1, **shell),
        grant("d", rule="z", uses_left=1, **shell),
        grant("e", rule="x", uses_left=1, **{**shell, "definition_hash": "old"}),
        grant("f", rule="x", uses_left=1, agent="other", **shell),
        grant("g", rule="x", uses_left=1, verdict="deny", **shell),
        grant("h", rule="x", uses_left=1, kind="call", digest=arguments_digest({"n": 1}), definition_hash="h"),
    )
    parts = (Part("", "allow", "y", "", "grant"), Part("", "allow", "z", "", "whitelist"))
    view = GrantView(one, None, {"t": "h"}.get)
    assert view.counted(Decision("allow", "", "session_whitelist", "x")) == ()  # nothing was asked for yet
    view.find("t", {"n": 2}, tuple)
    assert view.counted(Decision("allow", "", "session_whitelist", "x", parts)) == ("a", "c")
    assert view.counted(Decision("allow", "", "whitelist", "x")) == ()
    assert view.counted(Decision("ask", "", "grant", "x")) == ()
    view.find("t", {"n": 1}, tuple)
    assert view.counted(Decision("allow", "", "grant", "x")) == ("h", "a")


def test_the_grants_of_a_session_are_shared_by_its_processes_and_end_with_it(book, tmp_path):
    def of(session):
        return GrantBook(tmp_path / "state", PLACES, lambda: book.now[0], session)

    mine, other, nobody = of("one"), of("two"), of("")
    mine.add(grant("a", session="one", created=100.0), grant("u", scope="user"))
    other.add(grant("b", session="two", created=100.0))
    for each in (mine, other, nobody):
        each.refresh()
    assert [[item.id for item in each.all()] for each in (mine, other, nobody)] == [["a", "u"], ["u", "b"], ["u"]]
    assert [item.id for item in nobody.about("t", None)] == ["u"]
    mine.end_session()
    assert [item.id for item in of("one").all()] == ["u"]
    assert [item.id for item in of("two").all()] == ["u", "b"]
    book.now[0] += 31 * 86400
    mine.add(grant("c", scope="user"))  # whoever writes the file takes what is over out of it
    assert [entry["id"] for entry in json.loads(book.file.read_text())["grants"]] == ["u", "c"]


def test_a_damaged_file_of_grants_is_an_error_that_names_it(book):
    book.file.parent.mkdir()
    for text in ("{", "[]", "{}", '{"grants": [{"id": "a"}]}', '{"grants": 5}'):
        book.file.write_text(text)
        with pytest.raises(
            PermissionConfigError, match=re.escape(f"{book.file}: the file of grants is damaged (")
        ) as caught:
            book()
        assert caught.value.path == str(book.file)


ODD = {
    "uses_left": [-1, "0", True, 1.5, [], float("nan")],
    "expires": ["never", True, float("nan"), float("inf"), {}],
    "created": [None, "0", True],
    "verdict": ["Allow", "", None, ["allow"]],
    "kind": ["Shell", None, 1],
    "scope": ["always", None],
    "folders": ["/", [1], {}],
    "links": [["a"], [["a"]], [["a", "b", "c"]], [["a", 1]], "ab"],
    "confine": ["none", "", 1],
    "tool": [None, 1, ["t"]],
    "agent": [0, False, []],
    "digest": [None, 0],
    "definition_hash": [0],
    "times": [1],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in ODD.items() for value in values])
def test_a_grant_that_says_what_none_does_is_damage(book, name, value):
    book.file.parent.mkdir()
    kept = {
        "version": 1,
        "grants": [grant("a", scope="user").to_dict(), {**grant("b", scope="user").to_dict(), name: value}],
    }
    book.file.write_text(json.dumps(kept))
    with pytest.raises(PermissionConfigError, match=re.escape(f"damaged (grants[1].{name}: ")):
        book()


def test_every_grant_that_is_kept_is_read_again(book):
    full = grant(
        "a", scope="user", digest="d", definition_hash="h", definition="{}", created=1.5, expires=9e9, uses_left=3,
        agent="me", confine="read", folders=("${project}",), links=(("x", "/y"),),
    )  # fmt: skip
    book().add(full, grant("b", scope="user"))
    assert [json.dumps(one.to_dict()) for one in book().all()] == [
        json.dumps(one.to_dict()) for one in (full, grant("b", scope="user"))
    ]


def test_a_view_gives_what_fits_the_call(book):
    one = book()
    args = {"b": 1, "a": [2]}
    shell = grant("s", kind="shell", rule="ls *", definition_hash="h")
    one.add(
        shell, replace(shell, id="n", verdict="deny", rule="rm *", definition_hash="old", scope="user"), replace(shell, id="o", rule="cp *", definition_hash="old"), replace(shell, id="p", rule="a | b"), replace(shell, id="q", rule="'x"),
        grant("c", tool="u", kind="call", rule="u(…)", digest=arguments_digest({"a": [2], "b": 1})), grant("w", tool="v", rule="v", scope="project", project="/proj"), grant("x", tool="v", verdict="deny", kind="call", rule="v(5)", digest=arguments_digest({"n": 5})),
    )  # fmt: skip
    view = GrantView(one, None, lambda tool: "h")
    rules = view.shell_rules("t")
    assert {verdict: [(rule.text, scope) for rule, scope in found] for verdict, found in rules.items()} == {
        "allow": [("ls *", "session")],
        "deny": [("rm *", "user")],
    }
    assert view.find("t", args, tuple) is None
    plain = GrantView(one, None, lambda tool: None)
    assert plain.find("u", args, tuple) == ("allow", "u(…)", "session")
    assert plain.find("u", {"a": [2]}, tuple) is None
    assert plain.find("v", {}, tuple) == ("allow", "v", "project")
    assert plain.find("v", {"n": 5}, tuple) == ("deny", "v(5)", "session")
    assert view.find("u", args, tuple) is None
    assert GrantView(one, "x", lambda tool: None).find("u", args, tuple) is None
    assert one.compiled(shell) is one.compiled(replace(shell, id="z"))


def test_ids_are_new_and_digests_ignore_the_order_of_keys():
    assert re.fullmatch(r"grant_[0-9a-f]{12}", new_grant_id())
    assert new_grant_id() != new_grant_id()
    assert arguments_digest({"a": 1, "b": "é"}) == arguments_digest({"b": "é", "a": 1})
    assert arguments_digest({"a": 1}) != arguments_digest({"a": "1"})
    assert len(arguments_digest({})) == 64
    assert arguments_digest({"a": 1}, ()) == arguments_digest({"a": 1})  # as it was before anything was bound
    assert arguments_digest({"a": 1}, ["x"]) not in (arguments_digest({"a": 1}), arguments_digest({"a": 1}, ["y"]))


def test_trust_is_bound_to_a_folder_and_the_content_of_its_file(tmp_path):
    trust, folder, other = Trust(tmp_path / "state"), tmp_path / "a", tmp_path / "b"
    folder.mkdir()
    assert not trust.is_trusted(folder, "1")
    trust.trust(folder, "1")
    trust.trust(other, "2")
    assert [trust.is_trusted(folder, digest) for digest in ("1", "2", "")] == [True, False, False]
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert trust.is_trusted(link, "1")
    assert trust.is_trusted(other, "2")
    assert trust.forget(folder)
    assert not trust.forget(folder)
    assert not trust.is_trusted(folder, "1")
    assert trust.is_trusted(other, "2")
    file = tmp_path / "state" / "trusted.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for text in ("{", "[]", "5"):
        file.write_text(text)
        assert not trust.is_trusted(other, "2")


def test_whoever_trusts_or_untrusts_at_the_same_time_loses_nothing(tmp_path):
    def work(name):
        trust = Trust(tmp_path / "state")  # as another process would have its own
        for number in range(20):
            trust.trust(tmp_path / f"{name}{number}", name)
            assert trust.forget(tmp_path / f"{name}{number}")
            trust.trust(tmp_path / f"{name}{number}", name)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, "ab"))
    assert len(json.loads((tmp_path / "state" / "trusted.json").read_text())) == 40


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path):
    file = tmp_path / "deep" / "a.json"
    write_private(file, {"a": 1})
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    with pytest.raises(TypeError):
        write_private(file, {"a": object()})
    assert json.loads(file.read_text()) == {"a": 1}
    assert [entry.name for entry in file.parent.iterdir()] == ["a.json"]


def test_what_went_wrong_is_told_though_somebody_has_taken_the_new_file_away(tmp_path, monkeypatch):
    def taken_away(descriptor):
        for entry in tmp_path.iterdir():
            entry.unlink()
        raise OSError("the disk is full")

    monkeypatch.setattr(wholefiles.os, "fsync", taken_away)
    with pytest.raises(OSError, match="the disk is full"):
        write_private(tmp_path / "a.json", {"a": 1})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["fsync", "rename"])
def test_a_file_that_cannot_be_written_is_named_and_no_other_one(tmp_path, monkeypatch, where):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *(["new", None, "old"] if where == "rename" else []))

    monkeypatch.setattr(*((wholefiles.os, "fsync") if where == "fsync" else (Path, "replace")), full)
    with pytest.raises(OSError, match="No space") as raised:
        write_private(tmp_path / "a.json", {"a": 1})
    assert str(raised.value) == f"[Errno 28] No space left on device: {str(tmp_path / 'a.json')!r}"


def test_a_file_that_cannot_be_looked_for_is_not_one_that_is_missing(tmp_path):
    book = GrantBook(tmp_path / "one/two", PLACES)
    book.refresh()
    assert book.all() == []
    (tmp_path / "one").write_text("no folder")
    with pytest.raises(OSError, match="directory"):
        book.refresh()


def test_grants_that_cannot_be_looked_for_at_the_start_are_not_taken_for_none(tmp_path, monkeypatch):
    GrantBook(tmp_path, PLACES).add(grant("a", scope="user"))

    look = os.stat

    def fails(path, *more, **how):
        if str(path).endswith("grants.json"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return look(path, *more, **how)

    monkeypatch.setattr(os, "access", lambda *_, **__: False)  # as it says of every error
    monkeypatch.setattr(os, "stat", fails)
    with pytest.raises(OSError, match="Input/output"):
        GrantBook(tmp_path, PLACES)


def test_a_lock_that_the_system_does_not_let_go_of_hides_nothing(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    flock = fcntl.flock

    def refuses(file, how):
        if how == fcntl.LOCK_UN:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", refuses)
    book = GrantBook(tmp_path, PLACES)
    book.add(grant("a", scope="user"))
    book.add(grant("b", scope="user"))  # closing let go of it
    assert [each.id for each in GrantBook(tmp_path, PLACES).all()] == ["a", "b"]


def test_a_lock_is_the_users_alone_from_the_first_moment(tmp_path):
    before = os.umask(0)
    try:
        with wholefiles.locked(tmp_path / "a.lock"):
            pass
        with open(tmp_path / "b", "a", opener=regular_only):
            pass
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in sorted(tmp_path.iterdir())] == [0o600, 0o600]


def test_a_file_system_without_locks_is_told_with_the_file(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refuses(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuses)
    with pytest.raises(OSError, match=r"No locks available: '.*grants\.lock'"):
        GrantBook(tmp_path, PLACES).add(grant("a", scope="user"))


def test_a_disk_that_cannot_be_read_is_told_with_the_file(tmp_path, monkeypatch):
    GrantBook(tmp_path, PLACES).add(grant("a", scope="user"))

    class Broken(io.StringIO):
        def read(self, *_):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(_private, "open", lambda *_, **__: Broken(), raising=False)
    with pytest.raises(OSError, match=r"Input/output error: '.*grants\.json'"):
        GrantBook(tmp_path, PLACES)


@pytest.mark.parametrize("where", ["fsync", "link"])
def test_a_secret_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch, where):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(wholefiles.os, where, full)
        with pytest.raises(OSError, match="No space"):
            _private.read_or_make_secret(tmp_path / "secret")
        assert list(tmp_path.iterdir()) == []
    made = _private.read_or_make_secret(tmp_path / "secret")
    assert len(made) == 64
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_a_file_that_comes_later_is_read(tmp_path):
    folder = tmp_path / "one/two"
    book, other = GrantBook(folder, PLACES), GrantBook(folder, PLACES)
    other.add(grant("a", scope="user"))
    book.refresh()
    assert [item.id for item in book.all()] == ["a"]
    book.revoke("a")
    (folder / "grants.json").unlink()
    other.refresh()
    assert other.all() == []
