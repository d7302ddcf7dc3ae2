"""Our own file of servers: written as a whole, and never with a secret in it."""

from __future__ import annotations

import errno
import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from executor.mcp import Catalogue, masked, without_secrets

SECRETS = {
    "command": "x",
    "args": ["--api-key", "k-1", "--token=t-2", "-v", "plain"],
    "env": {"GITHUB_TOKEN": "ghp-3", "HOME": "/home/ada", "MY_SECRET": "${MY_SECRET}"},
    "headers": {"Authorization": "Bearer b-4", "X-Api-Key": "a-5", "Accept": "*/*"},
}
VALUES = ("k-1", "t-2", "ghp-3", "b-4", "a-5")


@pytest.fixture
def catalogue(tmp_path):
    return Catalogue(tmp_path / "deep" / "mcp.json")


def test_entries_are_added_replaced_and_removed(catalogue):
    assert catalogue.entries() == {}
    catalogue.put({"a": {"command": "x"}, "b": {"url": "http://h"}})
    catalogue.put({"a": {"command": "y"}})
    assert catalogue.entries() == {"a": {"command": "y"}, "b": {"url": "http://h"}}
    assert catalogue.remove("b")
    assert not catalogue.remove("b")
    assert json.loads(catalogue.path.read_text()) == {"mcpServers": {"a": {"command": "y"}}}


def test_the_file_is_replaced_and_leaves_nothing_beside_it(catalogue):
    catalogue.put({"a": {"command": "x"}})
    first = catalogue.path.stat().st_ino
    catalogue.put({"b": {"command": "x"}})
    assert catalogue.path.stat().st_ino != first
    assert sorted(path.name for path in catalogue.path.parent.iterdir()) == [".mcp.json.lock", "mcp.json"]
    assert catalogue.path.stat().st_mode & 0o077 == 0


def test_who_adds_and_removes_at_the_same_time_loses_nothing(catalogue):
    def work(name):
        own = Catalogue(catalogue.path)  # as another process would have its own
        for number in range(20):
            own.put({f"{name}{number}": {"command": name}})
            assert own.remove(f"{name}{number}")
            own.put({f"{name}{number}": {"command": name}})

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, "ab"))
    assert len(catalogue.entries()) == 40


def test_of_two_that_add_the_same_name_one_is_told_so(catalogue):
    def add(command):
        return Catalogue(catalogue.path).put({"a": {"command": command}, command: {"command": "z"}}, replace=False)

    with ThreadPoolExecutor(2) as pool:
        taken = dict(zip("xy", pool.map(add, "xy"), strict=True))
    (won,) = (command for command, names in taken.items() if not names)
    assert catalogue.entries() == {"a": {"command": won}, won: {"command": "z"}}
    assert sorted(taken.values()) == [[], ["a"]]


def test_what_was_written_is_on_the_disk_before_the_old_file_goes(catalogue, monkeypatch):
    catalogue.put({"a": {"command": "x"}})

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space.*mcp\.json"):
        catalogue.put({"b": {"command": "x"}})
    assert catalogue.entries() == {"a": {"command": "x"}}
    assert sorted(path.name for path in catalogue.path.parent.iterdir()) == [".mcp.json.lock", "mcp.json"]


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "x", "env": {"GITHUB_TOKEN": "ghp"}},
        {"command": "x", "args": ["--api-key", "k"]},
        {"command": "x", "args": ["--api-key=k"]},
        {"url": "http://h", "headers": {"Authorization": "Bearer b"}},
    ],
)
def test_a_secret_in_the_clear_is_not_stored(catalogue, entry):
    with pytest.raises(ValueError, match=r"looks like a secret .* write \$\{\w+\}"):
        catalogue.put({"a": entry})
    assert not catalogue.path.exists()


def test_secrets_become_variables(catalogue):
    entry, names = without_secrets("my-server", SECRETS)
    assert names == [
        "MY_SERVER_API_KEY",
        "MY_SERVER_TOKEN",
        "GITHUB_TOKEN",
        "MY_SERVER_AUTHORIZATION",
        "MY_SERVER_X_API_KEY",
    ]
    assert entry["args"] == ["--api-key", "${MY_SERVER_API_KEY}", "--token=${MY_SERVER_TOKEN}", "-v", "plain"]
    assert entry["headers"]["Authorization"] == "Bearer ${MY_SERVER_AUTHORIZATION}"
    assert not any(value in json.dumps(entry) for value in VALUES)
    catalogue.put({"a": entry})
    assert without_secrets("x", entry)[1] == []


def test_nothing_secret_is_shown():
    shown = json.dumps(masked({**SECRETS, "url": "https://ada:pw@h/mcp?key=q-6", "password": "p-7"}))
    assert not any(value in shown for value in (*VALUES, "pw@", "q-6", "p-7", "/home/ada"))
    assert "${MY_SECRET}" in shown


def test_other_keys_and_links_stay(catalogue, tmp_path):
    real = tmp_path / "dotfiles.json"
    real.write_text('{"mcpServers": {}, "$schema": "mine"}')
    catalogue.path.parent.mkdir()
    catalogue.path.symlink_to(real)
    catalogue.put({"a": {"command": "x"}})
    assert json.loads(real.read_text()) == {"mcpServers": {"a": {"command": "x"}}, "$schema": "mine"}
    assert catalogue.path.is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
def test_what_is_no_regular_file_is_not_waited_for(catalogue):
    catalogue.path.parent.mkdir()
    os.mkfifo(catalogue.path)
    for change in (lambda: catalogue.put({"a": {"command": "x"}}), lambda: catalogue.remove("a")):
        with pytest.raises(ValueError, match="no regular file"):
            change()


def test_a_file_with_a_mark_of_its_byte_order_is_read(catalogue):
    catalogue.path.parent.mkdir()
    catalogue.path.write_text('{"mcpServers": {"a": {"command": "x"}}}', encoding="utf-8-sig")
    catalogue.put({"b": {"command": "y"}})
    assert [*catalogue.entries()] == ["a", "b"]


def test_a_broken_file_is_not_overwritten(catalogue):
    catalogue.path.parent.mkdir()
    catalogue.path.write_text("{")
    with pytest.raises(ValueError, match="line 1"):
        catalogue.put({"a": {"command": "x"}})
    assert catalogue.path.read_text() == "{"
