from __future__ import annotations

import importlib.util
import json
import socket
import threading
from pathlib import Path

import pytest
import uvicorn

from executor_openapi import Api
from executor_openapi._provider import OpenAPIProvider

_spec = importlib.util.spec_from_file_location("openapi_service", Path(__file__).with_name("service.py"))
service_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(service_module)


@pytest.fixture
def service():
    """The service, under uvicorn on a port of the loopback interface."""
    made = service_module.Service()
    listening = socket.create_server(("127.0.0.1", 0))  # connections queue up until uvicorn takes them
    config = uvicorn.Config(made.app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    made.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    yield made
    server.should_exit = True
    thread.join(10)
    listening.close()


@pytest.fixture
def document(service, tmp_path):
    """The description of the service, as a file."""
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(service_module.description(f"{service.url}/v1")))
    return path


@pytest.fixture
def provider_of():
    """Makes providers of one service, called ``pets``, and closes them."""
    made = []

    def make(document, **options):
        made.append(OpenAPIProvider({"pets": Api.of({"document": str(document), **options})}))
        return made[-1]

    yield make
    for provider in made:
        provider.close()


@pytest.fixture
def pets(provider_of, document):
    """The provider of the service."""
    return provider_of(document)
