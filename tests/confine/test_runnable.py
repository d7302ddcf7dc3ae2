"""
Every call of the corpora that can be run, run for real with the reader switched off: every command is allowed by a
rule, and the box alone is left. Those that do harm without a box are run without one as well: else it would prove
nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from executor_permissions import Policy
from executor_permissions.judge.rules._scene import CallInfo
from tests.confine import corpora, machine

ENOUGH = 0.95
POLICY = {
    "version": "1.2",
    "whitelist": {"tools": ["runCommand"]},
    "blacklist": {
        "arguments": {
            "readFile": {"path": ["~/.ssh/", "${project}/.env", "${project}/secrets/"]},
            "writeFile": {"path": ["${project}/.git/", "${project}/.env"]},
        }
    },
}
FORBIDDEN = {
    "read": ("changed", "project", "secret", "heard"),
    "project": ("changed", "secret", "heard"),
    "network": ("changed", "secret", "heard docker", "heard agent", "heard log", "heard bus"),
}


@pytest.fixture(params=["root", "user"])
def computer(request, landlock, bubblewrap):
    """A machine to throw away."""
    user = request.param == "user"
    if user and os.getuid() != 0:
        pytest.skip("only root can make a machine with two users; as its root, who runs this is an ordinary user")
    if problem := machine.missing():
        pytest.skip(problem)
    folder = Path(tempfile.mkdtemp(prefix="toolexec-machine-"))
    folder.chmod(0o755)
    yield machine.make(folder / "root", user=user)
    shutil.rmtree(folder)


@pytest.fixture
def profile_of(computer):
    """The profile that the policy gives a line."""
    root = str(computer.base)
    policy = Policy.from_dict(POLICY, project_root=root + machine.PROJECT, home=f"{root}/home/user")

    def find(text):
        decision = policy.decide("runCommand", {"command": text}, CallInfo(root + machine.PROJECT))
        found = policy.boxes.choose(decision.parts, {}).profile.to_dict()  # what is denied too
        return json.loads(json.dumps(found).replace(root, ""))

    return find


def broken(profile, did):
    """What of all that a line did its profile forbids; the key that the lines ask for is git's and ssh's own."""
    forbidden = [name for name in FORBIDDEN[profile["name"]] if name != "secret" or not profile["credentials"]]
    return [what for what in did if what.startswith(tuple(forbidden))]


def check(computer, profile_of, chosen, capsys, *, names=()):
    """Each line in the box of its own profile, or of each of *names*; and those that do harm, without."""
    orders = [
        (line, {**profile_of(line.text), **more}) for line in chosen for more in [{"name": n} for n in names] or [{}]
    ]
    harmful = corpora.harmful(chosen)
    played = computer.play([(line.text, profile) for line, profile in orders] + [(line.text, None) for line in harmful])
    boxed, free = played[: len(orders)], played[len(orders) :]
    bad = {
        line.text: found
        for (line, profile), each in zip(orders, boxed, strict=True)
        if (found := broken(profile, each["did"]))
    }
    idle = {line.text: each["said"] for line, each in zip(harmful, free, strict=True) if not did_harm(each)}
    with capsys.disabled():
        kinds = dict(Counter(profile["name"] for _, profile in orders))
        print(f"\n{len(orders)} lines in boxes {kinds}: {len(bad)} did harm")
        print(f"{len(harmful)} lines in none: {len(harmful) - len(idle)} did harm")
    assert not bad
    assert len(idle) <= (1 - ENOUGH) * len(harmful), idle


def did_harm(each):
    return any(not what.startswith("project") for what in each["did"])


def test_what_can_be_run_does_no_harm_in_a_box(computer, profile_of, capsys):
    check(computer, profile_of, corpora.sample(), capsys)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("names", [(), ("read", "project", "network")], ids=["its own profile", "each profile"])
def test_all_of_it_does_no_harm_in_a_box(computer, profile_of, capsys, names):
    check(computer, profile_of, corpora.lines(), capsys, names=names)
