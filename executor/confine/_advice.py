"""Which line of the policy would allow what a box refused: only where it is sure which program that was."""

from __future__ import annotations

import json
import os
import re
import shlex
from typing import TYPE_CHECKING

from executor._mask import mask
from executor.confine._programs import found, is_elsewhere
from executor.values._profile import PROFILE_NAMES

if TYPE_CHECKING:
    from executor.values._profile import Profile

# In front of what a shell says of itself: of a redirection, or of a program that it may not start.
SHELLS_OWN = re.compile(r"^(?:\S*/)?(?:ba|da|z|k|a)?sh: (?:(?:line )?\d+: )?", re.MULTILINE)
_BREAKS = re.compile(r"[;&|]+\Z")
_NUMBER = re.compile(r"\s\d+(?=[<>])")
_STREAM = re.compile(r"[<>&|]*[<>][<>&|]*\Z")
_PLAIN = re.compile(r"(?:[A-Za-z0-9_.+-]*/)*[A-Za-z0-9_+][A-Za-z0-9_.+-]*\Z")
_EXPANDED = re.compile(r"[$*?\[{\\\n]|~(?!/)")  # may be in words that only the running shell knows
_WRITTEN = re.compile(r"[\w/.@+ -]+\Z")  # a path that a rule takes as it stands: with a "*" it would be about more
_LONGEST = 200  # characters of a pattern that somebody would type
# What runs another program, or is no program that a pattern is about.
_NONE = frozenset(
    "if then else elif fi for while until do done case esac select function time coproc in { } ! [[ [ "  # noqa: SIM905 -- read best as a line of words
    "cd pushd popd export set unset local declare readonly alias source . eval exec command builtin trap exit return "
    "env sudo doas su nohup nice ionice timeout stdbuf setsid xargs find parallel watch strace chroot unshare "
    "sh bash dash zsh ksh busybox".split()
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
    programs = _refused(command, said)
    if _WRITTEN.match(place) and place in _written(command, folder):
        # What a rule lets a redirection write is open to its box. Of what it said itself no file is taken.
        return f"To allow it: toolexec permissions add {shlex.quote(f'writeFile(path={place})')}"
    line = _line(held, command, programs, folder, enough)
    kept = enough if held.answered is None else held.answered
    narrower = PROFILE_NAMES.index(kept) < PROFILE_NAMES.index(enough)
    more = ", and revoke the answer that keeps this box: toolexec permissions grants list" if narrower else ""
    return f'To allow it, {line} {enough!r} under "confine" in the policy{more}'


def _line(held: Profile, command: str | list[str], programs: list[list[str]], folder: str, enough: str) -> str:
    """What is to be done, up to the name of the list."""
    unknown = "what was refused has to be in"
    pattern = _pattern(programs)
    if pattern is None:
        return unknown
    program = programs[0][0]
    if "/" in program and not program.startswith("/") and _goes_elsewhere(command):
        return unknown
    whole = _whole_path(program, held.project, folder) if enough == "open" else None
    if whole is None:
        return f"add {_quoted(pattern)} to"
    if not _PLAIN.match(whole):
        return unknown
    return f"call it by its whole path and add {_quoted(whole + pattern.removeprefix(program))} to"


def _quoted(pattern: str) -> str:
    """As it stands in a policy."""
    return json.dumps(pattern, ensure_ascii=False)


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
    programs = [command] if isinstance(command, list) else _programs(command) or []
    programs = [words for words in programs if words[0] != "cd"]  # no box refuses that
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
    """
    A pattern that lets them do more; None where that is not sure.

    It is all that the command says: no ``*`` stands for what may write or run something, and none for words that only
    the running shell knows.
    """
    words = programs[0] if programs else []
    if not words or words[0] in _NONE or not _PLAIN.match(words[0]) or any(one != words for one in programs):
        return None
    spelled = shlex.join(words)
    if _EXPANDED.search(spelled) or len(spelled) > _LONGEST or mask(spelled) != spelled:
        return None
    return spelled


def _written(command: str | list[str], folder: str) -> set[str]:
    """The files that *command* itself names to be written by its shell, or by tee."""
    if isinstance(command, list):
        commands, files = [command], list[str]()
    else:  # what is in a here-document is no part of it
        commands, files = _parts(command.partition("\n")[0] if "<<" in command else command) or ([], [])
    files += [word for words in commands if words and words[0] == "tee" for word in words[1:]]
    expanded = (os.path.expandvars(os.path.expanduser(file)) for file in files if "\0" not in file)
    return {os.path.realpath(os.path.join(folder, file)) for file in expanded}


def _programs(line: str) -> list[list[str]] | None:
    """The commands of a line that is nothing but plain ones, one behind the other; None of any other line."""
    if any(mark in line for mark in ("\n", "`", "$(", "<(", ">(", "<<", "\\", "#")):
        return None
    parts = _parts(line)
    if parts is None or any(set(word) <= set("()") for words in parts[0] for word in words):
        return None
    return parts[0] if all(words[0] not in _NONE or words[0] in ("cd", "exit") for words in parts[0]) else None


def _parts(line: str) -> tuple[list[list[str]], list[str]] | None:
    """The commands of a line, and the files of their redirections; None if a quote is never closed."""
    # The number of a stream is no word of a command.
    lexer = shlex.shlex(_NUMBER.sub(" ", line), posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:
        return None
    commands: list[list[str]] = [[]]
    files = []
    before = ""
    for token in tokens:
        if _BREAKS.match(token):
            commands.append([])
        elif _STREAM.match(before):
            files.append(token)
        elif not _STREAM.match(token):
            commands[-1].append(token)
        before = token
    return [words for words in commands if words], files
