"""The way to a scheduler, for whoever asks it of tasks: the host of tasks, and any other process of the user."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from executor._json import to_text
from executor._log import warn
from executor._portable import pickle_as_written
from executor.engines._wire import GONE, PIECE, Record, Seen, read_record, read_seen, seen
from executor.errors import ExecutorUnavailableError, ToolCancelledError
from executor.threads._loop import LoopThread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from executor.engines._where import Where

PATIENCE = 3.0  # seconds for an answer
AWAY, MOST_AWAY = 2.0, 30.0  # seconds for which a scheduler that did not answer is not asked again: at first, at most
NO_SCHEDULER = "what answers there is no scheduler: see to the address, and whether it is to be tls:// or tcp://"
ANEW = "the cluster's scheduler was started anew, and has forgotten it"


def closed() -> ExecutorUnavailableError:
    """What is said to whoever comes after `close`."""
    return ExecutorUnavailableError("The connection to the cluster has been closed")


def why(error: BaseException) -> str:
    """What kept somebody from reaching a scheduler: what is told first, by `distributed`, says nothing of that."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or "it does not answer"


def unwaited(_: object, error: BaseException | None) -> None:
    """The end of what was started on the loop, and nobody waits for."""
    if error is not None and not isinstance(
        error, (asyncio.CancelledError, ExecutorUnavailableError, ToolCancelledError)
    ):  # they say that it was closed, or cannot be reached
        warn(f"The connection to a cluster went wrong: {error!r}", error=error)


class Line:
    """
    A connection to a scheduler that has our extension, made when it is needed.

    Raises:
        ExecutorUnavailableError: From every method that asks, within `PATIENCE`: it cannot be reached.
    """

    def __init__(self, where: Where) -> None:
        self.where = where
        self.loop = LoopThread("executor-engine", closed)
        self._rpc: Any = None
        self._away_until = 0.0
        self._away_for = 0.0
        self._why = ""
        self._reached = False

    def ask(self, word: str, seconds: float = PATIENCE, **said: Any) -> Any:
        """Say a word of ours, and wait for the answer."""
        if time.monotonic() < self._away_until:
            raise self.unavailable(self._why)
        try:
            answer = self.loop.run(self.ask_there(word, seconds, **said))
        except ToolCancelledError as error:
            raise closed() from error
        except ExecutorUnavailableError as error:
            self._away_for = min(MOST_AWAY, 2 * self._away_for or AWAY)
            self._away_until, self._why = time.monotonic() + self._away_for, why(error)
            raise
        self._away_for = 0.0
        return answer

    async def ask_there(self, word: str, seconds: float = PATIENCE, **said: Any) -> Any:
        """`ask`, on the loop."""
        try:
            await self.reach()
            async with asyncio.timeout(seconds):
                return await getattr(self.rpc(), f"toolexec_{word}")(**said)
        except (OSError, TimeoutError) as error:  # a connection that is closed is an OSError
            self._reached = False
            raise self.unavailable(why(error)) from error
        except Exception as error:  # a MemoryError say, from what was taken for the length of an answer
            self._reached = False
            raise self.unavailable(NO_SCHEDULER + f" ({error!r})") from error

    async def reach(self) -> None:
        """
        Find out whether anybody listens there, for which `distributed` would try until its time is up, and who.

        Raises:
            OSError, TimeoutError: Nobody does, or another user, where there is no TLS. Messages of Dask's may have
                objects in them, which whoever receives them makes: who answers in the place of a scheduler runs code.
        """
        if not self._reached:
            parts = urlsplit(self.where.address)
            _, writer = await asyncio.wait_for(asyncio.open_connection(parts.hostname, parts.port), PATIENCE)
            writer.close()
            if (user := self.where.taken_by) is not None:
                raise PermissionError(f"another user (uid {user}) listens there, whose answers could run code here")
            self._reached = True

    def rpc(self) -> Any:
        """The scheduler; on the loop."""
        if self._rpc is None:
            from distributed import rpc

            pickle_as_written()
            self._rpc = rpc(  # type: ignore[no-untyped-call]  # distributed is typed in parts
                self.where.address, timeout=PATIENCE, connection_args=self.where.connection()
            )
        return self._rpc

    def there(self, piece: Any) -> dict[str, Any] | None:
        """
        Part of what a worker has; None: it has that no more, or what it says makes no sense.

        Raises:
            ExecutorUnavailableError: It does not answer now.
        """
        if not isinstance(piece, dict):
            return None
        if piece.get("away"):
            raise ExecutorUnavailableError("The worker of the task does not answer; it is asked again")
        numbers = piece.get("next", 0), piece.get("gone", 0)
        whole = isinstance(piece.get("text"), str) and all(isinstance(each, int) for each in numbers)
        return piece if whole else None

    def unavailable(self, why: str) -> ExecutorUnavailableError:
        """What is said of a scheduler that cannot be reached."""
        return ExecutorUnavailableError(f"The cluster at {self.where.address} cannot be reached: {why}")

    def close(self) -> None:
        """Leave; nothing on the cluster changes."""
        self.loop.close(2.0, self._close_there)

    async def _close_there(self) -> None:
        if self._rpc is not None:
            await self._rpc.close_rpc()


class Reattached(Line):
    """What any process of the user asks of tasks that another one has left to a cluster."""

    def __init__(self, where: Where, scheduler: str) -> None:
        super().__init__(where)
        self._scheduler = scheduler

    def probe(self, task_ids: Sequence[str]) -> dict[str, Seen]:
        """What is known of each."""
        told = self.ask("probe", task_ids=list(task_ids))
        if told is not None and not (isinstance(told, dict) and "id" in told):
            raise self.unavailable(NO_SCHEDULER)
        if told is None or told["id"] != self._scheduler:
            return {task_id: seen(GONE, ANEW) for task_id in task_ids}
        return {task_id: read_seen(told["tasks"].get(task_id)) for task_id in task_ids}

    def read(self, task_id: str, offset: int, limit: int) -> tuple[str, int, int] | None:
        """Output from a byte on, as `Spool.read`; None: it is not there any more."""
        piece = self.there(self.ask("read", task_id=task_id, what="output", offset=offset, limit=min(limit, PIECE)))
        return None if piece is None else (piece["text"], piece.get("next", offset), piece.get("gone", 0))

    def record(self, task_id: str, seen: Seen) -> Record | None:
        """What a task has come to; None: that is lost with its worker. Raises ValueError: it is none."""
        text = seen["record"]
        if text is None:
            text = self.loop.run(whole_record(self, task_id))
        return read_record(text) if text else None

    def withdraw(self, task_id: str) -> bool:
        """Have a task that never came there never begin. Returns False when it is there."""
        return task_id in (self.ask("withdraw", task_ids=[task_id]) or ())

    def cancel(self, task_id: str, reason: str, seconds: float) -> bool:
        """Stop a task. Returns whether it has ended by now."""
        said = to_text(reason)
        answer = self.ask("cancel", seconds + PATIENCE, task_id=task_id, reason=said, offset=0, wait=seconds)
        return bool(answer and answer["ended"])

    def forget(self, task_ids: Sequence[str]) -> None:
        """Their ends are stored. Should the cluster not hear of it, it keeps them."""
        with contextlib.suppress(ExecutorUnavailableError):
            self.ask("forget", task_ids=list(task_ids))


async def whole_record(line: Line, task_id: str) -> str:
    """The record of a task that its worker keeps; empty where that is gone."""
    pieces: list[str] = []
    while True:
        offset = sum(map(len, pieces))
        asking = line.ask_there("read", task_id=task_id, what="record", offset=offset, limit=PIECE)
        piece = line.there(await asking)
        if piece is None:
            return ""
        pieces.append(piece["text"])
        if len(piece["text"]) < PIECE:
            return "".join(pieces)
