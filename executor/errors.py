"""
Every error that this package raises on purpose.

::

    ToolExecutorError
    ├── PluginError                     .plugin
    │   ├── PluginLoadError             a plugin could not be imported, registered or configured
    │   └── PluginConflictError         two plugins want one name
    ├── PermissionConfigError           .path .problems: nothing runs on such a policy
    ├── TaskNotFoundError               .task_id
    ├── ExecutorUnavailableError        the infrastructure is down, not the tool
    └── ToolError                       .tool_id .backend .op .result
        ├── InvalidToolIdError
        ├── ToolNotFoundError
        ├── NoBackendsError
        ├── SchemaError                 a tool's schema is not valid JSON Schema
        ├── InvalidArgumentsError       .errors
        ├── PermissionDeniedError       .decision
        ├── CapacityError               .running
        ├── ExecutionError
        │   ├── ToolFailedError         the tool raised, or answered with an error
        │   ├── ConfinementError        the box that the policy asks for cannot be had, or not be made
        │   ├── DeadlockError           .waits: calls would wait for one another for ever
        │   ├── ToolInterruptedError    what ran the tool is gone: what it did until then may have had effects
        │   └── BackendUnavailableError the infrastructure is down; may be tried again
        │       └── OutcomeUnknownError it went down before the answer had come: the call may have been carried out
        ├── ToolTimeoutError
        ├── ToolCancelledError
        ├── InvalidResultError          .errors
        ├── StreamNotSupportedError
        ├── RetriesExhaustedError       .attempts
        └── ChainError                  .index .steps

Each is made as ``E("message")``, the rest by keyword, and pickles and copies with its cause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from executor.values import Decision, ToolBackend

__all__ = [
    "BackendUnavailableError",
    "CapacityError",
    "ChainError",
    "ConfinementError",
    "DeadlockError",
    "ExecutionError",
    "ExecutorUnavailableError",
    "InvalidArgumentsError",
    "InvalidResultError",
    "InvalidToolIdError",
    "NoBackendsError",
    "OutcomeUnknownError",
    "PermissionConfigError",
    "PermissionDeniedError",
    "PluginConflictError",
    "PluginError",
    "PluginLoadError",
    "RetriesExhaustedError",
    "SchemaError",
    "StreamNotSupportedError",
    "TaskNotFoundError",
    "ToolCancelledError",
    "ToolError",
    "ToolExecutorError",
    "ToolFailedError",
    "ToolInterruptedError",
    "ToolNotFoundError",
    "ToolTimeoutError",
]


class ToolExecutorError(Exception):
    """
    The root of the tree.

    Attributes:
        message: What happened, to what, and what to do, without the stage and tool in front.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(message)

    @property
    def message(self) -> str:
        return str(self.args[0]) if self.args else ""

    def caused_by(self, kind: type[BaseException]) -> bool:
        """Whether this error, or any error it was raised from, is a *kind*."""
        chain: list[BaseException] = [self]
        while (error := chain[-1].__cause__) is not None and all(error is not each for each in chain):
            chain.append(error)
        return any(isinstance(each, kind) for each in chain)

    def __copy__(self) -> Self:
        made = type(self).__new__(type(self))
        made.args = self.args
        made.__dict__.update(self.__dict__)
        made.__cause__ = self.__cause__
        return made

    def __deepcopy__(self, _: object) -> Self:
        return self.__copy__()  # what an error carries is a record of what was, shared by all copies

    def __reduce__(self) -> tuple[Any, ...]:
        # BaseException keeps args and __dict__ but loses the cause; a result or backend may be anything.
        from executor._portable import portable

        state = {name: portable(value) for name, value in self.__dict__.items()}
        if self.__cause__ is not None:
            state["__cause__"] = portable(self.__cause__)
        return type(self), self.args, state


class PluginError(ToolExecutorError):
    """
    A plugin is at fault.

    Attributes:
        plugin: The name it was registered under.
    """

    def __init__(self, message: str = "", *, plugin: str | None = None) -> None:
        super().__init__(message)
        self.plugin = plugin


class PluginLoadError(PluginError):
    """A plugin could not be imported, registered or configured; the cause is chained."""


class PluginConflictError(PluginError):
    """Two plugins want the same name."""


class PermissionConfigError(ToolExecutorError):
    """
    A policy could not be loaded. Nothing runs on it.

    Attributes:
        path: The file, or None for a policy given as a value.
        problems: One text a problem, each with the key and, for a file, the line.
    """

    def __init__(self, message: str = "", *, path: str | None = None, problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.path = path
        self.problems = tuple(problems)


class TaskNotFoundError(ToolExecutorError):
    """
    No task has this id.

    Attributes:
        task_id: The id that was asked for.
    """

    def __init__(self, task_id: str = "", message: str | None = None) -> None:
        super().__init__(message or f"No background task has the id {task_id!r}")
        self.task_id = task_id

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.task_id, self.message), super().__reduce__()[2]


class ExecutorUnavailableError(ToolExecutorError):
    """The executor, or what it needs to reach a tool, is down."""


class ToolError(ToolExecutorError):
    """
    A call could not be carried out.

    Attributes:
        tool_id: The tool that was asked for.
        backend: Where it was to run, once that was known.
        op: The stage that failed: ``resolve``, ``validate_input``, ``gate``, ``execute`` …
        result: What the tool had produced when it failed, if anything.
    """

    stage: ClassVar[str] = ""

    def __init__(
        self,
        message: str = "",
        *,
        tool_id: str | None = None,
        backend: ToolBackend | None = None,
        op: str | None = None,
        result: object = None,
    ) -> None:
        super().__init__(message)
        self.tool_id = tool_id
        self.backend = backend
        self.op = op or self.stage
        self.result = result

    def __str__(self) -> str:
        where = " ".join(part for part in (self.op, self.tool_id) if part) if self.tool_id else ""
        if where and self.backend is not None:
            where += f" [{self.backend.kind}]"
        return f"{where}: {self.message}" if where else self.message


class InvalidToolIdError(ToolError):
    """The id is not one to three parts of ``[A-Za-z0-9_.-]+`` joined by colons."""

    stage = "validate_tool_id"


class ToolNotFoundError(ToolError):
    """Nothing knows a tool of this name."""

    stage = "resolve"


class NoBackendsError(ToolError):
    """The tool is known, but nothing can run it."""

    stage = "resolve"


class SchemaError(ToolError):
    """A tool's own schema is not valid JSON Schema: the tool's author is at fault, never the caller."""

    stage = "schema"


class _ValidationError(ToolError):
    """Shared shape of the two validation errors: ``errors`` is a list of {path, keyword, message}."""

    def __init__(self, message: str = "", *, errors: Sequence[Mapping[str, str]] = (), **where: Any) -> None:
        super().__init__(message, **where)
        self.errors = [dict(error) for error in errors]


class InvalidArgumentsError(_ValidationError):
    """The arguments do not fit: ``errors`` says where (JSON pointer), which keyword, and why."""

    stage = "validate_input"


class InvalidResultError(_ValidationError):
    """The tool's result does not fit its output schema; ``result`` is what it returned."""

    stage = "validate_output"


class PermissionDeniedError(ToolError):
    """
    The gate refused the call.

    Attributes:
        decision: Why, by which method and rule.
        info: The ``_permission`` entry of the result.
        commented: Whether the message is a person's own words, to be shown without a prefix.
    """

    stage = "gate"

    def __init__(
        self,
        message: str = "",
        *,
        decision: Decision | None = None,
        info: Mapping[str, Any] | None = None,
        commented: bool = False,
        **where: Any,
    ) -> None:
        super().__init__(message, **where)
        self.decision = decision
        self.info = dict(info or {})
        self.commented = commented


class CapacityError(ToolError):
    """
    There is no room for one more task.

    Attributes:
        running: One text a running task: its id, tool and age.
    """

    stage = "execute"

    def __init__(self, message: str = "", *, running: Sequence[str] = (), **where: Any) -> None:
        super().__init__(message, **where)
        self.running = tuple(running)


class ExecutionError(ToolError):
    """The call was made and went wrong."""

    stage = "execute"


class ToolFailedError(ExecutionError):
    """The tool raised (the cause), or answered with an error."""


class ConfinementError(ExecutionError):
    """The box that the policy asks for cannot be had here, or could not be made; the command did not start."""


class DeadlockError(ExecutionError):
    """The call would wait for calls that wait for it: ``waits`` has a text for each. It was not started."""

    def __init__(self, message: str = "", *, waits: Sequence[str] = (), **where: Any) -> None:
        super().__init__(message, **where)
        self.waits = tuple(waits)


class BackendUnavailableError(ExecutionError):
    """
    What should have run the tool is down; the call may be tried again.

    Attributes:
        started: Whether the tool may have begun. A call that never did can be tried again whatever it does.
        retry_after: Seconds that the backend asks to be left alone for, or None.
    """

    def __init__(
        self, message: str = "", *, started: bool = True, retry_after: float | None = None, **where: Any
    ) -> None:
        super().__init__(message, **where)
        self.started = started
        self.retry_after = retry_after


class OutcomeUnknownError(BackendUnavailableError):
    """What ran the tool was lost before its answer had come: whether the call was carried out is not known."""


class ToolInterruptedError(ExecutionError):
    """What ran the tool is gone, or has dropped the call: what was done until then may have had effects."""


class ToolTimeoutError(ToolError):
    """The time limit passed. The work was told to stop; whatever it still returns is dropped."""

    stage = "execute"


class ToolCancelledError(ToolError):
    """Somebody stopped the call."""

    stage = "execute"


class StreamNotSupportedError(ToolError):
    """The backend gives its result in one piece only."""

    stage = "stream"


class RetriesExhaustedError(ToolError):
    """
    Every attempt failed; the last failure is the cause.

    Attributes:
        attempts: How many were made.
    """

    stage = "execute"

    def __init__(self, message: str = "", *, attempts: int = 0, **where: Any) -> None:
        super().__init__(message, **where)
        self.attempts = attempts


class ChainError(ToolError):
    """
    A step of a chain failed; its error is the cause.

    Attributes:
        index: Which step, from 0.
        steps: The records so far, the failing one included.
    """

    stage = "chain"

    def __init__(self, message: str = "", *, index: int = 0, steps: Sequence[Any] = (), **where: Any) -> None:
        super().__init__(message, **where)
        self.index = index
        self.steps = tuple(steps)
