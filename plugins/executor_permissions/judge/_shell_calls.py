"""
The arguments of a shell tool: the commands to judge, and what stands beside them and changes what they do.

``{"command": "git", "args": ["push"]}`` is judged as ``git push``; with ``"env": {"PATH": "."}`` beside it, it is
asked.
"""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from executor_permissions.judge._shell_again import Judging
from executor_permissions.judge._shell_scope import Outcome
from executor_permissions.judge._shell_script import is_posix_shell
from executor_permissions.judge._verdicts import asked_part, denied_part
from executor_permissions.judge.bash._split_words import MAX_PARTS
from executor_permissions.judge.options import _programs
from executor_permissions.judge.paths._links import Links
from executor_permissions.judge.paths._paths import UnclearPathError, under
from executor_permissions.judge.rules._plain_value import words_of
from executor_permissions.judge.rules._rules import Part
from executor_permissions.judge.rules._values import scalars

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from executor_permissions.judge._shell_scope import Rules, Session
    from executor_permissions.judge.rules._scene import Scene

CWD_NAMES = frozenset("cwd workdir workingdir workingdirectory currentdirectory dir directory chdir cd folder".split())
_APPENDED_NAMES = frozenset(
    {"args", "arguments", "argv", "params", "parameters", "options", "flags", "extra_args", "extraArgs"}
)
_ONE_COMMAND = re.compile(r"[\w./:=@%+, -]+\Z")  # some tools drop the words beside what needs a shell
# What stands beside a command is known by the words in its name: "envVars" and "environment_variables" are "env".
_ENV_WORDS = frozenset({"env", "envs", "environment", "environ", "vars", "variables"})
_SHELL_WORDS = frozenset({"shell", "interpreter", "executable"})
_INPUT_WORDS = frozenset({"stdin", "input"})
_RUN_WORDS = frozenset({"command", "commands", "cmd", "cmds", "commandline", "cmdline", "script", "scripts", "code"})
_WHERE_WORDS = frozenset("host hostname container image pod machine node user username sudo root privileged".split())


def outcome_of(
    kinds: Mapping[str, str],
    args: dict[str, Any],
    rules: Rules,
    scene: Scene,
    session: Session,
    base: str,
    *,
    moved: bool,
) -> Outcome:
    """What comes of all the `texts`, which run in *base*; *moved* as `folder` has told."""
    judging = Judging(rules, Links(rules.project, scene.base), session, base, moved=moved)
    whole: Outcome | None = None
    for make in texts(kinds, args):
        outcome = make(judging)
        whole = outcome if whole is None else _both(whole, outcome)
    return whole or Outcome([], None)


def _both(one: Outcome, other: Outcome) -> Outcome:
    return Outcome([*one.parts, *other.parts], one.hidden or other.hidden, one.asked or other.asked)


def texts(kinds: Mapping[str, str], args: dict[str, Any]) -> Iterable[Callable[[Judging], Outcome]]:
    """
    What is to be judged: each command as a text, and with the lists of words that stand beside it appended.

    A list of words goes behind the command as it is, or quoted; nobody knows which, so both are judged. So does a text
    that is called ``args`` or the like, of plain words surely as it is. The command
    alone is judged as well, unless the list is surely part of it: ``{"command": "git", "args": ["status"]}``.
    """
    if len(args) == 1:
        ((name, value),) = args.items()
        if type(value) is str and kinds.get(name) == "shell":
            return (lambda judging: judging.text(value),)  # as nearly every call
    return _texts(kinds, args)


def _texts(kinds: Mapping[str, str], args: dict[str, Any]) -> Iterable[Callable[[Judging], Outcome]]:
    for name, kind in kinds.items():
        value = args.get(name) if kind in ("shell", "argv") else None
        if value is None:
            continue
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            yield _of_words(value)
            if kind == "argv":
                continue
        if not isinstance(value, str) or kind == "argv":
            wanted = "list of words" if kind == "argv" else "text"
            yield lambda _, why=f"{name} is no {wanted}": _invalid(why)  # type: ignore[misc]  # bound at once
            continue
        further = {other: words for other in args if other != name and (words := _appended(other, args, kinds))}
        appended = any(isinstance(args[other], list) for other in _APPENDED_NAMES & further.keys())
        if not appended or not _ONE_COMMAND.match(value):
            yield lambda judging, text=value: judging.text(text)  # type: ignore[misc]  # bound at once
        for words in further.values():
            if not all(isinstance(word, str) for word in words):
                yield lambda _, why=f"a list beside {name} holds more than words": _invalid(why)  # type: ignore[misc]  # bound at once
                continue
            joined = " ".join([value, *words])
            yield lambda judging, text=joined: judging.text(text)  # type: ignore[misc]  # bound at once
            if len(words) > 1 or not _ONE_COMMAND.match(words[0]):
                quoted = " ".join([value, *(_quoted(word) for word in words)])
                yield lambda judging, text=quoted: judging.text(text)  # type: ignore[misc]  # bound at once


def _of_words(words: list[str]) -> Callable[[Judging], Outcome]:
    """What is to be judged of a list of words; of very many, as of a line with so many, only what is denied."""
    if len(words) <= MAX_PARTS:
        return lambda judging: judging.words([*words])
    line = " ".join(map(_quoted, words))
    return lambda judging: judging.text(line)


def _appended(name: str, args: Mapping[str, Any], kinds: Mapping[str, str]) -> list[Any] | None:
    """What goes behind the command of the argument *name*: a list of words, or a text of them."""
    item = args[name]
    if isinstance(item, list):
        return item if kinds.get(name) not in ("argv", "path") else None
    is_text = isinstance(item, str) and name in _APPENDED_NAMES and name not in kinds
    return [item] if is_text and item.strip() else None


def in_line(rules: Rules, kinds: Collection[str], args: dict[str, Any], parts: Sequence[Part]) -> Iterable[Part]:
    """What rules find in the line as it is written: in redirections, in here-documents, or the very line."""
    given = [value for name, value in args.items() if isinstance(value, list) or name in kinds]
    text = " ".join(item for item in scalars(given) if isinstance(item, str))
    if (denied := rules.deny.in_line(text)) is not None:
        yield denied_part(text, denied.text)
    asked = rules.ask.in_line(text) or rules.ask.texts.get(" ".join(text.split()))
    if asked is not None and all(part.rule != asked.text for part in parts):
        yield asked_part(text[:2000], asked.text)


def folder(args: dict[str, Any], scene: Scene, project: str) -> tuple[str, bool, str | None]:
    """Where the command starts, whether that is another folder than usual, and why it is none of the project's."""
    for name, value in args.items() if len(args) > 1 else ():
        if value is None or not is_folder(name):
            continue
        if not isinstance(value, str):
            return scene.base, True, f"{name} is no text"
        try:
            place = scene.locate(value)
        except UnclearPathError as error:
            return scene.base, True, str(error)
        moved = place.real not in (scene.base, project)
        outside = None if under(place.real, project) else f"it runs in {value}, outside the project"
        return place.real, moved, outside
    return scene.base, False, None


def is_folder(name: str) -> bool:
    """Whether the argument *name* of a tool that runs commands is the folder that they run in."""
    return name.replace("_", "").replace("-", "").lower() in CWD_NAMES


def beside(args: dict[str, Any], outside: str | None, known: Collection[str]) -> Iterable[Part]:
    """
    What stands beside a command and changes what it does: folder, environment, shell.

    Args:
        outside: What `folder` says.
        known: The arguments that are judged elsewhere.
    """
    if outside is not None:
        yield Part("", "ask", None, outside, "default")
    for name, value in args.items():
        if name in known or value is None or value is False or is_folder(name):
            continue
        words = words_of(name)
        if not _ENV_WORDS.isdisjoint(words):
            yield from _variables(name, value)
        elif not _SHELL_WORDS.isdisjoint(words):
            yield from _shell(name, value)
        elif not _INPUT_WORDS.isdisjoint(words):
            if value:
                yield Part(name, "ask", None, "it is sent a text that is not judged", "invalid")
        elif value not in ("", [], {}) and _is_about_all(words, value):
            why = f"nobody here knows what its argument {name} makes of the command"
            yield Part(name, "ask", None, why, "invalid")


def _is_about_all(words: Sequence[str], value: object) -> bool:
    """Whether an argument with these words in its name says what runs as well, where, or as whom: the last tells."""
    last = next((word for word in reversed(words) if word not in ("id", "name")), "")
    return last in _WHERE_WORDS or (last in _RUN_WORDS and isinstance(value, str | list | dict))


def _variables(name: str, variables: object) -> Iterable[Part]:
    pairs = variables if isinstance(variables, dict) else {"": ""}
    for variable, value in pairs.items():
        if not _programs.is_safe_variable(str(variable), str(value)):
            yield Part(f"{name} {variable}", "ask", None, f"it sets the variable {variable}", "invalid")


def _shell(name: str, shell: object) -> Iterable[Part]:
    if isinstance(shell, str) and not is_posix_shell(shell):
        yield Part(f"{name} {shell}", "ask", None, f"{shell} is not a shell that can be judged", "invalid")


def _invalid(why: str) -> Outcome:
    return Outcome([Part("", "ask", None, why, "invalid")], None)


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"
