"""Programs that show files that nobody names to them: they serve a folder (``python -m http.server``), or find some."""

# ruff: noqa: SIM905 -- lines of words
from __future__ import annotations

import re
from typing import NamedTuple

from executor_permissions.judge.bash._words import Glob, Suffix


class Shown(NamedTuple):
    """
    What a program shows.

    Attributes:
        folders: Below which the files are.
        names: Patterns for their names; none if it may be any.
        does: What it does to them, for a person.
    """

    folders: list[str]
    names: tuple[str, ...]
    does: str


# Servers: a word without which they are none, and the options that name the folder, which is else among their operands.
_SERVERS: dict[str, tuple[str, frozenset[str]]] = {
    **dict.fromkeys(
        "http-server live-server static-server simple-http-server darkhttpd miniserve serve".split(), ("", frozenset())
    ),
    **dict.fromkeys("http.server pyftpdlib jwebserver".split(), ("", frozenset({"-d", "--directory"}))),
    "SimpleHTTPServer": ("", frozenset()),
    "caddy": ("file-server", frozenset({"-r", "--root"})),
    "php": ("-S", frozenset({"-t"})),
    "rclone": ("serve", frozenset()),
    "ruby": ("-run", frozenset()),
    "webfsd": ("", frozenset({"-r"})),
}
_FETCHED = frozenset("npx bunx pnpx".split())  # the program is the first word that is no option
# What prints files of its own accord: by words that it needs one of, those with which it tells only names, the files.
_COMPOSE = (
    frozenset({"config", "convert"}),
    frozenset("-q --quiet --services --volumes --networks --profiles".split()),
    (),
)
_STATE = (frozenset({"output", "show", "console", "pull"}), frozenset[str](), ("*.tfstate*", "*.tfvars*"))
_READERS: dict[str, tuple[frozenset[str], frozenset[str], tuple[str, ...]]] = {
    **dict.fromkeys("docker podman docker-compose podman-compose".split(), _COMPOSE),
    **dict.fromkeys(("terraform", "tofu"), _STATE),
    "direnv": (frozenset({"exec", "export", "dump"}), frozenset(), (".env*",)),
    "dotenv": (frozenset({"list", "get", "run", "--", "-p"}), frozenset(), (".env*",)),
    **dict.fromkeys(("foreman", "honcho"), (frozenset({"run"}), frozenset[str](), (".env*",))),
}
# They look for what fits a pattern themselves, below any number of folders and with a dot in front, too.
_MATCHING = frozenset("prettier eslint stylelint markdownlint markdownlint-cli2 cspell unzip zipinfo".split())
# They show lines of what has such a name below the folders that they are given.
_OF_NODE = ("*.*js*", "*.*ts*", "*.vue")
_OF_STYLE = ("*.*css", "*.less")
_OF_TEXT = ("*.m*d*",)
_CHECKING: dict[str, tuple[str, ...]] = {
    "prettier": (*_OF_NODE, *_OF_STYLE, *_OF_TEXT, "*.*htm*", "*.y*ml", "*.g*ql", "*.h*b*s"),
    "eslint": _OF_NODE,
    "stylelint": _OF_STYLE,
    **dict.fromkeys(("markdownlint", "markdownlint-cli2"), _OF_TEXT),
    **dict.fromkeys(
        "ruff black flake8 isort pyflakes pycodestyle pylint mypy autopep8 yapf".split(), ("*.py*", "*.ipynb")
    ),
}
_ALONE = frozenset("eslint ruff flake8 mypy".split())  # given none, they look at the one that they are in
_TELLING = frozenset("--version --help -V -h".split())
_PATTERN = re.compile(r"[*?\[{(]")
_CLASS = re.compile(r"\[[^\]]*\]")
_CHOICE = re.compile(r"\{([^{}/]*)\}")  # *.{js,ts}
_UNREAD = frozenset("\\[]{}()")
_MOST_NAMES = 50
SHOWING = frozenset({*_SERVERS, *_READERS, *_FETCHED, *_MATCHING, *_CHECKING})


def shown_by(program: str, words: list[str]) -> Shown | None:
    """What *program*, one of `SHOWING`, shows if it is given *words*; None if it shows nothing."""
    if program in _FETCHED:
        at = next((i for i in range(1, len(words)) if words[i][:1] != "-"), len(words) - 1)
        name = words[at].partition("@")[0]
        if name in _MATCHING:
            return _matched(name, words[at + 1 :])
        return _served(name, words[at:]) if name in _SERVERS else None
    if program in _MATCHING or program in _CHECKING:
        return _matched(program, words[1:])
    if program in _SERVERS:
        return None if type(words) is Suffix and program == "serve" else _served(program, words)
    needed, telling, names = _READERS[program]
    given = words[1:]
    if program in ("docker", "podman") and "compose" not in given:
        return None
    shows = not needed.isdisjoint(given) and telling.isdisjoint(given)
    return Shown(["."], names, "shows") if shows else None


def _served(program: str, words: list[str]) -> Shown | None:
    needed, options = _SERVERS[program]
    if needed and not any(word.startswith(needed) for word in words[1:]):
        return None
    named = [words[i + 1] for i in range(len(words) - 1) if words[i] in options]
    named += [value for name, equals, value in (word.partition("=") for word in words) if equals and name in options]
    if not named and not options:
        named = [word for word in words[1:] if word[:1] != "-" and not word.isdigit() and word not in (needed, "httpd")]
    return Shown(named or ["."], (), "hands out")


def _matched(program: str, given: list[str]) -> Shown | None:
    """What *program* looks at: of the folders that it is *given*, and of patterns those that they begin with."""
    below = _CHECKING.get(program, ())
    if program == "ruff":
        at = next((i for i, word in enumerate(given) if word in ("check", "format")), None)
        if at is None:
            return None
        given = given[at + 1 :]
    if any(word.startswith("--parser") for word in given):  # prettier: how to read whatever is in a folder
        below = ("*",)
    words = [word for word in given if word[:1] != "-" and type(word) in (str, Glob)]
    if program in ("unzip", "zipinfo"):
        del words[1:]  # what is in the archive
    if program in _ALONE and _TELLING.isdisjoint(given) and all(word[:1] == "-" for word in given):
        return Shown(["."], below, "looks at")
    folders: list[str] = []
    names: list[str] = []
    for word in words:
        found = _PATTERN.search(word) if program in _MATCHING else None
        if word[:1] == "!" and word[1:2] != "(":
            continue  # left out
        if found is not None:
            start, slash, _ = word[: found.start()].rpartition("/")
            folders.append(start or slash or ".")
            names += _names_of(word.rpartition("/")[2])
        elif below:
            folders.append(word)
            names += below
    return Shown(folders, tuple(names), "looks at") if folders else None


def _names_of(pattern: str) -> list[str]:
    """The patterns that *pattern* chooses between; any name if it is not plain which these are."""
    names = [_CLASS.sub("?", pattern)]
    while (choice := _CHOICE.search(names[0])) and len(names) <= _MOST_NAMES:
        first = names.pop(0)
        names += [first[: choice.start()] + one + first[choice.end() :] for one in choice[1].split(",")]
    plain = all(name and _UNREAD.isdisjoint(name) for name in names)
    return names if plain else ["*"]
