"""A reply that comes in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor.models._forms import form_of
from executor.models._objects import fields
from executor.models._pieces import Spoken
from executor.models._request import Request, request_of, tool_call

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping

    from executor.models._forms import Collector, Form
    from executor.values import ToolCall


class Stream:
    """
    Puts a streamed reply together.

    Of a stream that breaks off, a call is there as a whole or not at all.

    Args:
        form: One of `FORMS`; without it, it is told by what the first event looks like.
        names: From `tools`, which this model was told of.
        on_text: Called with each piece of what the model says, while it says it; what it thinks is none of it.

    Raises:
        ValueError: There is no such form.
    """

    def __init__(
        self,
        form: str | None = None,
        names: Mapping[str, str] | None = None,
        *,
        on_text: Callable[[str], object] | None = None,
    ) -> None:
        self._names = names
        self._say = Spoken(on_text) if on_text is not None else _say_nothing
        self._spoken: Form | None = None if form is None else form_of(None, form)
        self._collector: Collector | None = None
        self._given: dict[str, ToolCall] = {}
        self._ended: Request | None = None

    def feed(self, event: object) -> list[ToolCall]:
        """
        Take the next event of the stream: a dict, or an object of the SDK.

        Returns:
            The calls that are whole from now on; those of some APIs are only at the end, in `Request.remaining`.

        Raises:
            ValueError: It is no event of such a stream, or it says that the stream has failed.
        """
        if self._ended is not None:
            raise ValueError("the stream has ended: take a new Stream for the next reply")
        if self._spoken is None:
            self._spoken = form_of(event, None)
        if self._collector is None:
            self._collector = self._spoken.collector(self._say)
        whole = self._collector.feed(fields(event, "the event", **self._spoken.dump))
        calls = [tool_call(call, self._names) for call in whole]
        self._given.update((call.id, call) for call in calls)
        return calls

    def calls(self, events: Iterable[object]) -> Iterator[ToolCall]:
        """
        Take all events of the stream, and give each call as soon as it is whole, those that only the end shows last.

        If *events* or one of them raises, so does this; `end` then has what was whole, these calls included.

        Raises:
            ValueError: As for `feed` and `end`.
        """
        for event in events:
            yield from self.feed(event)
        yield from self.end().remaining

    async def acalls(self, events: AsyncIterable[object]) -> AsyncIterator[ToolCall]:
        """`calls`, of a stream that is awaited."""
        async for event in events:
            for call in self.feed(event):
                yield call
        for call in self.end().remaining:
            yield call

    def end(self) -> Request:
        """
        The reply, as far as it has come; the same at every call.

        Raises:
            ValueError: Nothing has come, and no form was given.
        """
        if self._ended is None:
            if self._spoken is None:
                raise ValueError("nothing has come yet: give the form, if a stream may be empty")
            reply = (self._collector or self._spoken.collector(self._say)).end()
            self._ended = request_of(self._spoken, reply, self._names, self._given)
        return self._ended


def _say_nothing(piece: str) -> None:
    """Nobody wants to hear it."""
