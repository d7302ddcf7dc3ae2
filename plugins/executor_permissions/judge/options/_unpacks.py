"""Which archive or patch a command unpacks, and where."""

# ruff: noqa: SIM905 -- lines of words
from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from executor_permissions.judge.options import walk

if TYPE_CHECKING:
    from executor_permissions.judge.bash._words import Command

UNPACKERS = frozenset({"tar", "gtar", "bsdtar", "unzip", "patch", "7z", "7za", "7zr", "cpio", "bsdcpio", "pax"})
_EXTRACTING = frozenset({"--extract", "--get"})
_ZIP_LOOKS = re.compile(r"-[a-zA-Z]*[lvtpcz]|-Z|--help|--version")
_PATCH_LOOKS = frozenset({"--dry-run", "--help", "--version", "-v"})
# Of git: they apply nothing, or go on with what was looked at when it began.
_GIT_LOOKS = frozenset(
    "--check --stat --numstat --summary --abort --quit --skip --continue --resolved -r --show-current-patch".split()
)
_GIT = re.compile(r"(?:\A|/)(?:\.git|git~1)[. ]*(?:/|\Z)", re.IGNORECASE)  # as file systems may take it


class Unpacked(NamedTuple):
    """
    What a command unpacks.

    Attributes:
        archive: The file, or None if it is not in its words.
        form: How it is packed: "tar", "zip", "patch", or "" for others.
        folder: Where it unpacks; "" where it runs.
    """

    archive: str | None
    form: str
    folder: str = ""


def unpacked_by(command: Command) -> Unpacked | None:
    """What *command* unpacks, if it does."""
    words = command.words
    program = command.program
    if program not in UNPACKERS:
        return None
    options = [word for word in words[1:] if word[:1] == "-"]
    if program in ("tar", "gtar", "bsdtar"):
        return _by_tar(words, options)
    if program == "unzip":
        if any(map(_ZIP_LOOKS.match, options)):
            return None
        found = walk(words)
        return Unpacked(found.reads[0] if found is not None and found.reads else None, "zip", _after(words, "-d"))
    if program == "patch":
        return None if not _PATCH_LOOKS.isdisjoint(options) else _by_patch(command)
    if program in ("7z", "7za", "7zr"):
        files = [word for word in words[2:] if word[:1] != "-"]
        return Unpacked(files[0] if files else None, "") if words[1:2] in (["x"], ["e"]) else None
    letter = {"cpio": "i", "bsdcpio": "i", "pax": "r"}.get(program or "")
    copies_in = letter is not None and any(letter in one.partition("F")[0] for one in options)
    return Unpacked(None, "") if copies_in else None


def _by_tar(words: list[str], options: list[str]) -> Unpacked | None:
    letters = [one.partition("f")[0] for one in (*words[1:2], *options) if one[:2] != "--"]
    if not any("x" in one for one in letters) and _EXTRACTING.isdisjoint(options):
        return None
    found = walk(words)
    archives = found.archives if found is not None else []
    folder = _after(words, "-C") or _after(words, "--directory")
    return Unpacked(archives[-1] if archives and archives[-1] != "-" else None, "tar", folder)


def _by_patch(command: Command) -> Unpacked:
    given = _after(command.words, "-i") or _after(command.words, "--input")
    operands = [word for word in command.words[1:] if word[:1] != "-"]
    read = next((one.target for one in command.redirects if not one.writes and not one.is_text), None)
    folder = _after(command.words, "-d") or _after(command.words, "--directory")
    if given or read:
        return Unpacked(given or read, "patch", folder)
    return Unpacked(operands[1] if len(operands) == 2 and not command.stdin else None, "patch", folder)


def patches_of_git(command: Command) -> list[Unpacked]:
    """
    The patches that git applies; one without a file if they come from the input.

    Into a ``.git``, and out of the repository, git writes for none of them.
    """
    words = command.words
    at = next((i for i, word in enumerate(words) if word in ("apply", "am")), 0)
    options = {word for word in words[at:] if word[:1] == "-"}
    if not at or not options.isdisjoint(_GIT_LOOKS):
        return []
    folder = "".join(f"{words[i + 1]}/" for i in range(at - 1) if words[i] == "-C")
    files = [word if word[:1] == "/" else folder + word for word in words[at + 1 :] if word[:1] != "-"]
    read = [one.target for one in command.redirects if not one.writes and not one.is_text]
    return [Unpacked(one, "patch", folder) for one in files or read] or [Unpacked(None, "patch", folder)]


def _after(words: list[str], option: str) -> str:
    """The value of *option*, if it is given."""
    for i, word in enumerate(words):
        if word == option:
            return words[i + 1] if i + 1 < len(words) else ""
        if word.startswith(f"{option}=" if option[:2] == "--" else option):
            return word[len(option) :].lstrip("=")
    return ""


def is_git(name: str) -> bool:
    """Whether the path *name* leads through a repository's own folder."""
    return _GIT.search(name) is not None
