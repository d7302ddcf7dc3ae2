"""The permission plugin and its policy file, as the command uses them."""

from __future__ import annotations

import contextlib
import importlib
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor import current_call
from executor._json import copy_arguments, to_text
from executor.cli._errors import CliError
from executor.permission._inbox import Inbox
from executor.permission._questions import NoChannelError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from executor import Decision, ToolCall
    from executor.permission._questions import Approval, Channel

PLUGIN = "executor_permissions"  # by name: the core never imports a plugin by statement
ENVIRONMENT_NAME = "TOOLEXEC_PERMISSIONS"
_LONGEST_RULE = 200  # characters of a rule that is proposed; a longer one nobody would read


def plugin_part(module: str = "") -> Any:
    """
    A module of the permission plugin, or the plugin itself.

    Raises:
        ImportError: It is not installed, or something that it needs is not.
    """
    return importlib.import_module(f"{PLUGIN}.{module}" if module else PLUGIN)


def make_plugin(inbox: Callable[[], Inbox] = Inbox) -> Any:
    """
    The permission plugin with the policy in force; None if it cannot be imported and there is no policy that it misses.

    Args:
        inbox: Gives the inbox on whose channels it asks, unless the policy names others.

    Raises:
        PermissionConfigError: The policy does not load.
        CliError: There is a policy, and nothing that could judge by it.
    """
    try:
        package = plugin_part()
        plugin = package.PermissionPlugin()
    except ImportError as error:
        path = _policy_without_plugin()
        if path is not None:
            text = f"{path}: there is a policy, but {PLUGIN} cannot be imported ({error}): install it, so that it holds"
            raise CliError(text) from error
        return None
    if plugin.policy.channel.get("type", "console") != "console":
        return plugin
    return package.PermissionPlugin(policy=plugin.policy, channel=InboxChannels(inbox))


class InboxChannels:
    """
    The channels of an executor's inbox as one: where the command has put its own terminal.

    Left to itself the plugin would ask a second time on stdin after an end of input.
    """

    def __init__(self, inbox: Callable[[], Inbox]) -> None:
        self._inbox = inbox

    def _channels(self) -> list[Channel]:
        return list(self._inbox()._channels.values())  # noqa: SLF001 -- the core's own; nobody else has a use for it

    def ask(self, approval: Approval, answer: Callable[[object], bool]) -> None:
        """Show the question. Raises NoChannelError if nobody can be reached on any."""
        reached = False
        for channel in self._channels():
            with contextlib.suppress(NoChannelError):
                channel.ask(approval, answer)
                reached = True
        if not reached:
            raise NoChannelError

    def withdraw(self, approval_id: str) -> None:
        """Take it back everywhere."""
        for channel in self._channels():
            channel.withdraw(approval_id)


def _policy_without_plugin() -> Path | None:
    """A policy file that holds, or would."""
    import platformdirs

    named = os.environ.get(ENVIRONMENT_NAME)
    if named:
        return Path(named)
    own = platformdirs.user_config_path("toolexec", appauthor=False) / "permissions.json"
    here = Path.cwd()
    projects = (folder / ".toolexec" / "permissions.json" for folder in (here, *here.parents))
    return next((path for path in (own, *projects) if path.exists()), None)


def policy_file() -> tuple[Path, bool]:
    """The policy file in use, the project's aside, and whether it exists or is asked for."""
    named = os.environ.get(ENVIRONMENT_NAME)
    if named:
        return Path(named).expanduser().absolute(), True
    path: Path = plugin_part("store._load").user_file()
    return path, path.exists()


def project_file(project: str | Path) -> Path:
    """Where a project's own policy file is."""
    load = plugin_part("store._load")
    path: Path = Path(project) / load.PROJECT_FOLDER / load.FILE_NAME
    return path


def has_policy(plugin: Any) -> bool:
    """Whether any policy file is in force: the user's, the one that the environment names, or the project's."""
    return policy_file()[1] or project_file(plugin.policy.places.project).exists()


def rules_that_allow(plugin: Any, call: ToolCall, decision: Decision) -> tuple[str, ...]:
    """The rules that, put in the whitelist, would have this call run; none where no rule would."""
    current = current_call()
    if decision.method != "default" or current is None:
        return ()
    kinds = dict(current.tool.argument_kinds or {})
    arguments, policy = copy_arguments(call.arguments), plugin.policy
    if policy.is_shell_tool(call.name) or "shell" in kinds.values():
        make = plugin_part("ask._offer").offer
        offer = make(call.name, arguments, decision.parts, is_shell=True, home=policy.places.home)
        return tuple(offer.rules) if offer.kind == "shell" else ()
    given = ", ".join(f"{name}={_value(value)}" for name, value in arguments.items())
    for rule in (f"{call.name}({given})", call.name):
        if len(rule) <= _LONGEST_RULE and _allows(policy, rule, call.name, arguments, kinds):
            return (rule,)
    return ()


def _allows(policy: Any, rule: str, tool: str, arguments: Mapping[str, Any], kinds: Mapping[str, str]) -> bool:
    from executor.errors import PermissionConfigError

    places = policy.places
    value = {"whitelist": {"patterns": [rule]}}
    try:
        draft = plugin_part().Policy.from_dict(value, project_root=places.project, home=places.home)
    except PermissionConfigError:  # a value that cannot be written in a rule
        return False
    return bool(draft.decide(tool, arguments, argument_kinds=kinds).verdict == "allow")


def _value(value: object) -> str:
    """A value as a rule writes it: a text in quotes, in which nothing is special but ``*``."""
    return f'"{value}"' if isinstance(value, str) else to_text(value)


def add_commands(rules: Sequence[str]) -> str:
    """The commands that add *rules* to the whitelist."""
    return "; ".join(f"toolexec permissions add {shlex.quote(rule)}" for rule in rules)
