"""
A server as a child process: its start, its lines, and its end.

The SDK is not imported here: it takes most of a second, in which the server starts.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections import deque
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Self, cast

import anyio

from executor.calls._above import mark_caller
from executor.mcp._circle import environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.mcp._tail import Tail
    from executor.mcp._values import ServerConfig
    from executor.values._profile import ProfileName

MAX_MESSAGE = 64 * 1024 * 1024  # bytes of one message; more is a flood, or no MCP at all
MOST_UNREAD = 1000  # messages read ahead before the server has to wait
EXIT_SECONDS = 2.0  # for each step of the end: after stdin was closed, after SIGTERM, after SIGKILL
LAST_WORDS_SECONDS = 0.2  # what a dead process left in its pipe has been read by then
INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")  # variables; as the SDK's own transport


class Child(asyncio.SubprocessProtocol):
    """The process's side of the loop: cuts stdout into messages, keeps the end of stderr, knows when it is over."""

    def __init__(self, tail: Tail, on_end: Callable[[], object]) -> None:
        self.exited = asyncio.Event()
        self.writable = asyncio.Event()
        self.writable.set()
        self.transport: asyncio.SubprocessTransport = cast("Any", None)  # set before anything of the process comes
        self._tail = tail
        self._on_end = on_end
        self._partial: list[bytes] = []
        self._size = 0
        self._unread: deque[bytes] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._held = False
        self.spoke = False
        self.ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 1:
            self._tail.add(data)
            return
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join([*self._partial, lines[0]])
            self._partial, self._size = [], 0
            self.spoke = True
            for line in lines:
                self._take(line)
        if rest:
            self._partial.append(rest)
            self._size += len(rest)
            if self._size > MAX_MESSAGE:
                self._tail.add(f"\nA message of more than {MAX_MESSAGE} bytes was not taken\n".encode())
                self._partial = []
                self.end()

    def _take(self, line: bytes) -> None:
        self._unread.append(line)  # looked into when it is wanted: a flood must not hold up the loop
        self._wake()
        if len(self._unread) > MOST_UNREAD and not self._held:
            self._hold(True)

    def _hold(self, held: bool) -> None:  # noqa: FBT001 -- a switch
        pipe = self.transport.get_pipe_transport(1)
        if pipe is not None:
            self._held = held
            reading = cast("asyncio.ReadTransport", pipe)
            (reading.pause_reading if held else reading.resume_reading)()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 -- asyncio's form
        if fd == 1:
            self.end()

    def process_exited(self) -> None:
        self.exited.set()
        # Its stdout may be held open by a process that it started: no end of file would ever come.
        asyncio.get_running_loop().call_later(LAST_WORDS_SECONDS, self.end)

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def end(self) -> None:
        """No message comes any more."""
        if not self.ended:
            self.ended = True
            self.writable.set()
            self._wake()
            self._on_end()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    async def next(self) -> bytes | None:
        """The next line, which may be a message; None at the end."""
        while True:
            while not self._unread:
                if self.ended:
                    return None
                self._reader = asyncio.get_running_loop().create_future()
                await self._reader
            if self._held and len(self._unread) < MOST_UNREAD // 2:
                self._hold(False)
            line = self._unread.popleft()
            if not line.startswith(b"["):
                return line
            self._unread.extendleft(reversed(_several(line)))

    def is_noise(self, line: bytes) -> None:
        """*line* is no message."""
        if line.strip():
            self._tail.add(b"(stdout) " + line[:1000] + b"\n")


def _several(line: bytes) -> list[bytes]:
    """The messages of a batch, as revisions before 2025-06-18 may send them; what is none is noise."""
    try:
        return [json.dumps(message).encode() for message in json.loads(line)]
    except (ValueError, RecursionError):
        return [b" " + line]


class Program:
    """
    Starts the process on entering, and ends it with its process group on leaving, within 6 seconds.

    Args:
        tail: Takes what it writes to stderr.
        on_end: Called once when no message will come any more.
    """

    def __init__(self, config: ServerConfig, tail: Tail, on_end: Callable[[], object]) -> None:
        self._config = config
        self._tail = tail
        self._on_end = on_end
        self.child: Child = cast("Any", None)  # set on entering, as is the next
        self.pid: int | None = None

    async def __aenter__(self) -> Self:
        config = self._config
        front, env = list[str](), _rooted(config, _inherited() | dict(config.env) | environment())
        if config.confine is not None:
            front, env = await anyio.to_thread.run_sync(_boxed, config, config.confine, env)
        mark_caller()  # it may be started to be listed, and is there when the first call comes
        with anyio.CancelScope(shield=True):  # it takes milliseconds, and half of it done would leave a process behind
            transport, child = await asyncio.get_running_loop().subprocess_exec(
                lambda: Child(self._tail, self._on_end),
                *front,
                config.command,
                *config.args,
                env=env,
                cwd=config.cwd,
                start_new_session=True,
            )
        self.child = child
        self.pid = transport.get_pid()
        return self

    async def __aexit__(self, *_: object) -> None:
        with anyio.CancelScope(shield=True):
            await self._end()

    async def _end(self) -> None:
        child = self.child
        stdin = child.transport.get_pipe_transport(0)
        if stdin is not None:
            stdin.close()
        # One that never said a word is not about to say goodbye.
        for number in (None, signal.SIGTERM, signal.SIGKILL)[0 if child.spoke else 1 :]:
            if number is not None:
                self._signal(number)
            with anyio.move_on_after(EXIT_SECONDS):
                await child.exited.wait()
                break
        self._signal(signal.SIGKILL)  # what it started and left behind
        child.end()
        child.transport.close()

    def _signal(self, number: signal.Signals) -> None:
        # A group's id is nobody else's as long as one of its processes lives; an empty group is not found.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(cast("int", self.pid), number)


def _inherited() -> dict[str, str]:
    found = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {name: value for name, value in found.items() if not value.startswith("()")}  # a function of an old bash


def _rooted(config: ServerConfig, env: dict[str, str]) -> dict[str, str]:
    """
    *env*, by which no folder that a server happens to start in says which program it is.

    Of PATH what is relative has no say, nor is a module (``python -m NAME``) looked for there, unless the entry names
    that folder.
    """
    path = os.pathsep.join(filter(os.path.isabs, env.get("PATH", os.defpath).split(os.pathsep)))
    env = env | {"PATH": path or os.defpath}  # an empty one means the working folder
    if config.cwd is None and "-m" in takewhile(lambda word: not word.endswith(".py"), config.args):
        env.setdefault("PYTHONSAFEPATH", "1")
    return env


def _boxed(config: ServerConfig, name: ProfileName, env: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """
    What puts the server into its box, and *env* as it brings that: the variables that its entry gives it stay, secrets
    too. Its folder is told as it is spelt: what runs in the project may have put a link there, which is not followed.

    Where there is no such box, a warning says so here: what the server itself is told of it stands in its log.
    """
    from executor.confine import Profile, carried, launcher
    from executor.confine._start import announced

    folder = os.path.abspath(config.cwd or os.curdir)  # noqa: PTH100 -- follows no link
    profile = Profile(name, folder, env=tuple(config.env))
    announced(profile)
    return launcher(profile), carried(env)
