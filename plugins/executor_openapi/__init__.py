"""
The operations of HTTP services as tools: ``petstore:listPets``, made from the service's OpenAPI description.

Configuration: ``apis``, by name; see `Api`. Without any, nothing is imported, read or called.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from executor import hookimpl
from executor.threads import fork_safe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor.hookspecs import RegisterTool
    from executor_openapi._provider import OpenAPIProvider
    from executor_openapi._settings import Api

__all__ = ["Api", "OpenAPIPlugin"]


class OpenAPIPlugin:
    """Holds the provider: made when it is first needed, and anew after a shutdown. `_lock` guards that."""

    def __init__(self) -> None:
        self._lock = fork_safe(self, "_lock", threading.Lock)
        self._apis: dict[str, Api] = {}
        self._provider: OpenAPIProvider | None = None

    @hookimpl
    def executor_configure(self, config: Mapping[str, Any]) -> None:
        """
        Take the configuration.

        Raises:
            ValueError: It does not fit; the plugin stays as it was. A service that cannot be used is reported when its
                tools are registered, and costs no other.
        """
        if config == {} and not self._apis:
            return
        from executor_openapi._settings import read_settings

        apis = read_settings(config)
        self.executor_shutdown()
        self._apis = apis

    @hookimpl
    def executor_register_tools(self, register: RegisterTool) -> None:
        """Register a tool for every operation. What cannot be one is reported, and costs only itself."""
        if not self._apis:
            return
        from executor.errors import InvalidToolIdError, SchemaError
        from executor.run import ToolBackend
        from executor_openapi._settings import report

        provider = self.provider()
        for name in self._apis:
            left_out = dict(provider.problems(name))
            for tool_id, tool in provider.tools(name).items():
                try:
                    register(tool, backend=ToolBackend.provider(name, tool_id))
                except (SchemaError, InvalidToolIdError) as error:
                    left_out[tool_id] = error.message
            if left_out:
                told = "; ".join(f"{what} ({why})" for what, why in left_out.items())
                report(name, f"left out: {told}"[:2000])

    @hookimpl
    def executor_register_backends(self, register: Callable[[str, object], None]) -> None:
        """Register the provider, if there is anything that it could reach."""
        if self._apis:
            register("provider", self)

    @hookimpl
    def executor_shutdown(self) -> None:
        """Close the connections."""
        with self._lock:
            provider, self._provider = self._provider, None
        if provider is not None:
            provider.close()

    def provider(self) -> OpenAPIProvider:
        """The provider that calls the services."""
        from executor_openapi._provider import OpenAPIProvider

        with self._lock:
            if self._provider is None:
                self._provider = OpenAPIProvider(self._apis)
            return self._provider

    def call_tool(self, provider_id: str, tool_id: str, args: Mapping[str, Any]) -> Any:
        """As `OpenAPIProvider.call_tool`: what the run layer calls."""
        return self.provider().call_tool(provider_id, tool_id, args)


executor_plugin = OpenAPIPlugin  # one for each registry


def __getattr__(name: str) -> Any:
    if name != "Api":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from executor_openapi._settings import Api

    return Api
