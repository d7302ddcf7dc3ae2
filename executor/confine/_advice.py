"""Which line of the policy would allow what a box refused: only where it is sure which program that was."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING

from executor.confine._programs import found, is_elsewhere
from executor.values._profile import PROFILE_NAMES

if TYPE_CHECKING:
    from executor.values._profile import Profile

# In front of what a shell says of itself: of a redirection, or of a program that it may not start.
SHELLS_OWN = re.compile(r"^(?:\S*/)?(?:ba|da|z|k|a)?sh: (?:(?:line )?\d+: )?", re.MULTILINE)
_BREAKS = re.compile(r"[;&|]+\Z")
_STREAM = re.compile(r"[<>&|]*[<>][<>&|]*\Z")
_PLAIN = re.compile(r"(?:[A-Za-z0-9_.+-]*/)*[A-Za-z0-9_+][A-Za-z0-9_.+-]*\Z")
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9-]*\Z")
# What runs another program, or is no program that a pattern is about.
_NONE = frozenset(
    "if then else elif fi for while until do done case esac select function time coproc in { } ! [[ [ "  # noqa: SIM905 -- read best as a line of words
    "cd pushd popd export set unset local declare readonly alias source . eval exec command builtin trap exit return "
    "env sudo doas su nohup nice ionice timeout stdbuf setsid xargs find parallel watch strace chroot unshare "
    "sh bash dash zsh ksh busybox".split()
)
_WITH_SUBCOMMANDS = frozenset(
    "git npm pnpm yarn cargo docker podman kubectl helm go pip pip3 uv gh aws gcloud terraform systemctl".split()  # noqa: SIM905 -- as above
)


def advice(held: Profile, command: str | list[str], folder: str, said: str, enough: str, place: str = "") -> str:
    """
    A sentence on what would allow *command*.

    Args:
        held: What the command was held to.
        command: The shell line, or the program and its arguments.
        folder: Its working folder, maybe relative to this process's own.
        said: The lines of what it said that tell of the refusal; "" if they name no program.
        enough: The list of the policy that would do.
        place: What it was refused to write outside of the project.
    """
    if place and ">" in command and SHELLS_OWN.search(said) and f": {place}: " in said:
        # What a rule lets a redirection write is open to its box.
        return f"To allow it: toolexec permissions add {shlex.quote(f'writeFile(path={place})')}"
    line = _line(held, command, folder, said, enough, place)
    kept = enough if held.answered is None else held.answered
    narrower = PROFILE_NAMES.index(kept) < PROFILE_NAMES.index(enough)
    more = ", and revoke the answer that keeps this box: toolexec permissions grants list" if narrower else ""
    return f'To allow it, {line} {enough!r} under "confine" in the policy{more}'


def _line(held: Profile, command: str | list[str], folder: str, said: str, enough: str, place: str) -> str:
    """What is to be done, up to the name of the list."""
    unknown = "what was refused has to be in"
    programs = _refused(command, said)
    pattern = _pattern(programs)
    if pattern is None:
        return unknown
    program = programs[0][0]
    whole = _whole_path(program, held.project, folder) if enough == "open" else None
    if whole is not None:
        if not _PLAIN.match(whole) or ("/" in program and _goes_elsewhere(command)):
            return unknown
        pattern = whole + pattern.removeprefix(program)
    above = os.path.dirname(place)
    there = _PLAIN.match(above) and any(len(words) > 1 and words[-1].rstrip("/") == place for words in programs)
    pattern = f"{pattern} * {above}/*" if there else f"{pattern} *"  # and not whatever else that program may do
    return f'call it by its whole path and add "{pattern}" to' if whole is not None else f'add "{pattern}" to'


def _whole_path(program: str, project: str, folder: str) -> str | None:
    """The path by which a program may run in no box; None where its name in the command does: see `is_elsewhere`."""
    if "/" not in program:
        return None if is_elsewhere(program, project) else found(program)
    folder = os.path.realpath(folder)
    # A relative one begins at the project's root, as those of rules do.
    return None if program.startswith("/") or folder == project else os.path.normpath(os.path.join(folder, program))


def _goes_elsewhere(command: str | list[str]) -> bool:
    return isinstance(command, str) and any(words[0] == "cd" for words in _programs(command) or [])


def _refused(command: str | list[str], said: str) -> list[list[str]]:
    """The commands of which one was refused, all of one program; none where that is not sure."""
    programs = [command] if isinstance(command, list) else _programs(command)
    if not programs or SHELLS_OWN.search(said):
        return []
    if len(programs) > 1:  # the one that says it
        programs = [
            words for words in programs if re.search(rf"^{re.escape(os.path.basename(words[0]))}: ", said, re.MULTILINE)
        ]
        if len({words[0] for words in programs}) != 1:
            return []
    return programs


def _pattern(programs: list[list[str]]) -> str | None:
    """Their program, as patterns spell it; None where that is not sure."""
    words = programs[0] if programs else []
    if not words or words[0] in _NONE or not _PLAIN.match(words[0]):
        return None
    if words[0] not in _WITH_SUBCOMMANDS:
        return words[0]
    subs = {one[1] if len(one) > 1 and _SUBCOMMAND.match(one[1]) else "" for one in programs}
    (sub,) = subs if len(subs) == 1 else ("",)
    return f"{words[0]} {sub}" if sub else None


def _programs(line: str) -> list[list[str]] | None:
    """The commands of a line that is nothing but plain ones, one behind the other; None of any other line."""
    if any(mark in line for mark in ("\n", "`", "$(", "<(", ">(", "<<", "\\", "#")):
        return None
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:  # a quote that is never closed
        return None
    commands: list[list[str]] = [[]]
    skip = False
    for token in tokens:
        if token in ("(", ")") or set(token) & set("()") == set(token):
            return None
        if _STREAM.match(token):
            skip = True  # its file comes next; a number in front of it is no word that a pattern needs
        elif _BREAKS.match(token):
            commands.append([])
        elif skip:
            skip = False
        else:
            commands[-1].append(token)
    found = [words for words in commands if words]
    return found if all(words[0] not in _NONE or words[0] in ("cd", "exit") for words in found) else None
