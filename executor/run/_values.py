"""What goes into chains and comes out of streams, chains and batches, each with its JSON form where it has one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from executor._deprecated import FormerNamedTuple
from executor.tools._options import retries

if TYPE_CHECKING:
    from executor.run._backends import RunResult
    from executor.values import ToolBackend
    from executor.values._retry import RetryConfig

_NOTHING = ...  # JSON has no such value, and it stays itself when it is copied or pickled


class StreamEventKind(StrEnum):
    """The kinds of a stream's events. The last two are terminal: a stream has exactly one of them, at its end."""

    PROGRESS = "progress"
    CHUNK = "chunk"
    DONE = "done"
    ERROR = "error"


TERMINAL = (StreamEventKind.DONE, StreamEventKind.ERROR)


@dataclass(slots=True)  # not frozen: one is made for each piece, and setting slots past `__setattr__` is half its cost
class StreamEvent(FormerNamedTuple):
    """
    One event of a stream.

    Attributes:
        tool_id: The tool that was asked for, unless the backend named another.
        data: Of ``progress`` a `ProgressEvent`, of ``chunk`` a piece, of ``done`` the result, of ``error`` its text.
        error: Of ``error`` only; not part of the JSON form.
    """

    kind: StreamEventKind
    tool_id: str | None = None
    data: Any = None
    error: BaseException | None = None

    @property
    def terminal(self) -> bool:
        """Whether nothing follows."""
        return self.kind in TERMINAL

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: ``{"kind", "toolId", "data"}``."""
        data = self.data.to_dict() if isinstance(self.data, ProgressEvent) else self.data
        told = {"kind": str(self.kind), "toolId": self.tool_id, "data": data}
        return {key: value for key, value in told.items() if value is not None}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> StreamEvent:
        """The event that `to_dict` described. Raises ValueError for an unknown kind."""
        return cls(StreamEventKind(str(value.get("kind"))), value.get("toolId"), value.get("data"))


@dataclass(frozen=True, slots=True)
class ProgressEvent(FormerNamedTuple):
    """How far a call or chain is; *total* None or 0 means that nobody knows the whole."""

    progress: float
    total: float | None = None
    message: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: ``{"progress", "total", "message"}``."""
        told = {"total": self.total, "message": self.message}
        return {"progress": self.progress, **{key: value for key, value in told.items() if value}}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> ProgressEvent:
        """The event that `to_dict` described."""
        return cls(value.get("progress", 0), value.get("total"), value.get("message"))


@dataclass(frozen=True, slots=True)
class Ref:
    """
    Stands in a step's arguments for an earlier step's value, or a part of it.

    Attributes:
        path: The step's name, then keys and list positions: ``fetch.items.0.id``. The name ``previous`` is the
            step before.
        default: Used when there is no such value; without one that is an error.
    """

    path: str
    default: Any = _NOTHING

    @property
    def step(self) -> str:
        """The name of the step."""
        return self.path.partition(".")[0]

    def of(self, values: Mapping[str, Any]) -> Any:
        """
        The value, out of those of the earlier steps.

        Raises:
            LookupError: There is none; the message says up to where the path led.
        """
        found: Any = values
        for number, part in enumerate(parts := self.path.split(".")):
            try:
                found = found[int(part) if isinstance(found, list | tuple) else part]
            except (LookupError, ValueError, TypeError):
                if self.default is not _NOTHING:
                    return self.default
                there = ".".join(parts[:number])
                reason = f"{there} has no {part!r}" if there else f"the step {part!r} has no value: it did not run"
                raise LookupError(f"the reference {self.path!r} leads nowhere: {reason}") from None
        return found

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: ``{"$step": "fetch.items", "default": …}``."""
        return {"$step": self.path} if self.default is _NOTHING else {"$step": self.path, "default": self.default}


Condition: TypeAlias = "Ref | Callable[[Mapping[str, Any]], object]"


@dataclass(frozen=True, slots=True)
class ChainStep:
    """
    One step of a chain.

    Attributes:
        tool_id: The tool to call.
        args: Its arguments; a `Ref` anywhere in them stands for an earlier step's value.
        use_previous: Whether the value of the step before is put at ``args["previous"]``, over what is there. It is
            None for the first step, and the list of their values after a group.
        name: By which later steps refer to this one's value.
        when: Runs only if this is true: a `Ref`, or a function of the values of the named steps so far.
        on_error: ``stop`` ends the chain when this step fails, ``continue`` does not.
        timeout: Seconds; instead of the tool's own time limit.
        retry: As for `ToolExecutor.register`; instead of the tool's own.
    """

    tool_id: str
    args: Mapping[str, Any] | None = None
    use_previous: bool = False
    name: str | None = None
    when: Condition | None = None
    on_error: Literal["stop", "continue"] = "stop"
    timeout: float | None = None
    retry: object = None

    @property
    def label(self) -> str:
        """What the step is called in messages."""
        return f"{self.name!r} ({self.tool_id})" if self.name else repr(self.tool_id)

    def retries(self) -> RetryConfig | None:
        """How it is tried again; None as its tool says. Raises ValueError: `retry` stands for no configuration."""
        return retries(self.retry)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: ``{"toolId", "args", "usePrevious", …}``. Raises ValueError for what JSON cannot say."""
        if self.when is not None and not isinstance(self.when, Ref):
            raise ValueError(f"the condition of the step {self.label} is a function, which JSON has no word for")
        if self.retry is not None and type(self.retry) is not int:
            raise ValueError(f"the retries of the step {self.label} are no number, and JSON has no word for others")
        told = {
            "toolId": self.tool_id,
            "args": _refs_to_json(self.args) if self.args else None,
            "usePrevious": self.use_previous or None,
            "name": self.name,
            "when": self.when.to_dict() if self.when is not None else None,
            "onError": self.on_error if self.on_error != "stop" else None,
            "timeout": self.timeout,
            "retry": self.retry,
        }
        return {key: value for key, value in told.items() if value is not None}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> ChainStep:
        """
        The step that `to_dict` described.

        Raises:
            ValueError: A key is unknown, or the tool is missing.
        """
        _refuse_unknown(value, _STEP_KEYS, "a step")
        if not isinstance(value.get("toolId"), str):
            raise ValueError('a step has no "toolId": say which tool it calls')  # noqa: TRY004 -- of the whole value
        found = {_STEP_KEYS[key]: item for key, item in value.items() if item is not None}
        if "args" in found:
            found["args"] = _refs_from_json(found["args"])
        if "when" in found:
            found["when"] = _refs_from_json(found["when"])
        return cls(**found)


_STEP_KEYS = {
    "toolId": "tool_id",
    "args": "args",
    "usePrevious": "use_previous",
    "name": "name",
    "when": "when",
    "onError": "on_error",
    "timeout": "timeout",
    "retry": "retry",
}


@dataclass(frozen=True, slots=True)
class Parallel:
    """
    Steps that run side by side; none of them can refer to another.

    Attributes:
        max_concurrency: At most so many at once; None: as many as there are free workers.
    """

    steps: tuple[ChainStep, ...]
    max_concurrency: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: ``{"parallel": [steps], "maxConcurrency": n}``."""
        told: dict[str, Any] = {"parallel": [step.to_dict() for step in self.steps]}
        return told if self.max_concurrency is None else {**told, "maxConcurrency": self.max_concurrency}


Step: TypeAlias = "ChainStep | Parallel"


def to_step(value: object) -> Step:
    """
    The step or group that *value* is: itself, its JSON form, or a list of steps, which is a group.

    Raises:
        ValueError: It is neither.
    """
    if isinstance(value, ChainStep):
        return value
    if isinstance(value, Parallel):
        return Parallel(_plain(value.steps), value.max_concurrency)
    if isinstance(value, list | tuple):
        return Parallel(_plain(value))
    if isinstance(value, Mapping):
        if "parallel" not in value:
            return ChainStep.from_dict(value)
        _refuse_unknown(value, ("parallel", "maxConcurrency"), "a group")
        if not isinstance(value["parallel"], list):
            raise ValueError('"parallel" is not a list of steps')  # noqa: TRY004 -- of the whole value
        return Parallel(_plain(value["parallel"]), value.get("maxConcurrency"))
    raise ValueError(f"{value!r} is not a step: give a ChainStep, a Parallel or a list of steps")


def _plain(values: Iterable[object]) -> tuple[ChainStep, ...]:
    steps = []
    for value in values:
        step = value if isinstance(value, Parallel) else to_step(value)
        if isinstance(step, Parallel):
            raise ValueError(f"{value!r} is not a step: a group holds steps only, no further group")  # noqa: TRY004 -- as above
        steps.append(step)
    return tuple(steps)


def _refuse_unknown(value: Mapping[str, Any], known: Iterable[str], what: str) -> None:
    unknown = sorted(set(value) - set(known))
    if unknown:
        raise ValueError(f"{what} has the unknown key {unknown[0]!r}: use {', '.join(known)}")


def _refs_to_json(value: Any) -> Any:
    if isinstance(value, Ref):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: _refs_to_json(item) for key, item in value.items()}
    return [_refs_to_json(item) for item in value] if isinstance(value, list | tuple) else value


def _refs_from_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        if "$step" in value and value.keys() <= {"$step", "default"} and isinstance(value["$step"], str):
            return Ref(value["$step"], value.get("default", _NOTHING))
        return {key: _refs_from_json(item) for key, item in value.items()}
    return [_refs_from_json(item) for item in value] if isinstance(value, list) else value


@dataclass(slots=True)  # not frozen, as `StreamEvent`
class StepResult(FormerNamedTuple):
    """
    What became of one step of a chain, or one call of a batch.

    Attributes:
        backend: Where it ran, or was to run; None when that was never known.
        result: None when it failed or was left out.
        error: Why it failed.
        duration: Seconds.
        name: The step's name, or the call's id.
        place: Which of all steps or calls it is, from 0.
        skipped: Its condition was not true, so it did not run.
    """

    tool_id: str
    backend: ToolBackend | None = None
    result: RunResult | None = None
    error: BaseException | None = None
    duration: float = 0.0
    name: str | None = None
    place: int = 0
    skipped: bool = False

    @property
    def value(self) -> Any:
        """The structured value, or None."""
        return self.result.structured if self.result is not None else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: ``{"toolId", "backend", "result"}``, and the rest where it says something."""
        told = {
            "toolId": self.tool_id,
            "backend": self.backend.to_dict() if self.backend is not None else None,
            "result": self.result.to_dict() if self.result is not None else None,
            "name": self.name,
            "skipped": self.skipped or None,
        }
        return {**{key: value for key, value in told.items() if value is not None}, "duration": self.duration}


@dataclass(frozen=True, slots=True)
class ChainResult(FormerNamedTuple):
    """
    What a chain came to.

    Attributes:
        final: The result of the last step that has one; None for an empty chain.
        steps: One record for each step that was reached, in the order of the steps.
    """

    final: RunResult | None
    steps: Sequence[StepResult]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: ``{"final", "steps"}``."""
        final = self.final.to_dict() if self.final is not None else None
        return {"final": final, "steps": [step.to_dict() for step in self.steps]}
