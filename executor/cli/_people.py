"""What only a person may do by the command: below a running call it refuses."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

from executor.cli._errors import CliError, ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable

C = TypeVar("C", bound="Callable[..., Any]")


def for_people(command: C) -> C:
    """
    A command that answers, grants, trusts, installs or changes what is decided: it refuses to work below a call.

    To be put below the decorators of click. See `refuse_below_a_call`.
    """

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        refuse_below_a_call()
        return command(*args, **options)

    return run  # type: ignore[return-value]  # the same function, in front of which something is done


def refuse_below_a_call() -> None:
    """Raises CliError where a tool's process, or one that has tasks, is above this one: it was started by a call."""
    from executor.approval import call_above

    above = call_above()
    if above is not None:
        text = (
            f"this was started by process {above}, which makes a model's calls: only a person may do it; "
            "run it in a terminal of your own"
        )
        raise CliError(text, ExitCode.DENIED)
