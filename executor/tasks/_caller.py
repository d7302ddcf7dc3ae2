"""A person's half of a connection to the terminal of another process's task; the other half is in `_door`."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import socket
from typing import TYPE_CHECKING, Any

from executor.errors import ExecutorUnavailableError, ToolCancelledError, ToolError
from executor.permission._meeting import TERMINAL, Line, Meeting, StrangerError
from executor.tasks._input import Attached
from executor.threads._loop import LoopThread

if TYPE_CHECKING:
    from collections.abc import Callable

REPLY = 5.0  # seconds for the other process to say who it is, or whether something was typed
CLOSING = 2.0  # seconds for the loop to end


def type_elsewhere(task_id: str, text: str, *, by_call: bool, unseen: bool) -> str:
    """See `TaskManager.send_input`. Raises OSError where there is no such terminal, or it does not answer."""

    async def type_it() -> dict[str, Any]:
        line = await _connect(task_id)
        try:
            line.send({"input": text, "by_call": by_call, "unseen": unseen})
            return await line.receive()
        finally:
            line.close()

    loop = LoopThread("executor-input")
    try:
        reply = contextvars.Context().run(loop.run, _in_time(type_it()))
    finally:
        loop.close(CLOSING)
    if "refused" in reply:
        raise ToolError(str(reply["refused"]))
    return str(reply.get("mode"))


def attach_elsewhere(task_id: str, show: Callable[[str | None], object], columns: int, rows: int) -> Attached:
    """See `TaskManager.attach`. Raises OSError as above."""
    loop = LoopThread("executor-attached")

    async def begin() -> Line:
        line = await _connect(task_id)
        line.send({"attach": [columns, rows]})
        return line

    try:
        line = contextvars.Context().run(loop.run, _in_time(begin()))
        contextvars.Context().run(loop.start, _listen(line, show), lambda *_: show(None))
    except BaseException:
        loop.close(CLOSING)
        raise

    def send(message: dict[str, Any]) -> None:
        async def pass_on() -> None:
            line.send(message)

        with contextlib.suppress(ExecutorUnavailableError, ToolCancelledError, OSError):
            loop.start(pass_on(), lambda *_: None)

    return Attached(
        lambda text: send({"input": text}),
        lambda wide, high: send({"resize": [wide, high]}),
        lambda: loop.close(CLOSING),
    )


async def _connect(task_id: str) -> Line:
    meeting = Meeting()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        with meeting.address(f"{task_id}{TERMINAL}") as address:
            await asyncio.get_running_loop().sock_connect(connection, address)
        return await Line.of(connection, "person", meeting.key())
    except ConnectionRefusedError:
        meeting.remove(f"{task_id}{TERMINAL}")  # its process has died
        connection.close()
        raise
    except BaseException:
        connection.close()
        raise


async def _in_time(work: Any) -> Any:
    try:
        return await asyncio.wait_for(work, REPLY)
    except TimeoutError:
        raise OSError("it does not answer") from None
    except (EOFError, StrangerError) as error:
        raise OSError(f"it hung up ({error})" if isinstance(error, EOFError) else f"that is {error}") from error


async def _listen(line: Line, show: Callable[[str | None], object]) -> None:
    """Pass on what is shown, until it ends or the other process is gone."""
    try:
        while "ended" not in (message := await line.receive()):
            if "shown" in message:
                show(str(message["shown"]))
    except (OSError, EOFError, StrangerError):
        pass  # it is gone
    finally:
        line.close()
