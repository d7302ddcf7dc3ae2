"""What the official conformance suite wants to find on a server: tools and documents."""

from __future__ import annotations

import threading
from typing import Any

from executor import Audio, Image, Resource, TaskManager, Text, ToolExecutor, current_call
from executor.approval import Approval
from executor.errors import BackendUnavailableError

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
OBJECT = {"type": "object", "properties": {}}
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

JSON_SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def ask(key: str, message: str, form: dict[str, Any]) -> dict[str, Any]:
    """What the client's person has filled in; {} for nothing."""
    call = current_call()
    approval = Approval(
        key, call.name, {"key": key}, text=message, options=("edit", "no"), form=form, asker=f"{call.id} {key}"
    )
    answer = call.host.approvals.ask(approval, cancel=call.token)
    return {"action": "accept", "content": dict(answer.value)} if answer.word == "edit" else {"action": "decline"}


def logging_tool(_args):
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        current_call().emit(line)
        current_call().wait(0.02)
    return "logged"


def progress_tool(_args):
    for done in (0, 50, 100):
        current_call().progress(done, 100)
        current_call().wait(0.05)
    return "done"


def fail(_args):
    raise RuntimeError("This tool intentionally returns an error for testing")


def unavailable(_args):
    raise BackendUnavailableError("the backend of this job is gone")


def asking(key: str, message: str, form: dict[str, Any], text="{content}"):
    def tool(_args):
        said = ask(key, message, form)
        return text.format(action=said["action"], content=said.get("content"), **said.get("content", {}))

    return tool


def multi_round(_args):
    name = ask("step1", "Step 1: What is your name?", NAME)["content"]["name"]
    colour = ask(
        "step2",
        "Step 2: What is your favorite color?",
        {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]},
    )["content"]["color"]
    return f"{name} likes {colour}"


def slow_compute(args):
    stopped = current_call().wait(args.get("seconds", 0))
    return "stopped" if stopped else f"computed {args.get('label', '')}"


def confirm_delete(args):
    form = {"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]}
    said = ask(f"confirm-{current_call().id}", f"Delete {args.get('filename')}?", form)
    return "deleted" if said.get("content", {}).get("confirm") else "kept"


def multi_input(_args):
    said: dict[str, Any] = {}

    def one(key: str) -> None:
        said[key] = ask(f"{key}-{current_call().id}", f"What is {key}?", NAME)

    threads = [current_call().run_in_thread(lambda key=key: one(key)) for key in ("first", "second")]
    for thread in threads:
        thread.join()
    return ", ".join(sorted(said))


def tool_with_task(_args):
    name = ask(f"user_name-{current_call().id}", "What is your name?", NAME)["content"]["name"]
    current_call().wait(0.5)
    return f"Hello, {name}!"


ELICITATION = {
    "type": "object",
    "properties": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    },
    "required": ["username", "email"],
}
DEFAULTS = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
_OPTIONS = ["option1", "option2", "option3"]
_TITLED = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in ((1, "First"), (2, "Second"), (3, "Third"))]
ENUMS = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": _OPTIONS},
        "titledSingle": {"type": "string", "oneOf": _TITLED},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
    },
}
CONFIRM = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
COMPLETED = "Elicitation completed: action={action}, content={content}"
TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
REQUIRES = {"failing_job": TASKS, "test_tool_with_task": TASKS, "test_missing_capability": {"sampling": {}}}


def executor() -> ToolExecutor:
    """An executor with the tools that the suite calls."""
    made = ToolExecutor(tasks=TaskManager.in_memory())
    document = Resource("test://embedded-resource", "text/plain", text="This is an embedded resource content.")
    mixed = Resource("test://mixed-content-resource", "application/json", text='{"test":"data","value":123}')

    def add(name, fn, schema=OBJECT, **options):
        made.register(name, fn, schema=schema, description=f"{name}, for the conformance suite", **options)

    add("test_simple_text", lambda _: "This is a simple text response for testing.")
    add("test_image_content", lambda _: Image(PNG, "image/png"))
    add("test_audio_content", lambda _: Audio(WAV, "audio/wav"))
    add("test_embedded_resource", lambda _: document)
    add("test_multiple_content_types", lambda _: [Text("Multiple content types test:"), Image(PNG, "image/png"), mixed])
    add("test_tool_with_logging", logging_tool)
    add("test_logging_tool", logging_tool)
    add("test_error_handling", fail)
    add("test_tool_with_progress", progress_tool)
    add("json_schema_2020_12_tool", lambda args: str(args), JSON_SCHEMA_2020_12)
    message = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}
    add("test_elicitation", asking("username", "Please say who you are", ELICITATION, COMPLETED), message)
    add("test_elicitation_sep1034_defaults", asking("defaults", "Please review", DEFAULTS, COMPLETED))
    add("test_elicitation_sep1330_enums", asking("enums", "Please choose", ENUMS, COMPLETED))
    add("test_streaming_elicitation", asking("streaming", "Please answer", NAME))
    add("test_missing_capability", lambda _: "never without tasks")
    add("test_input_required_result_elicitation", asking("user_name", "What is your name?", NAME, "Hello, {name}!"))
    add("test_input_required_result_request_state", asking("confirm", "Please confirm", CONFIRM, "state-ok"))
    add("test_input_required_result_tampered_state", asking("tampered", "Please confirm", CONFIRM, "state-ok"))
    add("test_input_required_result_multi_round", multi_round)
    add(
        "test_x_mcp_header",
        lambda args: str(args),
        {
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "query": {"type": "string"}},
        },
    )
    add("test_trigger_tool_change", lambda _: _changed(made))
    add("greet", lambda args: f"Hello, {args['name']}!", NAME)
    compute = {"type": "object", "properties": {"seconds": {"type": "number"}, "label": {"type": "string"}}}
    add("slow_compute", slow_compute, compute, auto_background=0)
    add("failing_job", fail, auto_background=0)
    add("protocol_error_job", unavailable, auto_background=0)
    add("confirm_delete", confirm_delete, auto_background=0)
    add("multi_input", multi_input, auto_background=0)
    add("test_tool_with_task", tool_with_task, auto_background=0.3)
    return made


_changes = threading.Lock()


def _changed(made: ToolExecutor) -> str:
    with _changes:
        if not made.unregister("test_added_tool"):
            made.register("test_added_tool", lambda _: "here", description="comes and goes")
    return "changed"


class Documents:
    """The suite's documents."""

    def list_resources(self):
        return [
            {"uri": "test://static-text", "name": "static text", "mimeType": "text/plain"},
            {"uri": "test://static-binary", "name": "static binary", "mimeType": "image/png"},
            {"uri": "test://watched-resource", "name": "watched", "mimeType": "text/plain"},
        ]

    def list_templates(self):
        return [{"uriTemplate": "test://template/{id}/data", "name": "data", "mimeType": "application/json"}]

    def read(self, uri):
        if uri.startswith("test://template/"):
            number = uri.split("/")[3]
            text = f'{{"id":"{number}","templateTest":true,"data":"Data for ID: {number}"}}'
            return [{"uri": uri, "mimeType": "application/json", "text": text}]
        return {
            "test://static-text": [
                {"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."}
            ],
            "test://static-binary": [{"uri": uri, "mimeType": "image/png", "blob": PNG}],
            "test://watched-resource": [{"uri": uri, "mimeType": "text/plain", "text": "watched"}],
        }.get(uri)
