"""Whom a request is from that no parser takes: nested too deeply, with half a character or an endless number in it."""

from __future__ import annotations

import json
import re

LONGEST_ID = 200  # characters; a longer one is nobody's
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
_NUMBER = re.compile(rb"-?\d{1,18}")


def request_id(line: bytes) -> str | int | None:
    """
    The id of the request that this line was meant to be; None: it is none, or nobody could be told.

    Only what stands in the outermost object counts: arguments may have an ``id`` too. Each byte is looked at once.
    """
    depth, before, key = 0, b"", b""
    told: dict[bytes, bytes] = {}
    for match in _TOKEN.finditer(line):
        token = match[0]
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            depth -= 1
        elif depth == 1 and token == b":":
            key = before
        elif depth == 1 and key and token != b",":
            told[key], key = token, b""
        if depth == 1 and token == b",":
            key = b""
        if depth <= 0:
            break
        before = token
    is_request = line.lstrip().startswith(b"{") and told.get(b'"method"', b"").startswith(b'"')
    return _read(told.get(b'"id"', b"")) if is_request else None


def _read(token: bytes) -> str | int | None:
    if _NUMBER.fullmatch(token):
        return int(token)
    if not token.startswith(b'"') or len(token) > LONGEST_ID:
        return None
    try:
        text = str(json.loads(token))
        text.encode()
    except ValueError:
        return None
    return text
