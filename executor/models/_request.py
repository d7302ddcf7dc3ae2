"""A model's reply: the calls in it, and the answers to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from executor.models._forms import form_of
from executor.models._names import Names
from executor.models._results import MISSING, answer_of, sendable
from executor.values import ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from executor.models._forms import Form, Reply, WireCall
    from executor.models._results import Result


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """
    A model's reply, and what it wants to have done.

    Attributes:
        calls: The calls, for `ToolExecutor.execute_many` or `submit`. Empty: the model has nothing more to be done.
        message: The reply as the API wants it back. In the form ``openai`` it is a list, for a reply is several items.
        messages: The same as a list, whatever the form: ``messages += request.messages``.
        remaining: Of `calls` those that `Stream.feed` has not given out; of a reply that was read whole, all.
        form: The form that it is in.
    """

    calls: list[ToolCall]
    message: Any
    messages: list[Any]
    remaining: list[ToolCall]
    form: str
    _spoken: Form
    _wire: list[WireCall]

    @property
    def text(self) -> str:
        """What the model says, without what it thinks; empty if it only asks for calls."""
        return self._spoken.text(self.message)

    def answer(self, results: Iterable[Result]) -> list[dict[str, Any]]:
        """
        The messages that answer the calls: exactly one answer for each, in their order.

        They come right after `messages`: nothing else may stand between.

        Args:
            results: In any order. A call that has none is answered with an error, "The call was not run".

        Raises:
            ValueError: A result is for no call of this request, or the second for one.
        """
        known = {call.id for call in self.calls}
        answers = {}
        for result in results:
            answer, call_id = answer_of(result), result.call_id
            if call_id not in known:
                raise ValueError(
                    f"there is a result for {call_id!r}, which is no call of this request: {', '.join(sorted(known))}"
                )
            if call_id in answers:
                raise ValueError(f"there are two results for the call {call_id!r}: give one for each")
            answers[call_id] = answer
        return sendable(self._spoken.answer([(call, answers.get(call.id, MISSING)) for call in self._wire]))


def read(response: object, form: str | None = None, names: Mapping[str, str] | None = None) -> Request:
    """
    The calls in a model's reply.

    Args:
        response: What the API or its SDK gave, as a dict or an object of the SDK: the whole reply, or its message.
        form: One of `FORMS`; without it, it is told by what the response looks like.
        names: From `tools`, which this model was told of.

    Raises:
        ValueError: There is no reply in it, or no such form; the text says what stands where.
    """
    spoken = form_of(response, form)
    return request_of(spoken, spoken.read(response), names)


def request_of(
    spoken: Form, reply: Reply, names: Mapping[str, str] | None, given: Mapping[str, ToolCall] | None = None
) -> Request:
    """
    Args:
        given: By their ids, the calls that were given out before.
    """
    calls = [(given or {}).get(call.id) or tool_call(call, names) for call in reply.calls]
    remaining = calls if not given else [call for call in calls if call.id not in given]
    message, messages = sendable((reply.message, reply.messages))
    return Request(calls, message, messages, list(remaining), spoken.name, spoken, reply.calls)


def tool_call(call: WireCall, names: Mapping[str, str] | None) -> ToolCall:
    """The call by the tool's own names."""
    if names is None:
        return ToolCall(call.id, call.name, call.arguments)
    arguments = names.arguments(call.name, call.arguments) if isinstance(names, Names) else call.arguments
    return ToolCall(call.id, names.get(call.name, call.name), arguments)
