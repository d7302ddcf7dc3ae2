"""Which line of the policy would allow what a box refused: only where it is sure which program that was."""

from __future__ import annotations

import os
import re
import shlex

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


def advice(command: str | list[str], said: str, profile: str, place: str = "") -> str:
    """
    A sentence on what would allow *command*.

    Args:
        command: The shell line, or the program and its arguments.
        said: The lines of what it said that tell of the refusal; "" if they name no program.
        profile: The list of the policy that would be enough.
        place: What it was refused to write outside of the project.
    """
    if place and ">" in command and SHELLS_OWN.search(said) and f": {place}: " in said:
        # What a rule lets a redirection write is open to its box.
        return f"To allow it: toolexec permissions add {shlex.quote(f'writeFile(path={place})')}"
    programs = _refused(command, said)
    pattern = _pattern(programs)
    if pattern is None:
        return f'To allow it, what was refused has to be in {profile!r} under "confine" in the policy'
    folder = os.path.dirname(place)
    there = _PLAIN.match(folder) and any(len(words) > 1 and words[-1].rstrip("/") == place for words in programs)
    pattern = f"{pattern} * {folder}/*" if there else f"{pattern} *"  # and not whatever else that program may do
    return f'To allow it, add "{pattern}" to {profile!r} under "confine" in the policy'


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
