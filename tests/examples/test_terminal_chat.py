"""docs/examples/terminal_chat.py, against a model server that speaks OpenAI's chat completions."""

from __future__ import annotations

import signal
import threading

from tests.examples.model_server import Call, ModelServer

CHAT = ["terminal_chat.py", "scripted"]


def test_a_long_call_is_asked_for_shown_handed_over_and_delivered(start, gate):
    held = threading.Event()
    script = (
        ["I will build it. ", held, Call("runCommand", {"command": gate.command})],
        ["It goes on in the background."],
        ["It is built."],
    )
    with ModelServer(*script) as server:
        chat = start(CHAT, server)
        chat.wait_for("> ")
        chat.type("build it")
        chat.wait_for("I will build it. ")  # while the reply goes on
        held.set()
        chat.wait_for("runCommand", "yes/")
        chat.type("perhaps")
        chat.wait_for("yes/")  # asked again
        chat.type("yes")
        chat.wait_for("begun")  # while the command runs
        chat.wait_for("It goes on in the background.", "> ")
        gate.open()
        chat.wait_for("done", "It is built.", "> ")
        assert chat.end(signal.SIGINT) == 0
        assert "Traceback" not in chat.shown
        first, second, third = (asked["messages"] for asked in server.asked)
    assert first == [{"role": "user", "content": "build it"}]
    assert second[-1]["role"] == "tool"
    assert "continuing in background" in second[-1]["content"]
    assert third[-1]["role"] == "user"
    assert "has ended (ok)" in third[-1]["content"]
    assert "let through" in third[-1]["content"]


def test_a_refused_request_is_made_again_a_no_has_its_reason_and_turn_ends_with_the_turn(start, tmp_path):
    makes = [Call("runCommand", {"command": "touch made"})]
    runs = [[Call("runCommand", {"command": f"echo {name}"})] for name in ("first", "second")]
    script = (ValueError("too many requests"), makes, ["As you wish."], *runs, ["Both."], runs[0], ["Once more."])
    with ModelServer(*script) as server:
        chat = start(CHAT, server)
        chat.wait_for("> ")
        chat.type("hello")
        chat.wait_for("400 Bad Request", "> ")
        chat.type("make it")
        chat.wait_for("touch made", "yes/")
        chat.type("no: not in here")
        chat.wait_for("As you wish.", "> ")
        chat.type("run it")
        chat.wait_for("echo first", "yes/")
        chat.type("turn")
        chat.wait_for("second", "Both.", "> ")  # not asked about
        chat.type("again")
        chat.wait_for("echo first", "yes/")
        chat.type("yes")
        chat.wait_for("Once more.", "> ")
        assert chat.end() == 0
    assert [message["content"] for message in server.asked[1]["messages"]] == ["hello", "make it"]
    assert "not in here" in server.asked[2]["messages"][-1]["content"]
    assert not (tmp_path / "made").exists()


def test_what_was_stopped_with_the_program_is_told_of_by_the_next(start, gate):
    with ModelServer([Call("runCommand", {"command": gate.command})], ["Later."], ["It was stopped."]) as server:
        chat = start(CHAT, server)
        chat.type("build it")
        chat.wait_for("yes/")
        chat.type("y")
        chat.wait_for("Later.", "> ")
        assert chat.end() == 0
        chat = start(CHAT, server)
        chat.wait_for("It was stopped.", "> ")
        assert chat.end(signal.SIGINT) == 0
    (told,) = server.asked[2]["messages"]
    assert "cancelled" in told["content"]
