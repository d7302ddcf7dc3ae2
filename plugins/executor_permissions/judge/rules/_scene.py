"""Where the paths of one call lead, each looked up once."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from executor_permissions.judge.paths._path_texts import is_plain, spellings
from executor_permissions.judge.paths._paths import LONGEST_PATH, Place, UnclearPathError, locate
from executor_permissions.judge.rules._json_texts import LONGEST, MOST, may_be_json, scalars_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor_permissions.judge.paths._globs import Texts
    from executor_permissions.judge.paths._paths import Resolve
    from executor_permissions.judge.rules._urls import Parsed, Spellings

    Defaults = Callable[[], Mapping[str, Any]]

_MOST_PLACES = 500  # paths that one call may name; each is looked up, which takes 20 µs
# Addresses are read in all ways in 0.3 ms; one that is plain in 20 µs.
_READING = 1500
_OF_ODD_ONE = 15
ABSENT = object()  # in place of an argument that is neither given nor taken for granted


class CallInfo(NamedTuple):
    """
    What is known of a call besides its tool's name and its arguments.

    Attributes:
        cwd: The folder that relative paths start from; by default the project's root.
        kinds: What its arguments mean, as the tool says: ``shell``, ``argv``, ``path``, ``url``. The file's come first.
        read_only: Whether the tool says that it changes nothing.
        resolve: Resolves paths in place of `executor.paths`: what was judged is then what the tool opens.
        defaults: Gives what the tool takes for arguments that are left out: rules to deny and ask are about it too.
    """

    cwd: str | None = None
    kinds: Mapping[str, str] | None = None
    read_only: bool = False
    resolve: Resolve | None = None
    defaults: Defaults | None = None


NOTHING_MORE = CallInfo()


class Scene:
    """
    What paths are relative to, for the judging of one call; a path is looked up once, and so is an address.

    Attributes:
        left_out: Whether the call has more addresses, or JSON in texts, than is read: nobody can tell what is in it.
        base: The folder that relative paths start from.
        home: What ``~`` stands for.
        resolve: Resolves paths in place of `executor.paths`, if given.
        defaults: Gives what the tool takes for arguments that are left out.
        texts: What `anywhere` looks through, by the tool and the identity of the arguments, which are kept with it.
    """

    __slots__ = (
        "_folders",
        "_found",
        "_json",
        "_json_left",
        "_left",
        "_read",
        "_reading",
        "_spelled",
        "_urls",
        "base",
        "defaults",
        "home",
        "left_out",
        "resolve",
        "texts",
    )

    def __init__(
        self,
        base: str,
        home: str,
        resolve: Resolve | None = None,
        defaults: Defaults | None = None,
    ) -> None:
        self.base = base
        self.home = home
        self.resolve = resolve
        self.defaults = defaults
        self._found: dict[str, Place] = {}
        self._folders: dict[str, str] = {}
        self._spelled: dict[str, list[str]] = {}
        self._left = _MOST_PLACES
        self._json: dict[str, tuple[Any, ...]] = {}
        self._json_left = LONGEST
        self._urls: dict[str, Spellings] = {}
        self._read: dict[str, list[Parsed]] = {}
        self._reading = _READING
        self.left_out = False
        self.texts: dict[tuple[str, int], tuple[Mapping[str, Any], tuple[Texts, Texts]]] = {}

    def value_of(self, args: Mapping[str, Any], name: str) -> Any:
        """What the tool gets for the argument *name* of a call with *args*: that, its default, or `ABSENT`."""
        if name in args or self.defaults is None:
            return args.get(name, ABSENT)
        return self.defaults().get(name, ABSENT)

    def in_text(self, text: object) -> tuple[Any, ...]:
        """The scalars in *text*, where it is one of JSON; none if the call has more of them than are read."""
        if not isinstance(text, str) or not may_be_json(text):
            return ()
        found = self._json.get(text)
        if found is None:
            self._json_left -= len(text)
            found = tuple(islice(scalars_of(text), MOST)) if self._json_left >= 0 else ()
            self.left_out = self.left_out or self._json_left < 0 or len(found) == MOST
            self._json[text] = found
        return found

    @property
    def is_full(self) -> bool:
        """Whether the call has named as many paths as are looked at."""
        return len(self._found) >= _MOST_PLACES

    def locate(self, value: str) -> Place:
        """Where *value* leads. Raises `UnclearPathError`."""
        place = self._found.get(value)
        if place is None:
            if len(value) > LONGEST_PATH:
                raise UnclearPathError(f"{value[:80]!r}… is longer than any path")
            if self.is_full:
                raise UnclearPathError("it names more paths than are looked at")
            place = self._found[value] = locate(value, self.base, self.home, self.resolve, self._folders)
        return place

    def spellings(self, value: str) -> list[str]:
        """The paths that a tool may take *value* for; none if the call has named more of them than are looked at."""
        found = self._spelled.get(value)
        if found is None:
            found = self._spelled[value] = spellings(value) if self._left > 0 or is_plain(value) else []
            self._left -= len(found)
        return found

    def url(self, value: str) -> Spellings | None:
        """All that the address *value* may mean; None if the call has more of them than are read."""
        found = self._urls.get(value)
        if found is None and self._may_read():
            from executor_permissions.judge.rules._urls import spellings_of  # for the rules that are about some

            found = self._urls[value] = spellings_of(value)
            self._reading -= 1 if found.is_plain else _OF_ODD_ONE
        return found

    def readings(self, word: str) -> list[Parsed]:
        """Every address that a client may make of *word*; none if the call has more of them than are read."""
        found = self._read.get(word)
        if found is None:
            if not self._may_read():
                return []
            from executor_permissions.judge.rules._urls import readings  # for what may be one in another spelling

            found = self._read[word] = readings(word)
            self._reading -= _OF_ODD_ONE
        return found

    def _may_read(self) -> bool:
        self.left_out = self.left_out or self._reading <= 0
        return not self.left_out
