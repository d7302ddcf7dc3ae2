"""What a terminal and a person say to each other about one question, line by line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from executor._json import to_text
from executor.permission._visible import question_text, visible
from executor.values._approval import Answer, read_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.values._approval import Approval

TRIES = 3  # so many times an answer may be misspelt before it is a no
_EXPLAINED = {
    "yes": "y, yes, once    let it run this time; 'y: TEXT' tells the model something with it",
    "no": "n, no           do not let it run; 'n: TEXT' tells the model why",
    "always": "a, always       let it run now and from now on, as far as the question says",
    "never": "never           do not let it run, now and from now on",
    "turn": "t, turn         let everything run until the model's turn is over; what is forbidden stays so",
    "idle": "i, idle         the same, until the assistant waits for you",
    "all": "all             the same, for the rest of the session",
    "comment": "c, comment      do not let it run, and tell the model what to do instead",
    "edit": "e, edit         change the arguments, and let it run with them",
}


class Heard(NamedTuple):
    """
    What a line of the person's comes to.

    Attributes:
        say: What to write next.
        answer: The answer, when there is one.
        edit: The person wants an editor.
    """

    say: str
    answer: Answer | None = None
    edit: bool = False


class Dialogue:
    """
    One question on a terminal. `opening` is written first; `hear` takes each line and says what to do.

    Attributes:
        opening: The question, and the legend of the answers.
        draft: What an edit begins with.
    """

    def __init__(self, approval: Approval) -> None:
        self._approval = approval
        self._left = TRIES
        self._next: Callable[[str], Heard] = self._choose
        self._fields: list[tuple[str, Any]] = []
        self._edited: dict[str, Any] = {}
        self._legend = _legend(approval.options)
        self.draft = approval.arguments if approval.draft is None else approval.draft
        text = approval.text or question_text(approval.tool, approval.arguments, approval.reason)
        self.opening = f"\n{text}\n{self._legend}"
        if approval.secret:
            self._next = self._secret
            self.opening = f"\n{text}\n(not shown; an empty line is a no) > "

    def hear(self, line: str) -> Heard:
        """Take one line."""
        return self._next(line.strip("\r\n"))

    def _secret(self, line: str) -> Heard:
        return Heard("\n", Answer("comment", line) if line else Answer("no"))

    def _choose(self, line: str) -> Heard:
        text = line.strip()
        word = text.lower()
        options = self._approval.options
        if not text:
            return Heard(self._legend)
        if word == "?":
            return Heard(f"{self._explain()}\n{self._legend}")
        if word in ("e", "edit") and "edit" in options:
            return Heard("", edit=True)
        if word in ("c", "comment", "c:", "comment:") and "comment" in options:
            self._next = self._comment
            return Heard("in words: ")
        answer = read_answer(text)
        if answer is not None and (answer.word in options or answer.word == "no"):
            return Heard("", answer)
        self._left -= 1
        if not self._left:
            return Heard("(not understood: no)\n", Answer("no"))
        why = "is no answer" if answer is None else "cannot be answered here"
        return Heard(f"{visible(text, 60)!r} {why}; ? explains\n{self._legend}")

    def _explain(self) -> str:
        lines = [text for word, text in _EXPLAINED.items() if word in self._approval.options]
        return "\n".join([*lines, self._approval.help] if self._approval.help else lines)

    def _comment(self, line: str) -> Heard:
        self._next = self._choose
        text = line.strip()
        return Heard("", Answer("comment", text)) if text else Heard(self._legend)

    # Editing.

    def edited(self, text: str) -> Heard:
        """Take the arguments as an editor left them."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            return Heard(f"(that is not JSON: {visible(str(error), 200)})\n{self._legend}")
        if not isinstance(value, dict):
            return Heard(f"(the arguments have to be a JSON object)\n{self._legend}")
        return self._changed(value)

    def edit_by_line(self) -> Heard:
        """Ask for each argument in turn: for where there is no editor."""
        self._fields, self._edited = list(self.draft.items()), {}
        self._next = self._field
        return Heard(f"an empty line leaves a value as it is\n{self._ask_field()}")

    def _ask_field(self) -> str:
        if not self._fields:
            return ""
        name, value = self._fields[0]
        return f"{visible(name, 60)} [{visible(to_text(value), 300)}]: "

    def _field(self, line: str) -> Heard:
        if self._fields:
            name, value = self._fields[0]
            try:
                self._edited[name] = _value_of(line, value) if line else value
            except (ValueError, RecursionError) as error:
                return Heard(f"(that is not JSON: {error})\n{self._ask_field()}")
            self._fields.pop(0)
        if self._fields:
            return Heard(self._ask_field())
        return self._changed(self._edited)

    def _changed(self, arguments: dict[str, Any]) -> Heard:
        self._next = self._choose
        if arguments == self.draft:
            return Heard(f"(nothing was changed)\n{self._legend}")
        return Heard(f"with {visible(to_text(arguments))}\n", Answer("edit", arguments))


def _value_of(line: str, before: object) -> Any:
    """What a person means who types *line* in place of *before*. Raises ValueError for what should be JSON."""
    if isinstance(before, str) and not line.startswith('"'):
        return line
    try:
        return json.loads(line)
    except ValueError:
        if before is None:  # nothing says that it is no text
            return line
        raise


def _legend(options: tuple[str, ...]) -> str:
    """The answers in one line."""
    told = ["y once" if "once" in options else "y yes", "n no"]
    if "always" in options:
        told.append("a always")
    return " · ".join([*told, "? more > "])
