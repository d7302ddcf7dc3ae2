"""What is served to one principal: an executor, its tools as clients see them, and the calls that they have made."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, TypeVar

from executor.errors import ExecutorUnavailableError
from executor.mcp.serving._listing import listing_of
from executor.mcp.serving._questions import ClientChannel
from executor.mcp.serving._tasks import output_uri
from executor.values._approval import CLIENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.mcp.serving._call import ServedCall
    from executor.mcp.serving._listing import Listing, Offered
    from executor.mcp.serving._values import Executor, ServeOptions
    from executor.threads._workers import Workers
    from executor.values import TaskInfo

T = TypeVar("T")
MOST_PARKED = 64  # calls that wait for a client to come back with an answer; past it the oldest is given up
PARKED_SECONDS = 600.0  # how long one that has ended meanwhile keeps its result for the client


class Host:
    """
    Lives on the loop.

    Args:
        principal: Who calls; "" where that is not told apart.
        changed: Called on the loop when the tools have changed, or a document has: with its name.

    Attributes:
        calls: The calls that run, or wait for their client.
        tasks: By task, the calls that became one, until it ends.
    """

    def __init__(
        self,
        principal: str,
        executor: Executor,
        options: ServeOptions,
        workers: Workers,
        changed: Callable[[Host, str | None], object],
    ) -> None:
        self.principal = principal
        self.executor = executor
        self.options = options
        self.workers = workers
        self.calls: set[ServedCall] = set()
        self.tasks: dict[str, ServedCall] = {}
        self._parked: dict[str, tuple[ServedCall, asyncio.TimerHandle]] = {}
        self._listing: Listing | None = None
        self._loop = asyncio.get_running_loop()
        self._changed = changed
        self._undo = [executor.on_tools_changed(self._tools_changed), executor.tasks.subscribe(self._task_ended)]
        self._open_surface()

    def _open_surface(self) -> None:
        """Where questions go: see `ServeOptions.ask`. Without a word the clients stand in for a person's surfaces."""
        approvals, ask = self.executor.approvals, self.options.ask
        if self.asks:
            approvals.add_channel(CLIENT, ClientChannel(self._loop), spare=ask is None)
        if ask in ("client", "never"):
            approvals.restrict([CLIENT] if self.asks else [])

    @property
    def agent(self) -> str:
        """Whose rules and grants hold for its calls; "" where that is not told apart."""
        return self.principal or self.options.principal

    @property
    def asks(self) -> bool:
        """Whether its clients may be asked whatever a person is to decide."""
        return self.options.ask not in ("console", "never")

    def _tools_changed(self) -> None:
        self._tell(self._renew)

    def _tell(self, fn: Callable[[], object]) -> None:
        """Have *fn* called on the loop."""
        try:
            self._loop.call_soon_threadsafe(fn)
        except RuntimeError:
            return  # the server has ended

    def _renew(self) -> None:
        self._listing = None
        self._changed(self, None)

    def _task_ended(self, info: TaskInfo) -> None:
        if info.conversation == self.executor.conversation:
            self._tell(lambda: self._changed(self, output_uri(info.id)))

    async def listing(self) -> Listing:
        """The tools that are offered now."""
        while self._listing is None:
            self._listing = await self.elsewhere(lambda: listing_of(self.executor, self.options))
        return self._listing

    def known(self, name: str) -> Offered | None:
        """The tool of this name, if it was listed."""
        return self._listing.tools.get(name) if self._listing is not None else None

    async def elsewhere(self, fn: Callable[[], T]) -> T:
        """See `elsewhere`."""
        return await elsewhere(self.workers, fn)

    # Calls whose client has to come back -------------------------------------------------------------------------

    def park(self, call: ServedCall) -> None:
        """Keep a call until its client comes back with an answer."""
        while len(self._parked) >= MOST_PARKED:
            oldest, _ = self._parked.pop(next(iter(self._parked)))
            oldest.stop()
        late = self._loop.call_later(PARKED_SECONDS, self._give_up, call.id)
        self._parked[call.id] = call, late

    def unpark(self, call_id: str) -> ServedCall | None:
        """The call to which its client has come back; None where nothing is known of it."""
        call, late = self._parked.pop(call_id, (None, None))
        if late is not None:
            late.cancel()
        return call

    def _give_up(self, call_id: str) -> None:
        call = self.unpark(call_id)
        if call is not None:
            call.stop()

    async def close(self) -> None:
        """Stop its calls, and return when they have ended; its tasks go on."""
        for undo in self._undo:
            undo()
        self.executor.approvals.remove_channel(CLIENT)  # what is left of `ask` holds for tasks that go on
        for _, late in self._parked.values():
            late.cancel()
        self._parked.clear()
        stopped = [call for call in self.calls if call.task_id is None]
        for call in stopped:
            call.stop()
        for call in stopped:
            await call.over.wait()


async def elsewhere(workers: Workers, fn: Callable[[], T]) -> T:
    """What *fn* returns, or raises, on a worker. Raises ExecutorUnavailableError when the server ends."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if not done.done():
            if error is not None:
                done.set_exception(error)
            else:
                done.set_result(value)

    def work() -> None:
        value, problem = None, None
        try:
            value = fn()
        except Exception as error:  # noqa: BLE001 -- raised again where it is waited for
            problem = error
        with contextlib.suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(settle, value, problem)

    if not workers.submit(work):
        raise ExecutorUnavailableError("The server is shutting down")
    return await done
