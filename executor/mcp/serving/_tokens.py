"""The tokens by which requests over HTTP say who sends them: the server's side, and the client's."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from typing import TYPE_CHECKING

from executor.ownfiles import keep_own
from executor.ownfolders import make_private

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9_.@-]{1,64}")
_SHORTEST = 16  # characters of a token


class Tokens:
    """
    Who may call, by the token that a request bears.

    Args:
        by_token: The names of principals by their tokens.

    Raises:
        ValueError: A name is malformed, or a token could be guessed.
    """

    def __init__(self, by_token: Mapping[str, str]) -> None:
        for token, name in by_token.items():
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no name of a principal: use letters, digits and _ . @ -")
            if len(token) < _SHORTEST:
                raise ValueError(f"the token of {name} is shorter than {_SHORTEST} characters: it could be guessed")
        self._names = {_digest(token): name for token, name in by_token.items()}

    @classmethod
    def of_file(cls, path: Path) -> Tokens:
        """
        The tokens of a file of lines ``name:token``; a file that does not exist is made, with a token for ``local``.

        Raises:
            ValueError: It says something else, or others can read it.
            OSError: It cannot be read or made.
        """
        keep_own(path)
        if not path.exists():
            make_private(path.parent)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
                file.write(f"local:{secrets.token_urlsafe(32)}\n")
        return cls(_read(path))

    def principal(self, header: str | None) -> str | None:
        """Whose token an ``Authorization`` header bears; None for nobody's."""
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        given, found = _digest(token.strip()), None
        for digest, name in self._names.items():  # all of them: the time it takes says nothing of any
            if hmac.compare_digest(digest, given):
                found = name
        return found


def token_of(path: Path, name: str | None) -> str:
    """
    The token of a file by which a client calls: that of *name*, or the first.

    Raises:
        ValueError: The file says something else, others can read it, or it has no such name.
        OSError: It cannot be read.
    """
    found = _read(path)
    token = next((token for token, whose in found.items() if name in (None, whose)), None)
    if token is None:
        raise ValueError(f"{path}: there is no token of {name}: it has {', '.join(sorted(set(found.values())))}")
    return token


def _read(path: Path) -> dict[str, str]:
    """Names by tokens."""
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise ValueError(f"{path}: others can read it: run 'chmod 600 {path}'")
    found: dict[str, str] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        name, colon, token = line.strip().partition(":")
        if not name or name.startswith("#"):
            continue
        name, token = name.strip(), token.strip()
        if not colon or not token:
            raise ValueError(f"{path}:{number}: write name:token")
        if found.setdefault(token, name) != name:  # whoever calls would be the last of them
            raise ValueError(f"{path}:{number}: {name} has the token of {found[token]}: make another one")
    if not found:
        raise ValueError(f"{path}: there is no token in it: write lines name:token")
    return found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
