"""
Names for what several servers offer, kept apart: the first keeps a name, another one's is changed, and can be told.

A name stays its owner's as long as the owner lists it: a server that answers late, or lists what another one has,
takes nothing away.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

OURS = ("task", "result", "mcp")  # schemes of documents whose names are ours to give
LONGEST_URI = 2000
LONGEST_NAME = 128
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_PREFIX = re.compile(r"mcp://([^/]+)/(.+)", re.DOTALL)
_VARIABLE = re.compile(r"\{[^{}]*\}")
_ODD = re.compile(r"[^A-Za-z0-9_.-]+")
_VISIBLE = "".join(chr(code) for code in range(0x21, 0x7F))


class Rule(Protocol):
    """How names of one kind are made."""

    def fits(self, name: str) -> bool:
        """Whether a client can be told of it as it is."""
        ...

    def other(self, server: str, name: str) -> str:
        """What it is called where it does not fit, or is taken."""
        ...


class Uris:
    """Names of documents, and templates of such names: another one is ``mcp://SERVER/`` before the name itself."""

    def fits(self, name: str) -> bool:
        scheme = _SCHEME.match(name)
        printable = name.isprintable() and " " not in name
        return scheme is not None and scheme[1].lower() not in OURS and printable and len(name) <= LONGEST_URI

    def other(self, server: str, name: str) -> str:
        own = name if name.isprintable() and " " not in name else quote(name, safe=_VISIBLE, errors="replace")
        return f"mcp://{quote(server, safe='')}/{own}"


class Titles:
    """Names of prompts: another one is ``SERVER__NAME``, with a hash where that says less."""

    def fits(self, name: str) -> bool:
        return name.isprintable() and name == name.strip() and 0 < len(name) <= LONGEST_NAME

    def other(self, server: str, name: str) -> str:
        clean = f"{_ODD.sub('_', server)}__{_ODD.sub('_', name)}"
        if clean == f"{server}__{name}" and len(clean) <= LONGEST_NAME:
            return clean
        digest = hashlib.sha256(f"{server}\0{name}".encode("utf-8", "replace")).hexdigest()[:8]
        return f"{clean[: LONGEST_NAME - 9]}_{digest}"


class Names:
    """The names of what is listed now."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._owners: dict[str, tuple[str, str]] = {}
        self._given: dict[tuple[str, str], str] = {}

    def assign(
        self,
        listed: Iterable[tuple[str, str]],
        taken: Container[str] = (),
        claimed: Callable[[str, str], bool] = lambda _server, _name: False,
    ) -> None:
        """
        Give each its name.

        Args:
            listed: Server and name of each, the first first.
            taken: Names that are somebody else's altogether.
            claimed: Whether a name, were it the one of this server, could be meant for another one.
        """
        given: dict[tuple[str, str], str] = {}
        owners: dict[str, tuple[str, str]] = {}

        def give(owner: tuple[str, str], name: str) -> None:
            given[owner], owners[name] = name, owner

        wanted = list(dict.fromkeys(listed))
        for owner in wanted:
            before = self._given.get(owner)
            if before is not None and before not in taken:
                give(owner, before)
        for owner in wanted:
            if owner not in given:
                server, name = owner
                free = self._rule.fits(name) and name not in owners and name not in taken and not claimed(server, name)
                name = name if free else self._rule.other(server, name)
                if name not in owners and name not in taken:  # else it is left out: it would be taken for another
                    give(owner, name)
        self._given, self._owners = given, owners

    def of(self, server: str, name: str) -> str | None:
        """What clients are told, or None where it is left out."""
        return self._given.get((server, name))

    def owner(self, name: str) -> tuple[str, str] | None:
        """The server that is meant, and its own name for it."""
        return self._owners.get(name)

    @property
    def owners(self) -> Mapping[str, tuple[str, str]]:
        """By name: the server, and its own name."""
        return self._owners


def spelled_out(uri: str) -> tuple[str, str] | None:
    """The server and its document that ``mcp://SERVER/…`` names, listed or not."""
    found = _PREFIX.fullmatch(uri)
    return (unquote(found[1]), found[2]) if found is not None else None


def matches(template: str, uri: str) -> bool:
    """Whether *uri* could be made of the template; in a time that is linear, whatever somebody has written there."""
    first, *rest = _VARIABLE.split(template)
    if not rest:
        return uri == template
    if not uri.startswith(first) or len(uri) < len(first) + len(rest[-1]) or not uri.endswith(rest[-1]):
        return False
    at, end = len(first), len(uri) - len(rest[-1])
    for literal in rest[:-1]:
        found = uri.find(literal, at, end)
        if found < 0:
            return False
        at = found + len(literal)
    return True
