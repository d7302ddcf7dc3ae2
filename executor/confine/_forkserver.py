"""What has commands started under Landlock, in this process: the fork server, and the keepers that come from it."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections import OrderedDict
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from executor.confine._environment import of_loader
from executor.confine._messages import LAST, LAST_WORD, received, send
from executor.confine._process import Process, end
from executor.errors import ConfinementError
from executor.interpreter import WITHOUT, interpreter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# The packages without what is in their own files, of which nothing is needed there: each fork would copy it.
_PROGRAM = """
import sys
for name, path in zip(("executor", "executor.confine"), sys.argv[1:]):
    sys.modules[name] = type(sys)(name)
    sys.modules[name].__path__ = [path]
from executor.confine._keeper import main
main()
"""
_MOST_SERVERS = 4
_LONGEST_LOOK = 20.0  # seconds
_ENDING = 2.0  # seconds
_MOST_WAITED = struct.pack("ll", 20, 0)  # seconds, for an answer, see SO_RCVTIMEO in socket(7)
_WAITED_AGAIN = struct.pack("ll", 2, 0)  # for one that did not answer before


class Kind(NamedTuple):
    """
    What a keeper is like.

    Attributes:
        own_filter: Its filter of system calls.
        last_filter: What commands have besides.
        scoped: Whether the kernel can keep it, and them, from signalling anybody outside.
    """

    own_filter: bytes
    last_filter: bytes
    scoped: bool


class _ForkServer:
    """
    A process from which others are forked, and the thread that all of them belong to: what asks to be ended with its
    parent (PR_SET_PDEATHSIG) is ended with the thread that started it, which here is this one. So it stays, also when
    the process has ended, until the last keeper from it is let go.

    `_lock` guards how many these are, and whether there will be more.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keepers = 0
        self._closed = False
        self._unused = threading.Event()  # nothing comes from it any more, and nothing that came is left
        self._ended = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._own, other = socket.socketpair()
        self._own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _MOST_WAITED)
        try:
            started: Future[None] = Future()
            self._thread = threading.Thread(target=self._run, args=(other, started), name="executor-box", daemon=True)
            self._thread.start()
            started.result()
        except BaseException:  # an interrupt too
            self.close()
            raise

    def _run(self, other: socket.socket, started: Future[None]) -> None:
        here = Path(__file__).parent
        # -S: a project may hold the interpreter's own packages, of which some are run at every start (site(1)).
        command = [_python(), "-I", "-S", "-c", _PROGRAM, str(here.parent), str(here)]
        nothing = subprocess.DEVNULL
        try:
            with other:
                self._process = subprocess.Popen(
                    command,
                    stdin=other.fileno(),
                    stdout=nothing,
                    stderr=nothing,
                    cwd="/",
                    env=of_loader(os.environ),
                    process_group=0,
                )
        except BaseException as error:  # noqa: BLE001 -- raised again where it is asked for
            self._ended.set()
            started.set_exception(error)
            return
        started.set_result(None)
        server = self._process.pid
        with contextlib.suppress(ChildProcessError):  # somebody else has waited for it
            os.waitid(os.P_PID, server, os.WEXITED | os.WNOWAIT)
        self._ended.set()
        self._unused.wait()
        # Its group is its own until it has been waited for, and what is left in that was lost by an interrupt.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(server, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-server, 0)
        self._process.wait()

    def fork(self, kind: Kind) -> socket.socket:
        """The connection to a new keeper, for which `leave` is to be called. Raises OSError: the server has ended."""
        own, other = socket.socketpair()
        with self._lock:
            self._keepers += 1
        with other:
            try:
                send(self._own, tuple(kind), [other.fileno()])
            except BaseException:
                self.leave()
                own.close()
                raise
        return own

    def collect(self) -> None:
        """Wait for what came from it, has ended, and was lost by an interrupt before anybody knew who it was."""
        if self._process is None or self._ended.is_set():
            return
        server = self._process.pid
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitid(os.P_PGID, server, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                if found.si_pid == server:  # its number is its group's, see `_run`
                    break
                os.waitpid(found.si_pid, os.WNOHANG)

    def leave(self) -> None:
        """A keeper from it is let go, and its commands are over."""
        with self._lock:
            self._keepers -= 1
            if self._closed and not self._keepers:
                self._unused.set()

    def close(self) -> None:
        """It ends once it has done what it was asked for; what was forked from it goes on."""
        self._own.close()
        with self._lock:
            self._closed = True
            if not self._keepers:
                self._unused.set()

    def wait(self) -> None:
        """Until it has ended after `close`; killed if that takes long, as somebody may have stopped it."""
        if not self._ended.wait(_ENDING) and self._process is not None:
            with contextlib.suppress(PermissionError):  # this process has given up its rights; it ends by itself
                self._process.kill()
        if self._unused.is_set():
            self._thread.join(_ENDING)

    def abandon(self) -> None:
        """This is a fork, and it is the parent's."""
        self._own.close()


class ForkServers:
    """
    The fork servers of this process, each started when it is first needed.

    One for each way in which new processes may stand (`inherited`), because it has that from when it started; threads
    may differ in it.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Have none: after a fork they are the parent's."""
        for server in getattr(self, "_servers", {}).values():
            server.abandon()
        self._lock = threading.Lock()  # guards what follows, and that a message to a server is whole
        self._servers: OrderedDict[object, _ForkServer] = OrderedDict()

    def fork(self, standing: object, kind: Kind) -> tuple[socket.socket, Callable[[], None]]:
        """
        The connection to a new keeper, and what is to be called when that is let go.

        Args:
            standing: How it is to stand: as this process does now.
            kind: What it is to be like.

        Raises:
            OSError: There is none.
        """
        with self._lock:
            for each in self._servers.values():
                each.collect()
            server = self._servers.get(standing)
            if server is not None:
                try:
                    made = server.fork(kind)
                except BaseException as error:
                    del self._servers[standing]
                    server.close()
                    if not isinstance(error, OSError):
                        raise
                else:
                    self._servers.move_to_end(standing)  # used last
                    return made, server.leave
            server = self._servers[standing] = _ForkServer()
            while len(self._servers) > _MOST_SERVERS:
                self._servers.pop(next(iter(self._servers))).close()
            try:
                return server.fork(kind), server.leave
            except BrokenPipeError as error:
                raise BrokenPipeError(errno.EPIPE, _why_none_starts() or error.strerror) from None

    def close(self) -> None:
        """The next keeper comes from another one."""
        with self._lock:
            closed = [*self._servers.values()]
            self._servers.clear()
            for server in closed:
                server.close()
        for server in closed:
            server.wait()


servers = ForkServers()
if sys.platform != "win32":
    os.register_at_fork(after_in_child=servers.forget)


class Keeper:
    """
    A process that starts commands in a box: for one thread at a time.

    Raises:
        OSError: There is none.
    """

    def __init__(self, standing: object, kind: Kind) -> None:
        self._host = os.getpid()
        self._connection, self._leave = servers.fork(standing, kind)
        self._wait_at_most(_MOST_WAITED)
        self._pid = 0  # until it has said so
        self._lost = False  # where a message of its begins
        self._handed_over = 0  # the command that it has started last, of what somebody has heard

    def ours(self) -> bool:
        """Whether it is this process's, and not the one's that this was forked from."""
        return self._host == os.getpid()

    def ready(self) -> bool:
        """Whether it is still there."""
        return not self._lost and not _ended(self._connection)

    def start(self, ruleset: int, argv: Sequence[str], env: Mapping[str, str], **told: Any) -> Process:
        """
        A new process in the box. After an error it can only be closed.

        Args:
            ruleset: The descriptor of the box's ruleset.
            argv: The program, looked up in the PATH of *env*, and its arguments.
            env: All of its environment.
            told: More for ``subprocess.Popen``: its streams, its folder, whether it has a session of its own.

        Raises:
            ConfinementError: Nothing can be started, or it could not enter the box.
            OSError: As ``subprocess.Popen``.
            ValueError: A NUL is in its arguments or its environment.
        """
        process = Process(self._ask, ruleset, argv, env=env, **told)
        self._handed_over = process.pid
        return process

    def over(self) -> None:
        """A command has ended, or is to: so does, before another one is started, all that it has begun."""
        if self.ours():
            with contextlib.suppress(OSError):  # it has been ended itself
                send(self._connection, None)

    def close(self) -> None:
        """End it, and a command that it has started and nobody has heard of; in a fork only let it go."""
        try:
            if self.ours():
                self._end_all()
        finally:
            self._connection.close()
            leave, self._leave = self._leave, _nothing
            if self.ours():
                leave()

    def _end_all(self) -> None:
        said = b""
        with contextlib.suppress(OSError):
            self._greeted()
            self._connection.shutdown(socket.SHUT_WR)
            while piece := self._connection.recv(LAST.size):
                said = (said + piece)[-LAST.size :]
        word, started = LAST.unpack(said) if len(said) == LAST.size else (b"", 0)
        if word == LAST_WORD and started not in (0, self._handed_over):
            end(started)
        if self._pid:
            end(self._pid)

    def _ask(self, message: object, descriptors: Sequence[int]) -> tuple[int, str, int]:
        """What it answers, see `_keeper`. Raises OSError: it does not."""
        self._greeted()
        try:
            with contextlib.suppress(BrokenPipeError):  # it has ended, and said why if it could
                send(self._connection, message, descriptors)
        except BlockingIOError:
            self._give_up()
        started, step, number = self._heard()
        return started, step, number

    def _greeted(self) -> None:
        if not self._pid:
            told = self._heard()
            if told < 0:
                raise OSError(-told, f"no process can be forked: {os.strerror(-told)}")
            self._pid = told

    def _heard(self) -> Any:
        if self._lost:
            raise BrokenPipeError(errno.EPIPE, "what the process that starts commands said is lost")
        self._lost = True  # an interrupt may come in the middle of it
        try:
            told, _ = received(self._connection)
        except (EOFError, ConnectionResetError):
            why = "" if self._pid else _why_none_starts()
            raise BrokenPipeError(errno.EPIPE, why or "the process that starts commands has ended") from None
        except BlockingIOError:
            self._give_up()
        self._lost = False
        return told

    def _give_up(self) -> NoReturn:
        """It neither reads nor answers: somebody may have stopped it."""
        self._lost = True
        self._wait_at_most(_WAITED_AGAIN)
        raise TimeoutError(errno.ETIMEDOUT, "the process that starts commands does not answer") from None

    def _wait_at_most(self, told: bytes) -> None:
        for way in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._connection.setsockopt(socket.SOL_SOCKET, way, told)


def _python() -> str:
    """Raises ConfinementError: there is none; see `_choose`, which then chooses another box."""
    python = interpreter()
    if python is None:
        raise ConfinementError(f"Landlock cannot hold a command: {WITHOUT}")
    return python


def _why_none_starts() -> str:
    """Why the Python of a fork server would not start, with so little of an environment; "" if it would."""
    python = _python()
    command = [python, "-I", "-S", "-c", ""]
    try:
        looked = subprocess.run(
            command, env=of_loader(os.environ), cwd="/", stdin=subprocess.DEVNULL, capture_output=True,
            timeout=_LONGEST_LOOK, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return f"{python} does not start: {error}"
    if looked.returncode <= 0:  # it does, or somebody ends those
        return ""
    said = looked.stderr.decode(errors="replace").strip().partition("\n")[0] or f"exit code {looked.returncode}"
    return (
        f"{python} does not start without its environment ({said}). Have it find its libraries without "
        "LD_LIBRARY_PATH (ldconfig(8), an rpath), or be another user than root and have them in folders that only root "
        "can write; or install bubblewrap"
    )


def _nothing() -> None:
    pass


def _ended(connection: socket.socket) -> bool:
    """Whether nobody is at the other end, who had nothing more to say."""
    try:
        return not connection.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except ConnectionResetError:  # and had not read all
        return True
