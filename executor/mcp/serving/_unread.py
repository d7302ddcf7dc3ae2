"""
What is answered to a line that is no message of MCP: whoever sent it may wait for an answer.

The request may be one that no parser takes: nested too deeply, with half a character or an endless number in it.
"""

from __future__ import annotations

import json
import re
from typing import Any

from executor.mcp._envelope import mended
from executor.mcp.serving._pipes import MAX_MESSAGE, TooLong

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
LONGEST_ID = 200  # characters; a longer one is nobody's
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
_NUMBER = re.compile(rb"-?\d{1,18}")


def message_of(line: bytes) -> dict[str, Any] | None:
    """
    The request, notification or answer that this line is; None: `refusal` says what is answered to it.

    An answer that is nearly one, or that cannot be read, is made one: a call may wait for it.
    """
    try:
        told = json.loads(line.decode()) if not isinstance(line, TooLong) else None
    except (ValueError, RecursionError):
        told = None
    if told is None:
        return _unread_answer(line)
    if not isinstance(told, dict):
        return None
    if _is_answer(told):
        return dict(mended(told)) if told.get("id") is not None else told
    is_request = isinstance(told.get("method"), str) and ("id" not in told or type(told["id"]) in (str, int))
    return told if is_request else None


def _unread_answer(line: bytes) -> dict[str, Any] | None:
    """The error that stands for an answer that cannot be read; None: it is none, or nobody knows to what."""
    told = _outermost(line)
    number = _read(told.get(b'"id"', b""))
    is_answer = b'"method"' not in told and (b'"result"' in told or b'"error"' in told)
    return _error(number, PARSE_ERROR, "its answer cannot be read") if is_answer and number is not None else None


def _is_answer(told: dict[str, Any]) -> bool:
    """With an id alone it is one, too: JSON leaves out a result that is undefined in JavaScript."""
    return "method" not in told and ("result" in told or "error" in told or {"id"} <= told.keys() <= {"jsonrpc", "id"})


def refusal(line: bytes, why: str = "This is no message of MCP") -> dict[str, Any] | None:
    """
    The error of JSON-RPC that answers a line; its id is None where the line has none that could be answered to.

    Args:
        why: What is wrong with a request in which nothing else is.

    Returns:
        None where nobody waits for an answer: it is a notification, or an answer itself.
    """
    number = request_id(line)
    if isinstance(line, TooLong):
        return _error(
            number, INVALID_REQUEST, f"This is more than can be taken: send at most {MAX_MESSAGE} bytes at once"
        )
    try:
        told = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        return _error(number, PARSE_ERROR, f"This is no JSON in UTF-8 that can be read: {error}")
    if isinstance(told, list):
        return _error(None, INVALID_REQUEST, "Batches are not taken: send each message in a line of its own")
    if not isinstance(told, dict):
        return _error(None, INVALID_REQUEST, "A message is a JSON object")
    if _is_answer(told):
        return None
    if "id" not in told:
        return None if isinstance(told.get("method"), str) else _error(None, INVALID_REQUEST, why)
    if type(told["id"]) not in (str, int):
        return _error(None, INVALID_REQUEST, "The id of a request is a text or a whole number")
    return _error(_read(json.dumps(told["id"]).encode()), INVALID_REQUEST, why)


def _error(number: str | int | None, code: int, why: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": why[:500]}}


def request_id(line: bytes) -> str | int | None:
    """The id of the request that this line was meant to be; None: it is none, or nobody could be told."""
    told = _outermost(line)
    return _read(told.get(b'"id"', b"")) if told.get(b'"method"', b"").startswith(b'"') else None


def _outermost(line: bytes) -> dict[bytes, bytes]:
    """
    The keys of the object that this line was meant to be, each with its value where that is a text, a number or a word.

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
            told[key] = b""
        elif depth == 1 and key and token != b",":
            told[key], key = token, b""
        if depth == 1 and token == b",":
            key = b""
        if depth <= 0:
            break
        before = token
    return told if line.lstrip().startswith(b"{") else {}


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
