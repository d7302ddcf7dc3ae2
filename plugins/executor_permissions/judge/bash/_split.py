"""
The first parser, a strict one: a small bash, read from left to right in one pass.

It takes what it is sure of, and refuses the rest: whatever is not named here is not understood. Its time is linear in
the length of the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from executor_permissions.judge.bash._split_simple import SimpleSplitter
from executor_permissions.judge.bash._syntax import Branch, Compound, Item, Script, Simple, Word

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor_permissions.judge.bash._marks import Mark
    from executor_permissions.judge.bash._syntax import CompoundKind, Node, Pipe, Separator

MAX_PIPES = 250  # in one pipeline

_SEPARATOR = re.compile(r"&&|\|\||;(?![;&])|&(?![&>])|\n")
_PIPE = re.compile(r"\|&?(?!\|)")
_CASE_END = re.compile(r";;&?|;&")
_PORTABLE = re.compile(r"-p(?=[ \t])")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+(?=[ \t\n])")
_REFUSED_WORDS = {
    "function": "it defines a function",
    "select": "it has a menu",
    "coproc": "it starts a coprocess",
}


# A pipeline, but for whether it runs in the background: operator, nodes, pipes, negated, timed.
_Pipeline: TypeAlias = "tuple[Separator, tuple[Node, ...], tuple[Pipe, ...], bool, bool]"


def split(text: str) -> tuple[Script, list[Mark]]:
    """
    What *text* is, and the marks of its tokens, in order.

    Raises:
        NotUnderstoodError: It is outside the small language, or over a limit.
        RecursionError: The caller's stack is nearly full.
    """
    splitter = _Splitter(text)
    script = splitter.script(frozenset())
    if splitter.at != splitter.end:
        splitter.refuse_here()
    if splitter.pending:
        splitter.refuse("it has a here-document without an end")
    splitter.marks.sort()
    return script, splitter.marks


class _Splitter(SimpleSplitter):
    """Lists, pipelines and compound commands."""

    __slots__ = ()

    def substituted(self, opening: str, closing: str) -> Script:
        """
        The script of a substitution.

        bash 5.2 prints the command of ``$(…)`` and parses what it printed. Behind a here-document it then loses the
        next ``;``: whatever has one inside must be a single simple command.
        """
        if self.pending:
            self.refuse("a substitution stands behind a here-document")
        commands, inputs = self.commands, self.inputs
        self.enter()
        self.token(opening)
        script = self.script(frozenset())
        if not script.items or self.pending or not self.text.startswith(closing, self.at):
            self.refuse_here()
        if self.inputs > inputs and not (self.commands == commands + 1 and _is_single(script)):
            self.refuse("a substitution has a here-document, and more than one command")
        self.token(closing)
        self.leave()
        return script

    def script(self, closers: frozenset[str]) -> Script:
        """Commands up to a reserved word of *closers*, or to what no command begins with."""
        items: list[Item] = []
        waiting: list[_Pipeline] = []  # of one list, of which only its end says whether it runs in the background
        operator: Separator = ""
        self.skip_lines()
        start = self.at
        while not self._closes(word := self.reserved(), closers):
            waiting.append(self._pipeline(operator, word))
            operator = self._separator()
            if operator in ("&&", "||"):
                self.skip_lines()
                continue
            items += [Item(*pipeline, operator == "&") for pipeline in waiting]
            waiting.clear()
            if not operator:
                break
            self.skip_lines()
        if waiting:
            self.refuse_here()
        return Script(tuple(items), (start, self.at))

    def _closes(self, word: str | None, closers: frozenset[str]) -> bool:
        """Whether a script ends here, where the reserved *word* stands, or none."""
        if word is not None:
            return word in closers
        return self.at >= self.end or self.text[self.at] in ");"

    def _separator(self) -> Separator:
        """What ends a pipeline; empty where nothing does, and so the script must end."""
        self.skip_comment()
        match = _SEPARATOR.match(self.text, self.at, self.end)
        if match is None:
            return ""
        if match[0] == "\n":
            self.newline()
        else:
            self.token(match[0])
        return match[0]  # type: ignore[return-value]  # one of those that the expression names

    def _pipeline(self, operator: Separator, word: str | None) -> _Pipeline:
        negated, timed = word == "!", word == "time"
        if word in ("!", "time"):
            self.token(word)
            self.skip_blanks()
            if timed and _PORTABLE.match(self.text, self.at, self.end):
                self.token("-p", kind="word", part="u")
                self.skip_blanks()
            if timed and not self.at_program():
                self.refuse("it has 'time' in front of something else than a program")
            word = self.reserved()
        nodes = [self._node(word)]
        pipes: list[Pipe] = []
        while (match := _PIPE.match(self.text, self.at, self.end)) is not None:
            self.token(match[0])
            pipes.append(match[0])  # type: ignore[arg-type]  # one of those that the expression names
            self.skip_lines()
            nodes.append(self._node(self.reserved()))
        if len(pipes) > MAX_PIPES:
            self.refuse(f"it has more than {MAX_PIPES} pipes in a line")
        return operator, tuple(nodes), tuple(pipes), negated, timed

    def _node(self, word: str | None) -> Node:
        if word is None:
            if self.text.startswith("(", self.at):
                return self._compound("subshell", _Splitter.read_subshell)
            return self.simple()
        if word == "[[":
            return self.test()
        reader = _COMPOUNDS.get(word)
        if reader is None:
            self.refuse(_REFUSED_WORDS.get(word, f"it has {word!r} where a program should stand"))
        return self._compound(*reader)

    # Compound commands.

    def _compound(self, kind: CompoundKind, read: Callable[[_Splitter], _Parts]) -> Compound:
        start = self.at
        self.enter()
        parts = read(self)
        self.leave()
        self.skip_blanks()
        redirects = []
        while self.at_redirect():
            redirects.append(self.redirect())
            self.skip_blanks()
        end = redirects[-1].span[1] if redirects else parts.end
        return Compound(kind, tuple(parts.branches), tuple(redirects), (start, end), parts.variable, parts.words)

    def _body(self, *closers: str) -> Script:
        """A script that must not be empty, up to one of the reserved words *closers*."""
        script = self.script(frozenset(closers))
        if not script.items:
            self.refuse_here()
        return script

    def _reserved(self, word: str) -> None:
        if self.reserved() != word:
            self.refuse_here()
        self.token(word)

    def read_subshell(self) -> _Parts:
        if self.text.startswith("((", self.at):
            self.refuse("it has arithmetic commands")
        self.token("(")
        body = self._body()
        if not self.text.startswith(")", self.at) or self.at >= self.end:
            self.refuse_here()
        self.token(")")
        return _Parts([Branch(None, body)], self.at)

    def read_group(self) -> _Parts:
        self.token("{")
        body = self._body("}")
        self._reserved("}")
        return _Parts([Branch(None, body)], self.at)

    def read_if(self) -> _Parts:
        branches = []
        word = "if"
        while word in ("if", "elif"):
            self._reserved(word)
            condition = self._body("then")
            self._reserved("then")
            branches.append(Branch(condition, self._body("elif", "else", "fi")))
            word = self.reserved() or ""
        if word == "else":
            self._reserved("else")
            branches.append(Branch(None, self._body("fi")))
        self._reserved("fi")
        return _Parts(branches, self.at)

    def read_loop(self) -> _Parts:
        self.token(self.reserved() or "")
        condition = self._body("do")
        return _Parts([Branch(condition, self._done())], self.at)

    def _done(self) -> Script:
        self._reserved("do")
        body = self._body("done")
        self._reserved("done")
        return body

    def read_for(self) -> _Parts:
        self.token("for")
        self.skip_blanks()
        name = _NAME.match(self.text, self.at, self.end)
        if name is None:
            self.refuse("it has a loop without a plain variable")
        self.token(name[0], kind="word", part="u")
        self.skip_blanks()
        self._reserved("in")
        words = self._words()
        separator = self._separator()
        if separator not in (";", "\n"):
            self.refuse_here()
        self.skip_lines()
        return _Parts([Branch(None, self._done())], self.at, name[0], words)

    def _words(self) -> tuple[Word, ...]:
        words = []
        self.skip_blanks()
        while self.at < self.end and self.text[self.at] not in "\n;#&|)<>":
            words.append(self.word("word"))
            self.skip_blanks()
        return tuple(words)

    def read_case(self) -> _Parts:
        self.token("case")
        self.skip_blanks()
        subject = self._case_word()
        self._reserved("in")
        self.skip_lines()
        branches = []
        while self.reserved() != "esac":
            branch = self._case_branch()
            branches.append(branch)
            if not branch.end:
                break
            self.skip_lines()
        self._reserved("esac")
        return _Parts(branches, self.at, None, (subject,))

    def _case_word(self) -> Word:
        word = self.word("word")
        if not word.pieces:
            self.refuse_here()
        self.skip_blanks()
        return word

    def _case_branch(self) -> Branch:
        if self.text.startswith("(", self.at):
            self.token("(")
            self.skip_blanks()
        patterns = [self._case_word()]
        while self.text.startswith("|", self.at):
            self.token("|")
            self.skip_blanks()
            patterns.append(self._case_word())
        if not self.text.startswith(")", self.at):
            self.refuse_here()
        self.token(")")
        body = self.script(frozenset({"esac"}))
        end = _CASE_END.match(self.text, self.at, self.end)
        if end is not None:
            self.token(end[0])
        return Branch(None, body, tuple(patterns), end[0] if end else "")


def _is_single(script: Script) -> bool:
    """Whether *script* is one simple command, and nothing beside it."""
    item = script.items[0]
    alone = len(script.items) == len(item.nodes) == 1 and not (item.negated or item.timed or item.background)
    return alone and type(item.nodes[0]) is Simple


class _Parts(NamedTuple):
    branches: list[Branch]
    end: int
    variable: str | None = None
    words: tuple[Word, ...] | None = None


_COMPOUNDS: dict[str, tuple[CompoundKind, Callable[[_Splitter], _Parts]]] = {
    "{": ("group", _Splitter.read_group),
    "if": ("if", _Splitter.read_if),
    "while": ("while", _Splitter.read_loop),
    "until": ("until", _Splitter.read_loop),
    "for": ("for", _Splitter.read_for),
    "case": ("case", _Splitter.read_case),
}
