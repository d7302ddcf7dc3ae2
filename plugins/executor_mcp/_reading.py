"""The tools by which a model reads a server's resources and prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from executor import current_call

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor_mcp import MCPPlugin


@dataclass(frozen=True, slots=True)
class Reading:
    """
    One of these tools.

    Attributes:
        of: What a server must have for it: ``resources`` or ``prompts``.
    """

    name: str
    of: str
    description: str
    schema: Mapping[str, Any]
    run: Callable[[MCPPlugin, str, dict[str, Any]], Any]


def _wait() -> dict[str, Any]:
    call = current_call()
    return {"cancel": call.token} if call is not None else {}


def _list_resources(plugin: MCPPlugin, server: str, _: dict[str, Any]) -> dict[str, Any]:
    bridge = plugin.bridge()
    return {
        "resources": bridge.list_resources(server, **_wait()),
        "templates": bridge.list_resource_templates(server, **_wait()),
    }


def _read_resource(plugin: MCPPlugin, server: str, args: dict[str, Any]) -> dict[str, Any]:
    return plugin.bridge().read_resource(server, args["uri"], **_wait())


def _list_prompts(plugin: MCPPlugin, server: str, _: dict[str, Any]) -> dict[str, Any]:
    return {"prompts": plugin.bridge().list_prompts(server, **_wait())}


def _get_prompt(plugin: MCPPlugin, server: str, args: dict[str, Any]) -> dict[str, Any]:
    return plugin.bridge().get_prompt(server, args["name"], args.get("arguments"), **_wait())


def _schema(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


READING = (
    Reading(
        "listResources",
        "resources",
        "List what the MCP server {server} offers for reading: resources, and templates of their URIs.",
        _schema([]),
        _list_resources,
    ),
    Reading(
        "readResource",
        "resources",
        "Read a resource of the MCP server {server}; listResources says which there are.",
        _schema(["uri"], uri={"type": "string", "minLength": 1, "description": "The URI of the resource."}),
        _read_resource,
    ),
    Reading(
        "listPrompts",
        "prompts",
        "List the prompts that the MCP server {server} has, with their arguments.",
        _schema([]),
        _list_prompts,
    ),
    Reading(
        "getPrompt",
        "prompts",
        "Get a prompt of the MCP server {server}, filled in with arguments; listPrompts says which there are.",
        _schema(
            ["name"],
            name={"type": "string", "minLength": 1, "description": "The name of the prompt."},
            arguments={
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "The arguments of the prompt, by name.",
            },
        ),
        _get_prompt,
    ),
)
