"""What a selector waits for: the pipes of a command, and a bell that other threads ring."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from typing import IO, TYPE_CHECKING, Protocol, cast

from executor import OutputChunk
from executor_shell._capture import TextDecoder

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor_shell._capture import Capture

CHUNK = 64 * 1024  # bytes: what a pipe of Linux holds


class Source(Protocol):
    """
    What a command writes to, where it is read.

    Attributes:
        capture: Keeps what was written.
    """

    capture: Capture

    @property
    def undecodable(self) -> bool:
        """Whether bytes came that are not UTF-8."""
        ...

    def fileno(self) -> int:
        """The descriptor that a selector waits for."""
        ...

    def take(self) -> bool:
        """Take what is there, after the selector said that something is. Returns False at the end."""
        ...

    def finish(self) -> None:
        """Nothing more will be taken: show what was held back."""
        ...

    def close(self) -> None:
        """Close it, and what keeps its bytes."""
        ...


class Pipe:
    """
    The end of a command's stream that is read here.

    Args:
        source: The pipe, unbuffered; it is closed with this object.
        capture: Keeps the bytes.
        emit: Is given the text, as it comes, as an `OutputChunk`.
    """

    def __init__(self, source: IO[bytes], capture: Capture, emit: Callable[[str], None]) -> None:
        self.capture = capture
        self._decoder = TextDecoder()
        self._emit = emit
        self._held = b""  # bytes of a character that is not complete
        self._source = source if sys.platform != "win32" else _through_socket(source)

    @property
    def undecodable(self) -> bool:
        """Whether bytes came that are not UTF-8."""
        return self._decoder.undecodable

    def fileno(self) -> int:
        """The descriptor that a selector waits for."""
        return self._source.fileno()

    def take(self) -> bool:
        """Take what is there, after the selector said that something is. Returns False at the end of the stream."""
        data = self._source.read(CHUNK)
        self.capture.add(data)
        self._show(data, final=not data)
        return bool(data)

    def finish(self) -> None:
        """Nothing more will be taken: show what was held back of a character that is not complete."""
        self._show(b"", final=True)

    def close(self) -> None:
        """Close the pipe and what keeps its bytes."""
        self._source.close()
        self.capture.close()

    def _show(self, data: bytes, *, final: bool) -> None:
        text = self._decoder.decode(data, final=final)
        self._held += data
        if text:
            raw, self._held = self._held, b""
            self._emit(OutputChunk(text, self.capture.name, raw))


def _through_socket(source: IO[bytes]) -> IO[bytes]:
    """*source* behind a socket, because Windows can wait for sockets only. The thread ends with the stream."""
    near, far = socket.socketpair()

    def copy() -> None:
        with source, far, contextlib.suppress(OSError):  # the near end was closed: nobody reads any more
            while data := source.read(CHUNK):
                far.sendall(data)

    threading.Thread(target=copy, name="executor-shell-pipe", daemon=True).start()
    with near:  # the file keeps the socket open
        return cast("IO[bytes]", near.makefile("rb", buffering=0))


class Bell:
    """Wakes the thread that waits for it. Any thread may ring it, also after it was closed."""

    def __init__(self) -> None:
        self._near, self._far = socket.socketpair()
        self._far.setblocking(False)
        # Guards against ringing a descriptor that has become somebody else's. Reentrant, because a signal handler may
        # ring while the interrupted thread does.
        self._lock = threading.RLock()

    def fileno(self) -> int:
        """The descriptor that a selector waits for."""
        return self._near.fileno()

    def ring(self) -> None:
        """Wake who waits, now or the next time."""
        with self._lock, contextlib.suppress(OSError):  # closed: nobody waits; full: it has been rung often enough
            self._far.send(b"!")

    def hush(self) -> None:
        """It was heard."""
        self._near.recv(CHUNK)

    def close(self) -> None:
        """Nobody waits any more."""
        with self._lock:
            self._near.close()
            self._far.close()
