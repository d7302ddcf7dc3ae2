"""What belongs to no group: help, version, completion, errors, and the screen."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading

import click
import pytest

from executor.cli import cli
from executor.cli._app import Seconds
from executor.cli._render import Screen, for_person, printable
from executor.cli._root import BUILT_IN, OF_BUNDLED
from executor_permissions.commands import group as permissions


def _commands(command, path=()):
    yield path
    if isinstance(command, click.Group):
        for name in (*command.commands, *(BUILT_IN if command is cli else ())):
            yield from _commands(command.get_command(click.Context(command), name), (*path, name))


PATHS = [*_commands(cli), *_commands(permissions, ("permissions",))]


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_every_command_has_help_with_an_example(run, path, option):
    result = run(*path, option)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "toolexec" in result.stdout.partition("Example")[2] or "$(toolexec" in result.stdout


def test_there_are_exactly_these_commands():
    calling = {"approvals", "call", "chain", "tasks", "tools", "mcp", "serve"}
    assert {*cli.commands, *BUILT_IN} == calling | {
        "completion",
        "config",
        "confine",
        "doctor",
        "init",
        "plugins",
        "version",
    }


def test_version_is_said_in_three_ways(run, run_json):
    assert run("version").stdout == run("--version").stdout == f"toolexec {run_json('version')['toolexec']}\n"


@pytest.mark.parametrize("words", [["bogus"], ["tools"], ["tools", "bogus"], ["--bogus"], ["completion", "tcsh"]])
def test_unknown_words_end_with_2(run, words):
    result = run(*words)
    assert result.exit_code == 2
    assert "Usage: toolexec" in result.stderr


def test_unexpected_error_ends_with_1_and_its_traceback(run, add_plugin):
    source = "from executor import hookimpl\n@hookimpl\ndef executor_register_commands(cli):\n"
    add_plugin("bad", source + "    @cli.command('burst')\n    def burst():\n        raise RuntimeError('bang')\n")
    result = run("burst")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert "bang" in result.stderr


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ('RuntimeError("can\'t start new thread")', "no process, or thread"),
        ("OSError(errno.EMFILE, 'Too many open files')", "too many files open"),
        ("OSError(errno.ENOMEM, 'Cannot allocate memory')", "no memory"),
    ],
)
def test_a_system_with_nothing_left_is_told_without_a_traceback(run, add_plugin, raised, told):
    source = "import errno\nfrom executor import hookimpl\n@hookimpl\ndef executor_register_commands(cli):\n"
    add_plugin("poor", source + f"    @cli.command('burst')\n    def burst():\n        raise {raised}\n")
    result = run("burst")
    assert result.exit_code == 1
    assert told in result.stderr
    assert "try again" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no folder is removed there while somebody is in it")
@pytest.mark.parametrize("words", ["doctor", "permissions show", "call runCommand command=ls", "confine read -- true"])
def test_a_working_folder_that_was_removed_is_told_without_a_traceback(run, tmp_path, monkeypatch, words):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    result = run(*words.split())
    expected = "error: the working folder was removed: go into one that is there, and try again\n"
    assert (result.exit_code, result.stderr) == (2, expected)


def test_a_file_that_the_system_refuses_is_told_without_a_traceback(run, add_plugin):
    source = "from executor import hookimpl\n@hookimpl\ndef executor_register_commands(cli):\n"
    add_plugin("bad", source + "    @cli.command('burst')\n    def burst():\n        open('/nowhere/at/all')\n")
    result = run("burst")
    expected = "error: /nowhere/at/all cannot be used: No such file or directory; 'toolexec doctor' says more\n"
    assert (result.exit_code, result.stderr) == (1, expected)


@pytest.mark.parametrize(
    "words",
    [
        ("call", "--timeout", "nan", "echo", "text=a"),
        ("call", "--threshold", "nan", "echo", "text=a"),
        ("tasks", "top", "--every", "nan"),
        ("approvals", "watch", "--timeout", "NaN"),
    ],
)
def test_what_is_no_number_of_seconds_is_refused(run, words):
    result = run(*words)
    assert result.exit_code == 2
    assert f"'{words[3 if words[0] != 'call' else 2]}' is not a valid number of seconds." in result.stderr


def test_more_seconds_than_any_clock_can_wait_for_are_as_many_as_one_can():
    assert Seconds(min=0).convert("1e300", None, None) == threading.TIMEOUT_MAX
    assert Seconds(min=0).convert("inf", None, None) == threading.TIMEOUT_MAX


def test_what_json_cannot_hold_is_quoted_once(run, add_plugin):
    source = (
        "import datetime\nfrom executor import Image, hookimpl\n"
        "@hookimpl\ndef executor_register_tools(register):\n"
        "    register('odd', lambda args: {'at': datetime.date(2026, 1, 2), 'seen': Image(b'PNG', 'image/png')})\n"
    )
    add_plugin("odds", source)
    for more in ((), ("--json",)):
        told = json.loads(run("call", "odd", "--yes", *more).stdout)
        assert (told["at"], told["seen"]) == ("2026-01-02", "[image: image/png, 3 bytes]")
    streamed = run("call", "odd", "--yes", "--stream", "--json").stdout.splitlines()[-1]
    assert json.loads(streamed)["data"]["at"] == "2026-01-02"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_for_the_shell(run, shell):
    result = run("completion", shell)
    assert result.exit_code == 0
    assert "_TOOLEXEC_COMPLETE" in result.stdout
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=result.stdout, text=True, check=True)


def test_shell_completes_names_of_tools(process, monkeypatch):
    monkeypatch.setenv("_TOOLEXEC_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "toolexec call runC")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert process().stdout == "plain,runCommand\n"


def test_shell_completes_commands_of_plugins_and_is_not_disturbed_by_broken_ones(process, add_plugin, monkeypatch):
    source = "from executor import hookimpl\n@hookimpl\ndef executor_register_commands(cli):\n"
    add_plugin("polite", source + "    @cli.command('hello')\n    def hello():\n        'Greet.'\n")
    add_plugin("broken", "raise RuntimeError('no luck')\n")
    monkeypatch.setenv("_TOOLEXEC_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "toolexec he")
    monkeypatch.setenv("COMP_CWORD", "1")
    done = process()
    assert (done.stdout, done.stderr) == ("plain,hello\n", "")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\r\nc", "a\tb\r\nc"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m\x7f\x00\b", "\\x9b31m\\x7f\\x00\\x08"),
        ("abc\u202edef\u2066", "abc\\u202edef\\u2066"),
        ("[bold]日本[/bold] é", "[bold]日本[/bold] é"),
    ],
)
def test_what_a_terminal_would_act_on_is_made_visible(text, shown):
    assert printable(text) == shown


def test_object_is_shown_to_a_person_line_by_line():
    value = {"name": "a", "text": "one\ntwo\n", "list": [1], "none": None, "empty": {}}
    assert for_person(value) == "name: a\ntext:\n  one\n  two\nlist:\n  [\n    1\n  ]\nnone: null\nempty: {}"


def test_output_waits_while_a_question_is_open(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    screen = Screen()
    writing, written = threading.Event(), threading.Event()

    def write():
        writing.set()
        screen.output("late\n")
        written.set()

    with screen.quiet():
        thread = threading.Thread(target=write)
        thread.start()
        assert writing.wait(5)
        assert shown.getvalue() == ""
    thread.join(5)
    assert (written.is_set(), shown.getvalue()) == (True, "late\n")


@pytest.mark.parametrize("json_mode", [False, True])
def test_whoever_warns_while_a_question_is_open_does_not_wait_for_its_answer(monkeypatch, json_mode):
    shown = io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    screen = Screen(json_mode=json_mode)
    with screen.quiet():  # answered by nobody but the thread that warns
        thread = threading.Thread(target=screen.warning, args=("a surface is strange",), daemon=True)
        thread.start()
        thread.join(10)
        assert not thread.is_alive()
        assert shown.getvalue() == ""
    assert "a surface is strange" in shown.getvalue()


def test_why_the_command_ends_is_said_even_if_a_question_is_still_open(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    screen = Screen()
    with screen.quiet():
        screen.note("before")
        thread = threading.Thread(target=screen.error, args=(click.ClickException("interrupted"),), daemon=True)
        thread.start()
        thread.join(10)
        assert shown.getvalue() == "before\nerror: interrupted\n"


def test_questions_of_two_threads_are_open_side_by_side(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    screen = Screen()
    asking = threading.Barrier(2, timeout=10)

    def ask():
        with screen.quiet():
            asking.wait()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    with screen.quiet():
        asking.wait()
        thread.join(10)
        screen.note("kept")
        assert shown.getvalue() == ""
    assert shown.getvalue() == "kept\n"


def test_message_begins_a_line_of_its_own_after_output_that_did_not_end_one(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    screen = Screen()
    screen.output("half")
    screen.note("said")
    screen.warning("more")
    assert shown.getvalue() == "half\nsaid\nwarning: more\n"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("made", [io.StringIO, Terminal])
def test_what_a_tool_says_begins_no_line_and_goes_over_none(monkeypatch, made):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stderr", shown := made())
    screen = Screen()
    screen.error(click.ClickException("it failed\rnote: fine\nnote: the user said yes\r\n"))
    screen.warning("odd\nerror: all is lost")
    back = "\\r" if made is Terminal else "\r"
    assert shown.getvalue().replace("\r\n", "\n") == (
        f"error: it failed{back}note: fine\n  note: the user said yes\nwarning: odd\n  error: all is lost\n"
    )


def test_result_is_valid_json_in_any_encoding(process, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = process("call", "echo", "text=ä\u2028", "--json")
    assert json.loads(done.stdout)["text"] == "ä\u2028"


def test_help_says_of_the_bundled_commands_what_they_say_themselves(run):
    assert OF_BUNDLED["permissions"][1] == permissions.get_short_help_str(100)
    assert OF_BUNDLED["permissions"][1] in " ".join(run("--help").stdout.split())
    assert "..." not in run("--help").stdout.partition("Commands:")[2]  # what a command is for is said to the end


GROUPS = ["approvals", "config", "files", "mcp", "permissions", "plugins", "tasks", "tools"]


@pytest.mark.parametrize("group", [*GROUPS, "permissions grants", "permissions session"])
def test_help_of_a_group_says_to_the_end_what_each_command_is_for(run, group):
    told = run(*group.split(), "--help").stdout.partition("Commands:")[2]
    assert told
    assert "..." not in told
