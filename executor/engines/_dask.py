"""
The engine on a cluster of Dask: `distributed` places calls and finds workers; ids, states and output are ours.

Everything that is written with asyncio runs on one thread of the engine's own (executor-engine), which no call holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import pickle
import secrets
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from executor._json import to_text
from executor._log import warn
from executor.engines._line import ANEW, PATIENCE, Line, closed, unwaited, whole_record, why
from executor.engines._where import checked
from executor.engines._wire import GONE, NAME, PROTOCOL, UNKNOWN, Seen, read_seen, seen
from executor.errors import BackendUnavailableError, ExecutorUnavailableError
from executor.threads._fork import of_this_process
from executor.threads._gate import Gate

if TYPE_CHECKING:
    from executor.engines._remote import Remote
    from executor.engines._wire import Setup

CONNECT = 3.0  # seconds to reach the scheduler
WATCH = 45.0  # seconds without an answer after which the line is taken for dead: it answers within 30
MOST_AT_ONCE = 200  # calls in one message
REACH_AGAIN = 0.5, 5.0  # seconds between two tries to reach a scheduler that is away: at first, at most
FORGET = 0.05  # seconds between two messages of what the scheduler may forget
STOPPING = 0.05  # seconds that a cancel waits for the worker; then the call is abandoned until that answers


class DaskEngine(Line):
    """
    Carries out background calls on a cluster of Dask; for ``ToolExecutor(engine=…)``.

    It may serve several executors, and is its maker's to close. Nothing is connected before it is first needed.

    Args:
        address: The scheduler's, as it prints it: ``tls://host:port``, or ``tcp://host:port`` on this machine.
        ca, cert, key: The files of TLS.
        insecure: Whether a scheduler on another machine may be reached without TLS.

    Raises:
        ValueError: One of them cannot be meant; the message says what to write.
    """

    name = "dask"

    def __init__(
        self,
        address: str,
        *,
        ca: str | None = None,
        cert: str | None = None,
        key: str | None = None,
        insecure: bool = False,
    ) -> None:
        super().__init__(checked(address, ca, cert, key, insecure=insecure))
        self._begin()
        of_this_process.add(self)

    def _begin(self) -> None:
        """As it is made, and in the child of a fork, which has no connection and no calls."""
        self._opening = threading.Lock()  # held while it is connected to the scheduler, by the first who needs that
        self._failed: ExecutorUnavailableError | None = None  # of the last try
        self._lock = threading.Lock()  # guards what is to be said to the scheduler; nothing else is taken under it
        self._host = secrets.token_hex(8)  # under this name the scheduler knows whose tasks are whose
        self._rpc = None
        self._scheduler: str | None = None
        self._remotes: dict[str, Remote] = {}
        self._waiting: deque[Remote] = deque()  # to be submitted
        self._offered: set[str] = set()
        self._ended: list[Remote] = []  # to be forgotten by the scheduler, once they are stored
        self._saying = asyncio.Lock()  # held while the scheduler is told that: who leaves waits for that answer
        self._submitting = self._forgetting = self._news = self._watching = self._closing = False
        self._away: str | None = None

    # What hosts ask ----------------------------------------------------------------------------------------------

    def open(self) -> str:
        """
        Have a connection.

        Returns:
            By what any process of the user finds the cluster again.

        Raises:
            ExecutorUnavailableError: It cannot be reached, or is not of this version.
        """
        if self._closing:
            raise closed()
        if self._away is not None:
            raise self.unavailable(self._away)
        failed = self._failed
        if self._scheduler is None:
            with self._opening:
                if self._scheduler is None:
                    if self._failed is not None and self._failed is not failed:  # while this one waited for its turn
                        raise self.unavailable(why(self._failed)) from self._failed
                    try:
                        self.loop.run(self._connect())
                    except ExecutorUnavailableError as error:
                        self._failed = error
                        raise
        assert self._scheduler is not None
        return self.where.ref(self._scheduler)

    def offer(self, setup: Setup) -> str:
        """Have workers know *setup*. Returns its digest. Raises ExecutorUnavailableError."""
        pickled = pickle.dumps(setup)
        digest = hashlib.sha256(pickled).hexdigest()
        if digest not in self._offered:
            self.ask("offer", digest=digest, setup=pickled)
            self._offered.add(digest)
        return digest

    def submit(self, remote: Remote) -> None:
        """
        Give the cluster a call whose task is stored; its end comes to *remote*.

        Who may wait is back when the scheduler has it, and it does not depend on this process any more.
        """
        with self._lock:
            if not self._closing:
                self._remotes[remote.task_id] = remote
                self._waiting.append(remote)
                begin, self._submitting = not self._submitting, True
        if self._closing:
            remote.refused(closed())
            return
        if begin:
            with contextlib.suppress(ExecutorUnavailableError):  # closed just now, which has refused it
                self.loop.start(self._submit(), unwaited)
        if remote.call.blocking:
            remote.accepted.acquire(timeout=PATIENCE + CONNECT)

    def stop(self, remote: Remote, reason: str) -> bool:
        """Stop a call on its worker. Returns whether it has acknowledged that by now."""
        answered = Gate()
        answers: list[dict[str, Any] | None] = []

        def done(answer: Any, _: BaseException | None) -> None:
            answers.append(answer)
            answered.set()

        offset = remote.got
        said = to_text(reason)
        asking = self.ask_there("cancel", task_id=remote.task_id, reason=said, offset=offset, wait=STOPPING / 2)
        with contextlib.suppress(ExecutorUnavailableError):
            self.loop.start(asking, done)
            answered.wait(STOPPING)
        answer = answers[0] if answers else None
        try:
            remote.take(offset, answer["text"], answer["next"])  # type: ignore[index]  # None: nobody has answered
            return bool(answer["ended"])  # type: ignore[index]  # as above
        except (TypeError, KeyError):  # a worker may have said anything
            return False

    def over(self, remote: Remote) -> None:
        """A call has its end here. Once the store has that, the cluster may forget it."""
        self._remotes.pop(remote.task_id, None)
        with self._lock:
            self._ended.append(remote)
            self._news = True
            begin, self._forgetting = not self._forgetting, True
        if begin:
            with contextlib.suppress(ExecutorUnavailableError):
                self.loop.start(self._forget(), unwaited)

    def leave(self, task_id: str) -> bool:
        """
        This process has no more to do with a task, which goes on, and is whoever's asks for it.

        Returns:
            False when it is not known whether the cluster has it.
        """
        remote = self._remotes.get(task_id)
        if remote is None:
            return True  # it has ended by now
        if remote.has_it:
            remote.leave()
        return remote.has_it

    def release(self, task_id: str) -> None:
        """Hear no more of a task."""
        self._remotes.pop(task_id, None)

    def close(self) -> None:
        """Leave. The calls go on, and whoever asks for their tasks next, in any process, finds how far they are."""
        with self._lock:
            self._closing = True
            waiting, self._waiting = self._waiting, deque()
        for remote in waiting:  # not sent
            self.release(remote.task_id)
            remote.refused(closed())
        for remote in list(self._remotes.values()):
            remote.leave()
        self.loop.close(5.0, self._close_there)

    async def _close_there(self) -> None:
        with contextlib.suppress(ExecutorUnavailableError):
            await self._forget_stored()
        await super()._close_there()

    # On the loop: connecting, submitting, forgetting -------------------------------------------------------------

    async def _connect(self) -> None:
        """Have our extension on the scheduler, and somebody who watches."""
        try:
            from distributed import Client  # noqa: F401 -- whether it is there
        except ImportError as error:
            raise ExecutorUnavailableError(f"Install toolexec[dask] to reach a cluster: {error}") from error
        told = await self.ask_there("hello", CONNECT)
        if told is None:
            await self._extend()
            told = await self.ask_there("hello")
        if not isinstance(told, dict) or told.get("protocol") != PROTOCOL:
            raise self.unavailable(f"its scheduler has another version of toolexec ({told!r}, not {PROTOCOL})")
        self._scheduler = told["id"]
        if not self._watching:
            self._watching = True
            self.loop.start(self._watch(), unwaited)

    async def _extend(self) -> None:
        """Send our extension to the scheduler."""
        from distributed import Client

        from executor.engines._scheduler import Tasks

        where = self.where
        security = where.security() if where.ca else None
        client = Client(  # type: ignore[no-untyped-call]  # distributed is typed in parts
            where.address, asynchronous=True, set_as_default=False, timeout=CONNECT, security=security, name=NAME
        )
        try:
            await client
            await asyncio.wait_for(client.register_plugin(Tasks()), CONNECT)
        except (OSError, TimeoutError) as error:
            raise self.unavailable(why(error)) from error
        except (ImportError, AttributeError) as error:
            raise self.unavailable(f"its scheduler has no toolexec, or another version of it: {error}") from error
        finally:
            with contextlib.suppress(TimeoutError, OSError):
                await client.close(1.0)  # type: ignore[no-untyped-call]  # as above

    async def _submit(self) -> None:
        while batch := self._next_batch():
            wanted = [remote for remote in batch if not remote.over]
            for remote in batch:
                if remote.over:  # it was stopped before: it is not at work anywhere
                    remote.refused(closed())
                elif self._away is not None:
                    remote.refused(self.unavailable(self._away))
            if not wanted or self._away is not None:
                continue
            task_ids, calls = [remote.task_id for remote in wanted], [remote.sent() for remote in wanted]
            try:
                if not await self.ask_there("submit", host=self._host, task_ids=task_ids, calls=calls):
                    raise self.unavailable("it has no toolexec")  # noqa: TRY301 -- one end for both
            except Exception as error:  # noqa: BLE001 -- whatever it is, it is not known then which of them were taken
                self.loop.start(self._withdraw(wanted, error), unwaited)
            else:
                for remote in wanted:
                    remote.taken()

    async def _withdraw(self, remotes: list[Remote], error: Exception) -> None:
        """It is not known which of these the scheduler has taken: take them back, and find out which had begun."""
        while not self.away:  # when it can be reached again, the watch is told of them
            try:
                withdrawn = set(await self.ask_there("withdraw", task_ids=[remote.task_id for remote in remotes]))
            except Exception:  # noqa: BLE001 -- as above
                for remote in remotes:
                    remote.not_known()
                await asyncio.sleep(REACH_AGAIN[0])
                continue
            for remote in remotes:
                if remote.task_id in withdrawn:
                    remote.refused(error)
                else:
                    remote.taken()
            return

    def _next_batch(self) -> list[Remote]:
        with self._lock:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_AT_ONCE))]
            self._submitting = bool(batch)
        return batch

    async def _forget(self) -> None:
        """Until there is nothing to say. What is not stored is left for when the next one ends, or this is closed."""
        while True:
            await asyncio.sleep(FORGET)  # those that end by then go along
            with self._lock:
                self._news = False
            told = False
            with contextlib.suppress(ExecutorUnavailableError):
                told = await self._forget_stored()
            with self._lock:
                self._forgetting = told or self._news
                if not self._forgetting:
                    return

    async def _forget_stored(self) -> bool:
        """Say what may be forgotten. Returns whether there was anything. Raises ExecutorUnavailableError."""
        async with self._saying:
            with self._lock:
                ended, self._ended = self._ended, []
            stored = [remote.task_id for remote in ended if remote.stored]
            try:
                if stored:
                    await self.ask_there("forget", task_ids=stored)
                    ended = [remote for remote in ended if remote.task_id not in set(stored)]
            finally:
                with self._lock:
                    self._ended += ended
            return bool(stored)

    # On the loop: watching ---------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Hear of every change of every call, as long as this is open."""
        after, anew = 0, True
        while not self._closing:  # a cancellation may be lost in what `distributed` awaits
            known = list(self._remotes) if anew else None
            try:
                told = await self.ask_there("watch", WATCH, host=self._host, after=after, known=known)
                if told is None:
                    raise self.unavailable("it has no toolexec")  # noqa: TRY301 -- one end for all
                changed = json.loads(told["changed"])
                after, anew = told["number"], False
            except Exception as error:  # noqa: BLE001 -- whoever answers there may be no scheduler
                if self._closing:
                    return
                await self._reach_again(why(error))
                after, anew = 0, True
                continue
            for task_id, found in changed.items():
                self._hear(task_id, read_seen(found))

    def _hear(self, task_id: str, found: Seen) -> None:
        remote = self._remotes.get(task_id)
        if remote is None:
            return
        if found["state"] == UNKNOWN:
            if remote.given:  # else it is on its way
                never = BackendUnavailableError("The call never reached the cluster", started=False)
                self.loop.start(self._withdraw([remote], never), unwaited)
            return
        remote.hear(found)

    async def _reach_again(self, reason: str) -> None:
        """The scheduler is away. Its calls are what they were, and say so, until it, or another one, is there."""
        self._away = reason
        for remote in list(self._remotes.values()):
            remote.cut_off(f"the cluster at {self.where.address}, which cannot be reached")
        warn(f"The cluster at {self.where.address} cannot be reached, and is tried again: {reason}")
        pause, most = REACH_AGAIN
        before, self._scheduler = self._scheduler, None
        while self._scheduler is None:
            await asyncio.sleep(pause)
            if self._closing:
                return
            pause = min(2 * pause, most)
            with contextlib.suppress(Exception):  # as in `_watch`
                await self._connect()
        self._away = None
        self._offered.clear()
        for remote in list(self._remotes.values()):
            remote.cut_off(None)
            if self._scheduler != before:
                remote.hear(seen(GONE, ANEW))

    @property
    def away(self) -> bool:
        """Whether the scheduler cannot be reached; when it can, everything is told anew."""
        return self._closing or self._away is not None

    @property
    def ready(self) -> bool:
        """Whether a call finds at once that it can be submitted, or cannot: nothing has to be asked before."""
        return self.away or bool(self._offered)

    async def read(self, task_id: str, offset: int, limit: int) -> dict[str, Any] | None:
        """Part of the output of a call; None: it is not there any more. Raises ExecutorUnavailableError."""
        return self.there(await self.ask_there("read", task_id=task_id, what="output", offset=offset, limit=limit))

    async def record(self, task_id: str) -> str:
        """What a call came to whose worker keeps that; empty where it is gone. Raises ExecutorUnavailableError."""
        return await whole_record(self, task_id)
