"""What a model is given to read of a result, and no more of it than fits."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from executor._json import as_data, to_text
from executor.errors import ToolExecutorError

if TYPE_CHECKING:
    from collections.abc import Callable

READER = "readResult"  # the tool by which a model reads on
MAX_CONTENT = 64 * 1024  # bytes of UTF-8: about 16,000 tokens, which every model of today can take in
LEAST_CONTENT = 1024  # below it the words about what is left out would be most of it
_MARK = 512  # bytes that these words may take


def without_permission(value: Any) -> Any:
    """The value as the tool gave it: what the gate decided is the host's business, and no model's."""
    if isinstance(value, dict) and "_permission" in value:
        return {key: item for key, item in value.items() if key != "_permission"}
    return value


def json_of(value: Any) -> tuple[Any, str]:
    """
    The value as JSON, and as text for a model: text as it is, everything else as compact JSON.

    Returns:
        *value* itself, if JSON can hold it; else a copy with `as_data` of what it cannot hold.
    """
    if isinstance(value, str):
        text = to_text(value)
        return value if type(value) is str and text == value else text, text
    try:  # by far the most values are JSON
        text = _encode(value)
        return _as_utf8(value, text)
    except Exception:  # noqa: BLE001 -- what is no JSON, and what raises when it is read: a dict that another thread fills
        return _mended(value)


def _mended(value: Any) -> tuple[Any, str]:
    """`json_of` for what JSON cannot hold as it is."""
    foreign: list[object] = []

    def stand_in(item: object) -> Any:
        foreign.append(item)
        return as_data(item)

    try:
        text = _dump(value, default=stand_in, allow_nan=False)
    except Exception:  # noqa: BLE001 -- no JSON has NaN, keys that are no text, cycles; and as in `json_of`
        text = to_text(value)
        try:
            return json.loads(text, parse_constant=lambda _: None), text
        except ValueError:
            return text, text
    if foreign:
        value = json.loads(text)
    return _as_utf8(value, text)


def _as_utf8(value: Any, text: str) -> tuple[Any, str]:
    """The value and its text, as UTF-8 can hold them: names of files may have halves of surrogate pairs in them."""
    if text.isascii():
        return value, text
    held = text.encode("utf-8", "replace").decode()
    return value if held == text else json.loads(held), held


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_dump = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))


def surely_fits(content: str, limit: int) -> bool:
    """Whether *content* has at most *limit* bytes of UTF-8, as can be told at a glance."""
    return len(content) * 6 <= limit  # no character takes more: half of a surrogate pair is written as \\ud800


def bounded(content: str, limit: int, save: Callable[[str], str], has_reader: Callable[[], bool]) -> str:
    """
    *content*, or its beginning and its end with a line between them on how to read the rest.

    Args:
        limit: How many bytes of UTF-8 it may have; from `LEAST_CONTENT` on.
        save: Keeps the whole text and returns the id to read it by. What it raises (OSError, ToolExecutorError) is
            said in that line.
        has_reader: Says whether there is a tool `READER`, by which a model reads on; otherwise only the program can.

    Returns:
        At most *limit* bytes. No character is cut.
    """
    if surely_fits(content, limit):
        return content
    data = encoded(content)
    if len(data) <= limit:
        return content
    room = max(0, limit - _MARK)
    head = cut(data, room * 2 // 3)
    tail = after(data, len(data) - (room - head))
    left_out = f"{tail - head} of {len(data)} bytes are left out here"
    try:
        saved = save(content)
        how = f"the program has kept them as {saved}"
        if has_reader():
            how = f'read on with {READER}(id="{saved}", offset={head})'
    except (OSError, ToolExecutorError) as error:
        how = f"they are lost, for they could not be saved: {str(error)[:80]}"
    return f"{data[:head].decode()}\n[… {left_out}: {how} …]\n{data[tail:].decode()}"


def encoded(text: str) -> bytes:
    """The text in UTF-8; a half of a surrogate pair, which is no character, is written out in ASCII."""
    return text.encode("utf-8", "backslashreplace")


def cut(data: bytes, end: int) -> int:
    """The last place at or before *end* at which UTF-8 can be cut without cutting a character."""
    end = min(max(end, 0), len(data))
    while 0 < end < len(data) and data[end] & 0xC0 == 0x80:
        end -= 1
    return end


def after(data: bytes, start: int) -> int:
    """The first such place at or after *start*."""
    start = max(start, 0)
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    return start
