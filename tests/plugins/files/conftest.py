"""What the tests of the file tools share."""

import os
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import jsonschema
import pytest

import executor_files
from executor import CancelToken, paths
from executor.errors import ToolFailedError


class Tools:
    """The registered tools, called as the executor calls them: with arguments that fit the schema."""

    def __init__(self, **config):
        self.registered = {}
        plugin = executor_files.FilesPlugin()
        plugin.executor_configure(config)
        plugin.executor_register_tools(self.register)

    def register(self, name, fn, **settings):
        self.registered[name] = (fn, settings)

    def __getattr__(self, name):
        fn, settings = self.registered[name]

        def call(path=None, **arguments):
            arguments |= {} if path is None else {"path": str(path)}
            jsonschema.validate(arguments, settings["schema"])
            return fn(arguments)

        return call

    def refuse(self, name, path, **arguments):
        """Call a tool that has to fail; returns what it says."""
        with pytest.raises(ToolFailedError) as caught:
            getattr(self, name)(path, **arguments)
        return caught.value.message


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working folder, empty."""
    folder = Path(os.path.realpath(tmp_path))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def tools(here):
    return Tools()


@pytest.fixture
def configured(here):
    """A function that gives the tools with a configuration."""
    return Tools


@pytest.fixture
def token(monkeypatch):
    """The token of the call that the tools run in."""

    class Call(CancelToken):
        __slots__ = ()

        def resolve_path(self, path, *, base=None, entry=False):
            return (paths.resolve_entry if entry else paths.resolve)(path, base=base)

    call = Call()
    for module in (executor_files._common, executor_files._match):
        monkeypatch.setattr(module, "current_call", lambda: call)
    return call


@pytest.fixture
def mounted():
    """A function that mounts a small file system in memory on a folder, for a ``with`` block."""

    @contextmanager
    def mount(folder, options="size=64k"):
        command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
            pytest.skip("file systems cannot be mounted here")
        try:
            yield
        finally:
            subprocess.run(["umount", str(folder)], check=True)

    return mount


@pytest.fixture
def public():
    """A folder that every user can reach; those below ``tmp_path`` are for their owner only."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(os.path.realpath(name))
        folder.chmod(0o777)
        yield folder


@pytest.fixture
def nobody():
    """For a ``with`` block: be a user without rights."""

    @contextmanager
    def become():
        user, group, groups = os.geteuid(), os.getegid(), os.getgroups()
        if user == 0:
            os.setgroups([])
            os.setegid(65534)
            os.seteuid(65534)
        try:
            yield
        finally:
            if user == 0:
                os.seteuid(user)
                os.setegid(group)
                os.setgroups(groups)

    return become
