"""What is done for owners that are gone, and the cleaning up of what nobody needs any more."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from executor.errors import ExecutorUnavailableError
from executor.tasks._changes import claim_cleaning, enter, finish, interrupt, leave_to_engine, remove, remove_owner
from executor.tasks._owners import Notes, is_alive, notes, with_notes
from executor.tasks._owners import clean as clean_locks
from executor.tasks._owners import remove as remove_lock
from executor.tasks._processes import birth, boot_of, end_groups
from executor.tasks._spool import Group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from executor.tasks._files import OutputFolder
    from executor.tasks._store import Store

T = TypeVar("T")
CLEAN_EVERY = DAY = 24 * 3600.0
KEEP = 30 * DAY  # how long an acknowledged task stays …
KEEP_UNREAD = 90 * DAY  # … and one that nobody acknowledged
MOST_OUTPUT = 1024**3  # bytes of output and results of all tasks together; past it the oldest ended ones go
BATCH, MOST_AT_ONCE = 250, 2000  # tasks that are removed in a transaction; the more, the fewer pages are written twice
BATCH_SECONDS = 0.1  # that a transaction takes, about: others write in between, and wait for a quarter of a second
INSIST, PAUSE = 10.0, 0.1  # seconds that a prune which has begun tries to go on, and between two tries
FREE_PAGES = 64  # of the file that may stay unused
VACUUM_PAGES = 128  # that are given back in a transaction at least


class Write(Protocol):
    """Writes to the store, and waits for it; see `StoreThread.do`."""

    def __call__(self, apply: Callable[[sqlite3.Connection], T], /) -> T: ...


class Life(Enum):
    """
    What is known of an owner.

    `LOST` is one of whom there is neither a lock nor an entry that tells its process from others: its tasks are
    interrupted, and no process is ended in its name.
    """

    ALIVE = "alive"
    GONE = "gone"
    LOST = "lost"


def gone(pid: int) -> str:
    """The error of a task whose process has ended."""
    return (
        f"Interrupted: the process {pid} that ran this task ended before it did. What it did until then may have had "
        "effects; its output so far is kept. Nothing is started again by itself"
    )


def life(store: Store, owners: Path, owner: str) -> Life:
    """Whether an owner is there."""
    alive = is_alive(owners, owner)
    if alive is not None:
        return Life.ALIVE if alive else Life.GONE
    # Its file is gone: it has ended in order, or somebody has tidied up and it still runs.
    known = store.owner(owner)
    if known is None or known[1] is None:
        return Life.LOST
    return Life.ALIVE if birth(known[0]) == known[1] else Life.GONE


def sweep(
    store: Store, write: Write, output: OutputFolder, owners: Path, own: str, among: Iterable[str] | None = None
) -> int:
    """
    Interrupt the tasks of dead owners, and end the process groups that still work for them.

    Args:
        own: The owner that is this process.
        among: Look at these owners only.

    Returns:
        How many tasks were interrupted.

    Raises:
        ExecutorUnavailableError: The store cannot be used.
    """
    live = store.live_of_others(own)
    for task_id, owner, entry in store.speculative():
        if owner != own:
            live.setdefault(owner, []).append((task_id, _groups(entry)))
    if among is None:
        for owner in {*store.owners(), *with_notes(owners)} - {own}:
            live.setdefault(owner, [])
    wanted = live.keys() if among is None else live.keys() & set(among)
    swept = 0
    for owner in wanted:
        tasks = live[owner]
        found = life(store, owners, owner)
        if found is Life.ALIVE:
            continue
        noted = notes(owners, owner)
        recorded = [*(groups for _, groups in tasks), *store.abandoned(owner), *(noted.groups if noted else ())]
        if found is Life.GONE:  # first: whoever is killed in the middle of it leaves all of it to the next
            _end_groups(recorded)
        swept += _bury(store, write, output, owners, owner, noted)
    if among is None:
        clean_locks(owners, live.keys() | with_notes(owners))
    return swept


def end_orphans(owners: Path, own: str) -> None:
    """End the process groups that dead owners in a folder without a store have noted, and forget these owners."""
    for owner in with_notes(owners) - {own}:
        noted = notes(owners, owner) if is_alive(owners, owner) is False else None
        if noted is not None:
            _end_groups(noted.groups)
            remove_lock(owners, owner)
    clean_locks(owners, {own})


def _groups(entry: str) -> str:
    try:
        return str(json.loads(entry)["groups"])
    except (ValueError, KeyError, TypeError):  # damaged
        return "[]"


def _end_groups(recorded: Iterable[str]) -> None:
    groups: list[Group] = []
    for each in recorded:
        try:
            groups += [Group(int(number), str(born), *map(str, mark)) for number, born, *mark in json.loads(each)]
        except (ValueError, TypeError):  # damaged
            continue
    if groups:
        end_groups(groups)


def _bury(store: Store, write: Write, output: OutputFolder, owners: Path, owner: str, noted: Notes | None) -> int:
    """Give the tasks of one dead owner the ends that it has noted, and interrupt the others. Returns how many."""
    known = store.owner(owner)
    # After a power cut notes may be missing: then a task that nobody was told of is better than one that is lost.
    in_doubt = noted is None or known is None or known[1] is None or boot_of(known[1]) != boot_of(None)
    dropped: list[str] = []

    def apply(connection: sqlite3.Connection) -> int:
        dropped.clear()
        for each in noted.tasks if noted is not None else ():
            _take_over(connection, each)
        for task_id, entry in connection.execute(
            "SELECT id, entry FROM speculative WHERE owner = ?", (owner,)
        ).fetchall():
            if in_doubt or (noted is not None and task_id in noted.told):
                enter(connection, json.loads(entry))
            else:
                dropped.append(task_id)
        leave_to_engine(connection, owner)  # which goes on without it
        found = connection.execute("SELECT id, pid FROM task WHERE owner = ? AND ended IS NULL", (owner,)).fetchall()
        sizes = [(task_id, output.size(task_id)) for task_id, _ in found]
        interrupted = interrupt(connection, sizes, owner, gone(found[0][1] if found else 0))
        remove_owner(connection, owner)
        return interrupted

    interrupted = write(apply)
    for task_id in dropped:
        output.remove(task_id)
    remove_lock(owners, owner)
    return interrupted


def _take_over(connection: sqlite3.Connection, noted: dict[str, Any]) -> None:
    """A task that its owner could not store, with its end if it had one."""
    try:
        enter(connection, noted["values"])
        if noted.get("final") is not None:
            finish(connection, noted["final"])
    except (KeyError, TypeError, AttributeError, sqlite3.ProgrammingError):  # damaged
        return


def clean_daily(store: Store, write: Write, output: OutputFolder, owners: Path) -> Iterator[int]:
    """`clean`, if nobody has done so for a day."""
    last = store.cleaned()
    if last is not None and 0 <= time.time() - last < CLEAN_EVERY:  # a clock that was ahead is no reason to wait
        return
    if write(lambda connection: claim_cleaning(connection, last)):
        yield from clean(store, write, output, owners, last or 0.0)  # never before: nothing is old yet


def clean(store: Store, write: Write, output: OutputFolder, owners: Path, last: float | None = None) -> Iterator[int]:
    """
    Forget old tasks, and then the oldest as long as there is too much output: a turn at a time, since it may be much.

    Args:
        last: When it was done last. Ages count to then: of a clock that is ahead now nothing is old that was not
            before, and who sets it right within a day has lost nothing.

    Yields:
        How many tasks each turn has forgotten.

    Raises:
        ExecutorUnavailableError: The store cannot be used.
    """
    now = time.time() if last is None else min(last, time.time())
    for find in (
        lambda: store.ended_before(now - KEEP, acknowledged_only=True), lambda: store.ended_before(now - KEEP_UNREAD),
    ):  # fmt: skip
        for forgotten, _ in _forgetting(write, output, find):
            yield len(forgotten)
    needed = {owner for _, owner, _ in store.speculative()} | store.live_of_others("").keys()
    for owner in store.owners():
        if owner not in needed and is_alive(owners, owner) is not True:
            write(lambda connection, owner=owner: remove_owner(connection, owner))  # type: ignore[misc]  # a loop's name
    clean_locks(owners, needed | with_notes(owners))
    yield 0
    for forgotten, _ in _forgetting(write, output, _too_much(store, output, now)):
        yield len(forgotten)
    for _ in _giving_back(store, write):
        yield 0


def forget(write: Write, output: OutputFolder, find: Callable[[], list[str]]) -> list[str]:
    """
    Remove tasks and their output, a few at a time, and leave others as much time.

    Args:
        find: Some that are to go; called again until there are none.

    Returns:
        Those that were removed.
    """
    removed: list[str] = []
    for some, took in _forgetting(write, output, find, INSIST):
        removed += some
        threading.Event().wait(max(0.0, took))
    return removed


def _forgetting(
    write: Write, output: OutputFolder, find: Callable[[], list[str]], insist: float = 0.0
) -> Iterator[tuple[list[str], float]]:
    """
    What each turn has removed, and for how many seconds others could write less than it did. Once begun it insists for
    so many seconds.
    """
    size, insisting = BATCH, 0.0
    while found := _insisting(find, insisting):
        while found:
            batch, found = found[:size], found[size:]
            took = _insisting(partial(_timed, partial(write, partial(_remove, batch))), insisting)
            size, insisting = max(BATCH, min(MOST_AT_ONCE, int(size * BATCH_SECONDS / max(took, 1e-4)))), insist
            yield batch, took - _timed(partial(_remove_files, output, batch))  # meanwhile others could write


def _remove(task_ids: list[str], connection: sqlite3.Connection) -> None:
    remove(connection, task_ids)


def _remove_files(output: OutputFolder, task_ids: list[str]) -> None:
    for task_id in task_ids:
        output.remove(task_id)


def _insisting(do: Callable[[], T], seconds: float) -> T:
    """Do a piece of much work. For some seconds others who are in its way are no reason to leave it."""
    end, rest = time.monotonic() + seconds, threading.Event()
    while True:
        try:
            return do()
        except ExecutorUnavailableError:
            if time.monotonic() >= end:
                raise
        rest.wait(PAUSE)


def _timed(do: Callable[[], object]) -> float:
    """Do it. Returns the seconds that it took."""
    began = time.monotonic()
    do()
    return time.monotonic() - began


def give_back(store: Store, write: Write) -> None:
    """Make the file shorter by what is unused in it, a little at a time, and leave others as much time."""
    for took in _giving_back(store, write, INSIST):
        threading.Event().wait(took)


def _giving_back(store: Store, write: Write, insist: float = 0.0) -> Iterator[float]:
    pages = VACUUM_PAGES
    if not store.rows("PRAGMA auto_vacuum")[0][0]:
        return
    while (free := _insisting(lambda: store.rows("PRAGMA freelist_count"), insist)[0][0]) > FREE_PAGES:
        took = _insisting(partial(_timed, partial(write, partial(_vacuum, min(pages, free)))), insist)
        pages = max(VACUUM_PAGES, min(2048, int(pages * BATCH_SECONDS / max(took, 1e-4))))
        yield took


def _vacuum(pages: int, connection: sqlite3.Connection) -> None:
    for _ in range(pages):  # one by one: Pythons before 3.14 end the statement after the first page
        connection.execute("PRAGMA incremental_vacuum(1)")


def _too_much(store: Store, output: OutputFolder, now: float) -> Callable[[], list[str]]:
    """Remove output that belongs to no task; gives the oldest tasks, while all output together is too much."""
    known = {output.log(task_id).with_suffix("") for task_id in store.ids()}
    sizes = {}
    for stem in output.stems():
        if stem in known:
            sizes[stem] = output.disk_use(stem)
        elif output.modified(stem) < now - DAY:  # younger ones may be of a call that is about to become a task
            output.remove_all(stem)
    excess = sum(sizes.values()) - MOST_OUTPUT
    going = list(_oldest(store, output, sizes, excess)) if excess > 0 else []
    return lambda: [going.pop() for _ in range(min(len(going), 1000))]


def _oldest(store: Store, output: OutputFolder, sizes: dict[Path, int], excess: int) -> Iterator[str]:
    for task_id in store.oldest_ended():
        if excess <= 0:
            break
        size = sizes.get(output.log(task_id).with_suffix(""), 0)
        if size:
            excess -= size
            yield task_id
