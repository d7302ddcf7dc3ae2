"""Rules about the values of arguments: ``arguments`` in the file, and patterns of the form ``tool(path=src/**)``."""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from executor_permissions.judge.paths import _lexical
from executor_permissions.judge.paths._globs import Texts, Wildcard, literal, pieces_of
from executor_permissions.judge.paths._path_texts import is_plain, may_become
from executor_permissions.judge.paths._paths import PathRule, UnclearPathError, under
from executor_permissions.judge.rules._plain_value import SHELL_MARKS, is_list, is_more_than_one, is_plain_for
from executor_permissions.judge.rules._scene import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from executor_permissions.judge.rules._fitting import Match
    from executor_permissions.judge.rules._rules import Placeholders
    from executor_permissions.judge.rules._scene import Scene
    from executor_permissions.judge.rules._urls import UrlRule

MAX_DEPTH = 100
PATH_NAMES = frozenset(
    "path paths file files filename file_name filePath file_path filepath directory dir folder cwd workdir working_dir"
    " workingDirectory root src dst source destination target old_path new_path oldPath newPath from to output input"
    " output_path input_path outputPath outfile output_file notebook_path".split()
)
_SURE_PATH_NAMES = PATH_NAMES - set("source target from to input output root destination src dst".split())
URL_NAMES = frozenset({"url", "uri", "urls", "endpoint", "href"})
_LOOKS_LIKE_PATH = re.compile(r"(?:/|~(?:/|\Z)|\.\.?(?:/|\Z))")
_LONGEST_NUMBER = 64
_ENCODED = re.compile(r"://|%[0-9A-Fa-f]{2}|\\")  # in an address that may be spelled otherwise
_OF_HOST = re.compile("[.:[\u3002\uff0e\uff61]")  # in the name of a host, or behind the scheme in front of it
_BETWEEN = re.compile(r"[\s,;|]+")  # words, and the items of a list that is a text
_AROUND = re.compile(r"[\s,;|<>()\[\]{}\"'`]+")  # the same, and what a word may be put into
_GIT = re.compile(r"(?:\A|/)\.(?:git|hg|svn)(?:/|\Z)")
_DOT = re.compile("[.\u3002\uff0e\uff61]")


def guess_kind(name: str, texts: tuple[str, ...]) -> str | None:
    """The kind of an argument nobody declared: from its name, or from what the rules about it look like."""
    if name in URL_NAMES or any(map(_lexical.looks_like_url, texts)):
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
            if type(item) is str and depth < MAX_DEPTH:  # most are, and there may be thousands
                yield item
            else:
                yield from scalars(item, depth + 1)
    else:
        yield value


def addresses(value: str, scene: Scene) -> Iterator[str]:
    """The addresses in *value* as a server may be asked for them: without a user, in small letters, decoded."""
    for word in value.split():
        if _may_be_spelled_otherwise(word):
            for read in scene.readings(word):
                bare = (read.host + read.rest).casefold()
                yield bare if word[-1:] == "/" else bare.removesuffix("/")
                if "://" in word:
                    yield read.text.casefold()
        elif "." in word:
            yield word.casefold()


def _may_be_spelled_otherwise(word: str) -> bool:
    """Whether *word* may be an address for those who decode it, or take a backslash for a slash."""
    if "%" in word or "://" in word:
        return _ENCODED.search(word) is not None
    return ("\\" in word and _OF_HOST.search(word) is not None) or (
        not word.isascii() and _DOT.search(word) is not None
    )


class ValueRule:
    """
    One value of an ``arguments`` rule, or the part behind ``=`` of a pattern.

    Args:
        value: What the rule says, with the placeholders already replaced.
        kind: ``path``, ``url``, or None for a plain value.
        marks: What a path is relative to, and what ``~`` is.
        is_glob: Whether ``*`` is a wildcard in a plain value. In rules about paths and URLs it always is.
        ours: Whether its tool is one of our own, which takes a path as it is written.
        path: What it is as a path, if links have been followed already.
    """

    __slots__ = ("_folded", "_glob", "_ours", "_path", "_url", "kind", "value")

    def __init__(
        self,
        value: Any,
        kind: str | None,
        marks: Placeholders,
        *,
        is_glob: bool,
        ours: bool,
        path: PathRule | None = None,
    ) -> None:
        self.value = value
        self.kind = kind
        self._ours = ours
        self._path: PathRule | None = None
        self._url: UrlRule | None = None
        self._glob: Wildcard | None = None
        if isinstance(value, str):
            if kind == "path":
                self._path = path or PathRule.of(value, marks.project, marks.home)
            elif kind == "url":
                from executor_permissions.judge.rules._urls import UrlRule  # for the rules that are about some

                self._url = UrlRule(value)
            elif is_glob and literal(value) != value:
                self._glob, self._folded = Wildcard.of(value), Wildcard.of(value.casefold())

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
            return isinstance(value, str) and self._allows_path(self._path, value, scene)
        if self._url is not None:
            return isinstance(value, str) and self._url.allows(value)
        if self._glob is not None:
            fits = isinstance(value, str) and self._glob.fits(value) and is_plain_for(self.value, value)
            return fits and ("/" not in self.value or self._stays(value, scene))
        return type(value) is type(self.value) and bool(value == self.value)

    def _allows_path(self, rule: PathRule, value: str, scene: Scene) -> bool:
        if not self._ours and not is_plain(value):
            return False
        try:
            return rule.allows(scene.locate(value))
        except UnclearPathError:
            return False

    def _stays(self, value: str, scene: Scene) -> bool:
        """
        Whether *value*, should it be a path, leads by no link out of the folder in front of the first ``*``, nor into a
        repository's own folder, which the rule does not name.
        """
        try:
            place = scene.locate(value)
            if _GIT.search(place.real) and not _GIT.search(self.value):
                return False
            if place.real == place.written:
                return True
            return under(place.real, scene.locate(pieces_of(self.value)[0].rpartition("/")[0] or "/").real)
        except UnclearPathError:
            return True  # it is none

    def is_spread(self, name: str, value: Any) -> bool:
        """Whether its wildcards cover in *value*, an argument called *name*, more than the one thing it names."""
        return self._glob is not None and isinstance(value, str) and is_more_than_one(name, self.value, value)

    # Denying.

    def catches(self, value: Any, scene: Scene) -> Match:
        """Whether *value*, or anything in it, is what the rule names (2), or may be (1)."""
        best: Match = 0
        given = ((type(item), item) for each in scalars(value) for item in (each, *scene.in_text(each)))
        for _, item in dict.fromkeys(given):  # each once
            match = self._catches_text(item, scene) if isinstance(item, str) else self._catches_scalar(item)
            if match == 2:
                return 2
            best = max(best, match)
        return best

    def _catches_text(self, item: str, scene: Scene) -> Match:
        if self._path is not None and item:
            return self._catches_path(self._path, item, scene)
        if self._url is not None:
            url = scene.url(item)
            return self._url.catches(url) if url is not None else 1
        if self._glob is not None:
            fits = self._glob.fits(item) or any(map(self._folded.fits, _statements(item)))
            fits = fits or any(map(self._folded.fits, addresses(item, scene)))
            return 2 if fits else 1 if scene.left_out else 0
        return 2 if self._in_text(item) else 0

    def _catches_path(self, rule: PathRule, item: str, scene: Scene) -> Match:
        if scene.is_full:
            return 2 if self._in_text(item) else 1
        maybe = False
        texts = [item] if self._ours else scene.spellings(item)
        for text in texts or [item]:
            try:
                place = scene.locate(text)
            except UnclearPathError:
                found, maybe = self._in_text(text), True
            else:
                found = rule.catches(place)
                maybe = maybe or (not self._ours and may_become(place.written, rule.root))
            if found:
                return 2
        return 1 if maybe or not texts else 0

    def _catches_scalar(self, item: Any) -> Match:
        """A number, true, false or null: as it is, and as the text that a tool may make of it."""
        if item == self.value or _json_text(item) == _json_text(self.value).strip().casefold():
            return 2
        if self._glob is not None and self._folded.fits(_json_text(item)):
            return 2
        return 2 if isinstance(self.value, str) and _same_number(self.value, item) else 0

    def _in_text(self, item: str) -> bool:
        """Equal but for case and blanks, a whole word of it, or its beginning up to a boundary."""
        wanted = _json_text(self.value).casefold()
        given = item.strip().casefold()
        if not wanted:
            return not given
        if given == wanted or _same_number(given, self.value):
            return True
        if wanted in given and (wanted in _BETWEEN.split(given) or wanted in _AROUND.split(given)):
            return True
        if not given.startswith(wanted):
            return False
        following = given[len(wanted)]
        return not (wanted[-1].isalnum() and (following.isalnum() or following == "_"))


def _statements(item: str) -> Iterator[str]:
    """*item* with its blanks as they are and as one each, and what stands behind each ``;`` of it."""
    folded = item.strip().casefold()
    yield folded
    for one in folded.split(";"):
        yield " ".join(one.split())


def _json_text(value: Any) -> str:
    """A scalar as JSON has it; a text without its quotes."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "null"}[value]
    return repr(value)


def _same_number(text: str, value: Any) -> bool:
    """Whether *text* is a spelling of the number *value*."""
    if isinstance(value, bool) or not isinstance(value, int | float) or len(text) > _LONGEST_NUMBER:
        return False
    try:
        return float(text) == value
    except (ValueError, OverflowError):
        return False


class CallPattern:
    """
    A pattern for the calls of one tool: ``writeFile(path=src/**, mode=0644)``, ``spawn(*java*)``.

    Args:
        arguments: What is said about named arguments.
        anything: A glob for whichever argument, if there is one.
    """

    __slots__ = ("_address", "_anything", "_glob", "arguments", "text", "tool")

    def __init__(self, text: str, tool: str, arguments: dict[str, ValueRule], anything: str | None = None) -> None:
        self.text = text
        self.tool = tool
        self.arguments = arguments
        self._glob = anything or ""
        self._anything = Wildcard.of(anything) if anything is not None else None
        self._address: UrlRule | None = None
        if anything is not None and _lexical.looks_like_url(anything):
            from executor_permissions.judge.rules._urls import UrlRule  # as in `ValueRule`

            self._address = UrlRule(anything)

    @property
    def is_free(self) -> bool:
        """Whether it says nothing about the arguments."""
        return not self.arguments and self._anything is None

    def allows(self, args: dict[str, Any], scene: Scene) -> bool:
        """Whether every argument that it names is there and fits, and every text in it what it says of whichever."""
        if self._anything is not None and not self._fits_throughout(args):
            return False
        return all(
            name in args and rule.allows(args[name], scene) and not rule.is_spread(name, args[name])
            for name, rule in self.arguments.items()
        )

    def _fits_throughout(self, args: dict[str, Any]) -> bool:
        """Whether there is a text and all fit: else whoever calls writes the one that does beside what it is about."""
        texts = [item for value in args.values() for item in scalars(value) if isinstance(item, str)]
        return bool(texts) and all(map(self._fits_plainly, texts))

    def _fits_plainly(self, value: str) -> bool:
        """A glob over whatever argument there is allows no text that a shell would take for more than words."""
        if self._anything is None or _lexical.has_hidden_characters(value) or not self._anything.fits(value):
            return False
        if self._address is not None and not self._address.allows(value):
            return False
        return SHELL_MARKS.search(value) is None and not is_list(self._glob, value)

    def catches(self, args: dict[str, Any], scene: Scene) -> Match:
        """Whether every argument that it names fits (2), or may (1)."""
        worst: Match = 2
        anything = self._anything
        if anything is not None:
            worst = anywhere(anything, self.tool, args, scene)
        for name, rule in self.arguments.items() if worst else ():
            value = scene.value_of(args, name)
            match = rule.catches(value, scene) if value is not ABSENT else 0
            if not match:
                return 0
            worst = min(worst, match)
        return worst


def anywhere(glob: Wildcard, tool: str, args: Mapping[str, Any], scene: Scene) -> Match:
    """Whether *glob* fits a text of the call, or an address in it (2), or may (1)."""
    known = scene.texts.get((tool, id(args)))  # the same for every rule, as long as the call is judged
    if known is None:
        texts = Texts.of(signature(tool, args)), Texts.of(_spelled(args, scene))
        known = scene.texts[tool, id(args)] = args, texts
    written, spelled = known[1]
    if written.have(glob) or spelled.have(glob.folded()):
        return 2
    return 1 if scene.left_out else 0


def _spelled(args: Mapping[str, Any], scene: Scene) -> Iterator[str]:
    """The `addresses` in a call, as they are and as ``name=address``; and its texts with one blank between words."""
    for name in sorted(args):
        for item in dict.fromkeys(scalars(args[name])):
            if not isinstance(item, str):
                continue
            for one in addresses(item, scene):
                yield one
                yield f"{name}={one}"
            inside = scene.in_text(item) if "\\" in item else ()
            for text in (item, *(each for each in inside if isinstance(each, str))):
                if text is not item or len(text.split()) > 1:
                    yield " ".join(text.split()).casefold()


def signature(tool: str, args: Mapping[str, Any]) -> Iterator[str]:
    """A call as texts: each scalar in it, each ``name=value``, and all of it as ``tool(name=value, …)``."""
    named = []
    for name in sorted(args):
        for item in scalars(args[name]):
            text = _json_text(item)
            yield text
            yield f"{name}={text}"
            named.append(f"{name}={text}")
    inside = ", ".join(named)
    yield inside
    yield f"{tool}({inside})"
