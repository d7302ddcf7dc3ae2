"""Options with a value in a rule that forbids, ``kubectl --context prod *``: in whatever place and spelling."""

from __future__ import annotations

import os.path
from dataclasses import dataclass
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import KNOWN, Unknown
from executor_permissions.judge.paths._globs import STAR, Wildcard, literal
from executor_permissions.judge.rules._fitting import Match, fits
from executor_permissions.judge.rules._pairs import pairs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Valued:
    """
    An option of a rule, and what its value is to fit.

    Whether the rule's next word is the value of the option, or an operand behind one without a value, no rule says:
    who forbids reads it as both.
    """

    program: str
    option: str
    value: Wildcard

    def found(self, words: list[str]) -> Match:
        """Whether *words* have the option with such a value: apart, behind ``=``, or right behind its letter."""
        plain = max(self.value.pieces, key=len)
        if "/" not in plain and KNOWN.issuperset(map(type, words)) and plain not in " ".join(words):
            return 0  # as nearly always
        names = self._names(words)
        best: Match = 0
        for i in range(1, len(words)):
            for given in _values(words, i, names):
                best = max(best, fits(given, self.value))
            if best == 2:
                break
        return best

    def _names(self, words: list[str]) -> frozenset[str]:
        """The option, and what else it is called."""
        pairs = pairs_of(self.program, words)
        if self.option[:2] == "--":
            return frozenset({self.option, *(f"-{letter}" for letter in pairs.letters.get(self.option, ()))})
        spelled = pairs.longs.get(self.option[1:], ())
        return frozenset({self.option, *(long for each in spelled if len(each) == 1 for long in each)})


def _values(words: Sequence[str], at: int, names: frozenset[str]) -> Iterator[str]:
    """What the word there gives the options *names*, itself or with the next one."""
    word = words[at]
    if type(word) is Unknown or word[:1] != "-" or len(word) == 1:
        return
    name, is_attached, value = word.partition("=")
    if word[:2] == "--" or name in names:
        # GNU programs take any beginning of a long option.
        if any(one == name or (one[:2] == "--" and len(name) > 2 and one.startswith(name)) for one in names):
            yield from (value,) if is_attached else words[at + 1 : at + 2]
        return
    for letter in (one[1] for one in names if len(one) == 2):
        place = word.find(letter, 1)
        if place > 0:
            behind = word[place + 1 :].removeprefix("=")
            yield from (behind,) if behind else words[at + 1 : at + 2]


def valued_in(tokens: tuple[str, ...]) -> tuple[tuple[Valued, ...], tuple[str, ...]]:
    """The options of a pattern's *tokens* that may have a value, and the other tokens."""
    program = os.path.basename(literal(tokens[0]) or "")  # noqa: PTH119 -- text, not a file
    found: list[Valued] = []
    others: list[str] = [tokens[0]]
    i = 1
    while i < len(tokens):
        option, is_attached, value = tokens[i].partition("=")
        named = option[:1] == "-" and option not in ("-", "--") and literal(option) == option
        if named and is_attached and value and value != STAR:
            found.append(Valued(program, option, Wildcard.of(value)))
        elif named and not is_attached and i + 1 < len(tokens) and tokens[i + 1][:1] not in ("-", STAR):
            i += 1
            found.append(Valued(program, option, Wildcard.of(tokens[i])))
        else:
            others.append(tokens[i])
        i += 1
    return tuple(found), tuple(others)
