"""
Fixtures for the whole suite, and the check that no test leaves threads or processes behind.

Programs from npm and PyPI that tests run for real are installed from lists, each once, into a folder outside the
repository: ``TOOLEXEC_TEST_CACHE``, or ``toolexec-tests`` in the user's cache. Workers and runs that need the same list
wait for one another. What cannot be installed skips its tests with the reason, all but the first at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import hashlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path

import pytest

from executor import ownfiles
from executor.calls._above import forget_caller
from executor.tasks import _thread

pytest_plugins = ["executor.testing"]

INSTALL_LIMIT = 240.0  # seconds for the installation of one list
RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())  # the same in all workers of a run
OUTSIDE = dict(os.environ)  # as it is before tests get a home folder of their own

_thread.IDLE = 0.05  # the end of a test that has used a store would wait for its thread, which is idle for so long

# Whoever starts the suite in the background of a script, or under nohup, has these signals ignored, and programs that
# the tests start would inherit that. A handler is not inherited: they can be interrupted, and this process cannot.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)


# Folders and files whose tests install something, drive browsers or wait for whole programs: few, and each takes long.
LENGTHY = (
    "packaging", "models/test_vendors.py", "integration", "conformance", "mutation", "plugins/console", "serving",
    "test_benchmarks.py", "engines", "examples", "first_touch", "cli", "tasks",
)  # fmt: skip


def _turn(item):
    """Of tests that several processes share, the lengthy ones come first: nobody waits for the last of them alone."""
    path = item.path.relative_to(Path(__file__).parent).as_posix()
    return next((turn for turn, name in enumerate(LENGTHY) if path.startswith(name)), len(LENGTHY))


def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        items.sort(key=_turn)
    for item in items:
        if "long" not in config.option.markexpr and item.get_closest_marker("long") is not None:
            item.add_marker(pytest.mark.skip(reason="long: run with -m long"))
        if {"npm_folder", "pip_folder"} & set(item.fixturenames) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(INSTALL_LIMIT + 60))


def pytest_collection_finish(session):
    """What is there before the first test is not looked through after it."""
    gc.collect()
    gc.freeze()


def _ours() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("executor-")]


def _children() -> set[int]:
    if not Path("/proc/thread-self/children").exists():  # not Linux
        return {child.pid or 0 for child in multiprocessing.active_children()}
    while True:
        # A thread that ends meanwhile leaves its children to another one, which may have been looked at before.
        with contextlib.suppress(OSError):
            return {
                int(pid)
                for thread in os.listdir("/proc/self/task")
                for pid in Path(f"/proc/self/task/{thread}/children").read_text(encoding="ascii").split()
            }


def _seen(pid: int) -> str:
    """A process as it is known to the system, for somebody who wonders whose it is."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")[:120]
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return f"{pid}, which is gone by now"
    return f"{pid} {command!r}\n{status}"


@pytest.fixture
def often_switching():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(autouse=True)
def nothing_left_behind(no_caller):
    """Fails a test after which a thread of ours, or a child process, is still there."""
    before, children = set(_ours()), _children()
    yield
    gc.collect()
    gc.freeze()  # what is left is not looked through again: of all tests together that was a third of the time
    if (boxes := sys.modules.get("executor.confine._start")) is not None:
        boxes._slots.close()  # its threads are kept for the next command
    left = []
    for thread in _ours():
        if thread not in before:
            thread._started.wait(5)  # one that the collector has begun may not be there yet
            thread.join(5)
            if thread.is_alive():
                frame = sys._current_frames().get(thread.ident)
                left.append(f"{thread.name}\n{''.join(traceback.format_stack(frame)) if frame else ''}")
    assert not left, "threads left behind:\n" + "\n".join(left)
    left = [_seen(pid) for pid in _children() - children]
    assert not left, "processes left behind:\n" + "\n".join(left)


@pytest.fixture(autouse=True)
def no_caller():
    """What a test runs is not below the calls, and the stores, that another test made in this process."""
    before = _owners()
    yield
    forget_caller()
    _give_back(_owners() - before)


def _owners() -> set[tuple[int, str]]:
    """The locks of owners of tasks that this process holds: their descriptors, with their files."""
    held = set()
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # closed meanwhile
                if "/owners/" in (file := os.readlink(f"/proc/self/fd/{name}")):
                    held.add((int(name), file))
    return held


def _give_back(locks: set[tuple[int, str]]) -> None:
    """Let go of what a test has left to this process; the descriptors stay open, for whoever closes them yet."""
    with open(os.devnull, "rb") as nothing:
        for descriptor, _ in locks:
            os.dup2(nothing.fileno(), descriptor, inheritable=False)


@pytest.fixture(autouse=True)
def no_own_files():
    """What one test has kept for toolexec is not kept in the next."""
    yield
    ownfiles._kept.clear()


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory, monkeypatch):
    """No test reads or writes the user's own configuration and state."""
    home = tmp_path_factory.mktemp("home")
    for variable, folder in (
        ("HOME", home),
        ("XDG_CONFIG_HOME", home / "config"),
        ("XDG_STATE_HOME", home / "state"),
        ("XDG_CACHE_HOME", home / "cache"),
        ("XDG_DATA_HOME", home / "data"),
    ):
        monkeypatch.setenv(variable, str(folder))
    for variable in [name for name in os.environ if name.startswith("TOOLEXEC_")]:
        monkeypatch.delenv(variable)
    return home


def _cache() -> Path:
    named = OUTSIDE.get("TOOLEXEC_TEST_CACHE")
    if named:
        return Path(named)
    try:
        return Path.home() / ".cache" / "toolexec-tests"
    except RuntimeError:  # neither HOME nor an entry for this user
        return Path(tempfile.gettempdir()) / f"toolexec-tests-{os.getuid()}"


CACHE = _cache()


@contextlib.contextmanager
def _locked(path: Path):
    """Held by one process at a time; the end of the process releases it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _installed(listed: Path, install, version: str = "") -> Path:
    """The folder into which *install* has put what the file *listed* names; skips the test where it cannot be had."""
    digest = hashlib.sha256(listed.read_bytes() + version.encode()).hexdigest()[:12]
    folder = CACHE / f"{listed.stem}-{digest}"
    failed = folder.with_name(f"{folder.name}.failed")
    with _locked(folder.with_name(f"{folder.name}.lock")):
        if (folder / "complete").exists():
            return folder
        run, _, why = failed.read_text("utf-8").partition("\n") if failed.exists() else ("", "", "")
        if run != RUN:
            why = _attempt(folder, install)
        if why:
            failed.write_text(f"{RUN}\n{why}", "utf-8")
            pytest.skip(f"what {listed.parent.name}/{listed.name} lists cannot be installed: {why}")
        failed.unlink(missing_ok=True)
        return folder


def _attempt(folder: Path, install) -> str:
    """Why it failed; empty when it did not."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        install(folder)
    except subprocess.CalledProcessError as error:
        shutil.rmtree(folder, ignore_errors=True)
        return " ".join(error.stderr.split())[:300] or str(error)
    except (OSError, subprocess.TimeoutExpired) as error:
        shutil.rmtree(folder, ignore_errors=True)
        return str(error)
    (folder / "complete").touch()
    return ""


def _run(*command: object) -> None:
    words = [str(part) for part in command]
    subprocess.run(words, check=True, env=OUTSIDE, capture_output=True, text=True, timeout=INSTALL_LIMIT)


@pytest.fixture(scope="session")
def npm_folder():
    """Installs a ``package.json``: ``npm_folder(path)`` gives the folder that holds its ``node_modules``."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("node is not installed")

    def install(listed: Path, folder: Path) -> None:
        shutil.copy(listed, folder / "package.json")
        # Without a registry it is to say so soon: by itself npm tries for minutes.
        quick = ("--fetch-retries=1", "--fetch-retry-mintimeout=500", "--fetch-timeout=30000")
        _run(npm, "install", "--prefix", folder, "--no-audit", "--no-fund", "--loglevel=error", *quick)

    return lambda listed: _installed(listed, lambda folder: install(listed, folder))


@pytest.fixture(scope="session")
def pip_folder():
    """Installs a requirements file: ``pip_folder(path)`` gives a virtual environment."""

    def install(listed: Path, folder: Path) -> None:
        _run(sys.executable, "-m", "venv", folder)
        _run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--retries", "1", "-r", listed)

    return lambda listed: _installed(listed, lambda folder: install(listed, folder), sys.version)


@pytest.fixture(scope="session")
def node22(npm_folder):
    """The program ``node`` of version 22, whichever the system has."""
    return npm_folder(Path(__file__).parent / "node22.json") / "node_modules" / ".bin" / "node"
