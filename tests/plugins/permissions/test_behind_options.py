"""A rule that names an option: what stands behind that is looked at all the same."""

from __future__ import annotations

import pytest

from executor_permissions import Policy
from executor_permissions.ask._offer import rules_for
from executor_permissions.judge.rules._scene import CallInfo


@pytest.fixture
def judge(tmp_path):
    """Judges a line by one rule, in a project with links out of it."""
    project, home = tmp_path / "top/project", tmp_path / "top/home"
    for path in (project / ".git", project / "src", home, tmp_path / "top/other"):
        path.mkdir(parents=True)
    (project / "out").symlink_to("../other")
    (project / "tests").symlink_to("../other/tests")

    def judge(rule, line, monkeypatch):
        monkeypatch.setattr("executor_permissions.judge.files._places._FREE", ())  # the test's own folder may be there
        policy = Policy.from_dict({"whitelist": {"patterns": [rule]}}, project_root=project, home=home)
        return policy.decide("runCommand", {"command": line}, CallInfo(str(project))).verdict

    return judge


IN_PLACE = (
    "sed -i s/a/b/",
    "sed -i.bak -e s/a/b/",
    "sed -E -i s/a/b/",
    "sed -ni p",
    "sed --in-place s/a/b/",
    "sed -s -i p",
    "yq -i .a=1",
    "yq e -i .a=1",
    "yq --inplace .a=1",
    "gawk -i inplace 1",
    "awk -i inplace 1",
)


@pytest.mark.parametrize("begin", IN_PLACE)
def test_what_is_edited_in_place_is_written(judge, begin, monkeypatch):
    for rule in (f"{begin} *", f"{begin.rpartition(' ')[0]} *"):
        for file in ("../other/x", "out/x", ".git/config", "~/.bashrc", "/etc/hosts", "src/a ../x"):
            assert judge(rule, f"{begin} {file}", monkeypatch) == "ask", (rule, file)
        assert judge(rule, f"{begin} src/a", monkeypatch) == "allow"
    assert judge(f"{begin} ../other/*", f"{begin} ../other/x", monkeypatch) == "allow"
    assert judge("sed *", "sed s/a/b/ ../other/x", monkeypatch) == "allow"


@pytest.mark.parametrize(
    ("rule", "allowed", "asked"),
    [
        ("perl -w *", "x.pl", ["-e 1", "-pe 1 x", "-E1", "../x.pl", "out/x.pl", "-", "-Mx -e 1"]),
        ("perl -Ilib *", "x.pl -v", ["-e 1", "../x.pl", "-i -e 1"]),
        ("ruby -Ilib *", "t.rb -n a", ["-e 1", "out/t.rb"]),
        ("php -d a=b *", "x.php", ["-r 1", "../x.php"]),
        ("julia --project *", "x.jl", ["-e 1", "--eval=1", "../x.jl"]),
        ("node --foo *", "x.js", ["-e 1", "../x.js", "-p 1"]),
        ("python -i *", "x.py", ["-c 1", "-uc 1", "../x.py", "-m http.server.x"]),
        ("perl -we *", "1", []),
        ("perl -w -e *", "1", []),
        ("python -ic *", "1", []),
        ("make *", "test FILE=src/a T=src", ["out/x.o", "test ARGS=out/x", "test FILE=tests", "x TESTS='src out/x'"]),
        ("tsc *", "-p src", ["-p out", "--project out/x", "-p ../x"]),
        ("cmake *", "-S . -B src/b", ["-S out -B src/b", "-B out/b", "--build out"]),
        ("rsync -a src/ *", "src/b/", ["-K src/b/", "--keep-dirlinks src/b", "out/"]),
    ],
)  # fmt: skip
def test_what_stands_behind_an_option_of_the_rule_is_looked_at(judge, rule, allowed, asked, monkeypatch):
    begin = rule.removesuffix("*")
    assert judge(rule, f"{begin}{allowed}", monkeypatch) == "allow"
    assert {text: judge(rule, f"{begin}{text}", monkeypatch) for text in asked} == dict.fromkeys(asked, "ask")


@pytest.mark.parametrize(
    ("first", "further"),
    [
        ("yarn workspace a list", ["yarn workspace a add x", "yarn workspace a publish", "yarn workspace a run x"]),
        (
            "yarn workspaces info",
            ["yarn workspaces run publish", "yarn workspaces foreach run x", "yarn workspaces focus"],
        ),
        ("pnpm workspace a ls", ["pnpm workspace a run x"]),
        ("uv self version", ["uv self update", "uv self uninstall"]),
        ("cargo audit", ["cargo audit fix"]),
        ("cargo deny check", ["cargo deny fetch", "cargo deny init ../x"]),
        ("cargo udeps", ["cargo udeps --all-targets"]),
    ],
)
def test_always_for_what_only_reads_is_not_for_what_does_more(judge, first, further, monkeypatch):
    rule, _ = rules_for(first, "/home/me")
    assert judge(rule, first, monkeypatch) == "allow"
    assert {line: judge(rule, line, monkeypatch) for line in further} == dict.fromkeys(further, "ask")
