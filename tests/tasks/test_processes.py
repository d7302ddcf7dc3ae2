"""Telling processes apart, where the system says little about them."""

from __future__ import annotations

import builtins

import pytest

from executor.tasks import _processes

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
