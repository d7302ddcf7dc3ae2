"""The run layer: from a tool id and arguments to a normalised result, in stages that each have their own file."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executor._output import (
        CancelToken,
    )
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
    from executor._tools import (
        ToolId,
    )
    from executor._types import (
        BackendKind,
        Tool,
        ToolBackend,
    )
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
    "BackendKind": "executor._types",
    "BackendSelector": "executor.run._backends",
    "CancelToken": "executor._output",
    "ChainResult": "executor.run._values",
    "ChainStep": "executor.run._values",
    "ErrorPolicy": "executor._retry",
    "ExponentialRetry": "executor._retry",
    "LocalRegistry": "executor.run._backends",
    "MCPExecutor": "executor.run._backends",
    "Middleware": "executor.run._backends",
    "ObservableTool": "executor.run._observable",
    "Parallel": "executor.run._values",
    "Permanent": "executor._retry",
    "Prepared": "executor.run._backends",
    "ProgressEvent": "executor.run._values",
    "ProviderExecutor": "executor.run._backends",
    "Ref": "executor.run._values",
    "RetryConfig": "executor._retry",
    "RetryPolicy": "executor._retry",
    "RunResult": "executor.run._backends",
    "Runner": "executor.run._runner",
    "SchemaValidator": "executor.run._backends",
    "StepResult": "executor.run._values",
    "Stream": "executor.run._stream",
    "StreamEvent": "executor.run._values",
    "StreamEventKind": "executor.run._values",
    "Tool": "executor._types",
    "ToolBackend": "executor._types",
    "ToolId": "executor._tools",
    "ToolIndex": "executor.run._backends",
    "Tools": "executor.run._collection",
    "default_error_classifier": "executor._retry",
    "default_options": "executor._retry",
    "observable": "executor.run._observable",
    "with_classifier": "executor._retry",
    "with_error_policy": "executor._retry",
    "with_max_retries": "executor._retry",
    "with_on_retry": "executor._retry",
    "with_retry_policy": "executor._retry",
    "with_retry_unsafe": "executor._retry",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_LATER[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
