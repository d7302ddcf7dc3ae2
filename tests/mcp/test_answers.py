"""Errors and answers as servers give them: what was done is not reported as failed, and costs no other call."""

from __future__ import annotations

import json
import threading

import pytest

from executor import PluginRegistry, ToolExecutor
from executor.errors import BackendUnavailableError, ToolFailedError
from executor.mcp import parse_entry
from executor.run import Runner, Tool, ToolBackend

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ('"rate limited"', r"rate limited \(MCP error -32603\)"),
        ('{"code": "E429", "message": "slow down"}', r"slow down \(E429\)"),
        ('{"message": "no code"}', "no code"),
        ('{"code": 1.5, "message": {"a": [1]}, "data": 2}', r'\{"a": \[1\]\} \(1.5\)'),
        ("7", "7"),
    ],
)
def test_an_error_that_is_nearly_one_is_told_at_once_in_the_servers_words(bridge_to, raw, error, words):
    with pytest.raises(ToolFailedError, match=f"s: refuse: {words}"):
        bridge_to({"s": raw()}).call_tool("s", "refuse", {"text": error}, timeout=20)


@pytest.mark.parametrize(
    "printed", ['{"id": 2, "error": "logged"}', '{"id": 3, "result": 1}', '{"id": 2, "level": "info"}']
)
def test_what_a_server_logs_in_json_is_nobodys_answer(bridge_to, raw, printed):
    bridge = bridge_to({"s": raw(f"print={printed}")})
    for text in ("one", "two", "three"):
        assert bridge.call_tool("s", "echo", {"text": text}, timeout=20).content[0].text == text


def test_an_answer_that_is_nested_too_deep_to_be_read_is_not_waited_for(bridge_to, raw):
    with pytest.raises(BackendUnavailableError, match=r"nested too deep.* is not known"):
        bridge_to({"s": raw("deep")}).call_tool("s", "echo", {"text": "x"}, timeout=20)


def test_an_answer_with_a_number_that_is_too_long_to_be_read_is_not_waited_for(bridge_to, raw):
    answer = '{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"n":%s}}}' % ("9" * 5000)
    with pytest.raises(BackendUnavailableError, match=r"Exceeds the limit.* is not known"):
        bridge_to({"s": raw()}).call_tool("s", "print", {"text": answer}, timeout=20)


@pytest.mark.parametrize("number", ["1" + "0" * 400, "NaN", "-Infinity"])
@pytest.mark.parametrize("name", ["progress", "total"])
def test_progress_in_what_is_no_number_costs_no_call(bridge_to, raw, name, number):
    said = {"progress": "1", "total": "2", "progressToken": "ID", name: number}
    params = ",".join(f'"{key}":{value}' for key, value in said.items()).join("{}")
    told, bridge = [], bridge_to({"s": raw()})
    lines = [
        '{"jsonrpc":"2.0","method":"notifications/progress","params":' + params + "}",
        '{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}',
    ]
    answer = bridge.call_tool(
        "s", "print", {"text": "\n".join(lines)}, timeout=20, on_progress=lambda *told_of: told.append(told_of)
    )
    assert (answer.is_error, told, bridge.status()["s"].starts) == (False, [], 1)


def test_an_answer_that_says_nothing_is_not_waited_for(bridge_to, raw):
    with pytest.raises(BackendUnavailableError, match=r"no MCP .*neither a result nor an error.* is not known"):
        bridge_to({"s": raw()}).call_tool("s", "refuse", {"text": "null"}, timeout=20)


@pytest.mark.parametrize(
    ("result", "texts"),
    [("null", []), ("[]", []), ('"done"', ["done"]), ("5", ["5"]), ('{"content": [], "_meta": 5}', [])],
)
def test_a_result_that_is_nearly_one_is_a_success(bridge_to, raw, result, texts):
    answer = bridge_to({"s": raw()}).call_tool("s", "give", {"text": result}, timeout=20)
    assert ([block.text for block in answer.content], answer.is_error) == (texts, False)
    assert result == "[]" or answer.warnings


@pytest.mark.parametrize("code", [-32000, -32001, -32002, -32600, -32602, -32603, -32042, 429, -1, 0])
def test_an_error_of_any_number_is_that_calls_failure_in_the_servers_words(bridge_to, raw, code):
    bridge = bridge_to({"s": raw()})
    bridge.call_tool("s", "echo", {"text": "it runs"})
    pid = bridge.status()["s"].pid
    with pytest.raises(ToolFailedError, match=rf"Rate limit: 5 a minute \(MCP error {code}\)"):
        bridge.call_tool("s", "refuse", {"text": json.dumps({"code": code, "message": "Rate limit: 5 a minute"})})
    assert bridge.call_tool("s", "echo", {"text": "after"}).content[0].text == "after"
    assert (bridge.status()["s"].pid, bridge.status()["s"].starts) == (pid, 1)


def test_an_error_of_one_call_leaves_the_calls_beside_it_alone(bridge_to, raw, tmp_path):
    bridge = bridge_to({"s": raw()})
    marker, ended = tmp_path / "hangs", []
    bridge.call_tool("s", "echo", {"text": "it runs"})

    def hang():
        try:
            bridge.call_tool("s", "hang", {"text": str(marker)}, timeout=3)
        except Exception as error:
            ended.append(type(error).__name__)

    thread = threading.Thread(target=hang)
    thread.start()
    for _ in range(3):
        with pytest.raises(ToolFailedError):
            bridge.call_tool("s", "refuse", {"text": '{"code": -32000, "message": "Connection closed"}'})
    assert not ended
    thread.join()
    assert ended == ["ToolTimeoutError"]  # its own end, and nobody else's


def test_an_error_that_wants_a_person_to_open_a_page_says_which(bridge_to, raw):
    data = {"elicitations": [{"mode": "url", "elicitationId": "1", "url": "https://h.example/ok", "message": "Agree"}]}
    error = {"code": -32042, "message": "A person has to agree", "data": data}
    words = r"A person has to agree \(MCP error -32042\)\. Agree: open https://h.example/ok , and call"
    with pytest.raises(ToolFailedError, match=words):
        bridge_to({"s": raw()}).call_tool("s", "refuse", {"text": json.dumps(error)})


TEXT = {"type": "text", "text": "done"}
DEEP = json.loads("[" * 300 + "]" * 300)  # deeper than pydantic reads JSON


@pytest.mark.parametrize(
    ("result", "texts", "warning"),
    [
        ({"content": [TEXT]}, ["done"], None),
        ({"structuredContent": {"n": 1}}, [], 'no list "content"'),
        ({"content": None, "structuredContent": {"n": 1}}, [], 'no list "content"'),
        ({"content": "done"}, ["done"], 'no list "content"'),
        ({"content": [TEXT, {"type": "hologram", "x": 1}]}, ["done", '{"type": "hologram", "x": 1}'], "'hologram'"),
        ({"content": [TEXT, {"type": "image"}]}, ["done", '{"type": "image"}'], "block 1 of the answer"),
        ({"content": ["done"]}, ["done"], "it is str"),
        ({"content": [TEXT], "structuredContent": [1, 2]}, ["done"], "is no object"),
        ({"content": [], "structuredContent": [1, 2]}, ["[1, 2]"], "is no object"),
        ({"content": [TEXT], "isError": None}, ["done"], None),
        ({"content": [TEXT], "structuredContent": {"a": DEEP}}, ["done"], "nested deeper"),
        ({"content": [], "structuredContent": {"a": DEEP}}, [json.dumps({"a": DEEP})], "nested deeper"),
        ({"content": [TEXT | {"_meta": {"a": DEEP}}]}, [json.dumps(TEXT | {"_meta": {"a": DEEP}})], "nested deeper"),
    ],
)
def test_an_answer_that_can_be_understood_is_one(bridge_to, raw, result, texts, warning):
    answer = bridge_to({"s": raw()}).call_tool("s", "give", {"text": json.dumps(result)})
    assert [block.text for block in answer.content] == texts
    assert not answer.is_error
    said = getattr(answer, "warnings", ())
    assert (len(said), warning is None or warning in said[0]) == (int(warning is not None), True)


@pytest.fixture
def executor_with(raw):
    made = []

    def make(*tools, **options):
        registry = PluginRegistry(entry_points=False)
        registry.expose("mcp", {"servers": {"s": raw(MORE_TOOLS=json.dumps(tools))}, "catalogue": False})
        made.append(ToolExecutor(registry=registry, **options))
        return made[-1]

    yield make
    for executor in made:
        executor.shutdown()
        executor.registry.close()


def counting(**more):
    return {"name": "count", "inputSchema": {"type": "object"}, **more}


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ({"content": [TEXT]}, {"result": "done"}),
        ({"content": [TEXT], "structuredContent": {"n": "three"}}, {"n": "three"}),
        ({"content": [{"type": "text", "text": '{"n": 1.5}'}]}, {"n": 1.5}),
    ],
)
def test_an_answer_that_misses_its_schema_is_a_success_with_a_warning(executor_with, answer, value):
    executor = executor_with(counting(outputSchema=NUMBER))
    succeeded, result = executor.execute("mcp__s__count", {"text": json.dumps(answer)})
    assert succeeded
    assert {key: item for key, item in result.items() if key != "warnings"} == value
    assert "does not fit its output schema" in result["warnings"][0]


def test_an_answer_that_fits_has_no_warning(executor_with):
    executor = executor_with(counting(outputSchema=NUMBER))
    answer = {"content": [], "structuredContent": {"n": 3}}
    assert executor.execute("mcp__s__count", {"text": json.dumps(answer)}) == (True, {"n": 3})


@pytest.mark.parametrize("said", ["3", "three"])
def test_an_output_schema_that_is_none_costs_a_warning(bridge_to, raw, said):
    bridge = bridge_to({"s": raw()})
    runner = Runner(
        tool_resolver=lambda name: Tool("give", output_schema={"type": "no such type"}),
        backends_resolver=lambda name: [ToolBackend.mcp("s", "give")],
        mcp=bridge,
    )
    with runner:
        result = runner.run("give", {"text": json.dumps({"content": [{"type": "text", "text": said}]})})
    assert result.structured == said
    assert "is not valid JSON Schema" in result.warnings[0]


def test_whoever_wants_to_be_strict_may_be(bridge_to, raw):
    bridge = bridge_to({"s": raw(MORE_TOOLS=json.dumps([counting(outputSchema=NUMBER)]))})
    tool = Tool("count", output_schema=NUMBER)
    for strict in (True, False):
        runner = Runner(
            tool_resolver=lambda name: tool,
            backends_resolver=lambda name: [ToolBackend.mcp("s", "count")],
            mcp=bridge,
            strict_output=strict,
        )
        with runner, ToolExecutor(runner=runner) as executor:
            succeeded, _ = executor.execute("count", {"text": json.dumps({"content": [TEXT]})})
            assert succeeded is not strict


@pytest.mark.parametrize(
    "odd",
    [
        {"inputSchema": {}},
        {"inputSchema": None},
        {"inputSchema": {"properties": {"text": {"type": "string"}}}},
        {"inputSchema": {"type": "object", "required": None, "properties": None}},
        {"inputSchema": {"type": "object", "properties": {"text": {"type": "string", "enum": None, "title": None}}}},
        {"inputSchema": {"type": "object", "properties": {"text": {"type": "string", "required": True}}}},
        {"inputSchema": {"type": ["object", "null"]}},
        {"outputSchema": {"type": "string"}},
        {"outputSchema": {"type": "object", "properties": {"n": {"type": "no such type"}}}},
        {"outputSchema": "none"},
        {"annotations": {"readOnlyHint": "yes please"}},
        {"icons": "none", "description": 3, "title": ["x"]},
    ],
)
def test_a_tool_that_can_be_mended_is_one(executor_with, odd):
    executor = executor_with({"name": "count", "inputSchema": {"type": "object"}, **odd})
    assert executor.execute("mcp__s__count", {"text": json.dumps({"content": [TEXT]})}) == (True, "done")


def test_a_tool_that_is_nested_too_deep_costs_no_other(executor_with, caplog):
    deep = {"name": "deep", "inputSchema": {"type": "object", "properties": {"a": {"const": DEEP}}}}
    executor = executor_with(deep, counting(outputSchema={"type": "object", "const": DEEP}))
    names = [tool.name for tool in executor.list_tools()]
    assert "mcp__s__count" in names
    assert "mcp__s__deep" not in names
    assert "deep (its inputSchema is nested deeper than" in caplog.text


def test_tools_whose_ids_clash_are_all_there_under_ids_of_their_own(raw, caplog):
    registry = PluginRegistry(entry_points=False)
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("a b", "a_b", "a.b")]
    more = {"MORE_TOOLS": json.dumps(tools)}
    servers = {"my server": raw(**more), "my_server": raw(**more)}
    registry.expose("mcp", {"servers": servers, "catalogue": False})
    with ToolExecutor(registry=registry) as executor:
        names = [tool.name for tool in executor.list_tools() if "a" in tool.name and tool.name.count("a_b")]
        assert len(names) == len(set(names)) == 4
        assert "mcp__my_server__a_b" in names  # of the one that is called so
        for name in names:
            assert executor.execute(name, {"text": json.dumps({"content": [TEXT]})}) == (True, "done")
    assert "the other one is 'a b' of 'my server'" in caplog.text
    registry.close()


def test_a_tool_that_is_shut_out_is_not_offered_and_cannot_be_called(bridge_to, raw):
    entries = {
        "a": {**raw(), "excludeTools": ["die", "hang"]},
        "b": {**raw(), "includeTools": ["echo"]},
        "c": {**raw(), "disabledTools": ["die"]},
        "d": {**raw(), "excludeTools": ["d*"]},
        "e": {**raw(), "includeTools": ["ec*"]},
        "f": {**raw(), "excludeTools": ["die(now)"]},
    }
    bridge = bridge_to(entries)
    names = {server: [tool["name"] for tool in bridge.list_tools(server)] for server in entries}
    assert "echo" in names["a"]
    assert not {"die", "hang"} & set(names["a"])
    assert names["b"] == ["echo"]
    assert names["e"] == ["echo"]
    assert not any("die" in names[server] for server in "cdf")
    for server in entries:
        with pytest.raises(ToolFailedError, match="die may not be used"):
            bridge.call_tool(server, "die", {"text": "9"})


def test_a_restriction_that_cannot_be_read_keeps_the_whole_server_shut(raw):
    for wrong in ({"excludeTools": "die", "disabledTools": []}, {"disabledTools": "die"}, {"excludeTools": [1]}):
        assert "is no list of names" in (parse_entry("s", {**raw(), **wrong}).problem or "")


def test_a_server_may_be_spoken_to_in_an_older_revision(bridge_to, small_server):
    bridge = bridge_to({"new": small_server, "old": {**small_server, "protocol": "2025-11-25"}})
    for server in ("new", "old"):
        bridge.listing(server)
    assert {name: status.protocol for name, status in bridge.status().items()} == {
        "new": "2026-07-28",
        "old": "2025-11-25",
    }


@pytest.mark.parametrize(("method", "number"), [("ping", "\ud83d"), ("\ud83d", 7)])
def test_a_request_with_half_a_character_costs_no_call(bridge_to, raw, method, number):
    asks = json.dumps({"jsonrpc": "2.0", "id": number, "method": method})
    bridge = bridge_to({"s": raw()})
    lines = asks + '\n{"jsonrpc": "2.0", "id": ID, "result": {"content": [{"type": "text", "text": "a\\ud83d"}]}}'
    assert bridge.call_tool("s", "print", {"text": lines}).content[0].text == "a\ufffd"
    assert bridge.call_tool("s", "echo", {"text": "works"}).content[0].text == "works"
    assert bridge.status()["s"].starts == 1


def test_of_a_refusal_that_is_as_long_as_a_server_likes_a_part_is_told(raw, bridge_to):
    said = json.dumps({"code": -32000, "message": f"it was s3cr3t {'x' * 1_000_000}"})
    arguments = {"text": said, "tokens": ["s3cr3t", "another"]}  # each of which is looked for in what is said
    with pytest.raises(ToolFailedError, match=r"it was \*\*\* x") as refused:
        bridge_to({"s": raw()}).call_tool("s", "refuse", arguments)
    assert len(refused.value.message) < 100_000
