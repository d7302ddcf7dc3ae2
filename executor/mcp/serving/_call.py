"""One call that a client has made, from its first request until it, or the task that it became, has ended."""

from __future__ import annotations

import asyncio
import contextvars
from typing import TYPE_CHECKING, Any

from executor.mcp._clients import work_for
from executor.mcp.serving._questions import Question, served
from executor.mcp.serving._relay import Relay
from executor.values import ResultKind, ToolResult
from executor.values._approval import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor.mcp.serving._listing import Offered
    from executor.mcp.serving._values import Executor, Future
    from executor.threads._workers import Workers
    from executor.values import ToolCall


class ServedCall:
    """
    Lives on the loop; `begin` has the call made on a worker.

    Args:
        offered: The tool.
        workers: Where whatever may take its time is done.
        client: What tells its client from others, where each has MCP servers of its own.
        reachable: Whether the client can be asked.

    Attributes:
        result: What it came to, or the hand-over to a task; None while it runs.
        questions: Those that are open, by id.
        reachable: Whether the client can be asked now.
        changed: Set when there is a result, or a new question.
        over: Set when nothing more comes, from the task either.
    """

    def __init__(
        self,
        call: ToolCall,
        offered: Offered,
        workers: Workers,
        *,
        client: str,
        reachable: bool,
        on_end: Callable[[], object],
    ) -> None:
        self.call = call
        self.offered = offered
        self.client = client
        self.reachable = reachable
        self.result: ToolResult | None = None
        self.questions: dict[str, Question] = {}
        self.changed = asyncio.Event()
        self.over = asyncio.Event()
        self.relay = Relay(asyncio.get_running_loop())
        self._loop = asyncio.get_running_loop()
        self._workers = workers
        self._on_end = on_end
        self._future: Future | None = None
        self._unwanted = False

    @property
    def id(self) -> str:
        return self.call.id

    @property
    def task_id(self) -> str | None:
        """The task that it became."""
        return self.result.task_id if self.result is not None and self.result.backgrounded else None

    def begin(self, executor: Executor, context: Mapping[str, Any] | None, *, background: bool | None) -> None:
        """Have it made. It is judged on a worker, too."""
        inside = contextvars.copy_context()  # the request's own, in which spans are children of the client's
        inside.run(served.set, self)
        inside.run(work_for, self.client)

        def make() -> None:
            try:
                future = executor.submit(
                    self.call,
                    on_output=self.relay.emit,
                    on_progress=self.relay.progress,
                    on_done=lambda _: self._tell(self._ended),
                    background=background,
                    context=context,
                )
            except Exception as error:  # noqa: BLE001 -- a client that waits is told, whatever it is
                self._tell(self._not_made, f"The call could not be made: {error}")
                return
            self._tell(self._made, future)
            future.add_done_callback(self._done)

        if not self._workers.submit(lambda: inside.run(make)):
            self._not_made("The server is shutting down")

    def _tell(self, fn: Callable[..., object], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(fn, *args)
        except RuntimeError:
            return  # the server has ended

    def _done(self, future: Future) -> None:
        if not future.cancelled():
            self._tell(self._came_to, future.result())

    def _made(self, future: Future) -> None:
        self._future = future
        if self._unwanted:
            self.stop()

    def _not_made(self, why: str) -> None:
        self._came_to(ToolResult(self.id, success=False, content=why, error=why, kind=ResultKind.UNAVAILABLE))
        self._ended()

    def _came_to(self, result: ToolResult) -> None:
        self.result = result
        self.changed.set()

    def _ended(self) -> None:
        """The result is there, of the task if it became one."""
        self.reachable = False
        self.over.set()
        self._on_end()

    # Questions ---------------------------------------------------------------------------------------------------

    def put(self, question: Question) -> None:
        """A question to the client."""
        if self.reachable:
            self.questions[question.id] = question
            self.changed.set()
        else:
            self.settle(question, Answer("no_channel"))

    def withdraw(self, question_id: str) -> None:
        """It needs no answer any more."""
        if self.questions.pop(question_id, None) is not None:
            self.changed.set()

    def settle(self, question: Question, answer: Answer) -> None:
        """Answer a question; the work goes on elsewhere."""
        self.questions.pop(question.id, None)
        self._workers.submit(lambda: question.answer(answer))

    def take(self, responses: Mapping[str, Any]) -> None:
        """What the client has answered; what is no answer to an open question changes nothing."""
        for question_id, response in responses.items():
            question = self.questions.get(question_id)
            answer = question.read(response) if question is not None else None
            if question is not None and answer is not None:
                self.settle(question, answer)

    def unreach(self) -> None:
        """The client can be asked no more."""
        self.reachable = False
        for question in list(self.questions.values()):
            self.settle(question, Answer("no_channel"))

    # Waiting and stopping ----------------------------------------------------------------------------------------

    async def turn(self) -> None:
        """Return when there is a result, or the questions have changed."""
        await self.changed.wait()
        self.changed.clear()

    def leave(self) -> None:
        """The client does not wait any more: nothing can be asked, and a call that is no task is stopped."""
        self.unreach()
        if self.task_id is None:
            self.stop()

    def stop(self) -> None:
        """Nobody wants the result any more."""
        self._unwanted = True
        self.relay.attach(None)
        if self._future is not None:
            future = self._future
            self._workers.submit(future.cancel)
