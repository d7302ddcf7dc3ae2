"""
Chains: steps one after the other, groups of them side by side, each a call of its own through the whole pipeline.

Values reach later steps through ``args["previous"]`` and references only. What a step is given is a copy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from executor._json import snapshot
from executor.calls._outcome import describe
from executor.calls._state import current
from executor.errors import ChainError, InvalidArgumentsError, ToolCancelledError, ToolError, ToolTimeoutError
from executor.run._batch import as_completed
from executor.run._limits import seconds
from executor.run._normalise import failure_of
from executor.run._plan import PREVIOUS, Plan, Planned, PlannedGroup, plan
from executor.run._progress import Progress
from executor.run._values import ChainResult, ChainStep, Ref, StepResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from executor.calls._token import CancelToken
    from executor.run._backends import RunResult
    from executor.run._values import ProgressEvent
    from executor.threads._workers import Workers
    from executor.values import ToolBackend

# Runs one step through the pipeline: (step, arguments, seconds or None, token or None). Raises what it raises.
CallStep: TypeAlias = "Callable[[ChainStep, Mapping[str, Any], float | None, CancelToken | None], RunResult]"
# Runs records of a group side by side: (function of place and token, places, bound, token) -> (place, record)s.
SideBySide: TypeAlias = "Callable[..., Iterator[tuple[int, StepResult]]]"
OnStep: TypeAlias = "Callable[[int, int, str], object]"


def _fill(value: Any, values: Mapping[str, Any]) -> Any:
    """*value* with every reference replaced."""
    if isinstance(value, Ref):
        return value.of(values)
    if isinstance(value, Mapping):
        return {key: _fill(item, values) for key, item in value.items()}
    return [_fill(item, values) for item in value] if isinstance(value, list | tuple) else value


def run_chain(
    steps: Iterable[object],
    call_step: CallStep,
    workers: Workers,
    on_progress: Callable[[ProgressEvent], object] | None = None,
    *,
    timeout: float | None = None,
    cancel: CancelToken | None = None,
) -> ChainResult:
    """See `Runner.run_chain_with_progress`; each step is a call of its own, made by *call_step*."""
    planned, limit = plan(steps), seconds(timeout)
    nested = current.get() is not None
    total = sum(len(getattr(each, "steps", "1")) for each in planned)
    progress = Progress(on_progress, total)
    if planned:
        progress.started()
    return Chain(
        planned,
        call_step,
        lambda run, steps, most, token: as_completed(run, steps, workers, most, token, nested=nested),
        token=cancel,
        deadline=None if limit is None else time.monotonic() + limit,
        on_step=progress.notify if on_progress is not None else None,
    ).run()


class Chain:
    """
    One run of a chain.

    Args:
        call_step: Runs one step.
        side_by_side: Runs several.
        token: Stops the chain, or None.
        deadline: Monotonic time at which it is given up, or None.
        on_step: ``on_step(ended, total, message)`` after each step.
    """

    def __init__(
        self,
        planned: Plan,
        call_step: CallStep,
        side_by_side: SideBySide,
        *,
        token: CancelToken | None,
        deadline: float | None,
        on_step: OnStep | None = None,
    ) -> None:
        self._plan = planned
        self._call_step = call_step
        self._side_by_side = side_by_side
        self._token = token
        self._deadline = deadline
        self._on_step = on_step
        self._total = sum(len(each.steps) if isinstance(each, PlannedGroup) else 1 for each in planned)
        self._records: list[StepResult] = []
        self._values: dict[str, Any] = {PREVIOUS: None}

    def run(self) -> ChainResult:
        """
        Run the steps.

        Raises:
            ChainError: A step failed, which is the cause.
            ToolCancelledError, ToolTimeoutError: The chain was stopped, or a step ran out of time; ``result`` has the
                records so far.
        """
        for each in self._plan:
            if self._token is not None or self._deadline is not None:
                self._check_stopped()
            if isinstance(each, PlannedGroup):
                self._run_group(each)
            else:
                record = self._run_one(each, self._token)
                self._records.append(record)
                if self._on_step is not None:
                    self._notify(len(self._records), record)
                if record.error is not None:
                    self._judge(record, each.step)
                if not record.skipped:
                    self._values[PREVIOUS] = record.value
                    if each.wanted and record.result is not None and each.step.name is not None:
                        self._values[each.step.name] = snapshot(record.value)
        final = next((record.result for record in reversed(self._records) if record.result is not None), None)
        return ChainResult(final, self._records)

    def _check_stopped(self) -> None:
        error: ToolError | None = None
        if self._token is not None and self._token.error is not None:
            error = ToolCancelledError(self._token.error.message)
        elif self._deadline is not None and time.monotonic() >= self._deadline:
            error = ToolTimeoutError("The chain ran out of time")
        if error is not None:
            error.result = ChainResult(None, self._records)
            raise error

    def _run_group(self, group: PlannedGroup) -> None:
        first = len(self._records)
        places = range(len(group.steps))
        found: dict[int, StepResult] = {}
        failed: int | None = None
        for place, record in self._side_by_side(
            lambda place, token: self._run_one(group.steps[place], token), places, group.max_concurrency, self._token
        ):
            found[place] = record
            self._notify(first + len(found), record)
            if record.error is not None and group.steps[place].step.on_error == "stop":
                failed = place
                break  # the others of the group are told to stop
        self._records += [found[place] for place in sorted(found)]
        if failed is not None:  # the record of a step that stops the chain
            self._judge(found[failed], group.steps[failed].step)
        self._values[PREVIOUS] = [found[place].value for place in places]
        for place, planned in enumerate(group.steps):
            if planned.wanted and planned.step.name is not None and found[place].result is not None:
                self._values[planned.step.name] = snapshot(found[place].value)

    def _run_one(self, planned: Planned, token: CancelToken | None) -> StepResult:
        """The record of one step; never raises for what the step does."""
        step, began = planned.step, time.monotonic()
        backend: ToolBackend | None = None
        result: RunResult | None = None
        error: BaseException | None = None
        skipped = False
        try:
            if step.when is not None and not self._holds(step):
                skipped = True
            else:
                result = self._call_step(step, self._arguments(planned), self._limit(step), token)
                backend = result.backend
                if result.is_error:
                    error, result = failure_of(result), None
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # noqa: BLE001 -- a resolver may raise anything; it is this step's failure
            error, backend = raised, getattr(raised, "backend", None)
        duration = time.monotonic() - began
        return StepResult(step.tool_id, backend, result, error, duration, step.name, planned.place, skipped)

    def _holds(self, step: ChainStep) -> bool:
        if isinstance(step.when, Ref):
            return bool(step.when.of(self._values))
        assert step.when is not None
        named = {name: snapshot(value) for name, value in self._values.items()}
        return bool(step.when(named))

    def _arguments(self, planned: Planned) -> Mapping[str, Any]:
        step = planned.step
        arguments = step.args or {}
        if planned.refers:
            try:
                arguments = _fill(arguments, self._values)
            except LookupError as error:
                raise InvalidArgumentsError(str(error), tool_id=step.tool_id) from error
        if step.use_previous:
            arguments = {**arguments, PREVIOUS: self._values[PREVIOUS]}
        return arguments

    def _limit(self, step: ChainStep) -> float | None:
        if self._deadline is None:
            return step.timeout
        left = max(0.001, self._deadline - time.monotonic())  # 0 is no time limit that a call can have
        return left if step.timeout is None else min(left, step.timeout)

    def _notify(self, ended: int, record: StepResult) -> None:
        if self._on_step is not None:
            said = "step_skipped" if record.skipped else "step_completed" if record.error is None else "step_error"
            self._on_step(ended, self._total, said)

    def _judge(self, record: StepResult, step: ChainStep) -> None:
        """Raise for a record that ends the chain."""
        error = record.error
        assert error is not None
        if isinstance(error, ToolTimeoutError | ToolCancelledError) and (
            step.on_error == "stop" or (self._token is not None and self._token.cancelled)
        ):
            error.result = ChainResult(None, self._records)
            raise error
        if step.on_error == "continue":
            return
        said = error.message if isinstance(error, ToolError) else describe(error)
        raise ChainError(
            f"step {record.place}, {step.label}, failed: {said}",
            index=record.place,
            steps=self._records,
            tool_id=record.tool_id,
            backend=record.backend,
        ) from error
