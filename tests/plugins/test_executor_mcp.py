"""The tools of MCP servers, behind the same pipeline as every other tool."""

from __future__ import annotations

import contextvars
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from executor import Decision, PluginRegistry, Tool, ToolCall, ToolExecutor, Verdict, current_call, hookimpl
from executor.mcp import MCPBridge
from executor.mcp._clients import work_for
from executor.run import ToolBackend
from executor.testing import check_plugin
from executor_mcp import MCPPlugin
from executor_mcp._registration import tool_id
from executor_permissions import PermissionPlugin

SERVERS = Path(__file__).parent.parent / "mcp"
SMALL = {"command": sys.executable, "args": [str(SERVERS / "server.py")]}


def raw(*wrong: str) -> dict:
    return {"command": sys.executable, "args": ["-S", str(SERVERS / "raw_server.py"), *wrong]}


@pytest.fixture
def hosted():
    """Makes executors over this plugin, configured."""
    made = []

    def make(config, **options):
        registry = PluginRegistry(bundled=False, entry_points=False)
        plugin = MCPPlugin()
        registry.register(plugin, "mcp")
        wanted = {"list_timeout": 60, **config} if "servers" in config else config  # a machine may be busy
        assert registry.expose("mcp", wanted), registry.failures()
        executor = ToolExecutor(registry=registry, **options)
        made.append((executor, plugin))
        return executor

    yield make
    for executor, plugin in made:
        executor.shutdown(cancel=True, timeout=5)
        plugin.executor_shutdown()


def names(executor) -> list[str]:
    return [definition.name for definition in executor.list_tools()]


def test_a_servers_tools_are_called_like_any_other(hosted):
    executor = hosted({"servers": {"small": SMALL}})
    ok, value = executor.execute("mcp__small__echo", {"text": "hello"})
    assert (ok, value["text"]) == (True, "hello")
    assert executor.execute("mcp__small__plain", {"text": "hello"}) == (True, {"result": "hello"})


def test_arguments_are_checked_before_the_server_is_asked(hosted):
    executor = hosted({"servers": {"small": SMALL}})
    ok, value = executor.execute("mcp__small__echo", {"text": 3})
    assert (ok, value["errors"][0]["path"]) == (False, "/text")


def test_an_error_answer_is_a_failure_with_the_servers_words(hosted):
    ok, value = hosted({"servers": {"small": SMALL}}).execute("mcp__small__fail", {"text": "no milk"})
    assert not ok
    assert "no milk" in value["error"]


def test_a_server_that_dies_is_unavailable_and_back_for_the_next_call(hosted):
    executor = hosted({"servers": {"raw": raw()}})
    died = executor.call(ToolCall("1", "mcp__raw__die", {"text": "9"}))
    assert (died.success, died.kind, died.value["unavailable"]) == (False, "unknown_outcome", True)
    assert executor.execute("mcp__raw__echo", {"text": "x"})[0]


def test_every_call_crosses_the_gate_with_the_tools_definition_hash(hosted):
    seen = []

    class Gate:
        def check_permission(self, name, args, context, call_id):
            seen.append((name, args, current_call().tool.definition_hash))
            return name != "mcp__small__die", {"reason": "dangerous", "method": "policy"}

    executor = hosted({"servers": {"small": SMALL}}, permission_plugin=Gate())
    assert executor.execute("mcp__small__plain", {"text": "x"})[0]
    assert "dangerous" in executor.execute("mcp__small__die", {"code": 1})[1]["error"]
    assert [name for name, _, _ in seen] == ["mcp__small__plain", "mcp__small__die"]
    assert all(len(digest) == 64 for _, _, digest in seen)


def test_a_tool_that_a_server_has_made_another_one_of_is_not_called_on_an_older_answer(hosted, tmp_path):
    listed, asked = tmp_path / "tools.json", []
    config = {"servers": {"s": {**raw(), "env": {"TOOLS_FILE": str(listed)}}}}

    def started(description: str, answer: str) -> ToolExecutor:
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        listed.write_text(json.dumps([{"name": "deploy", "description": description, "inputSchema": schema}]))
        plugin = PermissionPlugin(
            policy={},
            project_root=tmp_path,
            state_dir=tmp_path / "state",
            channel=lambda approval: asked.append(approval.details) or answer,
        )
        return hosted(config, permission_plugin=plugin)

    call = "mcp__s__deploy", {"text": '{"content": []}'}
    executor = started("Looks whether it could be deployed", "always tool user")
    assert executor.execute(*call)[0]
    executor.shutdown()
    executor = started("Deploys to the customers", "no")  # what is known of the server is still the list from before
    again, registry = threading.Event(), executor._registry
    registry.attach(again.set)
    ok, value = executor.execute(*call)
    assert (ok, len(asked)) == (False, 1)
    assert "deploy was not called: the server says by now that it is another tool" in value["error"]
    assert again.wait(10)
    assert not executor.execute(*call)[0]
    assert "Deploys to the customers" in asked[1]["the tool has changed since you allowed it"]


@pytest.mark.parametrize(("before", "after"), [(0, False), (1, True), (1, 1.0)])
def test_a_default_that_python_takes_for_the_same_makes_another_tool(hosted, tmp_path, before, after):
    listed = tmp_path / "tools.json"

    def says(default: object) -> None:
        schema = {"type": "object", "properties": {"text": {}, "force": {"default": default}}}
        listed.write_text(json.dumps([{"name": "deploy", "inputSchema": schema}]))

    says(before)
    executor, heard = hosted({"servers": {"s": {**raw(), "env": {"TOOLS_FILE": str(listed)}}}}), threading.Event()
    executor.on_tools_changed(heard.set)
    says(after)
    executor._registry.get_plugin("mcp").bridge().stop("s")  # the next one says something else
    assert not executor.execute("mcp__s__deploy", {"text": '{"content": []}'})[0]
    assert heard.wait(10)
    told = next(tool for tool in executor.list_tools() if tool.name == "mcp__s__deploy")
    default = told.input_schema["properties"]["force"]["default"]
    assert (default, type(default)) == (after, type(after))


def test_a_change_that_another_program_has_heard_of_first_is_heard_of_here_too(hosted):
    config = {"servers": {"s": raw()}}
    programs = [hosted(config) for _ in range(2)]
    for executor in programs:
        assert executor.execute("mcp__s__echo", {"text": "x"})[0]
    for executor in programs:
        heard = threading.Event()
        executor.on_tools_changed(heard.set)
        assert executor.execute("mcp__s__grow", {"text": "fresh"})[0]
        assert heard.wait(10)
        assert "mcp__s__fresh" in names(executor)


def test_a_client_whose_server_lists_another_tool_than_anothers_may_call_it_again(hosted, tmp_path):
    listed = tmp_path / "tools.json"

    def sees(description: str) -> None:
        listed.write_text(
            json.dumps([{"name": "deploy", "description": description, "inputSchema": {"type": "object"}}])
        )

    def called(client: str) -> bool:
        inside = contextvars.copy_context()
        inside.run(work_for, client)
        return inside.run(executor.execute, "mcp__s__deploy", {"text": '{"content": []}'})[0]

    sees("ada")
    executor = hosted({"servers": {"s": {**raw(), "env": {"TOOLS_FILE": str(listed)}}}})
    assert called("ada/1")
    sees("bob")
    for client in ("bob/1", "ada/1", "bob/1"):
        heard = threading.Event()
        executor.on_tools_changed(heard.set)
        assert not called(client)  # what the other one's server says was judged
        assert heard.wait(10)
        assert called(client)


def test_a_tool_of_ones_own_may_be_carried_out_by_a_servers(hosted):
    class Mine:
        @hookimpl
        def executor_register_tools(self, register):
            register(Tool("mine", description="Says it again"), backend=ToolBackend.mcp("small", "plain"))

    executor = hosted({"servers": {"small": SMALL}})
    executor._registry.register(Mine(), "mine")
    executor._registry.expose("mine")
    assert executor.execute("mine", {"text": "x"}) == (True, {"result": "x"})


def test_a_long_call_goes_to_the_background_and_cancelling_it_reaches_the_server(hosted, tmp_path):
    marker = tmp_path / "marker"
    os.mkfifo(marker)
    executor, results = hosted({"servers": {"raw": raw()}, "threshold": 0.05}), []
    thread = threading.Thread(
        target=lambda: results.append(executor.call(ToolCall("1", "mcp__raw__hang", {"text": str(marker)})))
    )
    thread.start()
    assert marker.read_text() == "started"
    thread.join()
    assert results[0].backgrounded
    assert executor.tasks.cancel(results[0].task_id)
    assert marker.read_text() == "cancelled"


def test_a_timeout_of_the_configuration_ends_the_call(hosted, tmp_path):
    options = {"raw": {"timeout": 30, "threshold": None, "tools": {"slow": {"timeout": 0.2}}}}
    ok, value = hosted({"servers": {"raw": raw()}, "options": options}).execute("mcp__raw__slow", {"text": "2"})
    assert (ok, value["timed_out"]) == (False, True)


def test_time_limits_are_set_for_all_for_a_server_and_for_a_tool(hosted):
    options = {"patient": {"timeout": 30}, "raw": {"tools": {"slow": {"timeout": 30}}}}
    servers = {"raw": raw(), "patient": raw()}
    executor = hosted({"servers": servers, "threshold": None, "timeout": 0.3, "options": options})
    assert executor.execute("mcp__raw__hang", {"text": os.devnull})[1]["timed_out"]
    assert executor.execute("mcp__raw__slow", {"text": "0.5"})[0]
    assert executor.execute("mcp__patient__slow", {"text": "0.5"})[0]


def test_thresholds_are_set_for_all_for_a_server_and_for_a_tool_and_a_tool_can_be_left_out(hosted):
    options = {"own": {"threshold": 3, "tools": {"slow": {"threshold": None}, "die": {"enabled": False}}}}
    executor = hosted({"servers": {"own": raw(), "raw": raw()}, "threshold": 7, "options": options})
    thresholds = [
        executor.get_tool(f"mcp__{name}").tool.auto_background for name in ("raw__slow", "own__hang", "own__slow")
    ]
    assert thresholds == [7, 3, None]
    ok, value = executor.execute("mcp__own__die", {"text": "9"})
    assert (ok, executor.execute("mcp__own__echo", {"text": "alive"})[0]) == (False, True)
    assert "mcp__own__die" not in names(executor)


def test_a_person_who_is_asked_by_the_server_does_not_use_up_the_calls_time(hosted):
    class Person:
        def __init__(self):
            self.asked = threading.Event()

        def ask(self, approval, answer):
            self.answer = answer
            self.asked.set()

        def withdraw(self, approval_id):
            pass

    executor, person, told = hosted({"servers": {"raw": raw()}, "timeout": 0.4}), Person(), []
    executor.approvals.add_channel("person", person)
    assert executor.execute("mcp__raw__echo", {"text": "it runs"})[0]
    thread = threading.Thread(target=lambda: told.append(executor.execute("mcp__raw__ask", {"text": "Which?"})))
    thread.start()
    assert person.asked.wait(10)
    thread.join(0.6)
    assert thread.is_alive()
    person.answer("c:red")
    thread.join()
    assert told == [(True, 'accept: {"colour": "red"}')]


def test_resources_and_prompts_are_tools_that_only_read_where_the_server_has_them(hosted):
    executor = hosted({"servers": {"small": SMALL, "raw": raw()}})
    assert executor.execute("mcp__small__readResource", {"uri": "note://today"})[1]["contents"][0]["text"] == "buy milk"
    listed = executor.execute("mcp__small__listResources", {})[1]
    assert (listed["resources"][0]["uri"], listed["templates"][0]["uriTemplate"]) == ("note://today", "note://{day}")
    assert executor.execute("mcp__small__listPrompts", {})[1]["prompts"][0]["name"] == "greeting"
    prompt = executor.execute("mcp__small__getPrompt", {"name": "greeting", "arguments": {"name": "Ada"}})[1]
    assert "Ada" in str(prompt)
    assert executor.get_tool("mcp__small__readResource").tool.annotations.read_only
    assert "mcp__raw__readResource" not in names(executor)


@pytest.mark.parametrize(
    "config",
    [
        {"servers": {"s": {**SMALL, "includeTools": ["echo", "getPrompt"]}}},
        {"servers": {"s": {**SMALL, "excludeTools": ["*Resource*", "list*"]}}},
        {"servers": {"s": SMALL}, "options": {"s": {"tools": {"*Resource*": {"enabled": False}}}}},
    ],
)
def test_what_a_configuration_shuts_out_is_not_offered_for_reading_either(hosted, config):
    executor = hosted(config)
    offered = names(executor)
    assert {"mcp__s__echo", "mcp__s__getPrompt"} <= set(offered)
    assert not [name for name in offered if "Resource" in name]
    assert not executor.execute("mcp__s__readResource", {"uri": "note://today"})[0]


def test_hints_of_a_stranger_open_no_door(hosted):
    from mcp.server import MCPServer
    from mcp.types import ToolAnnotations

    server = MCPServer("hinting")
    server.add_tool(lambda: "x", name="reads", annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True))
    server.add_tool(lambda: "x", name="deletes", annotations=ToolAnnotations(destructive_hint=True))

    def hints(name, **options):
        executor = hosted({"servers": {"h": server}, "options": {"h": options}})
        return executor.get_tool(f"mcp__h__{name}").tool.annotations.to_dict()

    assert hints("reads") == {}
    assert hints("reads", trusted=True) == {"readOnlyHint": True, "idempotentHint": True}
    assert hints("deletes") == {"destructiveHint": True}


def test_broken_tools_are_left_out_and_said_and_the_others_work(hosted, caplog):
    executor = hosted({"servers": {"raw": raw("bad-schema")}})
    assert "mcp__raw__echo" in names(executor)
    (said,) = [record.getMessage() for record in caplog.records]
    assert "4 of its tools are not as it lists them" in said
    assert all(name in said for name in ("?", "odd", "later", "remote (The input schema"))
    assert "mcp__raw__broken" in names(executor)  # its schema only lacked a type


def test_a_server_that_cannot_be_used_costs_only_itself(hosted, caplog):
    servers = {"good": raw(), "gone": {"command": "no-such-server"}, "bad": {"command": "${NOT_SET_ANYWHERE}"}}
    executor = hosted({"servers": servers})
    assert executor.execute("mcp__good__echo", {"text": "x"})[0]
    assert "no program 'no-such-server'" in caplog.text
    assert "NOT_SET_ANYWHERE is not set" in caplog.text


def test_known_tools_are_there_without_a_start_and_unknown_ones_are_asked_for(hosted):
    hosted({"servers": {"raw": raw()}})
    registry = PluginRegistry(bundled=False, entry_points=False)
    plugin = MCPPlugin()
    registry.register(plugin, "mcp")
    registry.expose("mcp", {"servers": {"raw": raw()}})
    assert "mcp__raw__echo" in registry.tools
    assert plugin.bridge().status()["raw"].starts == 0
    plugin.executor_shutdown()


@pytest.mark.parametrize("server", [SMALL, raw()], ids=["today", "before"])
def test_a_tool_that_a_server_adds_can_be_called(hosted, server):
    executor = hosted({"servers": {"s": server}})
    came = threading.Event()
    registry = executor._registry
    registry.attach(lambda: came.set() if "mcp__s__fresh" in registry.tools else None)
    executor.execute("mcp__s__grow", {"text": "fresh", "name": "fresh"})
    assert came.wait(10)
    assert executor.execute("mcp__s__fresh", {"text": "x"})[0]
    assert "mcp__s__echo" in names(executor)


def test_news_of_one_server_does_not_wait_for_another_that_is_not_known_yet(hosted, monkeypatch):
    asked, ask = [], MCPBridge.listings
    monkeypatch.setattr(MCPBridge, "listings", lambda *told: asked.append(list(told[1])) or ask(*told))
    executor = hosted({"servers": {"s": raw(), "gone": {"command": "no-such-server"}}})
    came = threading.Event()
    registry = executor._registry
    registry.attach(lambda: came.set() if "mcp__s__fresh" in registry.tools else None)
    executor.execute("mcp__s__grow", {"text": "fresh", "name": "fresh"})
    assert came.wait(10)
    assert asked == [["s", "gone"]]
    registry.refresh("mcp")
    assert asked == [["s", "gone"], ["gone"]]


def test_after_a_shutdown_a_new_executor_starts_the_servers_again(hosted):
    executor = hosted({"servers": {"raw": raw()}})
    first = executor.execute("mcp__raw__echo", {"text": "x"})[1]["pid"]
    registry = executor._registry
    executor.shutdown()
    with ToolExecutor(registry=registry) as second:
        assert second.execute("mcp__raw__echo", {"text": "x"})[1]["pid"] != first


def test_without_configuration_nothing_is_imported_registered_or_started():
    program = """
import sys
from executor import PluginRegistry
registry = PluginRegistry(entry_points=False)
assert registry.expose("mcp")
print(list(registry.tools), registry.backends(),
      [m for m in ("mcp", "pydantic", "asyncio", "executor.mcp._bridge") if m in sys.modules])
"""
    path = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "plugins")]
    program = f"import sys; sys.path[:0] = {path!r}\n{program}"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[] {} []"


def test_servers_come_from_our_file_and_from_files_of_hosts_and_the_first_name_wins(hosted, own_folders, caplog):
    own = own_folders / "config/toolexec/mcp.json"
    cursor = own_folders / ".cursor/mcp.json"
    for file, servers in ((own, {"raw": raw(), "off": {"command": "x", "disabled": True}}), (cursor, {"raw": SMALL})):
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"mcpServers": servers}))
    executor = hosted({"files": ["cursor"]})
    assert "mcp__raw__hang" in names(executor)
    assert "mcp__raw__plain" not in names(executor)
    assert f"'raw' of {cursor} is left out" in caplog.text
    assert "off" not in caplog.text


def test_a_broken_file_is_said_with_its_line_and_costs_only_its_servers(hosted, tmp_path, caplog):
    broken = tmp_path / "mcp.json"
    broken.write_text('{\n "mcpServers": oops\n}')
    executor = hosted({"servers": {"raw": raw()}, "files": [str(broken)]})
    assert "mcp__raw__echo" in names(executor)
    assert f"{broken}: line 2" in caplog.text


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"server": {}}, "unknown key server: use servers"),
        ({"servers": []}, "servers is \\[\\]: give a table"),
        ({"timeout": 0}, "timeout is 0: give seconds"),
        ({"threshold": -1}, "threshold is -1: give seconds \\(0 or more\\)"),
        ({"options": {"a": {"timeouts": 3}}}, "unknown key options.a.timeouts"),
        ({"options": {"a": {"tools": {"b": {"trusted": 1}}}}}, "options.a.tools.b.trusted is 1"),
        ({"files": "cursor"}, "give a list of paths"),
        ({"files": ["word"]}, "'word' is no host that is known"),
        ({"files": [".mcp.json"]}, "another file in every folder: give its full path"),
        ({"files": ["./servers.toml"]}, "another file in every folder: give its full path"),
    ],
)
def test_a_wrong_configuration_is_refused_with_what_would_fit(config, problem):
    with pytest.raises(ValueError, match=problem):
        MCPPlugin().executor_configure(config)


def test_ids_are_made_of_what_an_id_may_have():
    assert tool_id("my server", "repo/read file:x") == "mcp__my_server__repo_read_file_x"
    long = tool_id("s", "x" * 200)
    assert len(long) == 128
    assert long != tool_id("s", "x" * 201)


@pytest.mark.parametrize("other", ["git_", "git!", "git ", "git__hub", "git (new)", "git_\u200b"])
def test_a_rule_for_a_server_is_not_about_another_one_whose_name_goes_on(hosted, tmp_path, other):
    from mcp.server import MCPServer

    servers = {}
    for name in ("git", other):
        servers[name] = MCPServer(name)
        servers[name].add_tool(lambda: "done", name="log")
    policy = {"whitelist": {"tools": ["mcp__git__*"]}}
    plugin = PermissionPlugin(policy=policy, project_root=tmp_path, state_dir=tmp_path / "state")
    executor = hosted({"catalogue": False, "servers": servers}, permission_plugin=plugin)
    verdicts = {tool.name: executor.check(ToolCall("1", tool.name, {})).kind for tool in executor.list_tools()}
    assert verdicts == {"mcp__git__log": "ok", tool_id(other, "log"): "ask"}


@pytest.mark.parametrize("other", ["git x", "git/x", "git\u200bx"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_server_takes_no_id_of_one_whose_name_is_what_its_own_becomes(hosted, tmp_path, other, is_first):
    from mcp.server import MCPServer

    names, servers = ((other, "git_x") if is_first else ("git_x", other)), {}
    for name in names:
        servers[name] = MCPServer(name)
        servers[name].add_tool([name].copy, name="log")
    policy = {"whitelist": {"tools": ["mcp__git_x__*"]}}
    plugin = PermissionPlugin(policy=policy, project_root=tmp_path, state_dir=tmp_path / "state")
    executor = hosted({"catalogue": False, "servers": servers}, permission_plugin=plugin)
    verdicts = {tool.name: executor.check(ToolCall("1", tool.name, {})).kind for tool in executor.list_tools()}
    assert verdicts == {"mcp__git_x__log": "ok", tool_id(other, "log", names): "ask"}
    assert executor.execute("mcp__git_x__log", {}) == (True, "git_x")


def test_no_tool_of_a_server_has_an_id_of_another_server():
    assert tool_id("a b", "x", ("a b", "a/b")) != tool_id("a/b", "x", ("a b", "a/b"))
    assert tool_id("a b", "x", ("a b", "c")) == "mcp__a_b__x"
    assert tool_id("git", "hub__del") != tool_id("git__hub", "del")
    assert tool_id("git", "_del") != tool_id("git_", "del")
    for server in ("git_", "git__hub", "_", "__", "a (b)"):
        part, *_ = tool_id(server, "del").removeprefix("mcp__").split("__")
        assert tool_id(server, "del") == f"mcp__{part}__del"


def test_of_two_tools_with_one_id_the_first_keeps_it_and_the_other_has_its_own(hosted, caplog):
    from mcp.server import MCPServer

    server = MCPServer("twins")
    server.add_tool(lambda: "first", name="a_b")
    server.add_tool(lambda: "second", name="a/b")
    executor = hosted({"servers": {"t": server}})
    assert executor.execute("mcp__t__a_b", {}) == (True, "first")
    (other,) = [name for name in names(executor) if name.startswith("mcp__t__a_b_")]
    assert executor.execute(other, {}) == (True, "second")
    assert f"a/b (its id is {other}: the other one is 'a_b' of 't')" in caplog.text


def test_it_passes_the_checks_for_plugin_authors():
    plugin = MCPPlugin()
    try:
        assert check_plugin(plugin, {"servers": {"small": SMALL}}) == []
    finally:
        plugin.executor_shutdown()


def test_unexposing_ends_the_servers_and_the_calls_that_run(hosted, tmp_path):
    marker = tmp_path / "marker"
    os.mkfifo(marker)
    executor, results = hosted({"servers": {"raw": raw()}}), []
    pid = executor.execute("mcp__raw__echo", {"text": "x"})[1]["pid"]
    thread = threading.Thread(target=lambda: results.append(executor.execute("mcp__raw__hang", {"text": str(marker)})))
    thread.start()
    assert marker.read_text() == "started"
    executor.registry.unexpose("mcp")
    thread.join(10)
    assert not thread.is_alive()
    assert results[0][0] is False
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert names(executor) == []
    assert executor.registry.expose("mcp", {"servers": {"raw": raw()}})
    assert executor.execute("mcp__raw__echo", {"text": "x"})[1]["pid"] != pid


def test_a_call_that_a_person_has_allowed_does_not_go_to_another_server_of_the_same_name(hosted, tmp_path):
    listed = [{"name": "drop", "inputSchema": {"type": "object"}}]
    (tmp_path / "tools.json").write_text(json.dumps(listed))

    def config(which: str) -> dict:
        return {"servers": {"db": {**raw(), "env": {"TOOLS_FILE": str(tmp_path / "tools.json"), "WHICH": which}}}}

    class Asks:
        def decide(self, call, context):
            return Decision("ask")

        def ask(self, call, decision, context):
            executor.registry.expose("mcp", config("production"))
            return Verdict(True)

    executor = hosted(config("staging"), permission_plugin=Asks())
    call = "mcp__db__drop", {"text": '{"content": []}'}
    assert "'mcp' was taken away, or configured anew" in executor.execute(*call)[1]["error"]
    executor.set_permission_plugin(None)
    assert executor.execute(*call)[0]


def test_a_relative_path_is_judged_from_the_folder_in_which_the_server_runs(hosted, tmp_path, monkeypatch):
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(project)
    policy = {
        "version": "1.1",
        "argumentKinds": {"mcp__small__echo": {"text": "path"}},
        "whitelist": {"arguments": {"mcp__small__echo": {"text": ["${project}/"]}}},
        "blacklist": {"arguments": {"mcp__small__echo": {"text": ["${project}/sub/kept"]}}},
    }
    asked = []
    gate = PermissionPlugin(policy=policy, project_root=project, home=tmp_path, channel=asked.append)
    for folder, path, kind in (
        (None, "notes", "ok"),
        (str(project / "sub"), "notes", "ok"),
        (str(project / "sub"), "kept", "denied"),
        (str(tmp_path / "elsewhere"), "notes", "denied"),
        (str(tmp_path / "elsewhere"), "../project/notes", "ok"),
        ("/", "etc/passwd", "denied"),
    ):
        executor = hosted({"servers": {"small": {**SMALL, "cwd": folder} if folder else SMALL}}, permission_plugin=gate)
        assert executor.call(ToolCall("1", "mcp__small__echo", {"text": path})).kind == kind, (folder, path)
    assert [question.details["folder"] for question in asked] == [str(tmp_path / "elsewhere"), "/"]
