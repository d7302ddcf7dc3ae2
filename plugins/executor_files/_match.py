"""
Matching a regular expression against lines, so that no expression can freeze the process.

``re`` cannot be interrupted, and holds the interpreter lock: a match that backtracks without end (``(a+)+$``) would
stop every thread of the assistant, its timers included. Expressions that can do so are therefore matched in a process
of their own, which can be killed; it costs some 20 ms once a search. The others are matched here.
"""

from __future__ import annotations

import json
import re
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from executor import current_call
from executor.errors import ToolFailedError
from executor.interpreter import WITHOUT, interpreter
from executor_files._common import check_stop

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

MAX_LINE = 2000  # characters of a line that are looked at
MATCH_SECONDS = 20  # for all lines of one file; even x.*y.*z needs less on lines of MAX_LINE characters
_STOP_EVERY = 1000  # lines between two looks whether the call should stop
_BACKTRACKING = frozenset("*+?{|")  # without any of these a match takes no longer than the text is long

# Reads [pattern, flags, seconds], then one list of lines a line; answers each list as `Matcher` does.
# The alarm ends it by the system, not by Python, which would first wait for the match.
_CHILD = """
import json, re, signal, sys
pattern, flags, seconds = json.loads(sys.stdin.readline())
search = re.compile(pattern, flags).search
signal.signal(signal.SIGALRM, signal.SIG_DFL)
for request in sys.stdin:
    signal.setitimer(signal.ITIMER_REAL, seconds)
    found = [(n, m.start()) for n, line in enumerate(json.loads(request)) if (m := search(line))]
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(json.dumps(found), flush=True)
"""


class Matcher(Protocol):
    """What finds the lines that match."""

    def __call__(self, lines: list[str]) -> list[tuple[int, int]]:
        """(index, column from 0) of each of *lines*, at most `MAX_LINE` characters long, that matches."""
        ...


def matcher(pattern: str, *, ignore_case: bool) -> AbstractContextManager[Matcher]:
    """
    A matcher for *pattern*, to be used in a ``with`` block.

    Raises:
        ToolFailedError: The pattern is no regular expression.
    """
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    try:
        compiled = re.compile(pattern, flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise ToolFailedError(
            f"The pattern {pattern!r} is not a regular expression: {error}. Put a backslash before characters that are "
            r"meant as they are, as in \( or \."
        ) from error
    return _in_process(compiled) if _BACKTRACKING.isdisjoint(pattern) else _in_child(compiled)


@contextmanager
def _in_process(pattern: re.Pattern[str]) -> Iterator[Matcher]:
    def match(lines: list[str]) -> list[tuple[int, int]]:
        matches = []
        for number, line in enumerate(lines):
            if number % _STOP_EVERY == 0:
                check_stop()
            if found := pattern.search(line):
                matches.append((number, found.start()))
        return matches

    yield match


@contextmanager
def _in_child(pattern: re.Pattern[str]) -> Iterator[Matcher]:
    python = interpreter()
    if python is None:
        raise ToolFailedError(
            f"The pattern {pattern.pattern!r} cannot be matched safely, because {WITHOUT}: "
            "use a pattern without * + ? { and |"
        )
    import subprocess

    # -I -S: nothing of the environment or of installed packages is loaded: it starts fast, and everywhere the same.
    child = subprocess.Popen(
        [python, "-I", "-S", "-X", "utf8", "-c", _CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    call = current_call()
    forget = None if call is None else call.on_cancel(child.kill)
    try:
        yield _Conversation(child, pattern)
    finally:
        if forget is not None:
            forget()
        child.kill()
        child.communicate()


class _Conversation:
    def __init__(self, child: subprocess.Popen[str], pattern: re.Pattern[str]) -> None:
        self._child = child
        self._pattern = pattern.pattern
        self._first = json.dumps([pattern.pattern, int(pattern.flags & re.IGNORECASE), MATCH_SECONDS]) + "\n"

    def __call__(self, lines: list[str]) -> list[tuple[int, int]]:
        answer = self._ask(self._first + json.dumps(lines) + "\n")
        self._first = ""
        check_stop()
        if not answer:
            raise self._ended()
        return [(index, column) for index, column in json.loads(answer)]

    def _ask(self, request: str) -> str:
        """The answer; empty when the other process was ended."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.write(request)
            self._child.stdin.flush()
        except BrokenPipeError:
            return ""
        return self._child.stdout.readline()

    def _ended(self) -> ToolFailedError:
        code = self._child.wait()  # its output is closed: it has ended, or is about to
        if code == -signal.SIGALRM:
            return ToolFailedError(
                f"The pattern {self._pattern!r} took more than {MATCH_SECONDS} seconds on one file: repeats inside "
                "repeats, as in (a+)+, may never end. Write it without them, or with possessive repeats, as in (a++)+"
            )
        return ToolFailedError(
            f"The pattern {self._pattern!r} could not be matched: the process for it ({interpreter()}) ended with "
            f"code {code}. Use a pattern without * + ? {{ and |"
        )
