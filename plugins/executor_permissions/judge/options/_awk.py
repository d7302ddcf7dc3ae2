"""
A small awk: programs that read their input and print, and do nothing else.

Not in it, so never covered: ``system``, pipes, ``getline``, output to files, ``@`` (load, include, indirect calls),
``ENVIRON`` (secrets), ``ARGV`` (further files). The program is cut into tokens in one pass; where a slash may be a
division for one awk and begin an expression for another, the program is not understood.
"""

from __future__ import annotations

import re
from functools import lru_cache

_REFUSED = frozenset(
    {"system", "getline", "close", "fflush", "ENVIRON", "ARGV", "ARGC", "PROCINFO", "SYMTAB", "FUNCTAB", "extension"}
)
_STATEMENTS = frozenset({"print", "printf"})
_BEFORE_CONDITION = frozenset({"if", "while", "for", "switch"})
# Behind these words a slash begins an expression; behind other names it divides.
_OPERATORS = frozenset({"in", "print", "printf", "return", "else", "do", "case", "delete", "exit"})
_UNCLEAR_NAMES = frozenset({"length", "func", "function"})
_TOKEN = re.compile(
    r"(?P<blank>[ \t\r]+|\\\r?\n|\#[^\n]*)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<number>\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\[^\n])*\")"
    r"|(?P<sign>\|\||&&|\+\+|--|>=|<=|==|!=|[-+*/%^=!<>~?:,;(){}\[\]$|&\n])"
)
_STRING = re.compile(r"\"(?:[^\"\\\n]|\\[^\n])*\"")
_EXPRESSION = re.compile(r"/(?:[^/\\\n\[]|\\[^\n]|\[\^?+\]?+(?:[^]\\/\n\[]|\\[^\n])*+\])*+/")
_STANDARD_STREAMS = frozenset({'"/dev/stderr"', '"/dev/stdout"'})
_ENDS = frozenset({";", "\n", "}", ""})


@lru_cache(maxsize=64)
def is_safe_awk(program: str) -> bool:
    """Whether *program* is understood, and runs, reads and writes nothing besides its input and output."""
    return _Program().is_safe(program)


def texts_of_awk(program: str) -> list[str]:
    """The texts in *program*, each of which may be the name of a file or a command."""
    return [text[1:-1] for text in _STRING.findall(program)]


class _Program:
    """Where in a program the tokens stand."""

    def __init__(self) -> None:
        self.before = ""  # the last token, its kind being:
        self.kind = "start"
        self.conditions: list[bool] = []  # for each open parenthesis, whether it belongs to if, while or for
        self.printing: int | None = None  # how many parentheses were open where a print began
        self.stream = False  # the last token named a stream to print to

    def is_safe(self, program: str) -> bool:
        at, end = 0, len(program)
        while at < end:
            if program[at] == "/":
                width = self._slash(program, at)
                if not width:
                    return False
                at += width
                continue
            match = _TOKEN.match(program, at)
            if match is None:
                return False
            at = match.end()
            kind = match.lastgroup or ""
            if kind != "blank" and not self._token(kind, match[0]):
                return False
        return not self.conditions

    def _slash(self, program: str, at: int) -> int:
        """The length of what begins with a slash at *at*; 0 if nobody can tell what it is."""
        divides = self._divides()
        if divides is None or self.stream or (self.before, self.kind) == (">", "print"):  # a file is named "0" or "1"
            return 0
        if divides:
            self.before, self.kind = "/", "sign"
            return 1
        match = _EXPRESSION.match(program, at)
        if match is None:
            return 0
        self.before, self.kind = "/", "value"
        return match.end() - at

    def _divides(self) -> bool | None:
        if self.kind in ("number", "string", "value"):
            return True
        if self.kind == "name":
            return None if self.before in _UNCLEAR_NAMES else self.before not in _OPERATORS
        return None if self.before in ("condition", "++", "--") else self.before in (")", "]")

    def _token(self, kind: str, text: str) -> bool:
        if self.stream and text not in _ENDS:
            return False
        self.stream = False
        if self.before == ">" and self.kind == "print":
            if text not in _STANDARD_STREAMS:
                return False
            self.stream = True
        if kind == "name":
            if text in _REFUSED:
                return False
            if text in _STATEMENTS:
                self.printing = len(self.conditions)
        if kind == "sign":
            return self._sign(text)
        self.before, self.kind = text, kind
        return True

    def _may_end(self) -> bool:
        """Whether a statement may end here: behind a comma or an operator it goes on in the next line."""
        return self.kind not in ("sign", "print") or self.before in (")", "]", "++", "--")

    def _sign(self, text: str) -> bool:
        if text in ("|", "&"):
            return False
        kind = "sign"
        if text == "(":
            self.conditions.append(self.kind == "name" and self.before in _BEFORE_CONDITION)
        elif text == ")":
            if not self.conditions:
                return False
            text = "condition" if self.conditions.pop() else ")"
        elif text in _ENDS and (text != "\n" or self._may_end()):
            self.printing = None
        elif text == ">" and self.printing is not None and self.printing >= len(self.conditions):
            kind = "print"
        self.before, self.kind = text, kind
        return True
