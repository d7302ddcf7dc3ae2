"""Relations between decisions: a line and its parts, a command and its forms, with and without a memory or a rule."""

from __future__ import annotations

import itertools
import random
import shlex
import shutil
import sys
import threading

import pytest

from tests.plugins.permissions.relations import answered, hold
from tests.plugins.permissions.relations.draw import command, policies, project_in

SEED, PARTS = 14, 8


@pytest.fixture
def place(tmp_path, monkeypatch):
    root, home = project_in(tmp_path)
    monkeypatch.chdir(root)
    return root, home


@pytest.fixture
def made(place):
    return policies(*place)


def numbers(count):
    """The size of a test in its short form, and each seed of the long one, of thirty times the size."""
    marks = pytest.mark.long, pytest.mark.timeout(3600)
    long = [pytest.param(seed, 30 * count, marks=marks) for seed in range(PARTS)]
    return pytest.mark.parametrize(("seed", "count"), [(SEED, count), *long])


@numbers(500)
def test_a_line_is_at_least_as_severe_as_each_of_its_parts(made, seed, count):
    assert list(hold.lines(random.Random(seed), made, count)) == []


@numbers(300)
def test_a_command_in_another_form_is_at_least_as_severe(made, seed, count):
    assert list(hold.wrapped(random.Random(seed), made, count)) == []


@numbers(20)
def test_a_further_rule_makes_nothing_milder_and_one_to_allow_nothing_stricter(place, seed, count):
    assert list(hold.ruled(random.Random(seed), *place, count)) == []


@numbers(400)
def test_the_box_of_a_line_is_no_narrower_and_gives_no_more_than_those_of_its_parts(made, seed, count):
    assert list(hold.boxed(random.Random(seed), made, count)) == []


@numbers(100)
def test_what_was_always_allowed_is_allowed_again_and_nothing_that_was_not_shown(tmp_path, made, seed, count):
    assert list(answered.always(random.Random(seed), made, tmp_path / "state", count)) == []


@numbers(100)
def test_what_was_never_allowed_is_denied_in_every_form_and_nothing_is_milder(tmp_path, made, seed, count):
    assert list(answered.never(random.Random(seed), made, tmp_path / "state", count)) == []


@numbers(300)
def test_a_list_of_words_is_judged_as_the_line_of_them(made, seed, count):
    assert list(hold.by_words(random.Random(seed), made, count)) == []


@numbers(8)
def test_a_folder_is_the_same_however_it_is_entered(place, seed, count):
    assert list(hold.elsewhere(random.Random(seed), *place, count)) == []


@numbers(8)
def test_a_file_of_a_project_that_nobody_has_trusted_makes_nothing_milder(place, seed, count):
    assert list(hold.narrowed(random.Random(seed), *place, count)) == []


BEFORE = [
    "make",
    "./x",
    "tar xf x.tar",
    "git stash pop",
    "set -e",
    "unset X",
    "cp -r a b",
    "ln -s x z",
    "cd src",
    "touch a > b",
]
BEHIND = [
    "cat .e*",
    "cat z",
    "cat *",
    "cp -r . y",
    "grep -rn x .",
    "git diff '.e*'",
    "file '.[e]nv'",
    "tar cf a.tar .",
    "cat < z",
]


@pytest.mark.parametrize("form", ["bash -c {0}", "sh -ec {0}", "eval {0}", "timeout 5 bash -c {0}", "{1}; bash -c {2}"])
def test_what_a_command_before_may_have_made_counts_within_a_script_too(made, form):
    for policy, one, other in itertools.product(made.values(), BEFORE, BEHIND):
        line = f"{one}; {other}"
        inside = form.format(shlex.quote(line), one, shlex.quote(other))
        assert hold.severity(hold.judged(policy, inside)) >= hold.severity(hold.judged(policy, line)), inside


def link_for_file(root):
    (root / "a").unlink()
    (root / "a").symlink_to(".env")


def link_for_folder(root):
    (root / "src").rename(root / "src2")
    (root / "src").symlink_to("secrets")


def repository(root):
    (root / "docs/.git").mkdir()


def odd_names(root):
    (root / "out/k.key").write_text("x\n")
    (root / "--pre=x").write_text("")


def none_there(root):
    shutil.rmtree(root / "secrets")
    (root / ".env").unlink()


CHANGES = [link_for_file, link_for_folder, repository, odd_names, none_there]


@numbers(100)
def test_what_was_judged_before_changes_no_decision(place, seed, count):
    pick = random.Random(seed)
    old, new = policies(*place), [policies(*place) for _ in range(len(CHANGES) + 1)]
    texts = [command(pick) for _ in range(count)]
    for change in (lambda _root: None, *CHANGES):
        change(place[0])
        assert list(hold.remembered(pick, old, new.pop(), pick.sample(texts, count // 2))) == []


@numbers(60)
def test_threads_that_judge_at_once_come_to_the_same(place, made, seed, count):
    pick, faults, usual = random.Random(seed), [], sys.getswitchinterval()
    texts = [command(pick) for _ in range(count)]
    said = {(name, text): hold.whole_of(policy, text) for name, policy in policies(*place).items() for text in texts}

    def judge(number):
        keys = random.Random(number).sample(list(said), len(said))
        faults.extend(key for key in keys if hold.whole_of(made[key[0]], key[1]) != said[key])

    threads = [threading.Thread(target=judge, args=(number,)) for number in range(4)]
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(usual)
    assert faults == []
