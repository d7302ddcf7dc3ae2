"""The check-list of a release, on a small repository; and what would be uploaded, built and tried for real."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TODAY = f"{dt.datetime.now().astimezone():%F}"
HIDDEN = ("PYTHON", "PYTEST", "VIRTUAL_ENV", "GIT_")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)}
ENVIRONMENT |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

PROJECT = '[project]\nversion = "0.2.0"\n[project.urls]\nRepository = "https://example.org/us/toolexec"\n'
POINTS = 8


class Repository:
    """A repository that is ready for the release of 0.2.0; its `.ci/dist` only makes the folder."""

    def __init__(self, folder):
        self.folder = folder
        programs = folder.parent / f"{folder.name}-programs"
        programs.mkdir()
        (programs / "date").write_text(f"#!/bin/sh\necho {TODAY}\n")  # also for who begins shortly before midnight
        (programs / "date").chmod(0o755)
        self.environment = {**ENVIRONMENT, "PATH": f"{programs}:{ENVIRONMENT['PATH']}"}
        self.write("pyproject.toml", PROJECT)
        self.write("CHANGELOG.md", f"# Changelog\n\n## [0.2.0] - {TODAY}\n\n## [0.1.0]\n")
        self.write("docs/stability.md", "These work with a `DeprecationWarning` and go in 0.4:\n")
        self.write(".ci/dist", '#!/bin/sh\nmkdir -p "$1"\n')
        self.write(".gitignore", "dist/\n")
        shutil.copy(ROOT / ".ci" / "release", folder / ".ci")
        (folder / ".ci" / "dist").chmod(0o755)
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("remote", "add", "origin", "https://example.org/us/toolexec.git")
        self.commit()

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *words):
        identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        subprocess.run(["git", *identity, *words], cwd=self.folder, env=ENVIRONMENT, check=True, capture_output=True)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "all")

    def release(self, *words):
        """The exit code, and the points that are not done."""
        done = subprocess.run(
            [self.folder / ".ci" / "release", *words], env=self.environment, capture_output=True, text=True, check=False
        )
        lines = [line for line in done.stdout.splitlines() if line[:1] == "["]
        assert len(lines) == POINTS, done
        return done.returncode, [line[4:].partition(":")[0] for line in lines if line.startswith("[ ]")]


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path)


def test_a_repository_that_is_ready_passes_and_what_is_left_is_said(repository):
    assert repository.release("--quick") == (0, [])
    assert (repository.folder / "dist" / "0.2.0").is_dir()


@pytest.mark.parametrize(
    "origin",
    ["git@example.org:us/toolexec.git", "ssh://git@example.org/us/toolexec", "https://ada@example.org/us/toolexec.git"],
)
def test_the_origin_may_be_written_in_any_way(repository, origin):
    repository.git("remote", "set-url", "origin", origin)
    assert repository.release("--quick") == (0, [])


def uncommitted(repository):
    repository.write("new.txt", "")


def elsewhere(repository):
    repository.git("switch", "--quiet", "--create", "work")


def tagged(repository):
    repository.git("tag", "v0.2.0")


def unreleased(repository):
    repository.write("CHANGELOG.md", f"## [Unreleased]\n## [0.2.0] - {TODAY}\n")
    repository.commit()


def undated(repository):
    repository.write("CHANGELOG.md", "## [0.2.0] - unreleased\n")
    repository.commit()


def foreign(repository):
    repository.git("remote", "set-url", "origin", "https://example.org/them/toolexec")


def without_origin(repository):
    repository.git("remote", "remove", "origin")


def overdue(repository):
    repository.write("docs/stability.md", "go in 0.4:\nand others go in 0.2.\n")
    repository.commit()


def broken(repository):
    repository.write(".ci/dist", "#!/bin/sh\nexit 1\n")
    repository.commit()


@pytest.mark.parametrize(
    ("fault", "point"),
    [
        (uncommitted, "nothing is uncommitted"),
        (elsewhere, "this is main"),
        (tagged, "there is no tag v0.2.0 yet"),
        (unreleased, "the changelog begins with 0.2.0"),
        (undated, "it has today's date"),
        (foreign, "https"),
        (without_origin, "https"),
        (overdue, "no older name is kept too long"),
        (broken, "sdist and wheel are built, checked and tried"),
    ],
)
def test_each_fault_is_told_alone(repository, fault, point):
    fault(repository)
    assert repository.release("--quick") == (1, [point])


def test_an_option_that_does_not_exist_is_refused(repository):
    done = subprocess.run([repository.folder / ".ci/release", "--fast"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--quick" in done.stderr


@pytest.mark.packaging
@pytest.mark.timeout(400)
def test_sdist_and_wheel_are_what_pypi_takes_and_work_when_installed(tmp_path, environment, comes_from):
    pytest.importorskip("build")
    pytest.importorskip("twine")
    tree = tmp_path / "tree"
    for name in ("executor", "plugins", ".ci"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "setup.cfg", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    done = subprocess.run(
        [tree / ".ci" / "dist", tmp_path / "built"],
        env=ENVIRONMENT | {"TOOLEXEC_CI_VENV": sys.prefix, "TOOLEXEC_DIST_VENV": str(environment)},
        capture_output=True, text=True, timeout=390, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    comes_from(environment)
    version = (tree / "pyproject.toml").read_text().partition('version = "')[2].partition('"')[0]
    assert done.stdout.count("PASSED") == done.stdout.count(f"toolexec {version}\n") == 2
    sdist, wheel = sorted((tmp_path / "built").iterdir(), key=lambda path: path.suffix)
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2].removeprefix("plugins/") for name in archive.getnames()}
    code = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert code <= packed
    assert "executor/py.typed" in code
    assert not any(name.startswith("tests") for name in code)


def test_the_changelog_begins_with_the_version_that_is_next():
    version = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition('\nversion = "')[2].partition('"')[0]
    first = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").partition("\n## [")[2].partition("]")[0]
    assert first in {version, "Unreleased"}
