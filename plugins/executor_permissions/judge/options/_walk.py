"""Walking over a program's arguments with its table: what of them a wildcard covers, and what they name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import REST, Glob, Module, Number, Unknown
from executor_permissions.judge.options._checks import fits
from executor_permissions.judge.options._entry import OPTIONAL, Option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from executor_permissions.judge.options._entry import Grammar

NEVER = 1 << 30  # no rule with a wildcard covers it
_SCRIPT_NAMES = (".py", ".pyw", ".pyz")
_SCRIPTS = frozenset({"pattern", "sed", "awk"})  # given by an option, they are no operand any more
_WILD = frozenset("*?[")
_NO_CODE = {
    "codeoperand": re.compile(r"[0-9.]*[0-9]\Z|auto\Z|logical\Z|load[a-z]*\Z"),  # how many, and how they share work
    "codeargument": re.compile(r"-|[A-Za-z][A-Za-z0-9+.-]*://"),  # an option, or an address that a test is told
}


# What an operand of a kind is to the program.
_FILES = {
    "read": ("reads",),
    "database": ("reads",),
    "write": ("writes",),
    "change": ("reads", "writes"),
    "target": ("targets",),
}


class Walk:
    """
    What is known about the arguments of one command.

    Attributes:
        words: The program and its arguments.
        reach: The index of the last word that a rule must spell out, -1 if a wildcard covers all, or `NEVER`.
        reads: The files it is given to read; as they were written, an `Unknown` word included.
        writes: The files and folders it is given to write.
        runs: The files and folders of code that it is given to run; a `Module` by its name.
        archives: The archives it is given: whether it reads or writes them, its other options say.
        inner: Where each command begins and ends that it runs with the words it is given.
        grammar: The table of the innermost sub-command, or None if the program has none.
        named: How many leading words name the program and its sub-commands.
        lead: The index of the first word behind the program's own options.
        given: The kinds of values seen so far.
        targets: What options name in place of the last operand; it comes last in `writes` as well.
        guessed: Whether an option was seen that nobody knows.
        unsure: Whether an option was seen of which nobody knows if the next word is its value.
    """

    reach = -1
    grammar: Grammar | None = None
    named = 1
    lead = 0
    given: frozenset[str] = frozenset()
    unsure = guessed = False

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.reads: list[str] = []
        self.writes: list[str] = []
        self.targets: list[str] = []
        self.archives: list[str] = []
        self.runs: list[str] = []
        self.inner: list[tuple[int, int]] = []

    def ask(self, at: int) -> None:
        """A rule must spell the words out up to the one at *at*."""
        self.reach = max(self.reach, at)

    def is_value(self, kind: str, value: str, at: int) -> None:
        """Take *value*, which is or is in the word at *at*, for a value of *kind*."""
        if kind in _FILES:
            for files in _FILES[kind]:
                getattr(self, files).append(value)
        elif kind in ("code", "!", "!code"):
            if kind[0] == "!":
                self.ask(at)
            if kind != "!":
                self._is_code(value, at)
        elif kind == "list":
            self.reads += (value, REST)
        elif kind != "text":
            self._is_checked(kind, value, at)

    def _is_checked(self, kind: str, value: str, at: int) -> None:
        self.given |= {kind}
        known = fits(kind, value)
        if known or kind.startswith("read"):  # it is read, whatever it is
            self._is_file(kind, value, at)
        if not known:
            self.ask(at)
            if kind == "protocols":
                self.reads.append(REST)

    def _is_code(self, value: str, at: int) -> None:
        self.reads.append(value)
        self.runs.append(value)
        if value == "-":
            self.ask(NEVER)  # it is in the input
        elif "://" in value:
            self.ask(at)

    def _is_file(self, kind: str, value: str, at: int) -> None:
        """Take *value*, which is fit for its *kind*, for what the beginning of that says."""
        if kind == "archive":
            self.archives.append(value)
        elif kind.startswith("read"):
            self.reads.append(value)
        elif kind.startswith("code") and not (kind in _NO_CODE and _NO_CODE[kind].match(value)):
            self._is_code(value, at)
        elif kind == "module":
            self.runs.append(Module(value))


def walk_plainly(walk: Walk, grammar: Grammar, at: int) -> None:
    """Walk over the words from *at* on: options, a sub-command, operands."""
    walk.grammar = grammar
    words, count = walk.words, len(walk.words)
    operands: list[int] = []
    alone, traits = grammar.alone, grammar.traits
    while at < count:
        word = words[at]
        if word[:1] != "-" or word == "-":
            if not operands:
                walk.lead = walk.lead or at
                if grammar.subs is not None:
                    _behind_sub_command(walk, grammar, at)
                    return
            if type(word) is not str or word[:1] in "+@":
                _odd_operand(walk, grammar, at)
            operands.append(at)
            at += 1
            if "stop" in traits:
                _behind_operand(walk, grammar, at)
                operands.extend(range(at, count))
                break
        elif word == "--" and "open" not in traits:
            if walk.unsure:
                walk.ask(at)
            else:
                operands.extend(range(at + 1, count))
                _options_in_files(walk, grammar, at + 1)
                break
            at += 1
        elif type(word) is str and word in alone:
            at += 1  # as `option_at` says of it
        else:
            at = option_at(walk, grammar, at)
    walk.lead = walk.lead or count
    assign(walk, grammar, operands)


def _behind_sub_command(walk: Walk, grammar: Grammar, at: int) -> None:
    """Go on with the table of the sub-command at *at*."""
    word = walk.words[at]
    sub = grammar.sub(word) if type(word) is str else None
    if walk.unsure:
        walk.ask(len(walk.words) - 1)
    if sub is None:
        walk.ask(at)
        return
    if "spell" in sub.traits:
        walk.ask(at)
    walk.named = at + 1
    SHAPES[sub.entry.shape](walk, sub, at + 1)


def _odd_operand(walk: Walk, grammar: Grammar, at: int) -> None:
    """An operand that may be an option: it is not known, or begins with a character that means something to some."""
    word = walk.words[at]
    first = word[:1]
    if (first == "@" and "at" in grammar.traits) or (first == "+" and "plus" in grammar.traits):
        option = grammar.options.get("+#") if word[1:].isdigit() else grammar.options.get(word)
        if option is None:
            walk.ask(at)
    kind = type(word)
    if kind is str or kind is Number or "inert" in grammar.traits:
        return
    if kind is Unknown or first in _WILD:
        walk.ask(at)


def _options_in_files(walk: Walk, grammar: Grammar, at: int) -> None:
    """``@file`` is replaced by what is in it before anything is read, behind ``--`` and as a value as well."""
    for i in range(at, len(walk.words) if "at" in grammar.traits else 0):
        if walk.words[i][:1] == "@":
            walk.ask(i)


def _behind_operand(walk: Walk, grammar: Grammar, at: int) -> None:
    """Options end at the first operand: some implementations go on with them."""
    if "inert" in grammar.traits or "command" in grammar.fixed:
        return
    for i in range(at, len(walk.words)):
        if walk.words[i][:1] == "-" and len(walk.words[i]) > 1:
            walk.ask(i)


def option_at(walk: Walk, grammar: Grammar, at: int) -> int:
    """Judge the option at *at*; the index of the next word that is neither it nor its value."""
    word = walk.words[at]
    if type(word) is not str:
        return _unknown_option(walk, grammar, at)
    return _short(walk, grammar, at) if word[1] != "-" and "words" not in grammar.traits else _long(walk, grammar, at)


def _long(walk: Walk, grammar: Grammar, at: int) -> int:
    """A whole word that is one option, maybe with its value."""
    word = walk.words[at]
    name, equals, value = word.partition("=")
    option = grammar.options.get(name)
    if option is None and "words" in grammar.traits and name[:2] == "--":
        option = grammar.options.get(name[1:])
    if option is None:
        if "-#" in grammar.options and name.lstrip("-").isdigit() and not equals:
            return at + 1
        return _not_known(walk, at, valued=bool(equals))
    if not option.safe:
        walk.ask(at)
    if not equals:
        return at + 1 if option.arity <= 0 else _values(walk, grammar, option, at)
    if option.arity in (1, OPTIONAL):
        _value(walk, option, value, at)
    elif option.arity or "bool" not in grammar.traits or value not in ("true", "false"):
        walk.ask(at)
    return at + 1


def _not_known(walk: Walk, at: int, *, valued: bool = False) -> int:
    walk.ask(at)
    walk.guessed = True
    walk.unsure = walk.unsure or not valued
    return at + 1


def _unknown_option(walk: Walk, grammar: Grammar, at: int) -> int:
    """A word with a dash that only the running shell knows: ``--include=*.py`` is that option whatever it becomes."""
    word = walk.words[at]
    name, equals, value = word.partition("=")
    if type(word) is Glob and equals and _WILD.isdisjoint(name):
        option = grammar.options.get(name)
        if option is not None and value and option in _ANY_VALUE:
            return at + 1
    walk.unsure = True
    walk.ask(NEVER)
    return at + 1


_ANY_VALUE = (Option(1, "", (), safe=True), Option(OPTIONAL, "", (), safe=True))


def _short(walk: Walk, grammar: Grammar, at: int) -> int:
    """A word behind one dash: one option, or, unless the program takes none, a cluster of them."""
    word = walk.words[at]
    options = grammar.options
    option = options.get(word)
    if option is not None:
        if not option.safe:
            walk.ask(at)
        return at + 1 if option.arity <= 0 else _values(walk, grammar, option, at)
    if grammar.flags.issuperset(word[1:]):
        return at + 1  # as nearly every cluster
    if "exact" in grammar.traits and "=" in word and word.partition("=")[0] in options:
        return _long(walk, grammar, at)
    return _cluster(walk, grammar, at)


def _cluster(walk: Walk, grammar: Grammar, at: int) -> int:
    """Letters behind one dash; the value of one that takes a value is the rest, or the next word."""
    word = walk.words[at]
    options = grammar.options
    position, end = 1, len(word)
    while position < end:
        option = options.get("-" + word[position])
        if option is None:
            if word[position].isdigit() and "-#" in options and word[position].isascii():
                position += 1
                continue
            return _not_known(walk, at)
        if not option.safe:
            walk.ask(at)
        position += 1
        if option.arity:
            if position < end:
                if "apart" in grammar.traits and word[position] != "=":
                    return _not_known(walk, at)
                _value(walk, option, word[position:], at)
                if word[position] == "=":  # which belongs to the value for some, and is in front of it for others
                    _value(walk, option, word[position + 1 :], at)
                return at + 1
            return at + 1 if option.arity == OPTIONAL else _values(walk, grammar, option, at)
        if "exact" in grammar.traits and position < end:
            return _not_known(walk, at)
    return at + 1


def _values(walk: Walk, grammar: Grammar, option: Option, at: int) -> int:
    """The values of the option at *at* that are words of their own."""
    end = min(at + 1 + option.arity, len(walk.words))
    for i in range(at + 1, end):
        word = walk.words[i]
        several = type(word) in _SEVERAL and "inert" not in grammar.traits
        if several or (
            word[:1] == "-" and (word in grammar.options if "words" in grammar.traits else _may_be_option(word))
        ):
            walk.ask(i)
        _options_in_files(walk, grammar, i)
        if i == end - 1 or option.value[:1] == "!":
            _value(walk, option, word, i)
    return end


def _may_be_option(word: str) -> bool:
    """Whether a value looks like an option, which it is for a version of the program that takes no value here."""
    return word[1:2] == "-" or (word[1:2].isalpha() and word.isascii()) or (len(word) > 1 and not word.isascii())


_SEVERAL = (Unknown, Glob)


def _value(walk: Walk, option: Option, value: str, at: int) -> None:
    if option.choices:
        if not any(value.startswith(one[:-1]) if one[-1] == "*" else value == one for one in option.choices):
            walk.ask(at)
    elif option.value:
        walk.is_value(option.value, value, at)


def assign(walk: Walk, grammar: Grammar, operands: Sequence[int]) -> None:
    """Give each operand its meaning."""
    if grammar.simple:
        _assign_simply(walk, grammar, operands)
    else:
        _assign_each(walk, grammar, operands)
        # Of an option in front of it some versions take no value.
        if grammar.last and len(operands) == 1 and not walk.targets:
            walk.is_value(grammar.last, walk.words[operands[0]], operands[0])
    if walk.targets:
        walk.writes.extend(walk.targets)


def _assign_each(walk: Walk, grammar: Grammar, operands: Sequence[int]) -> None:
    words = walk.words
    if walk.unsure:
        walk.ask(len(words) - 1)
    fixed, repeated, inert = grammar.fixed, grammar.repeated, "inert" in grammar.traits
    is_script = bool(walk.given and fixed) and fixed[0] in _SCRIPTS
    if is_script and walk.given & {fixed[0], f"read{fixed[0]}", f"code{fixed[0]}"}:
        fixed = fixed[1:]
    last = operands[-1] if grammar.last and not walk.targets and len(operands) > max(1, len(fixed)) else -1
    for i, at in enumerate(operands):
        kind = fixed[i] if i < len(fixed) else grammar.last if at == last else repeated
        if kind == "command":
            walk.inner.append((at, len(words)))
            if (
                words[at] == "-"
                or "://" in words[at]
                or words[at].endswith(_SCRIPT_NAMES)
                or ("runner" in grammar.traits and "/" in words[at])
            ):
                walk.is_value("code", words[at], at)  # uv run takes scripts as well
            return
        if not inert and (not kind or (type(words[at]) in _SEVERAL and kind != repeated)):
            walk.ask(at)
        if kind:
            walk.is_value(kind, words[at], at)
        if at == last and walk.guessed:  # an option may have named the target, and this is one more of the others
            walk.is_value(repeated, words[at], at)


def _assign_simply(walk: Walk, grammar: Grammar, operands: Sequence[int]) -> None:
    """Any number of one kind, or none."""
    words = walk.words
    if not grammar.repeated:
        for at in operands:
            walk.ask(at)
    elif grammar.repeated == "read":
        walk.reads.extend(map(words.__getitem__, operands))
    elif grammar.repeated in ("write", "change"):
        for at in operands:
            walk.is_value(grammar.repeated, words[at], at)
            if words[at][:1] == "-" and len(words[at]) > 1:
                walk.ask(at)  # a name that nobody means


SHAPES: dict[str, Callable[[Walk, Grammar, int], None]] = {"": walk_plainly}
