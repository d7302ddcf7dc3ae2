"""What a command may do, as the policy says: the profile of a box."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

ProfileName = Literal["read", "project", "network", "open"]
PROFILE_NAMES: tuple[ProfileName, ...] = get_args(ProfileName)  # from the narrowest to none at all


@dataclass(frozen=True, slots=True)
class Profile:
    """
    What a command may do. All paths are absolute.

    Attributes:
        name: ``read``: reads, and writes to its own TMPDIR; ``project``: also writes below `project`; ``network``: also
            opens connections; ``open``: as the user.
        project: The root of the project, without links.
        unreadable: Files and folders that it may not read, beside the known places of secrets.
        unwritable: Files and folders below `project` that it may not write, beside what git and toolexec run.
        writable: Further files that it may write, without links on the way to them.
        credentials: Known places of secrets that it may read after all.
        env: Names of variables that it gets although they are secret.
        required: Whether it may not run at all where this cannot be held.
        people: Whether it also holds what a person allowed for this one call.
        answered: The profile that an answer keeps: no list of the policy lets it do more. None without such an answer.
    """

    name: ProfileName
    project: str
    unreadable: tuple[str, ...] = ()
    unwritable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    credentials: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    required: bool = False
    people: bool = False
    answered: ProfileName | None = field(default=None, compare=False)  # the same box, which may be kept for both

    def or_narrower(self, other: Profile) -> Profile:
        """Which of two profiles lets a command do less; required, and for people's calls too, if either is."""
        narrow = min(self, other, key=lambda profile: PROFILE_NAMES.index(profile.name))
        required, people = self.required or other.required, self.people or other.people
        if (narrow.required, narrow.people) == (required, people):
            return narrow
        return replace(narrow, required=required, people=people)

    def to_dict(self) -> dict[str, Any]:
        """As a JSON object; `of` reads it."""
        return asdict(self)

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Profile:
        """
        The profile that `to_dict` wrote.

        Raises:
            ValueError: It is none; the message says what is wrong.
        """
        name = value.get("name")
        if name not in PROFILE_NAMES:
            raise ValueError(f"the profile {name!r} is unknown: use {', '.join(PROFILE_NAMES)}")
        told: dict[str, Any] = {key: tuple(item) if isinstance(item, list) else item for key, item in value.items()}
        try:
            return cls(**told)
        except TypeError as error:
            raise ValueError(f"{value!r} is no profile: {error}") from error
