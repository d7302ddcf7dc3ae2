"""What an allowing rule says by an option, ``kubectl -n staging *``, is not said anew by what its ``*`` covers."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from executor_permissions.judge.paths._globs import STAR
from executor_permissions.judge.rules._wild import addresses_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from executor_permissions.judge.options._entry import Grammar, Option
    from executor_permissions.judge.rules._wild import Wild

_TAKING_BACK = re.compile(r"\+[A-Za-z]+\Z")  # several letters in one word, as shells take them
_WIDER = {"-n": ("-A", "--all-namespaces"), "--namespace": ("-A", "--all-namespaces")}


class Pinned(NamedTuple):
    """
    An option of a rule.

    Attributes:
        name: As it is written, of a cluster the last letter: ``-f`` of ``-xf``.
        spelled: How many words the rule spells out.
    """

    name: str
    spelled: int

    def holds(self, words: list[str]) -> bool:
        """Whether no further word of a command gives the option once more, in any of its spellings."""
        from executor_permissions.judge.options import walk  # the tables, for the few rules that have such an option
        from executor_permissions.judge.options._tables import grammar_of

        found, root = walk(words), grammar_of(words[0].rpartition("/")[2])
        grammars = [one for one in (found.grammar if found else None, root) if one is not None]
        if not grammars:
            return not any(_gives_to_unknown(word, self.name) for word in words[self.spelled :])
        option = _option(grammars, self.name)
        if option is not None and not option.arity:
            return True  # what stands behind it is no value of it
        names = {self.name, *_WIDER.get(self.name, ()), *_other_spellings(grammars, self.name)}
        inner = {at for begin, end in (found.inner if found is not None else ()) for at in range(begin, end)}
        for at in range(self.spelled, len(words)):
            if words[at] == "--" and "open" not in grammars[0].traits:
                return True
            if at not in inner and _gives(words[at], names, grammars):
                return False
        return True


class Switched(NamedTuple):
    """An option of a rule without a value, ``--dry-run``; its name without dashes, and how many words the rule has."""

    name: str
    spelled: int

    def holds(self, words: list[str]) -> bool:
        """Whether no further word of a command takes it back: ``--dry-run=false``, ``--no-dry-run``, ``+n``."""
        opposite = self.name.removeprefix("no-") if self.name.startswith("no-") else f"no-{self.name}"
        for word in words[self.spelled :]:
            if word == "--":
                return True
            if _TAKING_BACK.match(word) and not set(self.name).isdisjoint(word[1:]):
                return False
            given, equals, _ = word.partition("=")
            if given[:1] == "-" and (given.lstrip("-") == opposite or (equals and given.lstrip("-") == self.name)):
                return False
        return True


class Addressed(NamedTuple):
    """
    The addresses of a rule, ``curl https://x.org/* *``.

    Attributes:
        spelled: How many words the rule spells out.
        free: Which of those are wildcards of which it says nothing: the first of ``curl * https://x.org/*``.
    """

    addresses: tuple[Wild, ...]
    spelled: int
    free: frozenset[int]

    def holds(self, words: list[str]) -> bool:
        """Whether no further word of a command is an address that the rule does not name."""
        from executor_permissions.judge.options._tables import grammar_of

        options = grammar.options if (grammar := grammar_of(words[0])) is not None else {}
        at = 1
        while at < len(words):
            word, takes_next = words[at], _takes_next(words[at], options)
            name, _, value = word.partition("=")
            if name == "--url":
                value = value or " ".join(words[at + 1 : at + 2])
            elif word[:1] != "-":
                value = word
            else:
                value = ""
            is_further = at >= self.spelled or at in self.free
            if value and is_further and not any(one.covers(value) for one in self.addresses):
                return False
            at += 2 if takes_next else 1
        return True


def _takes_next(word: str, options: Mapping[str, Option]) -> bool:
    """Whether *word* is an option, or a cluster of them, whose value is the next word."""
    if word[:1] != "-" or word[:2] == "--":
        return word in options and options[word].arity == 1
    for at, letter in enumerate(word[1:], 2):
        option = options.get("-" + letter)
        if option is not None and option.arity == 1:
            return at == len(word)
    return False


def pinned(tokens: Sequence[str]) -> Iterator[Pinned | Switched | Addressed]:
    """The addresses of a rule; the options among its *tokens*, each with a value, behind it or a ``=``, or without."""
    addresses = addresses_of(tokens)
    if addresses:
        own = {one.at for one in addresses}
        free = frozenset(at for at, token in enumerate(tokens) if at and STAR in token and at not in own)
        yield Addressed(addresses, len(tokens), free)
    for token, following in pairwise((*tokens[1:], "-")):
        name, equals, _ = token.partition("=")
        if name[:1] != "-" or not name.strip("-") or STAR in name:
            continue
        if equals or following[:1] not in ("-", STAR):
            yield Pinned(name if name[1] == "-" or equals else "-" + name[-1], len(tokens))
        if not equals:
            yield Switched(name.lstrip("-"), len(tokens))


def _option(grammars: Sequence[Grammar], name: str) -> Option | None:
    return next((one.options[name] for one in grammars if name in one.options), None)


def _other_spellings(grammars: Sequence[Grammar], name: str) -> Iterator[str]:
    """The long names of a short option, and the other way round: those with the same letter that take a value too."""
    letter, short = name.lstrip("-")[0], len(name) == 2
    any_case = short and _option(grammars, "-" + letter.swapcase()) is None
    for grammar in grammars:
        for other, option in grammar.options.items():
            first = other.lstrip("-")[:1]
            same = first == letter or (any_case and first == letter.swapcase())
            if same and option.arity == 1 and short == other.startswith("--"):
                yield other


def _gives(word: str, names: set[str], grammars: Sequence[Grammar]) -> bool:
    """Whether *word* is one of the options *names*, maybe with its value or among other letters."""
    if word[:1] != "-":
        return False
    if word.partition("=")[0] in names:
        return True
    if word[1:2] == "-" or "words" in grammars[0].traits:
        return False
    for letter in word[1:]:
        if "-" + letter in names:
            return True
        option = _option(grammars, "-" + letter)
        if option is None or option.arity:
            return False
    return False


def _gives_to_unknown(word: str, name: str) -> bool:
    """The same for a program that nothing is known about: abbreviated, or with a value behind it, it is the option."""
    given = word.partition("=")[0]
    if name[:2] == "--":
        return len(given) > 2 and given[:2] == "--" and name.startswith(given)
    return word.startswith(name)
