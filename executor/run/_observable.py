"""
A function with retries: a `Tool` that can be registered, or run as it is.

Run as it is it is its author's own code: there is no gate in front of it.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from executor.run._runner import Runner
from executor.tools._make import make_tool, prepare
from executor.values import Tool
from executor.values._retry import OPTIONS, Option, configured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import reactivex

    from executor.calls._token import CancelToken
    from executor.tools._make import Registered

_thread_numbers = itertools.count(1)


@dataclass(frozen=True)
class ObservableTool(Tool):
    """A tool with retries; see `observable`."""

    def execute(
        self,
        args: Mapping[str, Any] | str | None = None,
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Any:
        """
        Run it once, and return its value.

        Raises:
            InvalidArgumentsError: The arguments do not fit; the function was not called.
            ToolFailedError: It raised, which is the cause.
        """
        with Runner(sources=(_One(replace(self._entry, tool=replace(self._entry.tool, retry=None))),)) as runner:
            return runner.run(self.id, args, timeout=timeout, cancel=cancel).structured

    def execute_rx(
        self,
        args: Mapping[str, Any] | str | None = None,
        *,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Any:
        """
        Run it, again and again as its retries say, and return its value.

        Args:
            timeout: Seconds for all tries together.
            cancel: Stops it, in the waits between the tries too.

        Raises:
            InvalidArgumentsError: The arguments do not fit; the function was not called.
            ToolFailedError: It failed for good; what it raised is the cause.
            RetriesExhaustedError: It failed each time; the last failure is the cause.
        """
        with Runner(sources=(_One(self._entry),)) as runner:
            return runner.run(self.id, args, timeout=timeout, cancel=cancel).structured

    def as_observable(
        self, args: Mapping[str, Any] | str | None = None, *, timeout: float | None = None
    ) -> reactivex.Observable[Any]:
        """
        A cold observable of the value, by the extra ``rx``.

        Nothing runs before a subscription, and each is a run of its own, on a thread of its own, that emits one item
        or one error. Disposing of it stops the run.
        """
        import reactivex
        from reactivex.disposable import Disposable

        from executor.calls._token import CancelToken

        def subscribe(observer: Any, _: object = None) -> Disposable:
            cancel = CancelToken()

            def work() -> None:
                try:
                    value = self.execute_rx(args, timeout=timeout, cancel=cancel)
                except Exception as error:  # noqa: BLE001 -- it is the subscriber's
                    observer.on_error(error)
                    return
                observer.on_next(value)
                observer.on_completed()

            threading.Thread(target=work, name=f"executor-rx-{next(_thread_numbers)}", daemon=True).start()

            def dispose() -> None:
                cancel.cancel("The subscription was disposed of")

            return Disposable(dispose)

        return reactivex.create(subscribe)

    @cached_property
    def _entry(self) -> Registered:
        return prepare(self)


class _One:
    """A source that knows one tool."""

    def __init__(self, entry: Registered) -> None:
        self._entry = entry

    def find(self, tool_id: str) -> Registered | None:
        return self._entry if tool_id == self._entry.name else None

    def names(self) -> Iterable[str]:
        return (self._entry.name,)


def observable(
    tool: Tool | Callable[..., Any], name: str | Option | None = None, *options: Option, **keywords: Any
) -> ObservableTool:
    """
    Give a function or tool retries: 3 of them with exponential waits, unless the options say otherwise.

    Args:
        tool: ``fn(args: dict)``, any typed function, or a `Tool` that has a function.
        name: The tool's name; by default the function's.
        options: ``with_max_retries(5)`` and the like, or functions of your own over `RetryConfig`, applied in order.
        keywords: The same by name (``max_retries=5``, ``classifier=…``), and the options of `ToolExecutor.register`
            (``description=``, ``schema=``, ``annotations=`` …).

    Raises:
        ValueError: The tool is not known to be idempotent or read-only, and ``retry_unsafe=True`` is not given.
        InvalidToolIdError, SchemaError: See `ToolExecutor.register`.
    """
    if name is not None and not isinstance(name, str):
        options = (name, *options)
        name = None
    retrying = {key: keywords.pop(key) for key in list(keywords) if key.removeprefix("with_") in OPTIONS}
    if isinstance(tool, Tool):
        made = replace(tool, name=name) if name is not None else tool
        if keywords:
            raise ValueError(
                f"the tool {tool.id!r} has its own {', '.join(keywords)}: change it with dataclasses.replace"
            )
    else:
        made = make_tool(tool, **keywords) if name is None else make_tool(name, tool, **keywords)
    parts = {field.name: getattr(made, field.name) for field in fields(Tool)}
    result = ObservableTool(**{**parts, "retry": configured(*options, **retrying)})
    result._entry  # noqa: B018, SLF001 -- what is wrong with it is said here, not at its first use
    return result
