"""Inside dispatch: trying again what failed, and going to the next backend when one is down. Driven by tenacity."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from executor._json import copy_json
from executor._log import warn
from executor.calls._current import token_of
from executor.errors import (
    BackendUnavailableError,
    CapacityError,
    ExecutionError,
    InvalidArgumentsError,
    InvalidResultError,
    InvalidToolIdError,
    NoBackendsError,
    PermissionDeniedError,
    RetriesExhaustedError,
    SchemaError,
    StreamNotSupportedError,
    ToolCancelledError,
    ToolError,
    ToolFailedError,
    ToolInterruptedError,
    ToolNotFoundError,
    ToolTimeoutError,
)
from executor.values._retry import Permanent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import tenacity

    from executor.run._backends import Prepared
    from executor.values._retry import RetryConfig

# Trying again cannot mend these, or must not: a denial is a decision, a deadline and a cancellation are orders.
NEVER = (
    InvalidToolIdError,
    ToolNotFoundError,
    NoBackendsError,
    SchemaError,
    InvalidArgumentsError,
    InvalidResultError,
    PermissionDeniedError,
    CapacityError,
    ToolTimeoutError,
    ToolCancelledError,
    ToolInterruptedError,
    StreamNotSupportedError,
    RetriesExhaustedError,
)


def attempts(prepared: Prepared, attempt: Callable[[], Any], cross_gate: Callable[[Prepared], None]) -> Any:
    """
    What *attempt* returns, tried again and on further backends as the call's retries and the selector allow.

    Only a call whose tool is idempotent or read-only, whose retries are said to be unsafe, or that failed before it
    began is ever made again.

    Args:
        cross_gate: Takes the prepared call through the gate for another backend; raises when it is refused.

    Raises:
        RetriesExhaustedError: It failed each time; the last failure is the cause.
        ToolError: It failed for good.
    """
    arguments = prepared.arguments
    prepared.arguments = copy_json(arguments)  # what one attempt does to its arguments is not for the next to see
    others = iter(prepared.candidates[1:])
    while True:
        try:
            if prepared.retry is None or prepared.retry.retry.max_retries == 0:
                return attempt()
            return _Retries(prepared, prepared.retry, arguments).run(attempt)
        except ToolError as error:
            down = error.__cause__ if isinstance(error, RetriesExhaustedError) else error
            another = next(others, None)
            if another is None or not isinstance(down, BackendUnavailableError) or not _may_repeat(prepared, down):
                raise
            moved = (another.kind, another.server_name, another.provider_id) != (
                prepared.backend.kind,
                prepared.backend.server_name,
                prepared.backend.provider_id,
            )
        prepared.backend = another
        prepared.arguments = copy_json(arguments)
        if moved:
            cross_gate(prepared)
            arguments = copy_json(prepared.arguments)  # a person may have edited them


def unmark(error: BaseException) -> None:
    """Take `Permanent` off the cause of *error*: it is for the retries; callers look for what was marked."""
    if isinstance(error.__cause__, Permanent):
        error.__cause__ = error.__cause__.error


def _may_repeat(prepared: Prepared, error: BaseException) -> bool:
    if _is_over(prepared):
        return False
    if isinstance(error, BackendUnavailableError) and not error.started:
        return True
    unsafe = prepared.retry is not None and prepared.retry.retry_unsafe
    return unsafe or prepared.entry.tool.repeatable


def _is_over(prepared: Prepared) -> bool:
    """Whether its plugin was taken away, or configured anew: no attempt begins any more."""
    return prepared.entry.exposure is not None and prepared.entry.exposure.over


class _Retries:
    """The attempts of one call on one backend."""

    def __init__(self, prepared: Prepared, config: RetryConfig, arguments: dict[str, Any]) -> None:
        self._prepared = prepared
        self._config = config
        self._arguments = arguments
        self._waits: Iterator[float] = config.retry.new_backoff()
        self._delay = 0.0
        self._spent = False
        self._shown: BaseException | None = None
        self._made = 0
        self._failed: ExecutionError | None = None  # the last attempt, after which there was to be another

    def run(self, attempt: Callable[[], Any]) -> Any:
        import tenacity  # 15 ms, paid by the first tool that has retries

        def once() -> Any:
            if self._made:
                self._prepared.arguments = copy_json(self._arguments)
            self._made += 1
            try:
                return attempt()
            except BackendUnavailableError as error:
                if self._failed is None or error.started or not _is_over(self._prepared):
                    raise
                raise self._failed from self._failed.__cause__  # that nothing was started is true of this attempt only

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(self._goes_on),
            wait=self._wait,  # asked before stop
            stop=lambda _: self._spent,
            before_sleep=self._notify,
            sleep=self._sleep,
            retry_error_callback=self._exhausted,
            reraise=False,
        )
        return retrying(once)

    def _goes_on(self, error: BaseException) -> bool:
        """Whether another try may mend it; the first question after each failure."""
        if isinstance(error, NEVER) or not isinstance(error, ExecutionError):
            return False
        if not _may_repeat(self._prepared, error):
            return False
        # What the tool raised is what people know how to classify; our own error around it says nothing more.
        raised = error.__cause__ if isinstance(error, ToolFailedError) and error.__cause__ is not None else error
        if _is_permanent(raised) or isinstance(raised, NEVER) or not isinstance(raised, Exception):
            return False
        shown = self._config.err_policy.classify(raised)
        if _is_permanent(shown):
            return False
        self._shown, self._failed = shown, error
        return True

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """Seconds until the next try, unless the budget is used up: the tries, the policy's waits, the call's time."""
        delay = next(self._waits, None) if state.attempt_number <= self._config.retry.max_retries else None
        if delay is None:
            self._spent = True
            return 0.0
        self._delay = max(delay, _retry_after(state.outcome.exception() if state.outcome is not None else None))
        deadline = self._prepared.call.deadline
        self._spent = deadline is not None and time.monotonic() + self._delay >= deadline
        return self._delay

    def _notify(self, state: tenacity.RetryCallState) -> None:
        if self._config.on_retry is None or self._shown is None:
            return
        try:
            self._config.on_retry(state.attempt_number, self._shown, self._delay)
        except Exception as error:  # noqa: BLE001 -- who is told does not decide whether it is tried again
            warn(f"The on_retry of {self._prepared.entry.name} raised: {error!r}", error=error)

    def _sleep(self, seconds: float) -> None:
        call = self._prepared.call
        if token_of(call).wait(seconds) and call.source.error is not None:
            raise call.source.error

    def _exhausted(self, state: tenacity.RetryCallState) -> Any:
        error = state.outcome.exception() if state.outcome is not None else None
        said = error.message if isinstance(error, ToolError) else str(error)
        raise RetriesExhaustedError(
            f"{self._prepared.entry.name} failed {state.attempt_number} times, at last with: {said}",
            attempts=state.attempt_number,
            tool_id=self._prepared.entry.name,
            backend=self._prepared.backend,
        ) from error


def _is_permanent(error: BaseException) -> bool:
    """Whether the mark is on this error, or on any that it was raised from."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        if isinstance(found, Permanent):
            return True
        seen.add(id(found))
        found = found.__cause__
    return False


def _retry_after(error: BaseException | None) -> float:
    """The wait in seconds that this error, or one it was raised from, asks for."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        asked = getattr(error, "retry_after", None)
        if isinstance(asked, int | float) and math.isfinite(asked):
            return max(0.0, float(asked))
        seen.add(id(error))
        error = error.__cause__
    return 0.0
