"""The three lists of a policy (blacklist, ask, whitelist), made ready for judging one tool at a time."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from executor_permissions.judge.paths._globs import STAR, Wildcard, escaped
from executor_permissions.judge.paths._lexical import looks_like_url
from executor_permissions.judge.paths._paths import PathRule, under
from executor_permissions.judge.rules._call_patterns import Call, split_call, typed
from executor_permissions.judge.rules._plain_value import is_for_shell
from executor_permissions.judge.rules._tokenize import OPERATORS, tokenize
from executor_permissions.judge.rules._tool_rules import Arguments, ShellIndex, ShellRule, ToolRules
from executor_permissions.judge.rules._values import CallPattern, ValueRule, guess_kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from executor_permissions.judge.paths._paths import Led

ListName = Literal["blacklist", "ask", "whitelist"]
LISTS: tuple[ListName, ...] = ("blacklist", "ask", "whitelist")

SHELL_TOOLS = frozenset({"cli_based_tool", "runCommand"})
KINDS: dict[str, dict[str, str]] = {
    "cli_based_tool": {"command": "shell"},
    "runCommand": {"command": "shell", "argv": "argv", "cwd": "path"},
    "readFile": {"path": "path"},
    "writeFile": {"path": "path"},
    "editFile": {"path": "path"},
    "listFiles": {"path": "path"},
    "searchFiles": {"path": "path"},
    "deleteFile": {"path": "path"},
}
OURS = frozenset(KINDS) - {"cli_based_tool"}  # they take a path as it is written
# What a whitelist may name together: the tools of one server, and those of one service.
WHOLE_SERVER = re.compile(r"(?:mcp__(?:(?!__)[A-Za-z0-9_.-])+__|[A-Za-z0-9_.-]+:)\*\Z")
READING_TOOLS = frozenset(
    {"readFile", "listFiles", "searchFiles", "read_file", "list_files", "search_files", "list_directory"}
)
OWN_FILES = "(the policy's own files)"  # what is told in place of a rule about them
NO_PROJECT = "/dev/null/no-project"  # stands for a project where there is none: no file has such a path, or can get it
_HOME = re.compile(r"\A(?:\$HOME|\$\{HOME\})(?=/|\Z)")
_PLACEHOLDER = re.compile(r"\$?\{(project|home)\}")


class Part(NamedTuple):
    """
    What was judged of one part of a call: one command of a shell line, one redirection, or the whole call.

    Attributes:
        text: The part, as written.
        verdict: ``allow``, ``ask`` or ``deny``.
        rule: The rule that decided, or None.
        reason: Why.
        method: How: ``whitelist``, ``default`` …
        maybe_denied: As in `Decision`: it is asked about, and may be what a deny rule forbids.
        words: The command; of a redirection that writes ``>`` and the file it may be; empty for what is neither.
    """

    text: str
    verdict: Literal["allow", "ask", "deny"]
    rule: str | None
    reason: str
    method: str
    maybe_denied: bool = False
    words: tuple[str, ...] = ()


class Placeholders(NamedTuple):
    """What ``${project}`` and ``~`` stand for in rules; both resolved."""

    project: str
    home: str

    @property
    def base(self) -> str:
        """The folder that things are about here: the project's, or, without one, the working folder."""
        return os.getcwd() if self.project == NO_PROJECT else self.project  # noqa: PTH109 -- text, as in _paths

    def expand(self, text: str) -> str:
        """*text* with the placeholders replaced, what they stand for taken literally."""
        return _PLACEHOLDER.sub(lambda match: escaped(self._value(match[1])), text)

    def _value(self, name: str) -> str:
        return self.project if name == "project" else self.home

    def expand_token(self, token: str) -> str:
        """The same for a word of a shell pattern, in which a ``~`` in front is the home folder."""
        word = _HOME.sub("~", self.expand(token))
        return escaped(self.home) + word[1:] if word == "~" or word.startswith("~/") else word


class Section(NamedTuple):
    """What a file says in one of the lists; *project* is what its rules are relative to, if that is another folder."""

    rules: Mapping[str, Any]
    project: str | None = None


class Places(NamedTuple):
    """
    Where the policy lives, all resolved.

    Attributes:
        project: The project's root: what rules are relative to; `NO_PROJECT` where there is none.
        home: What ``~`` stands for.
        protected: The policy's own files and folders, and those of our state, which no tool may read or write.
        repository: The folders in the project that git keeps its own in, where that is not its ``.git``.
    """

    project: str
    home: str
    protected: tuple[str, ...] = ()
    repository: tuple[str, ...] = ()

    def is_named_in(self, rule: str, folder: str) -> bool:
        """Whether *rule* names *folder*, which is in the project, and not by chance one that the project is in."""
        return folder[len(self.project) + 1 :] in rule.replace("~", self.home, 1).replace(self.project, "")

    def is_in_repository(self, path: str) -> bool:
        """Whether *path*, resolved and in the project, is a repository's own folder or in one."""
        return "/.git/" in path[len(self.project) :] + "/" or any(under(path, folder) for folder in self.repository)

    @property
    def base(self) -> str:
        """What the paths of a call are relative to, where nothing else is said."""
        return self.marks.base

    @property
    def marks(self) -> Placeholders:
        """What placeholders stand for."""
        return Placeholders(self.project, self.home)

    def marks_of(self, name: ListName) -> Placeholders:
        """The same in a list; where there is no project, what is forbidden there is so in the folder that one is in."""
        return self.marks if name == "whitelist" else Placeholders(self.base, self.home)


class _About(NamedTuple):
    """The argument that values are written for; *is_text*: it is taken for a command only because of its name."""

    tool: str
    argument: str
    kinds: Mapping[str, str]
    is_text: bool


class RuleList:
    """One list of the policy; `for_tool` gives what it says about a tool."""

    def __init__(self, name: ListName, sections: Iterable[Section], places: Placeholders, led: Led) -> None:
        self.name = name
        self._project = places.project
        self._narrow = name == "whitelist"
        self._tools: dict[str, str] = {}
        self._globs: list[tuple[Wildcard, str]] = []
        self._calls: list[tuple[str, Call, Placeholders]] = []
        self._anywhere: list[tuple[Wildcard, str]] = []
        self._arguments: list[tuple[Mapping[str, Mapping[str, list[Any]]], Placeholders]] = []
        self._commands: list[ShellRule] = []
        self._shell: ShellIndex | None = None
        self._written: set[str] = set()
        self._led = led
        for section, project in sections:
            marks = places if project is None else places._replace(project=project)
            self._written.update(_rules_in(section))
            for tool in section.get("tools", ()):
                self._add_tool(tool, tool)
            for pattern in section.get("patterns", ()):
                self._add_pattern(pattern, marks)
            if section.get("arguments"):
                self._arguments.append((section["arguments"], marks))
                for names in section["arguments"].values():
                    self._follow((value for values in names.values() for value in values), marks)

    @property
    def is_about_values(self) -> bool:
        """Whether a rule is about the arguments of a tool that runs no commands."""
        return bool(self._calls or self._arguments)

    @property
    def shell(self) -> ShellIndex:
        """What it says about commands; made for the first one."""
        index = self._shell
        if index is None:
            index = self._shell = self._index()
        return index

    def _index(self) -> ShellIndex:
        index = ShellIndex()
        for rule in self._commands:
            index.texts.setdefault(" ".join(rule.text.split()), rule)
            # In a whitelist a wildcard for the program would cover every program; told among the problems.
            if not self._narrow or (len(rule.patterns) == 1 and rule.patterns[0].program is not None):
                index.add(rule)
        index.finish()
        if self.name == "blacklist":
            from executor_permissions.judge.rules._own_commands import RULE, OwnCommands

            for pattern in OwnCommands.all():
                index.by_program.setdefault(pattern.tokens[0], []).append(ShellRule(RULE, (pattern,)))
        return index

    def _add_tool(self, name: str, rule: str) -> None:
        if STAR not in name:
            self._tools.setdefault(name, rule)
        elif not self._narrow or WHOLE_SERVER.match(name):
            self._globs.append((Wildcard.of(name), rule))

    def _add_pattern(self, pattern: str, marks: Placeholders) -> None:
        call = split_call(pattern)
        if call is not None:
            self._calls.append((pattern, call, marks))
            self._follow(map(typed, call.arguments.values()), marks)
            return
        rule = shell_rule(pattern, marks)
        if rule is None:
            return
        self._commands += self._read(rule, marks)
        first = rule.patterns[0]
        if len(rule.patterns) == 1 and len(first.tokens) == 1 and not first.tail:
            self._add_tool(pattern.strip(), pattern)
        if not self._narrow and first.is_anywhere:
            self._anywhere.append((Wildcard.of(pattern.strip()), pattern))

    def _follow(self, values: Iterable[Any], marks: Placeholders) -> None:
        """Find where *values* lead that may be paths: a link that is put there later is not what was meant."""
        for value in values:
            text = marks.expand(value) if isinstance(value, str) else "://"
            key = text, marks, self._narrow
            if key not in self._led and not looks_like_url(text):
                with suppress(ValueError):  # no file has such a name
                    self._led[key] = PathRule.of(text, marks.project, marks.home, allows=self._narrow)

    def has(self, rule: str) -> bool:
        """Whether *rule* stands in this list, as written."""
        return rule in self._written

    def commands_of(self, tool: str) -> set[str]:
        """The arguments of *tool* that rules speak of by name, and that are commands by that name."""
        calls = [call.arguments for _, call, _ in self._calls if self._is_about_any(call.tool, tool)]
        calls += [
            arguments  # type: ignore[misc]  # of both the names alone are looked at
            for section, _ in self._arguments
            for written, arguments in section.items()
            if self._is_about_any(written, tool)
        ]
        return {name for arguments in calls for name in arguments if is_for_shell(name)}

    def for_tool(
        self, tool: str, kinds: Mapping[str, str], *, is_shell: bool, commands: Collection[str] = ()
    ) -> ToolRules:
        """
        What this list says about *tool*, whose arguments mean *kinds*.

        Args:
            commands: Of these, those that are taken for commands because of their name: for texts, too.
        """
        rules = ToolRules()
        names = (tool,) if self._narrow else names_of(tool)
        rules.whole = self._whole(names)
        for text, call, marks in self._calls:
            if any(self._is_about(call.tool, name) for name in names):
                rules.calls.append(self._call(text, tool, call, kinds, marks))
                self._of_line(rules, text, call, kinds, marks)
        files = [Arguments()]
        for section, marks in self._arguments:
            if self._narrow:
                files.append(Arguments())
            for written, arguments in section.items():
                if any(self._is_about(written, name) for name in names):
                    for argument, values in arguments.items():
                        about = _About(tool, argument, kinds, argument in commands)
                        self._argument(files[-1], about, values, marks)
        rules.files = [file for file in files if file.values or file.commands]
        if is_shell:
            rules.shell = self.shell
        else:
            rules.anywhere = self._anywhere
        return rules

    def _of_line(self, rules: ToolRules, text: str, call: Call, kinds: Mapping[str, str], marks: Placeholders) -> None:
        """``runCommand(command=rm *)``, which forbids a line that fits, is about the commands in one as well."""
        shells = [name for name, kind in kinds.items() if kind == "shell"]
        written = call.anything if not call.arguments else call.arguments.get(shells[0]) if shells else None
        if self._narrow or not shells or len(call.arguments) > 1 or not written:
            return
        rule = shell_rule(written, marks)
        if rule is not None and len(rule.patterns) == 1:
            rules.lines += self._read(rule._replace(text=text), marks)

    def _read(self, rule: ShellRule, marks: Placeholders) -> list[ShellRule]:
        """*rule*; for denying also with its paths as they are from the project, as those of commands are written."""
        if self._narrow or len(rule.patterns) > 1:
            return [rule]
        from executor_permissions.judge.rules._from_project import rule_from_project  # for those with patterns
        from executor_permissions.judge.rules._redirected import redirected

        first = rule.patterns[0]
        tokens = rule_from_project(first.tokens, marks.project, self._project)
        whole = redirected(first.text, tokens, tail=first.tail)
        if whole is not None:
            return [rule._replace(redirected=whole)]
        if tokens == first.tokens:
            return [rule]
        return [rule, rule._replace(patterns=(type(first)(first.text, tokens, first.tail, first.prefix),))]

    def _whole(self, names: tuple[str, ...]) -> str | None:
        for name in names:
            found = self._tools.get(name)
            if found is not None:
                return found
            for glob, rule in self._globs:
                if glob.fits(name):
                    return rule
        return None

    def _is_about(self, written: str, tool: str) -> bool:
        """Whether the name of a tool that a rule is written for, maybe with a ``*``, is that of *tool*."""
        if STAR not in written or (self._narrow and not WHOLE_SERVER.match(written)):
            return written == tool
        return Wildcard.of(written).fits(tool)

    def _is_about_any(self, written: str, tool: str) -> bool:
        return any(self._is_about(written, name) for name in names_of(tool))

    def _argument(self, file: Arguments, about: _About, values: list[Any], marks: Placeholders) -> None:
        tool, argument, kinds, is_text = about
        texts = tuple(marks.expand(value) for value in values if isinstance(value, str))
        kind = kinds.get(argument) or guess_kind(argument, texts)
        for value in values:
            if kind in ("shell", "argv") and isinstance(value, str):
                rule = shell_rule(value, marks, prefix=True)
                if rule is not None:
                    file.commands.setdefault(argument, []).extend(self._read(rule, marks))
                if not is_text:
                    continue
            expanded = marks.expand(value) if isinstance(value, str) else value
            text = value if isinstance(value, str) else repr(value)
            # In a whitelist a plain value is compared as a whole, its "*" too.
            entry = self._rule(expanded, kind, marks, is_glob=not self._narrow, ours=tool in OURS)
            file.values.setdefault(argument, []).append((text, entry))

    def _rule(self, value: Any, kind: str | None, marks: Placeholders, *, is_glob: bool, ours: bool) -> ValueRule:
        led = self._led.get((value, marks, self._narrow)) if isinstance(value, str) else None
        return ValueRule(value, kind, marks, is_glob=is_glob, ours=ours, path=led)

    def _call(self, text: str, tool: str, call: Call, kinds: Mapping[str, str], marks: Placeholders) -> CallPattern:
        rules = {}
        for name, written in call.arguments.items():
            value = typed(written)
            value = marks.expand(value) if isinstance(value, str) else value
            kind = kinds.get(name) or guess_kind(name, (value,) if isinstance(value, str) else ())
            rules[name] = self._rule(value, kind, marks, is_glob=True, ours=tool in OURS)
        anything = marks.expand(call.anything) if call.anything is not None else None
        return CallPattern(text, tool, rules, anything)


def shell_rule(text: str, places: Placeholders, *, prefix: bool = False) -> ShellRule | None:
    """
    The rule that a pattern makes; None for an empty one.

    Args:
        prefix: Whether further words may follow, as in ``arguments``.

    Raises:
        ValueError: A quote in it is not closed.
    """
    from executor_permissions.judge.rules._tokens import TokenPattern  # slow to import, and not always needed

    groups: list[list[str]] = [[]]
    for token in tokenize(text):
        if token in OPERATORS:
            groups.append([])
        else:
            groups[-1].append(places.expand_token(token))
    patterns = []
    for group in groups:
        if group:
            pattern = TokenPattern.of(text, group)
            patterns.append(TokenPattern(text, pattern.tokens, True, prefix=True) if prefix else pattern)
    return ShellRule(text, tuple(patterns)) if patterns else None


def _rules_in(section: Mapping[str, Any]) -> Iterable[str]:
    yield from section.get("tools", ())
    yield from section.get("patterns", ())
    for names in section.get("arguments", {}).values():
        for values in names.values():
            yield from (str(value) for value in values)


def names_of(tool: str) -> tuple[str, ...]:
    """For denying: an id of several parts (``namespace:name:version``) is each of them as well."""
    return (tool, *tool.split(":")) if ":" in tool else (tool,)
