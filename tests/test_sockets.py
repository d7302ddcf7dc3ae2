"""Whose the sockets of this machine are: by the kernel's word, and where it has none by its tables."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from executor import sockets
from executor.sockets import NOBODY, listeners, stranger_at, user_at

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")


@pytest.fixture(params=["kernel", "tables"])
def source(request, monkeypatch):
    """Only one of the two is there."""
    if request.param == "kernel":
        monkeypatch.setattr(sockets, "_lines", lambda table: [])
        return

    def refused(*_):
        raise OSError("the kernel is not to be asked")

    monkeypatch.setattr(sockets, "_answers", refused)


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_the_user_at_the_other_end_is_told_whatever_socket_calls(listening, family):
    port = listening.getsockname()[1]
    with socket.socket(family) as calling:
        calling.connect(("127.0.0.1" if family == socket.AF_INET else "::ffff:127.0.0.1", port))
        answering, there = listening.accept()
        with answering:
            assert user_at(there, answering.getsockname()) == os.getuid()
            assert user_at((there[0], 1), answering.getsockname()) is None  # no such connection


@pytest.mark.usefixtures("source")
def test_an_end_that_is_gone_is_nobodys(monkeypatch):
    here, there = ("127.0.0.1", 2), ("127.0.0.1", 3)
    for name in ("_kernel", "_tables"):
        monkeypatch.setattr(sockets, name, lambda near, _: 1000 if near == here else None)
    assert user_at(there, here) == NOBODY


@pytest.mark.parametrize(
    ("users", "stranger"), [(set(), None), ({0}, None), ({os.getuid()}, None), ({0, 4711, os.getuid()}, 4711)]
)
def test_a_stranger_is_neither_this_user_nor_root(monkeypatch, users, stranger):
    monkeypatch.setattr(sockets, "listeners", lambda port: users if port == 1 else {12345})
    assert stranger_at(1) == stranger


@pytest.mark.usefixtures("source")
def test_who_listens_is_told():
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as one, socket.create_server(("127.0.0.1", 0)) as two:
        ports = [one.getsockname()[1], two.getsockname()[1]]
        assert [listeners(port) for port in ports] == [{os.getuid()}] * 2
    assert [listeners(port) for port in ports] == [set(), set()]
