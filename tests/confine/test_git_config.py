"""Configuration of git is read as git reads it, which is asked about each file."""

from __future__ import annotations

import os
import random
import subprocess

import pytest

from executor.confine._git_config import Setting, of_environment, paths, settings

PIECES = [
    "[core]", "[Core]", '[include "x"]', "[core.Sub]", '[includeIf "gitdir:/a]b/"]', '[s "a\\"b\\\\c"]', '[s  "t"]',
    "hooksPath", "path", "a-1", " = ", "=", " ", "\t", "\n", "\n", "\n\t", "\r\n", "# c\n", "; c\n", "#", ";",
    '"', '"a b"', "\\\n", '\\"', "\\\\", "\\t", "\\n", "x", "y z", "\u2028", "\u0085", "\f", "\x1c", "\r", "é",
    "~/x", "]",
]  # fmt: skip


def told_by_git(tmp_path, text):
    """None if git refuses the file."""
    file = tmp_path / "config"
    file.write_bytes(text.encode())
    listed = subprocess.run(
        ["git", "config", "--file", file, "--no-includes", "--list", "-z"], capture_output=True, check=False
    )
    if listed.returncode:
        return None
    return [entry.partition("\n")[::2] for entry in listed.stdout.decode().split("\0")[:-1]]


def as_git_lists(found):
    return [(".".join(filter(None, (each.section, each.subsection, each.name))), each.value or "") for each in found]


def generated(number):
    draw = random.Random(number)
    lines = []
    for _ in range(draw.randint(1, 6)):
        if draw.random() < 0.6:  # mostly such as git can read
            value = "".join(draw.choices(PIECES[7:], k=draw.randint(0, 5)))
            lines.append(draw.choice(PIECES[:7]) + draw.choice(["\n", " "]) + "hooksPath =" + value + "\n")
        else:
            lines.append("".join(draw.choices(PIECES, k=draw.randint(1, 6))))
    return draw.choice(["", "", "", "\ufeff"]) + "".join(lines)


def test_every_file_that_git_reads_is_read_alike(tmp_path):
    read = 0
    for number in range(400):
        text = generated(number)
        told = told_by_git(tmp_path, text)
        if told is not None:
            read += 1
            assert told in (as_git_lists(settings(text)), as_git_lists(settings(text, keeps_blanks=True))), text
        else:
            assert all(isinstance(each, Setting) for each in settings(text))
    assert read > 80


FORMS = {
    "[core]\n\thooksPath = .gh # ours\n": ".gh",
    "[core]\n\thooksPath = .gh;ours\n": ".gh",
    '[core]\n\thooksPath = ".g"h\n': ".gh",
    '[core]\n\thooksPath = "my \\"x\\" hooks"\n': 'my "x" hooks',
    '[core]\n\thooksPath = "a # b" \n': "a # b",
    "[core]\n\thooksPath = .g\\\nh\n": ".gh",
    "\ufeff[core] hooksPath = .gh\n": ".gh",
    "[core]\n\thooksPath = .g\u2028h\n": ".g\u2028h",
    "[core]\r\n\thooksPath = .gh\r\n": ".gh",
    "[user]\n\tname = a\fb\n[core]\n\thooksPath = .gh\n": ".gh",
    "[CORE] HOOKSPATH=.gh": ".gh",
}


@pytest.mark.parametrize("text", FORMS)
def test_where_git_finds_its_hooks(tmp_path, text):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".git/config").write_bytes(text.encode())
    hooks = subprocess.run(["git", "rev-parse", "--git-path", "hooks"], cwd=tmp_path, capture_output=True, check=True)
    assert hooks.stdout.decode() == FORMS[text] + "\n"
    found = [each.value for each in settings(text) if (each.section, each.name) == ("core", "hookspath")]
    assert found == [FORMS[text]]


def test_a_blank_within_a_value_is_kept_as_newer_ones_do():
    text = "[core] hooksPath = a\t \tb \t# c\n"
    assert [each.value for each in settings(text)] == ["a   b"]
    assert [each.value for each in settings(text, keeps_blanks=True)] == ["a\t \tb"]


def test_a_line_that_git_cannot_read_hides_none_of_the_next():
    text = '[core\n%%\n[core]\nhooksPath = "a\n hooksPath = \\x\n1 = 2\nhooksPath = b\n'
    assert [each.value for each in settings(text)][-1] == "b"
    assert settings("[core]\nhooksPath = a\0b\n").__next__().value == "a"


def test_of_variables_what_git_takes_from_them_is_taken(monkeypatch, tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for name, value in {
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": ".gh",
        "GIT_CONFIG_KEY_1": "includeIf.onbranch:a.b.path",
        "GIT_CONFIG_VALUE_1": "x",
        "GIT_CONFIG_PARAMETERS": "'core.hookspath'='.it'\\''s' 'core.pager=cat'",
    }.items():
        monkeypatch.setenv(name, value)
    found = [*of_environment(os.environ)]
    assert found == [
        Setting("core", "", "hookspath", ".gh"),
        Setting("includeif", "onbranch:a.b", "path", "x"),
        Setting("core", "", "hookspath", ".it's"),
        Setting("core", "", "pager", "cat"),
    ]
    hooks = subprocess.run(["git", "rev-parse", "--git-path", "hooks"], cwd=tmp_path, capture_output=True, check=True)
    assert hooks.stdout == b".it's\n"
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'")
    assert len([*of_environment(os.environ)]) == 2


def test_a_path_is_what_git_makes_of_it(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths("~/x") == [f"{tmp_path}/x"]
    assert paths("a/~") == ["a/~"]
    assert paths(":(optional)a") == ["a"]
    assert paths("") == []
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    hooks = subprocess.run(
        ["git", "-c", "core.hooksPath=%(prefix)/../h", "rev-parse", "--git-path", "hooks"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    assert hooks.stdout.decode().strip() in paths("%(prefix)/../h")
