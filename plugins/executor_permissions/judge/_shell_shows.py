"""Programs that show files that nobody names to them: servers of a folder, and those that read some by themselves."""

# ruff: noqa: SIM905 -- lines of words
from __future__ import annotations

from typing import NamedTuple

from executor_permissions.judge._words import Suffix


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
SHOWING = frozenset({*_SERVERS, *_READERS, *_FETCHED})


def shown_by(program: str, words: list[str]) -> Shown | None:
    """What *program*, one of `SHOWING`, shows if it is given *words*; None if it shows nothing."""
    if program in _FETCHED:
        at = next((i for i in range(1, len(words)) if words[i][:1] != "-"), len(words) - 1)
        name = words[at].partition("@")[0]
        return _served(name, words[at:]) if name in _SERVERS else None
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
