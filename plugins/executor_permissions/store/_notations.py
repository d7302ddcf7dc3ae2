"""Rules in a notation that is not ours: other hosts' ``Bash(rm:*)``, regular expressions, what only a shell expands."""

# ruff: noqa: PTH111, PTH112, PTH118 -- texts, not files
from __future__ import annotations

import os
import re
import unicodedata

from executor_permissions.judge.options import is_known, walk
from executor_permissions.judge.rules._call_patterns import split_call
from executor_permissions.judge.rules._tokenize import OPERATORS, tokenize, unquoted

# Tools of other hosts for files and addresses, and what they call them.
_FILE_TOOLS = {"read": "file_path", "edit": "file_path", "write": "file_path", "multiedit": "file_path", "glob": "path"}
_SHELLS = frozenset({"bash", "shell", "sh", "terminal", "run_shell_command", "execute_command"})
_CALL = re.compile(r"(\w+)\((.+)\)\Z")
_SERVER = re.compile(r"mcp__(?:(?!__)[A-Za-z0-9_.-])+\Z")
_NAMED = re.compile(r"\w+=")
# A ":" is none of their sub-commands; scripts of yarn, rake and others have it.
_SUB_COMMANDS = r"git|npm|docker|podman|kubectl|cargo|go|pip3?|gh|apt|brew|systemctl|helm|terraform"
_COLON = re.compile(rf"(?:[\w./-]+|(?:{_SUB_COMMANDS}) [\w-]+):\*\Z")
_OPTION_COLON = re.compile(r".* --?[\w-]+:\*\Z")
_EITHER = re.compile(r"\(?[\w-]+(?:\|[\w-]+)+\)?\Z")
_ONE_OF = re.compile(r"\[[^\]\s]+\]")
_REGULAR = re.compile(r"\^|\\b\w|.*\\[bswd](?![\w/])|.*(?<!\.)\.\*\$?\Z")
_REGULAR_SIGNS = re.compile(r"^\^|\\b|\$\Z")
_OPTION_CLASS = re.compile(r"( -[A-Za-z]*)\[([A-Za-z]+)\]\S*")
_VARIABLE = re.compile(r"\$(?:HOME\b|\{HOME\})")
_BRACES = re.compile(r"(?<!\$)\{([^{}]*,[^{}]*)\}")
_CLASS = re.compile(r"\[([^\]/]+)\]")
_ALMOST_CALL = re.compile(r"([\w.:*-]+)\s*\(([^()]*)(\)?)")
# What stands for whatever is given.
_PLACE = re.compile(r"<[\w-]+>|\.\.\.|\{\{.*\}\}|\{(?!(?:project|home)\})[A-Za-z]\w*\}|\$[@*]")
_NO_PROGRAM = re.compile(r"[$#%]\Z|-\w|.+[,:]\Z|`.*`\Z|/[^/]+/\Z")
_SIGNS = "$#%`,:/-"
_LIKE_SIGNS = frozenset({"Pd", "Pi", "Pf", "Cf", "Zs", "Zl", "Zp"})  # dashes, quotes, blanks, and what is not seen
_MOST_WRITTEN = 8  # rules that are spelled out instead of one


def about_pattern(text: str, *, is_tool: bool) -> str | None:
    """
    How to write the pattern *text*, if it is in another notation.

    Args:
        is_tool: Whether the tool that it names in front of a parenthesis, if it does, is one that runs commands here.
    """
    call = _CALL.match(text)
    if call is not None and call[1].lower() in _SHELLS and not is_tool and not _NAMED.match(call[2]):
        command = call[2].removesuffix(":*")
        command = command if command == call[2] else f"{command} *"
        return f"{text!r} is about a tool named {call[1]}: commands are written as they are, {command!r}"
    file = _FILE_TOOLS.get(call[1].lower()) if call is not None else None
    if call is not None and file is not None and not _NAMED.match(call[2]):
        return f"{text!r} looks for this very text in any argument: write {f'{call[1]}({file}={call[2]})'!r} for files"
    if text[:1] == "!" and text[1:2] != " ":
        return f"{text!r} is about a program whose name begins with '!': no rule is the opposite of another"
    if _OPTION_COLON.match(text):
        return f"{text!r} is about an option with a ':' in its name: write {text[:-2] + ' *'!r}"
    if _COLON.match(text):
        tools = "" if " " in text or "/" in text else f", and about every tool of a service {text[:-2]!r}"
        written = f"write {text[:-2] + ' *'!r}{' for commands' if tools else ''}"
        return f"{text!r} is about a program or sub-command with a ':' in its name{tools}: {written}"
    if _REGULAR.match(text):
        plain = _REGULAR_SIGNS.sub("", text).replace(r"\s+", " ").replace(r"\s", " ").replace(".*", "*").strip()
        plain = plain if plain.endswith("*") else f"{plain} *"
        return f"{text!r} is taken as it is written, and no regular expression: write {plain!r}"
    in_words = None if call is not None else _about_words(text) or _about_characters(text) or _about_program(text)
    if in_words is not None:
        return in_words
    found = _OPTION_CLASS.search(text)
    if found is not None:
        each = [text[: found.start()] + found[1] + letter + text[found.end() :] for letter in found[2][:_MOST_WRITTEN]]
        return f"{text!r} has brackets, which stand for themselves: write a rule for each, {_told(each)}"
    return None


def _about_words(text: str) -> str | None:
    """The same for the words of a command that a regular expression, or a shell, would take for several."""
    words = text.split()
    if len(words) == 1 and _EITHER.match(text):
        return f"{text!r} is a line in which these run after one another: write a rule for each, " + _told(
            [f"{one} *" for one in text.strip("()").split("|")]
        )
    if len(words) == 1 and text[:1] == "." and text[1:2] not in ("/", ".", ""):
        return f"{text!r} is about a program of this name: write {'*' + text + '*'!r} for what names the file"
    for word in words:
        if "://" in word or (word.startswith("$") and word not in ("$@", "$*")):
            continue
        if ("?" in word and word != "?") or (word == "?" and len(words) > 1):
            return f"{text!r} has a '?', which stands for itself: write '*' for any text"
        if _PLACE.fullmatch(word):
            return f"{text!r} has {word!r}, which stands for itself: write {text.replace(word, '*')!r}"
        one_of = _ONE_OF.match(word)
        if one_of is not None:
            return f"{text!r} has brackets, which stand for themselves: write {text.replace(one_of[0], '*')!r}"
    return None


def _about_characters(text: str) -> str | None:
    """The same for characters that look like those of commands, and are others: dashes, quotes, blanks, letters."""
    for character in text if not text.isascii() else "":
        plain = unicodedata.normalize("NFKC", character)
        if character.isascii() or not (unicodedata.category(character) in _LIKE_SIGNS or plain.isascii()):
            continue
        name = unicodedata.name(character, "which has no name")
        return f"{text!r} has the character U+{ord(character):04X}, {name}: write it with those of a keyboard"
    return None


def _about_program(text: str) -> str | None:
    """The same for what is no name of a program, or one that is written otherwise."""
    program, *words = tokenize(text) or [""]
    listed = next((word for word in (program, *words) if word.endswith(",") or "*," in word), None)
    if listed is not None:
        return f"{text!r} is one rule with {listed!r} in it: write a rule for each"
    if any(character.isspace() for character in program):
        return f"{text!r} is about a program with blanks in its name: write {' '.join([unquoted(program), *words])!r}"
    if _NO_PROGRAM.match(program) and text[:1] not in "'\"":  # what is quoted is meant as it stands
        name = [] if program[-1] == ":" and words else [program.strip(_SIGNS)]
        return f"{text!r} is about a program named {program!r}: write {' '.join([*filter(None, name), *words])!r}"
    alphabets = {unicodedata.name(letter, "").partition(" ")[0] for letter in program if letter.isalpha()}
    if "LATIN" in alphabets and len(alphabets) > 1:
        return f"{text!r} is about a program whose name is not of the letters that it seems to be"
    if program.lower() in _SHELLS and program != program.lower() and not words:
        return f"{text!r} is about a tool or program of this name: commands are calls of 'runCommand'"
    if not is_known(program) and is_known(program.lower()):
        return f"{text!r} is about another program than {program.lower()!r}, in small letters"
    return None


def about_exact(text: str) -> str | None:
    """How to write a pattern to deny or to ask that ends in the name of a sub-command: it is about that alone."""
    words = tokenize(text)
    found = walk(words) if len(words) > 1 and not OPERATORS.intersection(words) else None
    if found is None or found.named != len(words) or any(character in text for character in "*<>"):
        return None
    return f"{text!r} is about this command without further words: write {text.strip() + ' *'!r} for all of them"


def about_tool(text: str) -> str | None:
    """How to write the name of a tool, where it is that of a server of the MCP."""
    if _SERVER.match(text) is None:
        return None
    return f"{text!r} is a tool of this name, and not all of the server's: write {text + '__*'!r}"


def about_call(text: str) -> str | None:
    """How to write what would be a pattern about a tool, were its brackets closed, without a gap, and its end."""
    found = _ALMOST_CALL.match(text)
    if found is None or split_call(text) is not None or not ("=" in found[2] or not found[3]):
        return None
    meant = f"{found[1]}({found[2].strip()})"
    return f"{text!r} is about a command with these brackets in it: write {meant!r} for the tool"


def about_path(text: str, project: str, *, denies: bool) -> str | None:
    """
    How to write the path *text*, if it is in another notation, or is about fewer files than it seems.

    Args:
        project: Where relative paths begin.
        denies: Whether it is a rule that keeps files from tools: then too few files are a danger.
    """
    if text.lower().startswith("file:"):
        path = "/" + text[5:].lstrip("/")
        return f"{text!r} is a URL, and rules for files are paths: write {path!r}"
    variable = _VARIABLE.match(text)
    if variable is not None:
        return f"{text!r} begins with a variable, which is not replaced: write {'~' + text[variable.end() :]!r}"
    braces = _BRACES.search(text)
    if braces is not None and not _is_there(text, braces.start(), project):
        each = [text[: braces.start()] + one + text[braces.end() :] for one in braces[1].split(",")[:_MOST_WRITTEN]]
        return f"{text!r} has braces, which stand for themselves: write a rule for each, {_told(each)}"
    found = _CLASS.search(text)
    if found is not None and not _is_there(text, found.start(), project):
        middle = found[1] if len(found[1]) == 1 else "*"
        plain = text[: found.start()] + middle + text[found.end() :]
        return f"{text!r} has brackets, which stand for themselves: write {plain!r}"
    if denies and "/" not in text and text.strip("*.~") and not os.path.isdir(os.path.join(project, text)):
        there, everywhere = "${project}/" + text, "**/" + text
        return f"{text!r} is about the project's own folder alone: write {everywhere!r} for every folder, or {there!r}"
    return None


def _is_there(text: str, at: int, project: str) -> bool:
    """Whether there is a file or folder whose name has, at *at*, what seems to be a sign."""
    end = text.find("/", at)
    path = text[: end if end >= 0 else len(text)].replace("${project}", project)
    return os.path.lexists(os.path.join(project, os.path.expanduser(path)))


def _told(rules: list[str]) -> str:
    return ", ".join(map(repr, rules))
