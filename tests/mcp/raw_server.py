"""
A server of the revision 2025-11-25 written without any SDK, so that it can misbehave in every way.

What it does wrong is named by its arguments; without any it behaves.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

WRONG = set(sys.argv[1:])
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = {
    name: {"name": name, "description": f"Tool {name}", "inputSchema": TEXT}
    for name in (
        "echo", "hang", "die", "ask", "grow", "log", "environment", "endless", "stop", "slow",
        "refuse", "give", "flood", "huge", "print",
    )
}  # fmt: skip
asking: dict[object, object] = {}
hanging: dict[object, str] = {}


def send(message: dict) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(number: object, text: str, **more: object) -> None:
    for line in (word.removeprefix("print=") for word in WRONG if word.startswith("print=")):
        print(line)
    result = {"content": [{"type": "text", "text": text}], **more}
    if "not-mcp" in WRONG:
        result = {"nothing": "of the kind"}
    send({"id": number, "result": result})


def tools() -> list:
    listed = list(TOOLS.values())
    if "bad-schema" in WRONG:
        listed += [{"name": "broken", "inputSchema": {}}, "no tool at all", {"name": "odd", "inputSchema": []}]
        listed.append({"name": "later", "inputSchema": TEXT, "execution": {"taskSupport": "required"}})
        listed.append({"name": "remote", "inputSchema": {"type": "object", "$ref": "http://example.org/s.json"}})
    more = Path(os.environ["TOOLS_FILE"]).read_text() if "TOOLS_FILE" in os.environ else "[]"
    return listed + json.loads(os.environ.get("MORE_TOOLS", more))


def call(number: object, name: str, arguments: dict) -> None:
    text = arguments.get("text", "")
    if name == "hang":
        hanging[number] = text
        Path(text).write_text("started")
    elif name == "die":
        sys.stderr.write("my last words\n")
        sys.stderr.flush()
        os.kill(os.getpid(), int(text))
    elif name == "ask":
        asking[f"ask-{number}"] = number
        form = {
            "type": "object",
            "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
            "required": ["colour"],
        }
        params = {"message": text, "requestedSchema": form}
        send({"id": f"ask-{number}", "method": "elicitation/create", "params": params})
    elif name == "grow":
        TOOLS[text] = {"name": text, "inputSchema": TEXT}
        send({"method": "notifications/tools/list_changed"})
        answer(number, "grown")
    elif name == "log":
        send({"method": "notifications/message", "params": {"level": "info", "data": text}})
        answer(number, "logged")
    elif name == "environment":
        answer(number, json.dumps(dict(os.environ)))
    elif name == "endless":
        while True:
            sys.stdout.write("x" * 1_000_000)
    elif name == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif name == "slow":
        select.select([], [], [], float(text))
        answer(number, "slept")
    elif name == "refuse":
        send({"id": number, "error": json.loads(text)})
    elif name == "give" or name not in TOOLS:
        send({"id": number, "result": json.loads(text)})
    elif name == "print":
        for line in text.replace("ID", str(number)).splitlines():
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    elif name == "huge":
        answer(number, "x" * int(text))
    elif name == "flood":
        answer(number, "it begins")
        news = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}})
        while True:
            sys.stdout.write((news + "\n") * 1000)
    elif "deep" in WRONG:
        nested = '{"not":' * 300_000 + "{}" + "}" * 300_000
        told = json.dumps({"result": {"content": [], "structuredContent": "?"}, "jsonrpc": "2.0", "id": number})
        print(told.replace('"?"', nested))
        sys.stdout.flush()
    elif "bad-utf8" in WRONG:
        told = json.dumps({"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": "a?b"}]}})
        sys.stdout.buffer.write(told.encode().replace(b"?", b"\xff") + b"\n")
        sys.stdout.buffer.flush()
    else:
        answer(number, text, structuredContent={"text": text, "pid": os.getpid()})


def handle(message: dict) -> None:
    method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
    if f"unanswered={method}" in WRONG:
        return
    if method == "initialize":
        offers = {"tools": {"listChanged": True}, "logging": {}, "prompts": {}, "resources": {}}
        info = {"name": "raw", "version": "1"}
        send({"id": number, "result": {"protocolVersion": "2025-11-25", "capabilities": offers, "serverInfo": info}})
    elif method == "tools/list" and "bad-list" in WRONG:
        send({"id": number, "result": {"tools": "none" * 1000, "nextCursor": ["x" * 1000]}})
    elif method == "tools/list" and "no-list" in WRONG:
        send({"id": number, "error": {"code": -32603, "message": "the list is locked"}})
    elif method == "tools/list":
        send({"id": number, "result": {"tools": tools()}})
    elif method == "resources/list" and "documents" in WRONG:
        send({"id": number, "result": {"resources": [{"uri": "memo://one", "name": "one"}]}})
    elif method == "tools/call":
        call(number, params["name"], params.get("arguments") or {})
    elif method == "notifications/cancelled":
        marker = hanging.pop(params.get("requestId"), None)
        if marker:
            Path(marker).write_text("cancelled")
    elif method is None and number in asking:
        told = message.get("result") or {"action": "error", "content": message.get("error")}
        answer(asking.pop(number), f"{told['action']}: {json.dumps(told.get('content'))}")
    elif number is not None and method is not None:
        send({"id": number, "error": {"code": -32601, "message": f"no {method} here"}})


def main() -> None:
    if "exit" in WRONG:
        sys.exit("cannot find my settings")
    if "noise" in WRONG:
        print("Welcome!\n{'not': 'json'}\n\n[1, 2", flush=True)
    if "stubborn" in WRONG:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "child" in WRONG:
        child = subprocess.Popen(["sleep", "60"])
        Path(os.environ["CHILD"]).write_text(str(child.pid))
    for line in sys.stdin:
        if "silent" not in WRONG:
            handle(json.loads(line))
        if "loud" in WRONG:
            sys.stderr.write("y" * 200_000 + "\n")
    if "stubborn" in WRONG:
        while True:
            signal.pause()


main()
