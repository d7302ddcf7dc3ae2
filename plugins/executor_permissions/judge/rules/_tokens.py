"""Patterns for shell commands, compared word by word: ``git push *``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import KNOWN, Glob, Number, Unknown
from executor_permissions.judge.paths._globs import STAR, Wildcard, literal, pieces_of
from executor_permissions.judge.rules._fitting import Match, bare, fits, in_order, normal, value_of
from executor_permissions.judge.rules._given import Given, is_option, option_within
from executor_permissions.judge.rules._tokenize import as_text
from executor_permissions.judge.rules._valued import Valued, valued_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from executor_permissions.judge.bash._words import Command
    from executor_permissions.judge.rules._pinned import Addressed, Pinned, Switched
    from executor_permissions.judge.rules._wild import Wild

_KEY = re.compile(r"[A-Za-z_]\w*=")
FETCHING_EACH = frozenset({"curl", "wget"})  # they fetch from each address that they are given
_OCTAL = re.compile(r"0+([0-7]{3,4})\Z")


def _begins(token: str) -> bool:
    """Whether a wildcard is the first character of *token*."""
    return token[:1] == STAR


def _goes_on(token: str) -> bool:
    """Whether a wildcard is the last character of *token*."""
    return literal(token) is None and not pieces_of(token)[-1]


@dataclass(slots=True)
class TokenPattern:
    """
    One pattern for shell commands.

    Allowing is narrow: a ``*`` inside a word stays in the word, only the last word may be any number of words. Denying
    is broad: a ``*`` at the end of a word is any further words too, one in front of a word any words before it.

    Attributes:
        text: As written in the file.
        tokens: Its words, without the last ``*``.
        tail: Whether the last word was ``*``: zero or more further words.
        prefix: Whether further words may follow in any case, as in ``arguments``.
        second: Its second word, if that has no wildcard: a command that it covers has the same.
        needs: Operands that it spells out: it catches no command without them, see `operands_of`.
    """

    text: str
    tokens: tuple[str, ...]
    tail: bool
    prefix: bool = False
    literals: tuple[str | None, ...] = field(init=False)
    second: str | None = field(init=False)
    needs: frozenset[str] = field(init=False)
    _tests: tuple[Callable[[str], bool] | None, ...] = field(init=False)
    _spelled: int = field(init=False)
    _options: tuple[str, ...] = field(init=False)
    _operands: tuple[Wildcard | None, ...] = field(init=False)
    _paths: tuple[Wildcard, ...] = field(init=False)
    _keys: tuple[Wildcard, ...] = field(init=False)
    _open: bool = field(init=False)
    _whole: Wildcard | None = field(init=False)
    _inner: TokenPattern | None = field(init=False)
    _valued: tuple[Valued, ...] = field(init=False)
    _beside: TokenPattern | None = field(init=False)
    _wild: tuple[Wild | Pinned | Switched | Addressed, ...] | None = field(init=False, default=None, compare=False)

    def __post_init__(self) -> None:
        self.literals = tuple(literal(token) for token in self.tokens)
        self._tests = tuple(
            _test_of(token) if text is None else None for token, text in zip(self.tokens, self.literals, strict=True)
        )
        self.second = self.literals[1] if len(self.literals) > 1 else None
        self._spelled = self._count_spelled()
        self._read_broadly()
        known = not (self._paths or self._whole or self._inner or self._valued)
        self.needs = frozenset(
            one.pieces[0] for one in self._operands if known and one is not None and len(one.pieces) == 1
        )

    @classmethod
    def of(cls, text: str, tokens: list[str]) -> TokenPattern:
        """The pattern that *tokens* make; the last ``*`` becomes the tail."""
        tail = len(tokens) > 1 and tokens[-1] == STAR
        return cls(text, tuple(tokens[:-1] if tail else tokens), tail)

    def _count_spelled(self) -> int:
        count = 0
        for i, text in enumerate(self.literals):
            if text is None and not is_option(self.tokens, i):
                break
            count += 1
        return count

    def _read_broadly(self) -> None:
        """What denying compares: options in any order, operands in theirs, and the whole as a text."""
        first, rest = self.tokens[0], self.tokens[1:]
        self._options = tuple(token for token in rest if token[:1] == "-" and token not in ("-", "--"))
        # "dd of=/dev/*": found wherever it stands; "dd if=" with any value.
        keys = [token for token in rest if _KEY.match(token)]
        self._keys = tuple(map(value_of, keys))
        operands = [token for token in rest if (token[:1] != "-" or len(token) == 1) and token not in keys]
        while operands and operands[-1] == STAR:
            operands.pop()
        are_paths = bool(operands) and all(token[:1] in ("/", "~") for token in operands)
        self._paths = tuple(map(Wildcard.of, operands)) if are_paths else ()
        self._operands = tuple(_with_gaps(operands))
        ends = len(self.tokens) == 1 or STAR in rest or bool(keys) or _goes_on(self.tokens[-1])
        self._open = self.tail or self.prefix or ends or self.tokens[-1] in self._options  # "git push x --force" too
        glued = any(text is None and token != STAR for token, text in zip(self.tokens, self.literals, strict=True))
        more = STAR if self.prefix else " *" if self.tail else ""
        self._whole = Wildcard.of(" ".join(self.tokens) + more) if glued else None
        # "*rm" is rm itself too, and "*--force*" an option, which may be spelled -f.
        begun = within if _begins(first) and literal(within := first.lstrip(STAR)) is not None else first
        plain = (begun, *(option_within(token) for token in rest))
        differs = plain != self.tokens and begun and literal(begun) is not None and rest
        self._inner = TokenPattern(self.text, plain, self.tail, self.prefix) if differs else None
        self._valued, beside = valued_in(self.tokens)
        self._beside = TokenPattern(self.text, beside, self.tail, self.prefix) if self._valued else None
        if self._beside is not None:
            self._beside._open = self._open  # noqa: SLF001 -- its own

    @property
    def program(self) -> str | None:
        """The program it is about, or None if that has a wildcard."""
        return self.literals[0]

    @property
    def is_anywhere(self) -> bool:
        """Whether denying looks for it anywhere in a command: a ``*`` is in front."""
        return _begins(self.tokens[0])

    @property
    def as_text(self) -> Wildcard | None:
        """For denying: what to look for in a whole line as it is written, for what is not found word by word."""
        whole = " ".join((*self.tokens, *((STAR,) if self.tail else ())))
        if self.is_anywhere:
            return Wildcard.of(as_text(whole))
        if _KEY.match(whole) or any(character in whole for character in "<>$`"):
            return Wildcard(("", *Wildcard.of(as_text(whole)).pieces, *(("",) if self._open else ())))
        return None

    # Allowing: strictly word by word.

    def covers(self, command: Command) -> bool:
        """Whether every word of *command* is covered, and what may run or write something is spelled out."""
        words = command.words
        more = len(words) - len(self.tokens)
        if more < 0 or (more and not self.tail) or self.literals[0] is None or type(words[0]) is not str:
            return False
        for word, text, test in zip(words, self.literals, self._tests, strict=False):
            # A word that stands for itself says nothing of those that become names of files.
            if type(word) is not str and (test is None or type(word) is not Glob or "[" in word):
                return False
            if not (word == text if test is None else test(word)):
                return False
        if more and Unknown in map(type, words[-more:]):
            return False
        says = None in self.literals or (more and (self._options or self.tokens[0] in FETCHING_EACH))
        if says and not self._stays(words):
            return False
        return self._reaches(command)

    def _stays(self, words: list[str]) -> bool:
        """Whether what its wildcards cover is below what it names, and says nothing else of the same."""
        if self._wild is None:
            from executor_permissions.judge.rules._pinned import pinned  # few rules that allow have any
            from executor_permissions.judge.rules._wild import wild_words

            self._wild = (*wild_words(self.tokens), *pinned(self.tokens))
        return all(one.holds(words) for one in self._wild)

    def _reaches(self, command: Command) -> bool:
        reach = _guard()(command)
        if reach < self._spelled or self._names_find_option(command, reach):
            return True
        # Word for word the command itself: only what comes from its input is left open.
        exact = not self.tail and self._spelled == len(self.tokens)
        return exact and not command.stdin and reach == len(command.words) - 1

    def _names_find_option(self, command: Command, reach: int) -> bool:
        """``find * -delete``: the option is spelled out, and what is before it are folders."""
        if self.program != "find" or reach >= len(self.tokens) or self.literals[reach] is None:
            return False
        before = zip(command.words[:reach], self.literals, strict=False)
        return all(text is not None or word[:1] not in ("-", "(", "!") for word, text in before)

    # Denying: any spelling.

    def catches(self, words: list[str]) -> Match:
        """Whether *words* are this command in any spelling."""
        program = words[0]
        if type(program) is not str:
            return 1
        name = program.rpartition("/")[2] or program
        best = self._spelled_out(name, words)
        if best < 2 and self._whole is not None:
            best = max(best, self._as_words(name, words))
        if best < 2 and self._inner is not None:
            best = max(best, self._inner.catches(words))
        if best < 2 and self._beside is not None:  # "--context prod" is "--context=prod", wherever it stands
            given = min(one.found(words) for one in self._valued)
            best = max(best, min(given, self._beside.catches(words))) if given else best
        return best

    def _spelled_out(self, name: str, words: list[str]) -> Match:
        """Its program, with its options and operands in whatever order and clusters."""
        if not self._is_program(name):
            return 0
        best: Match = 2
        for key in self._keys:
            best = min(best, max(fits(word, key) for word in words))
        best = min(best, self._operands_found(words)) if best else 0
        return min(best, self._options_found(words)) if best else 0

    def _as_words(self, name: str, words: list[str]) -> Match:
        """Whether the whole pattern fits the words as one text, or a word of its own what is looked for anywhere."""
        whole = self._whole
        if whole is None:
            return 0
        if whole.fits(" ".join((name, *words[1:]))):
            return 2
        if not self.is_anywhere:
            return 0
        if whole.pieces[-1]:
            if any(type(word) is str and whole.fits(word) for word in words):
                return 2
        elif whole.fits("/ ".join(words) + "/"):  # "ls /etc" is about "*/etc/*" too
            return 2
        return 1 if any(isinstance(word, Unknown) and _may_be(word, whole) for word in words) else 0

    def _is_program(self, name: str) -> bool:
        text, test = self.literals[0], self._tests[0]
        if text is None:
            if self.is_anywhere or test is None:
                return test is not None and test(name)
            return Wildcard.of(self.tokens[0].rpartition("/")[2]).fits(name)  # the folder may be spelled in many ways
        own = text.rpartition("/")[2] or text
        return name == own or name.startswith(own + ".")

    def _options_found(self, words: list[str]) -> Match:
        if not self._options:
            return 2
        given = Given(self.program or "", words)
        if all(given.has(option) for option in self._options):
            return 2
        return 1 if any(_may_be_option(word) for word in words) else 0

    def _operands_found(self, words: list[str]) -> Match:
        operands = _operands(words)
        if self._paths:
            return _paths_found(self._paths, operands)
        return in_order(self._operands, operands, open_end=self._open)


@cache
def _guard() -> Callable[[Command], int]:
    """`exposed`, and with it the tables of options, 20 ms: once a command fits."""
    from executor_permissions.judge.rules._guards import exposed

    return exposed


def operands_of(words: list[str]) -> frozenset[str] | None:
    """All that *words* may be to the operands of a pattern; None if that is not plain: of unknown words, of modes."""
    if not KNOWN.issuperset(map(type, words)) or words[0].endswith("chmod"):
        return None
    if "/" not in " ".join(words):
        return frozenset(words)
    return frozenset(words) | {normal(word) for word in words if "/" in word}


def _test_of(token: str) -> Callable[[str], bool]:
    """Whether a word fits *token*, which has a wildcard: what stands for itself in it fits no wildcard of the shell."""
    wildcard = Wildcard.of(token)
    if any("*" in piece or "?" in piece for piece in wildcard.pieces):
        return lambda word: type(word) is not Glob and wildcard.fits(word)
    return wildcard.fits


def _may_be_option(word: str) -> bool:
    """Whether a word that is not known may become an option: a file may be called ``--force``."""
    return type(word) is Unknown or (type(word) is Glob and word[:1] in ("-", "*", "?", "["))


def _may_be(word: Unknown, whole: Wildcard) -> bool:
    """Whether a word that nobody knows may hold what is looked for: a number only if that is one."""
    return type(word) is not Number or any(character.isdigit() for piece in whole.pieces for character in piece)


def _with_gaps(tokens: list[str]) -> Iterator[Wildcard | None]:
    """The operands to be found in their order; None is any number of words."""
    for token in tokens:
        if token == STAR:
            yield None
            continue
        if _begins(token):
            yield None
        yield value_of(bare(token))
        if _goes_on(token):
            yield None


def _paths_found(wanted: tuple[Wildcard, ...], operands: list[tuple[str, bool]]) -> Match:
    """Paths are found wherever they stand: ``rm -rf a /`` is ``rm -rf /`` as well."""
    return min(max((fits(normal(word), path) for word, _ in operands), default=0) for path in wanted)


def _operands(words: list[str]) -> list[tuple[str, bool]]:
    """The words that are no options, each with whether it may be the value of an option in front of it."""
    result: list[tuple[str, bool]] = []
    after_option = only_operands = False
    chmod = words[0].endswith("chmod")
    for word in words[1:]:
        if not only_operands and word == "--" and type(word) is str:
            only_operands, after_option = True, False
        elif not only_operands and word[:1] == "-" and len(word) > 1 and type(word) is str:
            after_option = "=" not in word
        else:
            match = _OCTAL.match(word) if chmod and type(word) is str else None
            result.append((match[1] if match else word, after_option))
            after_option = False
    return result
