"""What a simple command runs besides itself: the command behind ``env``, ``xargs``, ``find -exec``, ``sh -c``."""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import HANDED, REST, Inner, Inside, Suffix, Unknown
from executor_permissions.judge.git._runs import look_at_git
from executor_permissions.judge.options import _programs
from executor_permissions.judge.options._sed import run_by_sed
from executor_permissions.judge.options._tables import grammar_of
from executor_permissions.judge.runs._unwrap_wrappers import glued_in, scripts_of, skip_options, suffixes, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from executor_permissions.judge.bash._words import Command

_XARGS_ADDING = re.compile(r"-[^-IiJ]*[nLl]|--max-(?:a|l)")  # it forgets what it was told to replace
_XARGS_VALUES = frozenset(
    "-a -d -E -I -L -n -P -s -J -R -S --arg-file --delimiter --max-args --max-procs --max-chars"
    " --process-slot-var".split()
)
_INPUT_FILES = re.compile(r"/dev/(stdin|fd/|tcp/|udp/)|/proc/(self|thread-self|\d+)/fd/|-\Z")
# Long options, which bash takes behind one dash as well.
_LONG_OPTIONS = frozenset(
    "debugger dump-po-strings dump-strings help init-file login noediting noprofile norc posix pretty-print rcfile"
    " restricted verbose version wordexp".split()
)
_GIVEN_WORDS = 24  # of a command that an unknown program may run
_MAX_GIVEN = 150  # places where such a command may begin
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*\Z")
_MODULE = re.compile(rf"-[{_programs.PYTHON_FLAGS}]*m(.*)\Z", re.DOTALL)
_PIECES = re.compile(r"[^\s;&|()`'\"<>{}]+")
_ITEMS = re.compile(r"[^\s\[\]'\",]+")  # of a list: ["rm", "-rf"]
_PLACES = re.compile(r"\{[0-9./#%+-]*\}")  # in what parallel runs: names from its input
_LISTED = re.compile(r":::\+?\Z")  # unless they are among its words
_SUBSTITUTION = re.compile(r"\$\(|`|\$\{")


def look_inside(command: Command) -> Inside:
    """What *command*, whose words do not change any more, runs besides itself."""
    inside = command.inside
    if inside is None:
        program = command.program
        inside = _NOTHING if program is None or _runs_nothing(program) else _look(program, command)
        command.inside = inside
    return inside


def _look(program: str, command: Command) -> Inside:
    words = command.words
    found = Inside([])
    if program in _programs.WRAPPERS:
        if not wrapped(program, words, found) and command.stdin:
            _from_input(command, found, len(words))
    elif program in _programs.SHELLS:
        _shell(words, command, found)
    elif program in _SPECIAL:
        _SPECIAL[program](words, command, found)
    elif _PYTHON.match(program):
        _python(words, command, found)
    elif type(words) is not Suffix and not _is_known(program):
        _given(words, found)
    if program in _programs.RUNNERS:
        _runner(program, words, found)
    elif program in _programs.LAUNCHERS:
        _launch(program, words, command, found)
    if program in _programs.NAME_BUILTINS and any(_SUBSTITUTION.search(word) for word in words[1:]):
        found.hidden = f"{program} may run what is in its arguments"
    return found


@lru_cache(maxsize=512)
def _runs_nothing(program: str) -> bool:
    """Whether a program is known to run nothing, whatever it is given: `_look` has nothing to say of it."""
    wrapping = (_programs.WRAPPERS, _programs.SHELLS, _SPECIAL)
    running = (_programs.RUNNERS, _programs.LAUNCHERS, _programs.NAME_BUILTINS)
    others = any(program in names for names in (*wrapping, *running)) or _PYTHON.match(program)
    return _is_known(program) and not others


def _is_known(program: str) -> bool:
    others = (_programs.RUNNERS, _programs.LAUNCHERS, _programs.INERT)
    return grammar_of(program) is not None or any(program in names for names in others)


def _given(words: list[str], found: Inside) -> None:
    """A program that nothing is known about may run what it is given: any word may begin a command, or hold one."""
    looked = 0
    for i, word in enumerate(words[1:], 1):
        if type(word) is not str:
            continue  # what runs in it is read where it stands
        found.commands.append(Inner(Suffix(words[i : i + _GIVEN_WORDS]), None, i, certain=False))
        text = word.partition("=")[2] or word[2:] if word[:1] == "-" else word
        kind = _ITEMS if text[:1] == "[" else _PIECES
        pieces = kind.findall(text) if kind is _ITEMS or text is not word or " " in word else []
        found.commands.extend(
            Inner(Suffix(pieces[j : j + _GIVEN_WORDS]), None, i, certain=False) for j in range(len(pieces))
        )
        looked += 1 + len(pieces)
        if looked > _MAX_GIVEN:
            found.hidden = f"{words[0]} is given more words than are looked at"
            return


def _launch(program: str, words: list[str], command: Command, found: Inside) -> None:
    found.commands.extend(_launched(program, words))
    if program in _programs.FED and (
        program != "parallel" or all(word[:1] == "-" or word.isdigit() for word in words[1:])
    ):
        _from_input(command, found, len(words))


def _launched(program: str, words: list[str]) -> Iterable[Inner]:
    """What a program of `LAUNCHERS` runs: any word may begin a command, or be one, also right behind an option."""
    runs = suffixes(words, 1)
    for i, word in enumerate(words[1:], 1):
        if " " in word:
            runs.extend(glued_in(word, i) if word[:1] == "-" and type(word) is str else [Inner(None, word, i)])
    listed = program == "parallel" and not any(map(_LISTED.match, words))
    return map(_with_names, runs) if listed else runs


def _with_names(inner: Inner) -> Inner:
    """What parallel runs, with the names from its input in place of its marks, or behind all."""
    if inner.words is not None:
        words = [word for word in inner.words if not _PLACES.fullmatch(word)]
        return replace(inner, words=Suffix([*words, REST])) if words[:1] == inner.words[:1] else inner
    script, marked = _PLACES.subn('"$x"', inner.script or "")
    return replace(inner, script=script if marked else f'{script} "$x"')


def _runner(program: str, words: list[str], found: Inside) -> None:
    at, _ = skip_options(words, 1, frozenset())
    while at < len(words) and words[at] not in _programs.RUNNERS[program]:
        at += 1
    if at >= len(words):
        return
    begin, certain = skip_options(words, at + 1, frozenset())
    named = program in ("docker", "podman", "kubectl", "lxc", "conda", "mamba", "direnv") or words[at][:4] == "expl"
    plain = certain and begin == at + 1 and not named  # else there is a name in front of it, of an image or a package
    surely = begin < len(words) and (plain or words[begin - 1] == "--")
    if surely:
        found.commands.append(Inner(words[begin:], None, begin))
    else:
        found.commands.extend(suffixes(words, at + 1))
    # Some give a shell what stands there: "yarn exec 'rm x'".
    last = begin + 1 if surely else len(words)
    found.commands.extend(Inner(None, words[i], i, certain=surely) for i in range(at + 1, last) if " " in words[i])
    found.commands.extend(scripts_of(words, ("-c", "--call")))


def _shell(  # noqa: C901 -- the order of the words is one thing, told from left to right
    words: list[str], command: Command, found: Inside
) -> None:
    at = 1
    takes_script = reads_input = False
    while at < len(words):
        word = words[at]
        if type(word) is not str:
            found.hidden = "what the shell runs is computed"
            return
        if word == "--" or word[:1] not in ("-", "+") or word == "-":
            at += word in ("--", "-")
            break
        name = word.lstrip("-")
        if word[:2] == "--" or name in _LONG_OPTIONS:
            at += 2 if name in ("rcfile", "init-file") else 1
            if name.startswith(("rcfile", "init-file")):
                found.hidden = "the shell runs a start-up file"
            elif name.startswith(("command", "init-command")):
                takes_script = True
            continue
        takes_script = takes_script or "c" in word[1:].lower()
        reads_input = reads_input or "s" in word[1:]
        at += 2 if word[1:].lower().endswith("o") else 1
    script = words[at] if at < len(words) else None
    if takes_script:
        if script is None or type(script) is not str:
            found.hidden = "what the shell runs is computed"
        else:
            found.commands.append(Inner(None, script, at))
            if any(type(word) is not str for word in words[at + 1 :]) and "$" in script:
                found.hidden = "what the shell runs is computed"
    elif script is None or reads_input or type(script) is not str or _INPUT_FILES.match(script):
        _from_input(command, found, at)


def _from_input(command: Command, found: Inside, at: int) -> None:
    """A shell that reads its commands from its input."""
    if command.body is not None:
        found.commands.append(Inner(None, command.body, at))
    elif command.stdin or at < len(command.words):
        found.hidden = "a shell runs what it is sent"


def _eval(words: list[str], _command: Command, found: Inside) -> None:
    found.hidden = "eval runs a text"
    if all(type(word) is str for word in words):
        found.commands.append(Inner(None, " ".join(words[1:]), 1))


def _trap(words: list[str], _command: Command, found: Inside) -> None:
    at, _ = skip_options(words, 1, frozenset())
    if at < len(words):
        if type(words[at]) is not str:
            found.hidden = "what trap runs is computed"
        found.commands.append(Inner(None, words[at], at))


def _source(words: list[str], command: Command, found: Inside) -> None:
    if len(words) > 1 and (type(words[1]) is not str or _INPUT_FILES.match(words[1])):
        found.hidden = "a shell runs what it is sent"
        if command.body is not None:
            found.commands.append(Inner(None, command.body, 1))


def _rebinding(words: list[str], _command: Command, found: Inside) -> None:
    if len(words) > 1:
        found.hidden = f"{words[0]} may change what a name stands for"
    for i, word in enumerate(words[1:], 1):
        if words[0] == "alias" and "=" in word:
            found.commands.append(Inner(None, word.partition("=")[2], i))


def _settings(words: list[str], _command: Command | None, found: Inside) -> None:
    from executor_permissions.judge.runs._variables import told_by  # nearly no command is one of these

    found.commands.extend(told_by(words))


def _callback_builtin(words: list[str], _command: Command, found: Inside) -> None:
    if any(word[:1] == "-" and word[1:2] in ("C", "c", "x", "F") for word in words[1:]):
        found.hidden = f"{words[0]} runs a text"
        found.commands.extend(Inner(None, word, i) for i, word in enumerate(words[1:], 1))


def _xargs(words: list[str], _command: Command, found: Inside) -> None:
    at, certain = skip_options(words, 1, _XARGS_VALUES)
    placeholder = None
    for i, word in enumerate(words[1:at], 1):
        if word in ("-I", "-J") and i + 1 < len(words):
            placeholder = words[i + 1]
        elif word[:2] in ("-I", "-i", "-J"):
            placeholder = word[2:] or "{}"
        elif word.startswith("--replace"):
            placeholder = word.partition("=")[2] or "{}"
    inner = [*words[at:]]
    if placeholder and any(placeholder in word for word in inner):  # else words are added, as they are behind "-n 1"
        inner = [Unknown(word.replace(placeholder, HANDED)) if placeholder in word else word for word in inner]
        added = any(map(_XARGS_ADDING.match, words[1:at]))
    else:
        added = True
    if not certain:
        found.hidden = "what xargs runs is computed"
        found.commands.extend(suffixes([*words, REST], 1))
    elif inner:
        found.commands.append(Inner([*inner, REST] if added else inner, None, at))


def _ed(words: list[str], _command: Command, found: Inside) -> None:
    """In place of a file it takes the output of a command."""
    for i, word in enumerate(words[1:], 1):
        if word[:1] == "!":
            found.hidden = "ed runs a text"
            found.commands.append(Inner(None, word[1:], i))


def _find(words: list[str], _command: Command, found: Inside) -> None:
    at = 1
    while at < len(words):
        if words[at] not in _programs.FIND_RUNS:
            at += 1
            continue
        end = at + 1
        while end < len(words) and words[end] != ";" and not (words[end] == "+" and "{}" in words[end - 1]):
            end += 1
        inner = [Unknown(word) if "{}" in word else word for word in words[at + 1 : end]]
        if inner:
            found.commands.append(Inner(inner, None, at + 1))
        at = end + 1


def _fd(words: list[str], _command: Command, found: Inside) -> None:
    for i, word in enumerate(words):
        if word in ("-x", "-X", "--exec", "--exec-batch"):
            found.commands.append(Inner([*words[i + 1 :], REST], None, i + 1))
            return


def _python(words: list[str], _command: Command, found: Inside) -> None:
    """``-m pytest`` runs what the program of that name does."""
    for i, word in enumerate(words[1:], 1):
        match = _MODULE.match(word)
        if match is not None:
            module = [match[1]] if match[1] else []
            inner = [*module, *words[i + 1 :]]
            if inner:
                found.commands.append(Inner(inner, None, i if module else i + 1))
            return
        if word[:1] != "-" and words[i - 1] not in ("-X", "-W"):
            return


def _ag(words: list[str], _command: Command, found: Inside) -> None:
    found.commands.extend(scripts_of(words, ("--pag", "--page", "--pager")))


def _sed(words: list[str], _command: Command, found: Inside) -> None:
    runs = run_by_sed(words)
    if runs == "":
        found.hidden = "sed runs what it reads"
    elif runs:
        found.commands.append(Inner(None, runs, 1))


_SPECIAL: dict[str, Callable[[list[str], Command, Inside], None]] = {
    ".": _source,
    "ag": _ag,
    "alias": _rebinding,
    "bind": _callback_builtin,
    "compgen": _callback_builtin,
    "complete": _callback_builtin,
    "ed": _ed,
    "enable": _rebinding,
    "eval": _eval,
    "fc": _rebinding,
    "fd": _fd,
    "fdfind": _fd,
    "find": _find,
    "git": lambda words, _command, found: look_at_git(words, found),
    "hash": _rebinding,
    "mapfile": _callback_builtin,
    **dict.fromkeys(("declare", "export", "local", "readonly", "typeset", "scp", "sftp"), _settings),
    "readarray": _callback_builtin,
    **dict.fromkeys(_programs.SEDS, _sed),
    "source": _source,
    "trap": _trap,
    "xargs": _xargs,
}
_NOTHING = Inside([])
