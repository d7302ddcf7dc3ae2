"""
Simple commands, as the strict parser reads them: ``A=1 ls -l > out``, and the blanks and comments between their tokens.
"""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn, cast

from executor_permissions.judge.bash._split_words import DELIMITER, WordSplitter
from executor_permissions.judge.bash._syntax import Assignment, Redirect, Simple, Text, Word

if TYPE_CHECKING:
    from executor_permissions.judge.bash._syntax import RedirectOperator

MAX_DEPTH = 80
MAX_COMMANDS = 250
MAX_REDIRECTIONS = 100

# A line is continued between words only: behind a blank.
_BLANKS = re.compile(r"[ \t]*+(?:(?<=[ \t])\\\n[ \t]*+)*+")
UNQUOTED = rf"[A-Za-z0-9_./:@%+,-][A-Za-z0-9_./:=@%+,^-]*+{DELIMITER}"
QUOTED = rf"'([^']*+)'{DELIMITER}|\"([^\"\\$`]*+)\"{DELIMITER}"
PLAIN = re.compile(rf"({UNQUOTED})|{QUOTED}")
PLAIN_PARTS = ("", "u", "r", "d")
_PLAIN_AND_BLANKS = re.compile(rf"(?:{PLAIN.pattern})(?:[ \t]++(?!\\\n))?+")  # but not those that continue a line
RESERVED = re.compile(
    r"(?:!|\{|\}|\[\[|\]\]|if|then|elif|else|fi|for|while|until|do|done|case|esac|in|select|function|coproc|time)"
    r"(?=[ \t\n;|&)<>]|\Z)"
)
_RESERVED_STARTS = frozenset("!{}[]itefwudcs")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*+)=")
_ASSIGNS_TO_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+(?:\[|\+=)")
_REDIRECT = re.compile(r"([0-9]*+)(<<<|<<-?|<&|<|>>|>&|>\||>|&>>?)")
_DUPLICATED = re.compile(r"(?:[0-9]|-)(?=[ \t\n;|&)]|\Z)(?!&>)")
_HEREDOC_WORD = re.compile(rf"[ \t]*+('[A-Za-z0-9_]++'|\"[A-Za-z0-9_]++\"|\\[A-Za-z0-9_]++|[A-Za-z0-9_]++){DELIMITER}")
_DASH_OR_DIGITS = frozenset("-0123456789")
# What these do to how the rest is read nobody follows, but for the usual ways to stop at an error.
_REREADING = frozenset({"alias", "shopt", "set"})
BEFORE_SETTINGS = _REREADING | {"command", "builtin"}
ONE_SIDED_TESTS = frozenset("-n -z -f -d -e -s -r -w -x -L -h -b -c -p -S -O -G -N -k -u -g".split())
_TWO_SIDED_TESTS = frozenset("= == != -nt -ot -ef".split())
_HARMLESS_SETTING = re.compile(r"[-+][eux]++o?\Z|[-+]o\Z|(?:pipefail|errexit|nounset|xtrace)\Z")


class SimpleSplitter(WordSplitter):
    """Reads simple commands at the current place."""

    __slots__ = ("_body_at", "_line_end", "commands", "inputs", "redirections")

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._line_end = self._body_at = 0  # where the pending here-documents' bodies begin, and where they end
        # How many simple commands, redirections, and << among these, there are.
        self.commands = self.redirections = self.inputs = 0

    def refuse_here(self) -> NoReturn:
        found = self.text[self.at : min(self.at + 10, self.end)].split("\n")[0]
        self.refuse(f"it has {found!r} where none can stand" if found else "it ends too early")

    # Between tokens.

    def token(self, text: str, kind: str | None = None, part: str = "") -> None:
        """Take *text*, which stands here."""
        start = self.at
        self.at += len(text)
        self.marks.append((start, self.at, kind or text, self.depth, part))

    def enter(self) -> None:
        """A compound command or a substitution begins."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.refuse("it is nested too deep")

    def leave(self) -> None:
        self.depth -= 1

    def reserved(self) -> str | None:
        """The reserved word that stands here, or None."""
        if self.at >= self.end or self.text[self.at] not in _RESERVED_STARTS:
            return None
        match = RESERVED.match(self.text, self.at, self.end)
        return match[0] if match else None

    def skip_blanks(self) -> None:
        if self.at >= self.end or self.text[self.at] not in " \t":
            return
        match = _BLANKS.match(self.text, self.at, self.end)
        if match is not None:
            if self.pending and "\n" in match[0]:
                self.refuse("a line continues behind a here-document")
            self.at = match.end()

    def skip_comment(self) -> None:
        """Blanks, and a comment if one begins here. It ends at the newline, whatever stands in front of that."""
        self.skip_blanks()
        if self.at < self.end and self.text[self.at] == "#":
            if self.text.endswith("\\\n", 0, self.at):
                self.refuse("a comment begins a continued line")
            stop = self.text.find("\n", self.at, self.end)
            self.token(self.text[self.at : stop if stop >= 0 else self.end], "comment")

    def skip_lines(self) -> None:
        """Everything up to the next token."""
        self.skip_comment()
        while self.at < self.end and self.text[self.at] == "\n":
            self.newline()
            self.skip_comment()

    def newline(self) -> None:
        """Take a newline, and the bodies of the here-documents that wait for it."""
        self.at += 1
        if self.pending:
            if self.at != self._line_end + 1:
                self.refuse("it has a here-document whose line is not certain")
            self.at, self.pending = self._body_at, 0

    # Simple commands.

    def simple(self) -> Simple:
        """The simple command that begins here, up to what separates it from the next, or a comment."""
        return self._simple(self.at, [])

    def test(self) -> Simple:
        """
        ``[[ -f a ]]``, of which only what every shell takes for words: dash looks for a program of that name.

        So there is no operator of shells in it, none whose operands are arithmetic, in which bash runs what stands in
        a subscript, and one test alone.
        """
        start = self.at
        first = self.word("program")
        self.skip_blanks()
        command = self._simple(start, [first])
        *words, last = command.words[1:] or command.words
        written = [word.literal for word in words]
        if written[:1] == ["!"]:
            del written[0]
        known = len(written) == 1 or (len(written) == 2 and written[0] in ONE_SIDED_TESTS)
        known = known or (len(written) == 3 and written[1] in _TWO_SIDED_TESTS)
        behind = all(redirect.span[0] > last.span[0] for redirect in command.redirects)
        if not (known and behind and self.text[slice(*last.span)] == "]]" and "]]" not in written):
            self.refuse("it has a [[ ]] test that is not one of files or texts")
        return command

    def _simple(self, start: int, words: list[Word]) -> Simple:
        """What is left of a command that begins at *start* with *words*."""
        stop = self.at
        assignments: list[Assignment] = []
        redirects: list[Redirect] = []
        while self.at < self.end:
            plain = PLAIN.match(self.text, self.at, self.end)
            if plain is not None and (words or self._is_program(plain[0], start)):
                stop = self._plain_words(words)
                continue
            if _REDIRECT.match(self.text, self.at, self.end):
                redirects.append(self.redirect())
            elif self.text[self.at] in "\n;|&)#":
                break
            elif words or not _ASSIGNMENT.match(self.text, self.at, self.end):
                words.append(self._odd_word(first=not words))
            else:
                assignments.append(self._assignment())
            stop = self.at
            self.skip_blanks()
        if start == stop:
            self.refuse_here()
        self._count(words)
        if redirects and any(one.operator[0] == "&" and one.span[1] <= words[-1].span[0] for one in redirects if words):
            # dash ends a command at "&", and begins another with ">".
            self.refuse("it has words behind '&>'")
        return Simple(tuple(assignments), tuple(words), tuple(redirects), (start, stop))

    def at_program(self) -> bool:
        """Whether a plain word stands here that can only be a program's name."""
        plain = PLAIN.match(self.text, self.at, self.end)
        return plain is not None and plain[0][0] != "-" and self._is_program(plain[0], self.at - 1)

    def _is_program(self, text: str, start: int) -> bool:
        """Whether the plain word *text* is no assignment, nor a reserved word behind the command's *start*."""
        if text[0] not in "'\"" and "=" in text:
            return False
        if self.at != start and self.reserved():
            self.refuse(f"it has {text!r} behind what stands in front of a program")
        return True

    def _plain_words(self, words: list[Word]) -> int:
        """Take words that are all plain, or all in quotes of one kind, as most are; where the last of them ends."""
        text, at, end, stop = self.text, self.at, self.end, self.at
        kind = "word" if words else "program"
        while (match := _PLAIN_AND_BLANKS.match(text, at, end)) is not None:
            self.count()
            form = match.lastindex or 0
            content = match[form]
            if self.pending and "\n" in content:
                self.refuse("a quote goes over several lines behind a here-document")
            stop = match.end(form) + (form > 1)
            self.marks.append((at, stop, kind, self.depth, PLAIN_PARTS[form]))
            words.append(Word((at, stop), (Text(content, form > 1),)))
            at, kind = match.end(), "word"
        self.at = at
        self.skip_blanks()
        return stop

    def _odd_word(self, *, first: bool) -> Word:
        if first and _ASSIGNS_TO_PART.match(self.text, self.at, self.end):
            self.refuse("it assigns to a part of a variable")
        if first and self.reserved():
            self.refuse_here()
        return self.word("program" if first else "word")

    def _assignment(self) -> Assignment:
        start = self.at
        match = cast("re.Match[str]", _ASSIGNMENT.match(self.text, start, self.end))
        self.at = match.end()
        value = self.word("assignment", start)
        return Assignment(match[1], value, (start, self.at))

    def _count(self, words: list[Word]) -> None:
        self.commands += 1
        if self.commands > MAX_COMMANDS:
            self.refuse(f"it has more than {MAX_COMMANDS} commands")
        if self.redirections > MAX_REDIRECTIONS:
            self.refuse(f"it has more than {MAX_REDIRECTIONS} redirections")
        self._check_settings(words)

    def _check_settings(self, words: list[Word]) -> None:
        """``alias``, ``shopt`` and ``set`` may change how what follows is read."""
        if not words or words[0].literal not in BEFORE_SETTINGS:
            return
        names = [word.literal for word in words[:3]]
        while names and names[0] in ("command", "builtin"):
            del names[0]
        if len(words) > 1 and names and names[0] in _REREADING:
            settings = [word.literal or "" for word in words[1:]]
            traced = "PS4" in self.text  # which is expanded, with the substitutions in it, in front of each command
            if names[0] != "set" or traced or not all(map(_HARMLESS_SETTING.match, settings)):
                self.refuse(f"{names[0]} may change how the rest is read")

    # Redirections.

    def at_redirect(self) -> bool:
        return _REDIRECT.match(self.text, self.at, self.end) is not None

    def redirect(self) -> Redirect:
        """The redirection that begins here."""
        start = self.at
        match = cast("re.Match[str]", _REDIRECT.match(self.text, start, self.end))
        digits, operator = match[1], cast("RedirectOperator", match[2])
        if start and self.text[start - 1] in "}0123456789":
            self.refuse("a redirection touches a word that may be its descriptor")
        # dash takes no more than one digit for a descriptor, and reads more as a word.
        if len(digits) > 1 or (digits and (operator[0] == "&" or operator.startswith("<<"))):
            self.refuse(f"it has a redirection with the descriptor {digits[:10]}")
        if digits:
            self.token(digits, "descriptor")
        self.token(operator)
        self.redirections += 1
        if operator in ("<<", "<<-"):
            return self._heredoc(start, operator)
        target = self._duplicated(operator) if operator in ("<&", ">&") else self._target()
        body = None
        if operator == "<<<":
            self.inputs += 1
            literal = target.literal
            body = None if literal is None else literal + "\n"
        return Redirect(operator, int(digits) if digits else None, target, body, (start, self.at))

    def _target(self) -> Word:
        if self.text.startswith("(", self.at):
            self.refuse("it has a process substitution")
        while self.at < self.end and self.text[self.at] in " \t":
            self.at += 1
        target = self.word("word")
        if not target.pieces:
            self.refuse("it redirects to nothing")
        return target

    def _duplicated(self, operator: str) -> Word:
        """
        ``-``, one digit, or for ``>&`` the name of a file, which begins and ends with neither.

        bash prints what is in a ``$( )`` and reads that again: ``>& -x`` becomes ``>&-x``, and that ``>&-`` and a word.
        """
        match = _DUPLICATED.match(self.text, self.at, self.end)
        if match is not None:
            start, self.at = self.at, match.end()
            self.marks.append((start, self.at, "word", self.depth, "u"))
            return Word((start, self.at), (Text(match[0], quoted=False),))
        target = self._target()
        name = target.literal
        if operator == "<&" or not name or name[0] in _DASH_OR_DIGITS or name.endswith("-"):
            self.refuse("it has a redirection to a descriptor that is not plain")
        return target

    def _heredoc(self, start: int, operator: RedirectOperator) -> Redirect:
        """A here-document: its body is what follows this line, up to a line that is exactly the delimiter."""
        self.inputs += 1
        match = _HEREDOC_WORD.match(self.text, self.at, self.end)
        if match is None:
            self.refuse("it has a here-document whose delimiter is not a plain word")
        written = match[1]
        delimiter = written.strip("'\"\\")
        self.at = match.start(1)
        self.token(written, "delimiter")
        target = Word((self.at - len(written), self.at), (Text(delimiter, written != delimiter),))
        body = self._heredoc_body(delimiter, tabs=operator == "<<-")
        if written == delimiter and not {"$", "`", "\\"}.isdisjoint(body):
            self.refuse("it has a here-document with expansions in it")
        return Redirect(operator, None, target, body, (start, self.at))

    def _heredoc_body(self, delimiter: str, *, tabs: bool) -> str:
        if not self.pending:
            self._line_end = self.text.find("\n", self.at, self.end)
            self._body_at = self._line_end + 1
            if self._line_end < 0:
                self.refuse("it has a here-document without an end")
        self.pending += 1
        lines: list[str] = []
        while True:
            if self._body_at >= self.end:
                self.refuse("it has a here-document without an end")
            stop = self.text.find("\n", self._body_at, self.end)
            line = self.text[self._body_at : stop if stop >= 0 else self.end]
            indent = len(line) - len(line.lstrip("\t")) if tabs else 0
            start = self._body_at + indent
            self._body_at = stop + 1 if stop >= 0 else self.end
            if line[indent:] == delimiter:
                self.marks.append((start, start + len(delimiter), "end", self.depth, ""))
                return "".join(lines)
            lines.append(line[indent:] + "\n")
