"""
A model server on loopback that says what a script has it say, in the wire formats of three vendors, always streamed.

It speaks OpenAI's chat completions, Anthropic's Messages and Gemini's generateContent, and refuses what they refuse: a
call without its answer, an answer without its call, a signature that was not sent back. To try an example by hand, run
this file: it prints what to set, and has one conversation again and again.
"""

from __future__ import annotations

import base64
import itertools
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HELD = 20.0  # seconds after which a script that waits for an event goes on all the same: its test has failed


@dataclass(frozen=True)
class Call:
    """The model wants a tool."""

    name: str
    arguments: dict = field(default_factory=dict)


class Refused(Exception):
    """What is sent with status 400."""


class ModelServer:
    """
    Args:
        script: The replies, in order. Each is a list of texts, `Call`s, and events that are waited for before the
            stream goes on; an exception instead of it is refused with status 400.

    Attributes:
        asked: The bodies of all requests, in order.
    """

    def __init__(self, *script):
        self._script = iter(script)
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self.asked = []
        self.came = threading.Semaphore(0)  # one for each request that was answered to its end
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.model = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def environment(self):
        """By which the examples find it."""
        url = f"http://127.0.0.1:{self._server.server_address[1]}"
        keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), "none")
        urls = {"OPENAI_BASE_URL": f"{url}/v1", "ANTHROPIC_BASE_URL": url, "GOOGLE_GEMINI_BASE_URL": url}
        return {**keys, **urls}

    def reply(self, body):
        """What the script says next."""
        with self._lock:
            self.asked.append(body)
            said = next(self._script, ["(the script is over)"])
        if isinstance(said, Exception):
            raise Refused(str(said))
        return said

    def number(self):
        return next(self._numbers)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        model = self.server.model
        try:
            vendor = next((each for each in VENDORS if path.endswith(each.path)), None)
            if vendor is None or not body.get("stream", vendor is Gemini):
                raise Refused(f"no such method: {self.path}, or not streamed")
            if not self.headers.get(vendor.key):
                raise Refused(f"no key in {vendor.key}")
            vendor.check(body)
            pieces = model.reply(body)
        except Refused as error:
            self._refuse(vendor, str(error))
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for event in vendor(model).events(_unheld(pieces)):
                data = event.encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except ConnectionError:  # who asked has ended
            self.close_connection = True
        model.came.release()

    def _refuse(self, vendor, why):
        said = json.dumps((vendor or OpenAI).error(why)).encode()
        self.send_response(400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


def _unheld(pieces):
    for piece in pieces:
        if isinstance(piece, threading.Event):
            piece.wait(HELD)
        else:
            yield piece


def _halves(text):
    """A text in two pieces, as streams cut it: anywhere."""
    middle = (len(text) + 1) // 2
    return [part for part in (text[:middle], text[middle:]) if part]


def _need(true, why):
    if not true:
        raise Refused(why)


class OpenAI:
    path = "/chat/completions"
    key = "Authorization"

    def __init__(self, model):
        self._model = model

    @staticmethod
    def error(why):
        return {"error": {"message": why, "type": "invalid_request_error", "param": "messages", "code": None}}

    @staticmethod
    def check(body):
        open_ids = []
        for message in body["messages"]:
            role = message["role"]
            if role == "tool":
                _need(message["tool_call_id"] in open_ids, "messages with role 'tool' must follow their 'tool_calls'")
                open_ids.remove(message["tool_call_id"])
                continue
            _need(not open_ids, f"tool_call_ids did not have response messages: {open_ids}")
            open_ids = [call["id"] for call in message.get("tool_calls", ())]
        _need(not open_ids, f"tool_call_ids did not have response messages: {open_ids}")

    def events(self, pieces):
        number, calls = self._model.number(), itertools.count()
        yield self._chunk(number, {"role": "assistant", "content": "", "refusal": None})
        called = False
        for piece in pieces:
            if isinstance(piece, Call):
                called, index = True, next(calls)
                function = {"name": piece.name, "arguments": ""}
                start = {"index": index, "id": f"call_{number}_{index}", "type": "function", "function": function}
                yield self._chunk(number, {"tool_calls": [start]})
                for part in _halves(json.dumps(piece.arguments)):
                    yield self._chunk(number, {"tool_calls": [{"index": index, "function": {"arguments": part}}]})
            else:
                for part in _halves(piece):
                    yield self._chunk(number, {"content": part})
        yield self._chunk(number, {}, "tool_calls" if called else "stop")
        yield "data: [DONE]\n\n"

    def _chunk(self, number, delta, finish=None):
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        return f"data: {json.dumps({**head, 'choices': [choice]})}\n\n"


class Anthropic:
    path = "/v1/messages"
    key = "x-api-key"

    def __init__(self, model):
        self._model = model

    @staticmethod
    def error(why):
        return {"type": "error", "error": {"type": "invalid_request_error", "message": why}}

    @staticmethod
    def check(body):
        _need(body.get("max_tokens"), "max_tokens: Field required")
        uses = []
        for message in body["messages"]:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            _need(blocks, "messages: must have non-empty content")
            _need(all(each.get("text", "x") for each in blocks), "messages: text content blocks must be non-empty")
            given = [each["tool_use_id"] for each in blocks if each["type"] == "tool_result"]
            _need(sorted(given) == sorted(uses), "`tool_use` ids were found without `tool_result` blocks after")
            uses = [each["id"] for each in blocks if each["type"] == "tool_use"]
        _need(not uses, "`tool_use` ids were found without `tool_result` blocks after")

    def events(self, pieces):
        number = self._model.number()
        usage = {"input_tokens": 10, "output_tokens": 1}
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "scripted", "content": []}
        yield self._event("message_start", message={**message, "stop_reason": None, "usage": usage})
        yield self._event("ping")
        stopped = "end_turn"
        for index, piece in enumerate(pieces):
            if isinstance(piece, Call):
                stopped = "tool_use"
                block = {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": piece.name, "input": {}}
                parts = ["", *_halves(json.dumps(piece.arguments))]
                deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
            else:
                block = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": part} for part in _halves(piece)]
            yield self._event("content_block_start", index=index, content_block=block)
            for delta in deltas:
                yield self._event("content_block_delta", index=index, delta=delta)
            yield self._event("content_block_stop", index=index)
        yield self._event("message_delta", delta={"stop_reason": stopped, "stop_sequence": None}, usage=usage)
        yield self._event("message_stop")

    @staticmethod
    def _event(kind, **more):
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n"


class Gemini:
    path = ":streamGenerateContent"
    key = "x-goog-api-key"

    def __init__(self, model):
        self._model = model

    @staticmethod
    def error(why):
        return {"error": {"code": 400, "message": why, "status": "INVALID_ARGUMENT"}}

    @staticmethod
    def check(body):
        calls = []
        for content in body["contents"]:
            answers = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
            names = [answer["name"] for answer in answers]
            _need(names == calls, "the number of function response parts must equal that of the function call parts")
            given = [part for part in content["parts"] if "functionCall" in part]
            _need(not given or "thoughtSignature" in given[0], "Function call is missing a thought_signature")
            calls = [part["functionCall"]["name"] for part in given]
        _need(not calls, "the number of function response parts must equal that of the function call parts")

    def events(self, pieces):
        signature = {"thoughtSignature": base64.b64encode(b"signed %d" % self._model.number()).decode()}
        for piece in pieces:
            if isinstance(piece, Call):
                yield self._event([{"functionCall": {"name": piece.name, "args": piece.arguments}, **signature}])
                signature = {}  # of parallel calls only the first is signed
            else:
                for part in _halves(piece):
                    yield self._event([{"text": part}])
        yield self._event([{"text": ""}], finishReason="STOP")

    @staticmethod
    def _event(parts, **more):
        candidate = {"content": {"parts": parts, "role": "model"}, **more, "index": 0}
        usage = {"promptTokenCount": 10, "totalTokenCount": 11}
        told = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted", "responseId": "r"}
        return f"data: {json.dumps(told)}\r\n\r\n"


VENDORS = (OpenAI, Anthropic, Gemini)


def _by_hand():
    command = "for n in 1 2 3 4 5; do echo step $n; sleep 1; done"
    turn = (
        ["I will run it. ", Call("runCommand", {"command": command})],
        ["It takes longer, so it goes on in the background. I will tell you when it is done."],
        ["It is done: five steps."],
    )
    with ModelServer(*(reply for _ in range(100) for reply in turn)) as server:
        print("\n".join(f"export {name}={value}" for name, value in server.environment.items()), flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    _by_hand()
