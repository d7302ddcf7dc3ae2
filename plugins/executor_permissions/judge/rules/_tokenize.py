"""The words of a pattern for shell commands, and commands as texts to look in."""

from __future__ import annotations

OPERATORS = frozenset({"|", "||", "&&", ";", ";;", "|&", "&"})
# What is written without blanks between words as well as with them.
_JOINTS = ("|", "&", ";", "<", ">")
_SPECIAL = frozenset("*\\;|&")  # what is only a character where it is quoted
_UNQUOTED = str.maketrans("", "", "\"'\\")


def tokenize(text: str) -> list[str]:
    """
    The words of a pattern, and the operators between its commands, which need no blanks around them.

    What is quoted keeps its blanks, and its ``*`` stands for itself.

    Raises:
        ValueError: A quote is not closed.
    """
    tokens: list[str] = []
    current: list[str] | None = None
    i = 0
    while i < len(text):
        character = text[i]
        i += 1
        joint = _joint(text, i - 1)
        if character.isspace() or joint:
            tokens += ["".join(current)] if current is not None else []
            tokens += [joint] if joint else []
            current = None
            i += max(len(joint) - 1, 0)
            continue
        current = [] if current is None else current
        if character in "'\"":
            end = text.find(character, i)
            if end < 0:
                raise ValueError(f"the quote {character} is not closed")
            current += ["\\" + c if c in _SPECIAL else c for c in text[i:end]]
            i = end + 1
        else:
            current.append(text[i - 1 : i + 1] if character == "\\" else character)
            i += character == "\\"
    return [*tokens, "".join(current)] if current is not None else tokens


def _joint(text: str, i: int) -> str:
    """The operator that begins here, if one does: not the ``&`` of ``2>&1`` and ``&>``, nor the ``|`` of ``>|``."""
    character = text[i]
    if character not in "|&;":
        return ""
    if character != ";" and (text[i - 1 : i] in ("<", ">") or (character == "&" and text[i + 1 : i + 2] == ">")):
        return ""
    return text[i : i + 2] if text[i : i + 2] in OPERATORS else character


def as_text(text: str) -> str:
    """A command with one blank between its words, and none around what needs none."""
    text = " ".join(text.split())
    for joint in _JOINTS:
        text = text.replace(f" {joint}", joint).replace(f"{joint} ", joint)
    return text


def unquoted(text: str) -> str:
    """A command without its quotes and backslashes: what of it is inside them is found as well."""
    return text.translate(_UNQUOTED)
