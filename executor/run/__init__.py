"""The run layer: from a tool id and arguments to a normalised result, in stages that each have their own file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor._lazy import lazy_names

# Twice each, and both are needed: type checkers read the imports, Python the table. A test compares them.
if TYPE_CHECKING:
    from executor.calls._token import CancelToken as CancelToken
    from executor.run._backends import BackendSelector as BackendSelector
    from executor.run._backends import LocalRegistry as LocalRegistry
    from executor.run._backends import MCPExecutor as MCPExecutor
    from executor.run._backends import Middleware as Middleware
    from executor.run._backends import Prepared as Prepared
    from executor.run._backends import ProviderExecutor as ProviderExecutor
    from executor.run._backends import RunResult as RunResult
    from executor.run._backends import SchemaValidator as SchemaValidator
    from executor.run._backends import ToolIndex as ToolIndex
    from executor.run._collection import Tools as Tools
    from executor.run._observable import ObservableTool as ObservableTool
    from executor.run._observable import observable as observable
    from executor.run._plan import check_chain as check_chain
    from executor.run._runner import Runner as Runner
    from executor.run._stream import Stream as Stream
    from executor.run._values import ChainResult as ChainResult
    from executor.run._values import ChainStep as ChainStep
    from executor.run._values import Parallel as Parallel
    from executor.run._values import ProgressEvent as ProgressEvent
    from executor.run._values import Ref as Ref
    from executor.run._values import StepResult as StepResult
    from executor.run._values import StreamEvent as StreamEvent
    from executor.run._values import StreamEventKind as StreamEventKind
    from executor.tools._ids import ToolId as ToolId
    from executor.values import BackendKind as BackendKind
    from executor.values import Tool as Tool
    from executor.values import ToolBackend as ToolBackend
    from executor.values._retry import ErrorPolicy as ErrorPolicy
    from executor.values._retry import ExponentialRetry as ExponentialRetry
    from executor.values._retry import Permanent as Permanent
    from executor.values._retry import RetryConfig as RetryConfig
    from executor.values._retry import RetryPolicy as RetryPolicy
    from executor.values._retry import default_error_classifier as default_error_classifier
    from executor.values._retry import default_options as default_options
    from executor.values._retry import with_classifier as with_classifier
    from executor.values._retry import with_error_policy as with_error_policy
    from executor.values._retry import with_max_retries as with_max_retries
    from executor.values._retry import with_on_retry as with_on_retry
    from executor.values._retry import with_retry_policy as with_retry_policy
    from executor.values._retry import with_retry_unsafe as with_retry_unsafe

# Each comes when it is first used: an executor that makes no chain and no stream does not pay for them.
__all__, __getattr__ = lazy_names(
    __name__,
    {
        "executor.calls._token": "CancelToken",
        "executor.run._backends": (
            "BackendSelector LocalRegistry MCPExecutor Middleware Prepared ProviderExecutor RunResult"
            " SchemaValidator ToolIndex"
        ),
        "executor.run._collection": "Tools",
        "executor.run._observable": "ObservableTool observable",
        "executor.run._plan": "check_chain",
        "executor.run._runner": "Runner",
        "executor.run._stream": "Stream",
        "executor.run._values": (
            "ChainResult ChainStep Parallel ProgressEvent Ref StepResult StreamEvent StreamEventKind"
        ),
        "executor.tools._ids": "ToolId",
        "executor.values": "BackendKind Tool ToolBackend",
        "executor.values._retry": (
            "ErrorPolicy ExponentialRetry Permanent RetryConfig RetryPolicy default_error_classifier"
            " default_options with_classifier with_error_policy with_max_retries with_on_retry"
            " with_retry_policy with_retry_unsafe"
        ),
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
