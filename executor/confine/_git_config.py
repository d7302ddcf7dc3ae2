"""Configuration of git as git reads it (git-config(1)): what a file says of hooks, and of further files."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_HEAD = re.compile(r"\[([A-Za-z0-9.-]+)(?:[ \t\r]+\"((?:[^\"\\\n]|\\[^\n])*)\")?\]")
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)")
_SPACES = " \t\r\n"  # to git
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "\\": "\\", '"': '"'}
_BARE, _QUOTED, _BLANK = re.compile(r"[^ \t\r\n\"\\#;]+"), re.compile(r"[^\n\"\\]+"), re.compile(r"[ \t\r]+")
BOM = "\ufeff"  # in front of a file
_PREFIX = "%(prefix)/"  # where git is installed
_OPTIONAL = ":(optional)"  # of newer ones: the file need not be there

# Variables that name a program which git runs, and what it is told.
PROGRAMS = (
    "GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_EXTERNAL_DIFF",
    "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "VISUAL", "EDITOR", "GIT_PAGER", "PAGER",
)  # fmt: skip


class Setting(NamedTuple):
    """
    Attributes:
        section: In small letters.
        subsection: As it stands there; "" if there is none.
        name: In small letters.
        value: None for a name alone, which means true.
    """

    section: str
    subsection: str
    name: str
    value: str | None


def settings(text: str, *, keeps_blanks: bool = False) -> Iterator[Setting]:
    """
    The settings in *text*, a file as it is (line ends included).

    Args:
        keeps_blanks: Whether a blank within a value stays what it is, as to git from 2.45 on: before, it was a space.

    git stops where it finds an error; here the next line goes on: somebody may mend the line before git runs again.
    """
    text = text.removeprefix(BOM).replace("\r\n", "\n")
    at, section, subsection = 0, "", ""
    while at < len(text):
        char = text[at]
        if char in _SPACES:
            at += 1
        elif char in "#;":
            at = _line_end(text, at)
        elif char == "[" and (head := _HEAD.match(text, at)):
            section, _, below = head[1].lower().partition(".")
            subsection = below if head[2] is None else re.sub(r"\\(.)", r"\1", head[2], flags=re.DOTALL)
            at = head.end()
        elif name := _NAME.match(text, at):
            value, at = _value(text, name.end(), keeps_blanks) if name[2] else (None, name.end())
            yield Setting(section, subsection, name[1].lower(), value)
        else:
            at = _line_end(text, at)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _value(text: str, at: int, keeps_blanks: bool) -> tuple[str, int]:  # noqa: FBT001 -- as above
    """What stands behind a ``=``, as far as it can be read, and where it ends."""
    value, blanks, begun, quoted = list[str](), "", False, False
    while at < len(text) and text[at] != "\n":
        if run := (_QUOTED if quoted else _BARE).match(text, at):
            value += (blanks, run[0])
            blanks, begun, at = "", True, run.end()
            continue
        if not quoted and (run := _BLANK.match(text, at)):
            if begun:
                blanks = run[0] if keeps_blanks else " " * len(run[0])
            at = run.end()
            continue
        char = text[at]
        at += 1
        if char in "#;" and not quoted:
            at = _line_end(text, at)
            break
        value.append(blanks)
        blanks = ""
        if char == "\\":
            escaped = _ESCAPES.get(text[at : at + 1], "")
            value.append(escaped)
            begun, at = begun or escaped != "", at + 1
        else:
            quoted = not quoted
    return "".join(value).partition("\0")[0], at  # git's own strings end there


def of_environment(environment: Mapping[str, str]) -> Iterator[Setting]:
    """
    What variables set: ``GIT_CONFIG_COUNT`` and its like, what ``git -c`` leaves to what it starts, and those that name
    a program or new hooks, as a setting does.
    """
    yield from (Setting("core", "", name, environment[name]) for name in PROGRAMS if environment.get(name))
    if templates := environment.get("GIT_TEMPLATE_DIR"):
        yield Setting("init", "", "templatedir", templates)
    for key in [name for name in environment if name.startswith("GIT_CONFIG_KEY_")]:
        yield _keyed(environment[key], environment.get(f"GIT_CONFIG_VALUE_{key[15:]}"))
    try:
        words = shlex.split(environment.get("GIT_CONFIG_PARAMETERS", ""))
    except ValueError:  # git itself runs nothing then
        words = []
    for word in words:
        key, _, value = word.partition("=")
        yield _keyed(key, value)


def _keyed(key: str, value: str | None) -> Setting:
    section, _, rest = key.partition(".")
    subsection, _, name = rest.rpartition(".")
    return Setting(section.lower(), subsection, name.lower(), value)


def paths(value: str) -> list[str]:
    """What *value*, a path, may stand for: one path, or several where it hangs on how git was installed."""
    value = value.removeprefix(_OPTIONAL)
    if not value.startswith(_PREFIX):
        return [os.path.expanduser(value)] if value else []
    program = os.path.realpath(shutil.which("git") or "/usr/bin/git")
    prefixes = dict.fromkeys((os.path.dirname(os.path.dirname(program)), "/usr", "/usr/local", "/"))
    return [os.path.join(prefix, value[len(_PREFIX) :].lstrip("/")) for prefix in prefixes]
