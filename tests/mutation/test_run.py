"""The measure of the tests, measured: on a package of one module, whose every change has a known end."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # run.py is a script: what it imports stands beside it

import mutants
import run
import trial

pytestmark = pytest.mark.timeout(300)  # each runs pytest a dozen times, in processes of its own

MODULE = '''\
"""Words."""

def lowest(left, right):
    """Words."""
    if left < right:
        return left
    return right

def unseen():
    return 1

def elsewhere():
    return 5
'''
TESTS = """\
import small

def test_lowest():
    assert small.lowest(1, 2) == 1
    assert small.lowest(2, 1) == 1
"""
IN_ANOTHER_PROCESS = """\
import subprocess, sys

def test_elsewhere():
    subprocess.run([sys.executable, "-c", "import small; assert small.elsewhere() == 5"], check=True)
"""
AREAS = (run.Area("small", ("small.py", "not_there/*.py"), ("test_*.py",), ("test_process.py",)),)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "small.py").write_text(MODULE)
    (folder / "test_small.py").write_text(TESTS)
    (folder / "test_process.py").write_text(IN_ANOTHER_PROCESS)
    (folder / ".gitignore").write_text("ignored\n")
    (folder / "ignored").write_text("")
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    return folder


@pytest.fixture
def copy(root):
    copy = trial.Copy(root)
    yield copy
    copy.remove()
    assert not copy.place.exists()


def changes(source):
    """Every changed source that the finder makes, with what was changed."""
    found = mutants.mutants_of(source.encode())
    return {(mutant.operator, mutant.applied(source.encode()).decode()) for mutant in found}


@pytest.mark.parametrize(
    ("source", "operator", "changed"),
    [
        ("x = a < b", "comparison", {"x = a <= b", "x = a >= b"}),
        ("x = a is not b", "comparison", {"x = a is b"}),
        ("x = a in b not in c", "comparison", {"x = a not in b not in c", "x = a in b in c"}),
        ("x = (a == # != it\n (b))", "comparison", {"x = (a != # != it\n (b))"}),
        ("x = a and b or c", "and/or", {"x = a or b or c", "x = a and b and c"}),
        ("x = not (a)", "not removed", {"x = (a)"}),
        ("x = a + b // c", "arithmetic", {"x = a - b // c", "x = a + b * c"}),
        ("x += 1", "arithmetic", {"x -= 1"}),
        ("x = 1, True", "constant", {"x = 2, True", "x = 0, True", "x = 1, False"}),
        ("x = 'é' + y", "text emptied", {"x = '' + y"}),
        ("if a:\n  b()", "condition True", {"if True:\n  b()"}),
        ("while a:\n  b()", "condition False", {"while False:\n  b()"}),
        ("x = [y for y in z if y]", "condition False", {"x = [y for y in z if False]"}),
        ("def f():\n  return (a,\n   b)", "returns None", {"def f():\n  return None"}),
        ("def f():\n  a()\n  b = 1", "statement deleted", {"def f():\n  pass\n  b = 1", "def f():\n  a()\n  pass"}),
        ("try:\n  a()\nexcept E:\n  b()\n  c()", "except raises", {"try:\n  a()\nexcept E:\n  raise"}),
        (
            "try:\n  a()\nexcept (E, F):\n  b()",
            "except narrowed",
            {"try:\n  a()\nexcept E:\n  b()", "try:\n  a()\nexcept F:\n  b()"},
        ),
    ],
)
def test_each_kind_of_change_is_found_in_its_place(source, operator, changed):
    assert {text for kind, text in changes(source) if kind == operator} == changed


@pytest.mark.parametrize(
    "source",
    [
        '"""Words."""',
        "x: 'str'",
        "def f(a: 'A') -> 'B':\n  '''Words.'''",
        "def f():\n  assert a < 1",
        "if TYPE_CHECKING:\n  x = 1",
        "__all__ = ['a']",
        "x: TypeAlias = 'A | B'",
        "x = Literal['a']",
        "x = cast('A', y)",
        "@dataclass(slots=True)\nclass A: ...",
    ],
)
def test_what_is_no_behaviour_is_left_alone(source):
    assert changes(source) == set()


def test_the_message_of_an_error_is_not_emptied_but_its_raising_is_deleted():
    found = changes("def f():\n  raise E('words')")
    assert found == {("statement deleted", "def f():\n  pass")}


def test_every_change_of_a_real_module_parses_and_keeps_the_lines_before_it():
    source = Path(trial.__file__).read_bytes()
    found = mutants.mutants_of(source)
    assert len(found) > 100
    for mutant in found:
        changed = mutant.applied(source)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))
        assert changed.splitlines()[: mutant.line - 1] == source.splitlines()[: mutant.line - 1]


def test_the_draw_is_the_same_for_a_seed_and_another_for_another(root):
    first, again, other = (run.draw(root, AREAS, seed, 5) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert len({(drawn.mutant.start, drawn.mutant.new) for drawn in first}) == 5


def test_an_area_whose_modules_are_gone_is_an_error(root):
    with pytest.raises(LookupError, match="area gone"):
        run.draw(root, (*AREAS, run.Area("gone", ("nowhere/*.py",), ("test_*.py",))), 1, 5)


def test_killed_survived_and_equivalent_are_told_apart_and_the_tree_stays_as_it_was(root):
    wanted = {
        "if left >= right:": ("killed", "test_small.py::test_lowest"),
        "return 2": ("survived", "1 tests call it or its module"),
        "return 6": ("killed", "test_process.py::test_elsewhere"),
        "if left <= right:": ("equivalent", "of two equals either is the lowest"),
    }
    trials = [drawn for drawn in run.draw(root, AREAS, 1, 1000) if drawn.after in wanted]
    assert len(trials) == len(wanted)
    equivalent = {("small.py", "if left < right:", "if left <= right:"): "of two equals either is the lowest"}

    results = list(run.Run(root, AREAS, jobs=1, equivalent=equivalent).results(trials))

    assert {result.trial.after: (result.outcome, result.by) for result in results} == wanted
    assert (root / "small.py").read_text() == MODULE
    line, enough = run.verdict(results)
    assert line.startswith("4 changes: 2 killed (0 by the time limit), 1 survived, 1 equivalent (25.0%, at most 8%); ")
    assert line.endswith("66.7% of the others killed, wanted 92%")
    assert not enough
    rows = run.table(results).splitlines()
    assert len(rows) == 4
    assert "| small.py:10 | constant | `return 1` | `return 2` | survived: " in rows[2]
    assert rows[3].endswith("| equivalent: of two equals either is the lowest |")


def test_a_copy_has_what_git_would_have_and_a_run_beyond_its_time_counts_as_killed(copy, monkeypatch):
    assert sorted(path.name for path in copy.tree.iterdir()) == [
        ".gitignore",
        "small.py",
        "test_process.py",
        "test_small.py",
    ]
    monkeypatch.setattr(trial, "START", 0.0)
    mutant = mutants.mutants_of(MODULE.encode())[0]
    assert copy.killer("small.py", mutant, ["test_small.py"], 0.0) == "time limit"
    assert (copy.tree / "small.py").read_text() == MODULE


def test_a_test_that_fails_now_and_then_kills_nothing(copy):
    now_and_then = """
from pathlib import Path

def test_that_fails_once(request):
    marker = Path(__file__).with_name("marker")
    first = not marker.exists()
    marker.touch()
    assert not first

def test_that_passes():
    assert True
"""
    (copy.tree / "test_flaky.py").write_text(now_and_then)
    mutant = mutants.mutants_of(MODULE.encode())[0]
    tests = [f"test_flaky.py::{name}" for name in ("test_that_fails_once", "test_that_passes")]
    assert copy.killer("small.py", mutant, tests, 0.0) is None
    assert (copy.tree / "marker").exists()


def test_the_slow_tests_are_left_out_by_the_markers_that_the_project_has(tmp_path):
    assert trial.left_out(tmp_path) == ""
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\nmarkers = ["chaos: long", "slow: too"]\n')
    assert trial.left_out(tmp_path) == "not chaos"


def test_every_test_that_is_left_out_for_measuring_time_is_there():
    source = "".join(path.read_text(encoding="utf-8") for path in (run.ROOT / "tests").rglob("test_*.py"))
    assert [name for name in run.TIMED if f"def {name}" not in source] == []


def test_tests_that_fail_without_a_change_are_not_used():
    seen = trial.Seen({"a.py:1": {"t::one", "t::two"}}, {"t::one": 2.0, "t::two": 1.0, "t_a::x": 9.0}, {"t::two"})
    assert seen.calling("a.py", 1) == ["t::one"]
    assert seen.calling("b.py", 1) == []


@pytest.mark.parametrize(
    ("killed", "survived", "equivalent", "enough"),
    [(92, 8, 0, True), (91, 9, 0, False), (92, 0, 8, True), (91, 0, 9, False)],
)
def test_the_limits_are_92_per_cent_killed_and_8_per_cent_equivalent(killed, survived, equivalent, enough):
    results = [run.Result(None, kind, "") for kind in ["killed"] * killed + ["survived"] * survived]
    results += [run.Result(None, "equivalent", "")] * equivalent
    assert run.verdict(results)[1] is enough


def test_every_declared_equivalent_has_a_reason_and_is_a_change_that_could_be_drawn():
    declared = run.reasons(run.EQUIVALENT)
    sources = {path: (run.ROOT / path).read_bytes() for path, _, _ in declared}
    possible = {
        (path, *mutant.texts(source)) for path, source in sources.items() for mutant in mutants.candidates(source)
    }
    assert set(declared) <= possible


def test_an_equivalent_without_a_reason_is_an_error(tmp_path):
    file = tmp_path / "equivalent.toml"
    file.write_text('[[equivalent]]\nmodule = "a.py"\nbefore = "x"\nafter = "y"\nreason = ""\n')
    with pytest.raises(ValueError, match="needs a reason"):
        run.reasons(file)
