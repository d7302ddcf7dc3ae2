"""Which box a profile gets, and what starts in it."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from executor.errors import ConfinementError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Said of a moment, and not of a file. (The last: as many descriptors are on their way as there may be.)
PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ETOOMANYREFS)
AGAIN = ". Try again when that is over"  # what helps then
Mechanism = Literal["landlock", "bubblewrap", "none"]


class ConfigFile(str):
    """The path of a file that git reads as configuration: it must not find a folder there."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Box:
    """
    What holds a command to its profile, on this machine.

    Attributes:
        profile: The profile's name.
        mechanism: ``landlock`` or ``bubblewrap``, each with the filter of system calls; ``none``: nothing holds it.
        open: What the profile forbids and the box does not hold, each in words; empty when it holds all of it.
        reason: Why there is no better box, or "".
    """

    profile: str
    mechanism: Mechanism
    open: tuple[str, ...] = ()
    reason: str = ""

    def to_dict(self) -> dict[str, object]:
        """For results and records, as JSON; what is empty is left out."""
        told: dict[str, object] = {"profile": self.profile, "box": self.mechanism}
        if self.open:
            told["open"] = list(self.open)
        if self.reason:
            told["reason"] = self.reason
        return told


@contextmanager
def making(box: Box) -> Iterator[None]:
    """
    What goes wrong while *box* is made is a ConfinementError: its command must not start.

    Also where no thread can be started (RuntimeError), because there are as many processes as there may be.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        passes = isinstance(error, RuntimeError) or error.errno in PASSING
        hint = AGAIN if passes else ""
        raise ConfinementError(f"The box {box.profile!r} ({box.mechanism}) could not be made: {error}{hint}") from error
