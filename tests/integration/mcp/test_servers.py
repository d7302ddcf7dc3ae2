"""Servers that people run, over stdio and HTTP, through the bridge."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time

import pytest

from executor.errors import BackendUnavailableError


def text_of(result) -> str:
    assert not result.is_error, result
    return result.content[0].text


def names(bridge, server) -> set[str]:
    return {tool["name"] for tool in bridge.list_tools(server)}


def test_everything_over_stdio(bridge_to, node_server):
    bridge = bridge_to({"everything": node_server("everything", "stdio")}, on_elicit=lambda _: None)
    assert text_of(bridge.call_tool("everything", "echo", {"message": "hello"})) == "Echo: hello"
    assert "5" in text_of(bridge.call_tool("everything", "get-sum", {"a": 2, "b": 3}))
    status = bridge.status()["everything"]
    assert (status.protocol, status.state) == ("2025-11-25", "running")
    assert "simulate-research-query" in dict(bridge.listing("everything").left_out)
    assert bridge.list_resources("everything")
    assert bridge.list_prompts("everything")


def test_everything_reports_progress_and_hears_of_an_end(bridge_to, node_server):
    bridge, told = bridge_to({"everything": node_server("everything", "stdio")}), []
    bridge.call_tool(
        "everything",
        "trigger-long-running-operation",
        {"duration": 0.2, "steps": 4},
        on_progress=lambda *news: told.append(news[:2]),
    )
    assert told == [(1.0, 4.0), (2.0, 4.0), (3.0, 4.0), (4.0, 4.0)]


def test_everything_asks_a_person(bridge_to, node_server):
    asked = []

    def answer(question):
        asked.append(question)
        return {"name": "Ada"}

    bridge = bridge_to({"everything": node_server("everything", "stdio")}, on_elicit=answer)
    assert "Ada" in str(bridge.call_tool("everything", "trigger-elicitation-request").content)
    assert asked[0].server == "everything"


def test_filesystem(bridge_to, node_server, tmp_path):
    (tmp_path / "note.txt").write_text("buy milk")
    folder = str(tmp_path.resolve())
    bridge = bridge_to({"files": node_server("filesystem", folder)})
    assert "note.txt" in text_of(bridge.call_tool("files", "list_directory", {"path": folder}))
    result = bridge.call_tool("files", "read_text_file", {"path": f"{folder}/note.txt"})
    assert result.structured_content == {"content": "buy milk"}
    assert bridge.call_tool("files", "read_text_file", {"path": "/etc/hostname"}).is_error


def test_memory(bridge_to, node_server, tmp_path):
    entry = node_server("memory", MEMORY_FILE_PATH=str(tmp_path / "memory.json"))
    entity = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
    bridge_to({"memory": entry}).call_tool("memory", "create_entities", {"entities": [entity]})
    assert "likes tea" in text_of(bridge_to({"memory": entry}).call_tool("memory", "read_graph"))


def test_sequential_thinking(bridge_to, node_server):
    thought = {"thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
    bridge = bridge_to({"think": node_server("sequential-thinking")})
    result = bridge.call_tool("think", "sequentialthinking", thought)
    assert result.structured_content["thoughtNumber"] == 1


def test_git(bridge_to, python_server, tmp_path):
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path)], check=True)
    (tmp_path / "new.txt").write_text("x")
    bridge = bridge_to({"git": python_server("mcp-server-git", "--repository", str(tmp_path))})
    assert "new.txt" in text_of(bridge.call_tool("git", "git_status", {"repo_path": str(tmp_path)}))
    assert bridge.status()["git"].protocol == "2026-07-28"


def test_time(bridge_to, python_server):
    bridge = bridge_to({"time": python_server("mcp-server-time")})
    zones = {"source_timezone": "Europe/Berlin", "target_timezone": "Asia/Tokyo", "time": "12:00"}
    assert "Asia/Tokyo" in text_of(bridge.call_tool("time", "convert_time", zones))
    assert bridge.call_tool("time", "convert_time", {**zones, "time": "25:99"}).is_error


def test_sqlite(bridge_to, old_python_server, tmp_path):
    bridge = bridge_to({"db": old_python_server("mcp-server-sqlite", "--db-path", str(tmp_path / "x.db"))})
    bridge.call_tool("db", "create_table", {"query": "CREATE TABLE milk (litres INTEGER)"})
    assert "milk" in text_of(bridge.call_tool("db", "list_tables"))


@pytest.fixture
def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


class HttpServer:
    """server-everything over HTTP, as a process that a test kills and starts again."""

    def __init__(self, entry: dict, port: int) -> None:
        self._entry, self._port = entry, port
        self.process: subprocess.Popen | None = None
        self._drain: threading.Thread | None = None

    def start(self) -> None:
        environment = {**os.environ, "PORT": str(self._port)}
        command = [self._entry["command"], *self._entry["args"]]
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "listening" in line.lower():
                break
        # Whatever it writes later must not fill the pipe.
        self._drain = threading.Thread(target=self.process.stderr.read, daemon=True)
        self._drain.start()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self._drain.join()
            self.process.stderr.close()
            self.process = None


@pytest.fixture
def http_everything(node_server, free_port):
    server = HttpServer(node_server("everything", "streamableHttp"), free_port)
    server.start()
    server.url = f"http://127.0.0.1:{free_port}/mcp"
    yield server
    server.kill()


def test_everything_over_http(bridge_to, http_everything):
    bridge = bridge_to({"web": {"url": http_everything.url}})
    assert text_of(bridge.call_tool("web", "echo", {"message": "hello"})) == "Echo: hello"
    assert "echo" in names(bridge, "web")


def test_a_server_over_http_that_was_restarted_works_again_by_itself(bridge_to, http_everything):
    bridge = bridge_to({"web": {"url": http_everything.url}})
    bridge.call_tool("web", "echo", {"message": "one"})
    http_everything.kill()
    http_everything.start()
    assert text_of(bridge.call_tool("web", "echo", {"message": "two"})) == "Echo: two"


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_server_over_http_is_killed_in_a_call_and_started_again_and_again(bridge_to, http_everything):
    bridge = bridge_to({"web": {"url": http_everything.url}})
    slowest = 0.0
    for number in range(100):
        started, ended = threading.Event(), []

        def call(started=started, ended=ended):
            try:
                operation = {"duration": 30, "steps": 300}
                tell = lambda *_: started.set()
                bridge.call_tool("web", "trigger-long-running-operation", operation, on_progress=tell, timeout=20)
            except BackendUnavailableError:
                ended.append(time.monotonic())

        thread = threading.Thread(target=call)
        thread.start()
        assert started.wait(10)
        killed = time.monotonic()
        http_everything.kill()
        thread.join(5)
        slowest = max(slowest, ended[0] - killed)
        http_everything.start()
        assert text_of(bridge.call_tool("web", "echo", {"message": str(number)})) == f"Echo: {number}"
    print(f"slowest error after the death of an HTTP server: {slowest:.2f} s")
    assert slowest < 4.0


def test_a_server_over_http_that_dies_in_a_call_fails_it_and_works_again_after_its_restart(bridge_to, http_everything):
    bridge, started, caught = bridge_to({"web": {"url": http_everything.url}}), threading.Event(), []
    bridge.call_tool("web", "echo", {"message": "one"})

    def call():
        try:
            bridge.call_tool(
                "web",
                "trigger-long-running-operation",
                {"duration": 30, "steps": 300},
                on_progress=lambda *_: started.set(),
                timeout=20,
            )
        except BackendUnavailableError as error:
            caught.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert started.wait(10)
    http_everything.kill()
    thread.join(5)
    assert caught, "the call did not end when its server did"
    with pytest.raises(BackendUnavailableError):
        bridge.call_tool("web", "echo", {"message": "down"})
    http_everything.start()
    assert text_of(bridge.call_tool("web", "echo", {"message": "up"})) == "Echo: up"
