"""Families of ordinary commands that are allowed, each beside the family of its neighbours that are not."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from executor_permissions import Policy

STARTER = Path(__file__).parents[3] / "permissions.example.json"


@pytest.fixture
def verdict(tmp_path):
    """Gives the verdict of the starter policy about a command, in a project without files that are kept."""
    root = tmp_path.resolve() / "proj"
    for name in ("src", "tests", "build", ".git/hooks"):
        (root / name).mkdir(parents=True)
    for name in ("a.txt", "b.txt", "package.json", "src/app.py", "src/util.py", "tests/test_app.py"):
        (root / name).write_text("x\n")
    policy = Policy.load(STARTER, project_root=root, home=tmp_path / "home")
    return lambda command: policy.decide("runCommand", {"command": command}).verdict


@pytest.fixture
def reason(tmp_path):
    """Gives why the starter policy does not allow a command."""
    (tmp_path / ".git").mkdir()
    policy = Policy.load(STARTER, project_root=tmp_path.resolve(), home=tmp_path.resolve() / "home")
    return lambda command: policy.decide("runCommand", {"command": command}).reason


def not_all(verdict, commands, wanted):
    """Those of *commands* whose verdict is not *wanted*; of "asked" whose is "allow"."""
    found = {command: verdict(command) for command in commands}
    assert len(found) > 3
    return {one for one, is_so in found.items() if (is_so == "allow") != (wanted == "allow")}


LEAVING_OUT = (
    "-type f -not -path './.git/*'",
    "-not -path './.git/*' -type f",
    "! -path ./.git/config -type f",
    "-name .git -prune -o -type f -print",
    "-path ./.git -prune -o -name '*.py' -print",
    "\\( -name .git -o -name build \\) -prune -o -print",
)


def test_what_find_compares_names_with_is_no_file_that_it_writes(verdict):
    behind = ("", " | head", " | xargs wc -l", " | wc -l")
    assert not_all(verdict, (f"find . {one}{end}" for one, end in product(LEAVING_OUT, behind)), "allow") == set()
    runs = ("wc -l {} +", "grep -ln foo {} \\;", "ls -lh {} +")
    assert not_all(verdict, (f"find . {LEAVING_OUT[0]} -exec {one}" for one in (*runs, *LOOKING)), "allow") == set()


def test_what_find_changes_is_asked_whatever_it_compares_names_with(verdict):
    ends = (
        "-delete",
        "-fprint .git/x",
        "-exec rm {} +",
        "-exec sed -i s/a/b/ {} +",
        "-exec git add {} +",
        "| xargs rm",
        "| xargs sed -i s/a/b/",
        "| xargs tee",
        "-exec tee {} +",
        "-exec ruff format {} +",
    )
    tests = ("-path './.git/*'", "-name .git", "-path .git/hooks/pre-commit")
    assert not_all(verdict, (f"find . {one} {end}" for one, end in product(tests, ends)), "asked") == set()


LOOKING = ("ls -la {} +", "ls {} \\;", "ls -ltr {} +", "stat -c %s {} +")


def test_ls_shows_nothing_of_the_files_that_find_hands_to_it(verdict):
    found = (f"find {where} {one}" for where, one in product((". -name '*.py' -exec", "src -size +1M -exec"), LOOKING))
    assert not_all(verdict, found, "allow") == set()


def test_what_is_handed_on_by_others_or_shown_is_asked(verdict):
    senders, programs = ("git ls-files", "echo .env", "find ."), ("cat", "head -5", "cp -t x", "ls", "ls -la")
    sent = (f"{names} | xargs {one}" for names, one in product(senders, programs))
    assert not_all(verdict, (*sent, "find . -exec cat {} +", "find . -exec ls ~/.ssh {} +"), "asked") == set()


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            "if [[ -f a && -d b ]]; then ls; fi",
            ": it has a [[ ]] test that is not one of files or texts, which no rule can allow",
        ),
        ("diff <(git show HEAD:a) b", ": it has a process substitution, which no rule can allow"),
        ("cat <<E\ntoday $(date)\nE", ": it has a here-document with expansions in it, which no rule can allow"),
        ('ls; echo "${x:=y}"', ": it has the expansion '${x:=y}', which no rule can allow"),
        ("echo $((i+1))", ": it has the expansion '$((i+1))', which no rule can allow"),
        (
            "f() { ls; }; f",
            ": it has a '(' in or behind a word: a function, an array or a pattern, which no rule can allow",
        ),
    ],
)
def test_of_what_is_not_understood_that_is_told_and_no_guess_about_its_commands(reason, command, told):
    assert reason(command) == command + told


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("ls > a.txt", "> a.txt: it writes a file, and no rule for writeFile allows that"),
        ("wc -l < /etc/hosts", "< /etc/hosts: it reads a file, and no rule for readFile allows that"),
        (
            "ls | xargs cat",
            "xargs cat: xargs hands 'cat' words that only the running shell knows, and no rule spells it out",
        ),
        (
            "CC=a; cat $CC",
            "CC=a: it sets the variable CC, which programs may know; a name in small letters is the script's own",
        ),
        (". x && ls", ". x: it may change anything in this shell, and so what every command behind it does"),
    ],
)
def test_a_reason_says_what_the_command_does(reason, command, told):
    assert reason(command) == told


STATUS = "${PIPESTATUS[0]}"


def test_the_status_of_a_pipeline_is_a_word_that_says_nothing(verdict):
    before = (
        "pytest -q 2>&1 | tail -5; ",
        "ls | wc -l\n",
        "npm test | tee /dev/null; ",
        "for i in 1 2; do ls; done; ",
    )
    shown = (f"echo {STATUS}", f'echo "rc: {STATUS}"', f'[ "{STATUS}" -eq 0 ]', f"rc={STATUS}; echo $rc",
             f"printf '%s\\n' \"{STATUS}\"", 'echo "${PIPESTATUS[1]} ${PIPESTATUS[9]}"')  # fmt: skip
    assert not_all(verdict, (one + two for one, two in product(before, shown)), "allow") == set()


def test_elsewhere_it_may_be_anything_and_other_arrays_are_not_read(verdict):
    uses = (f"cat {STATUS}", f'cat "{STATUS}"', STATUS, f"ls > {STATUS}", f"cd {STATUS}", f"git log {STATUS}",
            f"find . -name x {STATUS}", f"PATH={STATUS} ls", f"PIPESTATUS=a; echo {STATUS}")  # fmt: skip
    others = ("${x[0]}", "${PIPESTATUS[@]}", "${PIPESTATUS[x]}", "${PIPESTATUS[$(id)]}", "${PIPESTATUS[-1]}",
              "${PIPESTATUS[10]}", "${PIPESTATUS[0]:-x}", "${!PIPESTATUS[0]}", "${BASH_VERSINFO[0]}")  # fmt: skip
    assert not_all(verdict, (*uses, *(f"echo {one}" for one in others)), "asked") == set()


def test_versions_and_what_tells_of_the_project_are_not_asked_about(verdict):
    versions = ("gcc --version", "clang --version", "make --version | head -1", "cmake --version", "java -version 2>&1",
                "docker --version", "uv --version", "ruff --version; mypy --version", "git version")  # fmt: skip
    tells = ("egrep -n 'a|b' src/app.py", "fgrep -rn 'a(' src", "git tag --sort=-creatordate | head -5", "git tag -n",
             "pushd src >/dev/null; ls; popd >/dev/null", "python -m pip list", "python3 -m pip show x", "uv pip list",
             "cargo tree | head", "cargo metadata --no-deps", "go list ./...", "go doc fmt.Println", "go env GOPATH",
             "netstat -tlnp", "flake8 src --max-line-length=100 | head")  # fmt: skip
    assert not_all(verdict, (*versions, *tells), "allow") == set()


def test_their_neighbours_are(verdict):
    writes = ("git tag --sort=x v1", "git tag -n v1", "git tag -n -d v1", "git tag --sort=x -d v1", "go env -w A=b",
              "go env", "gofmt -l -w .", "cargo tree --config x", "cargo metadata --manifest-path ../x")  # fmt: skip
    runs = ("gcc --version -wrapper x", "make --version -f x", "cmake --version -P x", "uv pip install x",
            "docker --version run x", "python -m pip list --python ../x", "flake8 --config ../x",
            "go list -toolexec ./x ./...", "go list -m x.org/y@latest", "pushd src && ls > x")  # fmt: skip
    assert not_all(verdict, (*writes, *runs), "asked") == set()


def test_a_variable_that_changes_nothing_may_be_exported(verdict):
    safe = ("CI=1", "CI=true", "NODE_ENV=test", "NO_COLOR=1", "LC_ALL=C", "RUST_BACKTRACE=full")
    ends = ("; pytest -q", " && npm test", "")
    assert not_all(verdict, (f"export {one}{end}" for one, end in product(safe, ends)), "allow") == set()
    unsafe = (
        "CI=/x",
        "CI=$SECRET",
        'CI="$(cat x)"',
        "CI='$(shell x)'",
        "CI=1 PATH=.",
        "PATH=.",
        "x=1",
        "-p",
        "",
        "CI=../x",
    )
    assert not_all(verdict, (f"export {one}; make" for one in unsafe), "asked") == set()


def test_what_stands_instead_of_a_variable_is_read_and_what_is_taken_from_it_is_not(verdict):
    allowed = (
        'echo "${HOME:-none}" "${USER:-nobody}"',
        "x=a.txt; cat ${x:-b.txt}",
        "x=a.txt; cat ${x:+b.txt}",
        'for f in src/*.py; do echo "${f##*/} ${f%.py}"; done',
        "d=src; ls ${d-tests}",
    )
    asked = (
        "x=a.txt; cat ${x:-.env}",
        "cat ${x:-a.txt}",  # it may be set
        "cat ${x:+.env}",
        "x=.env.py; cat ${x%.py}",
        "x=xrm; ${x#x} a.txt",
        "x=a; ${x:+rm} -rf b",
        "x=a; ls ${x:=b}",
        "ls ${x:-$(evil)}",
        "x=a; git log ${x:+--output=b}",
        "CC=a; make ${CC:-b}",
    )
    assert not_all(verdict, allowed, "allow") == set()
    assert not_all(verdict, asked, "asked") == set()


def test_a_script_may_have_variables_in_capitals_that_no_program_knows(verdict):
    names = ("F", "N", "FILE", "FILES", "DIR", "SRC", "NAME", "COUNT", "BRANCH", "PATTERN")
    used = ("{0}=a.txt; cat ${0}", '{0}=a.txt && grep -n x "${0}"', "for {0} in a.txt b.txt; do cat ${0}; done")
    known = ("CC", "LD", "AR", "PS1", "PS4", "IFS", "PATH", "HOME", "ENV", "SHELL", "EDITOR", "PAGER", "MAKEFLAGS",
             "LD_PRELOAD", "BASH_ENV", "GIT_DIR", "FILES_FROM", "DIRSTACK", "NODE_OPTIONS", "FN", "SRCS")  # fmt: skip
    assert not_all(verdict, (one.format(name) for one, name in product(used, names)), "allow") == set()
    assert not_all(verdict, (one.format(name) for one, name in product(used, known)), "asked") == set()
    assert not_all(verdict, (f"{name}=.env; cat ${name}" for name in names), "asked") == set()


LISTS = (
    "ls -la {src,tests}", "ls *.{py,md}", "cat a.{txt,md}", "cat {a,b}.txt", "wc -l src/{app,util}.py",
    "diff {a,b}.txt", "grep -rn foo --include=*.{ts,tsx} src", "git diff -- {a,b}.txt", "ls a.txt{,.bak}",
    "for f in {a,b}.txt; do cat $f; done", "head -n{1,2} a.txt", "{ ls {src,build}/{a,b}; }",
    "cd src && ls {app,util}.py",
)  # fmt: skip
LISTS_OF_MORE = (
    "cat {a,.env}", "cat .{env,x}", "cat .e{nv,x}", "ls {src,$x}", "cat {a,'.env'}", "cat {~/.ssh/id_rsa,a}",
    "find {.,-delete}", "sort {-o,a.txt}", "git log {-1,--output=x}", "git {log,--output=x}", "cat {a,{b,c}}",
    "cat {,}", "{cat,a}", "ls {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "cat {a,$(ls)}", "echo {a,b} > {c,d}", "rm {a,b}",
    "cat {a,b,/proc/self/environ}", "x={a,.env}; cat $x",
)  # fmt: skip


def test_a_list_in_braces_is_read_as_the_words_that_bash_makes_of_it(verdict):
    assert not_all(verdict, LISTS, "allow") == set()
    assert not_all(verdict, LISTS_OF_MORE, "asked") == set()


TESTS_OF_WHETHER_SET = ('[ -z "$X" ]', '[ -n "${X}" ]', 'test -n "$X"', '[[ ! -z "$X" ]]', '[ ! -n "$X" ]')
TESTS_OF_MORE = (
    "[ -z $X ]", '[ "$X" = a ]', '[[ "$X" == a* ]]', '[ -n "$X$Y" ]', '[ -n "$X" -a -v "$Y" ]', '[ -v "$X" ]',
    '[ -n "$X" = a ]', "[[ -z $X ]]", '[ "$X" ]', 'echo "$X"', '$T -n "$X"', 'set -x; [ -n "$X" ]',
)  # fmt: skip


SHOWN = (
    '{}; [ -n "$X" ]', "{}; x=$X", "{}; ls; x=${{X:-a}}", '{}; [[ -z "$X" ]] && ls', '{{ {}; }}; [ -n "$X" ]',
    'for i in a b; do [ -n "$X" ]; {}; done', 'x=$X; {}; [ -n "$x" ]', 'if ls; then {}; fi; test -z "$X"',
    '({}; [ -n "$X" ])', '[ -n "$X" ] && {}; x=$X', "{}; x=$(x=$X; ls)",
)  # fmt: skip
NOT_SHOWN = (
    '[ -n "$X" ]; {}', "x=$X; {}; ls", '({}); [ -n "$X" ]', "{}; x=a; ls $x", "{}; x=$(ls); ls",
    'ls | {{ {}; }}; [ -n "$X" ]', "{}; for x in $X; do ls; done",
)  # fmt: skip


@pytest.mark.parametrize("setting", ["set -x", "set -ex", "set -euxo pipefail", "set -o xtrace", "s=set; $s -x"])
def test_what_a_shell_that_shows_its_commands_would_show_of_a_variable_is_asked_about(tmp_path, setting):
    """Only bash's own ``for`` is shown as it is written."""
    patterns = ["[ *", "test *", "[[ *", "ls *", "set -x", "set -ex", "set -euxo pipefail", "set -o xtrace"]
    rules = {"whitelist": {"patterns": patterns}}
    policy = Policy.from_dict(rules, project_root=tmp_path.resolve(), home=tmp_path / "home")

    def verdict(command):
        return policy.decide("runCommand", {"command": command}).verdict

    assert not_all(verdict, (form.format(setting) for form in SHOWN), "asked") == set()
    assert not_all(verdict, (form.format(setting) for form in NOT_SHOWN), "allow") == set()


def test_whether_a_variable_is_set_may_be_looked_at_and_nothing_else_of_it(verdict):
    forms = ("{}", "if {}; then echo x; fi", "{} && ls || pwd")
    assert not_all(verdict, (f.format(one) for f, one in product(forms, TESTS_OF_WHETHER_SET)), "allow") == set()
    assert not_all(verdict, (f.format(one) for f, one in product(forms, TESTS_OF_MORE)), "asked") == set()
