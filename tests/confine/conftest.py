"""A small world for commands in boxes: a home with secrets, a project, a folder outside, and somebody who listens."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pytest

from executor.confine import Profile, carried, launcher
from executor.confine._start import trials

ROOT = Path(__file__).parents[2]
NOBODY = 65534
PYTHON = "/usr/bin/python3"  # what an ordinary user can run too, wherever the suite's own is installed


def need(*mechanisms):
    """Skip, with the reason, where a box cannot be had."""
    for mechanism in mechanisms:
        if problem := trials.problem(mechanism):
            pytest.skip(problem)


@pytest.fixture
def landlock():
    need("landlock")


@pytest.fixture
def bubblewrap():
    need("bubblewrap")


def as_nobody() -> list[str]:
    """What runs a command as an ordinary user; skips where that cannot be."""
    if os.getuid() != 0:
        pytest.skip("only root can run a command as another user; the other form of the test is an ordinary user's")
    if shutil.which("setpriv") is None or not os.access(PYTHON, os.X_OK):
        pytest.skip(f"setpriv or {PYTHON} is missing")
    front = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    look = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import executor.confine._start, tomllib"
    if subprocess.run([*front, PYTHON, "-I", "-c", look], capture_output=True, check=False).returncode:
        pytest.skip("an ordinary user cannot read this package, or has no Python 3.11")
    return front


@dataclass
class World:
    """Where everything is, and who runs commands in it."""

    base: Path
    front: list[str]
    python: str
    heard: list[str] = field(default_factory=list)
    told: dict = field(default_factory=dict)
    inherited: tuple[int, ...] = ()

    @property
    def home(self):
        return self.base / "home"

    @property
    def project(self):
        return self.base / "project"

    @property
    def outside(self):
        return self.base / "outside"

    def profile(self, name, **more):
        project = self.project
        asked = {
            "unreadable": (f"{project}/.env",),
            "unwritable": tuple(
                f"{project}/{path}" for path in (".git/hooks/", ".git/config", ".env", ".toolexec/", "deep/kept/file")
            ),
        }
        return Profile(name, str(project), **{**asked, **more})

    def environment(self, **more):
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", **more}

    def command(self, profile, *command):
        """*command* in the box of *profile*, as this world's user."""
        inside = self.launcher(profile)
        return [*self.front, *inside, *command]

    def launcher(self, profile):
        """What this world's user would make of *profile*."""
        with patch.dict(os.environ, self.environment(), clear=True):
            inside = launcher(profile)
        inside[0] = self.python
        return inside

    def run(self, profile, *command, **more):
        env = self.environment(**more.pop("env", {}))
        return subprocess.run(
            self.command(profile, *command),
            cwd=more.pop("cwd", self.project),
            env=carried(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **more,
        )

    def shell(self, profile, line, **more):
        return self.run(profile, "bash", "-c", line, **more)

    def give_away(self):
        """Everything in it belongs to the user who runs commands."""
        if self.front:
            for path in [self.base, *self.base.rglob("*")]:
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    def state(self, *folders):
        """All that is in *folders*, but for when it was read, and but for what the boxes keep."""
        found = {}
        for folder in folders:
            for path in sorted(folder.rglob("*")):
                if "toolexec/boxes" in str(path) or path.name in ("toolexec", "state", ".local"):
                    continue
                look = path.lstat()
                content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
                changed = 0 if path.is_dir() else look.st_mtime_ns  # what comes and goes in it is seen by itself
                found[str(path)] = (look.st_mode, look.st_uid, look.st_gid, changed, content, tuple(os.listxattr(path)))
        return found


@pytest.fixture(params=["self", "user"])
def world(request, own_folders):
    front = as_nobody() if request.param == "user" else []
    base = Path(tempfile.mkdtemp(prefix="toolexec-world-"))
    base.chmod(0o755)
    world = World(base, front, PYTHON if front else sys.executable)
    files = {
        "home/.ssh/id_rsa": "SECRET key",
        "home/.Xauthority": "SECRET cookie",
        "home/.bashrc": "alias ll=ls\n",
        "home/.local/state/toolexec/tasks.db": "SECRET tasks",
        "project/.env": "TOKEN=SECRET\n",
        "project/.git/config": "[core]\n\trepositoryformatversion = 0\n",
        "project/.git/HEAD": "ref: refs/heads/main\n",
        "project/.git/hooks/sample": "",
        "project/deep/kept/file": "kept",
        "project/src/a.txt": "a\n",
        "outside/file": "outside",
        "outside/file2": "2",
        "outside/file3": "3",
    }
    for name, text in files.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    world.give_away()
    yield world
    shutil.rmtree(base, ignore_errors=True)


@pytest.fixture
def listening(world):
    """Sockets of everything that listens on a desktop, bound by the test; ``world.heard`` is what arrived."""
    with contextlib.ExitStack() as stack:
        kinds = {
            "tcp": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            "udp": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            "docker": (socket.AF_UNIX, socket.SOCK_STREAM, str(world.outside / "docker.sock")),
            "bus": (socket.AF_UNIX, socket.SOCK_STREAM, f"\0toolexec-bus-{world.base.name}"),
            "log": (socket.AF_UNIX, socket.SOCK_DGRAM, str(world.outside / "log")),
            "giver": (socket.AF_UNIX, socket.SOCK_STREAM, str(world.outside / "giver")),
        }
        for name, (family, kind, address) in kinds.items():
            bound = stack.enter_context(socket.socket(family, kind))
            bound.bind(address)
            told = bound.getsockname()
            world.told[name] = told[1] if family == socket.AF_INET else address.lstrip("\0")
            if family == socket.AF_UNIX and not address.startswith("\0"):
                os.chmod(address, 0o777)
            if kind == socket.SOCK_STREAM:
                bound.listen()
            thread = threading.Thread(target=_hear, args=(world, name, bound, kind))
            thread.start()
            stack.callback(thread.join)
            stack.callback(_hang_up, bound, kind)
        yield world


def _hear(world, name, bound, kind):
    while True:
        try:
            if kind == socket.SOCK_DGRAM:
                if bound.recv(100) == b"":
                    return
                world.heard.append(name)
                continue
            made, _ = bound.accept()
        except OSError:
            return
        world.heard.append(name)
        with made:
            if name == "giver":
                descriptor = os.open(world.outside / "file", os.O_WRONLY)
                with contextlib.suppress(OSError):
                    socket.send_fds(made, [b"take"], [descriptor])
                os.close(descriptor)
            made.settimeout(5)
            with contextlib.suppress(OSError):
                made.recv(10)  # who sends must not find the line cut


def _hang_up(bound, kind):
    address = bound.getsockname()
    if kind == socket.SOCK_DGRAM:  # shutdown wakes no receiver that is not connected
        with socket.socket(bound.family, kind) as last:
            last.sendto(b"", address)
        return
    bound.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def victim(world):
    """A process of the same user, outside."""
    command = [*world.front, "sleep", "600"]
    with subprocess.Popen(command, cwd=world.outside, env=world.environment(GH_TOKEN="SECRET")) as process:
        world.told["victim"] = process.pid
        yield process
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)


@pytest.fixture
def attacks(world):
    """Runs `attacks.py` in a box: ``attacks(profile, *names)`` gives how each attack ended."""

    def run(profile, *names):
        told = world.base / "world.json"
        script = world.base / "attacks.py"
        shutil.copy(Path(__file__).with_name("attacks.py"), script)
        wide = world.launcher(Profile("open", str(world.project)))
        paths = {name: str(getattr(world, name)) for name in ("home", "project", "outside")}
        boxed = {"read": "landlock", "open": "none"}.get(profile.name, "bubblewrap")
        told.write_text(json.dumps({**paths, **world.told, "boxed": boxed, "launcher": wide[:-1]}))
        env = {"GH_TOKEN": "SECRET-TOKEN", "SSH_AUTH_SOCK": "/nowhere"}
        if profile.name == "open":
            env["TMPDIR"] = str(world.home)
        done = world.run(profile, PYTHON, str(script), str(told), *names, env=env, pass_fds=world.inherited)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture
def inherited(world):
    """Descriptors that a careless program leaves open for its children: a file and a folder outside."""
    descriptors = (os.open(world.outside / "file", os.O_WRONLY), os.open(world.outside, os.O_RDONLY))
    for descriptor in descriptors:
        os.set_inheritable(descriptor, True)
    world.inherited = descriptors
    yield
    for descriptor in descriptors:
        os.close(descriptor)


@pytest.fixture
def held(tmp_path):
    """Whether nobody holds ``held`` open for reading any more, once that is so; within ten seconds."""
    path = tmp_path / "held"
    os.mkfifo(path)
    first, ours = os.open(path, os.O_RDONLY | os.O_NONBLOCK), os.open(path, os.O_WRONLY)
    os.close(first)

    def let_go():
        ends = select.poll()
        ends.register(ours, select.POLLERR)
        return bool(ends.poll(10_000))

    yield let_go
    os.close(ours)
