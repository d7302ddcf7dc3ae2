"""Paths given to tools: ours take them as written; what another tool may make of one is never allowed, and denied."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import os

import pytest

from executor import ToolCall
from executor_permissions import PermissionPlugin, Policy
from executor_permissions.judge.paths._links import Links
from executor_permissions.judge.paths._path_texts import may_become

# Texts that some tool takes for <root>/.env, though they are spelled otherwise.
DENIED = [" .env", ".env ", "\t.env", ".env\n", "%2eenv", ".%65nv", "src/{app.py,../.env}", "{.env,x}", "{x,{y,.env}}", "src/%2e%2e/.env", "src/..%2f.env", ".env", "./.env", "src/../.env", "src//..//.env", "s*/../.env"]  # fmt: skip
# Those that may become it.
MAYBE = ["[.]env", ".en?", ".e*", "{.env", "$X", "src/$X", "`x`", "a\x00b"]
ODD = [
    *DENIED[:11],
    *MAYBE,
    "",
    "~root/.env",
    "s*/../a",
    "a\tb",
    "*.py",
    "src/*",
    "a b ",
    " a",
    "src/a[1].txt",
    "src/{a,b}",
    "a%20b",
    "-rf",
    "~other",
    "src/a\x00",
    "src/`id`",
    "$HOME/a",
]
PLAIN = ["a", "src/a", "./a", "src/../a", "a b", "ä", "100%.txt", "a#b", "a~", "src/.hidden", "a-b", "~/a"]


@pytest.fixture
def root(tmp_path):
    """A project with a folder and a secret, below a home."""
    project = tmp_path / "proj"
    (project / "src").mkdir(parents=True)
    (project / ".env").touch()
    (project / "app.py").touch()
    return project


def policy(root, **rules):
    return Policy.from_dict({"version": "1.1", **rules}, project_root=root, home=root.parent)


@pytest.mark.parametrize("rules", [{"arguments": {"x": {"path": ["${project}/", "~/a"]}}}, {"patterns": ["x(path=**)", "x(path=~/a)"]}])  # fmt: skip
def test_a_rule_for_a_folder_allows_another_tool_only_plain_paths(root, rules):
    judge = policy(root, whitelist=rules)
    assert [path for path in PLAIN if judge.decide("x", {"path": path}).verdict != "allow"] == []
    assert [path for path in ODD if judge.decide("x", {"path": path}).verdict == "allow"] == []
    assert [path for path in ODD if judge.decide("x", {"path": ["a", path]}).verdict == "allow"] == []


def test_our_own_tools_take_a_path_as_it_is_written(root):
    judge = policy(
        root,
        whitelist={"arguments": {"readFile": {"path": ["${project}/"]}}},
        blacklist={"arguments": {"readFile": {"path": ["${project}/.env"]}}},
    )
    for path in ("*.py", "src/{a,b}", "a%20b", " a", "src/a[1].txt", "-rf", "%2eenv", ".env "):
        assert judge.decide("readFile", {"path": path}).verdict == "allow" or path == ".env ", path
    assert judge.decide("readFile", {"path": ".env"}).verdict == "deny"


@pytest.mark.parametrize("name", ["blacklist", "ask"])
@pytest.mark.parametrize("rules", [{"arguments": {"x": {"path": ["${project}/.env"]}}}, {"patterns": ["x(path=.env)"]}, {"patterns": ["x(path=**/.env)"]}])  # fmt: skip
def test_a_denied_path_is_caught_in_every_spelling_of_another_tool(root, name, rules):
    judge = policy(root, defaultPolicy="allow", whitelist={"tools": ["x"]}, **{name: rules})
    expected = "deny" if name == "blacklist" else "ask"
    assert [path for path in DENIED if judge.decide("x", {"path": path}).verdict != expected] == []
    assert [path for path in DENIED if judge.decide("x", {"path": {"deep": [path]}}).verdict != expected] == []
    plain = [path for path in PLAIN if judge.decide("x", {"path": path}).verdict != "allow"]
    assert plain == []


def test_what_may_become_a_denied_path_is_asked_about(root):
    judge = policy(
        root,
        defaultPolicy="allow",
        whitelist={"tools": ["x"]},
        blacklist={"arguments": {"x": {"path": ["${project}/.env"]}}},
    )
    wrong = []
    for path in MAYBE:
        decision = judge.decide("x", {"path": path})
        if (decision.verdict, decision.maybe_denied) != ("ask", True):
            wrong.append((path, decision.verdict, decision.reason))
    assert wrong == []


BEGINNINGS = [
    ("~/.ssh/id_", ["~/.ssh/id_rsa", "~/.ssh/id_ed25519.pub", "~/.ssh/id_"], ["~/.ssh/config", "~/.ssh/i"]),
    ("/etc/pass", ["/etc/passwd", "/etc/pass/x"], ["/etc/pas", "/etc/shadow"]),
    ("${project}/.env", ["${project}/.env", ".env.local", "./.env/x"], ["env", "src/.env"]),
    ("${project}/src", ["src", "src/a"], ["src2"]),
    ("${project}/new/", ["new", "new/a"], ["newer"]),
    ("**/*.pem", ["a.pem", "src/b.pem", "src/a.pem/x"], ["a.pe"]),
    ("/etc/*", ["/etc/x", "/etc/x/y"], ["/etcx"]),
    ("*.key", ["a.key", "a.key/b"], ["src/a.key", "a.keys"]),
]  # fmt: skip


@pytest.mark.parametrize("name", ["blacklist", "ask"])
@pytest.mark.parametrize(("text", "caught", "free"), BEGINNINGS)
def test_a_path_is_a_beginning_where_it_is_denied(root, name, text, caught, free):
    expected = "deny" if name == "blacklist" else "ask"
    for tool in ("readFile", "x"):
        judge = policy(root, defaultPolicy="allow", **{name: {"arguments": {tool: {"path": [text]}}}})
        paths = [path.replace("${project}", str(root)) for path in (*caught, *free)]
        verdicts = [judge.decide(tool, {"path": path}).verdict for path in paths]
        assert verdicts == [expected] * len(caught) + ["allow"] * len(free), paths


@pytest.mark.parametrize("name", ["a*b", "*", "a b", "a[1]", "a\\b", "{x}", "ä", "a'b", "$x"])
def test_a_project_is_taken_literally_whatever_its_name(tmp_path, name):
    root, other = tmp_path / name, tmp_path / "aXb"
    for folder in (root, other):
        (folder / "src").mkdir(parents=True)
    rules = {
        "arguments": {"readFile": {"path": ["${project}/", "{project}/src/*.md", "notes/*.txt"]}},
        "patterns": ["writeFile(path=${project}/src/**)", "editFile(path=src/*)"],
    }
    judge = policy(
        root, whitelist=rules, blacklist={"arguments": {"deleteFile": {"path": ["${project}/src/", "keys*"]}}}
    )

    def verdicts(tool, *paths):
        return [judge.decide(tool, {"path": str(path)}).verdict for path in paths]

    relative = ["src/a", "notes/x.txt"]
    assert verdicts("readFile", *relative) == ["allow", "allow"]
    if "\\" not in name:
        assert verdicts("readFile", root / "a", root / "src/b") == ["allow", "allow"]
        assert verdicts("deleteFile", root / "src/a", root / "keys.txt") == ["deny", "deny"]
    assert verdicts("readFile", other / "a", other / "src/x.md", tmp_path / "c") == ["ask"] * 3
    assert verdicts("writeFile", "src/a/b", other / "src/a") == ["allow", "ask"]
    assert verdicts("editFile", "src/a", "src/a/b", other / "src/a") == ["allow", "ask", "ask"]
    assert verdicts("deleteFile", "src/a", "keys.txt", "other") == ["deny", "deny", "ask"]


def test_a_path_that_is_longer_than_any_is_not_followed(root):
    judge = policy(root, whitelist={"arguments": {"readFile": {"path": ["${project}/"]}}})
    assert judge.decide("readFile", {"path": "a/" * 2047}).verdict == "allow"
    assert judge.decide("readFile", {"path": "a/" * 40_000}).verdict == "ask"


def test_the_policys_own_files_are_kept_through_links(root, tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    (root / ".toolexec").mkdir()
    (root / "link").symlink_to(state)
    (root / "inner").symlink_to(root / ".toolexec")
    judge = Policy.from_dict(
        {"whitelist": {"tools": ["x", "readFile", "searchFiles"]}}, project_root=root, home=tmp_path, state_dir=state
    )
    paths = [
        "link/grants.json",
        "inner/permissions.json",
        ".toolexec",
        "src/../.toolexec/x",
        str(state / "x"),
        str(tmp_path / ".config/toolexec/x"),
    ]
    for tool in ("x", "readFile", "searchFiles"):
        verdicts = {path: judge.decide(tool, {"path": path}).rule for path in paths}
        assert set(verdicts.values()) == {"(the policy's own files)"}, verdicts
    assert judge.decide("readFile", {"path": "src/a"}).verdict == "allow"


OWN = [  # of the file FILE, or what is in it, in the home HOME of a user, and of the project PROJECT
    "FILE", "file://FILE", "file:FILE", "FILE://FILE", "file://localhost/FILE", "view-source:file://FILE", " FILE", "FILE\n", "\tFILE", "'FILE'", '"FILE"',
    "HOME/.config/tool%65xec/permissions.json", "file://HOME/.config/%74oolexec/permissions%2ejson", "HOME/.config/{toolexec,x}/y", "$HOME/.config/toolexec/x",
    "${HOME}/.config/toolexec/x", "~/.config/toolexec/x", "HOME/./.config//toolexec", "PROJECT/.tool%65xec/x",
]  # fmt: skip
MAYBE_OWN = [
    "HOME/.config/*/permissions.json", "HOME/.config/t*/x", "HOME/.config/[t]oolexec/x", "$HOME/.config/*/*", "~/.c*/toolexec/x", "PROJECT/.tool*/x", "./.tool*/x",
    "$CONFIG/toolexec/permissions.json", "HOME/.config/" + "./" * 2100 + "toolexec/permissions.json", "file:$X/toolexec/grants.json",
]  # fmt: skip
NOT_OWN = [
    "src/a", "/usr/*", "~/x*", "./src/**", "a 5 * 3 / 2", "$5", ".*\\.py$", "toolexec is fine", "Use\ntoolexec\n", "https://h/a%20b?c=$d", "file:///usr/share/x%20y",
    "/" + "a" * 5000 + "*", "x" * 9000, "~ is toolexec's home", "{}", "[/x]", "src/*.py",
]  # fmt: skip


@pytest.mark.parametrize("name", ["path", "url", "uri", "q", "absolute_path"])
def test_the_policys_own_files_are_kept_however_another_tool_reads_a_path(root, tmp_path, name):
    judge = Policy.from_dict({"whitelist": {"tools": ["x", "mcp__fs__*"]}}, project_root=root, home=tmp_path)
    own = str(tmp_path / ".config/toolexec/permissions.json")

    def verdicts(texts, wrap=lambda value: value):
        filled = (each.replace("FILE:", "F:").replace("FILE", own).replace("F:", "FILE:") for each in texts)
        filled = [each.replace("HOME/", f"{tmp_path}/").replace("PROJECT", str(root)) for each in filled]
        filled = [each.replace(f"${tmp_path}", "$HOME") for each in filled]
        for tool in ("x", "mcp__fs__read"):
            for text in filled:
                decision = judge.decide(tool, {name: wrap(text)})
                yield text[:200], decision.verdict, decision.needs_person

    assert [each for each in verdicts(OWN) if each[1] != "deny"] == []
    assert [each for each in verdicts(OWN, lambda value: [{"a": value}]) if each[1] != "deny"] == []
    assert [each for each in verdicts(MAYBE_OWN) if each[1:] != ("ask", True)] == []
    free = NOT_OWN[:4] if name == "path" else NOT_OWN  # what stands there is a path, whatever it looks like
    assert [each for each in verdicts(free) if each[1] != "allow"] == []


@pytest.mark.skipif(not os.path.isdir("/proc/self/root"), reason="there is no /proc")
def test_the_policys_own_files_are_kept_through_proc(root, tmp_path, monkeypatch):
    monkeypatch.chdir(root)
    (root / ".toolexec").mkdir()
    judge = policy(root, whitelist={"tools": ["x", "readFile"]})
    for path in (
        f"/proc/self/root{root}/.toolexec/x",
        "/proc/self/cwd/.toolexec/x",
        f"/proc/{os.getpid()}/cwd/.toolexec",
        f"/proc/thread-self/root{root}/.toolexec/x",
    ):
        assert judge.decide("readFile", {"path": path}).verdict == "deny", path


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("/p/.env", False), ("/p/.e*", True), ("/p/.e?v", True), ("/p/.e?", True), ("/p/[.]env", True), ("/p/x*", False),
        ("/*/.env", True), ("/q*/.env", False), ("/p/*", True), ("/p/*/x", True), ("/?", False), ("/**", True),
        ("/p/../*", True), ("/x/../*", False), ("/p/$x", True), ("/p/.env*/deeper", True),
    ],
)  # fmt: skip
def test_what_a_pattern_may_become_errs_on_the_side_of_yes(text, may):
    assert may_become(text, "/p/.env") is may


@pytest.mark.parametrize("rule", [["out/"], ["${project}/out/"], ["out/*"], ["out/*.txt"], ["call"]])
@pytest.mark.parametrize("judged", [True, False])
def test_a_link_that_is_put_in_the_place_of_an_allowed_folder_leads_nowhere_that_is_allowed(tmp_path, rule, judged):
    project, elsewhere = tmp_path.resolve() / "project", tmp_path.resolve() / "elsewhere"
    (project / "out").mkdir(parents=True)
    elsewhere.mkdir()
    arguments = {"writeFile": {"path": rule}}
    white = (
        {"patterns": ["writeFile(path=out/*)", "echo *"]}
        if rule == ["call"]
        else {"patterns": ["echo *"], "arguments": arguments}
    )
    policy = Policy.from_dict({"whitelist": white}, project_root=project)
    calls = [
        ("writeFile", {"path": str(project / "out/a.txt"), "content": ""}),
        ("runCommand", {"command": "echo x > out/a.txt"}),
    ]
    if judged:
        assert [policy.decide(*call).verdict for call in calls] == ["allow", "allow"]
    (project / "out").rmdir()
    (project / "out").symlink_to(elsewhere)
    assert [policy.decide(*call).verdict for call in calls] == ["ask", "ask"]
    (project / "out").unlink()
    (project / "out").mkdir()
    assert [policy.decide(*call).verdict for call in calls] == ["allow", "allow"]


@pytest.mark.parametrize("rule", ["out/", "${project}/out/", "out/*", "out/*.txt", "out/a.txt", "call", "{alias}/out/"])
@pytest.mark.parametrize(
    ("end", "verdict"),
    [
        ("data", "allow"),
        ("../elsewhere", "ask"),
        ("..", "ask"),
        (".git/hooks", "ask"),
        ("../alias/../elsewhere", "ask"),
    ],
)
def test_no_link_leads_a_rule_that_allows_out_of_the_project_even_if_it_was_there_first(tmp_path, rule, end, verdict):
    project, alias = tmp_path.resolve() / "project", tmp_path.resolve() / "alias"
    for folder in (project / "data", project / ".git/hooks", project.parent / "elsewhere"):
        folder.mkdir(parents=True)
    (project / "out").symlink_to(end)
    alias.symlink_to(project)
    rules = {"arguments": {"writeFile": {"path": [rule.replace("{alias}", str(alias))]}}}
    white = {"patterns": ["writeFile(path=out/*)"]} if rule == "call" else rules
    policy = Policy.from_dict({"whitelist": {**white, "tools": ["echo"]}}, project_root=project)
    assert policy.decide("writeFile", {"path": str(project / "out/a.txt"), "content": ""}).verdict == verdict
    assert policy._file_verdict("writeFile", str(project / "out/a.txt"), Links()).verdict == verdict
    assert bool(policy.problems) is (verdict == "ask")


def test_a_rule_that_names_a_link_outside_of_the_project_follows_it(tmp_path):
    project, elsewhere = tmp_path.resolve() / "project", tmp_path.resolve() / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    (tmp_path / "link").symlink_to(elsewhere)
    rules = {"arguments": {"writeFile": {"path": [f"{tmp_path}/link/"]}}}
    policy = Policy.from_dict({"whitelist": rules}, project_root=project)
    assert policy.decide("writeFile", {"path": str(elsewhere / "a.txt"), "content": ""}).verdict == "allow"


@pytest.mark.parametrize("rule", ["conf", "confs/", "confs/*", "call"])
@pytest.mark.parametrize("tool", ["readFile", "my_tool"])
@pytest.mark.parametrize("verdict", ["deny", "ask"])
def test_a_rule_that_forbids_is_about_what_its_links_led_to_when_the_policy_was_loaded(tmp_path, rule, tool, verdict):
    project = tmp_path.resolve() / "project"
    (project / "kept").mkdir(parents=True)
    (project / "kept/hidden").touch()
    (project / "conf").symlink_to("kept/hidden")
    (project / "confs").symlink_to("kept")
    rules = {"patterns": [f"{tool}(path=conf)"]} if rule == "call" else {"arguments": {tool: {"path": [rule]}}}
    allowed = {"arguments": {tool: {"path": ["${project}/"]}}}
    value = {"version": "1.1", "argumentKinds": {"my_tool": {"path": "path"}}, "whitelist": allowed}
    policy = Policy.from_dict({**value, "blacklist" if verdict == "deny" else "ask": rules}, project_root=project)
    for name in ("conf", "confs"):
        (project / name).unlink()
    (project / "conf").touch()
    (project / "confs").mkdir()
    assert policy.decide(tool, {"path": str(project / "kept/hidden")}).verdict == verdict


def test_a_rule_that_is_added_later_leaves_the_others_what_their_links_led_to(tmp_path):
    project = tmp_path.resolve() / "project"
    for folder in ("kept", "src"):
        (project / folder).mkdir(parents=True)
    (project / "kept/hidden").touch()
    (project / "conf").symlink_to("kept/hidden")
    (project / "out").mkdir()
    lists = {
        "blacklist": {"arguments": {"readFile": {"path": ["conf"]}}},
        "whitelist": {"arguments": {"readFile": {"path": ["${project}/"]}, "writeFile": {"path": ["out/"]}}},
    }
    plugin = PermissionPlugin(policy=lists, project_root=project, home=tmp_path, state_dir=tmp_path / "state")
    (project / "conf").unlink()
    (project / "conf").touch()
    (project / "out").rmdir()
    (project / "out").symlink_to("src")
    plugin.session.allow("pwd")
    read = ToolCall("1", "readFile", {"path": str(project / "kept/hidden")})
    write = ToolCall("2", "writeFile", {"path": str(project / "out/a.txt"), "content": ""})
    assert [plugin.decide(call).verdict for call in (read, write)] == ["deny", "ask"]
