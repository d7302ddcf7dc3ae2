"""
The tool ``runCommand``: a shell line or a program, its output live, its processes ended when the call is.

Configuration (`executor_configure`): ``threshold``, ``max_output``, ``output_dir``, ``shell``; see `Settings`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor import current_call, hookimpl
from executor.errors import ToolFailedError
from executor_shell._live import LiveCommands
from executor_shell._settings import MAX_OUTPUT, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.hookspecs import RegisterTool

__all__ = ["ShellPlugin"]

DESCRIPTION = f"""\
Run a command on this machine and return its exit code and output. Give either `command` (a line for the shell: pipes, \
redirections and variables work) or `argv` (a program and its arguments, passed as they are, without a shell), not both.

Result: exit_code (0 usually means success; another number is a result, not an error of this tool; negative: ended by \
the signal named in `signal`), stdout and stderr (text, apart), duration (seconds). Only if it applies: exit_code_lost \
(exit_code is null, and whether it succeeded is not known: judge by the output), undecodable (some output was not \
UTF-8; U+FFFD stands in its place), stdout_file / stderr_file (the output was longer than max_output: the result has \
its beginning and end, this file all of it), stdout_note / stderr_note (what the file lacks and why), output_held_open \
(a process that made itself independent still has the output open), confined (it ran in a box: profile says what it \
might do, refused what it was kept from and how a person can allow it).

Standard input is empty and there is no terminal: a program that asks questions gets none answered, so pass options \
such as --yes. Where only a person can answer (a password, a login, a menu), give terminal: true: the command then \
runs on a terminal, at which a person types; you cannot. All its output comes in stdout, as text. Tell the person what \
is asked, and that `toolexec tasks attach TASK_ID` is where to answer. Each call starts afresh: cd and variables of an \
earlier call are forgotten, so use cwd and env.

A call ends when its command ends: whatever the command left running (`server &`) is ended too, and the result says \
left_running_ended. To keep something running, run it in the foreground of a call that is started as a background \
task. A call that takes long may go to the background by itself. timeout ends the command and all it started, and the \
call then fails with the output so far. max_output may be up to {MAX_OUTPUT} bytes."""

_PROPERTIES: dict[str, Any] = {
    "command": {
        "type": "string",
        "minLength": 1,
        "description": "A line for the shell (bash; sh where there is none). Either this or argv.",
    },
    "argv": {
        "type": "array",
        "items": {"type": "string"},
        "minItems": 1,
        "description": "The program and its arguments, run without a shell. Either this or command.",
    },
    "cwd": {
        "type": "string",
        "minLength": 1,
        "description": "The folder to run in, which must exist. Default: the folder of the assistant itself.",
    },
    "env": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "propertyNames": {"pattern": "^[^=]+$"},
        "description": "Environment variables for the command, added to the inherited ones.",
    },
    "timeout": {
        "type": "number",
        "exclusiveMinimum": 0,
        "description": "Seconds after which the command and all it started are ended. Default: no limit.",
    },
    "terminal": {
        "type": "boolean",
        "description": "Run it on a terminal, where a person answers what it asks. Default: false.",
    },
    "max_output": {
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_OUTPUT,
        "description": "How many bytes of stdout, and of stderr, the result may hold.",
    },
}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": _PROPERTIES,
    # Exactly one of command and argv. Not as oneOf: model APIs refuse a tool that has one at the top of its schema.
    "if": {"required": ["command"]},
    "then": {"propertyNames": {"enum": [name for name in _PROPERTIES if name != "argv"]}},
    "else": {"required": ["argv"], "description": "give either command (a line for the shell) or argv (a program)"},
    "additionalProperties": False,
}


class ShellPlugin:
    """Runs commands. Holds its settings, and knows the commands that run now."""

    def __init__(self) -> None:
        self._settings = Settings()
        self._live = LiveCommands()

    @hookimpl
    def executor_configure(self, config: Mapping[str, Any]) -> None:
        """
        Take the configuration; keys that are left out go back to their defaults.

        Raises:
            ValueError: It does not fit; the plugin stays as it was.
        """
        self._settings = Settings.of(config)

    @hookimpl
    def executor_register_tools(self, register: RegisterTool) -> None:
        """Register ``runCommand``."""
        register(
            "runCommand",
            self.run_command,
            description=DESCRIPTION,
            schema=SCHEMA,
            auto_background=self._settings.threshold,
            annotations={"read_only": False, "destructive": True, "idempotent": False, "open_world": True},
            argument_kinds={"command": "shell", "argv": "argv", "cwd": "path"},
        )

    @hookimpl
    def executor_shutdown(self) -> None:
        """End the commands that still run."""
        self._live.close()

    def run_command(self, args: dict[str, Any]) -> dict[str, Any]:
        """
        Run the command that *args* (an object that fits the schema) describes.

        Raises:
            ToolFailedError: It could not be started, or it is not clear which of ``command`` and ``argv`` to run.
            ToolTimeoutError: Its ``timeout`` passed.
            ToolCancelledError: The call was cancelled.
        """
        from executor_shell._run import run  # 10 ms, which a process that runs no command need not spend
        from executor_shell._start import Request, folder_of

        settings, call = self._settings, current_call()
        if ("command" in args) == ("argv" in args):
            raise ToolFailedError(
                "Give either command (a shell line) or argv (a program and its arguments), and not both"
            )
        request = Request(
            program=settings.program(args["command"]) if "command" in args else args["argv"],
            told=args["command"] if "command" in args else args["argv"],
            cwd=folder_of(args.get("cwd"), call),
            env=args.get("env", {}),
            timeout=args.get("timeout"),
            max_output=int(args.get("max_output", settings.max_output)),  # JSON's 100.0 is an integer too
            folder=settings.folder,
            confine=call.confine if call is not None else None,
            terminal=args.get("terminal", False),
        )
        return run(request, self._live, call)


executor_plugin = ShellPlugin  # one for each registry
