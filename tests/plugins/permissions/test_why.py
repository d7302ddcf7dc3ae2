"""What a person is told a rule would have to spell out."""

from __future__ import annotations

import pytest

from executor_permissions.judge._why import not_spelled_out
from executor_permissions.judge.bash._words import REST, Command, PublicWord, Unknown

NOT_KNOWN = "is not known to be safe"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["wc", "-l"], None),
        (["nobody-knows", "it"], None),
        (["timeout", "5", "nobody-knows"], "timeout runs 'nobody-knows'"),
        (["ssh", "host", "ls", "-la"], "ssh runs 'ls'"),
        (["env", "A=1", "nobody-knows"], "env runs 'nobody-knows'"),
        (["xargs", "-n1", "cat"], "xargs hands 'cat' words that only the running shell knows"),
        (["sort", Unknown("$x")], "'$x' is only known when it runs"),
        (["timeout", "5", "sort", Unknown("$x")], "'$x' is only known when it runs"),
        (["git", "nobody-knows"], "'nobody-knows' is not among the sub-commands of git that are known to be safe"),
        (["git", "worktree", "x"], "'x' is not among the sub-commands of git worktree that are known to be safe"),
        (["sort", "-o", "f"], "'-o' runs or writes something"),
        (["sort", "-ro", "f"], "'-o' runs or writes something"),
        (["sort", "--output=f"], "'--output' runs or writes something"),
        (["nice", "timeout", "5", "sort", "-o", "f"], "'-o' runs or writes something"),
        (["find", ".", "-delete"], "'-delete' runs or writes something"),
        (["sort", "--unheard"], "'--unheard' is not among the options of sort that are known to be safe"),
        (["sort", "-é"], "'-é' is not among the options of sort that are known to be safe"),
        (["git", "log", "--unheard"], "'--unheard' is not among the options of git log that are known to be safe"),
        (["git", "log", "--format=%G?"], f"'%G?' {NOT_KNOWN} as the value of '--format'"),
        (["git", "-c", "a=b", "log"], f"'a=b' {NOT_KNOWN} as the value of '-c'"),
        (["wget", "ftp://x"], f"'ftp://x' {NOT_KNOWN} for wget"),
        (["date", "010100002030"], f"'010100002030' {NOT_KNOWN} for date"),
        (["uniq", "a", "-"], f"'-' {NOT_KNOWN} for uniq"),
        (["find", ".", "-exec", "rm", "{}", ";"], f"'{{}}' {NOT_KNOWN} for rm"),
        (["date", "0" * 100], f"'{'0' * 60}' {NOT_KNOWN} for date"),
    ],
)
def test_the_first_word_that_no_wildcard_covers_is_told_for_what_it_is(words, told):
    expected = told and f"{told}, and no rule spells it out"
    assert not_spelled_out(Command(words, " ".join(words))) == expected


@pytest.mark.parametrize("words", [["sh"], ["ssh", "host"], ["eval", "x"], [Unknown("x"), "a"],
                                   [PublicWord("x")], [REST]])  # fmt: skip
def test_what_is_not_in_the_words_cannot_be_spelled_out(words):
    told = not_spelled_out(Command(words, " ".join(words)))
    assert told == f"what {words[0]} runs is not in its words, so that no rule can spell it out"


@pytest.mark.parametrize("program", ["sh", "python", "ssh"])
def test_of_what_xargs_hands_on_that_is_told_which_program_gets_it(program):
    told = not_spelled_out(Command(["xargs", "-r", program], f"xargs -r {program}", stdin="pipe"))
    assert told == f"xargs hands '{program}' words that only the running shell knows, and no rule can spell them out"
