"""
The extension of a cluster's scheduler: which tasks of ours there are, and that each is begun once.

It is used on the scheduler's own event loop only, and imported by nobody but the scheduler and who sends it there.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import pickle
from collections import OrderedDict
from itertools import count
from typing import TYPE_CHECKING, Any

from distributed.diagnostics.plugin import SchedulerPlugin

from executor.engines._entries import Entry, Host, Share
from executor.engines._wire import ENDED, GONE, NAME, PROTOCOL, QUEUED, RUNNING, UNKNOWN, Seen, seen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distributed import Scheduler

MOST_SETUPS = 256
MOST_TOGETHER = 16  # calls in a share
MOST_REFUSED = 10_000
QUIET = 30.0  # seconds after which a watching host is answered though there is nothing new: a dead line is found out
SHORT = 0.02  # seconds after which a host is told that a call has begun: most are told of with their end
TOGETHER = 0.02  # seconds for calls to gather, while those that were given to the cluster before are at work
BETWEEN = 0.01  # seconds between two answers to a watching host: what has changed by then is told at once
FORWARDED = 2.5  # seconds for a worker to answer: who asks waits for 3
DEAD = "the worker {worker} that ran it is gone"
RESTARTED = "the cluster was restarted"


class Tasks(SchedulerPlugin):
    """
    The tasks of all hosts.

    What hosts submit is given to the cluster by a client in here: whether the host lives makes no difference. `begin`
    marks a task, once; a second start is refused, whoever has asked for it.
    """

    idempotent = True
    name = NAME

    async def start(self, scheduler: Scheduler) -> None:
        """The scheduler has taken it in."""
        self._scheduler = scheduler
        self._entries: dict[str, Entry] = {}
        self._unplaced: dict[str, bytes] = {}  # calls that the cluster has not been given yet
        self._placing = False  # whether that is about to happen
        self._placed = 0.0  # when it was last given any, by the loop's clock, and which
        self._last: list[Entry] = []
        self._shares: dict[str, Share] = {}  # by their keys
        self._hosts: dict[str, Host] = {}
        self._numbers = count(1)  # of changes, for all hosts: one that was forgotten meanwhile has heard up to its last
        self._client: Any = None
        self._connecting = asyncio.Lock()
        self._setups: OrderedDict[str, bytes] = OrderedDict()
        self._refused: OrderedDict[str, None] = OrderedDict()  # withdrawn before they came
        self._at: dict[str, set[str]] = {}  # the tasks of which each worker has something
        for word in ("hello", "offer", "submit", "withdraw", "begin", "watch", "probe", "read", "cancel", "forget"):
            scheduler.handlers[f"toolexec_{word}"] = getattr(self, f"on_{word}")
        for word in ("news", "end"):  # to which there is no answer
            scheduler.stream_handlers[f"toolexec-{word}"] = getattr(self, f"on_{word}")

    # What the scheduler says -------------------------------------------------------------------------------------

    async def before_close(self) -> None:
        """The scheduler is about to close."""
        client, self._client = self._client, None
        if client is not None:
            await client.close(1.0)

    def transition(self, key: Any, start: Any, finish: Any, *args: Any, **kwargs: Any) -> None:
        """A task has gone wrong outside of our part of it."""
        del start, args, kwargs
        if finish != "erred" or (share := self._shares.get(key)) is None:
            return
        said = getattr(self._scheduler.tasks.get(key), "exception_text", "") or "it failed on the cluster"
        for task_id in share.left:
            entry = self._entries[task_id]
            if entry.state in (QUEUED, RUNNING):
                self._gone(entry, said if entry.state == RUNNING else f"it could not be started: {said}")

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """A worker is gone, and with it what it ran."""
        del scheduler
        for task_id in self._at.pop(worker, ()):
            entry = self._entries[task_id]
            entry.kept = False
            if entry.state == RUNNING or (entry.state == ENDED and entry.record is None):
                self._gone(entry, DEAD.format(worker=worker))
                self._release(entry)  # else it would be started on another worker, where `begin` would refuse it

    def restart(self, scheduler: Scheduler) -> None:
        """All that ran is gone."""
        del scheduler
        for entry in self._entries.values():
            if entry.state in (QUEUED, RUNNING):
                self._gone(entry, RESTARTED)

    def _gone(self, entry: Entry, why: str) -> None:
        entry.state, entry.why = GONE, why
        self._changed(entry)

    def _changed(self, entry: Entry, seconds: float = 0.0) -> None:
        """Its host is told, at the latest after so many seconds."""
        host = self._hosts.get(entry.host)
        if host is not None:
            host.number = entry.number = next(self._numbers)
            host.changed[entry.task_id] = None
            if seconds:
                asyncio.get_running_loop().call_later(seconds, host.news.set)
            else:
                host.news.set()

    # What hosts say ----------------------------------------------------------------------------------------------

    def on_hello(self) -> dict[str, Any]:
        """Who is here."""
        return {"protocol": PROTOCOL, "id": self._scheduler.id}

    def on_offer(self, digest: str, setup: bytes) -> None:
        """What workers are to make an executor of."""
        self._setups[digest] = setup
        self._setups.move_to_end(digest)
        while len(self._setups) > MOST_SETUPS:
            self._setups.popitem(last=False)

    async def on_submit(self, host: str, task_ids: list[str], calls: list[bytes]) -> bool:
        """Calls that workers are to carry out; each as `sent`. Answers, which a scheduler that is not ours does not."""
        await self._connected()
        for task_id, call in zip(task_ids, calls, strict=True):
            if task_id not in self._entries and task_id not in self._refused:  # else asked for twice, or too late
                self._entries[task_id] = Entry(task_id, host)
                self._hosts.setdefault(host, Host()).tasks.add(task_id)
                self._unplaced[task_id] = call
        if not self._unplaced or self._placing:
            return True
        if any(entry.state in (QUEUED, RUNNING) for entry in self._last):
            self._placing = True
            asyncio.get_running_loop().call_at(self._placed + TOGETHER, self._place)
        else:
            self._place()
        return True

    def _place(self) -> None:
        """Give the cluster the calls that have come, in shares: one for each worker, if they are short enough."""
        from executor.engines._named import run_named_tools

        self._placing, self._placed = False, asyncio.get_running_loop().time()
        calls, self._unplaced = self._unplaced, {}
        known = (self._entries.get(task_id) for task_id in calls)
        new = self._last = [entry for entry in known if entry is not None and entry.state == QUEUED]
        if not new:
            return
        each = min(MOST_TOGETHER, -(-len(new) // max(1, len(self._scheduler.running))))
        shares = [Share(new[at : at + each]) for at in range(0, len(new), each)]
        keys = [share.key for share in shares]
        sent = [pickle.dumps([calls[task_id] for task_id in share.left]) for share in shares]
        self._shares.update(zip(keys, shares, strict=True))
        try:
            futures = self._client.map(run_named_tools, keys, sent, key=keys, pure=False, retries=0)
        except Exception as error:  # noqa: BLE001 -- whatever it is: whose calls these are would wait for ever
            for entry in new:
                self._gone(entry, f"it could not be started: {error!r}")
                self._release(entry)
            return
        for share, future in zip(shares, futures, strict=True):
            share.future = future

    def on_withdraw(self, task_ids: list[str]) -> list[str]:
        """Take back what a host does not know to be here. Returns those that no worker will begin from now on."""
        withdrawn = []
        for task_id in task_ids:
            entry = self._entries.get(task_id)
            if entry is None:
                self._refused[task_id] = None
                while len(self._refused) > MOST_REFUSED:
                    self._refused.popitem(last=False)
            elif entry.state == QUEUED:
                self._gone(entry, "it was withdrawn")
                self._release(entry)
            else:
                continue
            withdrawn.append(task_id)
        return withdrawn

    async def _connected(self) -> Any:
        """Our client, which holds what is submitted."""
        from distributed import Client, Security

        async with self._connecting:
            if self._client is None:
                scheduler = self._scheduler
                known: Any = scheduler.security
                security = Security(  # type: ignore[no-untyped-call]  # distributed is typed in parts
                    tls_ca_file=known.tls_ca_file,
                    tls_client_cert=known.tls_scheduler_cert,
                    tls_client_key=known.tls_scheduler_key,
                    require_encryption=known.require_encryption,
                )
                self._client = await Client(  # type: ignore[no-untyped-call]  # as above
                    scheduler.address, asynchronous=True, set_as_default=False, security=security, name=NAME
                )
        return self._client

    async def on_watch(self, host: str, after: int, known: list[str] | None) -> dict[str, Any]:
        """
        What has changed of a host's tasks, as soon as something has.

        Args:
            after: The number up to which the host has heard.
            known: All that it knows of, where it has to be told everything anew.
        """
        found = self._hosts.setdefault(host, Host())
        for task_id in list(found.changed):
            entry = self._entries.get(task_id)
            if entry is None or entry.number <= after:
                del found.changed[task_id]
        told: dict[str, Seen] = {}
        if known is not None:
            told = {task_id: self._told(task_id) for task_id in known}
        else:
            await self._news_of(found)
        found.answered = asyncio.get_running_loop().time()
        told |= {task_id: self._told(task_id) for task_id in found.changed}
        return {"number": found.number, "changed": json.dumps(told, default=str)}  # Dask would look into all of it

    @staticmethod
    async def _news_of(host: Host) -> None:
        """Wait until something has changed of its tasks, and a little for what else has."""
        host.watching += 1
        try:
            if not (host.news.is_set() and host.changed):
                host.news.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(QUIET):
                        await host.news.wait()
            await asyncio.sleep(host.answered + BETWEEN - asyncio.get_running_loop().time())
        finally:
            host.watching -= 1

    def on_probe(self, task_ids: list[str]) -> dict[str, Any]:
        """Which scheduler this is, and what is known of tasks, whoever asks."""
        return {"id": self._scheduler.id, "tasks": {task_id: self._told(task_id) for task_id in task_ids}}

    def _told(self, task_id: str) -> Seen:
        entry = self._entries.get(task_id)
        return entry.told() if entry is not None else seen(UNKNOWN)

    async def on_read(self, task_id: str, what: str, offset: int, limit: int) -> dict[str, Any] | None:
        """
        Part of the output (*what*) of a task, or of its record, from its worker.

        Returns:
            ``text``, and of an output ``next`` and ``gone``; only ``away`` where the worker does not answer now; None:
            it is not there any more.
        """
        entry = self._entries.get(task_id)
        if entry is None or entry.worker is None:
            return None
        try:
            return await self._forward(entry.worker, "read", task_id=task_id, what=what, offset=offset, limit=limit)
        except OSError:
            return {"away": True} if entry.worker in self._scheduler.workers else None

    async def on_cancel(self, task_id: str, reason: str, offset: int, wait: float) -> dict[str, Any] | None:
        """
        Stop a task.

        Args:
            offset: The byte of its output from which it is told in the answer.
            wait: How many seconds its end is waited for.

        Returns:
            ``ended``, and ``text`` and ``next`` of the output; None: nobody can be told.
        """
        entry = self._entries.get(task_id)
        if entry is None:
            return None
        if entry.state == QUEUED:
            self._gone(entry, reason)
            self._release(entry)
            return {"ended": True, "text": "", "next": offset}
        if entry.state != RUNNING or entry.worker is None:
            return {"ended": True, "text": "", "next": offset}
        asked = {"task_id": task_id, "reason": reason, "offset": offset, "wait": wait}
        with contextlib.suppress(OSError):
            return await self._forward(entry.worker, "cancel", **asked)
        return None

    async def _forward(self, worker: str, word: str, **asked: Any) -> dict[str, Any] | None:
        """Ask a worker. Raises OSError, as a closed connection and a TimeoutError are: it does not answer."""
        if worker not in self._scheduler.workers:
            return None
        async with asyncio.timeout(FORWARDED):
            found: dict[str, Any] | None = await getattr(self._scheduler.rpc(worker), f"toolexec_{word}")(**asked)
        return found

    async def on_forget(self, task_ids: list[str]) -> None:
        """The store has their ends."""
        kept: dict[str, list[str]] = {}
        for task_id in task_ids:
            entry = self._entries.pop(task_id, None)
            if entry is None:
                continue
            if entry.worker is not None and (there := self._at.get(entry.worker)) is not None:
                there.discard(task_id)
            if entry.kept and entry.worker is not None:
                kept.setdefault(entry.worker, []).append(task_id)
            host = self._hosts.get(entry.host)
            if host is not None:
                host.tasks.discard(task_id)
                host.changed.pop(task_id, None)
                if not host.tasks and not host.watching:
                    del self._hosts[entry.host]
            self._release(entry)
        for worker, ids in kept.items():
            with contextlib.suppress(OSError):
                await self._forward(worker, "forget", task_ids=ids)

    def _release(self, entry: Entry) -> None:
        """The cluster has no more to do with it, and may forget its share once that is so of all in there."""
        share = entry.share
        if share is None:
            return
        share.left.discard(entry.task_id)
        if not share.left and self._shares.pop(share.key, None) is not None and share.future is not None:
            share.future.release()

    # What workers say --------------------------------------------------------------------------------------------

    def on_begin(self, worker: str, task_ids: list[str], setups: list[str]) -> dict[str, Any]:
        """
        A worker is about to begin tasks.

        Args:
            setups: The digests of those that it has not made yet.

        Returns:
            ``first``: the tasks that it may begin, since nobody has been told so before; and ``setups``.
        """
        first = [task_id for task_id in task_ids if self._begins(task_id, worker)]
        found = {digest: self._setups[digest] for digest in setups if digest in self._setups}
        for digest in found:
            self._setups.move_to_end(digest)
        return {"first": first, "setups": found}

    def _begins(self, task_id: str, worker: str) -> bool:
        entry = self._entries.get(task_id)
        if entry is None or entry.state != QUEUED or not self._has(worker, entry.share):
            return False
        entry.state, entry.worker = RUNNING, worker
        self._at.setdefault(worker, set()).add(task_id)
        self._changed(entry, SHORT)
        return True

    def _has(self, worker: str, share: Share | None) -> bool:
        """Whether the cluster has given it to this worker: one that was given up is late, and its end nobody hears."""
        task = self._scheduler.tasks.get(share.key) if share is not None else None
        return task is not None and task.processing_on is not None and task.processing_on.address == worker

    def on_news(self, worker: str, news: Iterable[tuple[str, int, list[Any] | None]]) -> None:
        """How far tasks are."""
        for task_id, size, progress in news:
            entry = self._entries.get(task_id)
            if entry is not None and entry.worker == worker and entry.state == RUNNING:
                entry.size, entry.progress = size, progress
                self._changed(entry)

    def on_end(self, worker: str, ended: Iterable[tuple[str, str | None, int, bool]]) -> None:
        """
        Tasks have ended: of each the record (None: its worker keeps that), the bytes of its output, and whether the
        worker keeps anything of it.
        """
        for task_id, record, size, kept in ended:
            entry = self._entries.get(task_id)
            if entry is not None and entry.worker == worker and entry.state == RUNNING:
                entry.state, entry.record, entry.size, entry.kept = ENDED, record, size, kept
                self._changed(entry)
