"""How a rule is read, in words."""

from __future__ import annotations

from executor_permissions.judge.rules._call_patterns import split_call
from executor_permissions.judge.rules._rules import KINDS
from executor_permissions.judge.rules._tokenize import OPERATORS, tokenize
from executor_permissions.judge.rules._values import guess_kind

_WHAT = {"whitelist": "allows", "blacklist": "forbids", "ask": "asks every time about"}


def read_as(list_name: str, key: str, rule: str) -> str:
    """
    What a rule means, as a sentence without a full stop.

    Args:
        list_name: ``whitelist``, ``ask`` or ``blacklist``.
        key: Where in the list it stands: ``tools``, ``patterns`` or ``arguments TOOL ARGUMENT``.
        rule: As written; it has to be one.
    """
    kind, _, rest = key.partition(" ")
    told = {"tools": _tool, "patterns": _pattern}[kind](rule) if kind != "arguments" else _argument(rest, rule)
    return f"{_WHAT[list_name]} {told}"


def _tool(rule: str) -> str:
    return (
        f"every tool whose name begins with {rule[:-1]}"
        if rule.endswith("*")
        else f"the tool {rule}, whatever it is given"
    )


def _pattern(rule: str) -> str:
    call = split_call(rule)
    if call is not None:
        tool, arguments, anything = call
        if anything is not None:
            return f"the tool {tool} where any argument is {anything}"
        if not arguments:
            return f"the tool {tool}" + (" without arguments" if rule.rstrip().endswith("()") else "")
        return f"the tool {tool} where " + " and ".join(f"{name} is {value}" for name, value in arguments.items())
    tokens = tokenize(rule)
    if OPERATORS & set(tokens):
        return f"a line in which these run after one another: {rule}"
    if len(tokens) == 1 and "*" not in tokens[0]:
        tool = ", and the tool of this name" if tokens[0] == rule.strip() else ""  # one in quotes is about none
        return f"the command {tokens[0]} without anything behind it{tool}"
    if tokens[-1] == "*":
        return f"the command {' '.join(tokens[:-1]) or 'of any name'}, whatever follows it"
    return f"the command {rule}, and nothing behind it" if "*" not in rule else f"commands of the form {rule}"


def _argument(where: str, rule: str) -> str:
    tool, _, argument = where.partition(" ")
    kind = KINDS.get(tool, {}).get(argument) or guess_kind(argument, (rule,))
    means = {
        "path": f"is {rule} or lies in it" if rule.endswith("/") else f"is {rule}, or lies in it if that is a folder",
        "url": f"is an address of the form {rule}",
        "shell": f"is a command that begins with {rule}",
        "argv": f"is a command that begins with {rule}",
    }
    return f"the tool {tool} where {argument} {means.get(kind or '', f'is {rule}')}"
