"""The end of a stream of bytes."""

from __future__ import annotations

KEPT = 8 * 1024


class Tail:
    """Keeps the last `KEPT` bytes of what is added."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        """Add *data*."""
        self._data += data
        del self._data[:-KEPT]

    @property
    def text(self) -> str:
        """What is kept, as text, without the line that its beginning may have been cut from."""
        text = bytes(self._data).decode("utf-8", "replace")
        return text.partition("\n")[2] or text if len(self._data) >= KEPT else text

    def last_lines(self, count: int = 5) -> str:
        """The last lines that are not empty."""
        return "\n".join([line for line in self.text.splitlines() if line.strip()][-count:])
