"""Telling processes apart, where the system says little about them."""

from __future__ import annotations

import builtins

import pytest

from executor.tasks import _processes
from executor.tasks._spool import Group

LEADER, MEMBER, TICK = 4_100_000, 4_100_001, 500


def stat(pgrp, session, tick):
    """The fields of ``/proc/PID/stat`` from the state on."""
    fields = [b"S", b"1", str(pgrp).encode(), str(session).encode()]
    return [*fields, *[b"0"] * 15, str(tick).encode()]


@pytest.mark.parametrize(
    ("members", "same"),
    [
        ({}, False),
        ({MEMBER: (LEADER, LEADER, TICK)}, True),
        ({MEMBER: (LEADER, LEADER, TICK - 1)}, False),  # older than the leader: another group of that number
        ({MEMBER: (LEADER, 7, TICK)}, False),  # a shell gave its job this number: not one of ours, which lead sessions
        ({MEMBER: (MEMBER, LEADER, TICK)}, False),  # of the session, in a group of its own
        ({MEMBER: (LEADER, LEADER, TICK), MEMBER + 1: (LEADER, LEADER, TICK - 1)}, False),
    ],
)
def test_a_group_without_its_leader_is_known_by_its_members(monkeypatch, members, same):
    monkeypatch.setattr(_processes.sys, "platform", "linux")
    monkeypatch.setattr(_processes, "_boot", lambda: "boot")
    monkeypatch.setattr(_processes, "_pids", lambda: [str(pid) for pid in members])
    monkeypatch.setattr(_processes, "_stat", lambda pid: stat(*members[int(pid)]) if int(pid) in members else None)
    assert _processes._is_the_one(LEADER, f"boot:{TICK}") is same
    assert not _processes._is_the_one(LEADER, f"another boot:{TICK}")


def test_without_psutil_nothing_is_known_of_a_process_elsewhere_than_on_linux(monkeypatch):
    def without(name, *rest):
        if name == "psutil":
            raise ImportError(name)
        return importing(name, *rest)

    importing = builtins.__import__
    monkeypatch.setattr(_processes.sys, "platform", "darwin")
    monkeypatch.setattr(builtins, "__import__", without)
    assert _processes.birth(1) is None


@pytest.mark.parametrize(
    ("platform", "born", "waited"),
    [
        ("linux", None, [MEMBER, MEMBER + 1]),
        ("darwin", None, []),
        ("linux", "then", [LEADER]),
        ("darwin", "then", [LEADER]),
    ],
)
def test_a_group_is_waited_for_by_its_leader_or_by_its_members_where_they_are_known(
    monkeypatch, platform, born, waited
):
    told = []
    monkeypatch.setattr(_processes.sys, "platform", platform)
    monkeypatch.setattr(_processes, "birth", lambda pid: born)
    monkeypatch.setattr(_processes, "_members", lambda group: {MEMBER: [], MEMBER + 1: []})
    monkeypatch.setattr(_processes, "_wait_for", lambda pid, deadline: told.append((pid, deadline)))
    _processes._wait(LEADER, 7.0)
    assert told == [(pid, 7.0) for pid in waited]


def test_no_group_is_ended_where_there_are_none(monkeypatch):
    monkeypatch.setattr(_processes, "_is_the_one", lambda group, born: True)
    monkeypatch.setattr(_processes, "_wait", lambda group, deadline: None)
    ended, group = [], Group(LEADER, "then", "mark")
    monkeypatch.setattr(_processes, "_send", lambda group, number: ended.append(group))
    assert _processes.end_groups([group]) == 1
    assert ended == [LEADER] * 2
    monkeypatch.setattr(_processes.sys, "platform", "win32")
    assert _processes.end_groups([group]) == 0
    monkeypatch.setattr(_processes.sys, "platform", "linux")
    monkeypatch.delattr(_processes.os, "killpg")
    assert _processes.end_groups([group]) == 0
    assert ended == [LEADER] * 2
