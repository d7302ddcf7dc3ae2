"""Deny and ask rules are read broadly, allow rules narrowly: families of rules, made of every operator, list and kind."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import itertools
import shlex

import pytest

from executor_permissions import Policy

LISTS = {"blacklist": "deny", "ask": "ask"}
FREE = {"whitelist": {"tools": ["runCommand", "cli_based_tool", "t", "deleteRepo", "fetch", "readFile", "other"]}}


def judge(name, section, **rules):
    return Policy.from_dict(
        {"version": "1.2", "defaultPolicy": "allow", **FREE, **rules, name: section},
        project_root="/proj", home="/home/me",
    )  # fmt: skip


def misjudged(name, section, caught, free=(), **kinds):
    """The (verdict, call) that a list of one section judges otherwise: what is caught, and what stays free."""
    policy = judge(name, section)
    wrong = []
    for expected, calls in ((LISTS[name], caught), ("allow", free)):
        for tool, args in calls:
            decision = policy.decide(tool, args, **kinds)
            if decision.verdict != expected or decision.method == "error" or decision.maybe_denied:
                wrong.append((expected, tool, args, decision.verdict, decision.reason))
    return wrong


def commands(*texts):
    return [("runCommand", {"command": text}) for text in texts]


# A star at the end of a word: what goes on there, and any further words.
GLUED = [
    ("git push*", ["git push", "git push origin main", "git push -f", "git -C x push o", "git --no-pager push", "/usr/bin/git push x", "git pushx", "git 'push' x"], ["git pull", "git status push-x", "git", "git log"]),
    ("rm*", ["rm", "rm x", "rm -rf x", "/bin/rm x", "rmdir x", "rmx"], ["ls rm", "xrm"]),
    ("npm install*", ["npm install", "npm install x", "npm install -g x", "npm -s install x", "npm install-test"], ["npm test", "npm run install"]),
    ("docker rm*", ["docker rm x", "docker rm -f x", "docker rmi x", "docker --context a rm x"], ["docker ps", "docker run rm"]),
    ("pip install*", ["pip install x", "pip -q install x"], ["pip list"]),
    ("kubectl delete*", ["kubectl delete pod x", "kubectl -n a delete pod x"], ["kubectl get pods"]),
    ("git push --force*", ["git push --force", "git push --force-with-lease o", "git push -f", "git push o --force"], ["git push o", "git push -q"]),
    ("git reset --hard*", ["git reset --hard", "git reset --hard HEAD~1", "git reset HEAD --hard"], ["git reset HEAD"]),
    ("dd of=/dev/*", ["dd of=/dev/sda", "dd if=x of=/dev/sda bs=1"], ["dd of=x"]),
    ("cat /etc/*", ["cat /etc/passwd", "cat -n x /etc/passwd", "cat /usr/../etc/passwd", "cat //etc/passwd"], ["cat etc/passwd", "cat x"]),
    ("cat .env*", ["cat .env", "cat ./.env", "cat a/../.env", "cat -n x ./.env.local", "cat .env x"], ["cat a/.env", "cat env"]),
    ("cat ./x", ["cat x", "cat ./x", "cat .//x"], ["cat y"]),
    ("del*te x*", ["delete x", "delete xy z", "del-te x"], ["delete y"]),
]  # fmt: skip
# A star in front: anywhere in the command, in its words and as the text.
ANYWHERE = [
    ("*--force*", ["git push --force", "npm i --force x", "x --force-y", "ls; git push --force", "echo '--force'", "env x --force"], ["git push -f", "git push", "ls --forc"]),
    ("*secret*", ["cat secret", "cat a/secrets/b", "echo x > secret", "SECRET=1 secret", "cat 'sec'ret", "ls && cat my-secret.txt", "cat <<E\nsecret\nE", "x=secret ls", "secret-tool", "cat < secrets"], ["cat a", "ls SECRET"]),
    ("*/etc/*", ["cat /etc/passwd", "ls /etc", "echo x > /etc/y", "echo x >/etc/y", "cat //etc//passwd", "cat /usr/../etc/x", "/etc/init.d/x start"], ["cat etc", "ls /etcx"]),
    ("*.env", ["cat .env", "cat a/.env", "x .env b", "cat prod.env"], ["cat .envrc", "cat env"]),
    ("*rm -rf*", ["rm -rf x", "sudo rm -rf x", "ls; rm -fr x", "rm -r -f x", "/bin/rm -rf x"], ["rm -r x", "ls -rf"]),
    ("*git push*", ["git push", "git -C x push o", "ls && git push"], ["git pull"]),
    ("aws *delete*", ["aws delete", "aws s3api delete-bucket", "aws --profile x s3api delete-object --key y", "aws s3 sync --delete", "aws s3 x-delete-y z"], ["aws s3 ls", "awsx delete"]),
    ("git *main", ["git push origin main", "git checkout main", "git push o my-main"], ["git push origin mainx", "git log"]),
    ("* --evil*", ["x --evil", "x a --evil b", "/y/x --evil=1"], ["x evil"]),
    ("*| sh*", ["curl x | sh", "curl x|sh -s", "curl x | sh-y"], ["sh x", "curl x"]),
    ("*curl*|*sh*", ["curl x | sh", "curl x|bash", "ls; curl x | sh"], ["curl x", "sh x"]),
    ("* > /etc/*", ["echo x > /etc/y", "echo x >/etc/y", "ls>/etc/y"], ["echo x > y", "cat /etc/y"]),
]  # fmt: skip
OPERATORS = [
    ("curl*|*sh*", ["curl x | sh", "curl x|bash -s", "curl -s x | tee y | zsh"], ["curl x", "sh x | cat"]),
    ("curl * | sh", ["curl x | sh", "curl x|sh"], ["curl x | cat"]),
    ("cd x&&rm *", ["cd x && rm y", "cd x; rm y"], ["rm y"]),
    ("echo * > /etc/*", ["echo x > /etc/y", "ls; echo x>/etc/y"], ["echo x > y"]),
    ("FOO=* make*", ["FOO=1 make x", "ls; FOO=2 make"], ["make x"]),
    ("echo `id`*", ["echo `id`", "echo `id` x"], ["echo id"]),
    (":(){ :|:& };:", [":(){ :|:& };:", " :(){  :|:& };: "], ["ls"]),
]  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(("pattern", "caught", "free"), [*GLUED, *ANYWHERE, *OPERATORS])
def test_a_pattern_is_read_broadly(name, pattern, caught, free):
    # What the text hides (a here-document, another program) is asked about where a rule is there at all.
    policy = judge(name, {"patterns": [pattern]})
    wrong = [
        (text, decision.verdict, decision.reason)
        for expected, texts in ((LISTS[name], caught), ("allow", free))
        for text in texts
        if (decision := policy.decide("runCommand", {"command": text})).verdict != expected
        or decision.method == "error"
        or (expected != "allow" and decision.rule != pattern)
    ]
    assert wrong == []


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(("pattern", "caught", "free"), GLUED)
def test_a_pattern_holds_for_words_as_for_a_line(name, pattern, caught, free):
    def calls(texts):
        return [("runCommand", {"argv": shlex.split(text)}) for text in texts]

    assert misjudged(name, {"patterns": [pattern]}, calls(caught), calls(free)) == []


WRAPPERS = ["{}", "env {}", "nohup {}", "timeout 5 {}", "sudo {}", "sh -c '{}'", "ls; {}", "ls && {}", "( {} )", "echo $({})", "if true; then {}; fi", "xargs {}", "find . -exec {} \\;"]  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("program", ["rm", "git push", "npm install", "aws s3api delete"])
def test_every_form_of_a_star_is_seen_through_wrappers(name, program):
    words = program.split()
    forms = [
        f"{program}*",
        f"{program} *",
        f"*{program}*",
        f"{words[0]} *{words[-1]}*" if len(words) > 1 else f"*{words[0]} *",
    ]
    wrong = []
    for form, wrapper in itertools.product(forms, WRAPPERS):
        text = wrapper.format(f"{program} x")
        decision = judge(name, {"patterns": [form]}).decide("runCommand", {"command": text})
        if decision.verdict != LISTS[name] or decision.method == "error":
            wrong.append((form, text, decision.verdict, decision.reason))
    assert wrong == []


@pytest.mark.parametrize(
    ("pattern", "command"),
    [("*secret*", "cat $x"), ("*secret*", "cat s*"), ("aws *delete*", "aws s3 $x"), ("git push*", "git $x"), ("git push --force*", "git push --f*"), ("cat .env", "cat .e*"), ("cat .env", "cat ./.e*"), ("cat .env*", "cat ./.[e]nv"), ("*7*", "head -n $?")],
)  # fmt: skip
def test_what_may_be_meant_is_asked_about(pattern, command):
    policy = Policy.from_dict(
        {"whitelist": {"patterns": ["cat *", "aws *", "git *", "head *"]}, "blacklist": {"patterns": [pattern]}},
        project_root="/proj", home="/home/me",
    )  # fmt: skip
    decision = policy.decide("runCommand", {"command": command})
    assert (decision.verdict, decision.maybe_denied) == ("ask", True)


NARROW = [
    ("git push*", ["git push"], ["git push x", "git push -f"]),
    ("npm test*", ["npm test"], ["npm test x"]),
    ("make *x", ["make ax", "make x"], ["make a x"]),
    ("cat src/*", ["cat src/a"], ["cat src/a b", "cat a"]),
    ("*ls", [], ["ls", "xls"]),
    ("*", [], ["ls"]),
    ("ls | cat *", [], ["ls | cat x"]),
    ("f*o x", [], ["foo x"]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "covered", "asked"), NARROW)
def test_the_same_forms_are_narrow_in_a_whitelist(pattern, covered, asked):
    policy = Policy.from_dict({"whitelist": {"patterns": [pattern]}}, project_root="/proj", home="/home/me")
    verdicts = [
        [policy.decide("runCommand", {"command": text}).verdict for text in texts] for texts in (covered, asked)
    ]
    assert verdicts == [["allow"] * len(covered), ["ask"] * len(asked)]


TOOLS = [
    ("delete*", ["deleteRepo", "delete", "ns:deleteRepo"], ["repoDelete", "t"]),
    ("*delete*", ["deleteRepo", "mcp__s__delete_x", "undelete"], ["t", "Delete"]),
    ("*", ["t", "deleteRepo", "mcp__s__x"], []),
    ("mcp__*__delete*", ["mcp__s__delete_x", "mcp__r__delete"], ["mcp__s__get"]),
    ("t", ["t", "t:1"], ["tt", "deleteRepo"]),
]  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("key", ["tools", "patterns"])
@pytest.mark.parametrize(("rule", "caught", "free"), TOOLS)
def test_a_bare_glob_names_tools(name, key, rule, caught, free):
    def calls(tools):
        return [(tool, args) for tool in tools for args in ({}, {"x": [1]})]

    assert misjudged(name, {key: [rule]}, calls(caught), calls(free)) == []


@pytest.mark.parametrize("name", LISTS)
def test_what_is_looked_for_anywhere_is_found_in_the_calls_of_every_tool(name):
    caught = [
        ("other", args)
        for args in ({"x": "my secret"}, {"secret": 1}, {"x": [{"y": ["a-secret-b"]}]}, {"x": 1, "path": "/secrets/a"})
    ]
    free = [("other", args) for args in ({}, {"x": "sec ret"}, {"x": 5})]
    assert misjudged(name, {"patterns": ["*secret*"]}, caught, free) == []


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    ("pattern", "caught", "free"),
    [
        ("t(*x*)", [{"a": "axb"}, {"a": [{"b": "x"}]}, {"x": 1}, {"a": 1, "b": "x"}], [{}, {"a": "b"}]),
        ("t(*force=true*)", [{"force": True}, {"force": "true"}, {"a": 1, "force": True}], [{"force": False}, {}]),
        ("t*(n=5)", [{"n": 5}, {"n": "5"}, {"n": [5]}], [{"n": 6}, {}]),
        ("*(n=5)", [{"n": 5}], [{"n": 6}]),
        ("t(n=x*)", [{"n": "xy"}, {"n": " xy "}, {"n": ["a", "xy"]}, {"n": "XY"}], [{"n": "ax"}]),
        ("t(n=DROP*)", [{"n": "drop table x"}, {"n": " Drop x"}, {"n": ["DROP"]}], [{"n": "x drop"}]),
        ("t(n=tru*)", [{"n": True}, {"n": "true"}], [{"n": False}]),
    ],
)  # fmt: skip
def test_a_pattern_with_brackets_is_read_broadly(name, pattern, caught, free):
    def calls(arguments):
        return [("t", args) for args in arguments]

    assert misjudged(name, {"patterns": [pattern]}, calls(caught), calls(free)) == []


VALUES = [True, False, None, 0, 1, 5, -3, 1.5, 2.0, 10**20, "x", "true", "5"]


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_compared_as_it_is_and_as_text(name, value):
    text = (
        {True: "true", False: "false", None: "null"}[value] if value is None or isinstance(value, bool) else str(value)
    )
    caught = [("t", {"n": spelled}) for spelled in (value, text, text.upper(), f" {text} ", [value], {"k": [text]})]
    others = [other for other in ("y", "yes", 7, 0.25) if other != value]
    assert (
        misjudged(name, {"arguments": {"t": {"n": [value]}}}, caught, [("t", {"n": other}) for other in others]) == []
    )


@pytest.mark.parametrize("name", LISTS)
def test_one_is_not_true_as_a_text(name):
    assert (
        misjudged(
            name, {"arguments": {"t": {"n": [1]}}}, [("t", {"n": "1"}), ("t", {"n": "1.0"})], [("t", {"n": "true"})]
        )
        == []
    )
    assert (
        misjudged(
            name,
            {"arguments": {"t": {"n": ["1"]}}},
            [("t", {"n": 1}), ("t", {"n": 1.0})],
            [("t", {"n": True}), ("t", {"n": 10})],
        )
        == []
    )


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("tool", ["t*", "*", "t"])
def test_rules_about_arguments_hold_for_every_tool_that_fits(name, tool):
    assert misjudged(name, {"arguments": {tool: {"n": ["x"]}}}, [("t", {"n": "x"})], [("t", {"n": "y"})]) == []


ADDRESSES = ["https://EVIL.com", "evil%2ecom", "http://ev%69l.com/x", "Evil.COM", "http://x@EVIL.com:80", "https://evil。com", "see https://EVIL.com/a now", "https:\\\\EVIL.com"]  # fmt: skip


@pytest.mark.parametrize("rule", ["fetch(*evil.com*)", "fetch(u=*evil.com*)", "*evil.com*", "fetch(*EVIL.com*)"])
def test_an_address_in_an_argument_is_denied_however_it_is_spelled(tmp_path, rule):
    policy = Policy.from_dict({"defaultPolicy": "allow", "blacklist": {"patterns": [rule]}}, project_root=tmp_path)
    for args in ({"u": address} for address in ADDRESSES):
        assert policy.decide("fetch", args).verdict == "deny", args
    assert policy.decide("fetch", {"u": [{"a": ADDRESSES[0]}]}).verdict == "deny"
    for free in ("https://good.com/Path?q=EVIL", "evil", "a/b.py", "100%25", "evil com"):
        assert policy.decide("fetch", {"u": free}).verdict == "allow", free


def test_an_address_of_numbers_is_found_in_an_argument_by_what_it_stands_for(tmp_path):
    rules = {"defaultPolicy": "allow", "blacklist": {"patterns": ["fetch(*169.254.169.254*)"]}}
    policy = Policy.from_dict(rules, project_root=tmp_path)
    for address in ("http://2852039166/", "http://0xa9fea9fe/x", "http://169.254.43518/", "http://[::ffff:a9fe:a9fe]/"):
        assert policy.decide("fetch", {"u": address}).verdict == "deny", address


SENT_IN = [
    "{{ {}; }} < .env", "({}) < .env", "{{ ( {} ) ; }} <.env", "{{ {}; echo; }} < .env > out", "while {}; do :; done < .env",
    "until ! {}; do :; done < .env", "for i in 1; do {}; done < .env", "if true; then {}; fi < .env", "{{ {} | wc; }} < .env",
    "case x in x) {};; esac < .env", "exec < .env; {}", "(exec < .env; {})", "exec < .env && echo && {}",
    "{{ timeout 5 {}; }} < .env", "{{ {{ {}; }} ; }} <sub/.env",
]  # fmt: skip


@pytest.mark.parametrize("line", SENT_IN)
@pytest.mark.parametrize("command", ["cat", "cat -", "cat -n"])
def test_what_a_command_is_sent_may_be_what_a_rule_names_wherever_it_is_written(tmp_path, line, command):
    policy = Policy.from_dict(
        {"defaultPolicy": "allow", "blacklist": {"patterns": ["cat *.env*"]}}, project_root=tmp_path
    )

    def verdict(line):
        return policy.decide("runCommand", {"command": line}).verdict

    assert verdict(line.format(command)) == "ask"
    assert verdict(line.format("wc")) == "allow"
    assert verdict(line.format(command).replace(".env", "readme")) == "allow"
    assert verdict(line.format(f"{command} < readme")) == "allow"
    assert verdict(f"bash -c '{line.format(command)}'") == "ask"


KEPT = [
    "exec 3< .env; cat <&3", "cat 3< .env <&3", "{ cat <&3; } 3< .env", "exec 3< .env 4< a; cat <&3",
    "exec 3< .env; exec 4< a; cat <&3", "exec 3< .env; { cat <&3; } < a", "while cat <&3; do :; done 3< .env", "exec 9< .env && (cat -n <&9)",
]  # fmt: skip


@pytest.mark.parametrize("line", KEPT)
def test_what_a_descriptor_was_opened_for_may_be_what_a_command_is_sent(tmp_path, line):
    policy = Policy.from_dict(
        {"defaultPolicy": "allow", "blacklist": {"patterns": ["cat *.env*"]}}, project_root=tmp_path
    )
    assert policy.decide("runCommand", {"command": line}).verdict == "ask"
    assert policy.decide("runCommand", {"command": line.replace(".env", "readme")}).verdict == "allow"


WRITTEN_TO = [
    "exec > .env; echo x", "exec 3> .env; echo x >&3", "{ exec >> .env; } 2> y; echo x", "{ { echo x; } > a; } > .env", "(ls; echo x) >| .env",
    "if exec > .env; then echo x; fi", "cd sub; exec > ../.env; timeout 5 echo x",
]  # fmt: skip


@pytest.mark.parametrize("line", WRITTEN_TO)
def test_what_a_command_writes_is_what_a_rule_names_wherever_it_is_redirected(tmp_path, line):
    policy = Policy.from_dict(
        {"defaultPolicy": "allow", "blacklist": {"patterns": ["echo * > *.env"]}}, project_root=tmp_path
    )
    assert policy.decide("runCommand", {"command": line}).verdict == "deny"
    assert policy.decide("runCommand", {"command": line.replace(".env", "readme")}).verdict == "allow"
    assert policy.decide("runCommand", {"command": line.replace("echo", "printf")}).verdict == "allow"


@pytest.mark.parametrize(
    "line", ["(exec > .env; ls); echo x", "ls | exec > .env; echo x", "{ ls; } > .env; printf x; (exec < .env); cat"]
)
def test_what_is_redirected_in_a_subshell_or_a_group_stays_there(tmp_path, line):
    rules = {"defaultPolicy": "allow", "blacklist": {"patterns": ["echo * > .env", "cat *.env*"]}}
    assert Policy.from_dict(rules, project_root=tmp_path).decide("runCommand", {"command": line}).verdict == "allow"


@pytest.mark.parametrize("line", ["bash -c cat < .env", "{ bash -c cat; } < .env", "timeout 5 sh -c 'cat -n' < .env"])
def test_what_a_shell_is_sent_is_sent_to_what_it_runs(tmp_path, line):
    policy = Policy.from_dict(
        {"defaultPolicy": "allow", "blacklist": {"patterns": ["cat *.env*"]}}, project_root=tmp_path
    )
    decision = policy.decide("runCommand", {"command": line})
    assert decision.verdict == "ask"
    assert "blacklist's rule 'cat *.env*'" in decision.reason
