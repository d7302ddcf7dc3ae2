"""The node that later tests run programs with."""

from __future__ import annotations

import subprocess


def test_node_is_of_version_22(node22):
    done = subprocess.run([node22, "-p", "process.version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("v22.")
