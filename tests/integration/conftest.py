"""A disk of its own, which can be full."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 512 KiB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("needs a file system of its own, and may not mount one")
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(mount)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("may not mount a file system")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


@pytest.fixture
def fill():
    return fill_disk


def fill_disk(folder):
    """Fill the disk to the last byte; returns the file that does."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return path
