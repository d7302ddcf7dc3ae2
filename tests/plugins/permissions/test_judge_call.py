"""Calls of tools by their arguments: values, paths, URLs, patterns in brackets, and what stands beside a command."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import pytest

from executor_permissions import Policy
from executor_permissions.judge.rules._call_patterns import split_call, typed
from executor_permissions.judge.rules._scene import CallInfo
from executor_permissions.judge.rules._values import guess_kind


def policy(**rules):
    return Policy.from_dict({"version": "1.1", **rules}, project_root="/proj", home="/home/me")


def misjudged(rules, table, *, default="ask", list_name="whitelist", **info):
    """The (tool, arguments, verdict) of *table* that a list of *rules* does not judge as it says."""
    judge = policy(defaultPolicy=default, **{list_name: rules})
    wrong = []
    for expected, calls in table.items():
        for tool, args in calls:
            decision = judge.decide(tool, args, CallInfo(**info))
            if decision.verdict != expected or decision.method == "error":
                wrong.append((expected, tool, args, decision.verdict, decision.reason))
    return wrong


def test_values_are_allowed_by_type_and_as_a_whole():
    rules = {"arguments": {"t": {"n": [5, True, None, "x", 1.5]}}}
    table = {
        "allow": [("t", {"n": value}) for value in (5, True, None, "x", 1.5)] + [("t", {"n": 5, "m": 1})],
        "ask": [("t", {"n": value}) for value in (6, False, "X", " x", "5", "true", 1, 5.0, ["x"], {"a": "x"}, 2.5, "")] + [("t", {}), ("t", {"m": 5}), ("u", {"n": 5})],
    }  # fmt: skip
    assert misjudged(rules, table) == []
    both = {"arguments": {"t": {"a": ["x", "y"], "b": [1]}}}
    table = {
        "allow": [("t", {"a": "x", "b": 1}), ("t", {"a": "y", "b": 1})],
        "ask": [("t", {"a": "x"}), ("t", {"b": 1}), ("t", {"a": "x", "b": 2}), ("t", {"a": "z", "b": 1})],
    }
    assert misjudged(both, table) == []


def test_values_are_denied_in_any_case_and_anywhere_in_the_argument():
    rules = {"arguments": {"t": {"n": ["Drop", "a.b", 5, True, 1.5, None], "m": ["x_"]}}}
    table = {
        "deny": [("t", {"n": value}) for value in (
            "drop", "DROP", " drop ", "drop x", "x drop y", "drop;x", "drop-x", ["a", "drop"], {"k": "drop"}, {"drop": 1}, [["x", {"y": ["drop"]}]], "a.b", "a.b-c", 5, "5", True, "true", 1.5, "1.5", None, "null", "NULL", [5], "5 x", 5.0, 1)]
        + [("t", {"m": "x_y"}), ("t", {"m": "x_"}), ("t", {"n": "ok", "m": "x_"})],
        "allow": [("t", {"n": value}) for value in ("dropped", "xdrop", "drop_x", "drop1", 6, False, "6", "", "a.bc", "x-drop", 2.5, "55", {"k": 6}, [], "x.drop")] + [("u", {"n": "drop"}), ("t", {"k": "drop"}), ("t", {"m": "x"})],
    }  # fmt: skip
    assert misjudged(rules, table, default="allow", list_name="blacklist") == []
    table = {"ask": table["deny"], "allow": table["allow"]}
    assert misjudged(rules, table, default="allow", list_name="ask") == []
    numbers = {"arguments": {"t": {"n": [5]}}}
    assert (
        misjudged(
            numbers,
            {
                "deny": [("t", {"n": 5}), ("t", {"n": "5"}), ("t", {"n": 5.0})],
                "allow": [("t", {"n": 6}), ("t", {"n": True}), ("t", {"n": "x"})],
            },
            default="allow",
            list_name="blacklist",
        )
        == []
    )
    texts = {"arguments": {"t": {"n": ["5", "FALSE", "2.5"]}}}
    assert (
        misjudged(
            texts,
            {
                "deny": [("t", {"n": value}) for value in (5, False, 2.5, "false")],
                "allow": [("t", {"n": value}) for value in (6, True, None, 3.5)],
            },
            default="allow",
            list_name="blacklist",
        )
        == []
    )


def test_patterns_in_brackets_are_compared_argument_by_argument():
    rules = {
        "patterns": [
            "a(x=1, y=true)",
            "b(x='1')",
            "c(x=a*c)",
            "d()",
            "e(x=null, z=1.5)",
            "f(x=hello, world, y=2)",
            'g(x="a, y=b")',
            "h(x=-3)",
            "i(x=)",
            "mcp__s__*(x=1)",
            "j*(x=1)",
            "k(x=007)",
            "l(x=1234567890123456789)",
            "m(path=src/*.md)",
        ]
    }
    table = {
        "allow": [
            ("a", {"x": 1, "y": True}), ("a", {"x": 1, "y": True, "z": 9}), ("b", {"x": "1"}), ("c", {"x": "abc"}), ("c", {"x": "ac"}), ("d", {}), ("e", {"x": None, "z": 1.5}), ("f", {"x": "hello, world", "y": 2}), ("g", {"x": "a, y=b"}), ("h", {"x": -3}), ("i", {"x": ""}), ("mcp__s__t", {"x": 1}),
            ("k", {"x": "007"}), ("l", {"x": "1234567890123456789"}), ("m", {"path": "src/a.md"}), ("m", {"path": ["src/a.md", "src/b.md"]}),
        ],
        "ask": [
            ("a", {"x": 1}), ("a", {"x": 1, "y": False}), ("a", {"x": "1", "y": True}), ("a", {"x": True, "y": True}), ("b", {"x": 1}), ("b", {}), ("c", {"x": "abd"}), ("c", {"x": 5}), ("c", {"x": "a\x07c"}), ("d", {"x": 1}), ("e", {"x": "null", "z": 1.5}), ("f", {"x": "hello", "y": 2}), ("h", {"x": 3}), ("i", {}), ("j1", {"x": 1}),
            ("mcp__s__t", {"x": 2}), ("k", {"x": 7}), ("l", {"x": 1234567890123456789}), ("m", {"path": "src/a/b.md"}), ("m", {"path": "a.md"}), ("m", {"path": []}), ("m", {"path": ["src/a.md", "b.md"]}), ("m", {"path": [5]}), ("m", {"path": 5}), ("c", {"x": ["abc"]}),
        ],
    }  # fmt: skip
    assert misjudged(rules, table) == []
    denied = {"patterns": ["a(x=1, y=true)", "c(x=a*c)", "j*(x=1)", "d()"]}
    table = {
        "deny": [("a", {"x": 1, "y": True}), ("a", {"x": 1, "y": "TRUE"}), ("c", {"x": " abc "}), ("c", {"x": ["z", "abc"]}), ("j1", {"x": 1}), ("d", {"any": 1}), ("d", {}), ("n:a:1", {"x": 1, "y": True})],
        "allow": [("a", {"x": 1}), ("a", {"x": 1, "y": False}), ("c", {"x": "xabc"}), ("c", {"x": 5}), ("k", {"x": 1}), ("n:b", {"x": 1})],
    }  # fmt: skip
    assert misjudged(denied, table, default="allow", list_name="blacklist") == []
    assert (
        misjudged(
            {"patterns": ["a(x=1)"]},
            {"ask": [("a", {"x": 1}), ("a", {"x": [1]})], "allow": [("a", {"x": 2}), ("a", {})]},
            default="allow",
            list_name="ask",
        )
        == []
    )


def test_names_of_tools_and_their_wildcards():
    rules = {"tools": ["t", "mcp__s__*", "x*", "mcp__*"], "patterns": ["named"]}
    table = {
        "allow": [("t", {}), ("mcp__s__a", {}), ("named", {"a": 1})],
        "ask": [("T", {}), ("tt", {}), ("x1", {}), ("mcp__r__a", {}), ("n:t", {}), ("named2", {}), ("mcp__s_", {})],
    }
    assert misjudged(rules, table) == []
    rules = {"tools": ["t", "mcp__s__*", "x*"], "patterns": ["named", "two words", "tail *"]}
    table = {
        "deny": [
            ("t", {}),
            ("mcp__s__a", {}),
            ("x1", {}),
            ("x", {}),
            ("n:t", {}),
            ("t:1", {}),
            ("n:x1:v", {}),
            ("named", {}),
            ("a:named", {}),
        ],
        "allow": [("tt", {}), ("ax", {}), ("n:tt", {}), ("mcp__r__a", {}), ("two", {}), ("tail", {})],
    }
    assert misjudged(rules, table, default="allow", list_name="blacklist") == []
    table = {"ask": table["deny"], "allow": table["allow"]}
    assert misjudged(rules, table, default="allow", list_name="ask") == []


def test_input_that_cannot_be_judged_is_denied_or_asked_about():
    judge = policy(defaultPolicy="allow", whitelist={"tools": ["t"]})
    deep, deeper = "x", "x"
    for _ in range(100):
        deep = [deep]
    for _ in range(101):
        deeper = [deeper]
    for tool, args, verdict, method in [
        ("t", {}, "allow", "whitelist"),
        ("u", {}, "allow", "default"),
        ("t", [], "deny", "invalid"),
        ("t", None, "deny", "invalid"),
        ("t", {"a\x07": [1]}, "deny", "invalid"),
        ("t", {5: [1]}, "deny", "invalid"),
        ("t", {"a": object()}, "deny", "invalid"),
        ("t", {"a": {1, 2}}, "deny", "invalid"),
        ("t", {"a": deeper}, "deny", "invalid"),
        ("t", {"a": deep}, "deny", "invalid"),
        ("t", {"a": deep[0]}, "allow", "whitelist"),
        ("t", {"a": ("x", None, True, 1.5)}, "allow", "whitelist"),
        (5, {}, "deny", "invalid"),
        ("a b", {}, "ask", "invalid"),
        ("", {}, "ask", "invalid"),
        ("x" * 256, {}, "allow", "default"),
        ("x" * 257, {}, "ask", "invalid"),
        ("t\n", {}, "ask", "invalid"),
        ("runCommand", {}, "ask", "invalid"),
        ("runCommand", {"command": None}, "ask", "invalid"),
        ("runCommand", {"command": 5}, "ask", "default"),
        ("runCommand", {"command": "ls", "env": "x"}, "ask", "default"),
    ]:
        decision = judge.decide(tool, args)
        assert (decision.verdict, decision.method) == (verdict, method), (tool, args, decision)
    denying = policy(defaultPolicy="deny")
    assert [denying.decide(*call).verdict for call in (("a b", {}), ("u", {}), ("runCommand", {}))] == ["deny"] * 3
    assert policy().decide("t", {"a": deeper}).reason == "the arguments are nested deeper than 100 levels"


def test_paths_of_rules_and_calls_are_resolved():
    rules = {"arguments": {"readFile": {"path": ["${project}/a/", "b", "c/*.md", "d/**/e", "~/n/", "f/*/"]}}}
    table = {
        "allow": [("readFile", {"path": path}) for path in ("a", "a/x", "/proj/a/x/y", "b", "./b", "x/../b", "c/x.md", "d/e", "d/x/e", "d/x/y/e", "~/n/x", "/home/me/n", "f/x", "f/x/y", ["a/x", "a/y"], "/proj//b")],
        "ask": [("readFile", {"path": path}) for path in ("ax", "b/x", "c/x/y.md", "c/x.mdx", "d/xe", "n/x", "~/nx", "/a/x", "", "a\nb", "a/\u200b", "file:///proj/b", "http://x/y", "$HOME/n", "a\\b", "f", "~other/n", 5, [], ["b", 5], ["b", "z"], ["a/x", "b"], "x:/b", {"p": "b"})],
    }  # fmt: skip
    assert misjudged(rules, table) == []
    table = {
        "deny": [("readFile", {"path": path}) for path in ("a", "a/x", "b", ["z", "b"], {"k": "b"}, "/proj/c/x.md", "~/n", "d/x/e", "f/x/y", "x/../a")],
        "allow": [("readFile", {"path": path}) for path in ("ax", "c/x.mdx", "z", "nx", "../b")],
        "ask": [("readFile", {"path": "file:///proj/b"}), ("readFile", {"path": 5}), ("readFile", {"path": ""})],
    }  # fmt: skip
    assert misjudged(rules, table, default="allow", list_name="blacklist") == []


def test_urls_are_compared_in_their_normal_form():
    rules = {
        "arguments": {
            "get": {"url": ["https://ok.example/a", "http://[::1]:80/"]},
            "star": {"url": ["https://x.example/*"]},
            "ports": {"url": [f"{scheme}://x.example/" for scheme in ("http", "https", "ftp", "ws", "wss")]},
        },
        "patterns": [
            "get2(url=https://*.example.com/v1/**)",
            "get3(url=https://x.example/*/b)",
            "get4(url=https://h.example/a*)",
        ],
    }
    table = {
        "allow": [
            ("get", {"url": "https://ok.example/a"}), ("get", {"url": "HTTPS://OK.example:443/a"}), ("get", {"url": ["https://ok.example/a"]}), ("get", {"url": "http://[::1]/"}), *[("ports", {"url": f"{scheme}://x.example:{port}/"}) for scheme, port in (("http", 80), ("https", 443), ("ftp", 21), ("ws", 80), ("wss", 443))], ("get2", {"url": "https://api.example.com/v1/x/y"}), ("get2", {"url": "https://a.b.example.com/v1/"}),
            ("get3", {"url": "https://x.example/a/b"}), ("get4", {"url": "https://h.example/abc"}), ("get4", {"url": "https://h.example/a"}), *[("star", {"url": f"https://x.example{path}"}) for path in ("/a", "/a/b?c=/d", "/", "")],
        ],
        "ask": [
            ("get", {"url": url}) for url in ("https://ok.example/b", "http://ok.example/a", "https://ok.example:444/a", "https://u@ok.example/a", "https://ok.example/x/../a", "https://ok.example/%2e/a", "https://ok.example/a\\", "https://ok.example/ a", "https://ok.example/a?b", "https://ok.example/a/b", "ok.example/a", "", 5, [], [5], "https://ok.example:x/a", "https:///a", "https://ok.example/a\n", "https://\u043ek.example/a", "https://ok.example/.", "https://ok.example./a")
        ] + [("get2", {"url": url}) for url in ("https://example.com/v1/x", "https://api.example.com/v2/x", "https://evil.com/.example.com/v1/x", "https://api.example.com/v1/../x", "https://api.example.com.evil.com/v1/x", "http://api.example.com/v1/x", "https://evil.com?.example.com/v1/x")]
        + [("star", {"url": "https://y.example/a"}), ("get3", {"url": "https://x.example/a/c/b"}), ("get3", {"url": "https://x.example/a/bc"}), ("get4", {"url": "https://h.example/a/b"}), ("get4", {"url": "https://hxexample/a"})],
    }  # fmt: skip
    assert misjudged(rules, table) == []
    table = {
        "deny": [("get", {"url": url}) for url in ("https://ok.example/a", "https://ok.example/a/b", "https://ok.example/a?x", "https://u:p@OK.example/a", " https://ok.example/a ", "https:\\\\ok.example\\a", "https://ok.ex\tample/a", ["x", "https://ok.example/a"], "http://[::1]/x", "https://ok.example/ab", "ok.example/a")] + [("get2", {"url": "https://api.example.com/v1/x"})],
        "allow": [("get", {"url": url}) for url in ("https://ok.example/", "https://no.example/a", 5)] + [("get2", {"url": "https://api.example.com/v2"})],
    }  # fmt: skip
    assert misjudged(rules, table, default="allow", list_name="blacklist") == []


@pytest.mark.parametrize(
    ("name", "texts", "kind"),
    [("url", (), "url"), ("endpoint", (), "url"), ("href", (), "url"), ("path", (), "path"), ("cwd", (), "path"), ("filename", (), "path"), ("source", (), None), ("to", (), None), ("x", (), None), ("x", ("/a",), "path"), ("x", ("~",), "path"), ("x", ("~/a",), "path"), ("x", ("./a",), "path"), ("x", ("../a",), "path"),
     ("x", ("..",), "path"), ("x", ("a/b",), None), ("x", ("~a",), None), ("x", ("a", "/b"), "path"), ("x", ("...",), None), ("root", (), None), ("src", (), None), ("target", (), None), ("input", (), None), ("output", (), None), ("dst", (), None), ("from", (), None), ("destination", (), None)],
)  # fmt: skip
def test_the_kind_of_an_argument_is_told_by_its_name_or_by_its_rules(name, texts, kind):
    assert guess_kind(name, texts) == kind


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("false", False), ("null", None), ("5", 5), ("-5", -5), ("0", 0), ("007", "007"), ("1.5", 1.5), ("-1.5", -1.5), ("1.", "1."), ("'5'", "5"), ('"true"', "true"), ("x", "x"), ("", ""), ("1" * 18, int("1" * 18)), ("1" * 19, "1" * 19), ("-", "-"), ("True", "True"), ("1e5", "1e5")],
)  # fmt: skip
def test_what_is_written_in_a_pattern_has_a_type(text, value):
    assert typed(text) == value
    assert type(typed(text)) is type(value)


def test_a_pattern_in_brackets_is_taken_apart():
    assert split_call("git push *") is None
    assert split_call("f(x") is None
    assert split_call(" f() ") == ("f", {}, None)
    assert split_call("f( )") == ("f", {}, None)
    assert split_call("f(a=1)") == ("f", {"a": "1"}, None)
    assert split_call("f( a = 1 , b=2 )") == ("f", {"a": "1", "b": "2"}, None)
    assert split_call("f(a=x, y, b=2)") == ("f", {"a": "x, y", "b": "2"}, None)
    assert split_call("f(a='x, b=1', b=2)") == ("f", {"a": "'x, b=1'", "b": "2"}, None)
    assert split_call('n:f.g-h(a_b="x" )') == ("n:f.g-h", {"a_b": '"x"'}, None)
    assert split_call("f(a=)") == ("f", {"a": ""}, None)
    assert split_call("f(a=x=y)") == ("f", {"a": "x=y"}, None)
    assert split_call("f(a=(1,2))") == ("f", {"a": "(1,2)"}, None)
    assert split_call("f(a='x',)") == ("f", {"a": "'x'"}, None)
    assert split_call("f(*x*)") == ("f", {}, "*x*")
    assert split_call("f(*x, y*, a=1)") == ("f", {"a": "1"}, "*x, y*")
    for text, problem in [
        ("f(x)", "'x' is not of the form name=value"),
        ("f(a='x)", "the quote ' is not closed"),
        ('f(a="x)', 'the quote " is not closed'),
        ("f(a='x' y)", "'y' behind a quoted value"),
        ("f(a=1, a=2)", "the argument 'a' stands twice"),
        ("f(1=2)", "'1=2' is not of the form"),
    ]:
        with pytest.raises(ValueError, match=problem):
            split_call(text)


def test_files_of_version_control_and_of_the_policy_are_kept_from_writers():
    rules = {
        "arguments": {
            "writeFile": {"path": ["${project}/"]},
            "readFile": {"path": ["${project}/"]},
            "own": {"path": ["${project}/"], "note": ["x"]},
        },
        "patterns": ["put(path=**)", "put2(path=.git/**)", "other(to=/proj/**)"],
        "tools": ["whole"],
    }
    table = {
        "allow": [("writeFile", {"path": "a"}), ("readFile", {"path": ".git/x"}), ("put", {"path": "a"}), ("put2", {"path": ".git/x"}), ("writeFile", {"path": "a.git"}), ("writeFile", {"path": ".gitignore"}), ("whole", {"path": ".git/x"}), ("own", {"path": "a", "note": "x"}), ("other", {"to": "/proj/a"})],
        "ask": [("writeFile", {"path": ".git/hooks/x"}), ("writeFile", {"path": "a/.git"}), ("writeFile", {"path": ".hg/x"}), ("writeFile", {"path": "a/.svn/x"}), ("put", {"path": ".git/x"}), ("writeFile", {"path": "."}), ("writeFile", {"path": "/"}), ("own", {"path": ["a", ".git/x"], "note": "x"}), ("other", {"to": "/proj/.git/x"})],
        "deny": [("writeFile", {"path": ".toolexec/x"}), ("writeFile", {"path": ".toolexec"}), ("put", {"path": "/proj/.toolexec/x"}), ("whole", {"x": ".toolexec/x"}), ("whole", {"path": ["a", ".toolexec/x"]}), ("writeFile", {"path": "a/../.toolexec"}), ("whole", {"deep": {"x": [".toolexec"]}}), ("readFile", {"path": ".toolexec/x"}), ("listFiles", {"path": ".toolexec"}), ("searchFiles", {"path": "/home/me/.config/toolexec"}), ("unknown", {"to": "/home/me/.config/toolexec/x"})],
    }  # fmt: skip
    assert misjudged(rules, table) == []
    assert (
        misjudged(rules, {"allow": [("whole", {"x": "see .toolexec/x"}), ("whole", {"x": ".toolexec" + "x" * 5000})]})
        == []
    )
    assert misjudged(rules, {"deny": [("whole", {"x": ".toolexec/x"})]}, read_only=True) == []
    assert misjudged(rules, {"allow": [("writeFile", {"path": "."})]}, read_only=True) == []


def test_what_stands_beside_a_command_changes_the_verdict():
    rules = {"patterns": ["ls *", "git *", "cat *"]}
    table = {
        "allow": [
            ("runCommand", {"command": "ls", **beside}) for beside in (
                {}, {"cwd": "src"}, {"cwd": "/proj"}, {"cwd": None}, {"workdir": "src"}, {"env": {}}, {"env": None}, {"env": {"LANG": "C"}}, {"shell": "bash"}, {"shell": "/bin/sh"}, {"shell": True}, {"stdin": ""}, {"timeout": 5}, {"executable": "dash"}, {"args": ["a", "b c"]}, {"list": []}, {"input": None})
        ] + [("runCommand", {"argv": ["ls", "a b", "*"]}), ("runCommand", {"argv": ["ls"], "command": None}), ("cli_based_tool", {"command": "ls"}), ("runCommand", {"command": "git log", "cwd": "/proj"})],
        "ask": [
            ("runCommand", {"command": "ls", **beside}) for beside in (
                {"cwd": ".."}, {"cwd": "/"}, {"cwd": 5}, {"cwd": "$X"}, {"workdir": "/"}, {"working_dir": "/"}, {"working_directory": "/"}, {"workingDirectory": "/"}, {"dir": "/"}, {"directory": "/"}, {"env": {"PATH": "x"}}, {"env": {"LANG": "/x"}}, {"env": "LANG=C"}, {"env": ["x"]}, {"environment": {"X": 1}}, {"environ": {"X": 1}}, {"env_vars": {"X": 1}},
                {"shell": "zsh"}, {"interpreter": "/usr/bin/python"}, {"executable": "evil"}, {"stdin": "x"}, {"input": "x"}, {"args": [5]}, {"args": ["; rm x"]}, {"args": ["$x"]}, {"args": ["a", "&&", "rm"]}, {"args": ["it's", ";rm"]})
        ] + [("runCommand", {"command": "git log", "cwd": "../x"}), ("runCommand", {"argv": "ls"}), ("runCommand", {"argv": []}), ("runCommand", {"argv": ["ls", 5]}), ("runCommand", {"argv": ["rm", "x"]}), ("runCommand", {"argv": ["ls", "a\x07"]}), ("runCommand", {"argv": ["ls"], "command": "rm"}), ("runCommand", {"command": 5}), ("runCommand", {"command": {}}), ("runCommand", {"command": []})],
    }  # fmt: skip
    assert misjudged(rules, table) == []
    denied = {"patterns": ["rm *", "git push *"]}
    table = {
        "deny": [("runCommand", {"argv": ["rm", "x"]}), ("runCommand", {"command": "git", "args": ["push"]}), ("runCommand", {"command": ["rm", "x"]}), ("runCommand", {"command": "ls", "args": ["; rm x"]}), ("runCommand", {"command": "rm", "cwd": "/"}), ("own", {"command": "rm"})],
        "allow": [("runCommand", {"argv": ["ls", "; rm x"]}), ("runCommand", {"command": "git", "args": ["pull"]}), ("other", {"command": "rm"})],
        "ask": [("runCommand", {"command": "ls", "env": {"X": 1}}), ("runCommand", {"command": "ls", "shell": "zsh"}), ("runCommand", {"command": "ls", "stdin": "x"})],
    }  # fmt: skip
    judge = policy(defaultPolicy="allow", blacklist=denied, shellTools=["own"])
    assert [
        (tool, args)
        for expected, calls in table.items()
        for tool, args in calls
        if judge.decide(tool, args).verdict != expected
    ] == []


def test_words_beside_a_command_are_judged_as_its_own():
    rules = {
        "whitelist": {"patterns": ["git status *", "git log *", "ls *"]},
        "blacklist": {"patterns": ["git push *", "rm *"]},
    }
    table = {
        "allow": [
            {"command": "git", "args": ["status"]}, {"command": "git", "args": ["status", "-s"]}, {"command": "git log", "args": ["-3", "a b"]}, {"command": "ls", "args": []}, {"command": "ls", "args": None},
            {"command": "ls", "tags": ["a"]}, {"command": "git", "arguments": ["status"]}, {"command": "git", "args": ["status"], "cwd": "."},
        ],
        "ask": [
            {"command": "git", "args": []}, {"command": "git", "tags": ["status"]}, {"command": "git", "args": ["stash"]}, {"command": "git", "args": ["status", "; x"]}, {"command": "git", "args": ["status", "$(x)"]},
            {"command": "git", "args": ["status", 5]}, {"command": "ls; git", "args": ["status"]}, {"command": "git", "args": ["status"], "cwd": "/"}, {"command": "git", "args": ["status"], "more": [5]}, {"command": "git", "args": "status"},
        ],
        "deny": [
            {"command": "git", "args": ["push"]}, {"command": "git", "args": ["-C", "x", "push"]}, {"command": "git", "args": ["status", "&&", "rm", "x"]}, {"command": "git", "args": ["status; rm x"]}, {"command": "rm x", "args": ["-v"]},
            {"command": "ls; rm x", "args": ["a"]}, {"command": "git", "tags": ["push"], "args": ["status"]},
        ],
    }  # fmt: skip
    judge = policy(**rules)
    for tool in ("cli_based_tool", "runCommand"):
        wrong = [
            (expected, args)
            for expected, calls in table.items()
            for args in calls
            if judge.decide(tool, args).verdict != expected
        ]
        assert wrong == []


def test_arguments_rules_for_shell_commands_are_beginnings():
    rules = {"arguments": {"runCommand": {"command": ["npm run", "git log -5"]}}}
    table = {
        "allow": [("runCommand", {"command": command}) for command in ("npm run", "npm run build", "npm run a b", "git log -5", "git log -5 x")],
        "ask": [("runCommand", {"command": command}) for command in ("npm", "npm test", "npm runx", "git log", "npm run; ls", "echo npm run")] + [("cli_based_tool", {"command": "npm run"})],
    }  # fmt: skip
    assert misjudged(rules, table) == []
    table = {
        "deny": [("runCommand", {"command": command}) for command in ("npm run", "npm run build", "npm -s run x", "git log -5", "ls; npm run")],
        "allow": [("runCommand", {"command": command}) for command in ("npm", "npm test", "git log")] + [("cli_based_tool", {"command": "npm run"})],
    }  # fmt: skip
    assert misjudged(rules, table, default="allow", list_name="blacklist") == []
    table = {"ask": table["deny"], "allow": table["allow"]}
    assert misjudged(rules, table, default="allow", list_name="ask") == []
    fits = {"arguments": {"runCommand": {"command": ["ls"], "mode": ["safe"]}}}
    table = {
        "allow": [("runCommand", {"command": "ls", "mode": "safe"})],
        "ask": [("runCommand", {"command": "ls"}), ("runCommand", {"command": "ls", "mode": "x"})],
    }
    assert misjudged(fits, table) == []


def test_rules_about_the_arguments_of_a_carrier_hold():
    carrier, rule = "startBackgroundTask", {"startBackgroundTask": {"tool_name": ["deploy"]}}
    call = {"tool_name": "deploy", "arguments": {}}
    nested = {"tool_name": carrier, "arguments": call}
    forms = [
        {"arguments": rule},
        {"patterns": [f"{carrier}(tool_name=deploy)"]},
        {"patterns": [f"{carrier}(*deploy*)"]},
    ]
    for listed, expected in (("blacklist", "deny"), ("ask", "ask")):
        for form in forms:
            judge = policy(**{listed: form}, whitelist={"tools": ["deploy", "t", carrier]})
            assert [judge.decide(carrier, one).verdict for one in (call, nested)] == [expected, expected]
            assert judge.decide(carrier, {"tool_name": "t"}).verdict == "allow"
    kept = policy(blacklist={"patterns": ["*secret*"]}, whitelist={"tools": ["t"]})
    assert kept.decide(carrier, {"tool_name": "t", "label": "secret"}).verdict == "deny"


def test_carriers_are_judged_as_the_call_that_they_carry():
    judge = policy(
        defaultPolicy="allow", whitelist={"tools": ["t"]}, blacklist={"tools": ["bad"], "patterns": ["rm *"]}
    )

    def verdict(name, *args):
        return judge.decide(name, *args).verdict

    def carried(tool, inner, times=1):
        for _ in range(times):
            tool, inner = "startBackgroundTask", {"tool_name": tool, "arguments": inner}
        return judge.decide(tool, inner).verdict

    assert [
        carried("bad", {}),
        carried("t", {}),
        carried("runCommand", {"command": "rm x"}),
        carried("runCommand", {"command": "ls"}),
    ] == ["deny", "allow", "deny", "allow"]
    assert [carried("t", {}, times) for times in (1, 2, 4, 5)] == ["allow", "allow", "allow", "allow"]
    assert [carried("t", {}, times) for times in (6, 7)] == ["deny", "deny"]
    assert [
        verdict("askPermission", args)
        for args in (
            {},
            {"tool_name": 5},
            {"tool_name": "bad"},
            {"tool_name": "t"},
            {"tool_name": "t", "arguments": 5},
            {"tool_name": "askPermission", "arguments": 5},
        )
    ] == ["deny", "deny", "deny", "allow", "deny", "deny"]
    asking = policy(
        defaultPolicy="allow", ask={"tools": ["startBackgroundTask"]}, blacklist={"tools": ["bad", "askPermission"]}
    )
    assert asking.decide("startBackgroundTask", {"tool_name": "t"}).verdict == "ask"
    assert asking.decide("startBackgroundTask", {"tool_name": "bad"}).verdict == "deny"
    assert asking.decide("askPermission", {"tool_name": "t"}).verdict == "deny"


def test_lists_come_in_their_order_and_defaults_behind_them():
    rules = {"tools": ["a", "b", "c"]}
    ordered = policy(blacklist={"tools": ["a"]}, ask={"tools": ["a", "b"]}, whitelist=rules, defaultPolicy="deny")
    assert [(ordered.decide(tool, {}).verdict, ordered.decide(tool, {}).method) for tool in "abcd"] == [
        ("deny", "blacklist"),
        ("ask", "ask_rule"),
        ("allow", "whitelist"),
        ("deny", "default"),
    ]
    assert [
        (ordered.decide(tool, {"x": ["y"]}).verdict, ordered.decide(tool, {"x": ["y"]}).rule) for tool in "abcd"
    ] == [("deny", "a"), ("ask", "b"), ("allow", "c"), ("deny", None)]
    assert ordered.decide("d", {}).reason == "no rule is about d"
    assert policy(defaultPolicy="allow").decide("d", {}).reason == "no rule is about d, and the default is to allow"
    assert policy(argumentKinds={"d": {"p": "path"}}).decide("d", {"p": "$x"}).reason == "'$x' is no plain path"
    assert policy(argumentKinds={"d": {"p": "path"}}, defaultPolicy="allow").decide("d", {"p": "$x"}).verdict == "ask"
    assert (
        policy(argumentKinds={"d": {"p": "url"}}, defaultPolicy="allow").decide("d", {"p": 5}).reason == "p is no text"
    )
    assert (
        policy(whitelist={"patterns": ["ls *"]}, argumentKinds={"d": {"p": "shell"}}).decide("d", {"p": "ls"}).verdict
        == "allow"
    )
    assert (
        policy(whitelist={"patterns": ["ls *"]}).decide("d", {"p": "ls"}, CallInfo(kinds={"p": "shell"})).verdict
        == "allow"
    )
    assert (
        policy(whitelist={"patterns": ["ls *"]}).decide("d", {"p": ["ls"]}, CallInfo(kinds={"p": "argv"})).verdict
        == "allow"
    )
    assert (
        policy(blacklist={"patterns": ["ls *"]}, whitelist={"tools": ["d"]})
        .decide("d", {"p": "ls"}, CallInfo(kinds={"p": "shell"}))
        .verdict
        == "deny"
    )
    listing = policy(
        whitelist={"arguments": {"listFiles": {"path": ["${project}/"]}, "searchFiles": {"path": ["${project}/"]}}}
    )
    assert [
        listing.decide(tool, args).verdict
        for tool in ("listFiles", "searchFiles")
        for args in ({}, {"path": "src"}, {"path": "/"})
    ] == ["allow", "allow", "ask"] * 2
    assert listing.decide("listFiles", {"path": "x"}, CallInfo("/other")).verdict == "ask"
    assert listing.decide("listFiles", {"path": "x"}, CallInfo("/proj/src")).verdict == "allow"
