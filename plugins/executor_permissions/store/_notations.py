"""Rules in a notation that is not ours: other hosts' ``Bash(rm:*)``, regular expressions, what only a shell expands."""

# ruff: noqa: PTH111, PTH112, PTH118 -- texts, not files
from __future__ import annotations

import os
import re
import unicodedata
from typing import TYPE_CHECKING

from executor_permissions.judge._carriers import CARRIERS
from executor_permissions.judge.options import is_known, walk
from executor_permissions.judge.paths._globs import STAR
from executor_permissions.judge.rules._call_patterns import split_call
from executor_permissions.judge.rules._rules import KINDS
from executor_permissions.judge.rules._tokenize import OPERATORS, tokenize, unquoted
from executor_permissions.judge.rules._values import guess_kind
from executor_permissions.store._advice import Advice
from executor_permissions.store._other_hosts import SHELLS, about_their_call
from executor_permissions.store._regular import MOST_WRITTEN, is_regular, letters, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from executor_permissions.judge.rules._rules import ListName

_SERVER = re.compile(r"mcp__(?:(?!__)[A-Za-z0-9_.-])+\Z")
# A ":" is none of their sub-commands; scripts of yarn, rake and others have it.
_SUB_COMMANDS = r"git|npm|docker|podman|kubectl|cargo|go|pip3?|gh|apt|brew|systemctl|helm|terraform"
_COLON = re.compile(rf"(?:[\w./-]+|(?:{_SUB_COMMANDS}) [\w-]+):\*\Z")
_OPTION_COLON = re.compile(r".* --?[\w-]+:\*\Z")
_BRACKETS = re.compile(r"\[([^\[\]\s]+)\]")
_RANGE = re.compile(r"[!^]|.*\w-\w")
_STARS = re.compile(r"\*\*+")
_LISTS = {"deny": "blacklist", "block": "blacklist", "forbid": "blacklist", "ask": "ask", "allow": "whitelist"}
_OPTION_CLASS = re.compile(r"( -[A-Za-z]*)\[([A-Za-z]+)\](?:\*(?=\s|\Z))?")
# What other programs replace in front of a path: $NAME, ${NAME}, $(…), %NAME%, {{name}}, <name>.
_VARIABLE = re.compile(
    r"(?!\$\{(?:project|home)\})(?:\$\{?([A-Za-z_]\w*)\}?|\$\([^()]*\)|%([A-Za-z_]\w*)%|\{\{\s*([\w.]*)\s*\}\}|<[\w-]+>)"
)
_STANDS_FOR = {
    "home": "~",
    "userprofile": "~",
    "project": "${project}",
    "workspacefolder": "${project}",
    "workspaceroot": "${project}",
}
_QUOTING = frozenset("'\"\\")
_BRACES = re.compile(r"(?<!\$)\{([^{}]*,[^{}]*)\}")
_CLASS = re.compile(r"\[([^\[\]/]+)\]")
_ALMOST_CALL = re.compile(r"([\w.:*-]+)\s*\(([^()]*)(\)?)")
# What stands for whatever is given.
_PLACE = re.compile(r"<[\w-]+>|\.\.\.|\{\{.*\}\}|\{(?!(?:project|home)\})[A-Za-z]\w*\}|\$[@*\d]")
_NO_PROGRAM = re.compile(r"[$#%]\Z|-\w|.+[,:]\Z|`.*`\Z|/[^/]+/\Z")
_SIGNS = "$#%`,:/-"
_OWN_TOOLS = {name.lower(): name for name in (*KINDS, *CARRIERS, "undoFileChange")}
_DEEPEST = 3  # notations in one another: a rule of another host, in it a regular expression
_QUOTES = frozenset("'\"")
_LIKE_SIGNS = frozenset({"Pd", "Pi", "Pf", "Cf", "Zs", "Zl", "Zp"})  # dashes, quotes, blanks, and what is not seen


def about_pattern(text: str, name: ListName, *, is_tool: bool) -> Advice | None:
    """
    How to write the pattern *text* in the list *name*, if it is in another notation.

    What is to be written allows no more than what stands there, forbids no less, and is in no other notation itself.

    Args:
        is_tool: Whether the tool that it names in front of a parenthesis, if it does, is one that runs commands here.
    """
    found = _about_pattern(text, name, is_tool=is_tool)
    return found._replace(rules=_settled(found.rules, name, _DEEPEST)) if found is not None else None


def _settled(rules: Sequence[str], name: ListName, deep: int) -> tuple[str, ...]:
    """What is to be written, where that is in another notation too; none where one is that cannot be written."""
    settled: list[str] = []
    for rule in rules:
        try:
            further = _about_pattern(rule, name, is_tool=False)
            further = further or (about_exact(rule) if name != "whitelist" else None)
        except ValueError:  # a quote that is not closed
            return ()
        written = (rule,) if further is None else _settled(further.rules, name, deep - 1) if deep else ()
        if not written:
            return ()
        settled += written
    return tuple(dict.fromkeys(settled))


def _about_pattern(text: str, name: ListName, *, is_tool: bool) -> Advice | None:
    allows = name == "whitelist"
    theirs = about_their_call(text, allows=allows, is_tool=is_tool)
    if theirs is not None:
        return theirs
    if text[:1] == "!" and text[1:2] != " ":
        return Advice(f"{text!r} is about a program whose name begins with '!': no rule is the opposite of another")
    if _OPTION_COLON.match(text):
        return Advice(f"{text!r} is about an option with a ':' in its name", (text[:-2] + " *",))
    if _COLON.match(text):
        tools = "" if " " in text or "/" in text else f", and about every tool of a service {text[:-2]!r}"
        wrong = f"{text!r} is about a program or sub-command with a ':' in its name{tools}"
        return Advice(wrong, (text[:-2] + " *",), " for commands" if tools else "")
    if is_regular(text):
        wrong = f"{text!r} is taken as it is written, and no regular expression"
        return Advice(wrong, tuple(plain(text, allows=allows)))
    if _has_arguments(text):
        return None
    found = _OPTION_CLASS.search(text)
    if found is not None:
        each = [text[: found.start()] + found[1] + letter + text[found.end() :] for letter in found[2]]
        wrong = f"{text!r} has brackets, which stand for themselves"
        return Advice(wrong, tuple(each) if len(each) <= MOST_WRITTEN else ())
    found = _BRACES.search(text) if _QUOTING.isdisjoint(text) else None
    if found is not None:
        each = [text[: found.start()] + one + text[found.end() :] for one in found[1].split(",")]
        wrong = f"{text!r} has braces, which stand for themselves"
        return Advice(wrong, tuple(each) if len(each) <= MOST_WRITTEN else ())
    return _about_words(text, allows=allows) or _about_characters(text) or _about_program(text, name)


def _has_arguments(text: str) -> bool:
    """Whether it is a pattern about a tool and what that is given."""
    try:
        return split_call(text) is not None
    except ValueError:
        return False


def _about_words(text: str, *, allows: bool) -> Advice | None:
    """The same for the words of a command that a shell, or a manual, would take for others."""
    words = text.split()
    if len(words) == 1 and text[:1] == "." and text[1:2] not in ("/", ".", ""):
        wrong = f"{text!r} is about a program of this name, and not about what names a file"
        return Advice(wrong, () if allows else (f"*{text}*",))
    for word in words:
        if _PLACE.fullmatch(word):
            wrong = f"{text!r} has {word!r}, which stands for itself: '*' stands for any further words"
            return Advice(wrong) if allows else Advice(wrong.partition(": '*'")[0], (_with_stars(text),))
        if "://" in word or word.startswith("$") or not _QUOTES.isdisjoint(word):
            continue
        if ("?" in word and word != "?") or (word == "?" and len(words) > 1):
            return Advice(f"{text!r} has a '?', which stands for itself: write '*' for any text")
        one_of = _BRACKETS.search(word)
        if one_of is not None and (one_of.start() == 0 or _RANGE.match(one_of[1])):
            return _about_brackets(text, word, one_of, allows=allows)
    return None


def _about_brackets(text: str, word: str, one_of: re.Match[str], *, allows: bool) -> Advice:
    wrong = f"{text!r} has brackets, which stand for themselves"
    if "|" in one_of[1]:
        meant = text.replace(one_of[0], f"({one_of[1]})", 1)
        return Advice(wrong, tuple(plain(meant, allows=allows)))
    before, after = word[: one_of.start()], word[one_of.end() :]
    is_class = bool(_RANGE.match(one_of[1]) or before or after)  # "[file]" alone is what a manual says
    each = letters(one_of[1]) if is_class else []
    if not each and allows:
        return Advice(wrong)
    written = [before + one + after for one in each] or [_STARS.sub("*", f"{before}*{after}")]
    return Advice(wrong, tuple(text.replace(word, one, 1) for one in written))


def _with_stars(text: str) -> str:
    """A command with ``*`` for each word that stands for what is given."""
    starred = re.sub(r"\S+", lambda word: "*" if _PLACE.fullmatch(word[0]) else word[0], text)
    return re.sub(r"(?<=\s)\*(?:\s+\*)+(?=\s|\Z)", "*", starred)


def _about_characters(text: str) -> Advice | None:
    """The same for characters that look like those of commands, and are others: dashes, quotes, blanks, letters."""
    for character in text if not text.isascii() else "":
        normal = unicodedata.normalize("NFKC", character)
        if character.isascii() or not (unicodedata.category(character) in _LIKE_SIGNS or normal.isascii()):
            continue
        called = f"U+{ord(character):04X}, {unicodedata.name(character, 'which has no name')}"
        return Advice(f"{text!r} has the character {called}: write it with those of a keyboard")
    return None


def _about_program(text: str, name: ListName) -> Advice | None:
    """The same for what is no name of a program, or one that is written otherwise."""
    program, *words = tokenize(text) or [""]
    listed = next((word for word in (program, *words) if word.endswith(",") or "*," in word), None)
    if listed is not None:
        return Advice(f"{text!r} is one rule with {listed!r} in it: write a rule for each")
    if any(character.isspace() for character in program):
        return _about_blanks(text, program)
    if _NO_PROGRAM.match(program) and text[:1] not in "'\"":  # what is quoted is meant as it stands
        wrong = f"{text!r} is about a program named {program!r}"
        return Advice(wrong, tuple(_named(text.strip(), program, name)))
    alphabets = {unicodedata.name(letter, "").partition(" ")[0] for letter in program if letter.isalpha()}
    if "LATIN" in alphabets and len(alphabets) > 1:
        return Advice(f"{text!r} is about a program whose name is not of the letters that it seems to be")
    if program.lower() in SHELLS and program != program.lower() and not words:
        return Advice(f"{text!r} is about a tool or program of this name: commands are calls of 'runCommand'")
    if not is_known(program) and is_known(program.lower()):
        return Advice(f"{text!r} is about another program than {program.lower()!r}, in small letters")
    return None


def _about_blanks(text: str, program: str) -> Advice | None:
    """The same for a program with blanks in its name, if it is a command that stands in quotes."""
    first, *others = unquoted(program).split()
    if not is_known(first.rpartition("/")[2]) or ("/" in first and any("/" in word for word in others)):
        return None
    behind = text.strip()[1:].partition(text.strip()[0])
    is_quoted = text.strip()[0] in _QUOTES and behind[2][:1] in ("", " ")
    rules = (f"{behind[0].strip()}{behind[2]}",) if is_quoted else ()
    return Advice(f"{text!r} is about a program with blanks in its name", rules)


def _named(text: str, program: str, name: ListName) -> list[str]:
    """A rule whose program has, beside its name, the signs that manuals, lists and prompts put around one."""
    if not text.startswith(program):
        return []
    plainly, behind = program.strip(_SIGNS), text.removeprefix(program).strip()
    if is_known(plainly):
        return [f"{plainly} {behind}".strip()]
    is_label = not plainly or (program[-1] == ":" and _LISTS.get(plainly.lower()) == name)
    return [behind] if is_label and behind else []


def about_exact(text: str) -> Advice | None:
    """How to write a pattern to deny or to ask that ends in the name of a sub-command: it is about that alone."""
    words = tokenize(text)
    found = walk(words) if len(words) > 1 and not OPERATORS.intersection(words) else None
    if found is None or found.named != len(words) or any(character in text for character in "*<>"):
        return None
    return Advice(f"{text!r} is about this command without further words", (text.strip() + " *",), " for all of them")


def about_tool(text: str) -> Advice | None:
    """How to write the name of a tool, where it is that of a server of the MCP."""
    if _SERVER.match(text) is None:
        return None
    return Advice(f"{text!r} is a tool of this name, and not all of the server's", (text + "__*",))


def about_argument(text: str, tool: str, name: str) -> Advice | None:
    """How to write a rule about an argument that the tool does not have: no call of it is like that."""
    if STAR in name:
        return Advice(f"{text!r} is about an argument named {name!r}: a '*' stands for no name here, so write each")
    named = KINDS.get(tool, {})
    if "path" not in named or name in named or not (name.lower() in named or guess_kind(name, ()) == "path"):
        return None
    return Advice(f"{text!r} is about an argument {name!r}, which {tool} does not have: it is called 'path'")


def about_case(tool: str) -> Advice | None:
    """How to write the name of one of our own tools, of which it is another spelling."""
    ours = _OWN_TOOLS.get(tool.lower())
    if ours is None or tool == ours:
        return None
    return Advice(f"{tool!r} is a tool of this name, and not {ours!r}: capital and small letters are others")


def about_call(text: str) -> Advice | None:
    """How to write what would be a pattern about a tool, were its brackets closed, without a gap, and its end."""
    found = _ALMOST_CALL.match(text)
    if found is None or split_call(text) is not None or not ("=" in found[2] or not found[3]):
        return None
    meant = f"{found[1]}({found[2].strip()})"
    return Advice(f"{text!r} is about a command with these brackets in it", (meant,), " for the tool")


def about_path(text: str, project: str, *, denies: bool) -> Advice | None:
    """
    How to write the path *text*, if it is in another notation, or is about fewer files than it seems.

    Args:
        project: Where relative paths begin.
        denies: Whether it is a rule that keeps files from tools: then too few files are a danger.
    """
    if text.lower().startswith("file:"):
        return Advice(f"{text!r} is a URL, and rules for files are paths", ("/" + text[5:].lstrip("/"),))
    if text != text.strip():
        return Advice(f"{text!r} has blanks at an end, which are of the file's name", (text.strip(),))
    variable = _VARIABLE.match(text)
    if variable is not None and not _is_there(text, 0, project):
        wrong = f"{text!r} begins with a variable, which is not replaced"
        meant = _STANDS_FOR.get(next(filter(None, variable.groups()), "").casefold())
        return Advice(wrong, (meant + text[variable.end() :],) if meant else ())
    if text[:1] == "!" and not _is_there(text, 0, project):
        return Advice(f"{text!r} is about a file whose name begins with '!': no rule is the opposite of another")
    braces = _BRACES.search(text)
    if braces is not None and not _is_there(text, braces.start(), project):
        each = [_at(text, braces, one, denies=denies) for one in braces[1].split(",")]
        wrong = f"{text!r} has braces, which stand for themselves"
        return Advice(wrong, tuple(each) if len(each) <= MOST_WRITTEN else ())
    found = _CLASS.search(text)
    if found is not None and not _is_there(text, found.start(), project):
        wrong = f"{text!r} has brackets, which stand for themselves"
        each = letters(found[1]) or (["*"] if denies else [])
        return Advice(wrong, tuple(_at(text, found, one, denies=denies) for one in each))
    if denies and "/" not in text and text.strip("*.~") and not os.path.isdir(os.path.join(project, text)):
        there, everywhere = "${project}/" + text, "**/" + text
        wrong = f"{text!r} is about the project's own folder alone"
        return Advice(f"{wrong}: write {everywhere!r} for every folder, or {there!r}")
    return None


def _at(text: str, found: re.Match[str], one: str, *, denies: bool) -> str:
    """A path with *one* in place of what was *found*; a rule that denies a bare name is about every folder."""
    path = text[: found.start()] + one + text[found.end() :]
    return f"**/{path}" if denies and "/" not in path else path


def _is_there(text: str, at: int, project: str) -> bool:
    """Whether there is a file or folder whose name has, at *at*, what seems to be a sign."""
    end = text.find("/", at)
    path = text[: end if end >= 0 else len(text)].replace("${project}", project)
    return os.path.lexists(os.path.join(project, os.path.expanduser(path)))
