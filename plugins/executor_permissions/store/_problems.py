"""
What is said about rules: those that can match nothing, and those that cover more than anybody here knows.

The first are found by trying: a call is made out of the rule, and judged by that rule alone. A rule that does not catch
(or allow) the very call it describes is dead. What is said comes from that trial, so that there is no list of mistakes
to be kept; but for notations of others, which describe something here that nobody means.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from executor_permissions.judge._carriers import CARRIERS
from executor_permissions.judge.options import is_known
from executor_permissions.judge.paths._globs import STAR, filled, literal, tokens_of
from executor_permissions.judge.rules._call_patterns import split_call, typed
from executor_permissions.judge.rules._rules import (
    KINDS,
    LISTS,
    OWN_FILES,
    SHELL_TOOLS,
    WHOLE_SERVER,
    ListName,
    Section,
)
from executor_permissions.judge.rules._tokenize import OPERATORS, tokenize
from executor_permissions.judge.rules._values import guess_kind
from executor_permissions.judge.rules._wild import open_host
from executor_permissions.store._advice import Advice
from executor_permissions.store._notations import (
    about_argument,
    about_call,
    about_case,
    about_exact,
    about_path,
    about_pattern,
    about_tool,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from executor import Decision
    from executor_permissions.judge.rules._rules import Placeholders
    from executor_permissions.store._load import Policy
    from executor_permissions.store._source import Source

_FILLS = ("x", "", "1", "x ]", "x ]]", "https://x")  # what a "*" is tried with: of "[ *", "[[ *", "url=**"
_NO_WILD_TOOLS = "in a whitelist a '*' may only stand behind mcp__<server>__ or <service>:, so name each tool"
_MAX_OTHERS = 8  # values of another argument that one is tried beside
DOES = {"blacklist": "forbids", "ask": "asks about", "whitelist": "allows"}
# What is decided on a call that the one rule of the list is not about.
_OTHERWISE: dict[ListName, Literal["allow", "deny"]] = {"blacklist": "allow", "ask": "allow", "whitelist": "deny"}
_VERDICTS = {"blacklist": "deny", "ask": "ask", "whitelist": "allow"}


class _Rule(NamedTuple):
    """One rule of a file: its list, the path of keys to it, its text, and the section that holds it alone."""

    list: ListName
    path: tuple[str | int, ...]
    text: str
    section: Section


class _Example(NamedTuple):
    """A call that a rule describes; *told* is what is shown of it."""

    tool: str
    args: dict[str, Any]
    told: str


def about_rules(policy: Policy, sources: Sequence[Source]) -> Iterator[str]:
    """What to say about each rule that needs a word: where it stands, what is the matter, and how to write it."""
    somewhere = policy.places._replace(project=policy.places.base)  # what is said holds without a project too
    for source in sources:
        for rule in _rules(source):
            problem = _Trial(policy, rule, source.marks(somewhere)).told() or _taken_at_its_word(rule)
            if problem is not None:
                yield source.where(rule.path) + problem
        for name in source.value.get("limits", {}):
            other = about_tool(name) or about_case(name)
            problem = other.told() if other else _counts_nothing(policy, name, source.marks(somewhere))
            if problem is not None:
                yield source.where(("limits", name)) + problem


def _counts_nothing(policy: Policy, name: str, marks: Placeholders) -> str | None:
    """Why no call is counted for a limit of this name: a rule to ask about the tool would not be about any either."""
    rule = _Rule("ask", ("ask", "tools", 0), name, Section({"tools": [name]}))
    if _Trial(policy, rule, marks).problem() is None:
        return None
    return f"{name!r} counts nothing: it is the name of no tool; commands are calls of runCommand, and counted together"


def _rules(source: Source) -> Iterator[_Rule]:
    for name in LISTS:
        section, project = source.section(name)
        for key in ("tools", "patterns"):
            for i, text in enumerate(section.get(key, ())):
                yield _Rule(name, (name, key, i), text, Section({key: [text]}, project))
        for tool, names in section.get("arguments", {}).items():
            for argument, values in names.items():
                for i, value in enumerate(values):
                    # In a whitelist all arguments must fit.
                    others = names if name == "whitelist" else {}
                    alone = {"arguments": {tool: {**others, argument: [value]}}}
                    yield _Rule(name, (name, "arguments", tool, argument, i), str(value), Section(alone, project))


def _taken_at_its_word(rule: _Rule) -> str | None:
    """What ``program *`` means where nothing is known about the program."""
    if rule.path[:2] != ("whitelist", "patterns") or split_call(rule.text) is not None:
        return None
    tokens = tokenize(rule.text)
    program = literal(tokens[0]) if tokens[1:] == [STAR] else None
    if program is None or is_known(program.rpartition("/")[2]):
        return None
    return (
        f"{rule.text!r} covers whatever {program} does with any words: nothing is known here about its options; "
        f"name what it may be given, as in '{program} build *'"
    )


def _exact(rule: _Rule) -> Advice | None:
    """What a rule to deny, or to ask, leaves out that ends in a sub-command."""
    denies = rule.list != "whitelist" and rule.path[1] == "patterns" and split_call(rule.text) is None
    return about_exact(rule.text) if denies else None


def _open_host(rule: _Rule) -> Advice | None:
    """How to end the host of an address in a pattern that allows commands."""
    if rule.path[:2] != ("whitelist", "patterns") or split_call(rule.text) is not None:
        return None
    for token in tokenize(rule.text):
        whole = open_host(token)
        if whole is not None:
            wrong = f"{rule.text!r} does not end its host, and a '*' covers nothing of one"
            return Advice(wrong, (rule.text.replace(token, whole, 1),) if token in rule.text else ())
    return None


class _Trial:
    """One rule, judged by itself."""

    def __init__(self, policy: Policy, rule: _Rule, marks: Placeholders) -> None:
        self._policy = policy
        self._rule = rule
        self._places = marks

    def told(self) -> str | None:
        """
        What is the matter with the rule, and how to write it; None if nothing is.

        What would be told itself, were it written, is not what to write.
        """
        found = self.advice()
        if found is None:
            return None
        is_sound = all(self._with(rule).advice() is None for rule in found.rules)
        return (found if is_sound else found._replace(rules=())).told()

    def advice(self) -> Advice | None:
        """The same, whatever would be told of what is to be written."""
        found = self._notation() or _open_host(self._rule)
        problem = self.problem() if found is None else None
        return found or (Advice(problem) if problem is not None else _exact(self._rule))

    def _with(self, text: str) -> _Trial:
        """The same for *text* in place of the rule."""
        rule = self._rule
        if rule.path[1] != "arguments":
            section = rule.section._replace(rules={str(rule.path[1]): [text]})
        else:
            ((tool, names),) = rule.section.rules["arguments"].items()
            section = rule.section._replace(rules={"arguments": {tool: {**names, str(rule.path[3]): [text]}}})
        return _Trial(self._policy, rule._replace(text=text, section=section), self._places)

    def _notation(self) -> Advice | None:
        """How to write a rule that is in another notation: it may match something, but nothing that was meant."""
        rule = self._rule
        if rule.path[1] == "tools":
            return about_tool(rule.text) or about_case(rule.text)
        if rule.path[1] == "patterns":
            is_tool = self._policy.is_shell_tool(rule.text.partition("(")[0])
            return (
                about_tool(rule.text)
                or about_call(rule.text)
                or about_pattern(rule.text, rule.list, is_tool=is_tool)
                or self._in_call()
            )
        if rule.path[1] == "arguments":
            tool, name = str(rule.path[2]), str(rule.path[3])
            return about_case(tool) or about_argument(rule.text, tool, name) or self._about_path(tool, name, rule.text)
        return None

    def _in_call(self) -> Advice | None:
        """The same for a path in a pattern of the form ``tool(name=value)``."""
        call = split_call(self._rule.text)
        if call is None:
            return None
        if (other := about_case(call.tool)) is not None:
            return other
        for name, written in call.arguments.items():
            value = typed(written)
            found = about_argument(self._rule.text, call.tool, name)
            found = found or (self._about_path(call.tool, name, value) if isinstance(value, str) else None)
            if found is not None:
                quoted = written[:1] if written[:1] in ("'", '"') else ""
                texts = [self._rule.text.replace(written, f"{quoted}{one}{quoted}", 1) for one in found.rules]
                return found._replace(rules=tuple(texts))
        return None

    def _about_path(self, tool: str, name: str, text: str) -> Advice | None:
        if (KINDS[tool].get(name) if tool in KINDS else guess_kind(name, ())) != "path":
            return None
        return about_path(text, self._places.project, denies=self._rule.list != "whitelist")

    def problem(self) -> str | None:
        """Why the rule can match nothing, and how to write it; None if it can match."""
        rule = self._rule
        judge = self._policy.with_only(rule.list, rule.section, default=_OTHERWISE[rule.list])
        first: tuple[_Example, Decision] | None = None
        for example in self._examples():
            if example.tool in CARRIERS:
                return None  # what it carries is judged, under the rules for that
            decision = judge.decide(example.tool, example.args)
            by_default = decision.method in ("default", "invalid", "error")
            if decision.verdict == _VERDICTS[rule.list] and not by_default and decision.rule != OWN_FILES:
                return None
            first = first or (example, decision)
        if first is None:
            return None
        return f"{rule.text!r} {DOES[rule.list]} nothing: {self._why(*first)}"

    # The calls that a rule describes.

    def _examples(self) -> Iterable[_Example]:
        key = self._rule.path[1]
        if key == "tools":
            return [self._whole(filled(self._rule.text, fill)) for fill in _FILLS]
        if key == "arguments":
            return self._of_arguments()
        call = split_call(self._rule.text)
        if call is None:
            return self._of_command()
        return (
            self._with_arguments(
                filled(call.tool, fill),
                {name: _value(typed(value), fill) for name, value in call.arguments.items()}
                | ({"argument": filled(call.anything, fill)} if call.anything is not None else {}),
            )
            for fill in _FILLS
        )

    def _whole(self, tool: str) -> _Example:
        is_shell = self._policy.is_shell_tool(tool)
        return _Example(tool, {"command": "true"} if is_shell else {}, tool)

    def _of_command(self) -> Iterator[_Example]:
        for fill in _FILLS:
            command = _spoken(self._rule.text, fill, self._places)
            yield _Example("runCommand", {"command": command}, command)

    def _of_arguments(self) -> Iterator[_Example]:
        ((tool, names),) = self._rule.section.rules["arguments"].items()
        argument = str(self._rule.path[3])
        for i in range(min(_MAX_OTHERS, max(map(len, names.values())))):
            beside = {name: values[i % len(values)] for name, values in names.items() if values}
            for fill in _FILLS:
                args = {
                    name: _value(value, fill if name == argument or self._is_path(tool, name, value) else None)
                    for name, value in beside.items()
                }
                yield self._with_arguments(filled(tool, fill), args)

    def _is_path(self, tool: str, name: str, value: object) -> bool:
        return KINDS.get(tool, {}).get(name) == "path" or (
            isinstance(value, str) and guess_kind(name, (self._places.expand(value),)) == "path"
        )

    def _with_arguments(self, tool: str, args: dict[str, Any]) -> _Example:
        expanded = {
            name: (literal(self._places.expand(value)) or value) if isinstance(value, str) else value
            for name, value in args.items()
        }
        if tool in SHELL_TOOLS and not expanded.keys() & {"command", "argv"}:
            expanded["command"] = "true"
        if isinstance(expanded.get("argv"), str):
            expanded["argv"] = shlex.split(expanded["argv"])
        told = ", ".join(f"{name}={value}" for name, value in expanded.items())
        return _Example(tool, expanded, f"{tool}({told})")

    # Why it is not caught.

    def _why(self, example: _Example, decision: Decision) -> str:
        rule = self._rule
        key = rule.path[1]
        if decision.method == "invalid" and key == "tools":
            return f"{example.tool!r} is the name of no tool: a command belongs into the patterns"
        if key == "tools" or (key == "patterns" and split_call(rule.text) is not None):
            return self._why_no_tool(example, decision)
        if key == "arguments":
            return self._why_no_value(example, decision)
        tokens = tokenize(rule.text)
        if OPERATORS.intersection(tokens):
            return f"the commands of a line are judged one by one, so write a rule for each{_split(rule.text)}"
        if literal(tokens[0]) is None:
            return "the program must be named, as in 'git status *'"
        if any(mark in tokens_of(token) for token in tokens for mark in "<>"):
            return "what it redirects is judged by the rules for writeFile and readFile: leave that out of the pattern"
        return f"not even {example.told!r}, which it describes ({decision.reason}): write another command"

    def _why_no_tool(self, example: _Example, decision: Decision) -> str:
        tool = self._rule.text.partition("(")[0]
        if STAR in tool and not WHOLE_SERVER.match(tool):
            return _NO_WILD_TOOLS
        call = split_call(self._rule.text)
        if call is not None and self._policy.is_shell_tool(example.tool):
            command = call.anything if not call.arguments else call.arguments.get("command")
            is_all = len(call.arguments) <= 1 and command is not None and not re.search("[('\"]", command)
            mend = f": write {command!r}" if is_all and self._with(str(command)).advice() is None else ""
            return f"commands are judged by patterns of their own{mend}"
        if call is not None and any(guess_kind(name, (value,)) == "url" for name, value in call.arguments.items()):
            return "a rule about URLs names scheme and host: https://host/path, https://host/*, or ** for any"
        return f"not even {example.told!r}, which it describes ({decision.reason}): write the value that is meant"

    def _why_no_value(self, example: _Example, decision: Decision) -> str:
        tool, argument = str(self._rule.path[2]), str(self._rule.path[3])
        value = self._rule.text
        if STAR in tool and not WHOLE_SERVER.match(tool):
            return _NO_WILD_TOOLS
        if self._policy.is_shell_tool(tool):
            return f"not even {example.told!r}, which it describes ({decision.reason}): write another command"
        if STAR in value and guess_kind(argument, (value,)) is None:
            return (
                "a value is compared as a whole here, its '*' too: "
                f"write {f'{tool}({argument}={value})'!r} among the patterns"
                if len(self._rule.section.rules["arguments"][tool]) == 1
                else "a value is compared as a whole here, its '*' too: patterns have wildcards"
            )
        if guess_kind(argument, (value,)) == "url":
            return f"{value!r} is not plainly a URL: write it as https://host/path, or https://host/*"
        return f"not even {example.told!r}, which it describes ({decision.reason}): write the value that is meant"


def _value(value: Any, fill: str | None) -> Any:
    """The value of a rule with its wildcards filled; as it is, if *fill* is None."""
    return filled(value, fill) if isinstance(value, str) and fill is not None else value


def _split(text: str) -> str:
    """The commands of a line, to be told; none where it has signs that are about several of them."""
    if any(sign in text for sign in "'\"\\(){}"):
        return ""
    commands: list[list[str]] = [[]]
    for token in tokenize(text):
        if token in OPERATORS:
            commands.append([])
        else:
            commands[-1].append(token)
    return ": " + ", ".join(repr(" ".join(words)) for words in commands if words)


def _spoken(text: str, fill: str, places: Placeholders) -> str:
    """The command that a pattern is, its wildcards filled and its placeholders replaced; its quotes stay."""
    command, quote = "", ""
    i = 0
    while i < len(text):
        character = text[i]
        named = next((name for name in _PLACEHOLDERS if text.startswith(name, i)), None)
        if named is not None:
            path = "".join(tokens_of(places.expand(named)))
            command += path if quote else shlex.quote(path)
            i += len(named)
            continue
        if character == "\\" and not quote:
            command += text[i : i + 2]
            i += 2
            continue
        if character in "'\"" and quote in ("", character):
            quote = "" if quote else character
        command += fill if character == STAR and not quote else character
        i += 1
    return command


_PLACEHOLDERS = ("${project}", "{project}", "${home}", "{home}")
