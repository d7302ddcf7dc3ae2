"""Where the input of a command comes from: of ``cat`` in ``ls | cat`` from a pipe, in ``cat <<< x`` it is a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from executor_permissions.judge.bash._walk import Step
    from executor_permissions.judge.bash._words import Command


class Input(NamedTuple):
    """As the attributes of `Command` say: ``stdin``, ``body``, ``files``, ``sender``."""

    source: str = ""
    body: str | None = None
    files: tuple[str, ...] = ()
    sender: Command | None = None


NO_INPUT = Input()
_PIPE = Input("pipe")


def piped(steps: list[Step], pipe: str, *, simple: bool) -> Input:
    """The input behind a *pipe* from a node that made *steps*, and is a *simple* command or not."""
    return Input("pipe", sender=steps[0].command) if simple and pipe == "|" and len(steps) == 1 else _PIPE


def shared(source: Input) -> Input:
    """*source* as several commands may have it, of which each takes what those before it have left."""
    return source if source.sender is None else _PIPE
