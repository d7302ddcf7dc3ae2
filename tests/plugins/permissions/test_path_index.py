"""Many rules about paths: those that are left out beforehand would not have been about it."""

from __future__ import annotations

import random

import pytest

from executor_permissions import Policy
from executor_permissions.judge.files._search import Searches
from executor_permissions.judge.paths._links import Links
from executor_permissions.judge.paths._paths import PathRule, Place, UnclearPathError
from executor_permissions.judge.rules._file_rules import FileRules
from executor_permissions.judge.rules._path_index import PathIndex
from executor_permissions.judge.rules._rules import Placeholders
from executor_permissions.judge.rules._scene import Scene
from executor_permissions.judge.rules._values import ValueRule

NAMES = ("a", "ab", "b", ".env", "x.pem", "src", "secrets", "é")
PIECES = (*NAMES, "*", "**", "*.pem", ".e*", "a*b", "s*s", "\\*")
ENDS = ("", "", "", "/", "/**", "/*")


def text_of(draw, pieces):
    start = draw.choice(("", "", "", "~/", "/", "{project}/", "{outside}/", "**/", "../"))
    return start + "/".join(draw.choices(pieces, k=draw.randint(1, 3))) + draw.choice(ENDS)


@pytest.fixture
def folders(tmp_path):
    """A project with folders, files and links, beside another folder."""
    project, outside = tmp_path / "project", tmp_path / "outside"
    for one in ("src/ab", "secrets", "a/b", "b"):
        (project / one).mkdir(parents=True)
        (outside / one).mkdir(parents=True)
    for one in (".env", "src/.env", "a/b/x.pem", "secrets/a"):
        (project / one).write_text("")
    (project / "ab").symlink_to(outside)
    (project / "src" / "a").symlink_to(project / ".env")
    (project / "b" / "b").symlink_to("../secrets")
    return project, outside


def placed(text, folders):
    return text.replace("{project}", str(folders[0])).replace("{outside}", str(folders[1]))


@pytest.mark.parametrize("ours", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_every_rule_that_catches_a_value_is_among_those_that_may(folders, seed, ours, monkeypatch):
    monkeypatch.chdir(folders[0])
    draw = random.Random(seed)
    marks = Placeholders(str(folders[0]), str(folders[1]))
    texts = [placed(text_of(draw, PIECES), folders) for _ in range(60)] + ["/", "https://a", 7, "plain"]
    rules = []
    for text in texts:
        kind = "path" if isinstance(text, str) and ":" not in text and text != "plain" else None
        rules.append((repr(text), ValueRule(text, kind, marks, is_glob=True, ours=ours)))
    index = PathIndex(rules)
    left_out = caught = 0
    for _ in range(100):
        one = placed(text_of(draw, (*NAMES, "..", ".", "b", "src")), folders).replace("**/", "")
        odd = draw.choice((one, one, one, f" {one}", f"{one}*", f'["{one}"]', f"{one},/etc/x", "", "%2e" + one, 7))
        value = draw.choice((odd, odd, odd, [one, odd], {"a": odd}, [one] * 40, None))
        every = [(text, rule.catches(value, Scene(str(folders[0]), marks.home))) for text, rule in rules]
        scene = Scene(str(folders[0]), marks.home)
        some = [(text, rule.catches(value, scene)) for text, rule in index.about(value, scene)]
        assert [told for told in some if told[1]] == [told for told in every if told[1]], value
        left_out += len(every) - len(some)
        caught += len([told for told in every if told[1]])
    assert left_out > 200
    assert caught > 200


@pytest.mark.parametrize("seed", range(3))
def test_every_pattern_that_catches_a_place_has_its_piece_in_it(folders, seed):
    draw = random.Random(seed)
    base, home = map(str, folders)
    rules = [PathRule.of(placed(text_of(draw, PIECES), folders), base, home) for _ in range(80)]
    found = FileRules()
    for i, rule in enumerate(rules):
        if rule.glob is not None:
            found.add_rule(rule, str(i), "read")
    links, caught, left_out = Links(), 0, 0
    for _ in range(200):
        text = placed(text_of(draw, NAMES), folders).replace("**", "b")
        try:
            place = Scene(base, home).locate(text)
        except UnclearPathError:
            continue
        told = {one.rule for one in found.about(place, links)}
        assert told == {str(i) for i, rule in enumerate(rules) if rule.glob is not None and rule.catches(place)}
        caught += len(told)
        left_out += sum(rule.piece not in place.real for rule in rules if rule.glob is not None)
    assert caught > 20
    assert left_out > 1000


@pytest.mark.parametrize("seed", range(8))
def test_what_is_kept_below_a_folder_is_found_as_if_each_file_was_looked_at(tmp_path, seed):
    draw = random.Random(seed)
    top = tmp_path / "top"
    top.mkdir()
    for _ in range(60):
        path = top.joinpath(*draw.choices(NAMES, k=draw.randint(1, 4)))
        if not any(above.is_file() or above.is_symlink() for above in (path, *path.parents)) and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to("a") if draw.random() < 0.2 else path.write_text("")
    rules, found = FileRules(), 0
    (top / ".env.d").mkdir()
    (top / ".env.d" / ".env").write_text("")
    rules.add_rule(PathRule.of("**/.env", str(top), str(tmp_path)), "**/.env", "read")
    for i in range(draw.randint(1, 6)):
        text = text_of(draw, (*PIECES, "**")).replace("{project}", str(top)).replace("{outside}", str(tmp_path))
        rules.add_rule(PathRule.of(text, str(top), str(tmp_path)), f"{i} {text}", draw.choice(("read", "write")))
    links = Links()
    files = [str(path) for path in top.rglob("*") if not path.is_dir() and not path.is_symlink()]
    for path in files:
        kept = [one.rule for one in rules.about(Place(path, path, path), links) if one.kept == "read"]
        told = [one.rule for one in Searches(rules, str(tmp_path), links).held(str(top)) if one.path == path]
        assert set(kept) == set(told), path
        found += len(kept)
    assert found


@pytest.mark.parametrize("rule", ["s{}", "**/s{}*", "s{}/", "~/s{}"])
def test_a_thousand_rules_about_files_leave_ordinary_commands_as_they_are(tmp_path, rule):
    rules = {"arguments": {"readFile": {"path": [rule.format(i) for i in range(1000)]}}}
    policy = Policy.from_dict({"defaultPolicy": "allow", "blacklist": rules}, project_root=tmp_path, home=tmp_path)
    for line in ("cat a b c d e f", "sort < a > b", "; ".join(f"cat a{i} > b{i}" for i in range(4))):
        assert policy.decide("runCommand", {"command": line}).verdict == "allow", line
    for line in ("cat s7", "cat a b c d s7", "sort < s999", "cat s9*"):
        assert policy.decide("runCommand", {"command": line}).verdict in ("deny", "ask"), line
    assert policy.decide("readFile", {"path": "a"}).verdict == "allow"
    assert policy.decide("readFile", {"path": "s7"}).verdict == "deny"
