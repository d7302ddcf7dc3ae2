"""The command in this process, in a process of its own, and at a terminal."""

from __future__ import annotations

import functools
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from executor.cli import cli

ROOT = Path(__file__).parents[2]

TOOLS = '''
import os
import threading
from typing import Literal

from executor import current_call, hookimpl, tool
from executor.errors import BackendUnavailableError


def fail(args):
    raise ValueError("the disk is on fire")


def down(args):
    raise BackendUnavailableError("the server is away")


def change(args):
    return "changed"


def hold(args):
    """Until it is stopped."""
    call = current_call()
    call.on_cancel(lambda: os.write(2, b"told to stop\\n"))
    call.emit("holding\\n")
    call.wait()


def deaf(args):
    """It never ends, whatever it is told."""
    current_call().on_cancel(lambda: os.write(2, b"told to stop\\n"))
    current_call().emit("deaf\\n")
    threading.Event().wait()


def loud(args):
    print("a tool should not print")
    return "result"


def work(args):
    current_call().emit("working\\n")
    return {"done": True}


def command(args):
    current_call().emit("out\\nerr\\n")
    return {"exit_code": args.get("code", 0), "stdout": "out\\n", "stderr": "err\\n", "duration": 0.5}


def odd(args):
    value = {"nan": float("nan"), "bytes": b"b", ("a", 1): {1}, "fn": odd.__class__}
    value["itself"] = value
    return value


def steps(args):
    call = current_call()
    call.progress(1, 2, "half\\x1b[2Jway")
    call.emit("first\\n")
    call.progress(2, 2)
    return "done"


def escape(args):
    return "a\\x1b[31mb\\tc"


def typed(
    number: int,
    flag: bool = False,
    words: list[str] | None = None,
    name: str = "",
    level: Literal["low", "high"] = "low",
):
    return {"number": number, "flag": flag, "words": words, "name": name, "level": level}


@hookimpl
def executor_register_tools(register):
    reads = {"annotations": {"read_only": True}}
    anything = {"schema": {"type": "object"}}
    for fn in (fail, down, hold, deaf, escape, loud, odd, steps):
        register(fn.__name__, fn, **anything, **reads)
    register("change", change, **anything)
    register("work", work, **anything, **reads, auto_background=60.0)
    register("command", command, schema={"type": "object", "properties": {"code": {"type": "integer"}}}, **reads)
    register("typed", typed, **reads)
'''


@pytest.fixture
def run():
    """Run the command in this process: ``run("tools", "list")``."""

    def invoke(*words, stdin=None):
        return CliRunner().invoke(cli, words, input=stdin)

    return invoke


@pytest.fixture
def run_json(run):
    """Run the command with ``--json``, and give what it wrote to stdout."""

    def invoke(*words, stdin=None):
        result = run(*words, "--json", stdin=stdin)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return invoke


@pytest.fixture
def add_plugin(tmp_path, monkeypatch):
    """Install a plugin: ``add_plugin("name", source)``."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (site, ROOT, ROOT / "plugins"))))
    added = []

    def add(name, source):
        module = f"cli_test_{name}"
        added.append(module)
        (site / f"{module}.py").write_text(source)
        info = site / f"{module}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[executor]\n{name} = {module}\n")

    yield add
    for module in added:
        sys.modules.pop(module, None)


# What an installed plugin says about its own tools is not believed: a rule has to allow them.
READING = ("echo", "fail", "down", "hold", "deaf", "escape", "loud", "odd", "steps", "work", "command", "typed")


@pytest.fixture
def policy(tmp_path, monkeypatch):
    """Put a policy in force: ``policy({…})``, or a text, gives its file."""

    def write(content):
        path = tmp_path / "policy.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        path.chmod(0o600)
        monkeypatch.setenv("TOOLEXEC_PERMISSIONS", str(path))
        return path

    return write


@pytest.fixture
def tools(add_plugin, policy):
    """The tools above, of a plugin ``made``; a policy allows those that change nothing."""
    add_plugin("made", TOOLS)
    policy({"whitelist": {"tools": READING}})


@pytest.fixture
def process(tmp_path, monkeypatch):
    """Run the command in a process of its own, without a terminal."""
    if "PYTHONPATH" not in os.environ or str(ROOT) not in os.environ["PYTHONPATH"]:
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (ROOT, ROOT / "plugins"))))

    def start(*words, stdin="", **options):
        return subprocess.run(
            [sys.executable, "-m", "executor", *words],
            input=stdin, capture_output=True, text=True, check=False, cwd=tmp_path, **options,
        )  # fmt: skip

    return start


class Terminal:
    """The command at a terminal of its own."""

    def __init__(self, words, folder):
        self._master, slave = os.openpty()
        self.process = subprocess.Popen(
            words,
            preexec_fn=functools.partial(os.login_tty, slave),  # noqa: PLW1509 -- it makes four system calls, no more
            pass_fds=[slave],
            cwd=folder,
        )
        os.close(slave)
        self.shown = ""

    def read_until(self, text):
        """Read until *text* has been shown."""
        while text not in self.shown:
            if not self._read():
                pytest.fail(f"{text!r} was never shown, but {self.shown!r}")
        return self.shown

    def _read(self):
        try:
            data = os.read(self._master, 65536)
        except OSError:  # how Linux says that nobody has the terminal open any more
            return False
        self.shown += data.decode().replace("\r\n", "\n")
        return bool(data)

    def type(self, text):
        os.write(self._master, text.encode())

    def close(self):
        """Close the window."""
        os.close(self._master)
        self._master = None

    def end(self):
        """Read on to the end. Returns the exit code."""
        while self._master is not None and self._read():
            pass
        code = self.process.wait()
        if self._master is not None:
            self.close()
        return code

    def clean_up(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.end()


@pytest.fixture
def terminal(process, tmp_path):
    """Run the command at a terminal: ``terminal("call", …)``, or a shell line: ``terminal.shell(…)``."""
    started = []

    def start(*words):
        return shell_free([sys.executable, "-m", "executor", *words])

    def shell_free(words):
        started.append(Terminal(words, tmp_path))
        return started[-1]

    start.shell = lambda line: shell_free(["bash", "-c", line])
    yield start
    for one in started:
        one.clean_up()


@pytest.fixture
def watch():
    """Watch a process: ``watch(pid)`` gives a function that says whether it has ended (within so many seconds)."""
    open_ones = []

    def start(pid):
        fd = os.pidfd_open(pid)
        open_ones.append(fd)

        def ended(within=0.0):
            return bool(select.select([fd], [], [], within)[0])

        assert not ended()
        return ended

    yield start
    for fd in open_ones:
        os.close(fd)
