"""
The events of calls, as records: what was asked, what was decided, what came of it. Secrets are masked in every one.

``args_sha256`` is keyed (HMAC) with a key of this process: two records that one process wrote and whose digests are
equal are of the same arguments, and nobody can try passwords against it.

Stages and their payloads: ``call-start`` {tool, call_id, args, args_sha256}, ``permission-check`` {tool, call_id, args,
allowed, reason, method, confine?}, ``permission-error`` {tool, call_id, args, error}, ``auto-background`` {tool,
call_id, task_id, threshold}, ``call-end`` {tool, call_id, outcome, duration, error?}, ``task-end`` {tool, task_id,
status, duration, error?}.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import deque
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor._log import warn
from executor._mask import keyed_digest, mask, without_hidden
from executor.ownfiles import keep_own
from executor.ownfolders import make_private
from executor.run._limits import names, truth
from executor.threads._fork import fork_safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


# Opened for each record: the file may have been rotated, by us or another process. O_APPEND keeps lines whole.
# No call waits for a reader, should somebody have put a pipe in its place.
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


class _Recorder:
    """Makes a record of an event: masked, numbered, with the time."""

    def __init__(self, *, required: bool, secrets: Iterable[str]) -> None:
        self.required = truth(required, "required")
        self._secrets = frozenset(secret for secret in names(secrets, "secrets") if secret)
        # Guards the number and where records go; file writes happen under it.
        self._lock = fork_safe(self, "_lock", threading.Lock)
        self._number = 0

    def add_secret(self, value: str) -> None:
        """Mask *value* wherever it occurs in records from now on."""
        if value:
            self._secrets |= {value}

    def _make(self, stage: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        return {"stage": stage, "ts": time.time(), **_masked(payload, self._secrets)}


def _masked(payload: Mapping[str, Any], secrets: frozenset[str] = frozenset()) -> dict[str, Any]:
    """What an event has to say, without secrets: a copy, so that who keeps it changes nothing of the call."""
    told = {key: mask(value, secrets) for key, value in payload.items()}
    if "args" in payload:
        told["args_sha256"] = keyed_digest(payload["args"])
    return told


class TokenLedger(_Recorder):
    """
    Records in memory, the newest *limit* of them.

    Args:
        limit: How many records are kept.
        required: Whether a call is refused when its start cannot be recorded.
        secrets: Values to mask wherever they occur; values under keys that look like secrets always are.
    """

    def __init__(self, *, limit: int = 10_000, required: bool = False, secrets: Iterable[str] = ()) -> None:
        super().__init__(required=required, secrets=secrets)
        self._records: deque[dict[str, Any]] = deque(maxlen=limit)

    def record(self, stage: str, payload: Mapping[str, Any]) -> None:
        """Keep one event."""
        record = self._make(stage, payload)
        with self._lock:
            self._number += 1
            record["seq"] = self._number
            self._records.append(record)

    @property
    def records(self) -> list[dict[str, Any]]:
        """What is kept, oldest first."""
        with self._lock:
            return list(self._records)


class JsonLinesLedger(_Recorder):
    """
    Records in a file (mode 0600), one JSON object a line, one write a record, so that processes may share it.

    Args:
        path: The file; its folder is made (0700) if need be.
        max_bytes: When the file would grow past this it becomes ``path.1``, ``path.1`` becomes ``path.2`` …
        backups: How many old files are kept.
        required: Whether a call is refused when its start cannot be recorded.
        secrets: As in `TokenLedger`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int = 16 * 1024 * 1024,
        backups: int = 3,
        required: bool = False,
        secrets: Iterable[str] = (),
    ) -> None:
        super().__init__(required=required, secrets=secrets)
        self.path = Path(path).absolute()  # the program may go to another folder
        self._max_bytes = max_bytes
        self._backups = backups
        self._whole: tuple[int, int] | None = None  # the file and its size, as a whole record left them
        keep_own(path, *(f"{os.fspath(path)}.{number}" for number in range(1, backups + 1)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process writes to the same file."""
        options = {"max_bytes": self._max_bytes, "backups": self._backups, "required": self.required}
        return partial(JsonLinesLedger, self.path, **options, secrets=self._secrets), ()  # type: ignore[arg-type]  # as kept

    def record(self, stage: str, payload: Mapping[str, Any]) -> None:
        """Append one event. Raises OSError when the file cannot be written."""
        record = self._make(stage, payload)
        with self._lock:
            self._number += 1
            record["seq"] = self._number
            record["pid"] = os.getpid()
            line = (json.dumps(record, ensure_ascii=False, default=str) + "\n").encode("utf-8", "replace")
            self._write(line)

    def _write(self, line: bytes) -> None:
        make_private(self.path.parent)
        descriptor = os.open(self.path, _APPEND, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            if size and size + len(line) > self._max_bytes:
                with _held(descriptor) as alone:
                    if alone and _is_at(descriptor, self.path):  # else another process sees to it, or has
                        self._rotate()
                os.close(descriptor)
                descriptor = -1
                descriptor = os.open(self.path, _APPEND, 0o600)
            self._append(descriptor, line)
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def _append(self, descriptor: int, line: bytes) -> None:
        status, known = os.fstat(descriptor), self._whole
        # A full disk, or a kill, leaves the beginning of a record: the next one has a line of its own.
        if status.st_size and known != (status.st_ino, status.st_size) and _is_cut(self.path, status.st_size):
            line = b"\n" + line
        written = os.write(descriptor, line)
        if written < len(line):
            raise OSError(f"only {written} of {len(line)} bytes of a record could be written to {self.path}")
        self._whole = status.st_ino, status.st_size + len(line)

    def _rotate(self) -> None:
        for number in range(self._backups, 0, -1):
            older = Path(f"{self.path}.{number}")
            newer = self.path if number == 1 else Path(f"{self.path}.{number - 1}")
            if newer.exists():
                newer.replace(older)
        if self._backups == 0:
            self.path.unlink(missing_ok=True)


@contextmanager
def _held(descriptor: int) -> Iterator[bool]:
    """Hold the lock of an open file; False where another process does: nobody waits for one that may be stopped."""
    if sys.platform == "win32":
        yield True
        return
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        yield not isinstance(error, BlockingIOError)  # else there are no locks on this file system
        return
    try:
        yield True
    finally:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # a program that forked meanwhile has a copy of it


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file is still the one of this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _is_cut(path: Path, size: int) -> bool:
    """Whether a file of this size ends within a line: one that grows meanwhile is just being written."""
    try:
        with path.open("rb", buffering=0) as file:
            file.seek(size - 1)
            return file.read(1) != b"\n" and os.fstat(file.fileno()).st_size == size
    except OSError:
        return False


class Recording:
    """
    A ledger as the executor uses it: what it raises never changes a call's outcome, unless it is required.

    Args:
        ledger: Anything with ``record(stage, payload)``. What it is given has no secrets, and is its own to change.
    """

    def __init__(self, ledger: Any) -> None:
        self.ledger = ledger
        self._masks = isinstance(ledger, _Recorder)  # which knows more secrets, and does it itself
        self.required = bool(getattr(ledger, "required", False))
        self._warned = False

    def __call__(self, stage: str, payload: dict[str, Any], *arguments: Any) -> None:
        """Record an event of the call with these *arguments*, and those in the payload, which it may repeat."""
        try:
            for key in ("error", "reason"):
                for given in (payload.get("args"), *arguments):
                    if isinstance(payload.get(key), str):
                        payload[key] = without_hidden(payload[key], given)
            self.ledger.record(stage, payload if self._masks else _masked(payload))
        except BaseException as error:
            # A call is refused before it starts; what has happened is reported however the record fares.
            if self.required and stage == "call-start":
                raise
            if not self._warned:
                self._warned = True
                warn(f"The ledger failed and this is said once: {error!r}", error=error)
