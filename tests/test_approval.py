"""The inbox: who is asked, whose answer counts, and what happens when nobody answers."""

from __future__ import annotations

import os
import pty
import queue
import re
import threading
import time
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

import executor_console
from executor import CancelToken
from executor.permission import _editor
from executor.permission._dialogue import Dialogue
from executor.permission._inbox import Inbox
from executor.permission._open import new_approval_id
from executor.permission._terminal import TerminalChannel
from executor.permission._visible import _LEFTWARD, _UNSEEN, question_text, visible
from executor.values._approval import Answer, Approval, Lasting, NoChannelError, parse_answer


def question(tool="act", **arguments):
    return Approval(new_approval_id(), tool, arguments, "because", text=f"{tool}?")


class Surface:
    """A channel that hands its questions to the test."""

    def __init__(self):
        self.asked, self.withdrawn, self.shown = {}, [], threading.Semaphore(0)
        self.taken_back = threading.Semaphore(0)

    def ask(self, approval, answer):
        self.asked[approval.id] = answer
        self.shown.release()

    def withdraw(self, approval_id):
        self.withdrawn.append(approval_id)
        self.taken_back.release()


def ask_in_thread(inbox, approval, **options):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(inbox.ask(approval, **options)))
    thread.start()

    def result():
        thread.join(10)
        return answers[0]

    return result


def test_the_first_of_several_surfaces_wins_and_the_others_are_told():
    inbox, one, two = Inbox(), Surface(), Surface()
    inbox.add_channel("one", one)
    inbox.add_channel("two", two)
    approval = question()
    result = ask_in_thread(inbox, approval)
    assert one.shown.acquire(timeout=10)
    assert two.shown.acquire(timeout=10)
    assert [pending.id for pending in inbox.pending()] == [approval.id]
    assert two.asked[approval.id]("yes") is True
    assert one.asked[approval.id]("no") is False
    answer = result()
    assert (answer.word, answer.by, answer.allowed) == ("yes", "two", True)
    assert one.withdrawn == two.withdrawn == [approval.id]
    assert inbox.pending() == []


def test_without_any_surface_the_answer_is_no_channel():
    assert Inbox().ask(question()).word == "no_channel"


def test_surfaces_that_reach_nobody_or_raise_are_none(caplog):
    class Nobody(Surface):
        def ask(self, approval, answer):
            raise NoChannelError

    class Broken(Surface):
        def ask(self, approval, answer):
            raise RuntimeError("broken")

    inbox = Inbox()
    inbox.add_channel("nobody", Nobody())
    inbox.add_channel("broken", Broken())
    answer = inbox.ask(question(), timeout=10)
    assert (answer.word, answer.allowed) == ("no_channel", False)
    assert "broken" in caplog.text


def test_a_spare_surface_is_asked_where_nobody_else_can_be():
    class Nobody(Surface):
        def ask(self, approval, answer):
            raise NoChannelError

    inbox, spare, good, answers = Inbox(), Surface(), Surface(), []
    inbox.add_channel("spare", spare, spare=True)
    inbox.add_channel("nobody", Nobody())
    inbox.put(Approval("q1", "act", {}), answers.append)
    assert spare.asked["q1"]("yes")
    inbox.add_channel("good", good)
    inbox.put(Approval("q2", "act", {}), answers.append)
    assert good.asked["q2"]("no")
    assert list(spare.asked) == ["q1"]
    inbox.put(Approval("q3", "act", {}), answers.append)
    good.asked["q3"](Answer("no_channel"))  # it has turned out that nobody is there
    assert spare.asked["q3"]("yes")
    assert [(answer.word, answer.by) for answer in answers] == [("yes", "spare"), ("no", "good"), ("yes", "spare")]
    assert spare.withdrawn == ["q1", "q3"]
    inbox.remove_channel("nobody")
    inbox.remove_channel("good")
    inbox.add_channel("spare", Nobody(), spare=True)
    assert inbox.ask(question()).word == "no_channel"


def test_a_question_that_is_cancelled_is_taken_from_a_spare_surface():
    inbox, spare, answers, cancel = Inbox(), Surface(), [], CancelToken()
    inbox.add_channel("spare", spare, spare=True)
    inbox.put(Approval("q", "act", {}), answers.append, cancel=cancel)
    cancel.cancel("enough")
    assert spare.taken_back.acquire(timeout=10)
    assert ([answer.word for answer in answers], spare.withdrawn) == (["cancelled"], ["q"])


def test_an_inbox_asks_nobody_but_those_it_is_restricted_to():
    inbox, one, two, told, answers = Inbox(), Surface(), Surface(), [], []
    inbox.add_channel("one", one)
    inbox.add_channel("two", two)
    inbox.subscribe(lambda event, approval: told.append(approval))
    inbox.restrict(["one"])
    inbox.put(Approval("q1", "act", {}), answers.append)
    assert one.asked["q1"]("yes")
    inbox.put(Approval("q2", "act", {}), answers.append, channels={"two": two})
    inbox.restrict([])
    inbox.put(Approval("q3", "act", {}), answers.append)
    assert [answer.word for answer in answers] == ["yes", "no_channel", "no_channel"]
    assert (two.asked, told) == ({}, [])
    inbox.restrict(None)
    inbox.put(Approval("q4", "act", {}), answers.append)
    assert two.asked["q4"]("yes")


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), ValueError("x")])
def test_a_surface_that_raises_anything_leaves_the_others_and_later_questions(error, caplog):
    class Broken(Surface):
        def ask(self, approval, answer):
            raise error

        def withdraw(self, approval_id):
            raise error

    inbox, good, answers = Inbox(), Surface(), []
    inbox.add_channel("broken", Broken())
    inbox.subscribe(lambda event, approval: (_ for _ in ()).throw(error))
    inbox.add_channel("good", good)
    for number in range(2):
        inbox.put(Approval(f"q{number}", "act", {}), answers.append)
        assert good.asked[f"q{number}"]("yes")
    assert [answer.word for answer in answers] == ["yes", "yes"]
    assert inbox.pending() == []


def test_a_timeout_is_a_no_and_a_late_answer_approves_nothing():
    inbox, surface = Inbox(), Surface()
    inbox.add_channel("s", surface)
    late = question(a=1)
    assert inbox.ask(late, timeout=0.01).word == "timeout"
    assert surface.taken_back.acquire(timeout=10)
    assert surface.withdrawn == [late.id]
    other = ask_in_thread(inbox, question(a=2), timeout=10)
    assert surface.shown.acquire(timeout=10)
    assert surface.shown.acquire(timeout=10)
    assert surface.asked[late.id]("yes") is False
    assert inbox.decide(late.id, "yes") is False
    (open_now,) = inbox.pending()
    inbox.decide(open_now.id, "no")
    assert other().allowed is False


def test_identical_questions_are_asked_once_and_different_ones_alone():
    inbox, surface = Inbox(), Surface()
    inbox.add_channel("s", surface)
    first = ask_in_thread(inbox, question(a=1), timeout=10)
    assert surface.shown.acquire(timeout=10)
    joined, inside = [], threading.Barrier(2)
    original = inbox._open_or_join

    def join(*given):
        result = original(*given)
        inside.wait(10)
        return result

    inbox._open_or_join = join
    second = ask_in_thread(inbox, question(a=1), timeout=10)
    inside.wait(10)
    inbox._open_or_join = original
    third = ask_in_thread(inbox, question(a=2), timeout=10)
    assert surface.shown.acquire(timeout=10)
    one, two = inbox.pending()
    assert (one.arguments, two.arguments) == ({"a": 1}, {"a": 2})
    inbox.decide(one.id, "yes")
    inbox.decide(two.id, "no")
    joined = [first().word, second().word, third().word]
    assert joined == ["yes", "yes", "no"]
    assert len(surface.asked) == 2


def test_one_of_two_who_wait_may_give_up_without_the_other():
    inbox, surface = Inbox(), Surface()
    inbox.add_channel("s", surface)
    token = CancelToken()
    stays = ask_in_thread(inbox, question(a=1), timeout=10)
    assert surface.shown.acquire(timeout=10)
    token.cancel()
    assert inbox.ask(question(a=1), cancel=token).word == "cancelled"
    (pending,) = inbox.pending()
    inbox.decide(pending.id, "yes")
    assert stays().word == "yes"


def test_whoever_gives_up_leaves_the_question_to_those_who_asked_the_same():
    inbox, surface, token, answers = Inbox(), Surface(), CancelToken(), []
    inbox.add_channel("s", surface)
    first, second, third = question(a=1), question(a=1), question(a=1)
    inbox.put(first, answers.append, cancel=token)
    inbox.put(second, answers.append)
    inbox.put(third, answers.append)
    token.cancel()
    assert inbox.decide(first.id, "yes")
    assert [answer.to for answer in answers] == ["", second.id, second.id]


def test_a_question_is_also_answered_by_the_id_of_one_that_was_joined_to_it():
    inbox, answers = Inbox(), []
    inbox.add_channel("s", Surface())
    first, second = question(a=1), question(a=1)
    inbox.put(first, answers.append)
    inbox.put(second, answers.append)
    assert inbox.decide(second.id, "yes")
    assert [answer.to for answer in answers] == [second.id, second.id]
    assert inbox.decide(first.id, "yes") is False


@pytest.mark.parametrize("ends", ["answer", "time", "cancel"])
def test_whoever_waits_is_told_before_a_surface_takes_its_time_to_withdraw_the_question(ends):
    class Slow(Surface):
        def withdraw(self, approval_id):
            told.put(len(answers))  # and would not return

    clock, token, answers, told = Clock(), CancelToken(), [], queue.SimpleQueue()
    inbox = Inbox(clock.at)
    inbox.add_channel("slow", Slow())
    approval = question()
    inbox.put(approval, answers.append, timeout=9, cancel=token)
    {"answer": lambda: inbox.decide(approval.id, "yes"), "time": clock.strike, "cancel": token.cancel}[ends]()
    assert told.get(timeout=10) == 1


def test_an_answer_is_bound_to_what_was_seen():
    inbox, surface = Inbox(), Surface()
    inbox.add_channel("s", surface)
    result = ask_in_thread(inbox, question(a=1), timeout=10)
    assert surface.shown.acquire(timeout=10)
    (pending,) = inbox.pending()
    assert inbox.decide(pending.id, "yes", digest="of something else") is False
    assert inbox.decide(pending.id, "always") is False  # not one of its options
    assert inbox.decide(pending.id, "yes", digest=pending.digest) is True
    assert result().word == "yes"


def test_a_subscriber_is_told_of_questions_and_their_end():
    inbox, told = Inbox(), []

    def listen(event, approval):
        told.append((event, approval.tool))
        if event == "asked":
            inbox.decide(approval.id, "yes")

    end = inbox.subscribe(listen)
    assert inbox.ask(question(), timeout=10).allowed
    end()
    assert told == [("asked", "act"), ("closed", "act")]
    assert inbox.ask(question()).word == "no_channel"


@pytest.mark.parametrize(
    ("said", "word", "value"),
    [
        ("y", "yes", None),
        (" YES ", "yes", None),
        ("n", "no", None),
        ("o", "once", None),
        ("always", "always", None),
        ("c: use git mv", "comment", "use git mv"),
        (("comment", "x"), "comment", "x"),
        (("edit", {"a": 1}), "edit", {"a": 1}),
        (("edit", "x"), "no", None),
        ("edit", "no", None),
        ("sure", "no", None),
        ("", "no", None),
        (True, "no", None),
        (None, "no", None),
    ],
)
def test_words_and_short_forms_are_understood_and_everything_else_is_no(said, word, value):
    answer = parse_answer(said)
    assert (answer.word, answer.value) == (word, value)
    assert parse_answer(answer) is answer


@pytest.mark.parametrize(
    "character", [*"\x1b\u202e\u200b\xad\u3164\x07\u2028\xa0\u034f\u17b4\ufe0f\U000e0100\U0001d159\U00013441"]
)
def test_what_a_terminal_would_hide_or_act_on_is_made_visible(character):
    assert visible(f"a{character}b") == f"a<U+{ord(character):04X}>b"


def test_marks_are_left_on_their_letter_and_heaps_of_them_are_told():
    assert visible("e\u0301 ก็ ệ") == "e\u0301 ก็ ệ"
    assert visible("a" + "\u0336" * 5 + "b\u0301") == "a" + "\u0336" * 3 + "<U+0336>" * 2 + "b\u0301"


def test_runs_of_blanks_are_counted():
    assert visible("a" + " " * 1500 + "b" + " " * 8 + "c\n\n\n\nd") == f"a[1500 blanks]b{' ' * 8}c[4 newlines]d"


@pytest.mark.parametrize(
    ("expression", "characters"),
    [(r"const ODD = .*\|(\[.*\])/gu;", _UNSEEN.pattern), (r"const LEFTWARD = /\((.*)\)/u;", _LEFTWARD.pattern)],
)
def test_the_page_has_the_same_list_of_characters(expression, characters):
    script = (Path(executor_console.__file__).parent / "static" / "text.js").read_text("utf-8")
    told = re.search(expression, script)[1]
    code = re.compile(r"\\u\{([0-9a-f]+)\}|\\u([0-9a-f]{4})")
    assert code.sub(lambda match: chr(int(match[1] or match[2], 16)), told) == characters


def test_all_letters_that_are_written_from_right_to_left_are_kept_in_place():
    leftward = [chr(code) for code in range(0x110000) if unicodedata.bidirectional(chr(code)) in ("R", "AL", "AN")]
    assert len(leftward) > 1000
    shown = set("".join(leftward)) - {"\u200f", "\u061c"}  # marks, which are shown by number
    assert [character for character in sorted(shown) if not _LEFTWARD.match(character)] == []


def test_words_that_are_written_from_right_to_left_stay_in_their_order():
    question = question_text("runCommand", {"command": "cp \u05d0\u05d1/1 \u0634 end"}, "because")
    assert "  command: cp \u200e\u05d0\u05d1\u200e/1 \u200e\u0634\u200e end\n" in question


def test_neither_a_name_nor_a_value_begins_a_line_of_the_question():
    arguments = {"a": "x\nRun fine?", "asked by": "you", "b\nanswers": "yes", "folder": "/"}
    assert question_text("t", arguments, "it\nasks").splitlines() == [
        "Run t? (it⏎", "      asks)", "  a: x⏎", "      Run fine?", '  "asked by": you', '  "b\\nanswers": yes',
        '  "folder": /', "Run t?",
    ]  # fmt: skip


def test_long_texts_keep_head_and_tail_around_a_count():
    shown = visible("a" * 5000 + "END", 100)
    assert shown.endswith("END")
    assert "4903 characters more" in shown


LEGEND = "y yes · n no · ? more > "


class Terminal:
    """A pseudo-terminal: the channel's end, and the person's."""

    def __init__(self):
        person, end = pty.openpty()
        self.person = os.fdopen(person, "rb+", buffering=0)
        self.source = os.fdopen(end, "r")
        self.target = Target()
        self.channel = TerminalChannel(self.source, self.target)

    def close(self):
        self.person.close()
        self.source.close()


class Target:
    """What the person sees; a test can wait for it."""

    def __init__(self):
        self.text, self.changed = "", threading.Condition()

    def write(self, text):
        with self.changed:
            self.text += text
            self.changed.notify_all()

    def flush(self):
        pass

    def wait_for(self, text, count=1):
        with self.changed:
            assert self.changed.wait_for(lambda: self.text.count(text) >= count, 10), self.text


@pytest.fixture
def terminal():
    terminal = Terminal()
    yield terminal
    terminal.close()


def test_a_person_answers_on_the_terminal(terminal):
    inbox = Inbox()
    inbox.add_channel("console", terminal.channel)
    result = ask_in_thread(inbox, question(), timeout=10)
    terminal.target.wait_for(LEGEND)
    terminal.person.write(b"y\n")
    assert result().by == "console"
    assert "act?" in terminal.target.text


def test_what_was_typed_before_the_question_is_no_answer_to_it(terminal):
    inbox = Inbox()
    inbox.add_channel("console", terminal.channel)
    terminal.person.write(b"yes\n")
    result = ask_in_thread(inbox, question(), timeout=10)
    terminal.target.wait_for(LEGEND)
    terminal.person.write(b"no\n")
    assert result().word == "no"


def test_questions_on_one_terminal_come_one_after_the_other(terminal):
    inbox = Inbox()
    inbox.add_channel("console", terminal.channel)
    first = ask_in_thread(inbox, question(a=1), timeout=10)
    terminal.target.wait_for(LEGEND)
    second = ask_in_thread(inbox, question(a=2), timeout=10)
    terminal.person.write(b"yes\n")
    assert first().word == "yes"
    terminal.target.wait_for(LEGEND, 2)
    terminal.person.write(b"c: not now\n")
    assert second() == Answer("comment", "not now", "console")


def test_a_closed_terminal_is_nobody_to_ask(terminal):
    inbox = Inbox()
    inbox.add_channel("console", terminal.channel)
    result = ask_in_thread(inbox, question(), timeout=10)
    terminal.target.wait_for(LEGEND)
    terminal.person.write(b"\x04")
    assert result().word == "no_channel"


def test_a_clock_that_was_set_forward_ends_no_question_that_still_waits(terminal):
    inbox = Inbox()
    inbox.add_channel("console", terminal.channel)
    result = ask_in_thread(inbox, replace(question(), deadline=time.time() - 3600), timeout=10)
    terminal.target.wait_for(LEGEND)
    terminal.person.write(b"?\n")
    terminal.target.wait_for(LEGEND, 2)
    terminal.person.write(b"y\n")
    assert result().by == "console"


def test_a_question_that_nobody_answers_in_time_leaves_the_terminal(terminal):
    inbox = Inbox(at=lambda when, fn: due.append(fn) or (lambda: None))
    due = []
    inbox.add_channel("console", terminal.channel)
    result = ask_in_thread(inbox, question(), timeout=10)
    terminal.target.wait_for(LEGEND)
    due[0]()
    assert result().word == "timeout"
    terminal.target.wait_for("not answered in time")


def test_a_question_answered_elsewhere_leaves_the_terminal(terminal):
    inbox = Inbox()
    inbox.add_channel("console", terminal.channel)
    result = ask_in_thread(inbox, question(), timeout=10)
    terminal.target.wait_for(LEGEND)
    (pending,) = inbox.pending()
    inbox.decide(pending.id, "yes")
    assert result().word == "yes"
    terminal.target.wait_for("no longer needed")


def test_a_question_withdrawn_as_it_is_answered_does_not_take_the_next_one_along(terminal):
    channel, said = terminal.channel, queue.SimpleQueue()

    def answer_first(text):
        channel.ask(question(a=2), lambda text: said.put(text) or True)
        channel.withdraw(first.id)  # as the inbox does, in the thread of whoever asked
        return True

    first = question(a=1)
    channel.ask(first, answer_first)
    terminal.target.wait_for(LEGEND)
    terminal.person.write(b"yes\n")
    terminal.target.wait_for(LEGEND, 2)
    terminal.person.write(b"no\n")
    assert said.get(timeout=10) == Answer("no")


def test_closing_takes_the_open_questions_back_and_leaves_no_thread(terminal):
    for number in range(2):
        terminal.channel.ask(question(a=number), lambda _: True)
    terminal.target.wait_for(LEGEND)
    terminal.channel.close()
    assert "no longer needed" in terminal.target.text
    assert terminal.target.text.count("act?") == 1
    assert not [thread for thread in threading.enumerate() if thread.name == "executor-terminal"]


def test_without_a_terminal_there_is_nobody_to_ask(tmp_path):
    inbox = Inbox()
    with (tmp_path / "file").open("w+") as file:
        inbox.add_channel("console", TerminalChannel(file, Target()))
        assert inbox.ask(question(), timeout=10).word == "no_channel"


# Without a thread that waits.


class Clock:
    """Time limits that pass when the test says so."""

    def __init__(self):
        self.due = []

    def at(self, when, fn):
        self.due.append(fn)
        return lambda: self.due.remove(fn)

    def strike(self):
        for fn in list(self.due):
            fn()


def test_a_question_that_was_put_is_answered_by_a_call():
    clock, surface, answers = Clock(), Surface(), []
    inbox = Inbox(clock.at)
    inbox.add_channel("s", surface)
    approval = question()
    inbox.put(approval, answers.append, timeout=10)
    assert answers == []
    assert surface.asked[approval.id]("yes") is True
    assert [(answer.word, answer.by) for answer in answers] == [("yes", "s")]
    assert surface.withdrawn == [approval.id]
    assert clock.due == []
    assert inbox.pending() == []


def test_a_question_that_was_put_ends_once_by_time_or_cancel():
    clock, surface, token, answers = Clock(), Surface(), CancelToken(), []
    inbox = Inbox(clock.at)
    inbox.add_channel("s", surface)
    approval = question()
    inbox.put(approval, answers.append, timeout=10, cancel=token)
    inbox.put(question(a=2), answers.append, timeout=10)
    token.cancel()
    assert [answer.word for answer in answers] == ["cancelled"]
    clock.strike()
    assert [answer.word for answer in answers] == ["cancelled", "timeout"]
    assert surface.asked[approval.id]("yes") is False
    assert len(answers) == 2


@pytest.mark.parametrize("ends", ["time", "cancel"])
def test_a_question_ends_while_a_surface_takes_its_time_to_show_it(ends):
    class Slow(Surface):
        def ask(self, approval, answer):
            super().ask(approval, answer)
            let_go.wait(30)

    clock, slow, token, answers, let_go = Clock(), Slow(), CancelToken(), [], threading.Event()
    inbox = Inbox(clock.at)
    inbox.add_channel("slow", slow)
    approval = question()
    asking = threading.Thread(target=inbox.put, args=(approval, answers.append), kwargs={"timeout": 9, "cancel": token})
    asking.start()
    assert slow.shown.acquire(timeout=10)
    clock.strike() if ends == "time" else token.cancel()
    assert [answer.word for answer in answers] == ["timeout" if ends == "time" else "cancelled"]
    assert slow.asked[approval.id]("yes") is False
    let_go.set()
    asking.join(10)
    assert slow.withdrawn == [approval.id]
    assert clock.due == []


def test_what_was_cancelled_before_it_is_put_is_shown_to_nobody():
    surface, token, answers = Surface(), CancelToken(), []
    inbox = Inbox()
    inbox.add_channel("s", surface)
    token.cancel()
    inbox.put(question(), answers.append, cancel=token)
    assert [answer.word for answer in answers] == ["cancelled"]
    assert (surface.asked, inbox.pending()) == ({}, [])


def test_a_question_that_was_put_and_reaches_nobody_is_answered_at_once():
    answers = []
    Inbox().put(question(), answers.append, timeout=10)
    assert [answer.word for answer in answers] == ["no_channel"]


def test_a_question_that_is_taken_back_is_never_answered():
    clock, surface, answers = Clock(), Surface(), []
    inbox = Inbox(clock.at)
    inbox.add_channel("s", surface)
    approval = question()
    take_back = inbox.put(approval, answers.append, timeout=10)
    take_back()
    take_back()
    assert surface.asked[approval.id]("yes") is False
    assert (answers, clock.due, surface.withdrawn) == ([], [], [approval.id])


def test_an_answer_given_while_it_is_still_being_shown_takes_it_from_every_surface():
    class Quick(Surface):
        def ask(self, approval, answer):
            super().ask(approval, answer)
            answer("yes")

    inbox, quick, slow, answers = Inbox(), Quick(), Surface(), []
    inbox.add_channel("quick", quick)
    inbox.add_channel("slow", slow)
    approval = question()
    inbox.put(approval, answers.append)
    assert [answer.by for answer in answers] == ["quick"]
    assert quick.withdrawn == slow.withdrawn == [approval.id]


def test_one_who_fails_to_take_an_answer_keeps_it_from_nobody(caplog):
    def broken(answer):
        raise RuntimeError("broken")

    inbox, surface, answers = Inbox(), Surface(), []
    inbox.add_channel("s", surface)
    inbox.put(question(), broken)
    inbox.put(question(), answers.append)
    (pending,) = inbox.pending()
    inbox.decide(pending.id, "no")
    assert [answer.word for answer in answers] == ["no"]
    assert "broken" in caplog.text


# What a person and the terminal say to each other.

ALL = ("yes", "no", "once", "always", "never", "turn", "idle", "all", "comment", "edit")


def dialogue(options=ALL, **arguments):
    return Dialogue(Approval("q", "act", arguments, text="Run act?", options=options, help="always is for good"))


@pytest.mark.parametrize(
    ("options", "legend"),
    [
        (ALL, "y once · n no · a always · ? more > "),
        (tuple(word for word in ALL if word != "always"), "y once · n no · ? more > "),
        (("yes", "no"), "y yes · n no · ? more > "),
    ],
)
def test_the_legend_is_one_line_of_what_can_be_answered(options, legend):
    assert dialogue(options).opening == f"\nRun act?\n{legend}"


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["y"], Answer("yes")),
        (["y: and use -n"], Answer("yes", "and use -n")),
        (["", " ", "N"], Answer("no")),
        (["?", "always project for 1h"], Answer("always", Lasting("project", 3600))),
        (["c", "use git mv"], Answer("comment", "use git mv")),
        (["c", "", "comment: use git mv"], Answer("comment", "use git mv")),
        (["why", "a b", "t"], Answer("turn")),
        (["why", "?", "really", "what"], Answer("no")),
    ],
)
def test_lines_come_to_an_answer(lines, answer):
    one = dialogue()
    heard = [one.hear(line) for line in lines]
    assert [each.answer for each in heard[:-1]] == [None] * (len(lines) - 1)
    assert heard[-1].answer == answer


def test_what_cannot_be_answered_is_said_and_asked_again():
    one = dialogue(("yes", "no"))
    for line, said in [("always", "'always' cannot be answered here"), ("wh\x1by", "'wh<U+001B>y' is no answer")]:
        heard = one.hear(line)
        assert (heard.answer, said in heard.say, heard.say.endswith("> ")) == (None, True, True)
    shown = one.hear("?").say
    assert "y, yes" in shown
    assert "always is for good" in shown
    assert "e, edit" not in shown
    assert one.hear("e") == ("(not understood: no)\n", Answer("no"), False)


def test_arguments_are_edited_line_by_line():
    one = dialogue(path="a", count=1, flags=["x"])
    assert one.hear("e").edit
    assert one.edit_by_line().say.endswith("path [a]: ")
    assert one.hear("b").say == "count [1]: "
    assert "not JSON" in one.hear("two").say
    assert one.hear("2").say == 'flags [["x"]]: '
    assert one.hear("").answer == Answer("edit", {"path": "b", "count": 2, "flags": ["x"]})
    one.edit_by_line()
    assert one.hear('"a\\nb"').answer is None
    assert one.hear("").answer is None
    assert one.hear("").answer == Answer("edit", {"path": "a\nb", "count": 1, "flags": ["x"]})


def test_a_form_is_filled_in_from_its_draft():
    approval = Approval(
        "q", "mcp__srv", {"message": "who?"}, options=("yes", "no", "edit"), draft={"name": None, "age": 3}
    )
    one = Dialogue(approval)
    assert one.edit_by_line().say.endswith("name [null]: ")
    assert one.hear("Ada").say == "age [3]: "
    assert one.hear("36").answer == Answer("edit", {"name": "Ada", "age": 36})


@pytest.mark.parametrize("text", ['{"path": "a"}', "{", "[]", ""])
def test_what_an_editor_leaves_unchanged_or_broken_is_no_answer(text):
    one = dialogue(path="a")
    assert one.edited(text).answer is None
    assert one.hear("y").answer == Answer("yes")


@pytest.fixture
def editor(tmp_path, monkeypatch):
    """Makes a shell script the person's editor."""

    def use(script):
        path = tmp_path / "editor"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o700)
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("EDITOR", f"{path} --wait")
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    return use


def test_a_person_edits_with_their_own_editor(terminal, editor, tmp_path):
    editor(f'stat -c %a "$2" > {tmp_path}/mode; sed -i \'s/old/new/\' "$2"')
    inbox = Inbox()
    inbox.add_channel("console", terminal.channel)
    approval = Approval("q", "act", {"path": "old"}, text="act?", options=ALL)
    result = ask_in_thread(inbox, approval, timeout=30)
    terminal.target.wait_for("more > ")
    terminal.person.write(b"e\n")
    assert result() == Answer("edit", {"path": "new"}, "console")
    assert (tmp_path / "mode").read_text().strip() == "600"
    assert not list((tmp_path / "state" / "toolexec" / "permissions").iterdir())


def test_an_editor_that_is_named_is_none_that_a_command_left_in_the_project(tmp_path, monkeypatch):
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    for folder in (project / "bin", project, elsewhere):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "write").write_text("#!/bin/sh\n")
        (folder / "write").chmod(0o700)
    monkeypatch.chdir(project)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "write -w")
    monkeypatch.setenv("PATH", f":bin:{project}/bin")
    assert _editor.find_editor() is None
    monkeypatch.setenv("PATH", f"{project}/bin:{elsewhere}")
    assert _editor.find_editor() == [f"{elsewhere}/write", "-w"]
    monkeypatch.setenv("EDITOR", f"{project}/write -w")  # said by its path
    assert _editor.find_editor() == [f"{project}/write", "-w"]
    monkeypatch.chdir("/")
    monkeypatch.setenv("EDITOR", "write -w")
    assert _editor.find_editor() == [f"{project}/bin/write", "-w"]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 3", "(the editor gave nothing back)"),
        ("printf '{\\377}' > \"$2\"", "(that is not JSON"),
        ('echo > "$2"', "(that is not JSON"),
        ('rm "$2"', "(the editor gave nothing back)"),
        ('rm -r "$(dirname "$2")"', "(the editor gave nothing back)"),
        ('rm "$2"; mkfifo "$2"', "(the editor gave nothing back)"),
        ('rm "$2"; ln -s /dev/zero "$2"', "(the editor gave nothing back)"),
        ("head -c 100000 /dev/zero | tr '\\0' '[' > \"$2\"", "(that is not JSON"),
    ],
)
def test_an_editor_that_fails_or_leaves_no_json_leaves_the_question_open(terminal, editor, script, said):
    editor(script)
    inbox = Inbox()
    inbox.add_channel("console", terminal.channel)
    result = ask_in_thread(inbox, Approval("q", "act", {"path": "old"}, text="act?", options=ALL), timeout=30)
    terminal.target.wait_for("more > ")
    terminal.person.write(b"e\n")
    terminal.target.wait_for("more > ", 2)
    assert said in terminal.target.text
    terminal.person.write(b"n\n")
    assert result() == Answer("no", None, "console")


def test_an_editor_is_ended_when_its_question_is_answered_elsewhere(terminal, editor, tmp_path):
    editor(f"echo $$ > {tmp_path}/pid; echo > {tmp_path}/up; exec tail -f /dev/null")
    os.mkfifo(tmp_path / "up")
    inbox = Inbox()
    inbox.add_channel("console", terminal.channel)
    result = ask_in_thread(inbox, Approval("q", "act", {"path": "old"}, text="act?", options=ALL), timeout=30)
    terminal.target.wait_for("more > ")
    terminal.person.write(b"e\n")
    (tmp_path / "up").read_text()  # the editor is up
    pid = int((tmp_path / "pid").read_text())
    inbox.decide("q", "yes")
    assert result().word == "yes"
    terminal.channel.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_editor_that_will_not_end_is_killed_with_its_question(terminal, editor, tmp_path, monkeypatch):
    monkeypatch.setattr(_editor, "GRACE", 0.0)
    editor(f"trap '' TERM; echo $$ > {tmp_path}/pid; echo > {tmp_path}/up; while :; do read line < {tmp_path}/up; done")
    os.mkfifo(tmp_path / "up")
    inbox = Inbox()
    inbox.add_channel("console", terminal.channel)
    result = ask_in_thread(inbox, Approval("q", "act", {"path": "old"}, text="act?", options=ALL), timeout=30)
    terminal.target.wait_for("more > ")
    terminal.person.write(b"e\n")
    (tmp_path / "up").read_text()  # the editor is up
    pid = int((tmp_path / "pid").read_text())
    inbox.decide("q", "yes")
    assert result().word == "yes"
    terminal.channel.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_question_that_fails_on_the_terminal_does_not_stop_the_next_one(terminal, caplog):
    class Broken:
        id, text, options, help = "q", None, ("yes", "no"), ""
        arguments, draft, secret = {}, None, False

    answers = queue.SimpleQueue()
    terminal.channel.ask(Broken(), lambda said: answers.put(said) or True)
    assert answers.get(timeout=10).word == "error"
    terminal.channel.ask(question(), lambda said: answers.put(said) or True)
    terminal.target.wait_for("act?")
    terminal.person.write(b"yes\n")
    assert answers.get(timeout=10).word == "yes"
    assert "could not be put on the terminal" in caplog.text


def test_questions_of_different_askers_are_not_joined():
    inbox, surface = Inbox(), Surface()
    inbox.add_channel("s", surface)
    answers = []
    for number, asker in enumerate(["a", "b", "a"]):
        approval = Approval(f"q{number}", "act", {"x": 1}, "why", asker=asker)
        inbox.put(approval, answers.append)
    assert list(surface.asked) == ["q0", "q1"]
    assert surface.asked["q0"]("yes")
    assert [(answer.word, answer.to) for answer in answers] == [("yes", "q0")] * 2
    assert inbox.pending()[0].id == "q1"
