"""What a program writes to its terminal, as the text that a person would read there."""

import random
import time

import pytest

from executor_shell._screen import Screen
from executor_shell._sequences import Tokens

COLUMNS, ROWS = 20, 5


class Shown:
    """What has become of some output."""

    def __init__(self, *pieces, columns=COLUMNS, rows=ROWS):
        self.answers = []
        self.screen = Screen(columns, rows, self.answers.append)
        self.safe = "".join(self.screen.feed(piece) for piece in pieces)
        self.rows = [row.text() for row in self.screen.lines]
        self.cursor = self.screen.row, self.screen.column
        self.screen.finish()
        self.kept, self.said = "".join(self.screen.kept), "".join(self.screen.said)


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("no end", "no end"),
        ("a\r\n\r\n\r\nb", "a\n\n\nb"),
        ("10 %\r20 %\r100 %\r\ndone\r\n", "100 %\ndone\n"),
        ("secret\b\b\b\b\b\bpublic\r\n", "public\n"),
        ("long line\rshort\x1b[K\r\n", "short\n"),
        ("\x1b[1;31mred\x1b[0m and \x1b[38;2;1;2;3mmore\x1b[m\r\n", "red and more\n"),
        ("\x1b]0;a title\x07a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\\r\n", "ab\n"),
        ("\x1b]0;a title without an end\r\nb\r\n", "\nb\n"),
        ("\x1bP1$r0m\x1b\\a\x1b_x\x1b\\b\x1b^y\x1b\\c", "abc"),
        ("a\tb\r\n", "a       b\n"),
        ("x" * 45 + "\r\n" + "y" * 20 + "\r\nz", "x" * 45 + "\n" + "y" * 20 + "\nz"),
        ("words that are blown " * 3 + "\r\n", ("words that are blown " * 3).rstrip() + "\n"),
        ("日本語" * 8 + "e\u0301\r\n", "日本語" * 8 + "e\u0301\n"),
        ("".join(f"{n}\r\n" for n in range(12)), "".join(f"{n}\n" for n in range(12))),
        ("\x1b(0lqk\x1b(B\r\n", "┌─┐\n"),
        ("a\r\nb\r\nc\x1b[2AX\x1b[2B\r\n", "aX\nb\nc\n"),
        ("abcdef\r\x1b[2P\x1b[2@\x1b[2C\x1b[2X\r\n", "    ef\n"),
        ("abc\x1b[3b\r\n", "abcccc\n"),
        ("a\r\nb\r\nc\r\n\x1b[2;1H\x1b[Lnew\x1b[5;1H", "a\nnew\nb\nc\n"),
        ("a\r\nb\r\nc\r\n\x1b[2;1H\x1b[M\x1b[5;1H", "a\nc\n"),
        ("kept\r\n\x1b[H\x1b[2J\x1b[3Jnew\r\n", "kept\nnew\n"),
        ("kept\r\n\x1bcnew\r\n", "kept\nnew\n"),
        ("first\r\n\x1b[?1049hall over the place\x1b[?1049lsecond\r\n", "first\nsecond\n"),
        ("\x1b[2;4r1\r\n2\r\n3\r\n4\r\n5\x1b[r\x1b[5;1H", "1\n3\n4\n5\n"),
        ("ab\x1b7\x1b[3;3Hx\x1b8c\x1b[4;1H", "abc\n\n  x\n"),
        ("\x1b[999999999999999999999Cend\r\n", " " * 19 + "end\n"),
        ("a\x1b[12\x07b\r\n", "a12b\n"),
        ("a\x00\x7f\x9bb\r\n", "ab\n"),
    ],
)
def test_control_sequences_come_to_what_a_person_reads(output, text):
    assert Shown(output).kept == text
    assert Shown(*output).kept == text  # however it is cut


def test_what_was_said_is_not_taken_back_and_a_line_that_changes_is_said_again():
    screen = Screen(COLUMNS, ROWS, print)

    def said(output):
        screen.feed(output)
        screen.tell()
        text = "".join(screen.said)
        screen.said.clear()
        return text

    assert said("Password: ") == "Password:"
    assert said("\r\n") == "\n"
    assert said("10 %") == "10 %"
    assert said("\r20 %") == "\n20 %"
    assert said("\r20 % done") == " done"
    assert said("\r\nnext") == "\nnext"
    assert said("\x1b[2A\rtop\x1b[2B") == "\ntopsword:"
    assert said("\r\x1b[K") == ""


def test_a_flood_of_lines_is_as_if_each_had_come_alone():
    lines = "".join(f"line {n} \r\n" for n in range(200))
    for before in ("", "begun", "a\r\nb\r\n", "\x1b[4;4Hx\x1b[H", "\x1b(0", "\x1b[2;3r", "\x1b[?1049h"):
        flood, slow = Shown(before, lines, "end"), Shown(before, *lines, "end")
        assert (flood.kept, flood.said, flood.rows, flood.cursor) == (slow.kept, slow.said, slow.rows, slow.cursor)


def test_a_flood_is_followed_faster_than_a_program_writes_it():
    lines = "y\r\n" * 700_000
    screen = Screen(80, 24, print)
    began = time.monotonic()
    for at in range(0, len(lines), 4095):
        screen.feed(lines[at : at + 4095])
    screen.finish()
    assert time.monotonic() - began < 10  # a fifth of a second, where nothing else is done
    assert sum(len(text) for text in screen.kept) == len(lines) - 700_000


@pytest.mark.parametrize(
    ("asked", "answer"), [("\x1b[6n", "\x1b[2;3R"), ("\x1b[5n", "\x1b[0n"), ("\x1b[c", "\x1b[?62;22c")]
)
def test_the_terminal_answers_by_itself(asked, answer):
    assert Shown(f"\r\nab{asked}").answers == [answer]


def test_a_terminal_of_a_person_is_told_only_what_shows():
    shows = "a\x1b[1;31mb\x1b[2;2H\x1b[K\x1b[?25l\x1b[?1049h\x1b(0q\x1b(B\x1b7\x1b8\r\n"
    assert Shown(shows).safe == shows
    does = (
        "\x1b]52;c;c2VjcmV0\x07"  # the clipboard
        "\x1b]0;title\x07\x1bP+q544e\x1b\\\x1b_x\x1b\\"
        "\x1b[6n\x1b[c\x1b[>c\x1b[?6n\x1b[18t\x1b[21t\x05\x1bZ"  # questions, which the terminal would type an answer to
        "\x1b[?1000h\x1b[?1003;1006h\x1b[?1;1003h"  # the mouse
        "\x1b[5i\x1b[?5i"  # the printer
        "\x1b[>4;2m\x1b[1 q\x1b[!p"
        "\u202e\u2066\x9b31m"
    )
    assert Shown(*does).safe == "31m"


def test_a_picture_draws_the_same_screen():
    output = "one\r\n\x1b[1mtwo\x1b[m\r\nwide 日本\x1b[2;2H\x1b[?1h\x1b[?25l"
    screen = Screen(COLUMNS, ROWS, print)
    screen.feed(output)
    drawn = Shown(screen.picture())
    assert (drawn.rows, drawn.cursor) == (["one", "two", "wide 日本", "", ""], (1, 1))
    assert drawn.screen.modes == {"1": True, "25": False}
    screen.feed("\x1b[?1049hfull")
    assert Shown(screen.picture()).kept == ""  # it is on the other screen


def test_who_looks_when_all_is_over_sees_what_was_there():
    screen = Screen(COLUMNS, ROWS, print)
    screen.feed("quick\r\n")
    for _ in range(2):
        screen.finish()
    assert Shown(screen.picture()).rows[0] == "quick"
    assert "".join(screen.kept) == "quick\n"


@pytest.mark.parametrize("size", [(40, 10), (10, 3), (1, 1), (20, 2)])
def test_another_size_loses_nothing(size):
    screen = Screen(COLUMNS, ROWS, print)
    screen.feed("".join(f"line {n}\r\n" for n in range(4)) + "prompt")
    screen.resize(*size)
    screen.feed("\r\nafter\r\n")
    screen.finish()
    text = "".join(screen.kept)
    assert text.startswith("line 0\nline 1\nline 2\nline 3\nprompt\n")
    assert "after" in text.replace("\n", "")


def test_nothing_that_is_written_breaks_the_screen():
    chance = random.Random(7)
    pieces = [
        "\x1b",
        "[",
        "]",
        "?",
        ";",
        "1",
        "99",
        "\r",
        "\n",
        "\x07",
        "P",
        "\\",
        "h",
        "l",
        "J",
        "K",
        "L",
        "M",
        "H",
        "r",
    ]
    pieces += ["m", "S", "T", "@", "X", "b", "7", "8", "c", "(0", "1049", "日", "\u0301", "text", "\t", "\b", "A", "d"]
    for _ in range(100):
        screen = Screen(chance.choice([1, 2, 20]), chance.choice([1, 2, 5]), str)
        for _ in range(60):
            screen.feed("".join(chance.choices(pieces, k=5)))
            if chance.random() < 0.1:
                screen.resize(chance.choice([1, 3, 30]), chance.choice([1, 3, 30]))
            screen.tell()
            assert len(screen.lines) == screen.rows
            assert 0 <= screen.row < screen.rows
            assert 0 <= screen.column <= screen.columns
            screen.picture()
        screen.finish()


def test_what_has_no_end_is_not_kept_for_ever():
    tokens = Tokens()
    for beginning in ("\x1b]0;", "\x1bP", "\x1b["):
        list(tokens.cut(beginning))
        for _ in range(100):
            list(tokens.cut("1" * 1000))
        assert len(tokens._held) < 1000
        list(tokens.cut("\x1b\\"))
