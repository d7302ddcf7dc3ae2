"""Ways past what people have answered and written: more than was shown, other arguments, rules that mean less."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import pytest

from executor import ToolCall
from executor_permissions import PermissionPlugin, Policy

SHELL = "runCommand"


@pytest.fixture
def project(tmp_path, monkeypatch):
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "src/a.txt", "run.sh"):
        (root / name).write_text("x\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_text("x\n")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def make(tmp_path, project):
    def make(answer="no", policy=None):
        places = {"project_root": project, "home": tmp_path, "state_dir": tmp_path / "state"}
        return PermissionPlugin(policy=policy or {"version": "1.2"}, channel=lambda _: answer, **places)

    return make


@pytest.fixture
def policy(tmp_path, project):
    def policy(*, default="ask", **lists):
        content = {"version": "1.2", "defaultPolicy": default, **lists}
        return Policy.from_dict(content, project_root=project, home=tmp_path)

    return policy


def verdict(plugin, tool=SHELL, args=None, context=None):
    return plugin.decide(ToolCall("c", tool, args), context).verdict


# What a command is about is its own, wherever the option stands.


@pytest.mark.parametrize(
    ("answered", "others"),
    [
        ("kubectl -n staging delete pod x", ["kubectl -n prod delete pod x", "kubectl delete pod x", "kubectl delete pod x -n prod"]),
        ("kubectl delete pod x", ["kubectl -n prod delete pod x", "kubectl --namespace=prod delete pod x"]),
        ("npm run build", ["npm -w other run build", "npm --workspace=other run build", "npm --workspaces run build"]),
    ],
)  # fmt: skip
def test_always_covers_no_other_namespace_or_workspace(make, answered, others):
    plugin = make("always")
    assert plugin.check_permission(SHELL, {"command": answered})[0]
    assert verdict(plugin, args={"command": answered}) == "allow"
    for other in others:
        assert verdict(plugin, args={"command": other}) == "ask", other


def test_a_rule_for_all_that_follows_covers_an_option_in_front_as_it_does_behind(policy):
    rules = policy(whitelist={"patterns": ["kubectl get *", "npm run *"]})
    for command in (
        "kubectl -n prod get pods",
        "kubectl get pods -n prod",
        "npm -w one run build",
        "npm run build -w one",
    ):
        assert rules.decide(SHELL, {"command": command}).verdict == "allow", command


# Files that were exchanged for links since.


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("touch a.txt", "a.txt"), ("cp b.txt a.txt", "a.txt"), ("cat a.txt", "a.txt"), ("sed -i s/a/b/ a.txt", "a.txt"), ("./run.sh", "run.sh"),
        ("rm -rf src", "src"), ("cp b.txt src/", "src"), ("curl -d @a.txt http://x.example/", "a.txt"), ("mine --out=a.txt", "a.txt"), ("scp a.txt host:", "a.txt"),
        ("echo hi > a.txt", "a.txt"), ("cat < a.txt", "a.txt"), ("tee a.txt", "a.txt"), ("cd src && echo x > a.txt", "src/a.txt"),
        ("for f in b.txt a.txt; do rm $f; done", "a.txt"),
        ("mine -oa.txt", "a.txt"), ("mine -oa.txt | cat", "a.txt"), ("mine -Isrc", "src"), ("gcc -osrc/x b.txt", "src"), ("bash -c 'touch src/x'", "src"),
        ("sed 's/a/b/w src/x' b.txt", "src"), ("touch {src,b.txt}/x", "src"), ("mine -o{a.txt,b.txt}", "a.txt"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("answer", ["always", "always user"])
def test_a_command_whose_file_is_a_link_by_now_is_asked_about_again(make, project, command, name, answer):
    plugin = make(answer)
    assert plugin.check_permission(SHELL, {"command": command})[0]
    assert verdict(plugin, args={"command": command}) == "allow"
    (project / name).rename(project / "before")
    (project / name).symlink_to(project.parent / "outside" / ("" if name == "src" else "a.txt"))
    again = [plugin] if answer == "always" else [plugin, make()]
    assert [verdict(one, args={"command": command}) for one in again] == ["ask"] * len(again)


@pytest.mark.parametrize(
    "args", [{"x": "src/q"}, {"opts": {"to": "src/q"}}, {"cmd": "touch src/q"}, {"x": "--out=src/q"}]
)
def test_a_call_with_a_text_that_names_what_is_a_link_by_now_is_asked_about_again(make, project, args):
    plugin = make("always user")
    assert plugin.check_permission("mine", args)[0]
    assert verdict(plugin, "mine", args) == "allow"
    (project / "src").rename(project / "before")
    (project / "src").symlink_to(project.parent / "outside")
    assert [verdict(one, "mine", args) for one in (plugin, make())] == ["ask", "ask"]


def test_a_link_that_was_there_when_it_was_answered_is_no_reason_to_ask_again(make, project):
    (project / "data").symlink_to(project.parent / "outside")
    plugin = make("always user")
    for command in ("touch data/a.txt", "echo x > data/a.txt"):
        assert plugin.check_permission(SHELL, {"command": command})[0]
        assert verdict(plugin, args={"command": command}) == verdict(make(), args={"command": command}) == "allow"
    (project / "data").unlink()
    (project / "data").symlink_to(project.parent)
    assert verdict(plugin, args={"command": "touch data/a.txt"}) == "ask"


# Whoever calls by something that is no text is somebody of his own.


def test_what_one_agent_may_another_may_not_whatever_they_are_called_by(make):
    plugin = make("always")
    assert plugin.check_permission(SHELL, {"command": "touch x"}, {"agent": 5})[0]
    told = [verdict(plugin, args={"command": "touch x"}, context=who) for who in ({"agent": 5}, {"agent": 6}, None)]
    assert told == ["allow", "ask", "ask"]


# What stands beside a command.


@pytest.mark.parametrize(
    "beside",
    [
        {"executable": "./sh"}, {"shell": "src/bash"}, {"shell_path": "./evil"}, {"shellPath": "/tmp/bash"}, {"environment_variables": {"LD_PRELOAD": "x"}},
        {"envVars": {"PATH": "."}}, {"vars": {"PATH": "."}}, {"extra_env": {"BASH_ENV": "x"}}, {"script": "rm x"}, {"cmd": "rm x"}, {"pre_command": "rm x"},
        {"postCommand": "rm x"}, {"host": "prod"}, {"container": "db"}, {"container_id": "db"}, {"hostName": "db"}, {"user": "root"}, {"run_as_user": "root"}, {"sudo": True}, {"stdin_text": "rm x"},
        {"chdir": "/etc"}, {"cd": "/etc"}, {"folder": "/etc"}, {"WorkDir": "/etc"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("rule", [True, False])
def test_what_changes_a_command_beside_it_is_no_part_of_a_rule_for_it(make, beside, rule):
    plugin = make(
        "no" if rule else "always", {"version": "1.2", "whitelist": {"patterns": ["touch x"] if rule else []}}
    )
    plugin.check_permission(SHELL, {"command": "touch x"})
    assert verdict(plugin, args={"command": "touch x"}) == "allow"
    assert verdict(plugin, args={"command": "touch x", **beside}) == "ask"


@pytest.mark.parametrize(
    "beside",
    [{"timeout": 5}, {"description": "says hello"}, {"background": True}, {"shell": "/bin/bash"}, {"shell": True}, {"env": {"LANG": "C"}}, {"host": None}, {"sudo": False},
     {"script": ""}, {"folder": "src"}, {"exit_code": 0}, {"command_description": "lists"}, {"command_timeout": 5}, {"user_note": "x"}],
)  # fmt: skip
def test_what_changes_nothing_beside_a_command_does_not_matter(policy, beside):
    rules = policy(whitelist={"patterns": ["ls *"]})
    assert rules.decide(SHELL, {"command": "ls", **beside}).verdict == "allow"


def test_an_argument_beside_a_command_that_the_whitelist_names_is_judged_by_that(policy):
    rules = policy(shellTools=["far"], whitelist={"patterns": ["ls *"], "arguments": {"far": {"host": ["staging"]}}})
    told = [rules.decide("far", {"command": "ls", "host": host}).verdict for host in ("staging", "prod")]
    assert told == ["allow", "ask"]


# Rules that allowed more than they say.


@pytest.mark.parametrize(
    ("rule", "inside", "outside"),
    [
        ("far(git*)", {"command": "git status"}, {"command": "rm -rf /", "note": "git"}),
        ("far(git*)", {"command": "git status", "timeout": 5}, {"command": "git", "then": ["rm x"]}),
        ("fetch(https://x.example/*)", {"url": "https://x.example/a"}, {"url": "https://evil.example/", "referer": "https://x.example/a"}),
        ("fetch(https://x.example/*)", {"url": "https://x.example/a"}, {"url": "https://x.example/../a"}),
        ("fetch(url=https://x.example*)", {"url": "https://x.example/a/b"}, {"url": "https://x.example.evil/"}),
        ("fetch(url=https://x.example*)", {"url": "https://x.example/"}, {"url": "https://x.exampleevil.com/"}),
        ("fetch(url=https://*.x.example/*)", {"url": "https://a.x.example/b"}, {"url": "https://evil/.x.example/"}),
        ("look(host=*.x.example)", {"host": "a.x.example"}, {"host": "evil.example/.x.example"}),
        ("look(host_name=*.x.example)", {"host_name": "a.x.example"}, {"host_name": "evil.example#.x.example"}),
        ("run(cmdline=git *)", {"cmdline": "git status"}, {"cmdline": "git status; rm x"}),
        ("run(bash=git *)", {"bash": "git status"}, {"bash": "git status\nrm x"}),
        ("run(runCode=print*)", {"runCode": "print"}, {"runCode": "print(1); import os"}),
        ("run(args=-v *)", {"args": "-v x"}, {"args": "-v x | sh"}),
        ("ask_db(q=SELECT *)", {"q": "SELECT 1"}, {"q": "SELECT 1; DROP TABLE x"}),
        ("take(p=src/*)", {"p": "src/a.txt"}, {"p": "src/link/a.txt"}),
        ("take(path=src/**)", {"path": "src/a.txt"}, {"path": "src/a.txt", "cwd": "/etc"}),
        ("take(path=src/**)", {"path": "src/a.txt", "root": "."}, {"path": "src/a.txt", "base_dir": "/etc"}),
        ("take(path=src/**)", {"path": "src/a.txt", "directory": "."}, {"path": "src/a.txt", "directory": "/etc"}),
        ("take(path=src/**)", {"path": "src/a.txt", "repo": "x"}, {"path": "src/a.txt", "repo_path": "../x"}),
        ("take(path=src/**)", {"path": "src/a.txt", "project": "x"}, {"path": "src/a.txt", "workspaceRoot": "/etc"}),
    ],
)  # fmt: skip
def test_a_rule_allows_what_it_says_and_no_more(policy, project, rule, inside, outside):
    (project / "src" / "link").symlink_to(project.parent / "outside")
    rules = policy(whitelist={"patterns": [rule]})
    tool = rule.partition("(")[0]
    assert rules.decide(tool, inside).verdict == "allow"
    assert rules.decide(tool, outside).verdict == "ask"


def test_a_rule_for_a_folder_does_not_cover_what_another_argument_makes_relative_to_another_one(policy, project):
    rules = policy(whitelist={"arguments": {"take": {"path": ["${project}/src/"]}}})
    assert rules.decide("take", {"path": "src/a.txt"}).verdict == "allow"
    assert rules.decide("take", {"path": "src/a.txt", "cwd": "/etc"}).verdict == "ask"
    assert rules.decide("take", {"path": f"{project}/src/a.txt", "cwd": "/etc"}).verdict == "allow"


# Rules that forbade less than they say.


@pytest.mark.parametrize(
    ("rule", "tool", "args"),
    [
        ("git push --force", SHELL, {"command": "git push origin --force"}),
        ("git push --force", SHELL, {"command": "git push origin main -f"}),
        ("npm publish --access=public", SHELL, {"command": "npm publish ./x --access=public"}),
        ("rm -rf $HOME/*", SHELL, {"command": "rm -rf ~/x"}),
        ("rm -rf ${HOME}/x", SHELL, {"command": "rm -rf ~/x"}),
        ("readFile(path=**/.env)", "readFile", {"path": "/elsewhere/.env"}),
        ("readFile(path=**/secrets/**)", "readFile", {"path": "/elsewhere/secrets/a"}),
        ("runCommand(command=rm *)", SHELL, {"command": "ls && /bin/rm x"}),
        ("runCommand(rm *)", SHELL, {"command": "ls; r\\m x"}),
        ("cli_based_tool(command=rm *)", "cli_based_tool", {"command": "rm", "args": ["x"]}),
        ("deploy(target=prod)", "deploy", {"target": "staging,prod"}),
        ("db(sql=DROP *)", "db", {"sql": "DROP\tTABLE x"}),
        ("db(sql=DROP *)", "db", {"sql": "select 1;\n drop\n table x"}),
    ],
)
def test_a_rule_forbids_what_it_says_in_every_form(policy, rule, tool, args):
    assert policy(default="allow", blacklist={"patterns": [rule]}).decide(tool, args).verdict == "deny"


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [
        ("rm -rf:*", "'rm -rf *'"), ("!ls", "no rule is the opposite"), ("!*", "no rule is the opposite"), ("rm|mv", "'rm *', 'mv *'"), ("rm ?", "stands for itself"),
        ("rm [a-z]*", "stand for themselves"), (".env", "'*.env*'"), ("mcp__server", "'mcp__server__*'"), ("Read(~/.ssh/**)", "'readFile(path=~/.ssh/**)'"),
        ("Edit(**/*.lock)", "'editFile(path=**/*.lock)', 'writeFile(path=**/*.lock)'"),
    ],
)  # fmt: skip
def test_a_rule_in_the_notation_of_others_that_forbids_nearly_nothing_is_told(policy, rule, wanted):
    (problem,) = policy(blacklist={"patterns": [rule]}).problems
    assert wanted in problem


def test_the_name_of_a_server_among_the_tools_is_told(policy):
    (problem,) = policy(blacklist={"tools": ["mcp__server"]}).problems
    assert "'mcp__server__*'" in problem


@pytest.mark.parametrize(
    "rule",
    ["curl *|sh", "npm run test:*", "! grep *", "[ -f *", "curl https://x.example/?a=*", "./.x *", "mcp__server__tool", "Read(file_path=**/.env)", "runCommand(cwd=/etc)", "pip install x[y]"],
)  # fmt: skip
def test_what_only_looks_like_the_notation_of_others_is_not_told(policy, rule):
    problems = policy(blacklist={"patterns": [rule]}).problems
    assert not any(
        word in problem
        for problem in problems
        for word in ("opposite", "for itself", "for each", "looks for", "whole line")
    )


# Time.


def test_the_spellings_of_very_many_paths_are_not_all_looked_at(policy, monkeypatch):
    from executor_permissions.judge.rules import _scene

    made = []
    spelled = _scene.spellings
    monkeypatch.setattr(_scene, "spellings", lambda text: made.extend(found := spelled(text)) or found)
    rules = policy(default="allow", blacklist={"arguments": {"take": {"path": ["**/secrets/**", "/etc/"]}}})
    many = [f"{i}" + "{a,b}" * 6 for i in range(600)]
    assert rules.decide("take", {"path": many}).verdict == "ask"
    assert len(made) < 5000


@pytest.mark.parametrize(("program", "verdict"), [("rm", "deny"), ("env", "ask"), ("ls", "ask")])
def test_a_list_of_very_many_words_is_judged_as_a_line_of_so_many_is(policy, program, verdict):
    rules = policy(whitelist={"patterns": ["ls *", "env *"]}, blacklist={"patterns": ["rm *"]})
    decision = rules.decide(SHELL, {"argv": [program] * 20_000})
    assert (decision.verdict, decision.method != "error") == (verdict, True)


def test_a_path_that_a_call_names_very_often_is_compared_once(policy, monkeypatch):
    from executor_permissions.judge.paths._paths import PathRule

    compared = []
    catches = PathRule.catches
    monkeypatch.setattr(PathRule, "catches", lambda rule, place: compared.append(place) or catches(rule, place))
    rules = policy(default="allow", blacklist={"arguments": {"take": {"path": ["**/secrets/**"]}}})
    assert rules.decide("take", {"path": ["a{b,c}"] * 600}).verdict == "ask"
    assert len(compared) <= 3


# What never to a call is kept for denies that very call.


@pytest.mark.parametrize(
    "command",
    [
        "git ls-files | xargs wc -l --", "ls | xargs cat a.txt", "ls | timeout 5 xargs -n1 wc a.txt", "find . -name x -exec wc -l {} +", "cat a.txt > x",
        "for f in $(ls); do cat a.txt; done", "cat a.txt", "cd src && cat a.txt", "cat $X a.txt",
    ],
)  # fmt: skip
@pytest.mark.parametrize("lists", [{"blacklist": {"patterns": ["*secret*"]}}, {"ask": {"patterns": ["wc *", "cat *"]}}])
def test_what_never_was_answered_to_is_denied(make, command, lists):
    allowed = {"whitelist": {"patterns": ["git ls-files", "ls", "cat *", "wc *", "cd *"]}}
    plugin = make("never", {"version": "1.2", "defaultPolicy": "ask", **allowed, **lists})
    if verdict(plugin, args={"command": command}) == "ask":
        plugin.check_permission(SHELL, {"command": command})
        assert verdict(plugin, args={"command": command}) == "deny"
