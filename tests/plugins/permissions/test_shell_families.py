"""Families of commands that reach a file, a folder or a program by a detour; and ordinary ones that need no question."""

# ruff: noqa: E501, SIM905 -- tables of cases: a line each
from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from executor_permissions import Policy

EXAMPLE = Path(__file__).parents[3] / "permissions.example.json"
READING = "cat head tail grep cd pushd popd echo cp sort foo bash while diff true ls wc env timeout xargs awk test basename git rg".split()
RULES = {
    "whitelist": {"patterns": [f"{program} *" for program in READING], "arguments": {"readFile": {"path": ["${project}/"]}}},
    "blacklist": {"arguments": {"readFile": {"path": ["${project}/.env", "${project}/keys/", "**/*.pem"]}}},
}  # fmt: skip


@pytest.fixture
def place(tmp_path):
    """A project with links, nested repositories and files that no tool may read; gives its folder."""
    root = tmp_path.resolve() / "proj"
    for name in ("src/sub", "keys", "docs", "nested/.git", "bare/objects", "bare/refs", ".git", "plain/deep"):
        (root / name).mkdir(parents=True)
    for name in (".env", "keys/id", "a.pem", "a.txt", "bare/HEAD", "src/b.py"):
        (root / name).write_text("x\n")
    (tmp_path / "out/deep").mkdir(parents=True)
    links = {
        "link-env": root / ".env", "link-keys": root / "keys", "in": root / "src/sub", "out": tmp_path.resolve() / "out/deep",
        "src/back": root, "docs/.env": "../.env", "x.txt": root / "a.pem", "to-nested": root / "nested",
    }  # fmt: skip
    for name, target in links.items():
        (root / name).symlink_to(target)
    return root


def decide(place, rules=RULES):
    policy = Policy.from_dict(rules, project_root=place, home=place.parent / "home")
    return lambda text: policy.decide("runCommand", {"command": text})


# Ways to write a path that is .env or something else that no tool may read, from the project's folder.
SPELLINGS = [
    ".env", "./.env", "src/../.env", "//{root}/.env", "{root}/.env", "/proc/self/cwd/.env", "/proc/thread-self/cwd/.env", "/proc/self/root{root}/.env",
    "/proc/self/task/1/cwd/.env", "/proc/net/../cwd/.env", "/proc/thread-self/../../cwd/.env", "/dev/fd/../cwd/.env", "link-env", "link-*", "link-?nv", "*-env", ".e*", ".[e]nv", ".??v", "in/../../.env", "src/back/.env", "src/ba*/.env", "docs/.env",
    "d*/.env", "*/.env", "link-keys/id", "link-k*/id", "k*/i*", "keys/../keys/id", "a.pem", "*.pem", "x.txt", "[x].txt", '"$PWD/.env"', "$PWD/.env", '"$(pwd)/.env"',
    "$(pwd)/.env", "$(echo .env)", "'.env'", '".e"nv', "\\.env", ".en{{v,x}}", "{{.env,a.txt}}", '"$x"', "$x", "$(basename .env)", "../proj/.env", "../*/.env",
    "/proc/self/cwd/k*/id", "$y$z", '"${{y}}nv"', "out/../../proj/.env", "src/sub/../../.env", "keys",
]  # fmt: skip
PROGRAMS = [
    "cat {}", "head -n1 {}", "tail -n+1 -- {}", "grep x {}", "cp {} y", "cat < {}", "foo --file={}", "foo -f{}", "diff a.txt {}", "sort {} | wc", "foo @{}", "foo a:{}",
    "bash -c 'cat {}'", "env cat {}", "timeout 5 cat {}", "cat a.txt {} b", "foo -x {}", "while read l; do echo \"$l\"; done < {}", 'echo "$(cat {})"', "cat {} > /dev/null",
]  # fmt: skip
FRAMES = [
    "{}", "(cd src); {}", "cd nonexistent; {}", "cd src || {}", "cd src && cd .. && {}", "for i in 1 2; do {}; done", "if cd src; then true; else {}; fi", "true && {}", "{} &",
    "cd src | true; {}", "! cd src; {}", "cd src; cd ..; {}", "v=$({})", "pushd src && popd && {}", "while true; do {}; break; done", "case a in a) {};; esac", "{{ {}; }}", "time {}",
    "cd . && {}", "cd src && cd - && {}", "cd in/.. && cd {root} && {}", "for i in 1 2; do cd src; {}; done", "cd $q; {}", "eval true; {}",
]  # fmt: skip


@pytest.mark.parametrize("frame", FRAMES)
def test_a_file_that_no_tool_may_read_is_kept_from_every_program_however_it_is_reached(place, frame):
    decided = decide(place)
    wrong = []
    for spelling, program in product(SPELLINGS, PROGRAMS):
        if frame != "{}" and (SPELLINGS.index(spelling) + PROGRAMS.index(program)) % 7:
            continue  # every spelling and every program, but not all of both together
        path = spelling.replace("{root}", str(place)).replace("{{", "{").replace("}}", "}")
        command = (
            frame.replace("{root}", str(place))
            .replace("{{", "{")
            .replace("}}", "}")
            .replace("{}", program.replace("{}", path))
        )
        decision = decided("x=.env; y=.e; z=nv; " + command)
        if decision.verdict == "allow" or decision.method == "error":
            wrong.append((command, decision.verdict, decision.reason))
    assert not wrong


def test_a_plain_spelling_is_denied_rather_than_asked_about(place):
    decided = decide(place)
    plain = [
        ".env",
        "./.env",
        "src/../.env",
        "{root}/.env",
        "link-env",
        "/proc/self/cwd/.env",
        "/proc/net/../cwd/.env",
        "/proc/thread-self/../../cwd/.env",
        "in/../../.env",
        "docs/.env",
        "a.pem",
        "x.txt",
        '"$PWD/.env"',
        "keys/id",
        "../proj/.env",
    ]
    commands = [
        frame.replace("{}", f"cat {path}").replace("{root}", str(place))
        for frame in ("{}", "(cd src); {}", "cd gone; {}", "for i in 1; do {}; done", "cd src || {}")
        for path in plain
    ]
    commands = [command.replace("{root}", str(place)) for command in commands]
    assert [command for command in commands if decided(command).verdict != "deny"] == []


# What leads out of the project, or into a repository of its own; each with what runs there.
LEAVING = [
    "cd ..", "cd src/../..", "cd out/..", "cd in/../../..", "cd src; for i in 1 2 3 4; do cd ..; done", "cd src; while cd ..; do true; done", "cd -P in/../../..", "cd out", "time cd ..",
    "command cd ..", "builtin cd ..", "pushd ..", "pushd .. && popd", "cd /", "cd ~", "cd", "cd $q", 'cd "$(cat a.txt)"', "for i in .. ; do cd $i; done", "v=..; cd $v", "v=/; cd \"$v\"",
    "cd src; cd ../..", "if true; then cd ..; fi", "{ cd ..; }", "cd src && cd ../..", "! cd ..", "until cd ..; do true; done", "read v < a.txt; cd \"$v\"", "cd -", "cd src/back/..",
    "export CDPATH=/; cd etc", "HOME=/; cd", "cd *", "cd src || cd ..", "case a in *) cd ..;; esac", "eval 'cd ..'", "\\cd ..", "'cd' ..", "c=cd; $c ..", "for c in cd; do $c ..; done",
]  # fmt: skip


@pytest.mark.parametrize(
    "end",
    [
        "{}; ls",
        "{} && ls",
        "{} && cat b",
        "{}; echo x > /dev/null; ls",
        "{} && ls | wc",
        "{} && v=$(ls)",
        "{}\nls",
        "for j in 1 2; do {}; ls; done",
        "{} && (ls)",
        "{} && { ls; }",
    ],
)
def test_what_may_run_outside_the_project_is_not_allowed(place, end):
    decided = decide(place)
    assert [text for text in LEAVING if decided(end.replace("{}", text)).verdict == "allow"] == []


def test_git_runs_where_there_is_no_repository_but_the_projects(place):
    decided = decide(place)
    inside = [
        "cd src && git status",
        "cd src; git log",
        "git -C src log",
        "git -C src/sub status",
        "git -C ./src -C sub log",
        "cd plain && git -C deep diff",
        "cd in && git status",
        "git status && cd src && git add a",
        "(cd src; git log)",
        "timeout 5 git -C src log",
        "cd src && git log | head -5",
    ]
    nested = [
        "cd nested && git status", "git -C nested status", "cd bare && git status", "git -C bare log", "cd to-nested; git log", "for i in 1 2; do git status; cd nested; done", "time cd nested && git status", "cd src; cd ../nested; git log",
        "git -C out status", "git -C .. status", "git -C $q status", "cd plain && git -C ../nested log", "cp -r x src/.git; cd src && git status", "foo; git -C src log", "bash x; cd src; git log", "cd nested/.git && git status", "v=nested; git -C $v log",
        "cd src > b; git log", "echo x > src/.git; cd src; git log", "for d in nested src; do git -C $d log; done", "git -C nested --no-pager log", "git --no-pager -C nested log", "cd $q; git log", "git clone a src/b; cd src/b; git log", "for i in 1 2; do git -C src log; cp -r x src/.git; done", "git -C src log & cp -r x src/.git",
        "git -C src log | cp -r x src/.git", "while git -C src log; do cp -r x src/.git; done", "env git -C nested log",
    ]  # fmt: skip
    assert {text: decided(text).verdict for text in inside} == dict.fromkeys(inside, "allow")
    assert [text for text in nested if decided(text).verdict == "allow"] == []


def test_a_command_whose_name_is_set_before_is_judged_by_that_name(place):
    decided = decide(place, {"blacklist": {"patterns": ["touch *"]}, "defaultPolicy": "allow"})
    surely = [
        "t=touch; $t c", 't=touch; "$t" c', "t=to u=uch; $t$u c", "for t in touch; do $t c; done", "x='touch c'; $x", "t=touch && command $t c", "if true; then t=ls; else t=touch; fi; $t c", "t=touch; env $t c", "t=touch; (cd src; $t c)",
        "t=ls; for i in 1 2; do $t c; t=touch; done", "t=touch; u=$t; $u c", "t=c; touch $t", "export t=touch; $t c", "t=touch; x=$($t c)", "t=; $t touch c", "t=tou; ${t}ch c", "for t in ls touch; do $t c; done", "t=touch; timeout 5 $t c", "case a in a) t=touch;; esac; $t c",
    ]  # fmt: skip
    maybe = [
        "$t c",
        "read t <<< touch; $t c",
        "t=$(echo touch); $t c",
        't=$(cat a.txt); "$t" c',
        "env $t c",
        "eval $t",
        "t=touch; unset t; $t c",
        "printf -v t touch; $t c",
        "touch=$t; $touch c",
    ]
    assert [text for text in surely if decided(text).verdict != "deny"] == []
    found = {text: (decided(text).verdict, decided(text).maybe_denied) for text in maybe}
    assert found == {text: ("deny", False) if text.startswith("t=touch") else ("ask", True) for text in maybe}


def test_a_recursive_search_or_copy_is_asked_about_where_it_finds_what_no_tool_may_read(place):
    decided = decide(place)
    asked = [
        "grep -r x .",
        "grep -rn x",
        "grep -R x {root}",
        "grep --recursive x src/..",
        "cd src && grep -r x ..",
        "cp -r . /tmp/x",
        "cp -a {root} y",
        "grep -rn x . --include=.e*",
        "grep -r x link-keys/..",
        "grep -rn x . --exclude=.env --exclude-dir=keys",
        "grep -R x src",
        "cd src && grep -R x .",
        "timeout 5 grep -rn x .",
        "rg x",
        "rg x --hidden .",
        "rg --no-ignore x",
    ]
    allowed = [
        "grep -rn x src",
        "grep -rn x . --include=*.py",
        "grep -rn x . --include='*.py'",
        "grep -rn x . --exclude=.env --exclude-dir=keys --exclude=*.pem",
        "cp -r src y",
        "rg x src",
        "rg x plain",
        "grep x a.txt",
        "cd src && grep -rn x .",
    ]
    verdicts = {text: decided(text.replace("{root}", str(place))).verdict for text in asked + allowed}
    assert verdicts == dict.fromkeys(asked, "ask") | dict.fromkeys(allowed, "allow")


QUIET = [
    "cd src && git log", "git -C src log", "for f in *.txt; do echo \"$f\"; done", "for f in src/*.py; do head \"$f\"; done", "x=5; echo $x", '[ -n "$CI" ]', 'echo "$(date)"', "wc -l $(git ls-files)", "while read x; do echo \"$x\"; done",
    "while IFS= read -r line; do echo \"$line\"; done < a.txt", "for i in 1 2 3; do echo $i; done", "for i in {1..5}; do echo \"n $i\"; done", 'echo "$HOME"', 'echo "$USER in $PWD"', 'test -z "$CI" && echo no', '[ "$TERM" = dumb ] || echo x', "cd src && ls > /dev/null",
    'name=src; ls "$name"', "d=src/sub; cd $d && ls", "for d in src docs; do ls $d; done", "if cd src; then ls; fi", "(cd src && ls) && ls", "cd src && cd .. && git status", "pushd src && ls && popd", 'echo "$PATH"', "head \"$PWD/a.txt\"", 'cd "$(pwd)/src" && ls',
    "for f in $(git ls-files); do echo \"$f\"; done", "for n in a b; do for m in 1 2; do echo $n$m; done; done", "x=$(date); echo \"$x\"", "printf '%s\\n' \"$(date)\" \"$USER\"", "echo $(date)", "for i in 1 2; do if [ $i = 1 ]; then continue; fi; echo $i; done", "cat src/*.py",
    "git status && cd src && git diff", "for d in src docs; do (cd $d && ls); done", "echo \"done: $?\"", "i=0; while [ $i -lt 3 ]; do echo $i; break; done", "cat a.txt | while read -r a b; do echo \"$b\"; done", "ls \"$HOME/x\"", "ls || exit 1", "cd src || exit 1; ls",
]  # fmt: skip
SHOWING = [
    "echo $OPENAI_API_KEY",
    'echo "$AWS_SECRET"',
    'x=$TOKEN; echo "$x"',
    "for f in $SECRETS; do echo $f; done",
    'printf "%s" "$KEY"',
    'read x <<< "$KEY"; cat "$x"',
    'head "$(cat a.txt)"',
    "cat $(git ls-files)",
    'while read f; do cat "$f"; done < a.txt',
]


def test_ordinary_commands_with_folders_loops_and_variables_need_no_question(place):
    rules = json.loads(EXAMPLE.read_text())
    rules["whitelist"]["patterns"] += ["pushd *", "popd"]
    decided = decide(place, rules)
    assert [(text, decided(text).reason) for text in QUIET if decided(text).verdict != "allow"] == []
    assert [text for text in SHOWING if decided(text).verdict != "ask"] == []
