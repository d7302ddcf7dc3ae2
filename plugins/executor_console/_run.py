"""The server of the page, from its start to its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING

import uvicorn

from executor.cli import load_permissions, terminal_session
from executor.tasks import TaskManager
from executor_console._app import Api
from executor_console._guard import Guard
from executor_console._hub import Hub
from executor_console._link import Door, has_browser
from executor_console._sessions import CODE_SECONDS, Sessions
from executor_console._watch import Watch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor.cli import App

ADDRESS = "127.0.0.1"
CLOSE_SECONDS = 2  # for answers that are on their way
NOBODY_CAME = 8.0  # seconds after which the browser is thought not to have opened the page, and the link is printed
MAX_CONNECTIONS = 200


def run(app: App, port: int, *, printed: bool) -> int | None:
    """
    Serve the page until Ctrl-C or SIGTERM.

    Args:
        port: 0 takes any that is free.
        printed: Print the link, instead of opening the browser.

    Returns:
        The signal that came.

    Raises:
        OSError: The port is taken.
    """
    with socket.create_server((ADDRESS, port), backlog=MAX_CONNECTIONS) as listening:
        return asyncio.run(_Console(app, listening, printed=printed).serve())


class _Server(uvicorn.Server):
    """Its own handling of signals would end the process before anything is put in order."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Console:
    """The parts of a console, put together. Used on the loop."""

    def __init__(self, app: App, listening: socket.socket, *, printed: bool) -> None:
        self._screen = app.screen
        self._listening = listening
        self._printed = printed or not has_browser()
        self._host = f"{ADDRESS}:{listening.getsockname()[1]}"
        self._sessions = Sessions()
        self._doors: dict[str, Door] = {}
        desk = load_permissions().Desk(session_id=terminal_session())
        ledger = app.config.ledger
        tasks = TaskManager.open()
        watch = Watch(tasks, {"grants": desk.grants_file, **({"history": ledger} if ledger is not None else {})})
        self._hub = Hub(watch)
        api = Api(self._hub, watch, tasks, self._sessions, desk, ledger)
        self._config = uvicorn.Config(
            Guard(api.app(), self._host, self._sessions),
            access_log=False,
            log_level="warning",
            lifespan="off",
            server_header=False,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=CLOSE_SECONDS,
        )
        self._stopped: list[int] = []

    async def serve(self) -> int | None:
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()

        def on_signal(number: int) -> None:
            self._stopped.append(number)
            stop.set()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, on_signal, number)
        server = _Server(self._config)
        serving = loop.create_task(server.serve(sockets=[self._listening]))
        serving.add_done_callback(lambda _: stop.set())
        try:
            self._open()
            with self._heard():
                await stop.wait()
        finally:
            for door in self._doors.values():
                door.close()
            await self._hub.close()
            server.should_exit = True
            await serving
        return self._stopped[0] if self._stopped else None

    # Links -------------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        """Open the page, or print a link to it."""
        if self._printed:
            self._print("open this link; it works once, for a minute:")
            self._screen.note("Enter prints another one; Ctrl-C ends the page")
            return
        code = self._sessions.new_code()
        try:
            door = self._doors[code] = Door(self._link(code))
        except OSError as error:
            self._screen.warning(f"the page cannot be opened by a file: {error}")
            self._print("open this link; it works once, for a minute:")
            return
        door.open()
        self._screen.note(f"the page is open at http://{self._host}; Enter opens another one; Ctrl-C ends it")
        loop = asyncio.get_running_loop()
        loop.call_later(NOBODY_CAME, self._look_whether_opened, code)
        loop.call_later(CODE_SECONDS, self._take_away, code)

    def _look_whether_opened(self, code: str) -> None:
        """A browser that may not read the file (of snap or flatpak) needs another way."""
        if self._sessions.waits(code):
            self._print("if no page has opened, open this link; it works once, for a minute:")
        else:
            self._take_away(code)

    def _take_away(self, code: str) -> None:
        door = self._doors.pop(code, None)
        if door is not None:
            door.close()

    def _print(self, text: str) -> None:
        self._screen.note(text)
        self._screen.result(self._link(self._sessions.new_code()))

    def _link(self, code: str) -> str:
        return f"http://{self._host}/#{code}"

    @contextlib.contextmanager
    def _heard(self) -> Iterator[None]:
        """Enter at the terminal makes another link, as long as this command is the one that the terminal is for."""
        loop, source = asyncio.get_running_loop(), sys.stdin
        if source is None or source.closed or not source.isatty():
            yield
            return
        number = source.fileno()

        def hear() -> None:
            if _hears(number):
                self._open()
            else:
                loop.remove_reader(number)

        loop.add_reader(number, hear)
        try:
            yield
        finally:
            loop.remove_reader(number)


def _hears(terminal: int) -> bool:
    """Take what was typed; False where nothing more can be: in the background reading would stop this process."""
    with contextlib.suppress(OSError):  # it does not control this process
        if os.tcgetpgrp(terminal) != os.getpgrp():
            return False
    try:
        return bool(os.read(terminal, 1024))
    except OSError:  # it was closed
        return False
