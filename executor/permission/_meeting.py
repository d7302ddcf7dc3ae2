"""
Where the processes of a user meet, so that a question of one is answered on a surface of another.

In a folder of the user's state lie sockets: ``NAME.surface`` of whoever shows questions, and ``NAME.bell``
of whoever has an open one. Who asks connects to every surface; a surface that opens rings every bell, upon which it is
connected to as well. So nobody has to look again and again, and the system itself says, by closing the connection, when
either side has died. A third kind, ``TASK.terminal``, is of the terminal on which a task's command runs; a person's
process connects to it. Nothing of a question, of an answer, or of what is typed is ever written to a disk.

Both sides prove that they can read a key file of that folder, which no box can and no tool may; who asks refuses a
surface of another user, and one that was started by a call.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import socket
import struct
import sys
from typing import TYPE_CHECKING, Any, Literal

from executor._random import token_hex
from executor.calls._above import call_above, start_of
from executor.ownfolders import make_private, own_folder

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from pathlib import Path

Role = Literal["asker", "surface", "terminal", "person"]
SURFACE, BELL, TERMINAL = ".surface", ".bell", ".terminal"
MAX_MESSAGE = 64 << 20  # bytes; a question carries the arguments of its call
_OTHER: dict[Role, Role] = {"asker": "surface", "surface": "asker", "terminal": "person", "person": "terminal"}
_NONCE = _PROOF = _KEY = 32  # bytes
_WAITING = 512  # connections that may wait to be accepted
_SO_PEERPIDFD = 77  # asm-generic/socket.h; the module has no name for it
_MAX_ADDRESS = 100  # bytes of a socket's path: the lowest limit of any system is 104


class StrangerError(Exception):
    """Whoever is on the other side does not belong here."""


def _whole(path: Path) -> bytes:
    """The key. Raises OSError where it is damaged."""
    key = path.read_bytes()
    if len(key) != _KEY:
        raise OSError(f"{path} is damaged: remove it, and end the processes that have read it")
    return key


def can_meet() -> bool:
    """Whether this system has what it takes."""
    return hasattr(socket, "AF_UNIX") and sys.platform != "win32"


class Meeting:
    """
    The folder in which processes meet; made when it is first needed.

    Args:
        folder: Where; None for the one in the user's state.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    @property
    def folder(self) -> Path:
        """Where the sockets are, and the key."""
        if self._folder is None:
            self._folder = own_folder("state") / "people"
        return self._folder

    def names(self, kind: str) -> list[str]:
        """The sockets of one kind, without that at the end of their names; some may be of the dead."""
        try:
            found = os.listdir(self.folder)  # noqa: PTH208 -- names are wanted, not paths
        except OSError:
            return []
        return sorted(name.removesuffix(kind) for name in found if name.endswith(kind))

    def key(self) -> bytes:
        """What both sides can read; made if need be. Raises OSError."""
        path = self.folder / "key"
        with contextlib.suppress(FileNotFoundError):
            return _whole(path)
        self._make_folder()
        new = self.folder / f"{token_hex(8)}.new"
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(os.urandom(_KEY))
                file.flush()
                os.fsync(file.fileno())  # an empty one, after the power was lost, would be known to everybody
            with contextlib.suppress(FileExistsError):  # another process was quicker: its key holds
                os.link(new, path)
        finally:
            new.unlink()
        return _whole(path)

    def listen(self, name: str, kind: str = SURFACE) -> socket.socket:
        """The socket of a surface, or a terminal, which is seen by others once it listens. Raises OSError."""
        made = self._bound(socket.SOCK_STREAM, f"{name}.new")
        try:
            made.listen(_WAITING)
            (self.folder / f"{name}.new").rename(self.folder / f"{name}{kind}")
        except BaseException:
            made.close()
            self.remove(f"{name}.new")
            raise
        return made

    def bell(self, name: str) -> socket.socket:
        """The socket of whoever has a question. Raises OSError."""
        return self._bound(socket.SOCK_DGRAM, f"{name}{BELL}")

    def remove_dead(self, kind: str) -> None:
        """Take away what the dead have left of one kind."""
        for name in self.names(kind):
            with socket.socket(socket.AF_UNIX) as caller, self.address(f"{name}{kind}") as address:
                caller.setblocking(False)
                try:
                    caller.connect(address)
                except ConnectionRefusedError:
                    self.remove(f"{name}{kind}")
                except OSError:  # it has just gone, or so many call that one more has to wait
                    continue

    def remove(self, name: str) -> None:
        """Take the entry of a socket away."""
        with contextlib.suppress(OSError):
            (self.folder / name).unlink()

    def ring(self, name: str) -> bool:
        """Tell whoever has a question that there is a new surface. Returns whether anybody is there."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, self.address(f"{name}{BELL}") as address:
            sender.setblocking(False)
            try:
                sender.sendto(b".", address)
            except BlockingIOError:  # it has been rung so often that one more makes no difference
                return True
            except ConnectionRefusedError:
                self.remove(f"{name}{BELL}")
                return False
            except OSError:  # it has just been taken away
                return False
        return True

    @contextlib.contextmanager
    def address(self, name: str) -> Iterator[str]:
        """The path by which a socket in the folder is bound or connected to: those may not be long."""
        path = str(self.folder / name)
        if len(os.fsencode(path)) <= _MAX_ADDRESS or not os.path.isdir("/proc/self/fd"):  # noqa: PTH112 -- no path of ours
            yield path
            return
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield f"/proc/self/fd/{folder}/{name}"
        finally:
            os.close(folder)

    def _bound(self, kind: int, name: str) -> socket.socket:
        self._make_folder()
        made = socket.socket(socket.AF_UNIX, kind)
        try:
            made.setblocking(False)
            with self.address(name) as address:
                made.bind(address)
            (self.folder / name).chmod(0o600)
        except BaseException:
            made.close()
            raise
        return made

    def _make_folder(self) -> None:
        make_private(self.folder)
        if self.folder.stat().st_mode & 0o077:
            self.folder.chmod(0o700)


def peer(connection: socket.socket) -> tuple[int, int] | None:
    """The process and the user on the other side; None where the system does not say."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    pid, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, user


def refuse_called(connection: socket.socket) -> None:
    """
    Raises StrangerError where a call has started the process on the other side: that is no person.

    The system names the process that has connected, or listened. One that is gone by now says nothing of who speaks in
    its place, and its number may be another's. A number of 0 is of a namespace that nothing below this one can be in.
    """
    met = peer(connection)
    if met is None or met[0] == 0 or sys.platform != "linux":
        return
    pid, began = met[0], start_of(met[0])
    handle = _handle(connection)
    try:
        above = call_above(pid)
        # Looked at last: who is there now was there, under this number, when its parents were looked at.
        if began is None or start_of(pid) != began or (handle is not None and _has_ended(handle)):
            raise StrangerError(f"process {pid}, which is gone")
    finally:
        if handle is not None:
            os.close(handle)
    if above is not None:
        raise StrangerError(f"process {pid}, which a call of process {above} has started")


def _has_ended(handle: int) -> bool:
    ended = select.poll()  # select() takes no descriptor above 1023
    ended.register(handle, select.POLLIN)
    return bool(ended.poll(0))


def _handle(connection: socket.socket) -> int | None:
    """
    What stands for the process on the other side, whatever becomes of its number; None before Linux 6.5.

    Raises:
        StrangerError: It is gone.
    """
    try:
        return connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    except OSError as error:
        if error.errno == errno.ENOPROTOOPT:
            return None
        raise StrangerError("a process that is gone") from error


class Line:
    """
    A connection between who asks and a surface, or a terminal and a person: JSON objects, each with its length in
    front. Used on a loop.

    Attributes:
        socket: What is under it.
    """

    def __init__(self, connection: socket.socket, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.socket = connection
        self._reader = reader
        self._writer = writer

    @classmethod
    async def of(cls, connection: socket.socket, role: Role, key: bytes) -> Line:
        """
        The line over a connection, once each side has proved that it can read the key.

        Raises:
            StrangerError: The other side cannot, or belongs to another user.
            OSError, EOFError: It has gone.
        """
        import asyncio
        import hmac

        met = peer(connection)
        if met is not None and met[1] != os.getuid():
            raise StrangerError(f"a process of the user {met[1]}")
        reader, writer = await asyncio.open_connection(sock=connection)
        try:
            own = os.urandom(_NONCE)
            writer.write(own)
            theirs = await reader.readexactly(_NONCE)
            writer.write(_proof(key, role, own, theirs))
            proof = await reader.readexactly(_PROOF)
            known = hmac.compare_digest(proof, _proof(key, _OTHER[role], theirs, own))
        except BaseException:
            writer.close()
            raise
        if not known:
            writer.close()
            raise StrangerError("a process that cannot read the key")
        return cls(connection, reader, writer)

    def send(self, message: dict[str, Any]) -> bool:
        """Send a message; nobody waits. Returns False for one that is too long for the other side: it is not sent."""
        data = json.dumps(message).encode()
        if len(data) > MAX_MESSAGE:
            return False
        self._writer.write(struct.pack(">I", len(data)) + data)
        return True

    async def receive(self) -> dict[str, Any]:
        """The next message. Raises OSError, EOFError: the other side has gone; StrangerError: it is none."""
        (length,) = struct.unpack(">I", await self._reader.readexactly(4))
        if length > MAX_MESSAGE:
            raise StrangerError(f"a message of {length} bytes")
        try:
            message = json.loads(await self._reader.readexactly(length))
        except (ValueError, RecursionError) as error:
            raise StrangerError("a message that is no JSON") from error
        if not isinstance(message, dict):
            raise StrangerError("a message that is no object")
        return message

    @property
    def unsent(self) -> int:
        """How many bytes have not left yet."""
        return self._writer.transport.get_write_buffer_size()

    async def drain(self) -> None:
        """Wait until what was sent has left."""
        with contextlib.suppress(OSError):
            await self._writer.drain()

    def close(self) -> None:
        """Hang up, after what was sent."""
        self._writer.close()

    def abort(self) -> None:
        """Hang up now, whatever has not left."""
        self._writer.transport.abort()

    async def closed(self) -> None:
        """Wait until all of that is over."""
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


def _proof(key: bytes, role: Role, own: bytes, theirs: bytes) -> bytes:
    import hmac  # with hashlib and OpenSSL 4 ms, for those who meet

    return hmac.digest(key, role.encode() + own + theirs, "sha256")


async def accept_all(listener: socket.socket, take: Callable[[socket.socket], object]) -> None:
    """
    Give *take* each connection to *listener*, which is closed in the end, until this is cancelled. No connection is
    lost then, as the one is that `sock_accept` has just accepted.

    Raises:
        OSError: No more can be taken.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def accept() -> None:
        try:
            connection, _ = listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):  # whoever came has gone again
            return
        except OSError as error:
            loop.remove_reader(listener)
            if not ended.done():
                ended.set_exception(error)
            return
        connection.setblocking(False)
        take(connection)

    with listener:
        loop.add_reader(listener, accept)
        try:
            await ended
        finally:
            loop.remove_reader(listener)
