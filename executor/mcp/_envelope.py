"""Answers that are nearly JSON-RPC: made such where it is plain what they say, so that whoever waits is not left so."""

from __future__ import annotations

import json
import re
from typing import Any

MOST_LOOKED_AT = 64 * 1024  # bytes of an answer over HTTP; what is longer is hardly a slip in an error
_INTERNAL, _PARSE = -32603, -32700
_UNREAD = "Failed to parse"  # as the SDK begins
_END = 80  # bytes
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,64}")')


def mended(told: Any) -> Any:
    """
    An answer as JSON-RPC has it: with its version, an error of code and message, a result that is an object.

    Raises:
        ValueError: It is no answer at all.
    """
    if not isinstance(told, dict) or "method" in told or told.get("id") is None:
        raise ValueError("no answer")
    number = told["id"] if isinstance(told["id"], int | str) else str(told["id"])
    if told.get("error") is not None:
        return {"jsonrpc": "2.0", "id": number, "error": _error(told["error"])}
    if "result" not in told:
        error = {"code": _PARSE, "message": f"{_UNREAD}: the answer has neither a result nor an error"}
        return {"jsonrpc": "2.0", "id": number, "error": error}
    result = told["result"]
    return {"jsonrpc": "2.0", "id": number, "result": result if isinstance(result, dict) else {"content": result}}


def unreadable(line: bytes, why: str) -> dict[str, Any]:
    """
    The answer that stands for one that nobody can read, so that whoever waits for it is not left so.

    Raises:
        ValueError: It is not known whose answer it was.
    """
    ends = line[:_END] + b" " + line[-_END:]  # where the id is written, before or after what is long
    found = _ID.search(ends) if b'"jsonrpc"' in ends and b'"method"' not in ends else None
    if found is None:
        raise ValueError(why)
    return {"jsonrpc": "2.0", "id": json.loads(found[1]), "error": {"code": _PARSE, "message": f"{_UNREAD}: {why}"}}


def _error(error: Any) -> dict[str, Any]:
    parts = error if isinstance(error, dict) else {"message": error}
    code, message = parts.get("code"), parts.get("message")
    if not isinstance(code, int) or isinstance(code, bool):
        if code is not None:
            message = f"{message if isinstance(message, str) else json.dumps(message)} ({code})"
        code = _INTERNAL
    said = message if isinstance(message, str) else json.dumps(error if message is None else message)
    return {"code": code, "message": said, **({"data": parts["data"]} if "data" in parts else {})}


def addressed(body: bytes, asked: Any) -> bytes:
    """
    The body of a response over HTTP, which answers the request with the id *asked*, whatever id it bears.

    One that bears another request's becomes an error: it must not be taken for the answer to that one.
    """
    if asked is None or len(body) > MOST_LOOKED_AT:
        return body
    try:
        told = json.loads(body)
        if isinstance(told, list) and len(told) == 1:
            told = told[0]
        if isinstance(told, dict) and "method" not in told:
            if told.get("id") is None:
                told["id"] = asked
            elif str(told["id"]) != str(asked):
                error = {"code": _PARSE, "message": f"{_UNREAD}: the answer bears the id of another request"}
                told = {"id": asked, "error": error}
        return json.dumps(mended(told)).encode()
    except (ValueError, RecursionError):
        return body  # the SDK says what is wrong with it
