"""What a policy file's ``channel`` may say, and which folder it keeps to itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

TYPES = ("auto", "console", "callback", "queue", "file", "webhook", "none")


def folder_of(channel: Mapping[str, Any], project: str, home: str) -> Path | None:
    """
    The folder of a file channel, absolute; None for other channels.

    Args:
        project: What ``${project}`` and a relative folder mean.
        home: What ``~`` stands for.
    """
    text = channel.get("base_path")
    if channel.get("type") != "file" or not isinstance(text, str) or not text:
        return None
    text = text.replace("${project}", project).replace("{project}", project)
    if text == "~" or text.startswith("~/"):
        text = home + text[1:]
    return Path(os.path.abspath(Path(project) / text))  # noqa: PTH100 -- a link stays one: both ends are protected


def unfit_folder(folder: Path, project: str, home: str) -> str | None:
    """Why *folder* cannot be a channel's own: no tool may touch it, and it would take the project along."""
    real = Path(os.path.realpath(folder))
    for held, name in ((project, "the project"), (home, "the home folder")):
        if Path(held).is_relative_to(real):
            return f"{str(folder)!r} holds {name}, and no tool may touch the channel's folder: name one of its own"
    return None
