"""Rules about paths, and what a path that somebody gives really is."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from executor import paths
from executor_permissions.judge.paths import _lexical
from executor_permissions.judge.paths._globs import ANY, STAR, TreeWildcard, escaped, literal, tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

# ruff: noqa: PTH111, PTH112, PTH114, PTH118 -- pathlib is ten times slower, and every path judged comes by here
LONGEST_PATH = 4096  # PATH_MAX of Linux: the system opens nothing longer
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/|file:", re.IGNORECASE)


class UnclearPathError(ValueError):
    """It cannot be told which file a value means."""


class Place(NamedTuple):
    """
    Where a path leads.

    Attributes:
        real: Without links, absolute.
        entry: The folder entry itself, when it is a link: what deleting and moving act on. Else the same as `real`.
        written: As written, made absolute, without ``..``; links are left.
    """

    real: str
    entry: str
    written: str


class Resolve(Protocol):
    """As ``CurrentCall.resolve_path``: each path is resolved once, for whoever judges it and whoever opens it."""

    def __call__(self, path: str, *, entry: bool = False) -> Path: ...


def locate(
    value: str, base: str, home: str, resolve: Resolve | None = None, known: dict[str, str] | None = None
) -> Place:
    """
    Where *value* leads from the folder *base*; *resolve* knows a relative path's start itself.

    *known* is as for `executor.paths.resolve`.

    Raises:
        UnclearPathError: It is empty, has characters that nobody sees, is a URL or a variable, or a circle of links.
    """
    if not value or _lexical.has_hidden_characters(value) or "\n" in value or _SCHEME.match(value) or value[0] == "$":
        raise UnclearPathError(f"{value!r} is no plain path")
    if "\\" in value:
        raise UnclearPathError(f"{value!r} has backslashes, which some programs take for folders")
    text = home + value[1:] if value == "~" or value.startswith("~/") else value
    try:
        if resolve is not None:
            return _located_once(value, base, resolve)
        real = str(paths.resolve(text, base=base, known=known))
        written = os.path.normpath(os.path.join(base, os.path.expanduser(text)))
        entry = str(paths.resolve_entry(text, base=base)) if os.path.islink(written) else real
    except (OSError, ValueError) as error:
        raise UnclearPathError(f"{value!r} cannot be resolved: {error}") from None
    return Place(real, entry, written)


def _located_once(value: str, base: str, resolve: Resolve) -> Place:
    written = os.path.normpath(os.path.join(base, os.path.expanduser(value)))
    return Place(str(resolve(value)), str(resolve(value, entry=True)), written)


def under(path: str, root: str) -> bool:
    """Whether *path* is *root* or below it; both absolute and resolved."""
    return path == root or path.startswith(root if root.endswith("/") else root + "/")


def followed(path: str, project: str, real: Callable[[str], str]) -> str:
    """
    Where *path* (absolute, without ``..``) of an allowing rule leads: as *real* says, or as it is written.

    Links in *project* may be anybody's: none of them leads out of it, or into a repository's own folder.
    """
    end = real(path)
    if under(end, project):
        return path if "/.git/" in end[len(project) :] + "/" and "/.git/" not in path + "/" else end
    above = path
    while len(above) > 1:
        above = above[: above.rfind("/")] or "/"
        if under(real(above), project):
            return path
    return end


class PathRule(NamedTuple):
    """
    A rule that names files.

    Attributes:
        root: The file or folder, resolved; for a glob the folder that has no wildcard in it.
        written: The same before links were resolved.
        subtree: Whether everything below belongs to it.
        glob: For rules with ``*``: what the whole path must fit.
        below: For those: what lies below such a path.
        pattern: Its text as an absolute path, in which what is escaped is any character.
        piece: For those with ``*``: what is in each path that it is about. Most paths do not have it.
        anywhere: For denying, of one that begins with ``**/``: what it is about outside of the project too.
        begins: Whether it is a beginning for denying: ``/home/me/.ssh/id_``. What ends in ``/`` or is a folder is none.
    """

    root: str
    written: str
    subtree: bool
    glob: TreeWildcard | None = None
    below: TreeWildcard | None = None
    begins: bool = False
    anywhere: tuple[TreeWildcard, ...] = ()
    pattern: str = ""
    piece: str = ""

    @classmethod
    def of(cls, text: str, base: str, home: str, *, allows: bool = False) -> PathRule:
        """
        The rule that *text* makes, a glob whose placeholders are replaced; relative ones start at *base*.

        One that *allows* follows links as `followed` does.

        Raises:
            ValueError: No file has such a name.
        """
        if text == "~" or text.startswith("~/"):
            text = escaped(home) + text[1:]
        absolute = text if text.startswith("/") else f"{escaped(base.rstrip('/'))}/{text}"
        pattern = absolute.replace("\\*", "?")
        plain = literal(absolute)
        if plain is not None:
            real = _led(plain, base, allows=allows)
            subtree = plain.endswith("/") or os.path.isdir(real)
            return cls(real, os.path.normpath(plain), subtree, begins=not subtree, pattern=pattern)
        before, rest = _split_fixed(absolute)
        real = _led(before, base, allows=allows)
        glob = f"{escaped(real.rstrip('/'))}/{rest.rstrip('/')}"
        everywhere = "/" + text.rstrip("/")
        anywhere = (TreeWildcard.of(everywhere), TreeWildcard.of(everywhere + "/**")) if text[:3] == "**/" else ()
        found = TreeWildcard.of(glob), TreeWildcard.of(glob + "/**")
        piece = _in_all((*found, *anywhere))
        return cls(real, before, text.endswith("/"), *found, anywhere=anywhere, pattern=pattern, piece=piece)

    def matches(self, path: str) -> bool:
        """Whether the rule is about *path* (absolute, resolved)."""
        if self.glob is None or self.below is None:
            return under(path, self.root) if self.subtree else path == self.root
        if not under(path, self.root):
            return False
        return self.glob.fits(path) or (self.subtree and self.below.fits(path))

    def catches(self, place: Place) -> bool:
        """For denying: whether it is about the path in any of its spellings, or about a folder that holds it."""
        return any(map(self._is_about, {place.real, place.entry, place.written}))

    def _is_about(self, path: str) -> bool:
        if any(glob.fits(path) for glob in self.anywhere):
            return True
        if self.below is not None:
            return self.matches(path) or (under(path, self.root) and self.below.fits(path))
        if self.begins:
            return path.startswith((self.root, self.written))
        return under(path, self.root) or under(path, self.written)

    def allows(self, place: Place) -> bool:
        """For allowing: whether both ends of a link are inside."""
        return self.matches(place.real) and (place.entry == place.real or self.matches(place.entry))


# Where the links of rules led to begin with: by the text of each, what that is relative to, and whether it allows.
Led: TypeAlias = dict[tuple[str, tuple[str, str], bool], PathRule]


def _led(path: str, base: str, *, allows: bool) -> str:
    """Where *path* of a rule leads, one for denying or one that *allows*."""
    try:
        if allows:
            return followed(os.path.normpath(path), base, lambda one: str(paths.resolve(one)))
        return str(paths.resolve(path))
    except OSError:  # links that run in a circle, which a project may bring: it is as if nothing were there
        return os.path.normpath(path)


def _in_all(globs: Sequence[TreeWildcard]) -> str:
    """What is in each text that one of *globs* fits: the end of the first, rather than the folder that it begins in."""
    for piece in reversed(globs[0].pieces):
        if all(any(piece in other for other in glob.pieces) for glob in globs):
            return piece
    return ""


def _split_fixed(glob: str) -> tuple[str, str]:
    """The folder in front of the first wildcard, taken literally, and the rest as a glob."""
    tokens = tokens_of(glob)
    slash = max(i for i, token in enumerate(tokens[: tokens.index(ANY)]) if token == "/")  # noqa: S105 -- a slash
    rest = "".join(STAR if token == ANY else escaped(token) for token in tokens[slash + 1 :])
    return "".join(tokens[:slash]) or "/", rest
