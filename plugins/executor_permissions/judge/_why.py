"""
Why no rule with a ``*`` covers a command, in words for the person who is asked.

Of ``find . -delete`` under ``find *``: "'-delete' runs or writes something, and no rule spells it out".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import Unknown
from executor_permissions.judge.options import walk
from executor_permissions.judge.rules._guards import exposed

if TYPE_CHECKING:
    from executor_permissions.judge.bash._words import Command
    from executor_permissions.judge.options import Walk
    from executor_permissions.judge.options._entry import Grammar

HANDING_ON = frozenset({"xargs"})  # what is said of these helps whether or not a rule is about them
_LONGEST = 60  # characters of a word in a reason


def not_spelled_out(command: Command) -> str | None:
    """What keeps every rule with a wildcard from covering *command*; None if its words do not."""
    reach = exposed(command)
    if reach < 0:
        return None
    if reach >= len(command.words):
        found = walk(command.words)
        if command.words[0] in HANDING_ON and found is not None and found.inner:
            return f"{_told(command.words, found.inner[0][0])}, and no rule can spell them out"
        return f"what {command.words[0]} runs is not in its words, so that no rule can spell it out"
    return f"{_told(command.words, reach)}, and no rule spells it out"


def _told(words: list[str], at: int) -> str:
    """What the word at *at* is to the program."""
    shown = repr(str(words[at][:_LONGEST]))
    found = walk(words)
    for start, end in found.inner if found is not None else ():
        if start < at < end:
            return _told(words[start:end], at - start)
    if found is None or found.grammar is None or any(start == at for start, _ in found.inner):
        if words[0] in HANDING_ON:
            return f"{words[0]} hands {shown} words that only the running shell knows"
        return f"{words[0]} runs {shown}"
    if type(words[at]) is Unknown:
        return f"{shown} is only known when it runs"
    program = " ".join(words[: found.named])
    if words[at][:1] == "-" and words[at] != "-":
        return _option(found, at, program, shown)
    if found.grammar.subs is not None and found.named <= at and not found.grammar.sub(words[at]):
        return f"{shown} is not among the sub-commands of {program} that are known to be safe"
    if at == found.named - 1:
        return f"{program!r} with these words is not known to be safe"
    before = words[at - 1]
    if before[:1] == "-" and (at < found.named or _takes_a_word(found.grammar, before)):
        return f"{shown} is not known to be safe as the value of {before!r}"
    return f"{shown} is not known to be safe for {program}"


def _takes_a_word(grammar: Grammar, option: str) -> bool:
    return option in grammar.options and grammar.options[option].arity > 0


def _option(found: Walk, at: int, program: str, shown: str) -> str:
    """The option at *at*: it does more, its value is not known, or it is not known itself."""
    word = found.words[at]
    options = found.grammar.options if found.grammar is not None else {}
    name, _, value = word.partition("=")
    letters = ["-" + letter for letter in word[1:]] if word[1] != "-" and name not in options else []
    told = next((one for one in (name, *letters) if one in options and not options[one].safe), None)
    if told is not None:
        return f"{told!r} runs or writes something"
    if name in options:
        return (
            f"{value[:_LONGEST]!r} is not known to be safe as the value of {name!r}"
            if value
            else f"{shown} is odd here"
        )
    return f"{shown} is not among the options of {program} that are known to be safe"
