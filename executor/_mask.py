"""What is kept of a call: its arguments with secrets masked, and a digest of them that gives nothing away."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from executor._json import MAX_DEPTH, as_text, to_text
from executor._secret_names import hides, is_secret_name
from executor._secret_shapes import MASK, Words, mask_text

__all__ = ["LEAST", "MASK", "is_secret_name", "keyed_digest", "mask", "without_hidden"]

_KEY = os.urandom(32)
LEAST = 4  # characters of a value that is looked for elsewhere: shorter ones are in every text
_NAME = re.compile(r"[\w.-]{1,64}")


def mask(value: Any, secrets: frozenset[str] = frozenset()) -> Any:
    """
    A copy of *value* for records, with what is secret as ``***``.

    Secret is what stands under a name that means a secret, what has the shape of one wherever it stands (tokens of
    vendors, ``user:password@`` of a URL, ``--password x``, ``Authorization:`` …), and each of *secrets* anywhere.
    Never raises and never writes to *value*; what is no JSON becomes text.
    """
    # The longest first: a secret that holds another one is masked whole.
    return _mask(value, tuple(sorted(filter(None, secrets), key=len, reverse=True)), 0)


def _mask(value: Any, secrets: tuple[str, ...], depth: int) -> Any:
    if isinstance(value, str):
        return mask_text(_without(value, secrets))
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth > MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return {
            mask_text(_without(str(key), secrets)): MASK if hides(name, item) else _mask(item, secrets, depth + 1)
            for key, name, item in _named(value)
        }
    if isinstance(value, list | tuple | set | frozenset):
        if _is_hidden_pair(value):
            return [value[0], MASK]  # type: ignore[index]  # no set is one
        words = Words()  # any list may be a command line
        return [
            words.mask(_without(item, secrets)) if isinstance(item, str) else _mask(item, secrets, depth + 1)
            for item in value
        ]
    return _mask(as_text(value), secrets, depth)


def without_hidden(text: str, arguments: Any) -> str:
    """
    *text*, an error or a reason, without the values that `mask` hides in *arguments* for the names they stand under.

    Whoever is given a password may well repeat it, where no name says what it is.
    """
    hidden: set[str] = set()
    _note_hidden(arguments, hidden, 0, known=False)
    texts = {form for value in hidden if len(value) >= LEAST for form in (value, repr(value)[1:-1])}
    return _without(text, tuple(sorted(texts, key=len, reverse=True)))


def _note_hidden(value: Any, hidden: set[str], depth: int, *, known: bool) -> None:
    """Add the texts of *value* that stand under a name which hides them; *known*: all of them do."""
    if isinstance(value, str):
        if known:
            hidden.add(value)
        elif depth == 0 and "{" in value:  # arguments as a model API gives them
            with contextlib.suppress(ValueError, RecursionError):
                _note_hidden(json.loads(value), hidden, 1, known=False)
    elif isinstance(value, Mapping) and depth <= MAX_DEPTH:
        for _, name, item in _named(value):
            _note_hidden(item, hidden, depth + 1, known=known or hides(name, item))
    elif isinstance(value, list | tuple) and depth <= MAX_DEPTH:
        pair = _is_hidden_pair(value)
        for item in value[1:] if pair else value:
            _note_hidden(item, hidden, depth + 1, known=known or pair)


def _named(value: Mapping[Any, Any]) -> Iterator[tuple[Any, str, Any]]:
    """Key, name and value of each: of ``{"name": "Authorization", "value": …}``, a header, the name is that."""
    named = value.get("name", value.get("key"))
    for key, item in value.items():
        yield key, named if key == "value" and isinstance(named, str) else str(key), item


def _is_hidden_pair(value: Any) -> bool:
    """Whether it is a header, or a variable, as a pair, whose value is hidden."""
    return len(value) == 2 and isinstance(value, list | tuple) and _is_name(value[0]) and hides(*value)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _without(text: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, MASK)
    return text


def keyed_digest(arguments: Any) -> str:
    """
    HMAC-SHA256 of unmasked arguments, in hex, under a key that is made for this process and never leaves it.

    Records of one process with the same digest are of the same arguments. A plain SHA-256 would let whoever reads a
    record try passwords against it until one fits.
    """
    import hashlib  # 4 ms, wanted by records only
    import hmac

    try:
        text = json.dumps(arguments, sort_keys=True, ensure_ascii=True, default=as_text)
    except (ValueError, TypeError, RecursionError):  # keys of several types, cycles
        text = to_text(arguments)
    return hmac.new(_KEY, text.encode(), hashlib.sha256).hexdigest()
