"""Serves the suite's fixtures on a free port, and prints where."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import uvicorn

sys.path.insert(0, str(Path(__file__).parent))

import fixtures

from executor.mcp import ServeOptions, http_app

app = http_app(fixtures.executor(), ServeOptions(requires=fixtures.REQUIRES, resources=fixtures.Documents()))
with socket.create_server(("127.0.0.1", 0)) as listening:
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])
