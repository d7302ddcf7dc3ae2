"""The mark by which a command knows that a running call has started it."""

from __future__ import annotations

import os
import sys

import pytest

from executor.calls._above import _Mark


@pytest.mark.skipif(sys.platform != "linux", reason="files of other processes are known on Linux only")
def test_the_mark_is_an_open_file_until_it_is_taken_back():
    mark = _Mark()
    mark.remove()
    mark.make()
    descriptor = mark._descriptor
    assert os.readlink(f"/proc/self/fd/{descriptor}") == "/memfd:toolexec-calls (deleted)"
    mark.make()
    assert mark._descriptor == descriptor, "one will do"
    mark.remove()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
