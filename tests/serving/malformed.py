"""Messages that are almost MCP: the same ones for the same seed."""

from __future__ import annotations

import json
import random

METHODS = [
    "initialize", "server/discover", "ping", "tools/list", "tools/call", "resources/read", "resources/list",
    "resources/templates/list", "resources/subscribe", "tasks/get", "tasks/update", "tasks/cancel",
    "logging/setLevel", "subscriptions/listen", "completion/complete", "prompts/get", "prompts/list",
    "notifications/cancelled", "notifications/progress", "notifications/initialized", "nothing", "", "\x00",
]  # fmt: skip
KEYS = [
    "name", "arguments", "uri", "taskId", "cursor", "level", "_meta", "requestState", "inputResponses", "requestId",
    "protocolVersion", "capabilities", "clientInfo", "progressToken", "ref", "argument", "notifications",
]  # fmt: skip
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
ODD = [
    None, True, False, 0, -1, 2**63, 10**400, 1e308, "", "x" * 300, "\x00", "\u202e", "add", "task://x/output", [], {},
    [[]], {"a": 1, "b": 2}, ["add"], META, "2026-07-28", float("nan"), float("inf"), "\\ud800", {"": {"": {}}},
]  # fmt: skip


def messages(seed, count):
    """*count* lines."""
    chance = random.Random(seed)
    for _ in range(count):
        yield _line(chance)


def _line(chance):
    message = {
        "jsonrpc": "2.0",
        "id": chance.choice([chance.randrange(10**6), "a", *ODD]),
        "method": _of(chance, METHODS),
    }
    if chance.random() < 0.9:
        params = {chance.choice(KEYS): _value(chance) for _ in range(chance.randrange(5))}
        if chance.random() < 0.6:
            odd = {chance.choice([*META, *KEYS]): _value(chance)} if chance.random() < 0.3 else {}
            params["_meta"] = {**META, **odd}
        message["params"] = params if chance.random() < 0.9 else _value(chance)
    for key in list(message):
        if chance.random() < 0.05:
            del message[key]
    line = json.dumps(message if chance.random() < 0.97 else [message] * chance.randrange(3)).encode()
    return _damaged(chance, line.replace(b"\\\\ud800", b"\\ud800"))


def _of(chance, choices):
    return chance.choice(choices) if chance.random() < 0.95 else _value(chance)


def _value(chance, depth=0):
    if depth < 3 and chance.random() < 0.3:
        return {chance.choice(KEYS): _value(chance, depth + 1) for _ in range(chance.randrange(3))}
    return chance.choice(ODD)


def _damaged(chance, line):
    kind = chance.random()
    if kind < 0.75:
        return line
    if kind < 0.85:
        at = chance.randrange(len(line))
        changed = line[:at] + bytes([chance.randrange(256)]) + line[at + 1 :]
    elif kind < 0.93:
        changed = line[: chance.randrange(len(line))]
    elif kind < 0.96:
        changed = line + line
    elif kind < 0.98:
        depth = chance.randrange(5000)
        changed = b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": ' + b"[" * depth + b"]" * depth + b"}"
    else:
        changed = bytes(chance.randrange(256) for _ in range(chance.randrange(200)))
    return changed.replace(b"\n", b" ")
