"""Where paths lead, which patterns may mean the same file, and what the policy says about the files of commands."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import errno
import os
import random
from fnmatch import fnmatchcase

import pytest

from executor_permissions import Policy
from executor_permissions.judge.paths import _links
from executor_permissions.judge.paths._links import Links, Place, stamp_of
from executor_permissions.judge.paths._overlap import may_meet
from executor_permissions.judge.paths._paths import PathRule, UnclearPathError
from executor_permissions.judge.rules._file_rules import FileRules


@pytest.fixture
def top(tmp_path):
    root = tmp_path.resolve()
    for name in ("a/b", "c"):
        (root / name).mkdir(parents=True)
    (root / "a/file").touch()
    links = {
        "in": root / "a/b",
        "a/up": "..",
        "c/chain": "../in",
        "c/file": root / "a/file",
        "one": "two",
        "two": "one",
        "c/gone": "nothing/x",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    return root


def test_a_file_that_changed_just_now_is_looked_at_again(top, monkeypatch):
    path = str(top / "a/file")
    changed = os.stat(path).st_ctime_ns

    def seen(after):
        monkeypatch.setattr(_links.time, "time_ns", lambda: changed + after)
        links = Links()
        assert links.stamp(path) == links.stamp(path)
        return stamp_of(path), links.seen()

    stamp, before = seen(0)
    assert stamp != stamp_of(path)
    assert not before.holds()
    stamp, before = seen(5_000_000_000)
    assert stamp == stamp_of(path)
    assert before.holds()


def test_a_path_is_followed_as_the_system_does_part_by_part(top):
    links = Links(str(top))
    for name in (
        "a/b",
        "a/b/..",
        "in/..",
        "in/../file",
        "a/up/c",
        "c/chain/..",
        "c/chain/../file",
        "c/file",
        "new/x",
        "in/new",
        "a/./b//",
        "c/gone",
        "c/gone/y",
        "a/up/a/up/a",
    ):
        path = f"{top}/{name}"
        place = links.place(path)
        assert place.real == os.path.realpath(path), name
        assert place.written == os.path.normpath(path), name
    assert links.place(f"{top}/c/file").entry == f"{top}/c/file"
    assert links.place(f"{top}/c/chain/x").entry == f"{top}/a/b/x"
    assert links.real("/") == "/"
    assert links.real("/..") == "/"
    assert links.place("/not-there") == Place(*["/not-there"] * 3)
    assert links.has_links(str(top), ["a", "c/file"])
    assert not links.has_links(str(top / "a"), ["file", "file/x"])
    assert not links.has_links(str(top / "a"), ["none/file"])
    assert links.has_links("/", ["proc"])  # where shortcuts are
    assert links.has_links("/proc/1", ["x"])
    with pytest.raises(UnclearPathError, match="circle"):
        links.real(f"{top}/one/x")


def test_a_shortcut_of_a_process_is_that_of_the_process_which_will_run(top):
    links = Links()
    here = str(top / "c")
    for name, expected in {
        "self/cwd/x": f"{here}/x", "thread-self/cwd": here, "self/task/7/cwd/x": f"{here}/x", "self/root/etc/x": "/etc/x", "self/cwd/chain/../file": f"{top}/a/file",
        "self/environ": "/proc/self/environ", "self/fd/3": "/proc/self/fd/3", "cpuinfo": "/proc/cpuinfo",
        "net/../cwd": here, "mounts/../root/x": "/x", "thread-self/../../cwd": here, "thread-self/..": "/proc/self/task", "net/tcp": "/proc/self/net/tcp",
    }.items():  # fmt: skip
        assert links.real(f"/proc/{name}", here) == expected
    for name in ("1/cwd/x", "1/root/x", "$$/cwd", "1/fd/3", "1/task/1/cwd", "self/map_files/x"):
        with pytest.raises(UnclearPathError, match="shortcut"):
            links.real(f"/proc/{name}", here)
    with pytest.raises(UnclearPathError, match="shortcut"):
        links.real("/proc/self/cwd/x")  # of a process whose folder is not known


@pytest.mark.parametrize("path", ["3/x", "3/", "3/.", "3/..", "3/../cwd/x", "0/x/y"])
def test_no_path_goes_on_behind_a_descriptor(top, path):
    for start in ("/proc/self", "/proc/thread-self", "/proc/self/task/7"):
        with pytest.raises(UnclearPathError, match="descriptor"):
            Links().real(f"{start}/fd/{path}", str(top))


def test_where_a_path_leads_is_looked_up_once_but_not_in_a_process(top, monkeypatch):
    links, looked = Links(str(top)), []
    monkeypatch.setattr("executor_permissions.judge.paths._links._target_of", looked.append)
    assert [links.real(f"{top}/a/file") for _ in range(2)] == [f"{top}/a/file"] * 2
    links.take_as_written(str(top), ["b", "c/x"])
    assert [links.real(f"{top}/{path}") for path in ("b", "c/x")] == [f"{top}/b", f"{top}/c/x"]
    assert looked == [f"{top}/a", f"{top}/a/file"]
    assert [links.real("/proc/self/cwd", folder) for folder in ("/x", "/y")] == ["/x", "/y"]


def test_a_link_that_the_system_cannot_read_may_lead_anywhere(top, monkeypatch):
    def fail(path):
        raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    monkeypatch.setattr(os, "readlink", fail)
    assert Links().has_links(str(top), ["a"])
    with pytest.raises(UnclearPathError, match="circle"):
        Links().real(f"{top}/a/file")
    policy = Policy.from_dict(
        {"defaultPolicy": "ask", "whitelist": {"patterns": ["cat *"]}, "blacklist": {"arguments": {"readFile": {"path": ["secret"]}}}},
        project_root=top,
    )  # fmt: skip
    assert policy.decide("runCommand", {"command": "cat a/file"}).verdict != "allow"


MEETING = [  # a glob of the shell, a path or the pattern of a rule, whether they may mean the same file
    ("/p/*", "/p/a", True), ("/p/*", "/p/.env", False), ("/p/.e*", "/p/.env", True), ("/p/.[e]nv", "/p/.env", True), ("/p/[.]env", "/p/.env", True), ("/p/.??v", "/p/.env", True), ("/p/.?v", "/p/.env", False), ("/p/*/x", "/p/a", True), ("/*", "/p/a", False),
    ("/p/k*/a", "/p/keys", True), ("/p/x*", "/p/keys", False), ("/p/*.py", "/p/**/*.pem", False), ("/p/a*", "/p/**/*.pem", True), ("/p/*", "/**/*.pem", True), ("/p/q/*.pem", "/p/**/*.pem", True), ("/p/*/*", "/p/*", True), ("/p/a", "/p/a", True), ("/p/a", "/p/b", False),
    ("/proc/*/environ", "/proc/**/environ", True), ("/proc/self/task/*/environ", "/proc/**/environ", True), ("/proc/*/status", "/proc/*/environ", False), ("/p/[x", "/p/ax", True), ("/p/[x", "/p/[x", True), ("/p/a*b*c", "/p/abc", True), ("/p/a*b*c", "/p/acb", False), ("/p/*b", "/p/a*", True), ("/p/" + "*a" * 2000, "/p/x", True),
]  # fmt: skip


def test_which_patterns_may_mean_the_same_file():
    assert [(one, two, may_meet(one, two)) for one, two, _ in MEETING] == MEETING
    assert may_meet("/p/*", "/p/.env", dots=True)


def test_a_glob_that_fits_a_path_always_may_meet_it():
    pick = random.Random(7)
    met = 0
    for _ in range(5000):
        names = ["".join(pick.choices("ab.", k=pick.randrange(1, 4))) for _ in range(pick.randrange(1, 4))]
        globs = [
            "".join(pick.choices(["a", "b", ".", "*", "?", "[ab]", "[!a]"], k=pick.randrange(1, 4))) for _ in names
        ]
        hidden = any(name[0] == "." and glob[0] in "*?[" for name, glob in zip(names, globs, strict=True))
        if all(map(fnmatchcase, names, globs)) and not hidden:
            met += 1
            assert may_meet("/" + "/".join(globs), "/" + "/".join(names)), (globs, names)
    assert met > 100


def test_the_rules_about_a_place_are_those_of_all_that_is_above_it(top):
    home = str(top / "home")
    rules = FileRules()
    for text, kept in (
        ("a/file", "read"),
        ("c/", "write"),
        ("**/*.pem", "read"),
        (f"{home}/id_", "other"),
        ("in", "read"),
    ):
        rules.add_rule(PathRule.of(text, str(top), home), text, kept)
    rules.add(f"{top}/own", "(own)", "own")
    links = Links(str(top))

    def about(name):
        return sorted({one.rule for one in rules.about(links.place(f"{top}/{name}"), links)})

    for name, expected in {
        "a/file": ["a/file"], "c/file": ["a/file", "c/"], "c/x/y": ["c/"], "a/b/x": ["in"], "in/x": ["in"], "a/x": [], "x.pem": ["**/*.pem"], "c/x.pem": ["**/*.pem", "c/"], "home/id_rsa": [f"{home}/id_"], "home/id": [],
        "own": ["(own)"], "own/x": ["(own)"], "ownx": [], "A/file": [],
    }.items():  # fmt: skip
        assert about(name) == expected, name
    assert [one.rule for one in rules.below(f"{top}/a")] == ["a/file", "in"]
    assert sorted(one.rule for one in rules.may_become(f"{top}/?/f*")) == ["**/*.pem", "a/file", "c/"]
    assert rules.is_plain("x") is False  # with a pattern among them any name may have a rule


def test_a_folder_is_no_usual_one_any_more_once_there_is_another_rule():
    rules = FileRules()
    for path in ("/p/a", "/p/b"):
        rules.keep_usual("/p")
        assert rules.usual == {"/p"}
        rules.add(path, path, "read")
        assert not rules.usual
    for number in range(600):
        rules.keep_usual(f"/p/{number}")
    assert len(rules.usual) < 600
