"""
For authors of plugins and hosts: what tests of tools need, without sleeping.

``pytest_plugins = ["executor.testing"]`` in a conftest.py gives the fixtures `executor` and `recorder`.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

import pytest

from executor import models
from executor._executor import ToolExecutor
from executor.errors import ToolNotFoundError
from executor.registry import PluginRegistry
from executor.registry._load import BUNDLED
from executor.registry._timing import check_import
from executor.values import ToolBackend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from executor.values import Tool, ToolDefinition

__all__ = [
    "Answer",
    "HeldTool",
    "Recorder",
    "StubBackend",
    "StubIndex",
    "StubStreams",
    "check_plugin",
    "executor",
    "recorder",
]

_CONFIGURED = {"mcp", "openapi"}  # bundled plugins whose tools depend on the configuration


class Recorder:
    """An output callback that keeps what it is given; a test can wait for a text to come."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self.chunks: list[str] = []

    def __call__(self, chunk: str) -> None:
        with self._lock:
            self.chunks.append(chunk)
            self._arrived.notify_all()

    @property
    def text(self) -> str:
        """Everything so far."""
        with self._lock:
            return "".join(self.chunks)

    def wait_for(self, text: str, timeout: float = 10.0) -> None:
        """Return when *text* has come. Raises AssertionError after *timeout* seconds."""
        with self._lock:
            if not self._arrived.wait_for(lambda: text in "".join(self.chunks), timeout):
                raise AssertionError(f"{text!r} did not come within {timeout:g} s, but {''.join(self.chunks)!r}")


class HeldTool:
    """
    A tool that stays at work until it is told to go on, for tests of what happens meanwhile.

    Attributes:
        started: Set when it has been called.
        calls: How often it has been called.
    """

    def __init__(self, result: Any = "done") -> None:
        self.started = threading.Event()
        self.calls = 0
        self._result = result
        self._go_on = threading.Event()

    def __call__(self, args: dict[str, Any]) -> Any:  # noqa: ARG002 -- the form of a tool
        self.calls += 1
        self.started.set()
        if not self._go_on.wait(30):
            raise AssertionError("nobody let this tool go on within 30 s")
        return self._result

    def go_on(self) -> None:
        """Let it return."""
        self._go_on.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on()


@dataclass(frozen=True, slots=True)
class Answer:
    """What an MCP server answers, without the package ``mcp``."""

    content: Sequence[Any] = ()
    structured_content: Any = None
    is_error: bool = False

    @classmethod
    def text(cls, *texts: str, is_error: bool = False) -> Answer:
        """An answer of text blocks."""
        return cls([{"type": "text", "text": text} for text in texts], is_error=is_error)


class StubBackend:
    """
    Calls tools of MCP servers and of providers: gives what it was made with, in turn; the last one again and again.

    Args:
        answers: A value is returned, an exception raised, a function called with the arguments.

    Attributes:
        calls: (server or provider, tool, arguments, options) of each call.
    """

    def __init__(self, *answers: Any) -> None:
        self._answers = deque(answers or (None,))
        self.calls: list[tuple[str, str, Mapping[str, Any], dict[str, Any]]] = []

    def call_tool(self, where: str, tool: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        """The next answer."""
        self.calls.append((where, tool, arguments, options))
        answer = self._answers.popleft() if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer(arguments) if callable(answer) else answer


class StubStreams(StubBackend):
    """A `StubBackend` that streams too: an answer is then an iterable of events, or None for "cannot"."""

    def call_tool_stream(self, where: str, tool: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        """The next answer, as a stream."""
        return self.call_tool(where, tool, arguments, **options)


class StubIndex:
    """
    A tool index.

    Args:
        backends: By id; by default the local function of the same name.
    """

    def __init__(self, tools: Iterable[Tool], backends: Mapping[str, Sequence[ToolBackend]] | None = None) -> None:
        self._tools = {tool.id: tool for tool in tools}
        self._backends = backends or {}

    def get_tool(self, tool_id: str) -> Tool:
        """The tool. Raises ToolNotFoundError."""
        if tool_id not in self._tools:
            raise ToolNotFoundError(f"No tool {tool_id}", tool_id=tool_id)
        return self._tools[tool_id]

    def get_all_backends(self, tool_id: str) -> Sequence[ToolBackend]:
        """Where it runs."""
        return self._backends.get(tool_id) or [ToolBackend.local(tool_id)]


def check_plugin(plugin: object, config: dict[str, Any] | None = None) -> list[str]:
    """
    What is wrong with a plugin, for a model or a host: an empty list, or one text a finding.

    It is registered and exposed in a registry of its own, beside the bundled plugins whose tools are always the same;
    none of its tools is called. Found are hooks that are misspelt or not marked, names that another tool has, tools
    that a model could not use, whatever the plugin raises; of a module also an import that fails or takes long.

    Args:
        plugin: The module, as its entry point names it, or the plugin itself.
        config: What it is configured with.
    """
    module = getattr(plugin, "__name__", type(plugin).__module__)
    itself = {name for name, bundled in BUNDLED.items() if bundled == module}
    with PluginRegistry(entry_points=False, blocked=itself | _CONFIGURED) as registry:
        registry.expose_all()
        try:
            name = registry.register(plugin)
            registry.expose(name, config)
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is the finding
            return [f"it cannot be registered: {error}"]
        findings = [remark for row in registry.describe() if row["name"] == name for remark in row["remarks"]]
        findings += [f"{failure.stage}: {failure.error}" for failure in registry.failures() if failure.plugin == name]
        tools = [entry.definition for entry in registry.tools.values() if entry.plugin_name == name]
        return [
            *findings,
            *(check_import(module) if isinstance(plugin, ModuleType) else ()),
            *(finding for tool in tools for finding in _check_tool(tool)),
            *_check_names([entry.definition for entry in registry.tools.values()]),
        ]


def _check_tool(tool: ToolDefinition) -> Iterator[str]:
    if not tool.description:
        yield f"{tool.name}: no description; a model will not know when to use it"
    if tool.input_schema is None:
        yield f"{tool.name}: no schema; a model will guess its arguments"


def _check_names(definitions: Sequence[ToolDefinition]) -> Iterator[str]:
    for form in models.FORMS:
        try:
            _, names = models.tools(definitions, form)
        except ValueError as error:
            yield str(error)
        else:
            yield from (f"{name}: left out of the tools for {form}: {why}" for name, why in names.left_out.items())


@pytest.fixture
def executor() -> Iterator[ToolExecutor]:
    """A `ToolExecutor` without plugins; what still runs at the end of the test is cancelled."""
    made = ToolExecutor()
    yield made
    made.shutdown(cancel=True, timeout=5)


@pytest.fixture
def recorder() -> Recorder:
    """A `Recorder`."""
    return Recorder()
