"""What a server has beside tools, read synchronously: resources, prompts, values for their arguments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

from executor.permission._visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from mcp import Client

T = TypeVar("T")
MOST_SHOWN = 200  # characters of a name in an error


class Reader(ABC):
    """The requests beside tools/call."""

    @abstractmethod
    def _simple(
        self, name: str, what: str, do: Callable[[Client], Coroutine[Any, Any, T]], wait: Mapping[str, Any]
    ) -> T:
        """What *do* gets of the server *name*; *what* is for errors."""

    def list_resources(self, server: str, **wait: Any) -> list[dict[str, Any]]:
        """The resources of a server, each as MCP writes it; *wait* as for `read_resource`."""
        from executor.mcp._requests import list_resources

        return self._simple(server, "its resources", list_resources, wait)

    def list_resource_templates(self, server: str, **wait: Any) -> list[dict[str, Any]]:
        """The resource templates of a server, each as MCP writes it; *wait* as for `read_resource`."""
        from executor.mcp._requests import list_resource_templates

        return self._simple(server, "its resource templates", list_resource_templates, wait)

    def read_resource(self, server: str, uri: str, **wait: Any) -> dict[str, Any]:
        """
        A resource, as MCP writes it: ``{"contents": [{"uri": …, "text": …}]}``.

        Args:
            wait: ``timeout`` and ``cancel`` as for `call_tool`, whose errors it raises.
        """
        from executor.mcp._requests import read_resource

        return self._simple(server, visible(uri, MOST_SHOWN), lambda client: read_resource(client, uri), wait)

    def list_prompts(self, server: str, **wait: Any) -> list[dict[str, Any]]:
        """The prompts of a server, each as MCP writes it; *wait* as for `read_resource`."""
        from executor.mcp._requests import list_prompts

        return self._simple(server, "its prompts", list_prompts, wait)

    def complete(self, server: str, ref: Any, argument: Mapping[str, str], known: Any, **wait: Any) -> dict[str, Any]:
        """
        Values for an argument of a prompt or of a resource template, as MCP writes them; *wait* as for `read_resource`.

        Args:
            ref: The SDK's reference to what has the argument.
            argument: ``name``, and ``value`` as far as it is known.
            known: The values of the arguments before it, or None.
        """
        from executor.mcp._requests import complete

        return self._simple(
            server, "values for an argument", lambda client: complete(client, ref, argument, known), wait
        )

    def get_prompt(
        self, server: str, name: str, arguments: Mapping[str, str] | None = None, **wait: Any
    ) -> dict[str, Any]:
        """A prompt, filled in, as MCP writes it: ``{"messages": […]}``; *wait* as for `read_resource`."""
        from executor.mcp._requests import get_prompt

        return self._simple(
            server, f"prompt {visible(name, MOST_SHOWN)}", lambda client: get_prompt(client, name, arguments), wait
        )
