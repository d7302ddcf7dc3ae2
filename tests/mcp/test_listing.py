"""What servers offer: asked once, kept on disk, and asked again when they say that it changed."""

from __future__ import annotations

import threading
import time

import pytest

from executor.errors import BackendUnavailableError
from executor.mcp import Listing


def names(listing) -> list[str]:
    return [tool["name"] for tool in listing.tools]


def test_a_list_that_is_on_disk_starts_no_server(bridge_to, raw, tmp_path):
    first = bridge_to({"s": raw()}, cache=tmp_path)
    listing = first.listing("s")
    assert first.status()["s"].starts == 1
    second = bridge_to({"s": raw()}, cache=tmp_path)
    assert second.listing("s") == listing
    assert (second.status()["s"].starts, second.status()["s"].tools) == (0, len(listing.tools))


def test_another_configuration_is_another_server(bridge_to, raw, tmp_path):
    bridge_to({"s": raw()}, cache=tmp_path).listing("s")
    assert bridge_to({"s": raw("noise")}, cache=tmp_path).known_listing("s") is None


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"form": 0}', '{"form": 1, "tools": [3], "left_out": []}'])
def test_a_damaged_file_is_no_file(bridge_to, raw, tmp_path, damage):
    listing = bridge_to({"s": raw()}, cache=tmp_path).listing("s")
    (file,) = tmp_path.iterdir()
    file.write_text(damage)
    bridge = bridge_to({"s": raw()}, cache=tmp_path)
    assert bridge.known_listing("s") is None
    assert bridge.listing("s") == listing


def test_a_folder_that_cannot_be_written_costs_nothing_but_the_cache(bridge_to, raw, tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert names(bridge_to({"s": raw()}, cache=tmp_path / "file" / "mcp").listing("s"))


def test_a_forgotten_list_is_asked_for_again(bridge_to, raw, tmp_path):
    bridge_to({"s": raw()}, cache=tmp_path).listing("s")
    bridge = bridge_to({"s": raw()}, cache=tmp_path)
    bridge.forget("s")
    assert bridge.known_listing("s") is None


@pytest.mark.parametrize("era", ["today", "before"])
def test_a_changed_list_is_fetched_and_told(bridge_to, small_server, raw, tmp_path, era):
    bridge = bridge_to({"s": small_server if era == "today" else raw()}, cache=tmp_path)
    assert "fresh" not in names(bridge.listing("s"))
    told, news = threading.Event(), []

    def changed(server: str, listing: Listing) -> None:
        news.append((server, names(listing)))
        if "fresh" in names(listing):
            told.set()

    bridge.on_change(changed)
    bridge.call_tool("s", "grow", {"text": "fresh", "name": "fresh"})
    assert told.wait(10)
    assert news[-1][0] == "s"
    assert "fresh" in names(bridge.listing("s"))
    assert "fresh" in names(bridge_to({"s": small_server if era == "today" else raw()}, cache=tmp_path).listing("s"))


def test_a_listener_that_raises_does_not_keep_the_next_one_from_being_told(bridge_to, raw, tmp_path):
    bridge, told = bridge_to({"s": raw()}, cache=tmp_path), threading.Event()
    bridge.on_change(lambda *_: 1 / 0)
    bridge.on_change(lambda *_: told.set())
    bridge.listing("s")
    assert told.wait(10)


def test_a_server_that_is_wrongly_configured_costs_only_itself(bridge_to, raw):
    bridge = bridge_to({"good": raw(), "bad": {"command": "x", "env": {"A": "${NOT_SET_ANYWHERE}"}}})
    assert names(bridge.listing("good"))
    with pytest.raises(BackendUnavailableError, match="cannot be used: the variable NOT_SET_ANYWHERE is not set"):
        bridge.listing("bad")
    assert bridge.status()["bad"].state == "unusable"


def test_a_server_that_cannot_be_asked_is_not_asked_again_by_every_program(bridge_to, raw, tmp_path):
    first = bridge_to({"s": raw("exit"), "good": raw()}, cache=tmp_path)
    assert "cannot find my settings" in str(first.listings(["s", "good"], timeout=10)["s"])
    second = bridge_to({"s": raw("exit")}, cache=tmp_path)
    found = second.listings(["s"], timeout=10)["s"]
    assert "cannot find my settings" in str(found)
    assert "not tried again for some seconds" in str(found)
    assert second.status()["s"].starts == 0
    second.forget("s")
    second.listings(["s"], timeout=10)
    assert second.status()["s"].starts == 1


def test_that_a_server_was_late_stays_the_reason_after_it_was_ended(bridge_to, tmp_path):
    silent = {"command": "sleep", "args": ["60"]}
    bridge = bridge_to({"s": silent}, cache=tmp_path)
    late = str(bridge.listings(["s"], timeout=0.1)["s"])
    began = time.monotonic()
    bridge.close()
    assert time.monotonic() - began < 1.5, "what never said a word is not waited for"
    assert late == "The MCP server 's' has not answered within 0.1 s"
    assert late in str(bridge_to({"s": silent}, cache=tmp_path).listings(["s"], timeout=10)["s"])


def test_a_server_that_answers_late_is_there_when_it_does(bridge_to, raw, tmp_path):
    bridge, told = bridge_to({"s": raw()}, cache=tmp_path), threading.Event()
    bridge.on_change(lambda *_: told.set())
    assert isinstance(bridge.listings(["s"], timeout=0)["s"], BackendUnavailableError)
    assert told.wait(10)
    assert names(bridge.listing("s"))


def test_a_configuration_does_not_show_its_secrets():
    from executor.mcp import parse_entry

    entry = {"command": "x", "args": ["--key=k-1"], "env": {"A": "${SECRET}"}}
    assert not any(value in repr(parse_entry("s", entry, variables={"SECRET": "s-2"})) for value in ("k-1", "s-2"))


def test_every_public_name_is_there():
    import executor.mcp

    assert all(getattr(executor.mcp, name) is not None for name in executor.mcp.__all__)
    assert set(executor.mcp.__all__) <= set(dir(executor.mcp))
    with pytest.raises(AttributeError, match="no attribute 'Bridge'"):
        _ = executor.mcp.Bridge
