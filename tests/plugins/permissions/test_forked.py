"""The child of a fork: whatever the parent was asking, or writing, the child judges and asks by itself."""

from __future__ import annotations

import os
import queue
import signal
import threading
from contextlib import contextmanager

import pytest

from executor import Approval, ToolCall
from executor.approval import Inbox, TerminalChannel
from executor_permissions import PermissionPlugin
from executor_permissions.ask._channels import CallbackChannel, QueueChannel

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]
SECONDS = 20


def in_child(act):
    """Whether *act* returns something true, in the child of a fork of this process, and in time."""
    child = os.fork()
    if not child:
        signal.alarm(SECONDS)
        try:
            os._exit(0 if act() else 1)
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0


@contextmanager
def held(*locks):
    """Another thread holds *locks*."""
    holds, release = threading.Event(), threading.Event()

    def hold():
        for lock in locks:
            lock.acquire()
        holds.set()
        release.wait(SECONDS)
        for lock in locks:
            lock.release()

    thread = threading.Thread(target=hold)
    thread.start()
    holds.wait(SECONDS)
    try:
        yield
    finally:
        release.set()
        thread.join()


def approval(name):
    return Approval(name, name, {}, "why", text=f"Run {name}?")


def test_whatever_lock_a_thread_holds_the_child_judges_asks_and_remembers(tmp_path):
    policy = {"version": "1.2", "limits": {"tool": {"turn": 5}}, "whitelist": {"tools": ["tool"]}}
    settings = {"project_root": tmp_path, "home": tmp_path, "state_dir": tmp_path / "s", "session_id": "one"}
    channel = CallbackChannel(lambda _: "always")
    plugin = PermissionPlugin(policy=policy, channel=channel, **settings)
    assert plugin.check_permission("granted", {})[0]
    questions = plugin._questions

    def judge():
        plugin.session.allow("ls *")
        plugin.session.suspend("turn")
        plugin.end_turn()
        calls = [("tool", {}), ("granted", {}), ("new", {}), ("runCommand", {"command": "ls"})]
        return all(plugin.check_permission(tool, args)[0] for tool, args in calls)

    locks = [each._lock for each in (questions, plugin.grants, plugin.session, questions.suspensions, questions.limits)]
    with held(*locks, channel._lock, plugin.approvals._lock):
        assert in_child(judge)
    assert plugin.decide(ToolCall("c", "new", {})).verdict == "allow", "the child has remembered it"


def test_a_question_of_the_parent_holds_up_none_of_the_child(tmp_path):
    parent, shown, release = os.getpid(), threading.Event(), threading.Event()

    def person(_):
        if os.getpid() == parent:
            shown.set()
            release.wait(SECONDS)
        return "yes"

    settings = {"project_root": tmp_path, "home": tmp_path, "state_dir": tmp_path / "s"}
    plugin = PermissionPlugin(policy={"defaultPolicy": "ask"}, channel=person, **settings)
    said = []
    thread = threading.Thread(target=lambda: said.append(plugin.check_permission("tool", {})[0]))
    thread.start()
    shown.wait(SECONDS)
    try:
        assert in_child(lambda: plugin.approvals.pending() == [] and plugin.check_permission("other", {})[0])
    finally:
        release.set()
        thread.join()
    assert said == [True]


def test_what_lies_on_the_queue_of_the_parent_is_not_the_childs():
    channel, inbox = QueueChannel(), Inbox()
    inbox.put(approval("first"), lambda _: None, channels={"queue": channel})

    def ask():
        answers = []
        inbox.put(approval("second"), answers.append, channels={"queue": channel})
        asked = channel.questions.get(timeout=SECONDS)
        return asked.id == "second" and channel.answer("second", "yes") and answers[0].word == "yes"

    assert in_child(ask)
    assert channel.answer("first", "no")


def test_the_child_puts_its_questions_on_the_terminal(tmp_path):
    class Target:
        def __init__(self):
            self.lines = queue.SimpleQueue()

        def write(self, text):
            self.lines.put(text)

        def flush(self):
            pass

    def shows(name):
        while name not in target.lines.get(timeout=SECONDS):
            pass
        return True

    person, terminal = os.openpty()
    with os.fdopen(terminal, "r") as source, os.fdopen(person, "w"):
        target = Target()
        channel = TerminalChannel(source, target)
        channel.ask(approval("first"), lambda _: True)
        shows("first")

        def ask():
            channel.ask(approval("second"), lambda _: True)
            return shows("second")

        assert in_child(ask)
        channel.close()
