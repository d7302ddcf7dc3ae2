"""The forms: which there are, what each has to be able to do, and which one a reply is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from executor.models._results import Answer, Media
    from executor.values import JSON, ToolDefinition

# Each form, and the module whose `FORM` speaks it.
_MODULES = {
    "openai-chat": "_openai_chat",
    "openai": "_openai",
    "anthropic": "_anthropic",
    "gemini": "_gemini",
    "ollama": "_ollama",
    "langchain": "_langchain",
    "mcp": "_mcp",
}
FORMS = tuple(_MODULES)


@dataclass(frozen=True, slots=True)
class WireCall:
    """
    A call as the API wrote it.

    Attributes:
        id: The id by which the executor knows the call: the API's, or one made here.
        name: The name that the API has for the tool.
        echo: The id as the answer has to repeat it; None: the API gave none and gets none back.
        custom: Whether the tool takes a text rather than named arguments, and is answered as such.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] | str
    echo: JSON = None
    custom: bool = False


@dataclass(frozen=True, slots=True)
class WireTool:
    """
    A tool as the API is told of it.

    Attributes:
        definition: What else is known of it.
    """

    name: str
    description: str
    schema: dict[str, Any]
    definition: ToolDefinition

    def as_function(self) -> dict[str, Any]:
        """As chat completions are told of it, and what has their form."""
        function = {"name": self.name, "description": self.description, "parameters": self.schema}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Reply:
    """
    A model's reply.

    Attributes:
        message: What is appended to the conversation, as the API wants it back.
        messages: The same as a list, for conversations that take several items for one reply, or none.
    """

    message: Any
    messages: list[Any]
    calls: list[WireCall]


class Collector(Protocol):
    """Puts the reply together from the events of one stream."""

    def feed(self, event: Mapping[str, Any]) -> list[WireCall]:
        """Take the next event. Returns the calls that are whole from now on. Raises ValueError."""

    def end(self) -> Reply:
        """The reply as far as it is whole."""


class Form(Protocol):
    """
    One model API.

    Attributes:
        name: One of `FORMS`.
        dump: How its SDK's objects are asked for their fields; see `fields`.
    """

    @property
    def name(self) -> str: ...
    @property
    def dump(self) -> Mapping[str, bool]: ...

    def define(self, tool: WireTool) -> dict[str, Any]:
        """The tool in the words of this API."""

    def read(self, response: object) -> Reply:
        """The reply in *response*. Raises ValueError: there is none."""

    def answer(self, answers: Sequence[tuple[WireCall, Answer]]) -> list[dict[str, Any]]:
        """The messages that answer these calls."""

    def notice(self, text: str, media: Sequence[Media]) -> list[dict[str, Any]]:
        """A message that answers no call."""

    def text(self, message: Any) -> str:
        """What the model says in a message of a `Reply`; empty if that is nothing."""

    def collector(self, say: Callable[[str], object]) -> Collector:
        """For one stream; *say* is called with each piece of what the model says."""


def form_named(name: str) -> Form:
    """The form of this name. Raises ValueError."""
    module = _MODULES.get(name) if isinstance(name, str) else None
    if module is None:
        raise ValueError(f"unknown form {name!r}: use one of {', '.join(FORMS)}")
    form: Form = import_module(f"executor.models.{module}").FORM
    return form


def form_of(thing: object, name: str | None) -> Form:
    """
    The form of this name; without one, the form that *thing*, a reply or an event, is in.

    Raises:
        ValueError: There is no such form, or none can be told.
    """
    if name is not None:
        return form_named(name)
    found = _by_class(thing) or _by_keys(thing)
    if found is None:
        raise ValueError(
            f"the form of this {type(thing).__name__} cannot be told: give one of {', '.join(FORMS)} with it"
        )
    return form_named(found)


# Whose objects are in which form: the first entry with which the name of the module begins.
_PACKAGES = (
    ("openai.types.responses", "openai"),
    ("openai.lib.streaming.responses", "openai"),
    ("openai", "openai-chat"),
    ("anthropic", "anthropic"),
    ("google.genai", "gemini"),
    ("ollama", "ollama"),
    ("langchain", "langchain"),
    ("mcp", "mcp"),
)

# Keys that only one form has, looked for in this order.
_KEYS = (
    ("jsonrpc", "mcp"),
    ("method", "mcp"),
    ("choices", "openai-chat"),
    ("candidates", "gemini"),
    ("promptFeedback", "gemini"),
    ("prompt_feedback", "gemini"),
    ("parts", "gemini"),
    ("tool_call_chunks", "langchain"),
    ("invalid_tool_calls", "langchain"),
    ("output", "openai"),
    ("done", "ollama"),
)
_TYPES = {"ai": "langchain", "AIMessage": "langchain", "AIMessageChunk": "langchain", "ping": "anthropic"}


def _by_class(thing: object) -> str | None:
    module = type(thing).__module__
    return next((form for start, form in _PACKAGES if f"{module}.".startswith((f"{start}.", f"{start}_"))), None)


def _by_keys(thing: object) -> str | None:
    if not isinstance(thing, Mapping):
        return None
    kind = thing.get("type")
    if isinstance(kind, str):
        if kind in _TYPES:
            return _TYPES[kind]
        if kind.startswith("response."):
            return "openai"
        if kind.startswith(("message", "content_block_")):
            return "anthropic"
    by_key = next((form for key, form in _KEYS if key in thing), None)
    return by_key or _by_message(thing)


def _by_message(thing: Mapping[str, Any]) -> str | None:
    """The form of a message that stands alone, or in the reply of Ollama."""
    if isinstance(thing.get("message"), Mapping):
        return "ollama"
    if isinstance(thing.get("content"), list | tuple) and thing.get("role") == "assistant":
        return "anthropic"
    if "role" not in thing:
        return None
    calls = thing.get("tool_calls")
    first = calls[0] if isinstance(calls, list) and calls else None
    return "ollama" if isinstance(first, Mapping) and "id" not in first else "openai-chat"
