"""Text for a person, with nothing hidden in it."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from executor._json import to_text

if TYPE_CHECKING:
    from collections.abc import Mapping


def visible(text: str, limit: int = 2000) -> str:
    """
    *text* with everything visible that a terminal would act on or hide: controls, bidi marks, zero-width characters.

    Newlines stay, marked; longer texts keep head and tail around a count.
    """
    if len(text) > limit:
        text = f"{text[: limit // 2]} …[{len(text) - limit} characters more]… {text[-(limit // 2) :]}"
    shown = []
    for character in text:
        if character == "\n":
            shown.append("⏎\n")
        elif character == " " or (
            unicodedata.category(character)[0] not in "CZ" and character not in "\u115f\u1160\u3164\uffa0\u2800"
        ):
            shown.append(character)
        else:
            shown.append(f"<U+{ord(character):04X}>")
    return "".join(shown)


def question_text(tool: str, arguments: Mapping[str, Any], reason: str) -> str:
    """What a person is asked about a call whose asker has no words of its own."""
    lines = [f"  {visible(key)}: {visible(to_text(value))}" for key, value in arguments.items()]
    return "\n".join([f"Run {visible(tool)}? ({visible(reason)})", *lines, f"Run {visible(tool)}?"])
