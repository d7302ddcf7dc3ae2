"""Servers over HTTP for tests: an application under uvicorn on the loopback interface."""

from __future__ import annotations

import socket
import threading

import uvicorn


class Served:
    """
    Attributes:
        url: Where it is.
    """

    def __init__(self, app=None, lifespan="on", port=0):
        self._listening = socket.create_server(("127.0.0.1", port))  # connections queue up until uvicorn takes them
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        if app is not None:
            self.start(app, lifespan)

    def start(self, app, lifespan="on"):
        config = uvicorn.Config(app, log_level="critical", lifespan=lifespan, timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listening]}, daemon=True)
        self._thread.start()

    def stop(self):
        self._server.should_exit = True
        self._thread.join(10)
        self._listening.close()
