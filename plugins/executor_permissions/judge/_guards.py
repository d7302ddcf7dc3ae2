"""
How far a rule must spell a command out before its ``*`` may cover the rest.

``sort *`` covers ``sort -n a``, not ``sort -o /etc/passwd a``: the option writes a file, so that a rule for it must
have the option among its own words.
"""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge import _programs
from executor_permissions.judge._unwrap import look_inside, program_of
from executor_permissions.judge._words import Command, Glob, Number, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable

_PYTHONS = frozenset({"python", "python2", "python3"})
NEVER = 1 << 30  # no rule with a wildcard covers it

_SED_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/I?)"
_SED_FLAGS = r"[gpiI0-9]*"
_SED_SUBSTITUTE = "|".join(
    rf"s{d}(?:[^{d}\\\n]|\\.)*{d}(?:[^{d}\\\n]|\\.)*{d}{_SED_FLAGS}" for d in ("/", r"\|", "#", ",", "@", "!", "_", "%")
)
_SED_STEP = (
    rf"(?:{_SED_ADDRESS}(?:,(?:\+?{_SED_ADDRESS}|[+~]\d+))?)?[ ]*!?[ ]*"
    rf"(?:[pPdDqQ=hHgGxnN]|q\d+|{_SED_SUBSTITUTE}|y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/)"
)
_SED_SCRIPT = re.compile(rf"[ ]*{_SED_STEP}(?:[ ]*[;\n][ ]*{_SED_STEP})*[ ]*;?[ ]*\Z")
_ARGUMENT_FILES = frozenset("pytest gcc g++ clang rustc javac".split())
_SED_LONG = frozenset("--quiet --silent --regexp-extended --null-data --unbuffered --posix --".split())
_AWK_RUNS = re.compile(r"system|getline|@|(?<!\|)\|(?!\|)|print[^;}\n]*>|fflush|close\s*\(|extension")
_MAKE_ASSIGNMENT = re.compile(r"[^\s=:?+!]+\s*[:?+!]*=")
_MAKE_SAFE = re.compile(r"(?!SHELL|MAKE|\.)[A-Z_]+=(?:\d+|yes|no|true|false|on|off|)\Z")
_SQL_RUNS = re.compile(
    r"^\s*\.|\\|load_extension|writefile|readfile|attach|into\s+(out|dump)file|program|copy\b|edit\s*\(", re.IGNORECASE
)
_TRANSPORT = re.compile(r"[A-Za-z0-9+-]+::")
_SAFE_MODULES = frozenset({"timeit", "code", "pdb", "cProfile", "profile", "trace", "runpy", "idlelib", "pydoc", "bdb"})
_MERGE_STRATEGIES = frozenset("ort recursive resolve octopus ours subtree".split())


_MAX_NESTING = 8


def exposed(command: Command, depth: int = 0) -> int:
    """
    The index of the last word that a rule must spell out to cover *command*, or -1 if a wildcard may cover all.

    `NEVER` when no wildcard may.
    """
    program = program_of(command.words)
    if program is None or depth > _MAX_NESTING:
        return NEVER
    reach = _reach(program, command)
    inside = look_inside(command)
    if inside.hidden:
        return NEVER
    if program == "git" or program in _programs.RUNNERS or program in _programs.LAUNCHERS:
        return reach  # their rule names the sub-command that runs things
    for inner in inside.commands:
        if program not in _PYTHONS:
            reach = max(reach, inner.at)
        if inner.words:
            further = exposed(Command(inner.words, "", stdin=command.stdin), depth + 1)
            if further >= 0:
                reach = NEVER if further == NEVER else max(reach, inner.at + further)
    return reach


def _reach(program: str, command: Command) -> int:
    program = _programs.ALIASES.get(program, program)
    words = command.words
    reach = -1
    special = _SPECIAL.get(program)
    guard = _programs.GUARDS.get(program)
    if special is None and guard is None:
        if program in _programs.SHELLS or program in _programs.INTERPRETERS:
            special = _interpreter
        elif program in _programs.EDITORS:
            special = _editor
        elif program not in _programs.NAME_BUILTINS:
            return -1
    if guard is not None:
        reach = _guarded(program, words, guard)
    if special is not None:
        reach = max(reach, special(words, command))
    return max(reach, _leading_glob(program, words))


def _leading_glob(program: str, words: list[str]) -> int:
    """A file may be called ``--output=x``: a glob that begins a word can become an option."""
    if program == "git" and len(words) > 1 and words[1] in _programs.GIT_GLOB_SAFE:
        return -1
    for i, word in enumerate(words):
        if word == "--":
            return -1
        if type(word) is Unknown or (type(word) is Glob and word[:1] in "*?["):
            return i
    return -1


def _guarded(program: str, words: list[str], guard: _programs.Guard) -> int:
    reach = -1
    shortened = program not in _programs.EXACT_LONG
    command_seen = False
    for i, word in enumerate(words[1:], 1):
        if type(word) is Number:
            continue
        if word[:1] == "@" and program in _ARGUMENT_FILES:
            reach = i  # a file that holds further options
        elif word[:1] != "-":
            if not command_seen and word in guard.commands:
                reach = i
            # What comes behind an option may be its value: the sub-command is then still to come.
            after_option = words[i - 1][:1] == "-" and "=" not in words[i - 1]
            command_seen = command_seen or not after_option
        elif word == "--":
            break
        elif _is_guarded(word, guard, shortened=shortened) and not _harmless(program, word, words, i):
            reach = i
    return reach


def _is_guarded(word: str, guard: _programs.Guard, *, shortened: bool) -> bool:
    name = word.partition("=")[0]
    if name in guard.words or (name.startswith("--") and name[1:] in guard.words):
        return True
    if name.startswith("--"):
        if name in guard.long:
            return True
        return (
            shortened and name not in _programs.NOT_SHORTENED and any(option.startswith(name) for option in guard.long)
        )
    return not guard.letters.isdisjoint(word[1:])


def _harmless(program: str, word: str, words: list[str], i: int) -> bool:
    """Values with which a guarded option neither runs nor writes anything."""
    following = words[i + 1] if i + 1 < len(words) else ""
    if program == "pytest":
        value = word.partition("=")[2] or following
        if word.startswith("--cov-report"):
            return ":" not in value.removeprefix("term-missing:skip-covered")
        if word.startswith("-p"):
            return (word[2:] or following).startswith("no:")
    return False


def _sed(words: list[str], _command: Command) -> int:
    scripts, explicit, i = [], False, 1
    operands: list[int] = []
    while i < len(words):
        word = words[i]
        if word in ("-e", "--expression") and i + 1 < len(words):
            explicit = True
            scripts.append(i + 1)
            i += 2
            continue
        if word.startswith("--expression="):
            explicit = True
            if not _SED_SCRIPT.match(word.partition("=")[2]):
                return i
        elif word[:1] == "-" and len(word) > 1:
            if word not in _SED_LONG and not set(word[1:]) <= set("nErsuz"):
                return NEVER if type(word) is not str else i
        else:
            operands.append(i)
        i += 1
    scripts += [] if explicit else operands[:1]
    return max((at for at in scripts if type(words[at]) is not str or not _SED_SCRIPT.match(words[at])), default=-1)


def _awk(words: list[str], _command: Command) -> int:
    i = 1
    while i < len(words):
        word = words[i]
        if word in ("-F", "-v") or (word[:2] in ("-F", "-v") and len(word) > 2):
            i += 2 if len(word) == 2 else 1
            continue
        if word[:1] == "-" and len(word) > 1:
            return i if word not in ("--csv", "--re-interval", "--posix", "--version", "--") else -1
        if _AWK_RUNS.search(word) or any(other[:1] == "-" and len(other) > 1 for other in words[i + 1 :]):
            return len(words) - 1
        return -1
    return -1


def _uniq(words: list[str], _command: Command) -> int:
    """``uniq IN OUT`` writes OUT."""
    operands, i = [], 1
    while i < len(words):
        if words[i] in ("-f", "-s", "-w"):
            i += 1
        elif words[i][:1] != "-" or words[i] == "-":
            operands.append(i)
        i += 1
    return operands[1] if len(operands) > 1 else -1


_XXD_VALUES = frozenset({"-b", "-c", "-g", "-l", "-n", "-o", "-s"})
_SQL_FLAGS = frozenset(
    "-header -noheader -csv -json -column -line -list -markdown -table -box -html -readonly -quote -tabs".split()
)


def _xxd(words: list[str], _command: Command) -> int:
    operands = [i for i, word in enumerate(words) if i and word[:1] != "-" and words[i - 1] not in _XXD_VALUES]
    reverse = next((i for i, word in enumerate(words) if word.startswith("-r")), -1)
    return max(reverse, operands[1] if len(operands) > 1 else -1)


def _tar(words: list[str], _command: Command) -> int:
    reach = -1
    guarded = "--to-command --checkpoint-action --use-compress-program --rsh-command --rmt-command --info-script"
    guarded += " --new-volume-script --absolute-names --directory --files-from --one-top-level --transform --xform"
    long = guarded.split()
    for i, word in enumerate(words[1:], 1):
        if word.startswith("--"):
            name = word.partition("=")[0]
            if len(name) > 2 and any(option.startswith(name) for option in long):
                reach = i
        elif (word[:1] == "-" or i == 1) and not set("IFPCT").isdisjoint(word):
            reach = i
    return reach


def _pager(words: list[str], _command: Command) -> int:
    return max((i for i, word in enumerate(words) if word[:1] == "+"), default=-1)


def _editor(words: list[str], _command: Command) -> int:
    return max((i for i, word in enumerate(words) if i and word[:1] in ("-", "+")), default=-1)


def _make(words: list[str], _command: Command) -> int:
    return max(
        (i for i, word in enumerate(words) if i and _MAKE_ASSIGNMENT.match(word) and not _MAKE_SAFE.match(word)),
        default=-1,
    )


def _python(words: list[str], _command: Command) -> int:
    """A script or a module is run as it stands; code in the command or from the input is not covered."""
    i = 1
    while i < len(words):
        word = words[i]
        if word in ("-V", "-VV", "--version", "-h", "--help"):
            return -1
        if word in ("-X", "-W"):
            i += 2
            continue
        if word[:1] != "-":
            return _script(word)
        if word == "-" or word[:2] == "--" or "c" in word or "i" in word or type(word) is not str:
            return NEVER if word == "-" else i
        if "m" in word:
            module = word[word.index("m") + 1 :] or (words[i + 1] if i + 1 < len(words) else "")
            return i + 1 if module.partition(".")[0] in _SAFE_MODULES or not module else -1
        i += 1
    return NEVER


def _script(word: str) -> int:
    """A script by its path: one that is no plain file is code from somewhere else."""
    return NEVER if type(word) is not str or word.startswith(("/dev/", "/proc/")) else -1


_VERSION = frozenset({"-v", "-V", "--version", "-h", "--help", "-version"})
_SHELL_SAFE = re.compile(r"[-+][aefhuvxn]+\Z")


def _interpreter(words: list[str], _command: Command) -> int:
    """Shells and the other interpreters: a script is covered, code and every option are not."""
    program = program_of(words) or ""
    i = 1
    while i < len(words):
        word = words[i]
        if word in _VERSION and (program not in _programs.SHELLS or word == "--version") and i == len(words) - 1:
            return -1
        if word[:1] not in ("-", "+"):
            break
        if (program in _programs.SHELLS and _SHELL_SAFE.match(word)) or (program == "sqlite3" and word in _SQL_FLAGS):
            i += 1
            continue
        return NEVER if word == "-" else i
    if i >= len(words):
        return NEVER
    if program in ("sqlite3", "psql", "mysql", "mariadb"):
        return max(
            (at for at, word in enumerate(words) if at > i and _SQL_RUNS.search(word)), default=_database(words, i)
        )
    if program in ("deno", "bun") and words[i] in ("eval", "repl", "x"):
        return NEVER
    return _script(words[i])


def _database(words: list[str], at: int) -> int:
    """A database client without a statement reads its input."""
    return -1 if len(words) > at + 1 and "|" not in words[at + 1] else NEVER


def _git(  # noqa: C901 -- git's own options, then those of the sub-command
    words: list[str], _command: Command
) -> int:
    i, reach = 1, -1
    while i < len(words) and words[i][:1] == "-":
        if words[i] in ("--version", "-v"):
            return reach
        if words[i] not in _programs.GIT_GLOBAL:
            i += words[i] in _programs.GIT_GLOBAL_VALUES
            reach = min(i, len(words) - 1)
        i += 1
    if i >= len(words):
        return reach
    sub = words[i]
    reach = reach if sub in _programs.GIT_COMMANDS else i
    if (
        sub == "config"
        and i + 1 < len(words)
        and words[i + 1] in ("--get", "--list", "-l", "--get-all", "--get-regexp")
    ):
        reach = min(reach, i - 1)
    letters = set(_programs.GIT_LETTERS.get(sub, ""))
    for at in range(i + 1, len(words)):
        word = words[at]
        if word == "--":
            break
        name = word.partition("=")[0]
        if (sub, word) in _programs.GIT_NESTED or _TRANSPORT.match(word):
            reach = at
        elif name.startswith("--"):
            if len(name) > 3 and any(option.startswith(name) for option in _programs.GIT_LONG):
                reach = reach if _named_strategy(words, at) else at
        elif word[:1] == "-" and letters and not letters.isdisjoint(word[1:]) and not _named_strategy(words, at):
            reach = at
    return reach


def _named_strategy(words: list[str], at: int) -> bool:
    """Whether ``-s ours`` names one of git's own strategies; another name is a program."""
    word = words[at]
    following = words[at + 1] if at + 1 < len(words) else ""
    value = following if word in ("-s", "--strategy") else word.removeprefix("--strategy=").removeprefix("-s")
    return value in _MERGE_STRATEGIES


def _npm(words: list[str], _command: Command) -> int:
    """``npm init NAME`` runs a program of that name from the registry."""
    for i, word in enumerate(words[:-1]):
        if word in ("init", "innit") and any(other[:1] != "-" for other in words[i + 1 :]):
            return len(words) - 1
    return -1


def _export(words: list[str], _command: Command) -> int:
    for i, word in enumerate(words[1:], 1):
        if word[:1] == "-" and word not in ("-p", "-x"):
            return i
        if word[:1] != "-" and word.partition("=")[0] not in _programs.SAFE_VARIABLES:
            return i
    return -1


def _everything(words: list[str], _command: Command) -> int:
    return len(words) - 1


_SPECIAL: dict[str, Callable[[list[str], Command], int]] = {
    "awk": _awk,
    "declare": _export,
    "export": _export,
    "gawk": _awk,
    "git": _git,
    "less": _pager,
    "local": _export,
    "make": _make,
    "mawk": _awk,
    "more": _pager,
    "nawk": _awk,
    "npm": _npm,
    "pnpm": _npm,
    "yarn": _npm,
    "python": _python,
    "python2": _python,
    "python3": _python,
    "pypy": _python,
    "pypy3": _python,
    "readonly": _export,
    "sed": _sed,
    "socat": _everything,
    "tar": _tar,
    "typeset": _export,
    "uniq": _uniq,
    "xxd": _xxd,
}
