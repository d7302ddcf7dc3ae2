"""HTTP as uvicorn speaks it, where connections on which nothing is asked keep nobody out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio


def protocol(most: int) -> type[H11Protocol]:
    """The protocol of one server: of more than *most* connections the oldest without a request that runs is closed."""
    idle: dict[H11Protocol, None] = {}  # the oldest first

    class Protocol(H11Protocol):
        """Only a request that bears a token runs for longer than a moment: those of strangers stay idle."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn's
            super().connection_made(transport)
            self._note()
            if len(self.connections) > most:
                oldest = next(iter(idle), self)
                idle.pop(oldest, None)
                oldest.transport.close()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._note()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._note()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            idle.pop(self, None)

        def _note(self) -> None:
            if self.cycle is not None and not self.cycle.response_complete:
                idle.pop(self, None)
            elif not self.transport.is_closing():
                idle.setdefault(self)

    return Protocol
