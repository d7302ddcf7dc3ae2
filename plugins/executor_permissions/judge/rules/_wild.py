"""
What a ``*`` within a word of an allowing rule covers: names below the folder that stands in front of it.

``build/*`` covers ``build/a/b``; neither ``build/../x`` nor what is in a ``.git``. In an address it stays within the
host, or below the path, that the rule names.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from executor_permissions.judge.bash._words import Glob
from executor_permissions.judge.options._unpacks import is_git
from executor_permissions.judge.paths._globs import STAR, Wildcard, filled, literal, pieces_of
from executor_permissions.judge.rules._tokenize import unquoted
from executor_permissions.judge.rules._tokens import FETCHING_EACH
from executor_permissions.judge.rules._urls import END_OF_HOST, FETCHING, host_kind, whole_host

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEY = re.compile(r"(?:--?[A-Za-z][\w-]*|[A-Za-z_]\w*)=")
_JOINTS = re.compile(r"[/\\:=@,{}?&#]")
_UP = re.compile(r"\.\.(?:;|\Z)")
_ELSEWHERE = re.compile(r"-|(?:\A|[:=@,])[/~]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.@-]*\Z")
_HOST = re.compile(r"[A-Za-z0-9.-]*\Z")
_PORT = re.compile(r":[0-9]{1,5}\Z")
_BARE_HOST = re.compile(r"(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)[:*]")
_ADDRESS = re.compile(r"[A-Za-z*]+://|(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)(?:[:*/]|\Z)")
_PACKAGES = frozenset({"npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "pip", "pip3", "uv", "uvx", "pipx"})
_REFS = frozenset({"push", "fetch", "pull"})
_MOST_DECODED = 4  # times that a text may be decoded


class Wild(NamedTuple):
    """
    A word of an allowing rule that has a ``*`` beside other text.

    Attributes:
        at: Where it stands.
        key: What is in front of its value: ``--file=``.
        value: The value, a glob.
        kind: What the value is, where that makes a difference.
    """

    at: int
    key: str
    value: str
    kind: str = ""

    def holds(self, words: Sequence[str]) -> bool:
        """Whether the word of a command that stands there is below what the rule names."""
        return self.covers(words[self.at])

    def covers(self, word: str) -> bool:
        """Whether *word*, which fits the glob, is below what the rule names."""
        name = word[len(self.key) :]
        if "://" in self.value:
            return _is_below(self.value, name)
        if self.kind == "host" and "://" not in name:
            return _is_below(f"x://{self.value}", f"x://{name}")
        fixed = pieces_of(self.value)[0]
        if "://" in name or (not fixed and _ELSEWHERE.match(name)):
            return False
        rest = name[len(fixed) :]
        if self.kind == "refs" and (":" in rest or ".." in rest or name[:1] == "+"):
            return False
        spec = name.rfind("@") if self.kind == "package" else 0
        if spec > 0 and _JOINTS.search(name, spec + 1):
            return False  # an alias, a file, or an address
        below = name[fixed.rfind("/") + 1 :]
        return not (climbs(below, is_glob=type(word) is Glob) or (_in_git(below, word) and not self._names_git()))

    def _names_git(self) -> bool:
        return is_git(filled(self.value, "x"))


def wild_words(tokens: Sequence[str]) -> tuple[Wild, ...]:
    """The words among *tokens* of a rule that have a ``*``, but for those that are nothing else: these are any word."""
    kind = ""
    if tokens[0] == "git" and not _REFS.isdisjoint(tokens):
        kind = "refs"
    elif tokens[0] in _PACKAGES:
        kind = "package"
    found = []
    for at, token in enumerate(tokens):
        key = _KEY.match(token)
        value = token[key.end() :] if key else token
        if literal(value) is None and value.strip(STAR):
            is_host = tokens[0] in FETCHING and _BARE_HOST.match(value)
            found.append(Wild(at, key[0] if key else "", value, "host" if is_host else kind))
    return tuple(found)


def addresses_of(tokens: Sequence[str]) -> tuple[Wild, ...]:
    """The addresses among *tokens* of a rule for a program that takes any number of them."""
    if tokens[0] not in FETCHING_EACH:
        return ()
    return tuple(Wild(at, "", token, "host") for at, token in enumerate(tokens) if _ADDRESS.match(token))


def folder_of(token: str) -> str:
    """The folder that stands in front of the first ``*`` of *token*; "" if none does."""
    fixed = pieces_of(token)[0]
    return fixed[: fixed.rfind("/") + 1]


def open_host(token: str) -> str | None:
    """How to write an address of a rule whose ``*`` may go on in the name of its host; None if it is whole."""
    host = whole_host(token)
    return f"{token.partition('://')[0]}://{host}/*" if host is not None else None


def _is_below(rule: str, word: str) -> bool:
    """Whether the address *word* is one of those that *rule* names, by its host and by its path."""
    wanted, _, rest = rule.partition("://")
    scheme, separator, given = word.partition("://")
    if not separator or not Wildcard.of(wanted).fits(scheme) or (STAR in wanted and not _SCHEME.match(scheme)):
        return False
    cut, end = END_OF_HOST.search(rest), END_OF_HOST.search(given)
    host, path = (rest[: cut.start()], rest[cut.start() :]) if cut else (rest, "")
    name, below = (given[: end.start()], given[end.start() :]) if end else (given, "")
    if "\\" in given or not _same_host(host, name):
        return False
    fits = Wildcard.of(path).fits(below) if path or STAR not in host else True
    return fits and not climbs(below, is_glob=True)


def _same_host(host: str, name: str) -> bool:
    kind = host_kind(host)
    if kind == "whole":
        return name == host
    bare = _PORT.sub("", name)
    if kind == "any":
        return bool(bare) and _HOST.match(bare) is not None
    if kind == "below":
        return Wildcard.of(host).fits(name) and _HOST.match(bare) is not None
    fixed = host.partition(STAR)[0].removesuffix(":")
    return bool(fixed) and bare == fixed


def climbs(text: str, *, is_glob: bool) -> bool:
    """Whether *text* has ``..`` for a folder, at once or when it is decoded; or, a glob, may become one."""
    for _ in range(_MOST_DECODED):
        for part in _JOINTS.split(unquoted(text) if is_glob else text):
            if _UP.match(part) or (is_glob and part[:1] == "." and part != "." and fnmatchcase("..", part)):
                return True
        if "%" not in text:
            return False
        decoded = unquote(text)
        if decoded == text:
            return False
        text = decoded
    return True


def _in_git(text: str, word: str) -> bool:
    """Whether the path *text* of *word* leads into a repository's own folder, or may."""
    if type(word) is not Glob:
        return is_git(text)
    bare = unquoted(text)
    return is_git(bare) or any(one[:1] == "." and fnmatchcase(".git", one.lower()) for one in bare.split("/"))
