"""Rules about the values of arguments: ``arguments`` in the file, and patterns of the form ``tool(path=src/**)``."""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from executor_permissions.judge import _lexical
from executor_permissions.judge._paths import PathRule, Place, UnclearPathError, locate
from executor_permissions.judge._tokens import wildcard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor_permissions.judge._paths import Resolve

MAX_DEPTH = 100
PATH_NAMES = frozenset(
    "path paths file files filename file_name filePath file_path filepath directory dir folder cwd workdir working_dir"
    " workingDirectory root src dst source destination target old_path new_path oldPath newPath from to output input"
    " output_path input_path outputPath outfile output_file notebook_path".split()
)
_SURE_PATH_NAMES = PATH_NAMES - {
    "source",
    "target",
    "from",
    "to",
    "input",
    "output",
    "root",
    "destination",
    "src",
    "dst",
}
URL_NAMES = frozenset({"url", "uri", "urls", "endpoint", "href"})
_LOOKS_LIKE_PATH = re.compile(r"(?:/|~(?:/|\Z)|\.\.?(?:/|\Z))")
_DEFAULT_PORTS = {"http": 80, "https": 443, "ftp": 21, "ws": 80, "wss": 443}
_DOTTED = re.compile(r"/(?:\.|%2e){1,2}(?=/|\Z)", re.IGNORECASE)


class Scene:
    """
    What paths are relative to, for the judging of one call; a path is looked up once.

    Attributes:
        base: The folder that relative paths start from.
        home: What ``~`` stands for.
        resolve: Resolves paths in place of `executor.paths`, if given.
    """

    __slots__ = ("_found", "base", "home", "resolve")

    def __init__(self, base: str, home: str, resolve: Resolve | None = None) -> None:
        self.base = base
        self.home = home
        self.resolve = resolve
        self._found: dict[str, Place] = {}

    def locate(self, value: str) -> Place:
        """Where *value* leads. Raises `UnclearPathError`."""
        place = self._found.get(value)
        if place is None:
            place = self._found[value] = locate(value, self.base, self.home, self.resolve)
        return place


def guess_kind(name: str, texts: tuple[str, ...]) -> str | None:
    """The kind of an argument nobody declared: from its name, or from what the rules about it look like."""
    if name in URL_NAMES:
        return "url"
    if name in _SURE_PATH_NAMES or any(_LOOKS_LIKE_PATH.match(text) for text in texts):
        return "path"
    return None


def scalars(value: Any, depth: int = 0) -> Iterator[Any]:
    """Every scalar in *value*, keys included."""
    if depth > MAX_DEPTH:
        raise RecursionError("nested deeper than anybody writes")
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from scalars(item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from scalars(item, depth + 1)
    else:
        yield value


class ValueRule:
    """
    One value of an ``arguments`` rule, or the part behind ``=`` of a pattern.

    Args:
        value: What the rule says, with the placeholders already replaced.
        kind: ``path``, ``url``, or None for a plain value.
        is_glob: Whether ``*`` is a wildcard: in patterns, and in rules about paths.
    """

    __slots__ = ("_glob", "_path", "_url", "kind", "value")

    def __init__(self, value: Any, kind: str | None, scene: Scene, *, is_glob: bool) -> None:
        self.value = value
        self.kind = kind
        self._path: PathRule | None = None
        self._url: _UrlPattern | None = None
        self._glob: re.Pattern[str] | None = None
        if isinstance(value, str):
            if kind == "path":
                self._path = PathRule.of(value, scene.base, scene.home)
            elif kind == "url":
                self._url = _UrlPattern(value, is_glob=is_glob)
            elif is_glob and "*" in value:
                self._glob = wildcard(value)

    @property
    def path(self) -> PathRule | None:
        """The rule as one about files, if it is one."""
        return self._path

    # Allowing.

    def allows(self, value: Any, scene: Scene) -> bool:
        """Whether *value* as a whole is what the rule names. A list is, if each of its items is."""
        if isinstance(value, list) and self.kind in ("path", "url"):
            return bool(value) and all(isinstance(item, str) and self.allows(item, scene) for item in value)
        if self._path is not None:
            if not isinstance(value, str):
                return False
            try:
                return self._path.allows(scene.locate(value))
            except UnclearPathError:
                return False
        if self._url is not None:
            return isinstance(value, str) and self._url.allows(value)
        if self._glob is not None:
            return (
                isinstance(value, str) and not _lexical.has_hidden_characters(value) and bool(self._glob.match(value))
            )
        return type(value) is type(self.value) and bool(value == self.value)

    # Denying.

    def catches(self, value: Any, scene: Scene) -> bool:
        """Whether *value*, or anything in it, may be what the rule names."""
        return any(self._catches_one(item, scene) for item in scalars(value))

    def _catches_one(self, item: Any, scene: Scene) -> bool:
        if not isinstance(item, str):
            return self._same_scalar(item)
        if self._path is not None and item:
            try:
                place = scene.locate(item)
            except UnclearPathError:
                return self._in_text(item)
            return self._path.catches(place)
        if self._url is not None:
            return self._url.catches(item)
        if self._glob is not None:
            return bool(self._glob.match(item) or self._glob.match(item.strip()))
        return self._in_text(item)

    def _same_scalar(self, item: Any) -> bool:
        if isinstance(self.value, str):
            return _json_text(item) == self.value.strip().casefold()
        return bool(item == self.value)

    def _in_text(self, item: str) -> bool:
        """Equal but for case and blanks, a whole word of it, or its beginning up to a boundary."""
        wanted = self.value.casefold() if isinstance(self.value, str) else _json_text(self.value)
        given = item.strip().casefold()
        if not wanted:
            return not given
        if given == wanted or wanted in given.split():
            return True
        if not given.startswith(wanted):
            return False
        following = given[len(wanted)]
        return not (wanted[-1].isalnum() and (following.isalnum() or following == "_"))


def _json_text(value: Any) -> str:
    return (
        {True: "true", False: "false", None: "null"}.get(value, str(value))
        if not isinstance(value, float)
        else repr(value)
    )


class _UrlPattern:
    """A URL, or a pattern for URLs: ``*`` stays within the host, or between two slashes; ``**`` crosses them."""

    __slots__ = ("_exact", "_pattern")

    def __init__(self, text: str, *, is_glob: bool) -> None:
        self._exact = _normal_url(text) or text
        self._pattern: re.Pattern[str] | None = None
        if is_glob and "*" in text:
            scheme, separator, rest = text.partition("://")
            host, slash, path = rest.partition("/") if separator else ("", "", text)
            expression = re.escape(scheme.lower()) + "://" + re.escape(host.lower()).replace(r"\*", "[a-z0-9.-]*")
            if not separator:
                expression, slash = "", ""
            expression += slash + "".join(
                {"**": ".*", "*": "[^/]*"}.get(piece, re.escape(piece)) for piece in re.split(r"(\*\*|\*)", path)
            )
            self._pattern = re.compile(expression + r"\Z", re.DOTALL)

    def allows(self, value: str) -> bool:
        """Whether *value* is it. A URL that can be read in two ways is not."""
        normal = _normal_url(value)
        if (
            normal is None
            or _DOTTED.search(value)
            or re.search(r"[\s\\\x00-\x1f\x7f]", value)
            or "@" in value.split("/")[2]
        ):
            return False
        if self._pattern is not None:
            return bool(self._pattern.match(normal))
        return normal == self._exact

    def catches(self, value: str) -> bool:
        """Whether *value* may be it, or lies below it."""
        text = re.sub(r"[\t\r\n]", "", value.strip()).replace("\\", "/")
        normal = _normal_url(text) or text
        if self._pattern is not None:
            return bool(self._pattern.match(normal) or self._pattern.match(text))
        return normal == self._exact or normal.startswith((self._exact.rstrip("/") + "/", self._exact + "?"))


def _normal_url(text: str) -> str | None:
    """A URL with its scheme and host in lower case, without user, default port and dots; None if it is none."""
    try:
        parts = urlsplit(text)
        port = parts.port
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return None
    if not parts.scheme or not host or not text.isascii():
        return None
    if ":" in host:
        host = f"[{host}]"
    if port is not None and port != _DEFAULT_PORTS.get(parts.scheme):
        host = f"{host}:{port}"
    return urlunsplit((parts.scheme, host, parts.path or "/", parts.query, parts.fragment))


class CallPattern:
    """A pattern for the calls of one tool: ``writeFile(path=src/**, mode=0644)``."""

    __slots__ = ("arguments", "text", "tool")

    def __init__(self, text: str, tool: str, arguments: dict[str, ValueRule]) -> None:
        self.text = text
        self.tool = tool
        self.arguments = arguments

    def allows(self, args: dict[str, Any], scene: Scene) -> bool:
        """Whether every argument that it names is there and fits."""
        return all(name in args and rule.allows(args[name], scene) for name, rule in self.arguments.items())

    def catches(self, args: dict[str, Any], scene: Scene) -> bool:
        """Whether every argument that it names may fit."""
        return all(name in args and rule.catches(args[name], scene) for name, rule in self.arguments.items())


_CALL = re.compile(r"([A-Za-z0-9_.:*-]+)\((.*)\)\Z", re.DOTALL)
_NAMED = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*=")


def split_call(text: str) -> tuple[str, dict[str, str]] | None:
    """
    The tool and the arguments of a pattern with brackets; None if it has none.

    A value goes on to the next ``, name=``; in quotes it may hold anything.

    Raises:
        ValueError: It is not of the form ``tool(name=value, …)``.
    """
    match = _CALL.match(text.strip())
    if match is None:
        return None
    arguments: dict[str, str] = {}
    rest = match[2].strip()
    while rest:
        named = _NAMED.match(rest)
        if named is None:
            raise ValueError(f"{rest!r} is not of the form name=value")
        rest = rest[named.end() :].lstrip()
        value, rest = _take_value(rest)
        if named[1] in arguments:
            raise ValueError(f"the argument {named[1]!r} stands twice")
        arguments[named[1]] = value
    return match[1], arguments


def _take_value(rest: str) -> tuple[str, str]:
    if rest[:1] in ("'", '"'):
        end = rest.find(rest[0], 1)
        if end < 0:
            raise ValueError(f"the quote {rest[0]} is not closed")
        following = rest[end + 1 :].lstrip()
        if following and not following.startswith(","):
            raise ValueError(f"{following!r} behind a quoted value")
        return rest[: end + 1], following[1:].lstrip()
    for comma in re.finditer(",", rest):
        if _NAMED.match(rest[comma.end() :]):
            return rest[: comma.start()].rstrip(), rest[comma.end() :].lstrip()
    return rest.strip(), ""


def typed(text: str) -> Any:
    """The value a pattern's text stands for: ``true``, ``5`` and ``null`` are typed, what is quoted is text."""
    if text[:1] in ("'", '"'):
        return text[1:-1]
    words: dict[str, Any] = {"true": True, "false": False, "null": None}
    if text in words:
        return words[text]
    if re.fullmatch(r"-?(0|[1-9]\d*)", text) and len(text) < 19:
        return int(text)
    if re.fullmatch(r"-?\d+\.\d+", text):
        return float(text)
    return text
