"""How the table of a program is written down, and what it is compiled to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal["reader", "builder", "network", "writer"]
Trait = Literal[
    "stop", "words", "exact", "apart", "open", "at", "plus", "bool", "inert", "spell", "runner", "peel", "globals",
    "loads",
]  # fmt: skip
OPTIONAL = -1  # the arity of an option whose value, if it has one, is attached


@dataclass(frozen=True, slots=True)
class Entry:
    """
    What is known about one program or sub-command; whatever is not written here, no wildcard covers.

    An option is written ``-x`` (alone), ``-x:`` (with a value, attached or the next word), ``-x::`` (two further
    words), ``-x?`` (with a value only if one is attached); ``-#`` is any number (``-5``). The value's kind follows:
    ``-x:read``, ``-x:write``, ``-x:change`` (written, and what was in it is elsewhere then), ``-x:target`` (written, in
    place of the very last operand), ``-x:list`` (it names further files), ``-x:code`` (it is run),
    ``-x:(one|another|no:*)`` for certain values only, or the name of a check in `_checks`.

    Attributes:
        kind: ``reader``: reads and prints; ``builder``: runs the project's own code; ``network``; ``writer``.
        operands: Their kinds in order. The last may end in ``*`` (any number), and a further one may follow it for
            the very last operand: ``read* write``. ``command`` is a program and its arguments. A first kind is left
            out if an option has given a value of that kind.
        options: Those that a wildcard covers.
        asks: Those known to run or write something more: a rule must spell them out. With a kind ``!`` their value too.
        traits: ``stop``: options end at the first operand. ``words``: a whole word behind one dash. ``exact``: short
            options are not clustered. ``apart``: values are always the next word. ``open``: ``--`` ends nothing.
            ``at``: ``@file`` holds options. ``plus``: words with ``+`` are options. ``bool``: a flag takes ``=true``,
            ``=false``. ``inert``: no option or operand of it writes or runs anything. ``spell``: a rule must name this
            sub-command. ``runner``: a rule for it is one for what it runs. ``peel``: it changes nothing about what the
            inner command may do. ``globals``: the program's own options are taken behind the sub-command as well.
            ``loads``: before it looks at its sub-command it runs what the project's settings name (plugins, another
            version of itself): none of its sub-commands only reads, whatever they are called here, and none gets
            the program's credentials into its box.
        subs: Sub-commands, several names with the same table separated by blanks.
        shape: The name of a function in `_shapes` that reads its arguments in place of the usual way.
        manual: The versions of the program that it was read from, its sub-commands with it. Every program has one.
    """

    kind: Kind
    operands: str = ""
    options: str = ""
    asks: str = ""
    traits: str = ""
    subs: Mapping[str, Entry] | None = None
    shape: str = ""
    manual: str = ""


def coreutils(
    kind: Kind, operands: str = "", options: str = "", *, asks: str = "", traits: str = "", shape: str = ""
) -> Entry:
    """One of GNU's core utilities: all were read from the same manual, and tell about themselves in the same way."""
    return Entry(kind, operands, f"{options} --help --version", asks, traits, shape=shape, manual="GNU coreutils 9.1")


class Option(NamedTuple):
    """One option: how many further words it takes, of what kind, and whether a wildcard covers it."""

    arity: int
    value: str
    choices: tuple[str, ...]
    safe: bool


@dataclass(frozen=True, slots=True)
class Grammar:
    """
    An `Entry`, ready for walking over arguments.

    Attributes:
        alone: The options that are safe, and take no further word.
        flags: The letters, and digits, of which any number behind one dash are safe options without a value: of an
            ``exact`` table no letters.
        simple: Whether its operands are any number of one plain kind, or none.
    """

    entry: Entry
    options: dict[str, Option]
    alone: frozenset[str]
    flags: frozenset[str]
    fixed: tuple[str, ...]
    repeated: str
    last: str
    traits: frozenset[Trait]
    simple: bool
    subs: dict[str, Entry] | None
    _compiled: dict[str, Grammar] = field(default_factory=dict)

    def sub(self, name: str) -> Grammar | None:
        """The table of the sub-command *name*."""
        if self.subs is None or name not in self.subs:
            return None
        if name not in self._compiled:
            entry = _loading(self.subs[name]) if "loads" in self.traits else self.subs[name]
            takes_globals = "globals" in self.traits or "globals" in _traits(entry)
            self._compiled[name] = compile_entry(entry, self.options if takes_globals else {})
        return self._compiled[name]


def compile_entry(entry: Entry, inherited: Mapping[str, Option] | None = None) -> Grammar:
    """Make *entry* ready; *inherited* are options that it takes besides its own."""
    options = dict(inherited or {})
    for text, safe in ((entry.options, True), (entry.asks, False)):
        for token in text.split():
            name, option = _option(token, safe=safe)
            options[name] = option
    fixed, repeated, last = _operands(entry.operands)
    traits = _traits(entry)
    subs = {name: sub for names, sub in entry.subs.items() for name in names.split()} if entry.subs else None
    return Grammar(
        entry=entry,
        options=options,
        # A word with "=" is an option with its value, whatever a table calls an option.
        alone=frozenset(name for name, one in options.items() if one.safe and one.arity <= 0 and "=" not in name),
        flags=_flags(options, exact="exact" in traits),
        fixed=fixed,
        repeated=repeated,
        last=last,
        traits=traits,
        simple=not fixed and not last and repeated in ("", "read", "text", "write", "change"),
        subs=subs,
    )


def _traits(entry: Entry) -> frozenset[Trait]:
    return frozenset(cast("list[Trait]", entry.traits.split()))


def _loading(entry: Entry) -> Entry:
    """*entry* as a sub-command of a program that runs the project's own code in any case."""
    kind: Kind = "builder" if entry.kind == "reader" else entry.kind
    return replace(entry, kind=kind, traits=f"{entry.traits} loads")


def _flags(options: Mapping[str, Option], *, exact: bool) -> frozenset[str]:
    digits = {digit for digit in "0123456789" if "-#" in options and f"-{digit}" not in options}
    if exact:
        return frozenset(digits)
    letters = {name[1] for name, option in options.items() if len(name) == 2 and option.safe and not option.arity}
    return frozenset(letters - {"#"} | digits)


def _option(token: str, *, safe: bool) -> tuple[str, Option]:
    for at, character in enumerate(token):
        if character in ":?" and at > 1:
            break
    else:
        return token, _FLAG if safe else _ASKED_FLAG
    name, value = token[:at], token[at + 1 :]
    arity = OPTIONAL if token[at] == "?" else 2 if value[:1] == ":" else 1
    value = value.removeprefix(":") if arity == 2 else value
    if value[:1] == "(":
        return name, Option(arity, "", tuple(value[1:-1].split("|")), safe)
    return name, Option(arity, value, (), safe)


_FLAG = Option(0, "", (), safe=True)
_ASKED_FLAG = Option(0, "", (), safe=False)


def _operands(text: str) -> tuple[tuple[str, ...], str, str]:
    fixed: list[str] = []
    repeated = last = ""
    for form in text.split():
        if form[-1] == "*":
            repeated = form[:-1]
        elif repeated:
            last = form
        else:
            fixed.append(form)
    return tuple(fixed), repeated, last
