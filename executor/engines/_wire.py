"""What host, scheduler and workers say to one another: names, forms, limits."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from executor._json import to_text
from executor.values import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor.registry._recipe import Recipe
    from executor.values._profile import Profile

PROTOCOL = 2  # of the words below; host, scheduler and workers must have the same
NAME = "toolexec"  # of the scheduler's extension
# How the keys of our tasks begin: then the host, "|", and the id of the first call. What it learns of tasks
# the scheduler keeps for ever, under what is before the "-".
KEY = "toolexec-"
INLINE = 256 * 1024  # characters of a record that the scheduler keeps; a longer one stays on the worker
WHOLE = 16 * 1024  # bytes of output that are in the record itself
PIECE = 1024 * 1024  # bytes of output, or characters of a record, that are fetched at once

# The states of a task on a cluster.
QUEUED, RUNNING, ENDED, GONE, UNKNOWN = "queued", "running", "ended", "gone", "unknown"


class Seen(TypedDict):
    """
    What the scheduler knows of a task.

    Attributes:
        state: One of the five above.
        worker: The address of the worker that has begun it, or None.
        size: Bytes of output so far.
        progress: The last ``[done, total, message]``, or None.
        record: JSON of a `Record`; None where it has not ended, or the worker has it.
        why: What is to be said of a task that is gone.
    """

    state: str
    worker: str | None
    size: int
    progress: list[Any] | None
    record: str | None
    why: str | None


class Record(TypedDict):
    """
    What a call came to, as the worker says it.

    Attributes:
        status: The final state of the task.
        success: Whether it succeeded.
        value, more: JSON, as the store has it.
        size: Bytes of output.
        output: All of it, where that is little, else None.
        progress: The last one, or None.
        started, ended: Seconds since the epoch, by the worker's clock.
    """

    status: str
    success: bool
    value: str
    more: str | None
    size: int
    output: str | None
    progress: list[Any] | None
    started: float
    ended: float


@dataclass(frozen=True, slots=True)
class Setup:
    """
    What a worker makes an executor of, once, for all calls of one host.

    Attributes:
        make: Makes an executor; found by name.
        recipe: The plugins, or None.
        plugins: What tells the host's plugins from others of the same names.
    """

    make: Callable[..., Any]
    recipe: Recipe | None
    plugins: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Order:
    """
    One call that was judged, beside its id, its tool's name and its arguments.

    Attributes:
        setup: The digest of its `Setup`.
        call_id: The call's own id.
        definition: The hash of the tool's definition.
        tool: Pickled: the tool without its function, if it was registered at the executor itself, and the module and
            the qualified name of that. None for a plugin's.
        timeout: Its time limit in seconds, from when it begins.
        confine: The box that it is to run in, or None.
        permission: What was decided, or None: nobody was to be asked.
        judge: The pickled permission plugin that judges the calls that its tool makes, or None: those are denied.
        context: What that is given, pickled, or None.
        output_cap: How many bytes of its output are kept.
    """

    setup: str
    call_id: str
    definition: str
    tool: bytes | None
    timeout: float | None
    confine: Profile | None
    permission: Mapping[str, Any] | None
    judge: bytes | None
    context: bytes | None
    output_cap: int


def key_of(host: str, task_id: str) -> str:
    """The key of a task of the cluster: of calls the first of which is that one, of this host."""
    return f"{KEY}{host}|{task_id}"


def sent(task_id: str, name: str, args_json: str, order: bytes) -> bytes:
    """A call, with its pickled `Order`, as a worker has it; the scheduler does not look into it."""
    return pickle.dumps((task_id, name, args_json, order))


def sent_progress(reached: tuple[float, float | None, str | None] | None) -> list[Any] | None:
    """
    Progress as it can be sent, whatever the tool has said.

    A message of Dask's that cannot be sent ends the connection of the worker, and all that it runs.
    """
    if reached is None:
        return None
    done, total, message = reached
    return [
        _number(done),
        _number(total) if total is not None else None,
        to_text(message) if message is not None else None,
    ]


def _number(value: float) -> float:
    """What is too long for a message, or no number, as one that is not."""
    try:
        return value if type(value) is int and value.bit_length() < 64 else float(value)
    except Exception:  # noqa: BLE001 -- what a tool has said may be anything
        return 0.0


def read_record(text: str) -> Record:
    """A record from its JSON, with what is reckoned with in it. Raises ValueError: it is none."""
    try:
        found: Record = json.loads(text)
        missing = Record.__required_keys__ - found.keys()
        if missing:
            raise ValueError(f"it has no {min(missing)}")
        if not TaskStatus(found["status"]).final:
            raise ValueError(f"it has ended as {found['status']!r}, which is no end")
        if not math.isfinite(found["started"]) or not math.isfinite(found["ended"]):
            raise ValueError("its times are no numbers")
        json.loads(found["value"])
    except (TypeError, AttributeError, OverflowError, RecursionError) as error:
        # Something else stands where a field should.
        raise ValueError(f"it is no record: {error}") from error
    return found


def read_seen(found: Any) -> Seen:
    """What a scheduler says of a task, in which a worker's words are. Where they make no sense, the task is gone."""
    try:
        texts, progress = [found[key] for key in ("worker", "record", "why")], found["progress"]
        if (
            isinstance(found["state"], str)
            and isinstance(found["size"], int)
            and all(text is None or isinstance(text, str) for text in texts)
            and (progress is None or len([*progress]) == len(("done", "total", "message")))
        ):
            told: Seen = found
            return told
    except (TypeError, KeyError):  # it has other fields, or none
        pass
    # Begun it may be: with no worker it would be said that nothing was.
    return {**seen(GONE, "what its worker said of it cannot be read"), "worker": "its worker"}


def seen(state: str, why: str | None = None) -> Seen:
    """What is to be said of a task of which nothing else is known."""
    return {"state": state, "worker": None, "size": 0, "progress": None, "record": None, "why": why}
