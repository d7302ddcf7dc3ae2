"""
Secrets in the clear in entries of servers: found wherever they stand, and replaced by variables.

Beside the shapes and names that are secret anywhere, an entry of a server has places where nearly every value is one:
behind ``--key``, in a header, in the query of a URL. What looks drawn at random is a secret there, and in a place whose
name says nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

from executor._mask import MASK, is_secret_name, mask
from executor._secret_names import hides
from executor._secret_shapes import Words, mask_text

if TYPE_CHECKING:
    from collections.abc import Container

Path: TypeAlias = "tuple[str | int, ...]"
Span: TypeAlias = "tuple[int, int]"

URLS = ("url", "httpUrl", "serverUrl")
_VARIABLE = re.compile(r"\$\{[^{}]*\}|\$\{\{[^{}]*\}\}")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|Digest|ApiKey)\s+", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_TOKEN = re.compile(r"[A-Za-z0-9_~+=.-]{12,}|[A-Za-z0-9+/]{24,}={0,2}")
_ALNUM = re.compile(r"[A-Za-z0-9]+")
_PLACE = re.compile(r"(?:[.~]{0,2}/|[A-Za-z]:\\|file:)")
_PAIR = re.compile(r"[?&]([^=&#\s]+)=([^&#\s]+)")
_USER = re.compile(r"://([^/@:\s]+)@")
_NAMED = re.compile(r"([A-Za-z_][\w.-]*)\s?[=:]\s?(.+)", re.DOTALL)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

_KEYS = frozenset({"key", "keys", "pat", "pin", "sas", "sig", "signature", "auth", "dsn", "sid", "webhook", "license"})
# What these name is drawn at random too, and is no secret.
# fmt: off  -- a word list, read by the line
_KNOWN = frozenset(
    {
        "id",
        "ids",
        "tenant",
        "project",
        "org",
        "organization",
        "organisation",
        "account",
        "workspace",
        "team",
        "region",
        "host",
        "path",
        "dir",
        "directory",
        "file",
        "folder",
        "root",
        "name",
        "version",
        "model",
        "package",
        "image",
        "commit",
        "sha",
        "digest",
        "checksum",
        "public",
        "username",
        "email",
        "locale",
    }
)
# fmt: on
# fmt: off
_PLAIN_HEADERS = frozenset({
    "accept", "accept-encoding", "accept-language", "cache-control", "content-type", "user-agent", "origin", "referer",
    "host",
})
# fmt: on
_PLAIN_WORD = re.compile(r"(?:true|false|none|null|yes|no|on|off|auto|[a-z]{1,12}|\d{1,9}(?:\.\d+)?)", re.IGNORECASE)
_RANDOM_LETTERS = 12  # of a piece between separators, that looks drawn at random


@dataclass(frozen=True, slots=True)
class Secret:
    """
    A value with secrets in it.

    Attributes:
        path: Where it stands.
        spans: Which parts of it are secret.
        key: What it is called.
    """

    path: Path
    spans: tuple[Span, ...]
    key: str

    @property
    def place(self) -> str:
        """Where it stands, in words: ``env.TOKEN``, ``args[2]``."""
        told = "".join(f"[{step}]" if isinstance(step, int) else f".{mask_text(step)}" for step in self.path)
        return told.lstrip(".")


def secrets_of(entry: object) -> list[Secret]:
    """Every value of an entry that has secrets in the clear."""
    if not isinstance(entry, Mapping):
        return []
    found = []
    for path, key, spans in _looked_at(entry):
        if spans:
            found.append(Secret(path, tuple(spans), key))
    return found


def without_secrets(
    name: str, entry: Mapping[str, Any], taken: Container[str] = frozenset()
) -> tuple[dict[str, Any], list[str]]:
    """
    A copy of *entry* with a ``${VARIABLE}`` in place of each secret, and the names of the variables to be set.

    Args:
        name: The server's.
        taken: Names that stand for other servers' secrets.
    """
    copy: dict[str, Any] = json.loads(json.dumps(entry))
    names: list[str] = []
    for secret in secrets_of(entry):
        text = _at(copy, secret.path)
        for start, end in reversed(secret.spans):
            variable = _variable(name, secret, taken, names)
            names.append(variable)
            text = f"{text[:start]}${{{variable}}}{text[end:]}"
        _set(copy, secret.path, text)
    return copy, names


def masked(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of *entry* to be shown: every value of ``env`` and ``headers``, and whatever else is secret, hidden."""
    copy: dict[str, Any] = json.loads(json.dumps(entry, default=str))
    for secret in secrets_of(copy):
        text = _at(copy, secret.path)
        for start, end in reversed(secret.spans):
            text = f"{text[:start]}{MASK}{text[end:]}"
        _set(copy, secret.path, text)
    for key in ("env", "headers"):
        if isinstance(copy.get(key), dict):
            copy[key] = {mask_text(name): _hidden(value) for name, value in copy[key].items()}
    for key in URLS:
        if isinstance(copy.get(key), str):
            copy[key] = re.sub(r"//[^/@]*@", f"//{MASK}@", copy[key]).partition("?")[0]
    shown: dict[str, Any] = {}
    for key, value in copy.items():
        shown.update({key: value} if key in ("env", "headers", "args", *URLS) else mask({key: value}))
    return shown


def _hidden(value: Any) -> Any:
    """Only references to variables are shown."""
    return value if isinstance(value, str) and _VARIABLE.search(value) and not _left(value) else MASK


def _left(value: str) -> str:
    """What is left of a value without its references and the scheme in front."""
    return _SCHEME.sub("", _VARIABLE.sub("", value)).strip()


# Where secrets stand ---------------------------------------------------------------------------------------------


def _looked_at(entry: Mapping[str, Any]) -> Iterator[tuple[Path, str, list[Span]]]:
    for key, value in entry.items():
        if key == "description":
            if isinstance(value, str):
                yield (key,), key, _merged(value, _difference(value, mask_text(value)))
        elif key in ("headers", "http_headers") and isinstance(value, Mapping):
            for name, item in value.items():
                if isinstance(item, str):
                    yield (key, name), str(name), _header(str(name), item)
        else:
            yield from _nested((key,), key, value)


def _nested(path: Path, name: str, value: Any) -> Iterator[tuple[Path, str, list[Span]]]:
    if isinstance(value, str):
        # The names of an entry's own keys say what an entry has, not whose secret a text is.
        yield path, name, _spans(value, name if len(path) > 1 or is_secret_name(name) else "")
    elif isinstance(value, Mapping):
        named = value.get("name", value.get("key"))  # {"name": "TOKEN", "value": …}: variables, headers
        for key, item in value.items():
            own = named if key == "value" and isinstance(named, str) else str(key)
            yield from _nested((*path, str(key)), own, item)
    elif isinstance(value, list):
        if path == ("args",) or all(isinstance(item, str) for item in value):
            yield from _arguments(path, value)  # any list of texts may be a command line
        else:
            for index, item in enumerate(value):
                yield from _nested((*path, index), name, item)
    elif _is_number(value):
        yield path, name, _of_number(name, value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _of_number(name: str, value: float) -> list[Span]:
    """All of a number that stands where a secret does: counts and ports do not."""
    return [(0, len(str(value)))] if hides(name, value) or _is_pin(name) else []


def _arguments(path: Path, words: list[Any]) -> Iterator[tuple[Path, str, list[Span]]]:
    masker, before = Words(), ""
    for index, given in enumerate(words):
        word = str(given) if _is_number(given) else given
        if not isinstance(word, str):
            yield from _nested((*path, index), before or "ARG", word)
            before = ""
            continue
        key, spans = _argument(word, before)
        spans += _difference(word, masker.mask(word))
        yield (*path, index), key or "ARG", _merged(word, spans)
        before = word.lstrip("-") if word.startswith("-") and "=" not in word else ""


def _argument(word: str, before: str) -> tuple[str, list[Span]]:
    """The name of a word of a command line, and what of it is secret."""
    named = _NAMED.fullmatch(word.lstrip("-")) if "://" not in word.partition("=")[0] else None
    if named is None:
        flag = before if before and not word.startswith("-") else ""
        return flag, _spans(word, flag)
    name, value = named.groups()
    start = len(word) - len(value)
    in_header = before in ("H", "header") or word.lower().startswith(("--header=", "-h="))
    if in_header and (inner := _NAMED.fullmatch(value)) and before not in ("H", "header"):
        name, value = inner.groups()
        start = len(word) - len(value)
    found = _header(name, value) if in_header else _spans(value, name)
    return name, [(start + first, start + last) for first, last in found]


def _header(name: str, value: str) -> list[Span]:
    if name.lower() in _PLAIN_HEADERS or name.lower().endswith("version"):
        return _merged(value, _difference(value, mask_text(value)))
    left = _left(value)
    mixed = len(left) >= 8 and any(char.isdigit() for char in left) and any(char.isalpha() for char in left)
    is_key = _is_key(name, left) or "key" in _words(name)
    if left and (mixed or is_key or _SCHEME.match(value)):
        return _whole(value)
    return _spans(value, name)


def _spans(text: str, name: str) -> list[Span]:
    """What of a value is secret."""
    left = _left(text)
    if not left:
        return []
    if _is_key(name, left):
        return _whole(text)
    found = _difference(text, mask_text(text))
    if "://" in text:
        found += _of_url(text)
    elif not _PLACE.match(text) and not _names_no_secret(name):
        found += [token.span() for token in _TOKEN.finditer(text) if looks_random(token[0])]
    return _merged(text, found)


def _is_key(name: str, value: str) -> bool:
    """Whether its name says that a value is a secret."""
    if is_secret_name(name) or hides(name, value) or (_is_pin(name) and value.isdigit()):
        return True
    words = _words(name)
    if not words & _KEYS or words & _KNOWN or _PLACE.match(value) or "://" in value:
        return False
    return not _PLAIN_WORD.fullmatch(value) or ("key" in words and any(char.isdigit() for char in value))


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)}


def _is_pin(name: str) -> bool:
    return "pin" in _words(name)


def _names_no_secret(name: str) -> bool:
    return bool(_words(name) & _KNOWN)


def _of_url(text: str) -> list[Span]:
    found = [user.span(1) for user in _USER.finditer(text)]
    for pair in _PAIR.finditer(text):
        name, value = unquote(pair[1]), unquote(pair[2])
        if _is_key(name, value) or (looks_random(value) and not _names_no_secret(name)):
            found.append(pair.span(2))
    place = text.partition("?")[0]
    start = place.find("://") + 3
    return found + [
        (start + part.start(), start + part.end())
        for part in re.finditer(r"[^/@:]+", place[start:])
        if part.start() and looks_random(part[0])
    ]


def looks_random(text: str) -> bool:
    """Whether a text looks drawn at random, not written by a person: a key, a hash, a UUID."""
    if _UUID.fullmatch(text):
        return True
    pieces = _ALNUM.findall(text)
    longest = max(pieces, key=len, default="")
    whole = "".join(pieces)
    if len(longest) >= _RANDOM_LETTERS and _is_mixed(longest):
        return True
    return len(whole) >= 24 and len(pieces) <= 1 + len(whole) // 8 and _is_mixed(whole)


def _is_mixed(piece: str) -> bool:
    digits = sum(char.isdigit() for char in piece)
    letters = len(piece) - digits
    if letters < 2 or (digits < 2 and not (piece != piece.lower() and piece != piece.upper() and len(piece) >= 20)):
        return False
    kinds = ["1" if char.isdigit() else "A" if char.isupper() else "a" for char in piece]
    changes = sum(one != other and one + other != "Aa" for one, other in pairwise(kinds))
    return changes >= 0.2 * (len(kinds) - 1)


# Where they begin and end ----------------------------------------------------------------------------------------


def _whole(text: str) -> list[Span]:
    """All of a value but the scheme in front."""
    scheme = _SCHEME.match(text)
    return [(scheme.end() if scheme else 0, len(text))]


def _difference(text: str, shown: str) -> list[Span]:
    """Which parts of *text* are `MASK` in *shown*."""
    if shown == text:
        return []
    found, at = [], 0
    kept = shown.split(MASK)
    for index, piece in enumerate(kept):
        last = index == len(kept) - 1
        start = (len(text) - len(piece) if last else text.find(piece, at)) if piece or last else at
        if start < at or (index == 0 and start != 0):
            return [(0, len(text))]  # it cannot be told which: all of it
        if index:
            found.append((at, start))
        at = start + len(piece)
    return found


def _merged(text: str, spans: list[Span]) -> list[Span]:
    """The spans in order, those that touch as one; what is a reference to a variable already is none."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if end <= start or not _left(text[start:end]):
            continue
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _at(entry: Any, path: Path) -> str:
    for step in path:
        entry = entry[step]
    return str(entry)


def _set(entry: Any, path: Path, text: str) -> None:
    for step in path[:-1]:
        entry = entry[step]
    entry[path[-1]] = text


def _variable(server: str, secret: Secret, taken: Container[str], own: list[str]) -> str:
    """The name of the variable: that of the process's own variable, else one with the server's name in it."""
    key = _as_name(mask_text(secret.key)) or "SECRET"
    wanted = key if secret.path[0] == "env" else _as_name(f"{server}_{key}")
    if wanted in taken or wanted in own:
        wanted = _as_name(f"{server}_{key}")
    name, number = wanted, 2
    while name in taken or name in own:
        name, number = f"{wanted}_{number}", number + 1
    return name


def _as_name(text: str) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").upper()
    return f"_{name}" if name[:1].isdigit() else name
