"""Which of many rules about paths may be about a value, so that a thousand cost as little as ten."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from executor_permissions.judge.paths._path_texts import has_wildcard, is_plain
from executor_permissions.judge.paths._paths import UnclearPathError
from executor_permissions.judge.rules._json_texts import may_be_json
from executor_permissions.judge.rules._values import scalars

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from executor_permissions.judge.paths._paths import Place
    from executor_permissions.judge.rules._scene import Scene
    from executor_permissions.judge.rules._values import ValueRule

_FEW = 12  # rules that are compared as soon as they are looked up
_MOST_VALUES = 32


class PathIndex:
    """
    The rules of one list about one argument, to deny or to ask.

    Args:
        rules: Each with its text.
    """

    def __init__(self, rules: Sequence[tuple[str, ValueRule]]) -> None:
        self._rules = rules
        self._beginnings: dict[str, list[int]] = {}  # of what a path begins with that a rule without "*" is about
        self._pieces: list[tuple[str, int]] = []  # what is in each path that one with "*" is about
        self._others: list[int] = []
        for i, (_, rule) in enumerate(rules):
            path = rule.path
            if path is None:
                self._others.append(i)
            elif path.glob is not None:
                self._pieces.append((path.piece, i))
            else:
                for beginning in {path.root, path.written}:
                    self._beginnings.setdefault(beginning, []).append(i)

    def about(self, value: Any, scene: Scene) -> Sequence[tuple[str, ValueRule]]:
        """Those that may be about *value*, in their order; of one that is more than plain paths all."""
        if len(self._rules) <= _FEW:
            return self._rules
        found = set(self._others)
        try:
            for place in _places(value, scene):
                for path in {place.real, place.entry, place.written}:
                    found.update(i for end in range(1, len(path) + 1) for i in self._beginnings.get(path[:end], ()))
                    found.update(i for piece, i in self._pieces if piece in path)
        except UnclearPathError:
            return self._rules
        return [self._rules[i] for i in sorted(found)]


def _places(value: Any, scene: Scene) -> Iterator[Place]:
    """Where the paths in *value* lead. Raises UnclearPathError if one of them, or something else, is more than that."""
    items = list(islice(scalars(value), _MOST_VALUES + 1))
    for item in items:
        if type(item) is not str or not item or may_be_json(item) or not is_plain(item) or len(items) > _MOST_VALUES:
            raise UnclearPathError
        place = scene.locate(item)
        if has_wildcard(place.written):
            raise UnclearPathError
        yield place
