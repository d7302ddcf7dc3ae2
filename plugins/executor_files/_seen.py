"""Files that are shown to a model as they are: images and PDFs, told by their first bytes."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

from executor.errors import ToolFailedError
from executor_files._common import shown

if TYPE_CHECKING:
    import io
    from pathlib import Path

HEAD = 16  # bytes by which they are told
MAX_SEEN = 5 << 20  # bytes: what the model APIs take of an image, in base64 a third more
_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": "application/pdf",
}


def media_type(head: bytes) -> str | None:
    """The MIME type of a file that begins so; None for one that is read as text."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _BEGINNINGS.items() if head.startswith(beginning)), None)


def seen(path: Path, kind: str, size: int, file: io.BufferedReader) -> dict[str, Any]:
    """
    The result of readFile, with the file as a block.

    Raises:
        ToolFailedError: It is too large for any model.
    """
    from executor import Image, Resource  # for those who look at one

    data = file.read(MAX_SEEN + 1) if size <= MAX_SEEN else b""
    if size > MAX_SEEN or len(data) > MAX_SEEN:
        raise ToolFailedError(
            f"{shown(path)} ({kind}) has {size} bytes, and up to {MAX_SEEN} are shown: make a smaller copy first, with "
            "a program that knows its format"
        )
    block = (
        Image(data, kind) if kind.startswith("image/") else Resource(path.as_uri(), kind, blob=b64encode(data).decode())
    )
    return {"path": shown(path), "type": kind, "size": len(data), "content": block}
