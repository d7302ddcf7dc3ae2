"""Rules that deny or ask, and have a redirection in them, are about the file: however the command is written."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import pytest

from executor_permissions import Policy
from tests.plugins.permissions.test_broad_rules import LISTS, commands, judge, misjudged

RULES = [
    ("* > /etc/*",
     ["echo x > /etc/y", "echo x >> /etc/y", "echo x >| /etc/y", "echo x >& /etc/y", "echo x &> /etc/y", "echo x <> /etc/y", "echo x > //etc/y", "echo x > /./etc/y", "echo x > /usr/../etc/y", ">| /etc/y",
      "cd /etc; echo x > y", "cd / && echo x > etc/y", "d=/etc; echo x > $d/y", "echo x >| '/etc'/y", "{ echo x; } >| /etc/y", "(cd /etc; echo x > y)", "for i in 1; do echo; done >| /etc/y", "cd /etc; if true; then echo; fi > y",
      "sh -c 'echo x >| /etc/y'", "sh -c 'cd /etc; >| y'", "timeout 5 echo x >| /etc/y", "env A=1 echo x > //etc/y", "echo x > /proc/self/root/etc/y"],
     ["cat /etc/y", "cat < /etc/y", "echo x > etc/y", "echo x > src/etc", "cd src; echo x > y", "echo x 2>&1", "echo x > /dev/null", "cat $f > y", "for f in src/*; do sort $f > /tmp/x; done"]),
    ("* >/etc/*", ["echo x >| /etc/y", "cd /etc; echo x > y"], ["echo x > y"]),
    ("*> /etc/*", ["echo x >| /etc/y", "cd /etc; echo x > y"], ["echo x > y"]),
    ("* &> /etc/*", ["echo x > /etc/y"], ["echo x < /etc/y"]),
    ("echo * > src/*", ["echo x >| src/a", "cd src; echo a b > a", "/bin/echo > /proj/src/a"], ["cat x > src/a", "echo src/a", "cd docs; echo > a"]),
    ("* > ${project}/src/*", ["cat x >| src/a", "cd src; cat > a", "cat > ../proj/src/a"], ["cat > a"]),
    ("* > ./a", ["cat x >| a", "cd src; cat > ../a"], ["cat > b"]),
    ("* >> *.log", ["cat >> a.log", "cat &>> src/a.log"], ["cat > a.log", "cat >> a"]),
    ("* > *", ["cat > a", ">| a", "ls >> b"], ["ls", "cat < a"]),
    ("cat * < .env", ["cat < .env", "cat - < ./.env", "cd src; cat < ../.env"], ["head < .env", "cat .env", "cat < a", "cat > .env"]),
]  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(("rule", "caught", "free"), RULES, ids=lambda row: row if isinstance(row, str) else "")
def test_a_rule_with_a_redirection_is_about_the_file(name, rule, caught, free):
    assert misjudged(name, {"patterns": [rule]}, commands(*caught), commands(*free)) == []


def test_a_file_that_only_the_running_shell_knows_may_be_that_of_the_rule():
    policy = judge("blacklist", {"patterns": ["* > /etc/*"]})
    lines = ["echo > $d/y", "echo > /e*c/y", "cd $d; echo > y", 'echo > "$(x)"']
    assert {policy.decide("runCommand", {"command": line}).maybe_denied for line in lines} == {True}


def test_a_quoted_sign_of_a_rule_is_no_redirection():
    policy = judge("blacklist", {"patterns": ["grep '>' *"]})
    assert policy.decide("runCommand", {"command": "grep '>' a"}).verdict == "deny"
    assert policy.decide("runCommand", {"command": "grep x > a"}).verdict == "allow"


@pytest.mark.parametrize("tool", ["readFile", "listFiles", "writeFile"])
@pytest.mark.parametrize("asked", ["/proj/", "/", "**/*"])
def test_a_rule_that_asks_takes_nothing_from_what_one_may_forbid(tool, asked):
    lines = ['uniq < "$X" "$(cat src/', 'tee > "$X" "$(cat src/', "cat < '$X' < a )", "cd $d; sort < .env", "sort < a$x > b$x"]  # fmt: skip
    for rule in ({"tools": ["x"]}, {"patterns": ["* > /etc/*"]}, {"arguments": {"readFile": {"path": [".env"]}}}):
        more = {"arguments": {tool: {"path": [asked]}}}
        plain, asking = (
            Policy.from_dict({"version": "1.2", "blacklist": rule, **lists}, project_root="/proj", home="/home/me")
            for lists in ({}, {"ask": more})
        )
        for line in lines:
            before, after = (one.decide("runCommand", {"command": line}) for one in (plain, asking))
            assert (after.verdict, after.maybe_denied) >= (before.verdict, before.maybe_denied), (rule, line)
