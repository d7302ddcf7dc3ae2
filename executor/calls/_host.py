"""The executor that runs a call, as the call's tool sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from executor.calls._token import CancelToken
    from executor.values import Check, Outcome, TaskInfo, TaskStatus, ToolCall, ToolDefinition, ToolResult
    from executor.values._approval import Answer, Approval, Channel
    from executor.values._terminal import TerminalMode


class TaskAccess(Protocol):
    """The background tasks as tools and plugins see them (``current_call().host.tasks``); see `TaskManager`."""

    def get(self, task_id: str) -> TaskInfo: ...

    def list(
        self, state: TaskStatus | str | None = None, tool: str | None = None, limit: int | None = None
    ) -> Sequence[TaskInfo]: ...

    def live(self) -> Sequence[TaskInfo]: ...

    def output(self, task_id: str, offset: int = 0, limit: int | None = None) -> tuple[str, int, int]: ...

    def result(self, task_id: str) -> Outcome: ...

    def tool_result(self, task_id: str, max_content: int | None = None) -> ToolResult: ...

    def read_result(
        self, result_id: str, offset: int = 0, limit: int | None = None, *, conversation: str | None = None
    ) -> tuple[str, int, int]: ...

    def wait(self, task_id: str, timeout: float | None = None, *, cancel: CancelToken | None = None) -> TaskInfo: ...

    def cancel(self, task_id: str, reason: str | None = None) -> bool: ...

    def send_input(self, task_id: str, text: str, *, unseen: bool = False) -> TerminalMode: ...

    def undelivered(self, conversation: str | None = None) -> Sequence[TaskInfo]: ...

    def next_undelivered(
        self,
        timeout: float | None = None,
        *,
        conversation: str | None = None,
        cancel: CancelToken | None = None,
    ) -> TaskInfo | None: ...

    def ack(self, task_id: str) -> None: ...

    def subscribe(self, fn: Callable[[TaskInfo], object], *, conversation: str | None = None) -> Callable[[], None]: ...

    def open_count(self) -> int: ...


class Approvals(Protocol):
    """The questions to a person as tools and plugins see them (``current_call().host.approvals``); see `Inbox`."""

    @property
    def attended(self) -> bool: ...

    def pending(self) -> Sequence[Approval]: ...

    def decide(self, approval_id: str, answer: object, *, digest: str | None = None, by: str = "") -> bool: ...

    def subscribe(self, fn: Callable[[str, Approval], object]) -> Callable[[], None]: ...

    def add_channel(self, name: str, channel: Channel, *, spare: bool = False) -> None: ...

    def remove_channel(self, name: str) -> None: ...

    def restrict(self, names: Collection[str] | None) -> None: ...

    def channels(self) -> Mapping[str, Channel]: ...

    def ask(
        self,
        approval: Approval,
        *,
        channels: Mapping[str, Channel] | None = None,
        elsewhere: bool | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Answer: ...

    def fill_in(
        self,
        tool: str,
        message: str,
        schema: Mapping[str, Any] | None = None,
        *,
        secret: bool = False,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> dict[str, Any]: ...

    def put(
        self,
        approval: Approval,
        on_answer: Callable[[Answer], object],
        *,
        channels: Mapping[str, Channel] | None = None,
        elsewhere: bool | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        takes: Callable[[Answer], bool] | None = None,
    ) -> Callable[[], None]: ...


class Host(Protocol):
    """
    The executor that runs the current call, as tools and plugins see it (``current_call().host``).

    Attributes:
        max_content: How many bytes of content a result may have.
        conversation: Which conversation of the program it works for, or None.
    """

    @property
    def max_content(self) -> int: ...

    @property
    def conversation(self) -> str | None: ...

    @property
    def tasks(self) -> TaskAccess: ...

    @property
    def approvals(self) -> Approvals: ...

    def call(self, call: ToolCall, *, context: Mapping[str, Any] | None = None) -> ToolResult:
        """Run a tool through the whole pipeline, gate included; by default with the context of the current call."""
        ...

    def check(self, call: ToolCall, *, context: Mapping[str, Any] | None = None) -> Check:
        """What would become of a call: nothing runs, nobody is asked, nothing is recorded."""
        ...

    def start(
        self, call: ToolCall, timeout: float | None = None, *, context: Mapping[str, Any] | None = None
    ) -> ToolResult:
        """Start a tool in the background, through the whole pipeline."""
        ...

    def list_tools(self) -> list[ToolDefinition]:
        """Every tool a model may be told of."""
        ...

    def background_tools(self) -> Sequence[tuple[str, str, float | None]]:
        """(tool, plugin, threshold) of every tool that may go to the background."""
        ...
