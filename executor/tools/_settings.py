"""What can be said about a plugin's tool from outside: by whoever exposes the plugin, or in a configuration file."""

from __future__ import annotations

import math
import string
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from executor._json import to_text
from executor.calls._limits import check_max_concurrent, parse_rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor.tools._make import Registered


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """
    What takes the place of a tool's own options; None leaves each as the plugin has it.

    Attributes:
        timeout: Seconds after which a call is given up.
        auto_background: Seconds after which a call goes to the background.
        resources: Names of what a call needs for itself, with arguments in braces: ``("file:{path}",)``. An argument
            that a call does not have is empty text.
        max_concurrent: How many calls of it run at once, at most.
        rate: How often it may be called: ``"20/min"``.

    Raises:
        ValueError: A value cannot be meant; the message begins with the option's name.
    """

    timeout: float | None = None
    auto_background: float | None = None
    resources: tuple[str, ...] | None = None
    max_concurrent: int | None = None
    rate: str | None = None

    def __post_init__(self) -> None:
        _check_seconds("timeout", self.timeout, zero=False)
        _check_seconds("auto_background", self.auto_background, zero=True)
        if self.resources is not None:
            object.__setattr__(self, "resources", _checked(self.resources))
        if self.max_concurrent is not None:
            check_max_concurrent(self.max_concurrent)
        if self.rate is not None:
            parse_rate(self.rate)

    def applied(self, entry: Registered) -> Registered:
        """*entry* with these options in place of its own."""
        changes: dict[str, Any] = {
            option: getattr(self, option)
            for option in ("timeout", "auto_background", "max_concurrent", "rate")
            if getattr(self, option) is not None
        }
        if self.resources is not None:
            changes["resources"] = Templates(self.resources)
        tool = replace(entry.tool, **changes)
        return replace(
            entry,
            tool=tool,
            background=entry.background or self.auto_background is not None,
            limited=tool.resources is not None or tool.max_concurrent is not None or tool.rate is not None,
            rate=parse_rate(self.rate) if self.rate is not None else entry.rate,
        )


def check_name(tool: str, settings: ToolSettings) -> str:
    """The name of the tool that has these settings. Raises TypeError: it is no name, or they are none."""
    if not isinstance(tool, str):
        raise TypeError(f"tool is {tool!r}: give its name")
    if not isinstance(settings, ToolSettings):
        raise TypeError(f"the settings of {tool} are {settings!r}: give ToolSettings(…)")
    return tool


def _check_seconds(option: str, value: object, *, zero: bool) -> None:
    if value is None:
        return
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or value < 0 or (value == 0 and not zero):  # type: ignore[operator]  # a number, as just seen
        raise ValueError(f"{option} is {value!r}, not a number of seconds {'from 0 on' if zero else 'above 0'}")


def _checked(value: object) -> tuple[str, ...]:
    """The templates in *value*. Raises ValueError for what is none."""
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each for each in value):
        raise ValueError(f'resources is {value!r}, not a list of names: write ["file:{{path}}"]')
    for template in value:
        try:
            parts = list(string.Formatter().parse(template))
        except ValueError as error:
            raise ValueError(f"resources: {template!r}: {error}: a brace that is meant is written twice") from error
        for _, name, form, conversion in parts:
            if name is not None and (not name or form or conversion or not name.replace("-", "_").isidentifier()):
                raise ValueError(f"resources: {template!r}: braces hold the name of an argument and nothing else")
    return tuple(value)


@dataclass(frozen=True, slots=True)
class Templates:
    """A tool's ``resources``, made of names with arguments in braces. It can be pickled."""

    templates: tuple[str, ...]

    def __call__(self, arguments: Mapping[str, Any]) -> list[str]:
        """The names of what the call with these arguments needs for itself."""
        return [self._name(template, arguments) for template in self.templates]

    def _name(self, template: str, arguments: Mapping[str, Any]) -> str:
        parts = string.Formatter().parse(template)
        return "".join(text + (_as_text(arguments.get(name, "")) if name else "") for text, name, _, _ in parts)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else to_text(value)
