"""``toolexec call`` in this process: arguments, results, exit codes, permission without a terminal."""

from __future__ import annotations

import errno
import json
import os

import pytest

from executor import ToolExecutor


def test_result_goes_to_stdout_as_json_when_it_is_no_text(run):
    result = run("call", "echo", "text=hi there")
    assert (result.exit_code, json.loads(result.stdout), result.stderr) == (0, {"text": "hi there"}, "")


def test_json_has_the_complete_value(run_json):
    assert run_json("call", "echo", "text=hi") == {
        "text": "hi",
        "_permission": {"decision": "allowed", "reason": "the tool only reads", "method": "read_only"},
    }


def test_what_cannot_be_had_for_following_tasks_hides_no_call_that_was_made(run, tools, monkeypatch):
    def refused(_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    assert "a tool should not print" in run("call", "loud").stderr
    monkeypatch.setattr(ToolExecutor, "tasks", property(refused))
    result = run("call", "loud")
    assert result.exit_code == 1
    assert "a tool should not print" not in result.stderr


def test_text_is_written_as_text_and_not_changed_in_a_pipe(run, tools):
    assert run("call", "escape").stdout == "a\x1b[31mb\tc\n"


def test_what_a_tool_prints_is_no_part_of_the_result(run, tools):
    result = run("call", "loud")
    assert (result.stdout, result.stderr) == ("result\n", "a tool should not print\n")


def test_result_that_is_no_json_becomes_json_all_the_same(run_json, tools):
    value = run_json("call", "odd")
    assert (value["nan"], value["bytes"], value["('a', 1)"]) == ("nan", "b", [1])


def test_arguments_are_one_json_object_or_come_from_stdin(run_json):
    assert run_json("call", "echo", '{"text": "a"}')["text"] == "a"
    assert run_json("call", "echo", "-", stdin='{"text": "ä"}')["text"] == "ä"


def test_words_become_what_the_schema_wants(run_json, tools):
    value = run_json("call", "typed", "number=7", "flag=true", 'words=["a", "b"]', "name=12", "level=high")
    value.pop("_permission")
    assert value == {"number": 7, "flag": True, "words": ["a", "b"], "name": "12", "level": "high"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nosuch"], "No executor registered for nosuch"),
        (["ecko", "text=a"], "Did you mean echo?"),
        (["echo"], "echo(text: string)"),
        (["echo", "txt=a"], "txt"),
        (["echo", "text"], "'text' is no argument"),
        (["echo", "text=a", "text=b"], "given twice"),
        (["echo", "{"], "not JSON"),
        (["echo", "-"], "not JSON"),
        (["typed", "number=seven"], "the argument number is to be integer"),
        (["typed", "number:=1,"], "the argument number is to be JSON"),
        (["echo", "text=a", "--timeout", "0"], "--timeout"),
        (["echo", "text=a", "--bogus"], "--bogus"),
        (["not a name"], "Invalid tool id"),
    ],
)
def test_wrong_use_ends_with_2_and_says_what_is_wrong(run, tools, words, said):
    result = run("call", *words, stdin="")
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_with_json_an_error_is_one_object_on_stderr(run, tools):
    for words, code, kind in (
        (["nosuch"], 2, "usage"),
        (["echo", "--bogus"], 2, "usage"),
        (["change"], 3, "denied"),
        (["down"], 4, "unavailable"),
        (["fail"], 5, "failed"),
        (["hold", "--timeout", "0.05"], 6, "timed_out"),
    ):
        result = run("call", *words, "--json")
        told = json.loads(result.stderr.splitlines()[-1])["error"]  # the tool `hold` writes to stderr itself
        assert (result.exit_code, told["exit_code"], told["kind"], result.stdout) == (code, code, kind, ""), words
        assert told["message"]


def test_failure_of_a_tool_has_its_traceback_in_the_details_only(run, tools):
    assert "ValueError" in json.loads(run("call", "fail", "--json").stderr)["error"]["details"]["traceback"]
    assert run("call", "fail").stderr == "error: the disk is on fire\n"


def test_without_a_terminal_what_may_change_something_is_refused(run, tools):
    result = run("call", "change")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "--yes" in result.stderr
    assert "terminal" in result.stderr


def test_yes_allows_it(run, tools):
    result = run("call", "change", "--yes")
    assert (result.exit_code, result.stdout) == (0, "changed\n")


DENIES = """
from executor import Decision, hookimpl

@hookimpl
def executor_check_permission(call, context):
    return Decision("{verdict}", "the moon is full")
"""


def test_yes_does_not_overrule_a_plugin_that_denies(run, tools, add_plugin):
    add_plugin("moon", DENIES.format(verdict="deny"))
    result = run("call", "change", "--yes")
    assert result.exit_code == 3
    assert "the moon is full" in result.stderr


def test_a_plugin_that_wants_to_ask_is_answered_by_yes_and_refused_without(run, tools, add_plugin):
    add_plugin("moon", DENIES.format(verdict="ask"))
    assert run("call", "escape").exit_code == 3
    assert run("call", "escape", "--yes").exit_code == 0


@pytest.mark.parametrize(
    ("words", "decision", "code"),
    [
        (["escape"], "allow", 0),
        (["change"], "ask", 0),
        (["startBackgroundTask", "tool_name=change"], "ask", 0),
        (["startBackgroundTask", "tool_name=escape"], "allow", 0),
    ],
)
def test_dry_run_says_what_would_be_decided(run, tools, words, decision, code):
    result = run("call", *words, "--dry-run", "--json")
    assert (result.exit_code, json.loads(result.stdout)["decision"]) == (code, decision)


@pytest.mark.parametrize("words", [(), ("--yes",), ("--yes", "--detach")])
def test_dry_run_runs_nothing(run, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)  # what --yes lets through runs in a box of its folder
    command = ("call", "runCommand", f"command=touch {tmp_path}/mark")
    assert run(*command, "--dry-run", *words).exit_code == 0
    assert not (tmp_path / "mark").exists()
    assert run("tasks", "list", "--json").stdout == "[]\n"
    assert run(*command, "--yes").exit_code == 0
    assert (tmp_path / "mark").exists()


def test_dry_run_checks_the_arguments(run):
    result = run("call", "echo", "--dry-run")
    assert (result.exit_code, "text" in result.stderr) == (2, True)


def test_dry_run_of_what_a_plugin_denies_ends_with_3(run, tools, add_plugin):
    add_plugin("moon", DENIES.format(verdict="deny"))
    result = run("call", "escape", "--dry-run", "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["decision"], told["reason"]) == (3, "deny", "the moon is full")


def test_output_of_a_command_goes_where_the_command_wrote_it(run, tools):
    result = run("call", "command")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "out\n", "err\n")


def test_command_that_ends_with_another_code_than_0_ends_with_5_and_says_so(run, tools):
    result = run("call", "command", "code=3")
    assert (result.exit_code, result.stdout) == (5, "out\n")
    assert "exit code 3" in result.stderr
    assert run("call", "command", "code=3", "--json").exit_code == 5


def test_live_shows_output_on_stderr_as_it_comes_and_a_pipe_still_gets_the_result(run, tools):
    result = run("call", "command", "--live")
    assert result.stdout == "out\n"
    assert result.stderr == "out\nerr\nexit code 0, duration: 0.5\n"


def test_live_with_json_is_one_object_a_line(run, tools):
    result = run("call", "work", "--live", "--json")
    assert [json.loads(line) for line in result.stderr.splitlines()] == [{"output": "working\n"}]
    assert json.loads(result.stdout)["done"] is True


def test_past_its_threshold_a_call_is_followed_to_the_end_of_its_task(run, tools):
    result = run("call", "work", "--threshold", "0")
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"done": True})
    assert "goes on in the background as made_" in result.stderr


def test_result_and_exit_code_of_a_followed_call_are_those_of_the_task(run, tools):
    assert run("call", "fail", "--threshold", "0").exit_code == 5
    assert run("call", "hold", "--threshold", "0", "--timeout", "0.05").exit_code == 6


def test_task_that_a_tool_starts_is_waited_for_because_it_would_end_with_the_process(run, tools):
    result = run("call", "startBackgroundTask", "tool_name=work")
    assert (result.exit_code, json.loads(result.stdout)["tool_name"]) == (0, "work")


def test_events_go_to_the_configured_ledger(run, tools, tmp_path, monkeypatch):
    config = tmp_path / "config.toml"
    config.write_text('ledger = "calls.jsonl"\n')
    monkeypatch.setenv("TOOLEXEC_CONFIG", str(config))
    assert run("call", "escape").exit_code == 0
    stages = [json.loads(line)["stage"] for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    assert stages == ["call-start", "permission-check", "call-end"]
    assert (tmp_path / "calls.jsonl").stat().st_mode & 0o077 == 0


def test_default_timeout_is_that_of_the_configuration(run, tools, tmp_path, monkeypatch):
    config = tmp_path / "config.toml"
    config.write_text("default_timeout = 0.05\n")
    monkeypatch.setenv("TOOLEXEC_CONFIG", str(config))
    assert run("call", "hold").exit_code == 6
