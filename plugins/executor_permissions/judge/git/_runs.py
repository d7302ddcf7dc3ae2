"""What a command of git runs besides itself: values of options and settings that are commands, and aliases."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import REST, Inner
from executor_permissions.judge.git._shows import sub_command_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor_permissions.judge.bash._words import Inside

_BEFORE = frozenset("-x --exec --extcmd --upload-pack --receive-pack -u".split())  # noqa: SIM905 -- a line
_OF_BISECT = frozenset({"run", "view", "visualize"})
_OF_FOREACH = frozenset({"-q", "--quiet", "--recursive", "--"})
_RUNNING = _BEFORE | _OF_BISECT | {"config", "foreach", "for-each-repo"}
_LONG = re.compile(r"--(?:exe(?!c-p)|ext|upl|rece|open)[a-z-]*=(.+)", re.DOTALL)
_ENDS = re.compile(r"-[A-Za-z]*[xu]\Z")  # the next word is its value, as of "rebase -ix"
# Short options with such a value behind them, in the same word.
_GLUED = {
    "grep": re.compile(r"-[^-ABCmef]*?O(.+)", re.DOTALL),
    "difftool": re.compile(r"-[^-t]*?x(.+)", re.DOTALL),
    "rebase": re.compile(r"-[^-XCsS]*?x(.+)", re.DOTALL),
    "clone": re.compile(r"-[^-objc]*?u(.+)", re.DOTALL),
}
_GLUED_LETTERS = frozenset("Oxu")  # of these
_SETTING = re.compile(r"(alias|remote)\.(.+?)(?:\.(push|mirror))?\Z", re.IGNORECASE)
_INCLUDING = re.compile(r"include(?:if)?\.", re.IGNORECASE)
_GUESSING = re.compile(r"help\.autocorrect(?:=|\Z)", re.IGNORECASE)  # "pusch" is "push"


def look_at_git(words: list[str], found: Inside) -> None:
    """Add to *found* what git with these *words* runs."""
    if not _may_run(words):
        return
    lead = sub_command_at(words)
    sub = words[lead] if lead < len(words) else ""
    glued = _GLUED.get(sub)
    found.commands.extend(_in_repositories(words, lead))
    for i, word in enumerate(words[1:], 1):
        before = words[i - 1]
        setting = _given(word, before)
        found.hidden = _hidden_by(word, setting or (word if sub == "config" else None)) or found.hidden
        if setting is not None:
            found.commands.extend(_set(setting, words, i, lead))
            if word.startswith("--config="):
                found.commands.append(Inner(None, setting.lstrip("!"), i))
        elif sub == "config" and _SETTING.match(before):
            found.commands.extend(_set(f"{before}={word}", words, i, lead))
        elif before in _BEFORE or (glued is not None and _ENDS.match(before)):
            found.commands.append(Inner(None, word, i, certain=before != "-u"))
        elif before in _OF_BISECT and "bisect" in words:
            found.commands.append(Inner(_bisected(before, words[i:]), None, i))
        elif before == "foreach" and sub.startswith("submodule"):
            found.commands.extend(_in_submodules(words, i))
        else:
            found.commands.extend(Inner(None, text, i) for text in _told(word, before, glued))


def _may_run(words: list[str]) -> bool:
    """Whether one of *words* is like what git runs something by, as in hardly any of its commands."""
    line = " ".join(words)
    if "=" in line or "-filter" in line or not _RUNNING.isdisjoint(words):
        return True
    glued = (word for word in words if word[:1] == "-" != word[1:2] and not _GLUED_LETTERS.isdisjoint(word))
    return not _GLUED.keys().isdisjoint(words) and any(glued)


def _in_submodules(words: list[str], at: int) -> Iterator[Inner]:
    """What ``submodule foreach`` runs: a single word is a script, several are a command."""
    while at < len(words) and words[at] in _OF_FOREACH:
        at += 1
    if at == len(words) - 1:
        yield Inner(None, words[at], at)
    elif at < len(words):
        yield Inner(words[at:], None, at)


def _hidden_by(word: str, setting: str | None) -> str | None:
    """Why git may do something else where it is given *word*, which may be, or name, a *setting*."""
    if word.startswith("--config-env") or (setting is not None and _INCLUDING.match(setting)):
        return "git takes settings from elsewhere"
    if setting is not None and _GUESSING.match(setting):
        return "git may run another command than is written"
    return None


def _in_repositories(words: list[str], lead: int) -> Iterator[Inner]:
    """What ``for-each-repo --config=x.y`` runs: git, with the words behind its options."""
    if words[lead : lead + 1] != ["for-each-repo"]:
        return
    at = lead + 1
    while at < len(words) and words[at][:1] == "-":
        at += 2 if words[at].startswith("--c") and "=" not in words[at] else 1
    if at < len(words):
        yield Inner(["git", *words[at:]], None, at)


def _bisected(how: str, words: list[str]) -> list[str]:
    """The command of ``bisect run`` and ``bisect view``: the latter is one of git, or has a name that begins so."""
    return words if how == "run" or words[0].startswith(("git", "tig")) else ["git", *words]


def _told(word: str, before: str, glued: re.Pattern[str] | None) -> Iterator[str]:
    """The command that is the value of an option in this word, or that a filter is."""
    if "-filter" in before:
        yield word.partition("=")[2] or word
        return
    value = _LONG.match(word) or (glued.match(word) if glued is not None else None)
    if value is not None:
        yield value[1]


def _given(word: str, before: str) -> str | None:
    """The setting, as NAME=VALUE, that this word is, if it is one."""
    if "=" not in word or not (before in ("-c", "--config") or word.startswith(("--config=", "-c"))):
        return None
    return word if before in ("-c", "--config") else word.removeprefix("--config=").removeprefix("-c")


def _set(setting: str, words: list[str], at: int, lead: int) -> Iterator[Inner]:
    """What git runs if the word *at* tells it that *setting*: a value may be a command, or stand for words of git."""
    name, _, value = setting.partition("=")
    known = _SETTING.match(name)
    if known is None or (known[1].lower() == "alias" and value[:1] == "!"):
        yield Inner(None, value.lstrip("!"), at, certain=at < lead or known is None)
        return
    kind, of, what = known[1].lower(), known[2], (known[3] or "").lower()
    sub, rest = words[lead : lead + 1], words[lead + 1 :]
    if kind == "alias":
        used = at < lead and [name.lower() for name in sub] == [of.lower()]
        others = [*words[1 : at - 1], *words[at + 1 : lead]] if used else []
        yield Inner(["git", *others, *_split(value), *(rest if used else [REST])], None, at, certain=used)
    elif what == "push":
        yield Inner(["git", "push", of, value], None, at, certain=sub == ["push"])
    elif what == "mirror":
        yield Inner(["git", "push", "--mirror", of], None, at, certain=sub == ["push"])
    else:
        yield Inner(None, value, at)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
