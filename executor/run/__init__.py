"""The run layer: from a tool id and arguments to a normalised result, in stages that each have their own file."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from executor._output import CancelToken
from executor._retry import (
    ErrorPolicy,
    ExponentialRetry,
    Permanent,
    RetryConfig,
    RetryPolicy,
    default_error_classifier,
    default_options,
    with_classifier,
    with_error_policy,
    with_max_retries,
    with_on_retry,
    with_retry_policy,
    with_retry_unsafe,
)
from executor._tools import ToolId
from executor._types import BackendKind, Tool, ToolBackend
from executor.run._backends import (
    BackendSelector,
    LocalRegistry,
    MCPExecutor,
    Middleware,
    Prepared,
    ProviderExecutor,
    RunResult,
    SchemaValidator,
    ToolIndex,
)
from executor.run._collection import Tools
from executor.run._runner import Runner
from executor.run._stream import Stream
from executor.run._values import (
    ChainResult,
    ChainStep,
    Parallel,
    ProgressEvent,
    Ref,
    StepResult,
    StreamEvent,
    StreamEventKind,
)

if TYPE_CHECKING:
    from executor.run._observable import ObservableTool, observable

__all__ = [
    "BackendKind",
    "BackendSelector",
    "CancelToken",
    "ChainResult",
    "ChainStep",
    "ErrorPolicy",
    "ExponentialRetry",
    "LocalRegistry",
    "MCPExecutor",
    "Middleware",
    "ObservableTool",
    "Parallel",
    "Permanent",
    "Prepared",
    "ProgressEvent",
    "ProviderExecutor",
    "Ref",
    "RetryConfig",
    "RetryPolicy",
    "RunResult",
    "Runner",
    "SchemaValidator",
    "StepResult",
    "Stream",
    "StreamEvent",
    "StreamEventKind",
    "Tool",
    "ToolBackend",
    "ToolId",
    "ToolIndex",
    "Tools",
    "default_error_classifier",
    "default_options",
    "observable",
    "with_classifier",
    "with_error_policy",
    "with_max_retries",
    "with_on_retry",
    "with_retry_policy",
    "with_retry_unsafe",
]


def __getattr__(name: str) -> Any:
    if name in ("ObservableTool", "observable"):
        return getattr(importlib.import_module("executor.run._observable"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
