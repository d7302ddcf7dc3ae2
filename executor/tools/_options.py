"""What can be said about a tool when it is registered, written once for every way of doing so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from executor.values import ArgumentKind, ToolAnnotations
    from executor.values._profile import ProfileName
    from executor.values._retry import RetryConfig


class ToolOptions(TypedDict, total=False):
    """
    The options of `ToolExecutor.register`, of `tool`, and of the ``register`` that plugins are given.

    Attributes:
        description: What a model is told; by default the function's docstring, without the texts of its parameters,
            which go into the schema.
        schema: JSON Schema of the arguments; by default that of a typed function's parameters, or none.
        output_schema: JSON Schema of the result.
        title: A name for people.
        annotations: ``read_only``, ``destructive``, ``idempotent``, ``open_world``.
        argument_kinds: What an argument means to the permission plugin: ``{"command": "shell"}`` (``argv``, ``path``,
            ``url``).
        folder: Where relative paths of its arguments start; by default in the working folder of whoever runs it.
        auto_background: Seconds after which a call goes to the background; None: never.
        timeout: Seconds after which a call is given up; None: never.
        retry: A number of retries, a `RetryPolicy` or a `RetryConfig`; None: no retries.
        retry_unsafe: Whether a tool may be retried that is neither idempotent nor read-only.
        isolation: ``process``: each call in a process of its own, which a stop kills.
        confine: The box that this process runs in: ``read``, ``project`` or ``network``.
        resources: From the arguments to the names of what a call needs for itself: ``lambda a: [f"file:{a['path']}"]``.
            Calls with a common name run one after another.
        max_concurrent: How many calls of it run at once, at most; None: any number.
        rate: How often it may be called: ``"20/min"``; None: any time.
    """

    description: str | None
    schema: Mapping[str, Any] | bool | None
    output_schema: Mapping[str, Any] | bool | None
    title: str | None
    annotations: ToolAnnotations | Mapping[str, Any] | None
    argument_kinds: Mapping[str, ArgumentKind] | None
    folder: str | None
    auto_background: float | None
    timeout: float | None
    retry: object
    retry_unsafe: bool
    isolation: Literal["thread", "process"]
    confine: ProfileName | None
    resources: Callable[[Mapping[str, Any]], Iterable[Any]] | None
    max_concurrent: int | None
    rate: str | None


def refuse_unknown(options: Mapping[str, object]) -> None:
    """
    Raises:
        TypeError: An option is not one of `ToolOptions`; the nearest is named.
    """
    known = ToolOptions.__annotations__
    for name in options:
        if name not in known:
            import difflib  # wanted by mistakes only

            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"use {', '.join(known)}"
            raise TypeError(f"a tool has no option {name!r}: {hint}")


def retries(value: object) -> RetryConfig | None:
    """What `ToolOptions.retry` says, or None. Raises ValueError: it is none of what it may be."""
    if value is None:
        return None
    from executor.values._retry import RetryConfig  # for those who retry

    return RetryConfig.of(value)
