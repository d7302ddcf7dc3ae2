"""Secrets that were sent, kept out of what is told, however the service writes them when it gives them back."""

from __future__ import annotations

import base64
import html
import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

MASK = "***"
SHORTEST_SECRET = 4  # of what is shorter an error would be full


def without(secrets: Collection[str], text: str) -> str:
    """*text* with a mask in place of each secret in it: as it is, in JSON, a URL, HTML, or base64."""
    for secret in sorted(secrets, key=len, reverse=True):  # one may hold another
        if len(secret) >= SHORTEST_SECRET:
            text = _written(secret).sub(MASK, text)
    return text


@lru_cache(64)
def _written(secret: str) -> re.Pattern[str]:
    encoded = base64.b64encode(secret.encode()).decode().rstrip("=")
    return re.compile(f"{''.join(map(_character, secret))}|{re.escape(encoded)}=*")


def _character(character: str) -> str:
    """Each way in which a character is written; none takes long to be looked for, whatever it is looked for in."""
    units = character.encode("utf-16-be")
    ways = {
        re.escape(character),
        rf"\\{{1,8}}{re.escape(character)}",  # of JSON, written as JSON again and again
        "".join(rf"\\{{1,8}}(?i:u{units[at : at + 2].hex()})" for at in range(0, len(units), 2)),
        f"(?i:{''.join(f'%(?:25){{0,4}}{byte:02x}' for byte in character.encode())})",
        f"(?i:&#(?:0{{0,6}}{ord(character)}|x0{{0,6}}{ord(character):x});)",
        re.escape(html.escape(character)),
    }
    if character == " ":
        ways.add(r"\+")
    return f"(?:{'|'.join(sorted(ways))})"
