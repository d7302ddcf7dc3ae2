"""A terminal on which something runs for a call, as a person at another one uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

# What becomes of what is typed now: the terminal shows it; it shows nothing of it, as for a password; or the program
# takes each key itself, and shows what it likes.
TerminalMode: TypeAlias = Literal["shown", "unseen", "keys"]


class Viewer(Protocol):
    """Somebody who looks at a terminal. Any thread may use it."""

    def picture(self) -> None:
        """Show all of the screen again."""
        ...

    def resize(self, columns: int, rows: int) -> None:
        """Their window has another size."""
        ...

    def close(self) -> None:
        """They look no more."""
        ...


class Terminal(Protocol):
    """
    A terminal on which something runs for a call; see `CurrentCall.offer_terminal`. Any thread may use it, none waits.
    """

    @property
    def mode(self) -> TerminalMode:
        """What becomes of what is typed now."""
        ...

    def send(self, data: bytes) -> None:
        """Type something. Raises ToolError: there is no more room, or nobody reads it any more."""
        ...

    def watch(self, show: Callable[[str | None], object], columns: int, rows: int) -> Viewer:
        """
        Let somebody look at it, in a window of this size.

        Args:
            show: Given the screen as it is, from then on what is written, and None when it is closed; from any thread,
                one after another. It must not block, and what it is given does nothing to their terminal but show.
        """
        ...
