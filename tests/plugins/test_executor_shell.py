"""The plugin: its tool, its schema, its configuration, what it says when it cannot run a command; in an executor."""

import os
import select
import threading

import jsonschema
import jsonschema_rs
import pytest

import executor_shell
from executor import PluginRegistry, TaskManager, ToolCall, ToolExecutor
from executor.errors import ToolFailedError
from executor_shell import ShellPlugin
from executor_shell._settings import Settings


class Registered(dict):
    """What a plugin registers, by the tool's name."""

    def __call__(self, name, fn, **options):
        self[name] = options | {"fn": fn}


def registered(plugin):
    tools = Registered()
    plugin.executor_register_tools(tools)
    return tools


class TestTool:
    def test_the_module_makes_a_plugin_with_one_tool(self):
        with PluginRegistry(bundled=False, entry_points=False) as registry:
            registry.register(executor_shell, "shell")
            assert registry.expose("shell")
            assert list(registry.tools) == ["runCommand"]
            assert registry.get_plugin("shell") is not executor_shell

    def test_the_tool_says_what_its_arguments_mean_and_that_it_is_dangerous(self):
        options = registered(ShellPlugin())["runCommand"]
        assert options["argument_kinds"] == {"command": "shell", "argv": "argv", "cwd": "path"}
        assert options["annotations"]["destructive"] is True
        assert options["annotations"]["open_world"] is True
        assert options["annotations"]["read_only"] is False

    def test_it_goes_to_the_background_after_ten_seconds_unless_told_otherwise(self):
        plugin = ShellPlugin()
        assert registered(plugin)["runCommand"]["auto_background"] == 10.0
        plugin.executor_configure({"threshold": None})
        assert registered(plugin)["runCommand"]["auto_background"] is None

    def test_every_argument_is_described(self):
        schema = registered(ShellPlugin())["runCommand"]["schema"]
        assert schema["additionalProperties"] is False
        assert all(argument["description"] for argument in schema["properties"].values())

    def test_the_description_names_every_key_that_a_result_may_have(self):
        description = registered(ShellPlugin())["runCommand"]["description"]
        for key in (
            "exit_code", "signal", "stdout", "stderr", "duration", "undecodable", "stdout_file", "stderr_file",
            "stdout_note", "stderr_note", "left_running_ended", "output_held_open",
        ):  # fmt: skip
            assert key in description


VALID = [
    {"command": "ls"},
    {"argv": ["ls", ""]},
    {"command": "ls", "cwd": "/", "env": {"A": ""}, "timeout": 0.5, "max_output": 1},
]
INVALID = [
    {},
    {"command": "ls", "argv": ["ls"]},
    {"command": ""},
    {"argv": []},
    {"argv": ["ls", 1]},
    {"command": "ls", "stdin": "x"},
    {"command": "ls", "timeout": 0},
    {"command": "ls", "timeout": "1"},
    {"command": "ls", "max_output": 0},
    {"command": "ls", "max_output": 2**30},
    {"command": "ls", "env": {"A": 1}},
    {"command": "ls", "env": {"A=B": "1"}},
    {"command": "ls", "env": {"": "1"}},
]


class TestSchema:
    @pytest.fixture(params=["jsonschema", "jsonschema-rs"])
    def fits(self, request):
        if request.param == "jsonschema":
            jsonschema.Draft202012Validator.check_schema(executor_shell.SCHEMA)
            return jsonschema.Draft202012Validator(executor_shell.SCHEMA).is_valid
        return jsonschema_rs.validator_for(executor_shell.SCHEMA).is_valid

    @pytest.mark.parametrize("arguments", VALID, ids=str)
    def test_what_makes_sense_fits(self, fits, arguments):
        assert fits(arguments)

    @pytest.mark.parametrize("arguments", INVALID, ids=str)
    def test_what_does_not_is_refused(self, fits, arguments):
        assert not fits(arguments)

    def test_model_apis_take_it(self):
        assert not {"oneOf", "anyOf", "allOf", "not", "enum", "$ref"} & set(executor_shell.SCHEMA)


class TestConfiguration:
    def test_what_is_not_named_has_its_default(self):
        assert Settings.of({"max_output": 10}) == Settings(max_output=10)

    def test_a_second_configuration_replaces_the_first(self):
        plugin = ShellPlugin()
        plugin.executor_configure({"max_output": 10})
        plugin.executor_configure({})
        assert len(plugin.run_command({"command": "seq 100"})["stdout"]) > 10

    @pytest.mark.parametrize(
        ("config", "mend"),
        [
            ({"treshold": 1}, "unknown key 'treshold': use threshold, max_output, output_dir, shell"),
            ({"threshold": -1}, "threshold is -1: give seconds"),
            ({"threshold": True}, "give seconds"),
            ({"threshold": float("nan")}, "give seconds"),
            ({"threshold": "10"}, "give seconds"),
            ({"max_output": 0}, "max_output is 0: give a number of bytes from 1 to 1048576"),
            ({"max_output": 1.5}, "a number of bytes"),
            ({"output_dir": "relative"}, "the full path of a folder"),
            ({"output_dir": 3}, "output_dir is 3: give the full path of a folder"),
            ({"shell": "bash"}, "shell is 'bash': give the full path of a shell"),
            ({"shell": "/etc/passwd"}, "the full path of a shell"),
            ({"shell": "/bin"}, "the full path of a shell"),
        ],
        ids=str,
    )
    def test_what_is_wrong_is_named_with_its_mend(self, config, mend):
        plugin = ShellPlugin()
        with pytest.raises(ValueError, match=f"^executor_shell: .*{mend}"):
            plugin.executor_configure(config)
        assert registered(plugin)["runCommand"]["auto_background"] == 10.0

    @pytest.mark.parametrize(
        ("names", "fits"),
        [("zsh", False), ("fish", False), ("ksh93", False), ("python3", False), ("sh zsh", False), ("zsh bash", False),
         ("a folder/bash", True), ("bash-5.2", True), ("sh busybox", True), ("ash", True), ("dash", True)],
    )  # fmt: skip
    def test_only_a_shell_whose_lines_are_judged_as_it_reads_them_is_taken(self, names, fits, tmp_path):
        *links, last = names.split(" ") if "/" not in names else [names]
        program = tmp_path / last
        program.parent.mkdir(exist_ok=True)
        program.touch(mode=0o755)
        for name in links:
            (tmp_path / name).symlink_to(program)
        given = str(tmp_path / (links[0] if links else last))
        if fits:
            assert Settings.of({"shell": given}).shell == given
            return
        with pytest.raises(ValueError, match="lines are judged as bash and dash read them"):
            Settings.of({"shell": given})

    def test_the_configured_shell_runs_the_lines(self):
        plugin = ShellPlugin()
        plugin.executor_configure({"shell": "/bin/sh"})
        assert plugin.run_command({"command": "echo $0"})["stdout"] == "/bin/sh\n"

    def test_the_home_folder_may_be_written_short(self, monkeypatch, tmp_path):
        monkeypatch.setenv("HOME", str(tmp_path))
        assert Settings.of({"output_dir": "~/out"}).folder() == tmp_path / "out"

    def test_each_plugin_object_has_a_configuration_of_its_own(self):
        one, other = ShellPlugin(), ShellPlugin()
        one.executor_configure({"threshold": 1})
        assert registered(other)["runCommand"]["auto_background"] == 10.0


class TestNotRunnable:
    @pytest.mark.parametrize(
        ("arguments", "mend"),
        [
            ({"argv": ["no-such-program"]}, "no program 'no-such-program': check its spelling"),
            ({"argv": ["/no/such/program"]}, "no program '/no/such/program'"),
            ({"argv": ["/etc/passwd"]}, "Check that it is an executable file"),
            ({"argv": [""]}, "'' may not be run"),
            ({"command": "ls", "cwd": "/no/such/folder"}, "'/no/such/folder' does not exist: give an existing folder"),
            ({"command": "ls", "cwd": "/etc/passwd"}, "does not exist: give an existing folder"),
            ({"command": "ls", "cwd": "/\0"}, "does not exist: give an existing folder"),
            ({"command": "echo \0"}, "embedded null byte in its arguments"),
            ({"argv": ["ls"], "env": {"A": "\0"}}, "embedded null byte in its arguments, cwd or env"),
            ({"argv": ["true", "x" * 10_000_000]}, "Argument list too long"),
            ({}, "Give either command .* or argv"),
            ({"command": "ls", "argv": ["ls"]}, "Give either command .* or argv"),
        ],
        ids=lambda value: str(value)[:60],
    )
    def test_the_error_says_what_to_do(self, arguments, mend):
        with pytest.raises(ToolFailedError, match=mend):
            ShellPlugin().run_command(arguments)

    def test_a_script_without_its_first_line_is_told_what_it_lacks(self, tmp_path):
        script = tmp_path / "script"
        script.write_text("echo hi\n")
        script.chmod(0o755)
        with pytest.raises(ToolFailedError, match="without a #! line"):
            ShellPlugin().run_command({"argv": [str(script)]})

    def test_a_program_that_a_shell_line_lacks_is_a_result(self):
        result = ShellPlugin().run_command({"command": "no-such-program"})
        assert result["exit_code"] == 127
        assert "not found" in result["stderr"]


class Output:
    """A callback for output that can be waited for."""

    def __init__(self):
        self.text = ""
        self._line = threading.Event()

    def __call__(self, text):
        self.text += text
        if "\n" in self.text:
            self._line.set()

    def first_line(self):
        assert self._line.wait(10)
        return self.text.splitlines()[0]


@pytest.fixture
def executor():
    """Makes an executor whose one plugin is the shell."""
    made = []

    def make(**config):
        registry = PluginRegistry(bundled=False, entry_points=False)
        registry.register(ShellPlugin(), "shell")
        registry.expose("shell", config)
        made.append(ToolExecutor(registry=registry, tasks=TaskManager.in_memory()))
        return made[-1]

    yield make
    for each in made:
        assert each.shutdown(cancel=True, timeout=10)


def dies(pidfd):
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    try:
        return bool(poll.poll(10_000))
    finally:
        os.close(pidfd)


class TestInAnExecutor:
    def test_a_command_that_fails_is_a_tool_that_worked(self, executor):
        ok, result = executor().execute("runCommand", {"command": "echo hi; exit 3"})
        assert ok is True
        assert (result["exit_code"], result["stdout"]) == (3, "hi\n")

    def test_output_goes_to_the_callback_of_the_call(self, executor):
        output = Output()
        executor().execute("runCommand", {"argv": ["echo", "hi"]}, tool_output_callback=output)
        assert output.text == "hi\n"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [({}, "give either"), ({"command": "ls", "argv": ["ls"]}, "argv"), ({"command": "ls", "sudo": True}, "sudo")],
        ids=str,
    )
    def test_arguments_that_do_not_fit_run_nothing(self, executor, arguments, message):
        ok, result = executor().execute("runCommand", arguments)
        assert ok is False
        assert message in result["error"]

    def test_a_command_past_its_own_time_limit_fails_with_its_output(self, executor):
        ok, result = executor().execute("runCommand", {"command": "echo hi; sleep 1000", "timeout": 0.5})
        assert ok is False
        assert result["timed_out"] is True
        assert result["result"]["stdout"] == "hi\n"

    def test_a_command_past_the_time_limit_of_the_call_is_ended(self, executor):
        output = Output()
        result = executor().call(
            ToolCall("1", "runCommand", {"command": "echo $$; sleep 1000"}), on_output=output, timeout=0.5
        )
        assert result.value["timed_out"] is True
        try:
            pidfd = os.pidfd_open(int(output.first_line()))
        except ProcessLookupError:
            return  # it was faster
        assert dies(pidfd)

    def test_a_stop_from_another_thread_ends_the_command(self, executor):
        made, output, results = executor(), Output(), []
        call = ToolCall("stop-me", "runCommand", {"command": "echo $$; sleep 1000"})
        thread = threading.Thread(target=lambda: results.append(made.call(call, on_output=output)))
        thread.start()
        pidfd = os.pidfd_open(int(output.first_line()))
        assert made.cancel("stop-me")
        assert dies(pidfd)
        thread.join(10)
        assert results[0].value["cancelled"] is True

    def test_past_the_threshold_it_goes_on_in_the_background(self, executor, tmp_path):
        os.mkfifo(tmp_path / "fifo")
        made = executor(threshold=0)
        ok, handed = made.execute("runCommand", {"command": f"echo up; read x < {tmp_path}/fifo; echo $x; exit 4"})
        assert ok is True
        assert handed["auto_backgrounded"] is True
        (tmp_path / "fifo").write_text("down\n")
        made.tasks.wait(handed["task_id"], 10)
        ok, result = made.tasks.result(handed["task_id"])
        assert ok is True
        assert (result["exit_code"], result["stdout"]) == (4, "up\ndown\n")
        assert made.tasks.output(handed["task_id"])[0] == "up\ndown\n"

    def test_cancelling_the_task_ends_the_command(self, executor):
        made, output = executor(threshold=0), Output()
        _, handed = made.execute("runCommand", {"command": "echo $$; sleep 1000"}, tool_output_callback=output)
        pidfd = os.pidfd_open(int(output.first_line()))
        assert made.tasks.cancel(handed["task_id"])
        assert dies(pidfd)
        assert made.tasks.get(handed["task_id"]).status == "cancelled"
