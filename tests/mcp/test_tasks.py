"""Servers that answer a call with a task: it is followed to its end, and cancelled with the call."""

from __future__ import annotations

import threading
from typing import Any, Literal

import mcp.types as t
import pytest
from mcp.server import Server

from executor import CancelToken
from executor.errors import ToolCancelledError, ToolFailedError

EXTENSION = "io.modelcontextprotocol/tasks"


class Handle(t.Result):
    result_type: Literal["task"] = "task"
    task_id: str
    status: str = "working"
    poll_interval_ms: int = 1


class State(t.Result):
    task_id: str
    status: str
    status_message: str | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    input_requests: dict[str, Any] | None = None


class OfTask(t.RequestParams):
    task_id: str
    input_responses: dict[str, Any] | None = None


class TaskServer:
    """Each tool is a way in which its task ends."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self.polled = threading.Event()
        self.polls = 0
        self.said: dict[str, Any] = {}
        self.server: Server[Any] = Server("tasks", on_list_tools=self.list, on_call_tool=self.call)
        self.server.extensions[EXTENSION] = {}
        self.server.add_request_handler("tasks/get", OfTask, self.get)
        self.server.add_request_handler("tasks/cancel", OfTask, self.cancel)
        self.server.add_request_handler("tasks/update", OfTask, self.update)

    async def list(self, _, __):
        return t.ListToolsResult(
            tools=[t.Tool(name=name, input_schema={"type": "object"}) for name in ("completed", "failed", "asks")],
            ttl_ms=0,
            cache_scope="public",
        )

    async def call(self, _, params):
        return Handle(task_id=params.name)

    async def get(self, _, params):
        self.polls += 1
        self.polled.set()
        name = params.task_id
        if name == "endless" or self.polls < 3:
            return State(task_id=name, status="working", status_message=f"poll {self.polls}")
        if name == "asks" and not self.said:
            form = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
            request = {"method": "elicitation/create", "params": {"message": "Which?", "requestedSchema": form}}
            return State(task_id=name, status="input_required", input_requests={"one": request})
        if name == "failed":
            return State(task_id=name, status="failed", error={"code": -32603, "message": "the disk is full"})
        if name == "cancelled":
            return State(task_id=name, status="cancelled")
        text = str(self.said) if self.said else "all done"
        return State(task_id=name, status="completed", result={"content": [{"type": "text", "text": text}]})

    async def cancel(self, _, params):
        self.cancelled.set()
        return t.EmptyResult()

    async def update(self, _, params):
        self.said = params.input_responses
        return t.EmptyResult()


@pytest.fixture
def tasks():
    return TaskServer()


def test_a_task_is_followed_to_its_result_and_its_words_are_progress(bridge_to, tasks):
    told = []
    bridge = bridge_to({"s": tasks.server})
    result = bridge.call_tool("s", "completed", on_progress=lambda *news: told.append(news[2]))
    assert result.content[0].text == "all done"
    assert told == ["poll 1", "poll 2"]


def test_a_failed_task_is_a_failed_call(bridge_to, tasks):
    with pytest.raises(ToolFailedError, match="the disk is full"):
        bridge_to({"s": tasks.server}).call_tool("s", "failed")


def test_a_task_that_the_server_cancels_is_a_cancelled_call(bridge_to, tasks):
    with pytest.raises(ToolCancelledError):
        bridge_to({"s": tasks.server}).call_tool("s", "cancelled")


def test_a_task_that_asks_is_answered(bridge_to, tasks):
    bridge = bridge_to({"s": tasks.server}, on_elicit=lambda _: {"colour": "red"})
    assert "red" in bridge.call_tool("s", "asks").content[0].text
    assert tasks.said["one"]["action"] == "accept"


def test_cancelling_the_call_cancels_the_task(bridge_to, tasks):
    bridge, token = bridge_to({"s": tasks.server}), CancelToken()

    def call():
        with pytest.raises(ToolCancelledError):
            bridge.call_tool("s", "endless", cancel=token)

    thread = threading.Thread(target=call)
    thread.start()
    assert tasks.polled.wait(10)
    token.cancel()
    assert tasks.cancelled.wait(10)
    thread.join()
