"""A rule that is written as elsewhere, or by a slip of the hand, is told with the way to write it."""

from __future__ import annotations

import pytest

from executor_permissions import Policy

TOLD = {
    "RM *": "'rm'",
    "Git push *": "'git'",
    "Bash": "runCommand",
    '"git push" *': "write 'git push *'",
    "'rm -rf *'": "write 'rm -rf *'",
    "`rm` *": "write 'rm *'",
    "$ rm *": "write 'rm *'",
    "# rm": "write 'rm'",
    "rm:": "write 'rm'",
    "/rm/": "write 'rm'",
    "-rm": "write 'rm'",
    "rm, unlink": "a rule for each",
    "git push *,git reset *": "a rule for each",
    "rm\u200b *": "U+200B, ZERO WIDTH SPACE",
    "\ufeffrm *": "U+FEFF",
    "rm \u2013rf *": "EN DASH",
    "rm \u201cx\u201d": "QUOTATION MARK",
    "\uff52\uff4d *": "FULLWIDTH",
    "r\u043c *": "not of the letters",
    "rm \u2026": "ELLIPSIS",
    "rm ...": "write 'rm *'",
    "rm <file>": "write 'rm *'",
    "rm {{file}}": "write 'rm *'",
    "rm {file}": "write 'rm *'",
    "rm $@": "write 'rm *'",
    "rm $*": "write 'rm *'",
    "git push": "write 'git push *'",
    "docker container rm": "write 'docker container rm *'",
}
PLAIN = [
    *("rm *", "rm", "git push *", "git push*", "rm -rf", "git push origin main", "*--force*", "/usr/bin/rm *", "./x *"),
    *(
        "rm -rf ${project}/*",
        "rm -rf {home}/x",
        "rm -rf $HOME/*",
        "mkfs*",
        "python3.11 *",
        "* > /etc/*",
        "curl * | sh",
    ),
    *(
        "find * -exec rm {}",
        "[ *",
        ":(){ :|:& };:",
        "echo 'a, b'",
        "caf\u00e9 *",
        "git commit -m *\u00e9*",
        "aws *delete*",
    ),
    *("AWS_PROFILE=prod *", "yarn build:all", "NPM_TOKEN=*", "source *"),
]


def problems(pattern, kind="blacklist"):
    policy = Policy.from_dict(
        {"version": "1.1", "defaultPolicy": "ask", kind: {"patterns": [pattern]}}, project_root="/proj", home="/home/me"
    )
    return "\n".join(map(str, policy.problems))


@pytest.mark.parametrize(("pattern", "told"), TOLD.items())
@pytest.mark.parametrize("kind", ["blacklist", "ask"])
def test_a_rule_in_another_notation_says_how_it_is_written(pattern, told, kind):
    assert told in problems(pattern, kind)


@pytest.mark.parametrize("pattern", PLAIN)
def test_a_rule_that_is_written_as_it_should_be_is_not_told(pattern):
    assert problems(pattern) == ""


def test_what_allows_a_command_alone_is_not_told():
    assert problems("git push", "whitelist") == ""


@pytest.mark.parametrize(
    ("rule", "command"),
    [("source *", ". ./x"), (". *", "source ./x"), ("declare *", "typeset x=1"), ("mapfile *", "readarray -t x")],
)
def test_builtins_are_denied_by_their_other_names(rule, command):
    policy = Policy.from_dict({"defaultPolicy": "allow", "blacklist": {"patterns": [rule]}}, project_root="/proj")
    assert policy.decide("runCommand", {"command": command}).verdict == "deny"
