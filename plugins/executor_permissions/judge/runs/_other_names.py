"""
What a command is by the other names that its program has for the same: for denying.
"""

# ruff: noqa: SIM905 -- lines of names are read, and changed, best
from __future__ import annotations

import re
import signal
from functools import cache
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import Glob, Unknown
from executor_permissions.judge.options import walk
from executor_permissions.judge.options._programs import PYTHON_FLAGS
from executor_permissions.judge.runs._same_commands import PROGRAMS, SUB_COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# Each operand is a command of its own; of the latter it may be what the one before it is given.
_EACH = frozenset("make gmake bmake mvn mvnw mvnd gradle gradlew ant rake ninja samu scons redo tup".split())
_MAY_BE_EACH = frozenset(
    "just invoke inv task mage doit waf sbt lein paver nox gulp grunt jake cake fab mask b2 rebar3 mill phing"
    " bake".split()
)
_WRAPPING = {"gmake": "make", "gradlew": "gradle", "mvnw": "mvn", "mvnd": "mvn"}
_SHORTENING = frozenset({"npm"})  # they take the beginning of a name for the name, if no other begins like that
# As these do, whose names nobody lists here: how many words they take like that.
_SHORTENED = {
    **dict.fromkeys(("bundle", "composer", "gem", "gradle", "gradlew", "hg"), 1),
    **dict.fromkeys(("bridge", "ip", "nmcli", "tc"), 2),
}
_NUMBERED = re.compile(r"(pip|python|pypy)[0-9.]+\Z")
_KILLING = frozenset({"kill", "pkill", "killall"})
_SIGNALS = tuple(
    re.compile(rf"{option}(?:SIG)?([A-Z]+[0-9]*|[0-9]+)", re.IGNORECASE) for option in ("-", "-[ns]=?", "--signal=")
)
_GIT = "git-"  # what sub-commands of git are called as programs
_MODULE = re.compile(rf"-[{PYTHON_FLAGS}]*m(.*)\Z")
_OPEN_NUMBER = re.compile(r"[=+]?[0-7]*777\Z")
_CLAUSE = re.compile(r"([ugoa]*)((?:[-+=](?:[rwxXst]*|[ugo]))+)\Z")
_CHANGE = re.compile(r"([-+=])([a-zX]*)")
# In what is short, not behind a letter that has a value: -S suffix, -m mode.
_TARGET = re.compile(
    r"-(?P<short>[^-tSgmo]*)t(?P<value>.+)?|--t(?:a(?:r(?:g(?:e(?:t(?:-[a-z]*)?)?)?)?)?)?(?:=(?P<named>.*))?", re.DOTALL
)
_OLD_STYLE = re.compile(r"-?([A-Za-z]+)\Z")
_MAKES_RUNNABLE = re.compile(r"(?:[ugoa]*[-+=][rwxXst]*,)*[ugoa]*[+=][rwXst]*x[rwxXst]*(?:,.*)?\Z")
_RUNNABLE_NUMBER = re.compile(r"[=+]?[0-7]*[1357][0-7]{0,2}\Z")
_MOST_TARGETS = 100
_SHORTEST = 2  # letters of a name that is shortened


def other_names(words: list[str]) -> Iterable[tuple[list[str], bool]]:
    """The same command as *words* by other names, each with whether it surely is the same."""
    program = words[0].rpartition("/")[2]
    known = any(program in table for table in (_beginnings(), SUB_COMMANDS, _FORMS, _SHORTENED))
    if program in _EACH or program in _MAY_BE_EACH:
        return _each_first(program, words, surely=program in _EACH)
    if "@" in program[1:]:
        return _without_version(program, words)
    if (program, words[1:2]) == ("yarn", ["run"]) or (program == "cargo" and words[1:] and words[1][:1] == "+"):
        return _without_second(words)
    if program.startswith(_GIT):
        return _of_git(program, words)
    if program in _KILLING:
        return _of_signal(words)
    return _names(program, words) if known or program.startswith(("python", "pip", "pypy")) else ()


def _each_first(program: str, words: list[str], *, surely: bool) -> Iterator[tuple[list[str], bool]]:
    """
    ``make test deploy`` and ``make X=1 deploy`` are ``make deploy``, too, and ``gmake`` is GNU's ``make``.

    ``gradle :app:publish`` is ``publish`` of one of the projects.
    """
    if program in _WRAPPING:
        yield [_WRAPPING[program], *words[1:]], True
        yield from _each_first(_WRAPPING[program], words, surely=surely)
    switches = [word for word in words[1:] if word[:1] == "-" or "=" in word][:_MOST_TARGETS]
    options = [word for word in switches if word[:1] == "-"]
    targets = {word: at for at, word in enumerate(words) if at and word[:1] != "-" and "=" not in word}
    for word, at in [*targets.items()][:_MOST_TARGETS]:
        for given in (switches, options) if len(options) < len(switches) else (switches,):
            yield [program, word, *given], surely and words[at - 1][:1] != "-"
        if program == "gradle":
            task = word.rpartition(":")[2]
            yield [program, task], task == word.removeprefix(":")
            yield [program, Glob(f"{task}*")], False
    if len(targets) > _MOST_TARGETS:
        yield [program, Unknown("*")], False


def has_other_name(program: str) -> bool:
    """Whether *program* has another name itself, and not only its sub-commands, options and operands."""
    told = program in _beginnings() or program in _WRAPPING
    return told or "@" in program or program.startswith(("python", "pip", "pypy", _GIT))


def _without_version(program: str, words: list[str]) -> Iterator[tuple[list[str], bool]]:
    """``npx npm@latest``: a package and its version."""
    bare = [program[: program.index("@", 1)], *words[1:]]
    yield bare, True
    yield from other_names(bare)


def _without_second(words: list[str]) -> Iterator[tuple[list[str], bool]]:
    """``yarn run deploy`` is ``yarn deploy``; ``cargo +nightly`` is the cargo of another toolchain."""
    bare = [words[0], *words[2:]]
    yield bare, True
    yield from other_names(bare)


def _of_git(program: str, words: list[str]) -> Iterator[tuple[list[str], bool]]:
    """``/usr/lib/git-core/git-push``, a link to git, is ``git push``."""
    split = ["git", program.removeprefix(_GIT), *words[1:]]
    yield split, True
    yield from other_names(split)


def _names(program: str, words: list[str]) -> Iterator[tuple[list[str], bool]]:
    for begins, others in _beginnings().get(program, ()):
        if tuple(words[1 : len(begins)]) == begins[1:]:
            for other in others:
                yield [*other, *words[len(begins) :]], True
    if program in SUB_COMMANDS and (program in _SHORTENING or not _first_words(program).isdisjoint(words)):
        yield from _by_sub_command(program, words)
    if program in _SHORTENED:
        yield _shortened(words, _SHORTENED[program])
    if program == "git" and "push" in words:
        yield from _pushing(words)
    elif program in _FORMS:
        yield from _FORMS[program](words)
    elif program.startswith(("python", "pip", "pypy")):
        yield from _of_python(program, words)


@cache
def _beginnings() -> dict[str, list[tuple[tuple[str, ...], list[tuple[str, ...]]]]]:
    """By program: how a command may begin, and what is the same."""
    found: dict[str, list[tuple[tuple[str, ...], list[tuple[str, ...]]]]] = {}
    for line in PROGRAMS:
        for begins, others in _others(line):
            found.setdefault(begins[0], []).append((begins, others))
    return found


@cache
def _sub_commands(program: str) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """The sub-commands of *program*, each with the others that are the same."""
    return {begins: others for line in SUB_COMMANDS[program] for begins, others in _others(line)}


@cache
def _first_words(program: str) -> frozenset[str]:
    """Those that the sub-commands of *program* with other names begin with."""
    return frozenset(begins[0] for begins in _sub_commands(program))


def _others(line: str) -> Iterable[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    names = [tuple(name.split()) for name in line.split("|")]
    return [(name, [other for other in names if other != name]) for name in names]


def _by_sub_command(program: str, words: list[str]) -> Iterator[tuple[list[str], bool]]:
    """With the other names of the sub-command, and with those that it may be short for."""
    found = walk(words)
    at = found.lead if found is not None else 1
    known = _sub_commands(program)
    for count in (2, 1):
        for other in known.get(tuple(words[at : at + count]), ()):
            yield [*words[:at], *other, *words[at + count :]], True
    name = words[at] if at < len(words) else ""
    if program in _SHORTENING and len(name) >= _SHORTEST and (name,) not in known:
        for full in known:
            if full[0].startswith(name):
                yield [*words[:at], *full, *words[at + 1 :]], True


def _shortened(words: list[str], count: int) -> tuple[list[str], bool]:
    """``composer rem x`` may be any sub-command that begins like that."""
    at = [i for i, word in enumerate(words) if i and word[:1] != "-"][:count]
    return [Glob(f"{word}*") if i in at and type(word) is str else word for i, word in enumerate(words)], False


def _of_every_stage(words: list[str]) -> Iterator[tuple[list[str], bool]]:
    """``gcloud beta compute`` is ``gcloud compute`` with what is new there."""
    stage = next((word for word in words[1:] if word[:1] != "-"), "")
    if stage in ("alpha", "beta"):
        at = words.index(stage)
        yield [*words[:at], *words[at + 1 :]], True


def _pushing(words: list[str]) -> Iterator[tuple[list[str], bool]]:
    """``git push origin +main`` is forced, ``git push origin :main`` deletes, ``HEAD:refs/heads/main`` goes to main."""
    at = words.index("push") + 1
    behind = [word for word in words[at:] if type(word) is str]
    told = [_branch(word) if type(word) is str and word[:1] != "-" else word for word in words[at:]]
    if told != words[at:]:
        yield [*words[:at], *told], True
    if any(word[:1] == "+" for word in behind):
        yield [*words[:at], "--force", *words[at:]], True
    if any(word[:1] == ":" and len(word) > 1 for word in behind):
        yield [*words[:at], "--delete", *words[at:]], True
    if any(word.startswith(("--force-w", "--mir")) for word in behind):
        yield [*words, "--force"], False


def _branch(word: str) -> str:
    """The branch that a refspec writes to; what is none stays as it is: an address, a folder."""
    if "://" in word or "@" in word:
        return word
    return word.removeprefix("+").rpartition(":")[2].removeprefix("refs/heads/").removeprefix("heads/")


def _destroying(words: list[str]) -> Iterator[tuple[list[str], bool]]:
    """``terraform apply -destroy`` is ``terraform destroy``."""
    if "destroy" in words:
        at = words.index("destroy")
        yield [*words[:at], "apply", "-destroy", *words[at + 1 :]], True
    elif "apply" in words and any(word.lstrip("-") in ("destroy", "destroy=true") for word in words):
        behind = [word for word in words if word.lstrip("-") not in ("destroy", "destroy=true")]
        behind[behind.index("apply")] = "destroy"
        yield behind, True


def _of_modes(words: list[str]) -> Iterator[tuple[list[str], bool]]:
    """``chmod a=rwx`` is ``chmod 777``; ``u+x`` and ``a=rx`` are ``+x``, and 755 may be meant by who forbids that."""
    modes = [word for word in words[1:] if type(word) is str]
    if any(map(_opens_to_all, modes)):
        yield ["777" if type(word) is str and _opens_to_all(word) else word for word in words], True
    for form, surely in ((_MAKES_RUNNABLE, True), (_RUNNABLE_NUMBER, False)):
        mode = next(filter(form.match, modes), "+x")
        if mode != "+x":
            yield ["+x" if word is mode else word for word in words], surely


def _with_target_last(words: list[str]) -> Iterator[tuple[list[str], bool]]:
    """``cp -t folder file`` and ``cp --target-directory=folder file`` are ``cp file folder``."""
    for at, word in enumerate(words[1:], 1):
        match = _TARGET.fullmatch(word) if type(word) is str else None
        if match is None:
            continue
        others, attached = match["short"], match["value"] or match["named"]
        target = [attached] if attached is not None else words[at + 1 : at + 2]
        behind = words[at + 1 :] if attached is not None else words[at + 2 :]
        yield [*words[:at], *([f"-{others}"] if others else []), *behind, *target], True
        return


def _without_end_of_options(words: list[str]) -> Iterator[tuple[list[str], bool]]:
    """``find -- . -delete`` is ``find . -delete``: its expression is no option, and stands behind them."""
    if "--" in words:
        at = words.index("--")
        yield [*words[:at], *words[at + 1 :]], True


def _of_tar(words: list[str]) -> Iterator[tuple[list[str], bool]]:
    """``tar xf`` is ``tar -xf``."""
    match = _OLD_STYLE.match(words[1]) if len(words) > 1 and type(words[1]) is str else None
    if match is not None:
        yield [words[0], match[1] if words[1][0] == "-" else f"-{match[1]}", *words[2:]], True


def _of_signal(words: list[str]) -> Iterator[tuple[list[str], bool]]:
    """``kill -9``, ``-KILL``, ``-s SIGKILL`` and ``--signal=9`` send the same."""
    for at, word in enumerate(words[1:], 1):
        apart = word in ("-s", "-n", "--signal") and at + 1 < len(words)
        sent = _signal(f"{word}={words[at + 1]}" if apart else word)
        if sent is not None:
            name, before, behind = sent.name, words[:at], words[at + 1 + apart :]
            for form in ([f"-{sent.value}"], [f"-{name[3:]}"], [f"-{name}"], *(["-s", x] for x in (name, name[3:]))):
                yield [*before, *form, *behind], True
            return


def _signal(option: str) -> signal.Signals | None:
    for form in _SIGNALS:
        match = form.fullmatch(option)
        name = match[1].upper() if match is not None else ""
        for sent in signal.Signals:
            if name in (sent.name[3:], str(sent.value)):
                return sent
    return None


def _opens_to_all(mode: str) -> bool:
    """Whether a mode lets everybody read, write and run, in the end."""
    if _OPEN_NUMBER.match(mode):
        return True
    given: dict[str, set[str]] = {"u": set(), "g": set(), "o": set()}
    for clause in mode.split(","):
        match = _CLAUSE.match(clause)
        if match is None:
            return False
        for user in "ugo" if "a" in match[1] or not match[1] else match[1]:
            for sign, letters in _CHANGE.findall(match[2]):
                told = given[letters] if letters in given else set(letters.replace("X", "x"))
                kept = set() if sign == "=" else given[user]
                given[user] = kept - told if sign == "-" else kept | told
    return all({"r", "w", "x"} <= letters for letters in given.values())


def _of_python(program: str, words: list[str]) -> Iterator[tuple[list[str], bool]]:
    """``pip3`` is ``pip``, and ``python -m pip`` as well; ``python`` may be ``python3``."""
    numbered = _NUMBERED.match(program)
    if numbered is not None:
        yield [numbered[1], *words[1:]], True
    elif program in ("python", "pypy"):
        yield [f"{program}3", *words[1:]], False
    if program.startswith("pip"):
        return
    for i in range(1, len(words)):
        match = _MODULE.match(words[i])
        if match is not None:
            module = [match[1]] if match[1] else words[i + 1 : i + 2]
            if module:
                yield [*module, *words[i + (1 if match[1] else 2) :]], True
            return
        if words[i][:1] != "-":
            return


# Programs of which options or operands have other forms.
_FORMS: dict[str, Callable[[list[str]], Iterator[tuple[list[str], bool]]]] = {
    "chmod": _of_modes,
    **dict.fromkeys(("tar", "gtar", "bsdtar"), _of_tar),
    **dict.fromkeys(("terraform", "tofu"), _destroying),
    "gcloud": _of_every_stage,
    **dict.fromkeys(("find", "gfind", "bfs"), _without_end_of_options),
    **dict.fromkeys(("cp", "mv", "ln", "install", "gcp", "gmv", "gln", "ginstall"), _with_target_last),
}
