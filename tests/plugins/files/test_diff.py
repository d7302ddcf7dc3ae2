"""The diffs that are shown, and the search for similar lines."""

import random
import re

import pytest

from executor_files._diff import line_numbers, nearest, unified_diff


def patched(old, diff):
    """What `patch` makes of a text without a last unended line."""
    before, after, at = old.split("\n")[:-1], [], 0
    for line in diff.split("\n")[2:-1]:
        if header := re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", line):
            start = int(header[1]) - (header[2] != "0")
            after += before[at:start]
            at = start
            assert len(after) == int(header[3]) - (header[4] != "0")
        elif line[0] == "+":
            after.append(line[1:])
        else:
            assert before[at] == line[1:]
            after += [line[1:]] * (line[0] == " ")
            at += 1
    return "".join(line + "\n" for line in after + before[at:])


@pytest.mark.parametrize("seed", range(200))
def test_a_diff_applied_to_the_old_text_gives_the_new(seed):
    chance = random.Random(seed)
    old = [chance.choice("abcdef") for _ in range(chance.randrange(40))]
    new = list(old)
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(new) + 1)
        new[at : at + chance.randrange(4)] = chance.choices("uvwxyz", k=chance.randrange(4))
    texts = ["".join(line + "\n" for line in lines) for lines in (old, new)]
    assert patched(texts[0], unified_diff(*texts, "f")) == texts[1]


def test_a_last_line_without_end_is_marked():
    assert unified_diff("a\nb", "a\nb\n", "f").splitlines()[3:] == [
        " a",
        "-b",
        "\\ No newline at end of file",
        "+b",
    ]


def test_a_new_text_in_an_empty_file_is_all_added():
    assert unified_diff("", "a\n", "f") == "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+a\n"


def test_long_lines_are_cut_with_their_length():
    assert "+" + "x" * 300 + "… (5000 characters)\n" in unified_diff("a\n", "x" * 5000 + "\n", "f")


def test_texts_too_different_to_compare_are_shown_as_blocks():
    diff = unified_diff("".join(f"a{n}\n" for n in range(3000)), "".join(f"b{n}\n" for n in range(3000)), "f")
    assert "@@ -1,3000 +1,3000 @@\n-a0\n" in diff


def test_occurrences_are_told_by_line_and_do_not_overlap():
    assert line_numbers("aa\naaa\n\naa", "aa") == [1, 2, 4]
    assert line_numbers("a\nb\na\nb\n", "a\nb\n") == [1, 3]


def test_of_equal_lines_the_first_is_near():
    assert nearest("x\nvalue = 1\nvalue = 1\n", "value = 2") == "The nearest lines are: line 2: 'value = 1'"
    assert nearest("", "value") == ""
