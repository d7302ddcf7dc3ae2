"""What is kept of a call: its arguments with secrets masked, and a digest of them that gives nothing away."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from executor._json import MAX_DEPTH, as_text, to_text
from executor._secret_names import hides, is_secret_name
from executor._secret_shapes import MASK, Words, mask_text

__all__ = ["MASK", "is_secret_name", "keyed_digest", "mask"]

_KEY = os.urandom(32)
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
        named = value.get("name", value.get("key"))  # {"name": "Authorization", "value": …}: headers, variables
        names = {"value": named} if isinstance(named, str) else {}
        return {
            mask_text(_without(str(key), secrets)): MASK
            if hides(names.get(key, str(key)), item)
            else _mask(item, secrets, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        if len(value) == 2 and isinstance(value, list | tuple) and _is_name(value[0]) and hides(*value):
            return [value[0], MASK]  # a header, or a variable, as a pair
        words = Words()  # any list may be a command line
        return [
            words.mask(_without(item, secrets)) if isinstance(item, str) else _mask(item, secrets, depth + 1)
            for item in value
        ]
    return _mask(as_text(value), secrets, depth)


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
