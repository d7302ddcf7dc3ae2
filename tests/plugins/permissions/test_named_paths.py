"""Paths of tools that are not ours, in arguments with names of their own, and of several files in one text."""

from __future__ import annotations

import pytest

from executor_permissions import Policy

TOOL = "mcp__fs__put"


@pytest.fixture
def judged(tmp_path, monkeypatch):
    for folder in ("src", ".git/hooks", "src/.git"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)

    def judged(args, default="ask", **lists):
        content = {"version": "1.2", "defaultPolicy": default, **lists}
        return Policy.from_dict(content, project_root=tmp_path, home=tmp_path / "home").decide(TOOL, args).verdict

    return judged


RULES = [
    {"arguments": {TOOL: {"dest_path": ["${project}/"]}}},
    {"arguments": {TOOL: {"dest_path": ["./src/"]}}},
    {"patterns": [f"{TOOL}(dest_path=${{project}}/**)"]},
    {"patterns": [f"{TOOL}(dest_path=./src/**)"]},
]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("path", [".git/hooks/pre-commit", "src/.git/config", "src/../.git/config", "src/.git"])
def test_a_rule_for_a_folder_covers_no_git_in_it_whatever_the_argument_is_called(judged, rule, path):
    assert judged({"dest_path": "src/a.py"}, whitelist=rule) == "allow"
    assert judged({"dest_path": path}, whitelist=rule) == "ask"


def test_one_that_names_it_does(judged):
    rule = {"arguments": {TOOL: {"dest_path": ["${project}/.git/hooks/"]}}}
    assert judged({"dest_path": ".git/hooks/pre-commit"}, whitelist=rule) == "allow"


@pytest.mark.parametrize("path", ["src/.git/config", "src/x/../.git/config"])
def test_nor_does_a_wildcard_in_a_text_that_may_be_a_path(judged, path):
    rule = {"patterns": [f"{TOOL}(dest=src/*)"]}
    assert judged({"dest": "src/a/b"}, whitelist=rule) == "allow"
    assert judged({"dest": path}, whitelist=rule) == "ask"
    assert judged({"dest": path}, whitelist={"patterns": [f"{TOOL}(dest=src/.git/*)"]}) != "deny"


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("base", ["cwd", "root", "repo_path", "workspaceFolder"])
def test_a_relative_path_begins_elsewhere_beside_a_folder_whatever_its_argument_is_called(judged, rule, base):
    assert judged({"dest_path": "src/a.py", base: "/etc"}, whitelist=rule) == "ask"
    assert judged({"dest_path": "src/a.py", base: "."}, whitelist=rule) == "allow"


SEVERAL = ["src/a.py,/etc/x", "src/a.py;~/x", "src/a.py /etc/x", "src/a.py|../x", "src/a.py:/etc/x", "src/a.py, './x'"]


@pytest.mark.parametrize("path", SEVERAL)
def test_what_may_be_a_list_of_paths_is_not_one_of_them(judged, path):
    rule = {"arguments": {TOOL: {"path": ["${project}/"]}}}
    assert judged({"path": "src/a, b.py"}, whitelist=rule) == "allow"
    assert judged({"path": path}, whitelist=rule) == "ask"


@pytest.mark.parametrize(
    "path", ["src/a.py,/etc/x", "src/a.py;/etc/x", "a /etc/x", "a/b:/etc/x", "a, '/etc/x'", "a|/etc"]
)
def test_a_rule_to_deny_is_about_each_of_them(judged, path):
    assert judged({"path": path}, "allow", blacklist={"arguments": {TOOL: {"path": ["/etc/"]}}}) == "deny"


def test_what_may_be_a_list_of_addresses_is_not_one_of_them(judged):
    rule = {"patterns": [f"{TOOL}(url=https://good.com/*)"]}
    assert judged({"url": "https://good.com/a,b;c?u=https://evil.com"}, whitelist=rule) == "allow"
    for mark in ",;|":
        assert judged({"url": f"https://good.com/a{mark}https://evil.com"}, whitelist=rule) == "ask"
