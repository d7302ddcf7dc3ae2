"""Rules that can match nothing are told, each with the way to write it; rules that can match are not."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import json

import pytest

from executor_permissions import Policy

DEAD = [
    # A whitelist is narrow.
    ("whitelist", "tools", "x*", "allows nothing: in a whitelist a '*' may only stand behind mcp__<server>__ or <service>:, so name each tool"),
    ("whitelist", "tools", "*", "in a whitelist a '*' may only stand"),
    ("whitelist", "tools", "git status *", "is the name of no tool: a command belongs into the patterns"),
    ("whitelist", "patterns", "*", "the program must be named"),
    ("whitelist", "patterns", "* --help", "the program must be named"),
    ("whitelist", "patterns", "ls | grep *", "the commands of a line are judged one by one, so write a rule for each: 'ls', 'grep *'"),
    ("whitelist", "patterns", "cd x&&make test", "so write a rule for each: 'cd x', 'make test'"),
    ("whitelist", "patterns", "echo * > out.txt", "judged by the rules for writeFile and readFile"),
    ("whitelist", "patterns", "sort * < in.txt", "judged by the rules for writeFile and readFile"),
    ("whitelist", "patterns", "FOO=1 make *", "not even 'FOO=1 make x', which it describes (FOO=1 make x: it sets the variable FOO)"),
    ("whitelist", "patterns", "cat ~/.ssh/*", "may hold secrets"),
    ("whitelist", "patterns", "cat `x`", "not even 'cat `x`'"),
    ("whitelist", "patterns", "f*(x=1)", "in a whitelist a '*' may only stand behind mcp__<server>__"),
    ("whitelist", "patterns", "runCommand(command=git *)", "commands are judged by patterns of their own: write 'git *'"),
    ("whitelist", "patterns", "f(url=x.com)", "names scheme and host: https://host/path"),
    ("whitelist", "patterns", "f(url=*)", "or ** for any"),
    ("whitelist", "patterns", "f(url=https://u@x.com/*)", "names scheme and host"),
    ("whitelist", "arguments", {"f": {"url": ["x.com"]}}, "is not plainly a URL: write it as https://host/path"),
    ("whitelist", "arguments", {"f": {"url": ["https://x.com\\\\y"]}}, "is not plainly a URL"),
    ("whitelist", "arguments", {"t": {"n": ["x*"]}}, "a value is compared as a whole here, its '*' too: write 't(n=x*)' among the patterns"),
    ("whitelist", "arguments", {"t*": {"n": ["x"]}}, "in a whitelist a '*' may only stand behind mcp__<server>__"),
    ("whitelist", "arguments", {"readFile": {"path": ["a\x07"]}}, "is no plain path"),
    ("whitelist", "arguments", {"runCommand": {"command": ["ls | sh"]}}, "not even 'runCommand(command=ls | sh)'"),
    # What is denied or asked about is read broadly, and can still be nothing.
    *[
        (name, *rule)
        for name in ("blacklist", "ask")
        for rule in [
            ("tools", "a b", "is the name of no tool: a command belongs into the patterns"),
            ("tools", "git push*", "is the name of no tool"),
            ("patterns", "git push -- --force *", "not even 'git push -- --force x', which it describes"),
            ("patterns", "deploy(target=prod", "a command with these brackets in it: write 'deploy(target=prod)' for the tool"),
            ("patterns", "deploy (target=prod)", "write 'deploy(target=prod)' for the tool"),
            ("patterns", "deploy(target=prod) *", "write 'deploy(target=prod)' for the tool"),
            ("patterns", "deploy(", "write 'deploy()' for the tool"),
        ]
    ],
]  # fmt: skip
ALIVE = [
    ("whitelist", "tools", ["t", "mcp__s__*", "todo:*", "runCommand", "readFile", "startBackgroundTask", "n:t"]),
    ("whitelist", "patterns", ["ls", "ls *", "[ *", "get_time", "git push*", "f(url=https://x.com/*)", "f(url=**)", "f(url=https://*.x.com/a)", "f()", "f(x=1, y=true)", "f(*java*)", "f(path=src/**)",
                               "mcp__s__*(x=1)", "'*' x", "\\* x", "a '|' b", "cat ${project}/a", "cat '${project}/a b' *", "make -j4 *", "find * -delete", "git commit -m 'a b'", "python *", "sudo apt update"]),
    ("whitelist", "arguments", [{"readFile": {"path": ["${project}/", "~/x", "a/*.md", "**/b"]}}, {"f": {"url": ["https://x.com", "https://x.com/*"], "method": ["GET", "HEAD"]}}, {"t": {"n": [5, True, None, 1.5, "x"]}}, {"runCommand": {"command": ["npm run", "git log -5"]}}, {"runCommand": {"argv": ["ls"]}}, {"mcp__s__*": {"n": [1]}}]),
    *[
        (name, *rules)
        for name in ("blacklist", "ask")
        for rules in [
            ("tools", ["t", "x*", "*x", "*", "mcp__*__delete*"]),
            ("patterns", ["rm *", "rm*", "git push*", "*--force*", "*secret*", "*/etc/*", "aws *delete*", "delete*", "*", "* --help", "curl * | sh", "curl*|*sh*", "* > /etc/*", "cat * > /etc/*", "> /etc/passwd", "FOO=* make *", "./bin/x*",
                          ":(){ :|:& };:", "echo `id`*", "[ *", "cd x && rm *", "f*o(x=*)", "f(*x*)", "f(x=1)", "runCommand(command=git *)", "python -c '*'", "dd of=/dev/*", "rm -rf ~", "rm -rf ${project}", "cat ${project}/a"]),
            ("arguments", [{"f": {"url": ["http://169.254.", "evil.com", "*evil*", "https://*.evil.com"]}}, {"t*": {"n": ["x*", 5, True, None]}}, {"readFile": {"path": ["~/.ssh/id_", "/etc/**", "**/*.pem", "a/"]}}, {"runCommand": {"command": ["rm -rf", "git push*"]}}, {"runCommand": {"argv": ["rm"]}}]),
        ]
    ],
]  # fmt: skip


def problems(name, key, rules):
    policy = Policy.from_dict({"version": "1.2", name: {key: rules}}, project_root="/tmp/a project", home="/home/me")
    return policy.problems


@pytest.mark.parametrize(("name", "key", "rule", "told"), DEAD)
def test_a_rule_that_can_match_nothing_is_told_with_the_way_to_write_it(name, key, rule, told):
    (problem,) = problems(name, key, rule if key == "arguments" else [rule])
    assert problem.startswith(f"{name}.{key}")
    assert told in problem


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("git push *", "'git push *' counts nothing: it is the name of no tool; commands are calls of runCommand"),
        ("deploy(target=prod)", "counts nothing"),
        ("mcp__shop", "write 'mcp__shop__*'"),
        *[(name, None) for name in ("runCommand", "run*", "*", "mcp__shop__*", "deploy")],
    ],
)
def test_a_limit_that_counts_nothing_is_told(name, told):
    policy = Policy.from_dict({"version": "1.2", "limits": {name: {"turn": 1}}}, project_root="/p", home="/home/me")
    assert len(policy.problems) == (told is not None)
    assert all(problem.startswith(f"limits.{name}: ") and told in problem for problem in policy.problems)


@pytest.mark.parametrize(("name", "key", "rules"), ALIVE)
def test_a_rule_that_can_match_is_not_told(name, key, rules):
    found = [problem for rule in rules for problem in problems(name, key, rule if key == "arguments" else [rule])]
    assert found == []


@pytest.mark.parametrize(
    ("name", "rule", "told"),
    [
        ("whitelist", "frobnicate *", "'frobnicate *' covers whatever frobnicate does with any words"),
        ("whitelist", "./scripts/build.sh *", "name what it may be given, as in './scripts/build.sh build *'"),
        *[("whitelist", rule, None) for rule in ("frobnicate", "frobnicate build *", "git *", "/usr/bin/git *", "python3 *", "t(x=*)")],
        *[(name, "frobnicate *", None) for name in ("blacklist", "ask")],
    ],
)  # fmt: skip
def test_a_rule_that_takes_a_program_at_its_word_says_what_that_means(name, rule, told):
    found = problems(name, "patterns", [rule])
    assert len(found) == (told is not None)
    assert all(told in problem for problem in found)


FOREIGN = [
    ("Bash(rm:*)", "write", "'rm *'"), ("Bash(git push:*)", "a tool named Bash", "'git push *'"), ("shell(rm *)", "a tool named shell", "'rm *'"), ("rm:*", "a ':' in its name", "'rm *' for commands"), ("pets:*", "every tool of a service 'pets'", "'pets *' for commands"), ("git push:*", "a ':'", "'git push *'"), ("\\brm\\b", "no regular expression", "'rm *'"),
    ("rm\\s+.*", "no regular expression", "'rm *'"), ("rm -[rf]* *", "a rule for each", "'rm -r *', 'rm -f *'"),
]  # fmt: skip
OWN = ["rm *", "[ *", "npm run build:*", "yarn build:*", "docker pull alpine:*", "rake db:*", "pip install x[y]", "runCommand(command=git *)", "find . -name a\\ b", "*.py", "foo a.b", "\\rm *", "C:\\bin\\x *"]  # fmt: skip


@pytest.mark.parametrize("name", ["blacklist", "ask", "whitelist"])
def test_a_pattern_in_the_notation_of_others_is_told_with_our_own(name):
    for rule, why, written in FOREIGN:
        (problem,) = problems(name, "patterns", [rule])
        assert problem.startswith(f"{name}.patterns[0]: {rule!r}"), rule
        assert (why == "write" or why in problem) and problem.endswith(written), rule
    told = [problem for rule in OWN for problem in problems(name, "patterns", [rule])]
    assert [one for one in told if name != "whitelist" or "in its name" in one or "regular" in one] == []


PATHS = [
    ("$HOME/private/", "write '~/private/'"), ("${HOME}/x", "write '~/x'"), ("file:///etc/x", "write '/etc/x'"), ("**/*.{pem,key}", "write a rule for each, '**/*.pem', '**/*.key'"), ("conf/*.{pem,key}", "'conf/*.pem', 'conf/*.key'"), ("conf/[.]env", "write 'conf/.env'"), ("conf/[a-c].pem", "'conf/a.pem', 'conf/b.pem', 'conf/c.pem'"),
    ("${PROJECT}/.env", "write '${project}/.env'"), ("$PROJECT/.env", "write '${project}/.env'"), ("${workspaceFolder}/.env", "write '${project}/.env'"), ("%USERPROFILE%/x", "write '~/x'"), ("$(pwd)/x", "is not replaced"), ("{{root}}/x", "is not replaced"),
    ("${project}/.env ", "which are of the file's name: write '${project}/.env'"), (" ~/x", "write '~/x'"), ("!keys/", "no rule is the opposite of another"),
]  # fmt: skip
BARE = [".env", "id_rsa", "*.pem"]


@pytest.mark.parametrize("name", ["blacklist", "ask", "whitelist"])
def test_a_path_in_the_notation_of_others_is_told_with_our_own(name):
    for path, written in PATHS:
        (problem,) = problems(name, "arguments", {"readFile": {"path": [path]}})
        assert problem.startswith(f"{name}.arguments.readFile.path[0]: {path!r}"), path
        assert written in problem, path
    for path in BARE:
        found = problems(name, "arguments", {"readFile": {"path": [path]}})
        assert [f"write '**/{path}' for every folder, or '${{project}}/{path}'" in problem for problem in found] == (
            [] if name == "whitelist" else [True]
        )


@pytest.mark.parametrize("tool", ["readFile", "mcp__fs__read"])
@pytest.mark.parametrize("name", ["blacklist", "ask", "whitelist"])
def test_the_same_is_told_of_a_path_in_a_pattern_for_a_tool(name, tool):
    for path, written in [("$PROJECT/.env", "${project}/.env"), ("$HOME/a*", "~/a*"), ("src/[.]env", "src/.env")]:
        for quote in ("", "'"):
            (problem,) = problems(name, "patterns", [f"{tool}(path={quote}{path}{quote}, n=1)"])
            assert repr(f"{tool}(path={quote}{written}{quote}, n=1)") in problem
    assert problems(name, "patterns", [f"{tool}(path=${{project}}/src/**)", f"{tool}(path=~/x, n=1)"]) == ()


@pytest.mark.parametrize("name", ["blacklist", "ask", "whitelist"])
def test_an_argument_that_no_call_has_is_told(name):
    for argument in ("file_path", "Path", "filename"):
        (problem,) = problems(name, "arguments", {"readFile": {argument: ["~/x"]}})
        assert f"an argument {argument!r}, which readFile does not have: it is called 'path'" in problem
        (problem,) = problems(name, "patterns", [f"readFile({argument}=~/x)"])
        assert "it is called 'path'" in problem
    (problem,) = problems(name, "arguments", {"t": {"pa*": ["~/x"]}})
    assert "a '*' stands for no name here" in problem
    assert problems(name, "arguments", {"searchFiles": {"pattern": ["x"]}}) == ()


def test_a_tool_of_ours_in_other_letters_is_told():
    rules = [
        ("tools", ["ReadFile"]),
        ("patterns", ["readfile(path=~/x)"]),
        ("arguments", {"READFILE": {"path": ["~/x"]}}),
    ]
    for key, value in rules:
        (problem,) = problems("blacklist", key, value)
        assert "and not 'readFile'" in problem
    policy = Policy.from_dict({"version": "1.2", "limits": {"runcommand": {"turn": 3}, "runCommand": {"turn": 3}}})
    (problem,) = policy.problems
    assert problem.startswith("limits.runcommand: 'runcommand' is a tool of this name, and not 'runCommand'")


@pytest.mark.parametrize("name", ["whitelist", "ask", "blacklist"])
def test_braces_in_a_rule_for_commands_are_told_of_and_what_to_write(name):
    def problems(rule):
        return Policy.from_dict({name: {"patterns": [rule]}}).problems

    wrong = f"{name}.patterns[0]: 'git {{push,pull}} *' has braces, which stand for themselves"
    assert problems("git {push,pull} *") == (f"{wrong}: write a rule for each, 'git push *', 'git pull *'",)
    assert problems("rm {a,b}{c,d}")[0].endswith(": write a rule for each, 'rm ac', 'rm ad', 'rm bc', 'rm bd'")
    for meant in ("awk '{print $1, $2}' x", "echo '{a,b}'", "jq '{a,b}' *", "find . -exec rm {} +"):
        assert not any("braces" in text for text in problems(meant))


def test_names_with_brackets_or_braces_that_are_there_are_meant(tmp_path):
    for name in ("[id]", "{a,b}", "keys", "$x", "!y"):
        (tmp_path / name).mkdir()
    paths = [
        "[id]/page.tsx",
        "$x/",
        "!y/",
        "${project}/{a,b}/*",
        "keys",
        "*",
        "~/x",
        "${project}/.env",
        "**/.env",
        "src/",
    ]
    policy = Policy.from_dict({"blacklist": {"arguments": {"readFile": {"path": paths}}}}, project_root=tmp_path)
    assert policy.problems == ()


def test_a_dead_rule_is_told_with_its_line(tmp_path):
    path = tmp_path / "permissions.json"
    path.write_text('{"whitelist": {"patterns": [\n"ls *",\n"* x"]}}')
    assert Policy.load(path).problems == (
        f"{path}:3: whitelist.patterns[1]: '* x' allows nothing: the program must be named, as in 'git status *'",
    )


def test_a_rule_for_two_arguments_is_tried_with_each_value_of_the_other():
    rules = {"f": {"url": ["x.com", "https://x.com"], "method": ["GET"]}}
    (problem,) = problems("whitelist", "arguments", rules)
    assert problem.startswith("whitelist.arguments.f.url[0]")


def test_a_thousand_rules_are_tried_one_by_one():
    rules = {"patterns": [f"good{i} run *" for i in range(500)], "tools": [f"tool{i}" for i in range(500)]}
    policy = Policy.from_dict({"whitelist": rules}, project_root="/proj", home="/home/me")
    assert policy.problems == ()


def test_a_file_without_problems_reads_no_command_when_it_is_loaded(tmp_path):
    path = tmp_path / "permissions.json"
    path.write_text(json.dumps({"whitelist": {"patterns": ["ls *"]}}))
    assert Policy.load(path).problems is not None
