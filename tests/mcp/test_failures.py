"""Servers that crash, hang, flood and lie: each is one clear error, and the next call works where it can."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections import Counter
from dataclasses import replace

import psutil
import pytest

from executor.errors import BackendUnavailableError, ToolFailedError, ToolTimeoutError
from executor.mcp import _asking, _cache, parse_entry
from executor.mcp._lifetime import Lifetime
from executor.mcp._server import PATIENCE, Server
from executor.mcp._values import Listing


def echo(bridge) -> str:
    return bridge.call_tool("s", "echo", {"text": "works"}).content[0].text


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_server_that_dies_in_a_call_fails_it_at_once_with_its_last_words(bridge_to, raw, number):
    bridge = bridge_to({"s": raw()})
    echo(bridge)
    began = time.monotonic()
    with pytest.raises(BackendUnavailableError, match=r"(?s)s: die: the connection .* not known.*my last words"):
        bridge.call_tool("s", "die", {"text": str(int(number))})
    assert time.monotonic() - began < 1.0
    assert echo(bridge) == "works"
    assert bridge.status()["s"].starts == 2


def test_a_server_that_died_while_nobody_called_is_started_again_by_the_next_call(bridge_to, raw):
    bridge = bridge_to({"s": raw()})
    echo(bridge)
    pid = bridge.status()["s"].pid
    exited = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    assert echo_after(bridge, exited) == "works"


def echo_after(bridge, exited) -> str:
    select.select([exited], [], [], 10)
    os.close(exited)
    for _ in range(2):  # the death may be seen by this very call, or before it
        try:
            return echo(bridge)
        except BackendUnavailableError:
            continue
    raise AssertionError("it did not come back")


def test_a_stopped_server_holds_nobody_longer_than_the_calls_timeout_and_close_ends_it(bridge_to, raw):
    bridge = bridge_to({"s": raw()})
    echo(bridge)
    pid = bridge.status()["s"].pid
    began = time.monotonic()
    with pytest.raises(ToolTimeoutError):
        bridge.call_tool("s", "stop", timeout=0.3)
    assert time.monotonic() - began < 1.0
    began = time.monotonic()
    bridge.close()
    assert time.monotonic() - began < 6.0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_server_that_ends_at_once_says_why(bridge_to, raw):
    with pytest.raises(
        BackendUnavailableError, match=r"(?s)'s' could not be started: it ended.*cannot find my settings"
    ):
        echo(bridge_to({"s": raw("exit")}))


def test_a_server_that_is_not_installed_is_named_with_what_to_do(bridge_to):
    with pytest.raises(BackendUnavailableError, match=r"there is no program 'no-such-server'.*install it"):
        echo(bridge_to({"s": {"command": "no-such-server"}}))


@pytest.mark.parametrize("path", [".:bin", "", ":/usr/bin", "bin:/usr/bin:"])
def test_a_name_is_no_program_of_whichever_folder_is_worked_in(bridge_to, tmp_path, monkeypatch, path):
    for tool in (tmp_path / "planted", tmp_path / "bin" / "planted"):
        tool.parent.mkdir(exist_ok=True)
        tool.write_text(f"#!/bin/sh\n: > {tmp_path}/ran\n")
        tool.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path)
    with pytest.raises(BackendUnavailableError, match="there is no program 'planted'"):
        echo(bridge_to({"s": {"command": "planted"}}))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("named", [False, True], ids=["", "in the folder that the entry names"])
def test_a_module_is_not_looked_for_in_whichever_folder_is_worked_in(bridge_to, tmp_path, monkeypatch, named):
    (tmp_path / "planted.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    entry = {"command": sys.executable, "args": ["-X", "dev", "-m", "planted"]}
    with pytest.raises(BackendUnavailableError):
        echo(bridge_to({"s": {**entry, "cwd": str(tmp_path)} if named else entry}))
    assert (tmp_path / "ran").exists() is named


def test_a_server_that_may_not_be_run_says_so(bridge_to, tmp_path):
    tool = tmp_path / "server"
    tool.write_text("#!/bin/sh\n")
    with pytest.raises(BackendUnavailableError, match="may not be run"):
        echo(bridge_to({"s": {"command": str(tool)}}))


def test_noise_on_stdout_is_kept_aside(bridge_to, raw, caplog):
    bridge = bridge_to({"s": raw("noise")})
    assert echo(bridge) == "works"
    assert "(stdout) Welcome!" in bridge.status()["s"].stderr
    assert not caplog.records


def test_bytes_that_are_no_utf8_cost_a_character_not_the_answer(bridge_to, raw):
    assert echo(bridge_to({"s": raw("bad-utf8")})) == "a\ufffdb"


def test_broken_tools_are_left_out_and_reported_and_the_others_work(bridge_to, raw):
    bridge = bridge_to({"s": raw("bad-schema")})
    listing = bridge.listing("s")
    assert "echo" in [tool["name"] for tool in listing.tools]
    left_out = dict(listing.left_out)
    assert set(left_out) == {"?", "odd", "later"}
    assert "inputSchema" in left_out["odd"]
    assert "not supported" in left_out["later"]
    assert echo(bridge) == "works"


def test_an_answer_that_is_no_mcp_is_a_failure_and_the_server_stays(bridge_to, raw):
    bridge = bridge_to({"s": raw("not-mcp")})
    for _ in range(4):
        with pytest.raises(ToolFailedError, match=r"s: echo: the answer of the server is no valid MCP: .*content"):
            echo(bridge)
    assert bridge.status()["s"].starts == 1


def test_twenty_megabytes_in_one_line_arrive(bridge_to, small_server):
    result = bridge_to({"s": small_server}).call_tool("s", "big", {"size": 20_000_000})
    assert len(result.content[0].text) == 20_000_000


def test_an_endless_line_ends_the_server_and_not_the_memory(bridge_to, raw):
    bridge = bridge_to({"s": raw()})
    with pytest.raises(BackendUnavailableError, match="A message of more than 67108864 bytes was not taken"):
        bridge.call_tool("s", "endless", timeout=30)
    assert echo(bridge) == "works"


def test_a_flood_on_stderr_holds_up_nothing_and_keeps_its_end(bridge_to, raw):
    bridge = bridge_to({"s": raw("loud")})
    for _ in range(5):
        assert echo(bridge) == "works"
    assert len(bridge.status()["s"].stderr) <= 8 * 1024


def test_a_server_that_never_answers_is_given_up_in_time_and_ended(bridge_to, raw):
    bridge = bridge_to({"s": replace(parse_entry("s", raw("silent")), start_timeout=0.4)})
    began = time.monotonic()
    with pytest.raises(BackendUnavailableError, match=r"it did not answer '[a-z/]+' within 0.4 s"):
        echo(bridge)
    assert time.monotonic() - began < 5.0


def test_a_server_that_ignores_its_end_is_ended_all_the_same(bridge_to, raw):
    bridge = bridge_to({"s": raw("stubborn")})
    echo(bridge)
    pid = bridge.status()["s"].pid
    began = time.monotonic()
    bridge.close()
    assert time.monotonic() - began < 6.0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_a_server_started_does_not_hide_its_death_and_ends_with_it(bridge_to, raw, tmp_path):
    bridge = bridge_to({"s": raw("child", CHILD=str(tmp_path / "pid"))})
    echo(bridge)
    child = os.pidfd_open(int((tmp_path / "pid").read_text()))
    with pytest.raises(BackendUnavailableError):
        bridge.call_tool("s", "die", {"text": "9"})
    bridge.close()
    assert select.select([child], [], [], 5)[0], "it still runs"
    os.close(child)


def test_a_server_that_keeps_dying_is_not_started_again_and_again(bridge_to, raw):
    bridge = bridge_to({"s": raw("exit")})
    for _ in range(3):
        with pytest.raises(BackendUnavailableError, match="cannot find my settings"):
            echo(bridge)
    with pytest.raises(BackendUnavailableError, match=r"failed 3 times in a row and is not started again for .* s"):
        echo(bridge)
    status = bridge.status()["s"]
    assert (status.state, status.starts) == ("waiting", 3)


def test_why_a_server_is_not_started_again_is_said_also_of_one_that_has_listed_its_tools(raw):
    def nobody(*_):
        return None

    async def told():
        server = Server(parse_entry("s", raw()), nobody, None, nobody, nobody)
        for _ in range(PATIENCE):
            life = Lifetime(server.config, server)
            life.problem = "it ended"
            server._ended(life)
        server.offers(Listing(), None)  # the next one, which was begun before that: it lists its tools, and is gone
        with pytest.raises(BackendUnavailableError, match=r"failed 3 times in a row .* The last time: it ended$"):
            server._start()

    asyncio.run(told())


def test_one_broken_server_costs_the_others_nothing(bridge_to, raw):
    bridge = bridge_to({"s": raw(), "hangs": raw("silent"), "gone": {"command": "no-such-server"}})
    found = bridge.listings(["s", "hangs", "gone"], timeout=2.0)
    assert found["s"].tools[0]["name"] == "echo"
    assert "has not answered within 2 s" in str(found["hangs"])
    assert "no program" in str(found["gone"])


def test_programs_are_started_a_few_at_a_time_and_those_that_failed_last(bridge_to, raw, tmp_path, monkeypatch):
    monkeypatch.setattr(_asking, "PROGRAMS_AT_ONCE", 1)
    monkeypatch.setattr(_asking.os, "cpu_count", lambda: 1)
    servers = {"hangs": {"command": "sleep", "args": ["60"]}, "s": raw()}
    first = bridge_to(servers, cache=tmp_path)
    found = first.listings(["hangs", "s"], timeout=0.5)
    assert "has not answered within 0.5 s" in str(found["hangs"])
    assert "has not been asked yet" in str(found["s"])
    assert first.status()["s"].starts == 0
    first.close()
    second = bridge_to(servers, cache=tmp_path)
    monkeypatch.setattr(_cache, "FAILURE_SECONDS", 0.0)  # the time for which it is left alone is over
    answered = threading.Event()
    second.on_change(lambda *_: answered.set())
    second.listings(["hangs", "s"], timeout=0.0)
    assert answered.wait(20)
    assert second.known_listing("s").tools[0]["name"] == "echo"
    assert second.status()["hangs"].tools is None


def test_a_server_that_was_ended_before_it_answered_is_asked_by_the_next_program(bridge_to, tmp_path):
    hangs = {"s": {"command": "sleep", "args": ["60"]}}
    bridge = bridge_to(hangs, cache=tmp_path)
    begun, listing = threading.Event(), bridge.listing
    bridge.listing = lambda name: begun.set() or listing(name)
    asking = threading.Thread(target=bridge.listings, args=(["s"], 30.0))
    asking.start()
    assert begun.wait(10)
    bridge.close()
    asking.join(10)
    assert not asking.is_alive()
    assert "not tried again" not in str(bridge_to(hangs, cache=tmp_path).listings(["s"], timeout=0.0)["s"])


def open_descriptors() -> Counter[str]:
    """How many descriptors of this process are pipes, sockets and so on; other threads may open one at any time."""
    kinds = Counter()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the one that reads the folder
            kinds[os.readlink(f"/proc/self/fd/{name}").partition("[")[0]] += 1
    return kinds


def test_no_descriptor_and_no_process_is_left_after_many_deaths(bridge_to, raw):
    bridge = bridge_to({"s": raw()})
    echo(bridge)
    before, processes = open_descriptors(), psutil.Process().children()
    for _ in range(5):
        with pytest.raises(BackendUnavailableError):
            bridge.call_tool("s", "die", {"text": "9"})
        assert echo(bridge) == "works"
    after, children = open_descriptors(), psutil.Process().children()
    assert not [kind for kind in after if after[kind] - before[kind] >= 5], "each death left one"
    assert len(children) == len(processes)
    assert children != processes, "the server never died"
