"""One inbox for every process of a user: who sees a question, whose answer counts, and what happens when one dies."""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import os
import queue
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest

from executor import ToolExecutor
from executor.approval import Surface
from executor.calls._above import is_stopped, mark_caller
from executor.errors import ExecutorUnavailableError, ToolCancelledError
from executor.permission import _asking, _meeting, _showing
from executor.permission._inbox import Inbox
from executor.permission._meeting import Meeting, can_meet
from executor.permission._open import new_approval_id
from executor.values._approval import Approval, Lasting

pytestmark = pytest.mark.skipif(not can_meet(), reason="this system has no local sockets")
SECONDS = 20
ROOT = Path(__file__).parents[2]

ASKER = r"""
import json, os, sys, threading
from executor.approval import Approval, Inbox, new_approval_id

inbox = Inbox.shared()

def ask(number):
    approval = Approval(new_approval_id(), "act", {"number": number, "pid": os.getpid()}, "because")
    answer = inbox.ask(approval)
    os.write(1, json.dumps([number, answer.word, answer.value]).encode() + b"\n")  # whole, whoever else writes

if "fork" in sys.argv:
    import signal
    asking = threading.Thread(target=ask, args=(0,), daemon=True)
    asking.start()
    sys.stdin.readline()
    if os.fork() == 0:
        print(json.dumps(os.getpid()), flush=True)
        signal.pause()
    signal.pause()
threads = [threading.Thread(target=ask, args=(number,)) for number in range(int(sys.argv[1]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def question(**arguments):
    return Approval(new_approval_id(), "act", arguments, "because", text="act?")


class Watcher(Surface):
    """A surface that hands its events to the test."""

    def __init__(self, kind="page", **options):
        self.events = queue.SimpleQueue()
        super().__init__(kind, lambda event, approval: self.events.put((event, approval)), **options)

    def next(self, event):
        found, approval = self.events.get(timeout=SECONDS)
        assert found == event, (found, approval)
        return approval


class Here:
    """A channel in the asking process."""

    def __init__(self):
        self.answers, self.shown, self.withdrawn = {}, threading.Semaphore(0), queue.SimpleQueue()

    def ask(self, approval, answer):
        self.answers[approval.id] = answer
        self.shown.release()

    def withdraw(self, approval_id):
        self.withdrawn.put(approval_id)


@pytest.fixture
def asker(monkeypatch):
    """Processes that ask: ``asker(number)`` asks so many questions at once, and says what was answered."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "plugins")]))
    started = []

    def start(*words):
        command = [sys.executable, "-c", ASKER, *map(str, words)]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def asked(inbox, approval, **options):
    """Put a question; gives the queue of its answer."""
    answers = queue.SimpleQueue()
    inbox.put(approval, answers.put, **options)
    return answers


@pytest.mark.parametrize(
    ("said", "word", "value"),
    [
        ("yes", "yes", None),
        ("no: not here", "no", "not here"),
        (("comment", "use\n\u202els"), "comment", "use\n\u202els"),
        ("always project for 1h", "no", None),  # none of its options
        (("edit", {"a": [1, None]}), "no", None),
        ("whatever", "no", None),
    ],
)
def test_a_question_is_seen_and_answered_on_a_surface_of_another_process(said, word, value):
    with Watcher() as surface:
        approval = question(a=1, text="<b>\x1b[31m\u202e")
        answers = asked(Inbox.shared(), approval)
        seen = surface.next("asked")
        assert (seen.id, seen.arguments, seen.digest, seen.text) == (
            approval.id, approval.arguments, approval.digest, approval.text,
        )  # fmt: skip
        assert str(os.getpid()) in seen.origin
        won = surface.answer(seen.id, said)
        if not won:  # an answer that it does not have leaves it open
            assert [one.id for one in surface.pending()] == [seen.id]
            assert surface.answer(seen.id, "no")
        answer = answers.get(timeout=SECONDS)
        assert (answer.word, answer.value, answer.by) == (word, value, "page")
        surface.next("closed")
        assert surface.pending() == []
        assert surface.answer(seen.id, "yes") is False


def test_how_far_always_reaches_and_edited_arguments_arrive():
    with Watcher() as surface:
        for said, value in (
            ("always project for 1h", Lasting("project", 3600)),
            (("edit", {"a": [1, None]}), {"a": [1, None]}),
            (("always", {"rules": ["git *"], "times": 2}), Lasting(times=2, rules=("git *",))),
        ):
            approval = Approval(new_approval_id(), "act", {}, options=("always", "edit"))
            answers = asked(Inbox.shared(), approval)
            assert surface.answer(surface.next("asked").id, said)
            assert answers.get(timeout=SECONDS).value == value
            surface.next("closed")


def test_forms_and_rules_reach_the_surface():
    form, rules = {"type": "object", "properties": {"a": {"enum": [1]}}}, {"always": ("git *",), "never": ("git push",)}
    with Watcher() as surface:
        asked(Inbox.shared(), Approval(new_approval_id(), "act", {}, form=form, rules=rules))
        seen = surface.next("asked")
        assert seen.form == form
        assert {word: tuple(each) for word, each in seen.rules.items()} == rules
        surface.answer(seen.id, "no")


def test_an_answer_that_the_asker_cannot_act_upon_leaves_the_question_open():
    with Watcher() as surface:
        answers = asked(Inbox.shared(), question(), takes=lambda answer: answer.value != "nonsense")
        seen = surface.next("asked")
        assert surface.answer(seen.id, "comment: nonsense") is False
        assert [one.id for one in surface.pending()] == [seen.id]
        assert surface.answer(seen.id, "comment: sense")
        assert answers.get(timeout=SECONDS).value == "sense"


def test_an_answer_to_another_state_of_the_question_is_refused():
    with Watcher() as surface:
        answers = asked(Inbox.shared(), question(a=1))
        seen = surface.next("asked")
        assert surface.answer(seen.id, "yes", digest=question(a=2).digest) is False
        assert surface.answer(seen.id, "yes", digest=seen.digest)
        assert answers.get(timeout=SECONDS).word == "yes"


def test_without_a_surface_there_is_nobody_to_ask_at_once():
    assert Inbox.shared().ask(question()).word == "no_channel"
    with Surface("terminal", stays=False):  # who only looks is nobody to count on
        assert Inbox.shared().ask(question()).word == "no_channel"


def test_a_surface_that_has_died_is_nobody(own_folders):
    meeting = Meeting()
    meeting.listen("dead").close()
    assert Inbox.shared().ask(question()).word == "no_channel"
    assert meeting.names(".surface") == []


@pytest.mark.parametrize(
    "odd", [{"arguments": {"text": "x" * 10_000}}, {"details": {"agent": object()}}], ids=["too long", "no JSON"]
)
def test_a_question_that_cannot_be_sent_is_asked_of_nobody_and_hinders_no_other(monkeypatch, odd):
    monkeypatch.setattr(_meeting, "MAX_MESSAGE", 10_000)
    with Watcher() as surface:
        before = asked(Inbox.shared(), question(n=1))
        first = surface.next("asked")
        approval = Approval(new_approval_id(), "act", **{"arguments": {}, **odd})
        assert asked(Inbox.shared(), approval).get(timeout=SECONDS).word == "no_channel"
        after = asked(Inbox.shared(), question(n=2))
        for each, answers in ((first, before), (surface.next("asked"), after)):
            assert surface.answer(each.id, "yes")
            assert answers.get(timeout=SECONDS).word == "yes"
            surface.next("closed")


def test_a_spare_channel_is_asked_where_no_surface_lives(own_folders):
    inbox, spare = Inbox.shared(), Here()
    inbox.add_channel("spare", spare, spare=True)
    Meeting().listen("dead").close()
    approval = question()
    answers = asked(inbox, approval)
    assert spare.shown.acquire(timeout=SECONDS)
    assert spare.answers[approval.id]("yes")
    assert answers.get(timeout=SECONDS).by == "spare"
    with Watcher() as surface:
        answers = asked(inbox, question())
        surface.answer(surface.next("asked").id, "no")
        assert answers.get(timeout=SECONDS).by == "page"
    assert not spare.shown.acquire(blocking=False)


def test_a_surface_that_opens_later_is_shown_what_waits_and_the_first_answer_wins():
    inbox, here = Inbox.shared(), Here()
    inbox.add_channel("here", here)
    approvals = [question(n=n) for n in range(3)]
    answers = [asked(inbox, approval) for approval in approvals]
    with Watcher() as surface:
        assert {one.id for one in surface.pending()} == {one.id for one in approvals}
        assert surface.answer(approvals[0].id, "yes")
        assert here.withdrawn.get(timeout=SECONDS) == approvals[0].id
        assert here.answers[approvals[1].id]("no")
        assert surface.answer(approvals[1].id, "yes") is False
        assert here.answers[approvals[0].id]("no") is False
    assert here.answers[approvals[2].id]("yes")
    assert [each.get(timeout=SECONDS).by for each in answers] == ["page", "here", "here"]


def test_what_is_shown_can_be_answered_while_the_surface_waits_for_an_asker_that_is_stopped(monkeypatch):
    monkeypatch.setattr(_showing, "FIRST_LOOK", SECONDS)
    inbox, won = Inbox.shared(), queue.SimpleQueue()
    inbox.add_channel("here", Here())
    answers, seen = asked(inbox, question()), []

    def show(event, approval):
        if event == "asked":
            seen.extend(surface.pending())
            won.put(surface.answer(approval.id, "yes"))

    def open_surface():
        with contextlib.suppress(ExecutorUnavailableError, ToolCancelledError):  # it is closed meanwhile
            surface.open()

    surface, opening = Surface("page", show), threading.Thread(target=open_surface)
    with Meeting().bell("stopped"):
        opening.start()
        assert won.get(timeout=SECONDS)
        assert opening.is_alive()
        surface.close()
        opening.join(SECONDS)
    assert answers.get(timeout=SECONDS).by == "page"
    assert len(seen) == 1


def test_a_question_survives_the_surface_that_showed_it(caplog):
    with Watcher() as surface:
        answers = asked(Inbox.shared(), question())
        approval_id = surface.next("asked").id
    with Watcher("terminal") as other:
        assert [one.id for one in other.pending()] == [approval_id]
        assert other.answer(approval_id, "yes")
    assert answers.get(timeout=SECONDS).by == "terminal"
    assert caplog.messages == [], "that a surface closes is no failure"


def test_one_of_two_surfaces_wins_each_of_fifty_races():
    inbox = Inbox.shared()
    with Watcher("one") as one, Watcher("two") as two:
        for _ in range(50):
            answers, start, won = asked(inbox, question()), threading.Barrier(2), {}
            approval_id = one.next("asked").id
            assert two.next("asked").id == approval_id

            def answer(surface, name, word, approval_id=approval_id, start=start, won=won):
                start.wait(SECONDS)
                won[name] = surface.answer(approval_id, word)

            racers = [threading.Thread(target=answer, args=each) for each in ((one, "one", "yes"), (two, "two", "no"))]
            for racer in racers:
                racer.start()
            for racer in racers:
                racer.join(SECONDS)
            said = answers.get(timeout=SECONDS)
            assert won == {said.by: True, ({"one", "two"} - {said.by}).pop(): False}
            assert said.word == {"one": "yes", "two": "no"}[said.by]
            one.next("closed")
            two.next("closed")


def test_the_questions_of_many_processes_are_each_answered_alone(asker):
    with Watcher() as surface:
        processes = [asker(50) for _ in range(4)]
        for _ in range(200):
            event, seen = surface.events.get(timeout=60)
            while event == "closed":
                event, seen = surface.events.get(timeout=60)
            assert surface.answer(seen.id, ("yes", json.dumps([seen.arguments["pid"], seen.arguments["number"]])))
        for process in processes:
            said = [json.loads(line) for line in process.communicate(timeout=60)[0].splitlines()]
            assert sorted(number for number, _, _ in said) == list(range(50))
            assert all(json.loads(text) == [process.pid, number] for number, _, text in said)


def test_an_answer_that_nobody_took_in_time_counts_no_more_when_the_asker_goes_on(asker, monkeypatch):
    monkeypatch.setattr(_showing, "REPLY", 0.0)
    monkeypatch.setattr(_showing, "ON_ITS_WAY", 0.2)
    with Watcher() as surface:
        process = asker(1)
        seen = surface.next("asked")
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        assert surface.answer(seen.id, "yes") is False
        process.send_signal(signal.SIGCONT)
        monkeypatch.setattr(_showing, "REPLY", 30.0)
        monkeypatch.setattr(_showing, "ON_ITS_WAY", 2.0)
        assert surface.answer(seen.id, "no") is True
        assert json.loads(process.stdout.readline()) == [0, "no", None]


@pytest.mark.parametrize("forked", [False, True], ids=["alone", "with a child that lives on"])
def test_the_question_of_a_process_that_is_killed_is_gone(asker, forked):
    with Watcher() as surface:
        process = asker("fork") if forked else asker(1)
        seen = surface.next("asked")
        child = None
        if forked:
            process.stdin.write("\n")
            process.stdin.flush()
            child = json.loads(process.stdout.readline())
        try:
            process.kill()
            assert surface.next("closed").id == seen.id
            assert surface.pending() == []
            assert surface.answer(seen.id, "yes") is False
        finally:
            if child is not None:
                os.kill(child, signal.SIGKILL)


def test_what_lies_on_the_disk_is_the_users_alone_and_says_nothing():
    with Watcher() as surface:
        answers = asked(Inbox.shared(), question(password="hunter2-of-the-question"))
        surface.next("asked")
        folder = Meeting().folder
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
        assert len(list(folder.iterdir())) == 3  # the key, the surface, the bell
        surface.answer(surface.pending()[0].id, ("yes", "hunter2-of-the-answer"))
        answers.get(timeout=SECONDS)
        kept = [path for path in folder.parent.rglob("*") if path.is_file()]
        assert kept
        assert not any(b"hunter2" in path.read_bytes() for path in kept)


@pytest.mark.parametrize("where", ["fsync", "link"])
def test_a_key_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch, where):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    meeting = Meeting(tmp_path / "people")
    with monkeypatch.context() as patched:
        patched.setattr(os, where, full)
        with pytest.raises(OSError, match="No space"):
            meeting.key()
        assert list(meeting.folder.iterdir()) == []
    meeting.key()
    assert [path.name for path in meeting.folder.iterdir()] == ["key"]


def test_a_surface_that_cannot_be_shown_to_others_leaves_nothing(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    meeting = Meeting(tmp_path / "people")
    meeting.key()
    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(OSError, match="denied"):
        meeting.listen("mine")
    assert [path.name for path in meeting.folder.iterdir()] == ["key"]


@contextlib.contextmanager
def met(meeting, *sent):
    """A surface that proves itself, sends these messages and does nothing more; gives the connections to it."""
    listener, connections, key = meeting.listen("odd"), queue.SimpleQueue(), meeting.key()
    listener.setblocking(True)

    def serve():
        with contextlib.suppress(OSError):  # it was closed
            while True:
                connection, _ = listener.accept()
                connections.put(connection)
                own = os.urandom(32)
                connection.sendall(own)
                theirs = connection.recv(32, socket.MSG_WAITALL)
                connection.sendall(_meeting._proof(key, "surface", own, theirs))
                connection.recv(32, socket.MSG_WAITALL)
                for message in sent:
                    connection.sendall(struct.pack(">I", len(message)) + message)

    thread = threading.Thread(target=serve)
    thread.start()
    yield connections
    meeting.remove("odd.surface")
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(SECONDS)
    while not connections.empty():
        connections.get().close()


def test_a_surface_that_is_stopped_keeps_no_later_question_from_the_others():
    """One that is suspended at its terminal takes nothing more, once what fits on the way to it is there."""
    inbox = Inbox.shared()
    with met(Meeting(), b'{"kind": "page", "stays": true}') as connections, Watcher() as surface:
        for size in (1 << 23, 1, 1):
            approval = question(text="x" * size)
            answers = asked(inbox, approval)
            assert surface.next("asked").id == approval.id
            assert surface.answer(approval.id, "yes")
            assert answers.get(timeout=SECONDS).word == "yes"
            assert surface.next("closed").id == approval.id
        assert not connections.empty()


@pytest.mark.skipif(sys.platform != "linux", reason="who is stopped is known on Linux only")
@pytest.mark.parametrize("stopped", [True, False])
def test_a_surface_that_is_late_is_waited_for_unless_it_is_stopped(monkeypatch, stopped):
    monkeypatch.setattr(_asking, "GREETING", 0.0)
    monkeypatch.setattr(_asking, "is_stopped", lambda pid: stopped)
    with Watcher() as surface:
        answers = asked(Inbox.shared(), question())
        if stopped:
            assert answers.get(timeout=SECONDS).word == "no_channel"
        else:
            assert surface.answer(surface.next("asked").id, "yes")
            assert answers.get(timeout=SECONDS).word == "yes"


@pytest.mark.skipif(sys.platform != "linux", reason="who is stopped is known on Linux only")
def test_who_is_stopped_or_gone_is_known(asker):
    process = asker(0, "fork")
    assert not is_stopped(process.pid)
    process.send_signal(signal.SIGSTOP)
    assert os.waitpid(process.pid, os.WUNTRACED)[0] == process.pid
    assert is_stopped(process.pid)
    process.kill()
    process.wait()
    assert is_stopped(process.pid)


@pytest.mark.parametrize("hello", [[], [b'{"kind": "page", "stays": true}']])
def test_what_a_surface_says_without_end_is_no_message(hello, caplog):
    inbox = Inbox.shared()
    with met(Meeting(), *hello, b"[" * 200_000), Watcher() as surface:
        answers = asked(inbox, question())
        assert surface.answer(surface.next("asked").id, "yes")
        assert answers.get(timeout=SECONDS).word == "yes"
    assert "Traceback" not in caplog.text


def test_who_cannot_read_the_key_is_shown_nothing_and_answers_nothing(caplog):
    meeting = Meeting()
    meeting.key()
    listener = meeting.listen("stranger")
    listener.setblocking(True)

    def pretend():
        connection, _ = listener.accept()
        with connection:
            heard = b""
            connection.sendall(bytes(64))
            while data := connection.recv(4096):
                heard += data
            said.put(heard)

    said = queue.SimpleQueue()
    thread = threading.Thread(target=pretend)
    thread.start()
    assert Inbox.shared().ask(question(secret="unheard")).word == "no_channel"
    thread.join(SECONDS)
    listener.close()
    assert len(said.get(timeout=SECONDS)) == 64  # a nonce, and a proof
    assert "cannot read the key" in caplog.text


def test_an_asker_that_cannot_read_the_key_is_heard_by_no_surface():
    with Watcher() as surface:
        meeting = Meeting()
        (name,) = meeting.names(".surface")
        with socket.socket(socket.AF_UNIX) as stranger, meeting.address(f"{name}.surface") as address:
            stranger.connect(address)
            stranger.sendall(bytes(64) + b"\0\0\0\x02{}")
            heard = b""
            while data := stranger.recv(4096):
                heard += data
        assert len(heard) == 64
        assert surface.pending() == []


@pytest.mark.skipif(sys.platform != "linux", reason="files of other processes are known on Linux only")
def test_a_surface_that_a_call_has_started_is_shown_nothing(caplog):
    script = "from executor.approval import Surface\nwith Surface('page'):\n    print('open', flush=True)\n    input()"
    mark_caller()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True) as child:
        assert child.stdout.readline() == "open\n"
        assert Inbox.shared().ask(question()).word == "no_channel"
        child.communicate("\n")
    assert "which a call of process" in caplog.text


def _end_of_a_child(do):
    """The number of a child that does it and ends; nobody has it any more."""
    child = os.fork()
    if child == 0:
        do()
        os._exit(0)
    os.waitpid(child, 0)
    return child


@pytest.fixture(params=["by its handle", "by its number"])
def known(request, monkeypatch):
    if request.param == "by its number":  # as before Linux 6.5
        monkeypatch.setattr(_meeting, "_SO_PEERPIDFD", 9999)


@pytest.mark.skipif(sys.platform != "linux", reason="files of other processes are known on Linux only")
@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("side", ["listens", "connects"])
def test_whoever_has_ended_speaks_for_nobody(tmp_path, side):
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "s"))
        (_end_of_a_child if side == "listens" else _do)(lambda: server.listen(1))
        (_end_of_a_child if side == "connects" else _do)(lambda: client.connect(str(tmp_path / "s")))
        accepted, _ = server.accept()
        with accepted, pytest.raises(_meeting.StrangerError, match="gone"):
            _meeting.refuse_called(client if side == "listens" else accepted)
    own, other = socket.socketpair()
    with own, other:
        _meeting.refuse_called(own)  # this process lives


def _handle_of_this_process():
    own, other = socket.socketpair()
    with own, other:
        return _meeting._handle(own)


def _do(it):
    it()


@pytest.mark.skipif(sys.platform != "linux", reason="files of other processes are known on Linux only")
def test_a_number_that_is_another_processs_by_now_is_not_taken_for_it(tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "s"))
        _end_of_a_child(lambda: server.listen(1))
        client.connect(str(tmp_path / "s"))
        if (handle := _handle_of_this_process()) is None:
            pytest.skip("this system has no handles of who is on the other side")
        os.close(handle)
        monkeypatch.setattr(_meeting, "peer", lambda _: (os.getpid(), os.getuid()))
        with pytest.raises(_meeting.StrangerError, match="gone"):
            _meeting.refuse_called(client)


def test_a_subscriber_is_told_of_the_questions_of_other_processes_and_answers_them():
    events = queue.SimpleQueue()
    with ToolExecutor() as executor:
        end = executor.approvals.subscribe(lambda event, approval: events.put((event, approval)))
        approval = question()
        answers = asked(Inbox.shared(), approval)
        event, seen = events.get(timeout=SECONDS)
        assert (event, seen.id) == ("asked", approval.id)
        assert [one.id for one in executor.approvals.pending()] == [approval.id]
        assert executor.approvals.decide(approval.id, "yes")
        assert answers.get(timeout=SECONDS).word == "yes"
        assert events.get(timeout=SECONDS)[0] == "closed"
        own = question()
        own_answers = asked(executor.approvals, own)
        assert [events.get(timeout=SECONDS)[1].origin] == [""]  # its own is told once
        assert executor.approvals.decide(own.id, "no")
        assert own_answers.get(timeout=SECONDS).word == "no"
        end()
        assert Inbox.shared().ask(question()).word == "no_channel"


def test_of_subscribers_that_come_and_go_no_surface_is_left():
    made = []
    with ToolExecutor() as executor:
        for _ in range(5):
            end = executor.approvals.subscribe(print)
            made.append(weakref.ref(executor.approvals._surface))
            end()
        gc.collect()
        assert [each() for each in made] == [None] * 5


def test_many_channels_of_an_inbox_that_is_not_shared_stay_here():
    with Watcher() as surface:
        assert Inbox().ask(question()).word == "no_channel"
        assert Inbox.shared().ask(question(), channels={}).word == "no_channel"
        assert surface.pending() == []


@pytest.mark.parametrize("damaged", [b"", b"short"])
def test_a_key_that_everybody_may_know_opens_nothing(tmp_path, damaged):
    meeting = Meeting(tmp_path / "people")
    meeting.key()
    (meeting.folder / "key").write_bytes(damaged)
    with pytest.raises(ExecutorUnavailableError, match="is damaged"):
        Surface("page", meeting=meeting).open()
