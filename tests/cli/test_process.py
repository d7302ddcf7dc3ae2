"""The command as a process: at a terminal, in pipes, and stopped by signals."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

QUESTION = "? more > "
SLOW_TO_CLOSE = """
import os
from executor import hookimpl

@hookimpl
def executor_shutdown():
    os.write(2, b"closing\\n")
    with open("may close") as told:
        told.read()
    os.write(2, b"closed\\n")
"""
SLOW_TO_BEGIN = """
import atexit, os, threading
from executor import hookimpl

@hookimpl
def executor_before_call(call):
    atexit.register(os.write, 2, b"the interpreter ends")
    os.write(2, b"beginning\\n")
    threading.Event().wait()
"""
ENDLESS = "echo pid=$$.; exec tail -f /dev/null"


@pytest.fixture(autouse=True)
def without_boxes(policy):
    """The tests look at processes of commands by their numbers, which are others in a box."""
    policy({"version": "1.2", "confine": {"default": "open"}, "whitelist": {"tools": ["echo"]}})


def _pid(shown):
    return int(shown.partition("pid=")[2].partition(".")[0])


def test_at_a_terminal_a_person_is_asked_and_yes_runs_it(terminal):
    one = terminal("call", "runCommand", "command=echo $((40000 + 2))")
    assert "command: echo $((40000 + 2))" in one.read_until(QUESTION)
    one.type("yes\n")
    assert one.end() == 0
    assert one.shown.count("40002") == 1  # seen live, and not printed again


def test_at_a_terminal_no_refuses_it_with_3(terminal):
    one = terminal("call", "runCommand", "command=echo $((40000 + 2))")
    one.read_until(QUESTION)
    one.type("n\n")
    assert one.end() == 3
    assert "40002" not in one.shown


def test_answer_that_is_not_understood_is_asked_for_again_and_then_a_no(terminal):
    one = terminal("call", "runCommand", "command=true")
    one.read_until(QUESTION)
    for word in ("perhaps", "why"):
        one.type(f"{word}\n")
        one.read_until(f"{word!r} is no answer; ? explains\ny once · n no · a always · {QUESTION}")
    one.type("?\n")
    one.read_until(f"always tool 3 times\ny once · n no · a always · {QUESTION}")
    one.type("well\n")
    assert one.end() == 3


def test_end_of_input_at_a_question_is_a_no(terminal):
    one = terminal("call", "runCommand", "command=true")
    one.read_until(QUESTION)
    one.type("\x04")
    assert one.end() == 3


def test_ctrl_c_at_a_question_ends_with_130(terminal):
    one = terminal("call", "runCommand", "command=true")
    one.read_until(QUESTION)
    one.type("\x03")
    assert one.end() == 130
    assert "Traceback" not in one.shown


def test_ctrl_c_ends_the_command_and_all_its_processes(terminal, watch):
    one = terminal("call", "runCommand", f"command=echo child; (tail -f /dev/null) & {ENDLESS}", "--yes")
    ended = watch(_pid(one.read_until(".")))
    one.type("\x03")
    assert one.end() == 130
    assert ended()
    assert "was interrupted" in one.shown


def test_a_command_may_clean_up_when_it_is_stopped(terminal, tmp_path):
    line = (
        f"command=trap 'echo cleaned > {tmp_path}/mark; exit 0' TERM; echo pid=$$.; while :; do read -t 9 <> <(:); done"
    )
    one = terminal("call", "runCommand", line, "--yes")
    one.read_until("pid=")
    one.type("\x03")
    assert one.end() == 130
    assert (tmp_path / "mark").read_text() == "cleaned\n"


def test_second_ctrl_c_does_not_wait_for_a_tool_that_does_not_heed_the_first(terminal, tools):
    one = terminal("call", "deaf")
    one.read_until("deaf")
    one.type("\x03")
    one.read_until("told to stop")
    one.type("\x03")
    assert one.end() == 130


def test_second_ctrl_c_leaves_no_process_either(terminal, watch, tmp_path):
    os.mkfifo(tmp_path / "told")
    line = f"command=trap 'echo told > {tmp_path}/told' TERM; echo pid=$$.; while :; do read -t 9 <> <(:); done"
    one = terminal("call", "runCommand", line, "--yes")
    ended = watch(_pid(one.read_until(".")))
    one.type("\x03")
    assert (tmp_path / "told").read_text() == "told\n"
    one.type("\x03")
    assert one.end() == 130
    assert ended(within=5)


def test_second_ctrl_c_does_not_break_off_what_cleans_up(terminal, tools, add_plugin, tmp_path):
    add_plugin("slow", SLOW_TO_CLOSE)
    os.mkfifo(tmp_path / "may close")
    one = terminal("call", "hold")
    one.read_until("holding")
    one.type("\x03")
    one.read_until("closing")
    one.type("\x03")
    one.read_until("closing\n^C")  # else the terminal may take it later, and drop what is written until then
    (tmp_path / "may close").write_text("now")
    assert one.end() == 130
    assert "closed" in one.shown
    assert "Traceback" not in one.shown


def test_more_of_them_wait_for_nothing(terminal, tools, add_plugin, watch, tmp_path):
    add_plugin("slow", SLOW_TO_CLOSE)
    os.mkfifo(tmp_path / "may close")
    one = terminal("call", "hold")
    ended = watch(one.process.pid)
    one.read_until("holding")
    one.type("\x03")
    one.read_until("closing")
    while not ended(within=0.1):  # two at once may be one
        one.type("\x03")
    assert one.end() == 130
    assert "Traceback" not in one.shown


def test_the_interpreter_does_not_end_under_a_call_that_has_not_come_to_its_tool(terminal, tools, add_plugin):
    add_plugin("slow", SLOW_TO_BEGIN)
    one = terminal("call", "hold")
    one.read_until("beginning")
    one.type("\x03\x03")
    assert one.end() == 130
    assert "the interpreter ends" not in one.shown


def test_ctrl_c_stops_a_task_that_is_followed(terminal, tools):
    one = terminal("call", "hold", "--threshold", "0")
    one.read_until("goes on in the background as made_")
    one.read_until("holding")
    one.type("\x03")
    assert one.end() == 130


def test_closing_the_terminal_stops_the_call(terminal, watch):
    one = terminal("call", "runCommand", f"command={ENDLESS}", "--yes")
    ended = watch(_pid(one.read_until(".")))
    one.close()
    assert one.process.wait() == 130
    assert ended()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_that_would_end_the_process_stop_the_call_first(process, tools, tmp_path, number):
    with subprocess.Popen(
        [sys.executable, "-m", "executor", "call", "hold", "--live", "--json"],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True, cwd=tmp_path,
    ) as running:  # fmt: skip
        assert json.loads(running.stderr.readline()) == {"output": "holding\n"}
        running.send_signal(number)
        said = running.stderr.read().splitlines()
    assert running.returncode == 130
    said.remove("told to stop")
    assert json.loads(said[0])["error"]["kind"] == "interrupted"


def test_sighup_that_was_ignored_from_the_start_stays_ignored(process, tools, tmp_path):
    with subprocess.Popen(
        ["nohup", sys.executable, "-m", "executor", "call", "hold", "--live", "--timeout", "1"],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True, cwd=tmp_path,
    ) as running:  # fmt: skip
        assert running.stderr.readline() == "holding\n"
        running.send_signal(signal.SIGHUP)
        running.stderr.read()
    assert running.returncode == 6


def test_reader_that_has_read_enough_is_no_error(process, tmp_path):
    line = f"{sys.executable} -m executor call runCommand command='seq 200000' --yes | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert done.stdout == "1\n0\n"
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_file_gets_all_that_the_command_wrote_even_where_the_result_is_cut(process):
    done = process("call", "runCommand", "command=seq 100000", "--yes")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [str(number) for number in range(1, 100001)]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
@pytest.mark.parametrize("words", [("call", "echo", "text=a"), ("--help",), ("tasks", "list", "--help")])
def test_result_that_cannot_be_written_is_an_error(process, tmp_path, words):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "executor", *words],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    assert done.returncode == 1
    # Python keeps what click could not write, unless it is told to keep nothing (PYTHONUNBUFFERED).
    words = "the result cannot be written|what is to be written has no place"
    assert re.fullmatch(rf"error: ({words}): No space left on device(; .*)?\n", done.stderr)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_the_id_of_a_detached_call_is_told_even_if_it_cannot_be_written(process):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "executor", "call", "echo", "text=a", "--detach", "--yes"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    assert done.returncode == 1
    (task_id,) = re.findall(r"No space left on device; the call goes on as (\S+)", done.stderr)
    assert process("tasks", "wait", task_id).returncode == 0


def test_streams_that_are_closed_are_no_error(process):
    done = subprocess.run(
        ["bash", "-c", f"exec {sys.executable} -m executor call echo text=a <&- >&- 2>&-"], check=False
    )
    assert done.returncode == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("words", "code"), [("serve", 0), ("chain -", 2), ("call echo text=a", 0), ("mcp add-json a -", 2)]
)
def test_commands_know_nothing_of_what_is_closed(process, closed, words, code):
    done = subprocess.run(
        ["bash", "-c", f"exec {sys.executable} -m executor {words} {closed}"],
        check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)


def test_question_can_be_answered_when_stdin_carried_the_arguments(terminal, tmp_path):
    arguments = "printf '%s' '{\"command\": \"echo $((40000 + 2))\"}'"
    one = terminal.shell(f"{arguments} | {sys.executable} -X dev -m executor call runCommand -")
    one.read_until(QUESTION)
    one.type("y\n")
    assert one.end() == 0
    assert "40002" in one.shown.partition(QUESTION)[2]
    assert "ResourceWarning" not in one.shown  # the terminal that was opened for the question is closed


def test_question_is_not_put_where_the_person_would_not_see_it(terminal, tmp_path):
    one = terminal.shell(f"{sys.executable} -m executor call runCommand command=true 2> {tmp_path}/err")
    one.read_until(QUESTION)  # on the terminal, not in the file
    one.type("n\n")
    assert one.end() == 3


def test_terminal_shows_control_characters_instead_of_obeying_them(terminal, tools):
    one = terminal("call", "escape")
    assert one.end() == 0
    assert "a\\x1b[31mb\tc" in one.shown
    assert "\x1b[31m" not in one.shown


def test_terminal_shows_progress_on_a_line_that_output_takes_the_place_of(terminal, tools):
    one = terminal("call", "steps")
    assert one.end() == 0
    assert "1 of 2 half\\x1b[2Jway\r\x1b[Kfirst\n2 of 2 \r\x1b[Kdone\n" in one.shown


def test_ctrl_c_cancels_tasks_that_the_tool_has_started(terminal, watch):
    arguments = f"arguments:={json.dumps({'command': f'{ENDLESS} >&2'})}"
    one = terminal("call", "startBackgroundTask", "tool_name=runCommand", arguments, "--yes")
    one.read_until("waiting for it")
    one.type("\x03")
    assert one.end() == 130


def test_one_ctrl_c_is_enough_for_a_tool_that_never_ends(terminal, tools):
    one = terminal("call", "deaf", "--timeout", "60")
    one.read_until("deaf")
    one.type("\x03")
    assert one.end() == 130


def test_colours_are_for_terminals_that_want_them(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    coloured = terminal("plugins", "list")
    assert coloured.end() == 0
    assert "\x1b[" in coloured.shown
    monkeypatch.setenv("NO_COLOR", "1")
    plain = terminal("plugins", "list")
    assert plain.end() == 0
    assert "\x1b[" not in plain.shown
    assert "shell" in plain.shown


@pytest.fixture
def imported(process):
    """Which modules are imported when the command has run."""

    def look(*words):
        code = (
            f"import sys; sys.argv[1:] = {words!r}\n"
            "from executor.cli import main\n"
            "try: main()\n"
            "except SystemExit: pass\n"
            "print(*sys.modules, file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return set(done.stderr.split())

    return look


FOR_SOME_CALLS = {  # those that need a person, run a command, are about a URL, or reach another process
    "difflib",
    "executor.permission._inbox",
    "executor.permission._meeting",
    "executor.values._approval",
    "executor_permissions.ask._question",
    "executor_permissions.judge.rules._file_rules",
    "executor_permissions.judge.paths._links",
    "executor_permissions.judge.rules._own_commands",
    "executor_permissions.judge._shell_calls",
    "executor_permissions.judge.rules._tokens",
    "executor_permissions.judge.rules._urls",
    "executor_permissions.judge.bash._words",
    "socket",
}
HEAVY = {"pydantic", "mcp", "jsonschema", "jsonschema_rs", "pluggy", "rich", "logging", "platformdirs", "asyncio"}


@pytest.mark.parametrize("words", [["version"], ["--help"], ["completion", "bash"], ["call", "--help"]])
def test_light_commands_import_nothing_heavy(imported, words):
    assert imported(*words) & HEAVY == set()


def test_listing_tools_imports_neither_pydantic_nor_mcp(imported):
    assert not imported("tools", "list") & {"pydantic", "mcp", "asyncio", "jsonschema", "jsonschema_rs", "rich"}


def test_a_plain_call_imports_nothing_that_others_need(imported):
    there = imported("call", "echo", "text=hi")
    assert there & HEAVY == {"pluggy", "logging", "platformdirs"}
    assert there & FOR_SOME_CALLS == set()
    assert all(map(importlib.util.find_spec, FOR_SOME_CALLS)), "one has another name"


def test_what_a_start_makes_is_not_looked_through_at_every_collection_and_what_plugins_make_is():
    code = (
        "import gc, sys, types\n"
        "sys.argv[1:] = ['call', 'echo', 'text=hi']\n"
        "from executor.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "looked_at = {id(one) for one in gc.get_objects()}\n"  # what is frozen is none of these
        "for name in ('click.core', 'executor.cli._app', 'executor_echo'):\n"
        "    print(name, id(vars(sys.modules[name])) in looked_at, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == ["click.core False", "executor.cli._app False", "executor_echo True"]
