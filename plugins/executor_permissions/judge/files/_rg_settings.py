"""What rg is told besides its words: one argument a line, in the file that ``RIPGREP_CONFIG_PATH`` names."""

from __future__ import annotations

import os

from executor.paths import regular_only

_MOST = 1 << 16  # characters of such a file that are looked at
_ANY = ("--hidden", "--no-ignore", "--follow")


def is_configured(program: str | None) -> bool:
    """Whether a file says more to *program*."""
    return program in ("rg", "rga") and bool(os.environ.get("RIPGREP_CONFIG_PATH"))


def with_settings(words: list[str]) -> list[str]:
    """The *words* of rg, behind those of its file; behind whatever may be, where that is too long or cannot be read."""
    path = os.environ["RIPGREP_CONFIG_PATH"]
    if words[1:2] == ["--no-config"]:  # further behind it may be a value
        return words
    try:
        with open(path, errors="replace", opener=regular_only) as file:
            text = file.read(_MOST)
    except OSError:
        text = ""
    told = [line.strip() for line in text.split("\n")] if 0 < len(text) < _MOST else _ANY
    return [words[0], *(line for line in told if line and line[0] != "#"), *words[1:]]
