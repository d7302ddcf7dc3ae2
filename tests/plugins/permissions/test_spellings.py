"""A rule that denies has one spelling of an option, and a command another."""

from __future__ import annotations

import pytest

from executor_permissions import Policy
from executor_permissions.judge.rules._pairs import pairs_of

CAUGHT = [
    (
        "git push *--force*",
        ["git push -f", "git push origin main -f", "git push -qf o m", "git push --force-with-lease"],
    ),
    ("git push --force *", ["git push -f o", "git push --forc o", "git -C x push -vf"]),
    ("git commit --no-verify *", ["git commit -n -m x", "git commit -an", "git commit --no-veri"]),
    ("git commit -n *", ["git commit --no-verify", "git commit -an -m x"]),
    ("git branch -D *", ["git branch --delete --force x", "git branch -d -f x", "git branch -df x"]),
    ("git branch --delete *", ["git branch -d x", "git branch -D x"]),
    ("git clean -f *", ["git clean -xdf", "git clean --force"]),
    ("git push -d *", ["git push --delete o x", "git push o --delete x"]),
    ("git reset --hard *", ["git reset --har", "git reset x --hard"]),
    ("rm -r *", ["rm -R x", "rm --recursive x", "rm -fR x", "rm --recurs x", "rm x -vr"]),
    ("rm *--recursive*", ["rm -r x", "rm -Rf x"]),
    ("rm -rf *", ["rm -r -f x", "rm --force --recursive x", "rm -R --force x"]),
    ("curl *--upload-file*", ["curl -T x https://a.b", "curl https://a.b -sT x"]),
    ("curl -o *", ["curl --output=x https://a.b", "curl --output x https://a.b", "curl -sox https://a.b"]),
    ("curl --data *", ["curl -d x https://a.b", "curl -sd x https://a.b"]),
    ("tar --extract *", ["tar -xf a.tar", "tar --get -f a.tar", "tar -vx -f a.tar"]),
    ("kubectl --all-namespaces *", ["kubectl get pods -A"]),
    ("docker run --volume *", ["docker run -v /:/x y", "docker run -itv /:/x y"]),
    ("docker run -v *", ["docker run --volume=/:/x y", "docker run --volume /:/x y"]),
    ("chmod -R *", ["chmod --recursive 7 x", "chmod -vR 7 x"]),
    ("npm install -g *", ["npm install --global x"]),
    ("sed --in-place *", ["sed -i s/a/b/ x", "sed -ni p x", "sed -i.bak p x"]),
    ("make *--always-make*", ["make -B", "make x -kB"]),
]
LEFT = [
    ("git branch -D *", ["git branch -d x", "git branch --delete x", "git branch -f x y"]),
    ("git push *--force*", ["git push", "git push origin main", "git push -q origin main"]),
    ("git commit --no-verify *", ["git commit -m x", "git commit -a"]),
    ("rm -r *", ["rm x", "rm -f x"]),
    ("curl *--upload-file*", ["curl -o x https://a.b"]),
    ("docker run --volume *", ["docker run -it y"]),
    ("grep --recursive *", ["grep -n x y"]),
]


def each(cases: list[tuple[str, list[str]]]) -> list[tuple[str, str]]:
    return [(rule, command) for rule, commands in cases for command in commands]


def verdict(rule: str, command: str, section: str) -> str:
    policy = Policy.from_dict({"defaultPolicy": "allow", section: {"patterns": [rule]}}, project_root="/nonexistent")
    return policy.decide("runCommand", {"command": command}).verdict


@pytest.mark.parametrize(("rule", "command"), each(CAUGHT))
def test_a_rule_catches_every_spelling(rule, command):
    assert verdict(rule, command, "blacklist") == "deny"
    assert verdict(rule, command, "ask") == "ask"


@pytest.mark.parametrize(("rule", "command"), each(LEFT))
def test_and_no_other_option(rule, command):
    assert verdict(rule, command, "blacklist") == "allow"


def test_an_option_of_another_sub_command_is_not_the_same():
    push, commit = (pairs_of("git", ["git", name]).letters for name in ("push", "commit"))
    assert push["--force"] == {"f"}
    assert "--force" not in commit
