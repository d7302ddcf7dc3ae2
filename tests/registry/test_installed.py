"""Packages that are really installed, in each of the ways there are; and what a start costs without any."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile

import pytest

ENTRY = "[console_scripts]\nother = other:main\n\n[executor]\nnamed = a_plugin:Plugin\n"
PLUGIN = """
class Plugin:
    def executor_register_tools(self, register):
        register("tool", lambda args: 1, description="One.")
"""
FOUND = """
import sys
{before}
from executor import PluginRegistry
print(*PluginRegistry(bundled=False).discover(), "importlib.metadata" in sys.modules)
"""


def install(folder, kind="a_plugin-1.0.dist-info", entries=ENTRY):
    (folder / kind).mkdir(parents=True)
    (folder / kind / "METADATA").write_text("Metadata-Version: 2.1\nName: a-plugin\nVersion: 1.0\n")
    (folder / kind / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: a-plugin\nVersion: 1.0\n")
    (folder / kind / "entry_points.txt").write_text(entries)
    (folder / "a_plugin.py").write_text(PLUGIN)
    return folder


def discovered(path, before="", cwd=None):
    """What a new Python prints that finds packages there too: the plugins, and whether it has looked closely."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), "TOOLEXEC_STRICT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", FOUND.format(before=before)],
        capture_output=True, text=True, check=False, env=environment, cwd=cwd, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture
def itself():
    """Where this package is found, for a Python that is told of other places."""
    import executor

    top = os.path.dirname(os.path.dirname(executor.__file__))
    return [top, os.path.join(top, "plugins")]


@pytest.mark.parametrize("kind", ["a_plugin-1.0.dist-info", "a_plugin.egg-info", "A_Plugin-1.0.DIST-INFO"])
def test_a_package_is_found_by_its_folder(tmp_path, itself, kind):
    assert discovered([*itself, install(tmp_path, kind)]) == ["named", "True"]


def test_a_package_is_found_in_the_folder_that_python_was_started_in(tmp_path, itself):
    install(tmp_path)
    assert discovered(itself, before="sys.path.insert(0, '')", cwd=tmp_path) == ["named", "True"]


def test_a_package_is_found_in_an_archive(tmp_path, itself):
    install(tmp_path / "made")
    with zipfile.ZipFile(tmp_path / "packages.zip", "w") as archive:
        for file in (tmp_path / "made").rglob("*"):
            archive.write(file, file.relative_to(tmp_path / "made"))
    assert discovered([*itself, tmp_path / "packages.zip"]) == ["named", "True"]


def test_a_package_is_found_in_an_egg(tmp_path, itself):
    egg = install(tmp_path / "a_plugin-1.0.egg", "EGG-INFO")
    assert discovered([*itself, egg]) == ["named", "True"]


def test_a_package_of_somebody_elses_finder_is_found(tmp_path, itself):
    folder = install(tmp_path)
    told = (folder / "a_plugin-1.0.dist-info").rename(tmp_path / "told")
    finder = (
        "import importlib.metadata as metadata, pathlib\n"
        "class Finder:\n"
        "    def find_spec(self, *_): return None\n"
        f"    def find_distributions(self, _): return [metadata.PathDistribution(pathlib.Path({str(told)!r}))]\n"
        "sys.meta_path.append(Finder())\n"
    )
    assert discovered([*itself, folder], before=finder) == ["named", "True"]


def test_where_no_package_has_a_plugin_none_is_looked_at_closely(tmp_path, itself):
    folder = install(tmp_path, entries="[console_scripts]\nexecutor = a_plugin:main\n")
    (tmp_path / "a_file.dist-info").write_text("")
    alone = "sys.path = [entry for entry in sys.path if not entry.endswith('site-packages')]"
    # What it needs itself is found before the places are taken away.
    before = f"import executor, pluggy, executor.registry; {alone}"
    assert discovered([*itself, folder], before=before) == ["False"]
