"""
The order of the stages.

::

    prepare   resolve → select → validate input → gate (edited arguments: validated, and through the gate again)
    finish    middleware → dispatch (retries and further backends inside) → normalise → validate output
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from executor._json import copy_arguments
from executor.calls._apart import Judged
from executor.calls._outcome import describe
from executor.calls._scope import block
from executor.calls._state import OVER
from executor.errors import ExecutionError, InvalidResultError, SchemaError, ToolError
from executor.run._backends import Prepared, RunResult, Setup
from executor.run._dispatch import dispatch, dispatch_async, fail_async
from executor.run._gate import pass_gates
from executor.run._normalise import SCALARS, normalise
from executor.run._resolve import resolve, select
from executor.run._validate import validate_input, validate_output
from executor.threads import _fork
from executor.values._tool import LOCAL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from executor.calls._scope import Steps
    from executor.calls._state import CallState
    from executor.run._backends import (
        BackendSelector,
        Bound,
        Middleware,
        SchemaValidator,
    )
    from executor.tools._make import Registered
    from executor.values import ToolBackend
    from executor.values._retry import RetryConfig


class Pipeline:
    """
    Takes calls through every stage. May be used from any thread.

    Args:
        selector: Chooses among a tool's backends.
        validator: Compares values with schemas in place of the built-in validation.
        check_input, check_output: Whether arguments and results are compared with their schemas.
        strict: Whether a result of another's tool that does not fit is a failure.
        retry: Retries of tools that have none of their own.
        middleware: See `Runner`.

    Attributes:
        own: Whether nothing of it is somebody else's code.
    """

    def __init__(
        self,
        *,
        selector: BackendSelector | None = None,
        validator: SchemaValidator | None = None,
        check_input: bool = True,
        check_output: bool = True,
        strict: bool = False,
        retry: RetryConfig | None = None,
        middleware: Sequence[Middleware] = (),
    ) -> None:
        self._selector = selector
        self._validator = validator
        self._check_input = check_input
        self._check_output = check_output
        self._strict = strict
        self._retry = retry
        self._middleware = tuple(middleware)
        self._plain = selector is None and not middleware
        self._compares = check_input and validator is None
        self.own = self._plain and validator is None

    # The stages --------------------------------------------------------------------------------------------------

    def prepare(self, call: CallState, setup: Setup) -> Prepared:
        """
        Everything before the gate, in the caller's thread.

        Args:
            setup: What the call is made with.

        Raises:
            InvalidToolIdError, ToolNotFoundError, NoBackendsError, InvalidArgumentsError: The call cannot run.
            SchemaError: The tool's own schema is not one.
            ExecutionError: The selector chose a backend that the tool does not have.
        """
        name = call.name
        if type(call) is Judged:
            entry: Registered | None = call.entry
        else:
            entry = setup.find(name) if type(name) is str else None
        if entry is None or not entry.backends:
            entry = resolve(name, setup.sources)
        candidates: Sequence[ToolBackend] = entry.backends
        if len(candidates) != 1 or self._selector is not None:
            candidates = select(entry, self._selector)
        tool = call.tool = entry.tool
        call.plugin_name = entry.plugin_name
        arguments = bound = None
        accepts = entry.accepts
        if accepts is not None and self._compares:
            arguments, bound = self._copied(entry, accepts, call.arguments)
        if arguments is None:
            arguments = validate_input(entry, candidates[0], call.arguments, self._check_input, self._validator)
        retry = call.retry or tool.retry or self._retry
        return Prepared(call, setup, entry, candidates[0], arguments, candidates, retry, bound)

    def _copied(
        self, entry: Registered, accepts: Callable[[Any], bool], arguments: Any
    ) -> tuple[dict[str, Any] | None, Bound | None]:
        """
        A copy of *arguments*, and the function that is bound to it; None where they do not fit: what is wrong with them
        is said by `validate_input`.
        """
        exact = entry.exact if type(arguments) is dict else None
        if exact is not None:
            copied = exact(arguments)
            if copied is not None:
                return copied, (copied, partial(cast("Any", entry.tool.fn), **copied)) if self._plain else None
        try:
            copied = copy_arguments(arguments)
        except ToolError:
            return None, None
        if not accepts(copied):
            return None, None
        if entry.bind is None:
            return copied, None
        call = entry.bind(copied)
        if call is None:
            return None, None
        if exact is not None:
            entry.look_closely()
        # Middleware may change the arguments in place.
        return copied, (copied, call) if self._plain else None

    def judge(self, prepared: Prepared) -> Steps[None] | None:
        """
        Ask every gate about a prepared call; what a person edited is validated, and judged again.

        Returns:
            None when it may run; what has to be waited for, where a gate takes its time.

        Raises:
            PermissionDeniedError: It may not run. The tool was not called.
        """
        if type(prepared.call) is Judged or prepared.entry.carrier:
            return None
        return pass_gates(prepared, self._validated)

    def _validated(self, prepared: Prepared, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return validate_input(prepared.entry, prepared.backend, arguments, self._check_input, self._validator)

    def finished(self, prepared: Prepared) -> RunResult | BaseException:
        """`finish`, but what it raises is returned."""
        forks = _fork.forks
        try:
            ended: RunResult | BaseException = self.finish(prepared)
        except BaseException as error:  # noqa: BLE001 -- whatever it is, it is this call's result
            ended = error
        if forks != _fork.forks:
            _fork.leave_child(forks)
        return ended

    def finish(self, prepared: Prepared, work: Callable[[Prepared], Any] | None = None) -> RunResult:
        """
        Run the tool and look at what it returned; inline or on a worker.

        Args:
            work: Gets at the raw value in another way than by dispatch.

        Raises:
            ToolFailedError, ExecutionError, RetriesExhaustedError, InvalidResultError: It went wrong.
            ToolCancelledError, ToolTimeoutError: It was stopped first; whatever it came to is dropped.
        """
        source, entry = prepared.call.source, prepared.entry
        if source.fate and source.error is not None:
            raise source.error  # stopped before it ran: it never does
        try:
            if work is None and prepared.retry is None and self._plain:
                value = dispatch(prepared)
            else:
                value = self._surrounded(prepared, work or self._attempts)
            if prepared.backend.kind is LOCAL and _is_flat(value):
                result = RunResult(entry.tool, prepared.backend, value)  # nothing to normalise
            else:
                result = normalise(prepared, value)
            if (self._check_output and entry.tool.output_schema is not None) or result.warnings:
                self._compare(prepared, result)
        except BaseException as error:
            if error.__cause__ is not None:
                from executor.run._attempts import unmark  # with the retries 2 ms, for what went wrong

                unmark(error)
            stopped = source.end()
            if stopped is not None and stopped is not error:
                raise stopped from error
            raise
        fate = source.fate.setdefault(None, OVER)
        if fate is not OVER:
            raise fate
        if source.functions is not None:
            source.end()
        return result

    def _compare(self, prepared: Prepared, result: RunResult) -> None:
        """
        Compare the result with the tool's output schema.

        A tool of another's has been carried out by now: a model that is told of a failure would do it again. What is
        wrong with its answer, or with its schema, is a warning, unless the call is to be strict.
        """
        if self._check_output and not result.is_error and prepared.entry.tool.output_schema is not None:
            try:
                validate_output(prepared.entry, prepared.backend, result.structured, self._validator)
            except (InvalidResultError, SchemaError) as error:
                if prepared.backend.kind is LOCAL or self._strict:
                    raise
                result.warnings = (*result.warnings, error.message)
        if result.warnings:
            result.metadata = {**(result.metadata or {}), "warnings": list(result.warnings)}

    def finishes_on_loop(self, prepared: Prepared) -> bool:
        """Whether nothing of `finish` would block: an async tool, without retries or middleware."""
        entry = prepared.entry
        return entry.is_async and prepared.retry is None and self._plain

    async def finish_async(self, prepared: Prepared) -> RunResult:
        """`finish` in the event loop, for what `finishes_on_loop`. Raises as it does."""
        if prepared.call.source.error is None:
            try:
                value = await dispatch_async(prepared)
            except BaseException as error:  # noqa: BLE001 -- raised again where every failure is
                return self.finish(prepared, partial(fail_async, error))
            return self.finish(prepared, lambda _: value)
        raise prepared.call.source.error

    def _attempts(self, prepared: Prepared) -> Any:
        attempt = partial(dispatch, prepared)
        if prepared.retry is None and len(prepared.candidates) == 1:
            return attempt()
        from executor.run._attempts import attempts  # as above

        return attempts(prepared, attempt, self._judge_again)

    def _judge_again(self, prepared: Prepared) -> None:
        """Before it goes to a backend of another kind or server, on the thread that waits for it anyway."""
        if prepared.entry.carrier:
            return
        call, before = prepared.call, prepared.call.permission or {}
        judging = pass_gates(prepared, self._validated)
        if judging is not None:
            block(judging)
        if before.get("was_edited") and call.permission is not None:
            call.permission = {**call.permission, "was_edited": True}

    def _surrounded(self, prepared: Prepared, work: Callable[[Prepared], Any]) -> Any:
        """What *work* comes to, with every middleware around it."""
        proceed: Callable[[], Any] = partial(work, prepared)
        for middleware in self._middleware:
            proceed = partial(middleware, prepared, proceed)
        try:
            return proceed()
        except ToolError:
            raise
        except Exception as error:
            raise ExecutionError(describe(error), tool_id=prepared.entry.name, backend=prepared.backend) from error


def _is_flat(value: Any) -> bool:
    kind = type(value)
    return kind in SCALARS or (kind is dict and SCALARS.issuperset(map(type, value.values())))
