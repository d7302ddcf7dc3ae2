"""
``serve --connect``: stdin and stdout, bridged to a running ``serve --http``.

Messages are passed on as they are, in both eras of the protocol; what is told here is what belongs to the way between:
sessions, headers, cancelling, and errors.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any

from executor._log import warn
from executor.mcp.serving._pipes import KEPT, Reader, TooLong, Writer, claimed
from executor.mcp.serving._signals import on_signals
from executor.mcp.serving._unread import message_of, refusal
from executor.mcp.serving._upstream import (
    Upstream,
    UpstreamError,
    header_arguments,
    modern_headers,
    modern_version,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

FAILED = -32000  # as SDKs call an error of the connection
HEADER_MISMATCH = -32020
ANSWER_SECONDS = 0.5  # for answers to what came before stdin ended
LISTEN_AGAIN_SECONDS = 1.0  # after the stream of the server's own messages has ended
MOST_WAITING = 128 * 1024 * 1024  # bytes of messages that wait for a server that takes none; more are dropped
QUIET_SECONDS = 10.0  # for a message that is not answered
_LASTING = {"logging/setLevel": None, "resources/subscribe": "uri"}  # requests that hold for a whole session
_PAGES = 100


def connect(url: str, token: str, *, token_from: str) -> int | None:
    """
    Be a server on this process's stdin and stdout that passes everything on to one over HTTP, until stdin ends.

    A server that is started again is connected to again; requests that it had not answered fail, and say so.

    Args:
        url: Where it is: ``https``, or on this machine.
        token_from: Where the token is from, for errors.

    Returns:
        The signal that came; None: stdin has ended.

    Raises:
        ValueError: The URL is none to which a token may be sent.
    """
    with claimed() as (source, target):
        return asyncio.run(_connect(url, token, token_from, source, target))


async def _connect(url: str, token: str, token_from: str, source: int, target: int) -> int | None:
    loop = asyncio.get_running_loop()
    bridge = Bridge(Upstream(url, token, token_from), Writer(target, loop))
    over = asyncio.Event()
    passing = asyncio.ensure_future(bridge.run())
    Reader(source, loop, bridge.take, over.set).start()
    with on_signals(over.set) as stopped:
        await over.wait()
        if not stopped:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(bridge.finish(), ANSWER_SECONDS)
        passing.cancel()
        await bridge.close()
    return stopped[0] if stopped else None


class Bridge:
    """One client's connection. Lives on the loop."""

    def __init__(self, upstream: Upstream, writer: Writer) -> None:
        self._upstream = upstream
        self._writer = writer
        self._tasks: set[asyncio.Task[None]] = set()
        self._modern: dict[object, asyncio.Task[None]] = {}  # requests of the newer era that are open, by id
        self._hello: dict[str, Any] | None = None  # the client's `initialize`
        self._lasting: dict[tuple[str, object], dict[str, Any]] = {}
        self._headers: dict[str, dict[tuple[str, ...], str]] = {}  # by tool: arguments that are repeated in headers
        self._renewing = asyncio.Lock()
        self._listening: asyncio.Task[None] | None = None
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._waiting = 0  # bytes of them

    async def take(self, line: bytes) -> None:
        """A line from the client. It is never kept from being read: its end would not be seen."""
        if self._waiting + len(line) > MOST_WAITING:
            line = TooLong(line[:KEPT])  # it is refused
        if self._waiting <= 2 * MOST_WAITING:
            self._waiting += len(line)
            self._lines.put_nowait(line)

    async def run(self) -> None:
        """Pass on what the client sends. Requests are left to run; whatever has to stay in order is waited for."""
        while True:
            line = await self._lines.get()
            self._waiting -= len(line)
            message = message_of(line)
            try:
                if message is not None:
                    await self._pass_on(message)
                elif (refused := refusal(line)) is not None:
                    await self._tell(refused)
            except Exception as error:  # noqa: BLE001 -- it costs this message, and not the connection
                warn(f"A message was not passed on: {error!r}", error=error)
            finally:
                self._lines.task_done()

    async def finish(self) -> None:
        """Wait until everything that came has been answered: who sends nothing more may still read."""
        await self._lines.join()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _pass_on(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            await self._quietly(message)  # the answer to a question of the server
        elif "id" not in message:
            await self._notified(message)
        elif message["method"] == "initialize":
            self._hello = message
            await self._answered(message)
        else:
            self._begin(message)

    def _begin(self, message: dict[str, Any]) -> None:
        task = asyncio.ensure_future(self._answered(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        number = message["id"]
        if modern_version(message) is not None and isinstance(number, str | int):
            self._modern[number] = task
            task.add_done_callback(lambda _: self._modern.pop(number, None))

    async def _notified(self, message: dict[str, Any]) -> None:
        params = message.get("params")
        if message["method"] == "notifications/cancelled" and isinstance(params, dict):
            number = params.get("requestId")
            task = self._modern.get(number) if isinstance(number, str | int) else None
            if task is not None:
                task.cancel()  # since 2026-07-28 the end of the connection says it
                return
        await self._quietly(message)
        if message["method"] == "notifications/initialized":
            self._listen()

    async def _quietly(self, message: dict[str, Any]) -> None:
        """Send what is not answered."""
        version = modern_version(message)
        headers = modern_headers(message, version, {}) if version is not None else {}
        # Nobody waits for more than its turn; requests tell what is wrong.
        with contextlib.suppress(UpstreamError, TimeoutError):
            async with asyncio.timeout(QUIET_SECONDS):
                async for _ in self._upstream.messages("POST", message, headers):
                    pass

    # Requests ----------------------------------------------------------------------------------------------------

    async def _answered(self, message: dict[str, Any]) -> None:
        """Send a request, and pass on what comes, up to its answer."""
        try:
            answer = await self._exchange(message)
            self._learn(message, answer)
        except UpstreamError as error:
            answer = _failed(message["id"], str(error))
        except Exception as error:  # noqa: BLE001 -- whatever it is: the client waits for an answer
            answer = _failed(message["id"], f"The message could not be passed on: {error!r}")
        await self._tell(answer)

    async def _exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        version = modern_version(message)
        if version is None:
            return await self._in_session(message)
        answer = await self._asked(message, modern_headers(message, version, self._headers_of(message)))
        if _code(answer) == HEADER_MISMATCH and message["method"] == "tools/call":
            await self._list_tools(message)  # it may be called without having been listed
            answer = await self._asked(message, modern_headers(message, version, self._headers_of(message)))
        return answer

    async def _in_session(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["method"] == "initialize":
            self._upstream.session = None
        session = self._upstream.session
        try:
            return await self._asked(message, {})
        except UpstreamError as error:
            if not error.lost:
                raise
        await self._renew(session)
        return await self._asked(message, {})

    async def _asked(self, message: dict[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
        """The answer to a request; what comes before it is passed on."""
        coming = self._upstream.messages("POST", message, headers)
        async with contextlib.aclosing(coming):
            async for told in coming:
                if "method" not in told and ("result" in told or "error" in told):
                    return {**told, "id": message["id"]}
                await self._tell(told)
        raise UpstreamError(f"{self._upstream.url} has not answered: make the call again")

    async def _tell(self, message: Mapping[str, Any]) -> None:
        await self._writer.line(json.dumps(message, separators=(",", ":")))

    # What is remembered of it ------------------------------------------------------------------------------------

    def _learn(self, message: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        result, method = answer.get("result"), message["method"]
        if not isinstance(result, dict):
            return
        params = message.get("params") or {}
        if method == "initialize":
            self._upstream.version = str(result.get("protocolVersion"))
        if method in _LASTING:
            self._lasting[method, params.get(_LASTING[method] or "")] = dict(message)
        elif method == "resources/unsubscribe":
            self._lasting.pop(("resources/subscribe", params.get("uri")), None)
        elif method == "tools/list" and isinstance(result.get("tools"), list):
            for tool in result["tools"]:
                self._headers[str(tool.get("name"))] = header_arguments(tool.get("inputSchema"))

    def _headers_of(self, message: Mapping[str, Any]) -> dict[tuple[str, ...], str]:
        params = message.get("params")
        return self._headers.get(str(params.get("name")), {}) if isinstance(params, dict) else {}

    async def _list_tools(self, message: Mapping[str, Any]) -> None:
        cursor: Any = None
        for _ in range(_PAGES):
            params = {"_meta": message["params"]["_meta"], **({"cursor": cursor} if cursor else {})}
            asked = {"jsonrpc": "2.0", "id": "toolexec-list", "method": "tools/list", "params": params}
            answer = await self._asked(asked, modern_headers(asked, modern_version(asked) or "", {}))
            self._learn(asked, answer)
            cursor = (answer.get("result") or {}).get("nextCursor")
            if cursor is None:
                return

    # The session of the older era --------------------------------------------------------------------------------

    async def _renew(self, lost: str | None) -> None:
        """Begin another session after the server was started again; once for all who have noticed."""
        async with self._renewing:
            if self._upstream.session != lost or self._hello is None:
                return
            self._upstream.session = None
            answer: dict[str, Any] = {}
            try:
                answer = await self._asked({**self._hello, "id": "toolexec-again"}, {})
            finally:
                if "result" not in answer:
                    self._upstream.session = lost  # the next request finds it out again, and there is another attempt
            if "result" not in answer:
                raise UpstreamError(f"{self._upstream.url} was started again, and refuses: {answer.get('error')}")
            self._learn(self._hello, answer)
            await self._quietly({"jsonrpc": "2.0", "method": "notifications/initialized"})
            for number, message in enumerate(list(self._lasting.values())):
                await self._asked({**message, "id": f"toolexec-again-{number}"}, {})
        for what in ("tools", "resources", "prompts"):
            await self._tell({"jsonrpc": "2.0", "method": f"notifications/{what}/list_changed"})

    def _listen(self) -> None:
        """Pass on what the server says by itself."""
        if self._listening is None:
            self._listening = asyncio.ensure_future(self._listened())

    async def _listened(self) -> None:
        while True:
            session = self._upstream.session
            try:
                async for told in self._upstream.messages("GET", None, {}):
                    if "method" in told:  # else it is why there is no stream, which answers nothing of the client's
                        await self._tell(told)
            except UpstreamError as error:
                if error.lost:
                    with contextlib.suppress(UpstreamError):
                        await self._renew(session)
            await asyncio.sleep(LISTEN_AGAIN_SECONDS)

    async def close(self) -> None:
        """Stop everything, and say that this client is gone."""
        tasks = [*self._tasks, *([self._listening] if self._listening is not None else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=0.2)
        await self._upstream.leave()
        self._writer.end()


def _failed(number: object, why: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": FAILED, "message": why}}


def _code(answer: Mapping[str, Any]) -> object:
    error = answer.get("error")
    return error.get("code") if isinstance(error, dict) else None
