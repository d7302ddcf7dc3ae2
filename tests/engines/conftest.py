"""Clusters of real processes, apart from this one: their workers can be killed, and started again by their nannies."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed")

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SECONDS = 60.0
CLUSTER = """
import json, sys
from distributed import LocalCluster
if __name__ == "__main__":
    workers, folder = int(sys.argv[1]), sys.argv[2]
    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=2, dashboard_address=None, local_directory=folder, silence_logs=50
    )
    print(json.dumps({"address": cluster.scheduler_address}), flush=True)
    sys.stdin.read()
    cluster.close()
"""


def rounds(few: int, many: int) -> list[object]:
    """So many times, and more in the long runs."""
    long = [pytest.mark.long, pytest.mark.timeout(900)]
    return [pytest.param(few, id="few"), pytest.param(many, id="many", marks=long)]


def environment() -> dict[str, str]:
    """Of workers, which find the tools of the tests."""
    path = os.pathsep.join([str(HERE), str(ROOT), str(ROOT / "plugins"), os.environ.get("PYTHONPATH", "")])
    # A LocalCluster gives up a worker that it misses 15 s after one was lost; here they are lost all the time.
    return {**os.environ, "PYTHONPATH": path, "DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT": "1h"}


class Cluster:
    """A scheduler and its workers, in processes of their own."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        script = folder / "cluster.py"
        script.write_text(CLUSTER, encoding="utf-8")
        self._said = (folder / "said").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, str(script), str(workers), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=environment(),
            start_new_session=True,
        )
        told = self.process.stdout.readline()
        assert told, (folder / "said").read_text()
        self.address = json.loads(told)["address"]

    def kill(self) -> None:
        """All of it, at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
        else:
            self.process.stdin.close()
        self.process.stdout.close()
        self._said.close()


@pytest.fixture(scope="package")
def cluster(tmp_path_factory):
    """Two workers, for all tests that leave them as they are, or have them start anew."""
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.close()


@pytest.fixture
def new_cluster(tmp_path):
    """Makes clusters that may be killed."""
    made = []

    def make(workers: int = 1) -> Cluster:
        folder = tmp_path / f"cluster{len(made)}"
        folder.mkdir()
        made.append(Cluster(folder, workers))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def tools(monkeypatch):
    """The module of tools, as workers find it."""
    monkeypatch.syspath_prepend(str(HERE))
    return importlib.import_module("cluster_tools")


@pytest.fixture
def engine(cluster):
    """An engine on the common cluster."""
    from executor.engines import DaskEngine

    made = DaskEngine(cluster.address)
    yield made
    made.close()


@pytest.fixture
def executor(engine, tools):
    """An executor with that engine, and all tools."""
    from executor import ToolExecutor

    made = ToolExecutor(engine=engine, max_background_tasks=2000)
    for name in ("lines", "add", "mark", "deaf", "gated", "much", "says", "fails", "calls", "threads"):
        made.register(name, getattr(tools, name))
    yield made
    made.shutdown(cancel=True, timeout=SECONDS)
    made.tasks.close()
