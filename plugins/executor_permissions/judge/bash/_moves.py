"""
What a builtin does to the shell that runs it: ``cd src`` moves it, ``read x`` and ``export x=1`` set its variables.
"""

# ruff: noqa: SIM905, SLF001 -- lines of words are read, and changed, best; the table at the end is of its own methods
from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from executor_permissions.judge.bash._expand import ANYWHERE, State, bounded
from executor_permissions.judge.bash._words import PublicWord, Unknown
from executor_permissions.judge.paths._paths import UnclearPathError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from executor_permissions.judge.bash._expand import Folders
    from executor_permissions.judge.bash._words import Command
    from executor_permissions.judge.paths._links import Links

# Variables that a script may have for itself: no program knows them by these names.
OWN_VARIABLE = re.compile(
    r"(?:(?!npm_|pip_|histchars\Z|[a-z0-9_]*_proxy\Z)[a-z][a-z0-9_]*"
    r"|[A-Z]|FILES?|DIRS?|SRC|DEST|NAME|COUNT|TOTAL|RESULT|BRANCH|COMMIT|PATTERN|START|END)\Z"
)
REACHING_ALL = frozenset(". source eval trap enable".split())  # they run a text in this shell
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
READ_VALUES = frozenset("-d -i -n -N -p -t -u".split())
_TRACING = re.compile(r"-[a-z]*x|xtrace\Z", re.IGNORECASE)
_STATUS = re.compile(r"[0-9]{1,3}\Z")
_FOLDER_VARIABLES = frozenset({"CDPATH", "HOME", "OLDPWD", "PWD"})


class Ends(NamedTuple):
    """The shell after a command that succeeded, and after one that failed; None where that cannot be."""

    ok: State | None
    failed: State | None


class Surroundings(NamedTuple):
    """
    What a shell is started with.

    Attributes:
        home: What ``~`` stands for.
        search: Says whether ``CDPATH`` is in its environment.
    """

    home: str
    search: Callable[[], bool] = lambda: False


def moved_by(command: Command, around: Surroundings, links: Links, folders: Folders) -> Folders:
    """Where a shell is behind *command*, if that succeeds, with which it begins in one of *folders*."""
    ok = Builtins(around, links).ends(command, State(folders, folders, {})).ok
    return folders if ok is None else ok.folders


class Builtins:
    """
    Follows the builtins of one script.

    Args:
        around: What the shell was started with.
        links: Resolves folders.
    """

    __slots__ = ("_around", "_links", "has_moved")

    def __init__(self, around: Surroundings, links: Links) -> None:
        self._around = around
        self._links = links
        self.has_moved = False  # whether links were followed, which may lead elsewhere another time

    def ends(self, command: Command, state: State) -> Ends:
        """What *command* leaves behind in a shell that is as *state*."""
        words = _bare(command.words)
        if not words:
            return Ends(state, state)
        name = words[0]
        if type(name) is not str:
            lost = state.lost()
            return Ends(lost, lost)
        follow = FOLLOWED.get(name)
        return Ends(state, state) if follow is None else follow(self, words, command, state)

    # Folders.

    def _cd(self, words: list[str], command: Command, state: State) -> Ends:
        operands = _operands(words, "LPe@")
        if operands is None:
            return Ends(state, state)
        named = any(name in _FOLDER_VARIABLES for name, _ in command.assignments)
        if named or state.wild or "CDPATH" in state.variables:
            return Ends(state.moved(frozenset({ANYWHERE})), state)
        target = operands[0] if operands else state.lookup("HOME", self._around.home)
        targets = (target,) if isinstance(target, str) else target
        if targets == ("-",):
            targets = state.lookup("OLDPWD", self._around.home)
        return Ends(state.moved(self._reached(targets, state.folders)), state)

    def _pushd(self, words: list[str], command: Command, state: State) -> Ends:
        if len(words) > 1 and words[1][:1] not in ("-", "+"):
            return self._cd(words, command, state)
        if any(type(word) is not str or word in ("-n", "--", "-") for word in words[1:]):
            return Ends(state.moved(frozenset({ANYWHERE})), state)  # with -n it changes what popd finds
        return self._popd(words, command, state)

    def _popd(self, _words: list[str], _command: Command, state: State) -> Ends:
        return Ends(state.moved(state.visited), state)

    def _reached(self, targets: Sequence[str], folders: Folders) -> Folders:
        """Where ``cd`` to one of *targets* leads from one of *folders*: by the names, and by the links."""
        found: set[str] = set()
        self.has_moved = True
        for target in targets:
            if type(target) is not str:
                return frozenset({ANYWHERE})
            if target[:1] != "/" and self._around.search() and target.split("/")[0] not in (".", ".."):
                found.add(ANYWHERE)
            for start in folders if target[:1] != "/" else ("/",):
                if start == ANYWHERE:
                    found.add(ANYWHERE)
                    continue
                path = os.path.join(start, target)  # noqa: PTH118 -- text, not a file
                try:
                    found.update((os.path.normpath(path), self._links.real(path, start)))
                except UnclearPathError:
                    found.add(ANYWHERE)
        return frozenset(found)

    # Variables.

    def _read(self, words: list[str], _command: Command, state: State) -> Ends:
        names, options = read_names(words)
        if any(option[-1:] == "a" or type(option) is not str for option in options):
            return _lose_variables(state)
        return _assigned(names or ["REPLY"], PublicWord("…"), state)

    def _declare(self, words: list[str], _command: Command, state: State) -> Ends:
        after = state
        for word in words[1:]:
            if word[:1] == "-":
                if word not in ("-p", "-x", "-g") or type(word) is not str:
                    return _lose_variables(state._replace(altering=True))
                continue
            name, sign, value = word.partition("=")
            if not _NAME.match(name):
                return _lose_variables(state._replace(altering=True))  # "+x -n", or nobody knows
            if sign:
                kind = type(word)
                given = value if kind is str else (PublicWord(word) if kind is not Unknown else Unknown(word))
                after = after.assign(name, bounded([*after.variables.get(name, ()), given]))
        return Ends(after, after)

    def _unset(self, words: list[str], _command: Command, state: State) -> Ends:
        after = state
        for word in words[1:]:
            if word in ("-v", "-f"):
                continue
            if type(word) is not str or not _NAME.match(word):
                return _lose_variables(state)
            after = after.assign(word, bounded([*state.lookup(word, self._around.home), ""]))
        return Ends(after, after)

    def _printf(self, words: list[str], _command: Command, state: State) -> Ends:
        if len(words) > 2 and words[1] == "-v" and type(words[2]) is str and _NAME.match(words[2]):
            return _assigned([words[2]], PublicWord("…"), state)
        if len(words) > 1 and (words[1][:2] == "-v" or type(words[1]) is not str):
            return _lose_variables(state)
        return Ends(state, state)

    def _loses_variables(self, _words: list[str], _command: Command, state: State) -> Ends:
        return _lose_variables(state)

    def _wait(self, words: list[str], _command: Command, state: State) -> Ends:
        plain = all(type(word) is str and word[:2] != "-p" for word in words)
        return Ends(state, state) if plain else _lose_variables(state)

    # The rest.

    def _reaches_all(self, words: list[str], _command: Command, state: State) -> Ends:
        if words[0] == "trap" and (len(words) < 3 or words[1] in ("-", "")) and all(type(w) is str for w in words):
            return Ends(state, state)
        return Ends(state.lost(), state.lost())

    def _set(self, words: list[str], _command: Command, state: State) -> Ends:
        if not all(type(word) is str and word != "posix" for word in words):
            return Ends(state.lost(), state.lost())
        after = state._replace(traced=True) if any(map(_TRACING.match, words)) else state
        return Ends(after, after)

    def _shopt(self, words: list[str], _command: Command, state: State) -> Ends:
        plain = all(type(word) is str and word not in ("lastpipe", "cdable_vars") for word in words)
        return Ends(state, state) if plain else Ends(state.lost(), state.lost())

    def _exit(self, words: list[str], command: Command, state: State) -> Ends:
        surely = not command.redirects and not command.assignments and command.words[0] == "exit"
        if surely and (len(words) == 1 or (len(words) == 2 and type(words[1]) is str and _STATUS.match(words[1]))):
            return Ends(None, None)
        return Ends(state, state)


def names_of(folder: str) -> Folders:
    """
    What a shell that is started in *folder*, which is resolved, may call it.

    Bash calls it as its parent did, if ``PWD`` is a name of that folder.
    """
    inherited = os.environ.get("PWD")
    if inherited is None or inherited == folder or inherited[:1] != "/" or os.path.realpath(inherited) != folder:
        return frozenset({folder})
    return frozenset({folder, inherited})


def read_names(words: list[str]) -> tuple[list[str], list[str]]:
    """The variables that ``read`` is to set, and those of its options that have no value."""
    names: list[str] = []
    options: list[str] = []
    i = 1
    while i < len(words):
        if words[i] in READ_VALUES:
            i += 1
        elif words[i][:1] == "-":
            options.append(words[i])
        else:
            names.append(words[i])
        i += 1
    return names, options


def names_set(words: list[str]) -> list[str]:
    """The variables that a builtin with these words may set by name, besides those that are declared."""
    words = _bare(words)
    name = words[0] if words else ""
    if name == "read":
        return read_names(words)[0]
    if name == "getopts":
        return words[2:3]
    return [word for word in words[1:] if _NAME.match(word)] if name in ("mapfile", "readarray", "wait") else []


def _bare(words: list[str]) -> list[str]:
    """The builtin behind ``command`` and ``builtin``."""
    while len(words) > 1 and words[0] in ("command", "builtin") and type(words[0]) is str:
        if words[1] == "-p" and words[0] == "command":
            words = [words[0], *words[2:]]
            continue
        words = words[2:] if words[1] == "--" else words[1:]
        if words and words[0][:1] == "-" and type(words[0]) is str:
            return []  # command -v
    return words


def _operands(words: list[str], letters: str) -> list[str] | None:
    """What stands behind the options; None if one of them is no option of cd, which then stays where it is."""
    for i, word in enumerate(words[1:], 1):
        if word == "--" and type(word) is str:
            return words[i + 1 :]
        if word[:1] != "-" or len(word) == 1 or type(word) is not str:
            return words[i:]
        if not set(word[1:]) <= set(letters):
            return None
    return []


def _assigned(names: Sequence[str], value: str, state: State) -> Ends:
    for name in names:
        if type(name) is not str or not _NAME.match(name):
            return _lose_variables(state)
        state = state.assign(name, (value,))
    return Ends(state, state)


def _lose_variables(state: State) -> Ends:
    after = state._replace(variables={}, wild=True)
    return Ends(after, after)


FOLLOWED: dict[str, Callable[[Builtins, list[str], Command, State], Ends]] = {
    "cd": Builtins._cd,
    "declare": Builtins._declare,
    "exit": Builtins._exit,
    "export": Builtins._declare,
    "getopts": Builtins._loses_variables,
    "let": Builtins._loses_variables,
    "mapfile": Builtins._loses_variables,
    "popd": Builtins._popd,
    "printf": Builtins._printf,
    "pushd": Builtins._pushd,
    "read": Builtins._read,
    "readarray": Builtins._loses_variables,
    "readonly": Builtins._loses_variables,  # what it is told does not take what it is assigned later
    "set": Builtins._set,
    "shopt": Builtins._shopt,
    "typeset": Builtins._declare,
    "unset": Builtins._unset,
    "wait": Builtins._wait,
    **dict.fromkeys(REACHING_ALL, Builtins._reaches_all),
}
# What begins with any other word leaves the shell that runs it as it was.
CHANGING = frozenset({*FOLLOWED, "break", "builtin", "command", "continue", "exec"})
