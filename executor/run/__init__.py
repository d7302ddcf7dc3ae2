"""The run layer: from a tool id and arguments to a normalised result, in stages that each have their own file."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executor.calls._token import CancelToken
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
    from executor.run._collection import (
        Tools,
    )
    from executor.run._observable import (
        ObservableTool,
        observable,
    )
    from executor.run._runner import (
        Runner,
    )
    from executor.run._stream import (
        Stream,
    )
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
    from executor.tools._names import ToolId
    from executor.values import BackendKind, Tool, ToolBackend
    from executor.values._retry import (
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

# Each comes when it is first used: an executor that makes no chain and no stream does not pay for them.
_LATER = {
    "BackendKind": "executor.values",
    "BackendSelector": "executor.run._backends",
    "CancelToken": "executor.calls._token",
    "ChainResult": "executor.run._values",
    "ChainStep": "executor.run._values",
    "ErrorPolicy": "executor.values._retry",
    "ExponentialRetry": "executor.values._retry",
    "LocalRegistry": "executor.run._backends",
    "MCPExecutor": "executor.run._backends",
    "Middleware": "executor.run._backends",
    "ObservableTool": "executor.run._observable",
    "Parallel": "executor.run._values",
    "Permanent": "executor.values._retry",
    "Prepared": "executor.run._backends",
    "ProgressEvent": "executor.run._values",
    "ProviderExecutor": "executor.run._backends",
    "Ref": "executor.run._values",
    "RetryConfig": "executor.values._retry",
    "RetryPolicy": "executor.values._retry",
    "RunResult": "executor.run._backends",
    "Runner": "executor.run._runner",
    "SchemaValidator": "executor.run._backends",
    "StepResult": "executor.run._values",
    "Stream": "executor.run._stream",
    "StreamEvent": "executor.run._values",
    "StreamEventKind": "executor.run._values",
    "Tool": "executor.values",
    "ToolBackend": "executor.values",
    "ToolId": "executor.tools._names",
    "ToolIndex": "executor.run._backends",
    "Tools": "executor.run._collection",
    "default_error_classifier": "executor.values._retry",
    "default_options": "executor.values._retry",
    "observable": "executor.run._observable",
    "with_classifier": "executor.values._retry",
    "with_error_policy": "executor.values._retry",
    "with_max_retries": "executor.values._retry",
    "with_on_retry": "executor.values._retry",
    "with_retry_policy": "executor.values._retry",
    "with_retry_unsafe": "executor.values._retry",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_LATER[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
