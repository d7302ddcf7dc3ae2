"""The plugin's configuration."""

from __future__ import annotations

import math
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from executor.ownfolders import own_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

# The shells that read a line as it is judged, and no other way: for zsh "=rm" is a program, and "$x:r" no text.
_READ = re.compile(r"(?:ba|da|a|)sh[-\d.]*(?:\.exe)?\Z|busybox[-\w.]*\Z")
MAX_OUTPUT = 1024 * 1024  # bytes of one stream in one result: more is no use to a model, and costs memory twice


class Settings(NamedTuple):
    """
    What can be configured.

    Attributes:
        threshold: Seconds after which a command goes to the background; None never.
        max_output: Bytes of each stream in a result, unless the call says otherwise.
        output_dir: Folder for output that is longer; None for the user's state folder.
        shell: The bash, dash or sh that runs command lines, with ``-c``; None for bash, or sh where there is none.
    """

    threshold: float | None = 10.0
    max_output: int = 64 * 1024
    output_dir: Path | None = None
    shell: str | None = None

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Settings:
        """
        The settings that *config* asks for; what it does not name has its default.

        Raises:
            ValueError: A key is unknown, or its value does not fit; the message says what would.
        """
        known = cls._fields
        for key in config:
            if key not in known:
                raise ValueError(f"executor_shell: unknown key {key!r}: use {', '.join(known)}")
        default = cls()
        return cls(
            threshold=_threshold(config.get("threshold", default.threshold)),
            max_output=_max_output(config.get("max_output", default.max_output)),
            output_dir=_output_dir(config.get("output_dir")),
            shell=_shell(config.get("shell")),
        )

    def folder(self) -> Path:
        """Where long output goes."""
        if self.output_dir is not None:
            return self.output_dir
        return own_folder("state") / "output"

    def program(self, line: str) -> list[str] | str:
        """The program that runs the shell line *line*."""
        if sys.platform == "win32" and self.shell is None:
            return line  # cmd.exe, by the rules of the system
        shell = self.shell or ("/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh")
        # A line that begins with a dash would be taken for options of the shell; a blank changes nothing else.
        return [shell, "-c", f" {line}" if line[:1] in ("-", "+") else line]


def _threshold(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError(f"executor_shell: threshold is {value!r}: give seconds (0 or more), or null for never")
    return float(value)


def _max_output(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_OUTPUT:
        raise ValueError(f"executor_shell: max_output is {value!r}: give a number of bytes from 1 to {MAX_OUTPUT}")
    return value


def _output_dir(value: object) -> Path | None:
    if value is None:
        return None
    path = Path(value).expanduser() if isinstance(value, str | Path) else None
    if path is None or not path.is_absolute():
        raise ValueError(f"executor_shell: output_dir is {value!r}: give the full path of a folder")
    return path


def _shell(value: object) -> str | None:
    if value is None:
        return None
    path = Path(value) if isinstance(value, str | Path) else None
    if path is None or not path.is_absolute() or not path.is_file() or not os.access(path, os.X_OK):
        raise ValueError(f"executor_shell: shell is {value!r}: give the full path of a shell, such as /bin/sh")
    if not _READ.match(path.name) or not _READ.match(path.resolve().name):
        told = "lines are judged as bash and dash read them: give the full path of bash, dash or sh"
        raise ValueError(f"executor_shell: shell is {value!r}: {told}, and have that run the other: zsh -c '…'")
    return str(path)
