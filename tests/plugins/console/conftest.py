"""What the tests of the console share: a browser, consoles and assistants as processes, and pages."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from functools import cached_property
from pathlib import Path

import pytest

from tests.plugins.console.client import Client

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
LIMIT = 30.0  # seconds in which what is waited for has to come, on the busiest machine
POLICY = {
    "version": "1.2",
    "defaultPolicy": "ask",
    "whitelist": {
        "patterns": ["git status *", "ls *"],
        "tools": ["build", "deploy", "fillIn", "login", "getBackgroundOutput"],
    },
    "blacklist": {"patterns": ["git push --force *", "rm -rf /*"]},
}


@pytest.fixture(scope="module")
def browser():
    """A Chromium of the system, without a window."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        sync_api.expect.set_options(timeout=LIMIT * 1000)
        yield made
        made.close()


class Process:
    """A process that is spoken to in lines."""

    def __init__(self, *words, cwd, **options):
        paths = os.pathsep.join([str(ROOT), str(ROOT / "plugins"), str(HERE)])
        env = {**os.environ, "PYTHONPATH": paths, "PYTHONWARNINGS": "error", **options.pop("env", {})}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.process = subprocess.Popen([sys.executable, *words], cwd=cwd, env=env, text=True, **{**pipes, **options})
        self.lines = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def line(self):
        """The next line; fails when there is none."""
        line = self.lines.get(timeout=LIMIT)
        assert line is not None, "the process has ended"
        return line

    def rest(self):
        """What it still says until it ends."""
        return list(iter(lambda: self.lines.get(timeout=LIMIT), None))

    def close(self):
        self.process.kill()
        self.process.wait()
        self._thread.join(LIMIT)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


class Assistant(Process):
    """`asker.py`, with what its calls came to."""

    def __init__(self, cwd, **options):
        super().__init__(str(HERE / "asker.py"), cwd=cwd, **options)
        self.pid = self.process.pid
        self._told = {}

    def call(self, number, tool, args=None, **more):
        self.process.stdin.write(json.dumps({"id": number, "tool": tool, "args": args or {}, **more}) + "\n")
        self.process.stdin.flush()

    def result(self, number):
        while number not in self._told:
            told = json.loads(self.line())
            self._told[told["id"]] = told
        return self._told.pop(number)


class Console(Process):
    """`toolexec console --print`, and its link."""

    def __init__(self, cwd, program=None, **options):
        words = ["-m", "executor"] if program is None else [program]
        super().__init__(*words, "console", "--print", cwd=cwd, **options)

    @cached_property
    def link(self):
        """What it has printed; it is ready then."""
        said = []
        while not (said and said[-1].startswith("http")):
            line = self.lines.get(timeout=LIMIT)
            assert line is not None, f"it has ended, with {self.process.wait()}, and said {said}"
            said.append(line)
        return said[-1]

    @property
    def url(self):
        return self.link.partition("/#")[0]

    @property
    def code(self):
        return self.link.partition("/#")[2]


@pytest.fixture
def started():
    """Ends what a test has started."""
    made = []
    yield made
    for each in made:
        each.close()


@pytest.fixture
def project(own_folders):
    """A folder to work in, with a policy and a ledger."""
    return prepared(own_folders)


def prepared(home):
    folder = home / "config" / "toolexec"
    folder.mkdir(parents=True)
    (folder / "permissions.json").write_text(json.dumps(POLICY))
    (folder / "permissions.json").chmod(0o600)
    (folder / "config.toml").write_text('ledger = "calls.jsonl"\n')
    made = home / "work" / "shop"
    (made / ".git").mkdir(parents=True)
    return made


@pytest.fixture
def console(project, started):
    """Starts consoles."""

    def start(**options):
        started.append(Console(project, **options))
        return started[-1]

    return start


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A console and an assistant that all tests of a file share."""
    home = tmp_path_factory.mktemp("shared")
    env = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "XDG_STATE_HOME": str(home / "state")}
    folder = prepared(home)
    made = Console(folder, env=env), Assistant(folder, env=env)
    yield made
    for each in made:
        each.close()


@pytest.fixture(scope="module")
def client(shared):
    """A page without a browser, of the console that is shared."""
    return Client(shared[0])


@pytest.fixture
def assistant(project, started):
    """Starts assistants."""

    def start():
        started.append(Assistant(project))
        return started[-1]

    return start


def new_page(browser, link, *, width=1280, height=900, scheme="light", wait=True):
    """A page in a context of its own, with what went wrong in it as `problems`."""
    size = {"width": width, "height": height}
    page = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce").new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda said: said.type == "error" and page.problems.append(said.text))
    page.goto(link)
    if wait:
        page.locator("#state.good").wait_for(timeout=LIMIT * 1000)
    return page


@pytest.fixture
def opened(browser):
    """Opens a page by a link: ``opened(link, width=1280)``."""
    pages = []

    def go(link, **options):
        pages.append(new_page(browser, link, **options))
        return pages[-1]

    yield go
    for page in pages:
        page.context.close()


@pytest.fixture(scope="module")
def common(shared, browser):
    """The console and the assistant that are shared, and a page."""
    page = new_page(browser, shared[0].link)
    yield *shared, page
    page.context.close()


@pytest.fixture
def scene(console, assistant, opened):
    """A console, an assistant, and a page."""
    started = console(), assistant()
    return *started, opened(started[0].link)
