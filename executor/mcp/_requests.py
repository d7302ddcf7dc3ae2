"""The requests beside tools/call, as coroutines over the SDK's client; what they return is as MCP writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor.mcp._client import pages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp import Client
    from mcp.types import PromptReference, ResourceTemplateReference


async def list_resources(client: Client) -> list[dict[str, Any]]:
    """All resources."""
    return await pages(client.list_resources, "resources")


async def list_resource_templates(client: Client) -> list[dict[str, Any]]:
    """All resource templates."""
    return await pages(client.list_resource_templates, "resource_templates")


async def list_prompts(client: Client) -> list[dict[str, Any]]:
    """All prompts."""
    return await pages(client.list_prompts, "prompts")


async def read_resource(client: Client, uri: str) -> dict[str, Any]:
    """One resource."""
    result = await client.read_resource(uri)
    return result.model_dump(by_alias=True, mode="json", exclude_none=True, include={"contents"})


async def get_prompt(client: Client, name: str, arguments: Mapping[str, str] | None) -> dict[str, Any]:
    """One prompt, filled in."""
    result = await client.get_prompt(name, dict(arguments or {}))
    return result.model_dump(by_alias=True, mode="json", exclude_none=True, include={"description", "messages"})


async def complete(
    client: Client,
    ref: PromptReference | ResourceTemplateReference,
    argument: Mapping[str, str],
    known: Mapping[str, str] | None,
) -> dict[str, Any]:
    """Values for an argument of which the beginning is known; *known* has the arguments before it."""
    result = await client.complete(ref, dict(argument), dict(known) if known else None)
    return result.completion.model_dump(by_alias=True, mode="json", exclude_none=True)
