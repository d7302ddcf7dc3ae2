"""The server of the tests over HTTP: port and file of tokens are given; prints its URL, and ends with its stdin."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from server import made

from executor.mcp import Tokens, serve_http

executors = {}


def of(principal):
    executors[principal] = made(f"serve:{principal}")
    return executors[principal]


def end_with_stdin():
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


threading.Thread(target=end_with_stdin, daemon=True).start()
serve_http(
    of, tokens=Tokens.of_file(Path(sys.argv[2])), port=int(sys.argv[1]), ready=lambda url: print(url, flush=True)
)
for executor in executors.values():
    executor.shutdown(cancel=True, timeout=20)
