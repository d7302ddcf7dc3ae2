"""The servers of a bridge that were made so far, and the loop on which everything of the SDK happens."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from typing import TYPE_CHECKING

from executor.errors import BackendUnavailableError
from executor.threads import LoopThread
from executor.threads._fork import of_this_process

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.mcp._server import Server

# A process that does not end by itself takes 4 (stdin closed, SIGTERM, SIGKILL); all servers are ended side by side.
CLOSE_SECONDS = 7.5
MOST_OF_CLIENTS = 64  # servers, all together, that clients of an executor that is served have for themselves;
MOST_OF_PRINCIPAL = 48  # of these, those of the clients of one principal


class Fleet:
    """What has to be closed when a bridge is: kept apart from it, so that one that is dropped closes too."""

    def __init__(self) -> None:
        self._loop = LoopThread("executor-mcp", _closed)
        self._of_parents: list[dict[tuple[str, str], Server]] = []
        self.servers: dict[tuple[str, str], Server] = {}  # by name and client; the last used is the last
        self._lock = threading.Lock()  # guards the making of servers
        of_this_process.add(self)

    def _begin(self) -> None:
        """In the child of a fork: its servers are others."""
        # Those of the parent are kept, for their end would be felt there: both share the pipes and what watches them.
        self._of_parents.append(self.servers)
        self.servers = {}
        self._lock = threading.Lock()

    @property
    def loop(self) -> LoopThread:
        """
        The loop, for a caller that will wait for it.

        Raises:
            RuntimeError: It would wait for itself.
        """
        if self._loop.would_deadlock:
            raise RuntimeError("an MCP server was called from the thread that all servers run on: use another thread")
        return self._loop

    def server(self, name: str, client: str, make: Callable[[], Server]) -> Server:
        """
        The server of this name, made if there is none yet.

        Args:
            client: Whose it is; "" for one that all share.

        Raises:
            BackendUnavailableError: The clients have too many servers.
        """
        found = self._known(name, client)
        if found is not None:
            return found
        with self._lock:
            found = self.servers.get((name, client))
            if found is None:
                if client:
                    self._make_room(client)
                found = self.servers[name, client] = make()
            return found

    def _known(self, name: str, client: str) -> Server | None:
        if not client:
            return self.servers.get((name, ""))
        with self._lock:
            found = self.servers.pop((name, client), None)
            if found is not None:
                self.servers[name, client] = found
            return found

    def _make_room(self, client: str) -> None:
        """
        For one more server of a client: of the principal that has most, the one that was not used for longest goes.

        A client chooses its name, but not its principal: one that takes ever new names ends its own servers. The lock
        is held.
        """
        own = [key for key in self.servers if key[1]]
        has = Counter(_principal(key[1]) for key in own)
        mine = has[_principal(client)]
        if mine < MOST_OF_PRINCIPAL and len(own) < MOST_OF_CLIENTS:
            return
        least = MOST_OF_PRINCIPAL if mine >= MOST_OF_PRINCIPAL else max(mine, 1)
        for key in sorted(own, key=lambda key: -has[_principal(key[1])]):
            if has[_principal(key[1])] >= least and not self.servers[key].busy:
                self._end(key)
                return
        raise BackendUnavailableError(
            f"{len(own)} MCP servers run for single clients already, and all are at work: try again later, or let the "
            'clients use one together ("shared": true in its entry)',
            started=False,
        )

    def end_client(self, client: str) -> None:
        """End the servers of a client; nobody waits for that."""
        with self._lock:
            for key in [key for key in self.servers if client and key[1] == client]:
                self._end(key)

    def _end(self, key: tuple[str, str]) -> None:
        with contextlib.suppress(BackendUnavailableError):  # all are being ended
            self._loop.start(self.servers.pop(key).stop(), lambda _value, _error: None)

    def close(self) -> None:
        """End all servers, side by side, within `CLOSE_SECONDS`."""

        async def end() -> None:
            import asyncio

            await asyncio.gather(*(server.stop() for server in list(self.servers.values())), return_exceptions=True)

        self._loop.close(CLOSE_SECONDS, end)


def _principal(client: str) -> str:
    """Whose client it is; see `executor.mcp.serving`."""
    return client.partition("/")[0]


def _closed() -> BackendUnavailableError:
    return BackendUnavailableError("The MCP servers have been closed", started=False)
