"""docs/examples/desktop_chat.py under Xvfb, against a model server that speaks Anthropic's Messages."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import struct
import subprocess
import threading
from pathlib import Path

import pytest

from tests.examples.conftest import LIMIT
from tests.examples.model_server import Call, ModelServer

CHAT = [Path(__file__).parent / "drive_window.py", "desktop_chat.py", "scripted"]
QUESTION = bytes.fromhex("a8e9ff00")  # the background of a question, as the screen has it: blue, green, red
SCREEN = "800x600x24"


@pytest.fixture
def display(tmp_path):
    """A screen without a monitor: its name, and the file that holds what is on it."""
    if importlib.util.find_spec("_tkinter") is None:
        pytest.skip("this Python has no tkinter")
    xvfb = shutil.which("Xvfb")
    if xvfb is None:
        pytest.skip("Xvfb is not installed")
    ours, theirs = os.pipe()
    command = [xvfb, "-displayfd", str(theirs), "-screen", "0", SCREEN, "-fbdir", str(tmp_path), "-nolisten", "tcp"]
    process = subprocess.Popen(command, pass_fds=[theirs], stderr=subprocess.DEVNULL)
    os.close(theirs)
    with open(ours) as told:
        number = told.readline().strip()  # empty, if it could not start
    yield f":{number}", tmp_path / "Xvfb_screen0"
    process.terminate()
    process.wait()


def pixels(screen):
    """How many pixels of the screen have the colour of a question."""
    data = screen.read_bytes()  # in the format of xwd
    header = struct.unpack(">25I", data[:100])
    size, width, height, colours = header[0], header[4], header[5], header[19]
    begin = size + 12 * colours
    rows = data[begin : begin + 4 * width * height]
    return sum(rows[at : at + 3] == QUESTION[:3] for at in range(0, len(rows), 4))


def test_a_window_asks_shows_hands_over_and_delivers(start, gate, display):
    held = threading.Event()
    name, screen = display
    script = (
        ["I will build it.", Call("runCommand", {"command": gate.command}), held, " One moment."],
        ["It goes on in the background."],
        ["It is built."],
    )
    with ModelServer(*script) as server:
        chat = start(CHAT, server, DISPLAY=name)
        chat.type("shown")
        chat.wait_for("shown")
        assert pixels(screen) == 0
        chat.type("type build it")
        chat.wait_for("build it", "I will build it.", "[no] [always] [yes]", "runCommand")
        chat.type("shown")
        chat.wait_for("shown")
        assert pixels(screen) > 5000
        chat.type("press yes")
        chat.wait_for("begun")  # while the model goes on
        held.set()
        chat.wait_for("One moment.", "It goes on in the background.")
        gate.open()
        chat.wait_for("done", "It is built.")
        chat.type("shown")
        chat.wait_for("shown")
        assert pixels(screen) == 0
        assert chat.end() == 0
        assert "Traceback" not in chat.shown
    answer, notice = server.asked[1]["messages"][-1], server.asked[2]["messages"][-1]
    assert "continuing in background" in answer["content"][0]["content"]
    assert "has ended (ok)" in notice["content"][0]["text"]
    assert "let through" in notice["content"][0]["text"]


def test_control_c_closes_the_window_and_stops_what_runs(start, gate, display):
    with ModelServer([Call("runCommand", {"command": gate.command})]) as server:
        chat = start(CHAT, server, DISPLAY=display[0])
        chat.type("type build it")
        chat.wait_for("[yes]")
        chat.type("press yes")
        chat.wait_for("begun")
        code = chat.end(signal.SIGINT)
    assert code == 0, chat.shown
    assert "Traceback" not in chat.shown


def test_an_error_of_the_window_ends_it_although_a_question_is_open(start, gate, display):
    with ModelServer([Call("runCommand", {"command": gate.command})]) as server:
        chat = start(CHAT, server, DISPLAY=display[0])
        chat.type("type build it")
        chat.wait_for("[yes]")
        chat.type("press what is not there")
        chat.wait_for("ValueError")
        assert chat.process.wait(LIMIT) == 1
