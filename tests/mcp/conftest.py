"""Real servers for the tests of MCP."""

from __future__ import annotations

import importlib.util
import sys
import threading
from pathlib import Path

import pytest

from executor.mcp import MCPBridge

HERE = Path(__file__).parent
SMALL = {"command": sys.executable, "args": [str(HERE / "server.py")]}


@pytest.fixture
def raw():
    """Gives the entry of a server without SDK that does something wrong; see raw_server.py."""

    def entry(*wrong: str, **env: str) -> dict:
        return {"command": sys.executable, "args": ["-S", str(HERE / "raw_server.py"), *wrong], "env": env}

    return entry


@pytest.fixture
def bridge_to():
    """Makes bridges, and closes them."""
    made = []

    def make(servers, **options):
        options.setdefault("cache", None)
        bridge = MCPBridge(servers, **options)
        made.append(bridge)
        return bridge

    yield make
    threads = [threading.Thread(target=bridge.close) for bridge in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.fixture(scope="session")
def small_server():
    """The entry of the small server of the current revision."""
    return SMALL


@pytest.fixture(scope="session")
def authority():
    """authority.py, whose SDK few tests need."""
    spec = importlib.util.spec_from_file_location("mcp_authority", HERE / "authority.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def world(own_folders, authority):
    """The authority, and a server (`world.config`) that takes its tokens only."""
    with authority.guarded() as made:
        yield made


@pytest.fixture
def browser(authority):
    """What a person does who is sent to a page."""
    return authority.browser
