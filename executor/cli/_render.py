"""
What is shown, and where: results on stdout, everything else on stderr.

A tool's or model's text is never markup. On a terminal its control characters are made visible, because a terminal
would act on them; in files and pipes it stays as it is.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import shutil
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

import click

from executor.cli._errors import CliError, ExitCode, as_json
from executor.cli._tables import has_rich, plain_table, rich_table
from executor.jsontext import MAX_DEPTH, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# C0 and C1 controls but tab, newline and carriage return; and what reverses the order of the characters around it.
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

PATIENCE = 0.5  # seconds that somebody at a terminal waits without a word


def printable(text: str) -> str:
    """*text* for a terminal: nothing in it that the terminal would act on but tab, newline and carriage return."""
    return _UNSAFE.sub(lambda found: ascii(found.group())[1:-1], text)


def _in_lines(text: str) -> str:
    """The same of what is said in words: of each line nothing is written over."""
    return re.sub(r"\r(?!\n)", r"\\r", printable(text))


def _within(text: str) -> str:
    """What is said behind a word of ours: its further lines, which a tool or server may have written, begin none."""
    return re.sub(r"\n(?=[^\n])", "\n  ", text)


def _in_one_line(text: str) -> str:
    """The same on one line, which nothing in it can end or go back on."""
    return printable(text).replace("\r\n", " ").replace("\n", " ").replace("\r", " ").replace("\t", " ")


def to_json(value: Any) -> str:
    """*value* as indented JSON that stdout can carry; what JSON has no word for becomes text."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return _dump(value, indent=2, ensure_ascii=not encoding.lower().startswith("utf"))


def _dump(value: Any, **options: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False, **options)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_plain(value, 0), **options)


def stand_in(value: object) -> str:
    """The text that stands in JSON for a value that JSON cannot hold, such as an image or a date."""
    return str(json.loads(to_text(value)))  # to_text quotes it, and the JSON around it would once more


def _plain(value: Any, depth: int) -> Any:
    """A copy that is JSON, of anything that a tool may return."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    if not isinstance(value, Mapping | list | tuple | set | frozenset):
        return stand_in(value)
    if depth == MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    return [_plain(item, depth + 1) for item in value]


class Screen:
    """
    Writes for one run of the command.

    While a question is open, output of tools that still run waits until it is answered, and what is said beside is kept
    until then: nobody who says something waits, for it may be who brings the answer. `_lock` is held for each write to
    stderr, and guards the rest.

    Args:
        json_mode: stderr carries one JSON object a line instead of text.
    """

    def __init__(self, *, json_mode: bool = False) -> None:
        self.json_mode = json_mode
        self._lock = threading.RLock()
        self._answered = threading.Condition(self._lock)
        self._asking: set[int] = set()  # the threads that wait for an answer
        self._kept: list[str] = []  # what was said meanwhile
        self._in_line = False
        self._status = False

    def result(self, text: str) -> None:
        """Write a result to stdout, ended by a newline."""
        self.raw(_line(text))

    def raw(self, text: str) -> bool:
        """Write a result to stdout as it is. Returns whether anybody reads on."""
        self._end_line()
        return write(sys.stdout, text)

    def file(self, path: str) -> bool:
        """Write a file to stdout as it is. Returns False if it cannot be read, and nothing was written."""
        if sys.stdout is None:
            return True
        try:
            source = open(path, "rb")  # noqa: PTH123, SIM115 -- closed below; only this line's errors are the file's
        except OSError:
            return False
        with source, _reader_may_be_gone(sys.stdout):
            shutil.copyfileobj(source, sys.stdout.buffer)
            sys.stdout.flush()
        return True

    def json(self, value: Any) -> None:
        """Write a result to stdout, as JSON."""
        self.result(to_json(value))

    def heading(self, text: str) -> None:
        """Write a heading to stdout."""
        gap, text = "\n" * (len(text) - len(text.lstrip("\n"))), _in_lines(text.lstrip("\n"))
        write(sys.stdout, gap + _line(click.style(text, bold=True) if styled(sys.stdout) else text), safe=True)

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]], whole: Sequence[str] = ()) -> None:
        """
        Write a table to stdout.

        Args:
            whole: The columns of whose words nothing is cut where the terminal is narrow: they go on in the next line.
        """
        rows = [[_in_one_line(cell) for cell in row] for row in rows]
        rich = styled(sys.stdout) and has_rich()
        write(sys.stdout, _line(rich_table(headers, rows, whole) if rich else plain_table(headers, rows)), safe=True)

    def output(self, chunk: str) -> None:
        """Show a piece of a tool's output as it comes."""
        with self._lock:
            self._answered.wait_for(lambda: not self._asking or threading.get_ident() in self._asking)
            if self.json_mode:
                self._write(_dump({"output": chunk}) + "\n")
                return
            self._clear_status()
            write(sys.stderr, chunk)
            self._in_line = not chunk.endswith("\n") if chunk else self._in_line

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Show at a terminal how far a tool is, on a line that the next output takes the place of."""
        reached = f"{done:g}" if total is None else f"{done:g} of {total:g}"
        self._show_status(f"{reached} {message or ''}")

    @contextlib.contextmanager
    def working(self, what: str) -> Iterator[None]:
        """While the block runs, say at a terminal *what* is being done, if it takes longer than people wait for."""
        timer = threading.Timer(PATIENCE, self._show_status, [f"{what} …"])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()  # what it has begun to write is taken away again
            with self._lock:
                self._clear_status()

    def _show_status(self, text: str) -> None:
        if self.json_mode or not can_redraw(sys.stderr):
            return
        text = _in_one_line(text)
        with self._lock:
            if not self._in_line and not self._asking:  # neither what a tool has begun to write is written over
                self._clear_status()
                write(sys.stderr, text[: shutil.get_terminal_size().columns - 1], safe=True)
                self._status = True

    def _clear_status(self) -> None:
        if self._status:
            self._status = False
            write(sys.stderr, "\r\x1b[K", safe=True)

    def note(self, text: str) -> None:
        """Say something beside the result."""
        self._say("note", text, text, dim=True)

    def warning(self, text: str) -> None:
        """Say that something is not as it should be, although the command goes on."""
        self._say("warning", text, f"warning: {_within(text)}", fg="yellow")

    def error(self, error: click.ClickException, traceback: str = "") -> None:
        """Say why the command ends."""
        with self._lock:
            self._say_kept()  # nobody waits for an answer any more
        if self.json_mode:
            self._write(_dump(as_json(error)) + "\n")
            return
        if isinstance(error, click.exceptions.NoArgsIsHelpError):  # its message is the help
            self._write(self._styled(error.format_message()))
            return
        text = f"{traceback}error: {_within(error.format_message())}"
        if isinstance(error, click.UsageError) and error.ctx is not None:  # as our own: what is wrong, then what to do
            text += f"\n{error.ctx.get_usage()}\n'{error.ctx.command_path} --help' says more"
        self._write(self._styled(text, fg="red"))

    def _say(self, kind: str, told: str, text: str, **style: Any) -> None:
        line = _dump({kind: told}) + "\n" if self.json_mode else self._styled(text, **style)
        with self._lock:
            if self._asking:
                self._kept.append(line)
            else:
                self._write(line)

    def _say_kept(self) -> None:
        kept, self._kept = self._kept, []
        for line in kept:
            self._write(line)

    def _styled(self, text: str, **style: Any) -> str:
        text = _in_lines(text) if is_terminal(sys.stderr) else text
        return _line(click.style(text, **style) if styled(sys.stderr) else text)

    def _write(self, line: str) -> None:
        """Write a line of our own to stderr."""
        with self._lock:
            self._end_line()
            write(sys.stderr, line, safe=not self.json_mode)

    def _end_line(self) -> None:
        """What a tool wrote last may have left the line open."""
        with self._lock:
            self._clear_status()
            if self._in_line:
                self._in_line = False
                write(sys.stderr, "\n")

    def interrupted(self) -> None:
        """The terminal has written ``^C``: what comes next is to stand on a line of its own."""
        if is_terminal(sys.stderr) and not self.json_mode:
            self._in_line = True

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Show nothing while the block runs: this thread waits for the answer to a question."""
        with self._lock:
            self._end_line()
            self._asking.add(threading.get_ident())
        try:
            yield
        finally:
            with self._lock:
                self._asking.discard(threading.get_ident())
                if not self._asking:
                    self._say_kept()
                    self._answered.notify_all()


def _line(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody may be watching; a process can be started without any of its streams."""
    return stream is not None and not stream.closed and stream.isatty()


def styled(stream: TextIO | None) -> bool:
    """Whether colours may be written to *stream*."""
    return can_redraw(stream) and not os.environ.get("NO_COLOR")


def can_redraw(stream: TextIO | None) -> bool:
    """Whether what stands on *stream* can be written over; ``unknown`` is what `rich` takes for dumb as well."""
    return is_terminal(stream) and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def write(stream: TextIO | None, text: str, *, safe: bool = False) -> bool:
    """
    Write to a stream whose reader may have gone; *safe* text may hold our own colours.

    Returns:
        Whether anybody reads on; so it is taken of a stream that the process was started without.
    """
    if stream is None:
        return True
    if not safe and is_terminal(stream):
        text = printable(text)
    with _reader_may_be_gone(stream):
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
        return True
    return False


def flush(stream: TextIO | None) -> None:
    """Have what was written to *stream* written out. Raises CliError where that fails as in `pass_on`."""
    if stream is not None:
        with _reader_may_be_gone(stream):
            stream.flush()


def pass_on(stream: TextIO | None, text: str, raw: bytes) -> bool:
    """
    Write *raw*, or at a terminal the *text* that it is. Returns whether anybody reads on.

    Raises:
        CliError: It could not be written for another reason.
    """
    if stream is None:
        return True
    if is_terminal(stream):
        write(stream, text)
        return True
    with _reader_may_be_gone(stream):
        stream.flush()
        stream.buffer.write(raw)
        stream.buffer.flush()
        return True
    return False


@contextlib.contextmanager
def _reader_may_be_gone(stream: TextIO) -> Iterator[None]:
    """
    Write in the block; nothing more is written once nobody reads on.

    Raises:
        CliError: A result could not be written for another reason, such as a full disk.
    """
    try:
        yield
    except (OSError, ValueError) as error:  # a closed stream is a ValueError
        _discard_from_now_on(stream)
        # EPIPE: ``| head`` has read enough. EIO: the terminal was closed. Neither is an error of ours.
        if stream is not sys.stderr and isinstance(error, OSError) and error.errno not in (errno.EPIPE, errno.EIO):
            raise CliError(f"the result cannot be written: {error.strerror}", ExitCode.UNEXPECTED) from error


def _discard_from_now_on(stream: TextIO) -> None:
    with contextlib.suppress(OSError, ValueError):  # a stream without a descriptor has nothing to flush at exit either
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def for_person(value: Any) -> str:
    """A result as text for a person: texts as they are, an object as ``key: value`` lines, everything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and value:
        return "\n".join(_entry(str(key), item) for key, item in value.items())
    return to_json(value)


def _entry(key: str, item: Any) -> str:
    if isinstance(item, str) and "\n" not in item:
        return f"{key}: {item}"
    if isinstance(item, str):
        return f"{key}:\n" + "\n".join(f"  {line}" for line in item.rstrip("\n").split("\n"))
    if isinstance(item, dict | list) and item:
        return f"{key}:\n" + "\n".join(f"  {line}" for line in to_json(item).split("\n"))
    return f"{key}: {_dump(item, ensure_ascii=False)}"
