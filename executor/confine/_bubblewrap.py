"""The command that runs another one under bubblewrap, see bwrap(1)."""

from __future__ import annotations

import os
import shutil
import stat
from functools import cache
from typing import TYPE_CHECKING

from executor.confine._mounts import Kind
from executor.confine._tracked import is_tracked
from executor.systempath import system_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from executor.confine._mounts import Laid

# Sockets and FIFOs of the system's services are in /run, and a FIFO can be written on a mount that is read-only. These
# of it are needed: where names are resolved, and where some systems keep their programs.
_RUN = "/run"
_RUN_KEPT = ("/run/current-system", "/run/booted-system", "/run/opengl-driver", "/run/host")
_STOP = "/run/toolexec"  # a file of empty lines, which is there for when it is read
_RESOLVER = "/etc/resolv.conf"


def find() -> str | None:
    """
    Where bubblewrap is: the first in PATH that only root can change, in a folder to which no box can add a name.

    PATH may name the project's own folders, and what a command left there is neither taken nor hides the real one:
    nor a link to a program of root's, which would say of itself that there can be no such box.
    """
    return next(filter(None, map(_of_root, _on_path())), None)


def _of_root(found: str) -> str | None:
    program = os.path.realpath(found)
    try:
        status = os.stat(program)
    except OSError:  # removed meanwhile
        return None
    if status.st_uid != 0 or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return None
    return program


def _on_path() -> Iterator[str]:
    for folder in system_path().split(os.pathsep):
        if (found := _in_folder(folder)) is not None:
            yield found


@cache
def _in_folder(folder: str) -> str | None:
    return shutil.which("bwrap", path=folder)


def options(
    mounts: Iterable[Laid],
    *,
    network: bool,
    environment: Mapping[str, str],
    folder: str,
) -> list[str]:
    """
    The options for a box.

    No new session: the command stays in the process group that it is ended by, and the filter keeps it from typing
    into the terminal.

    Args:
        mounts: As `_mounts.plan` gives them.
        network: Whether it shares the network; else it has a loopback of its own.
        environment: All its variables: bubblewrap itself is not given them, because some make a program load others.
        folder: Its working folder.
    """
    told = ["--unshare-user", "--unshare-all", *(["--share-net"] if network else []), "--cap-drop", "ALL"]
    told += ["--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", _RUN]
    told += [word for path in _kept_of_run() for word in _mount(Kind.SHOWN, path)]
    # Read-only: the kernel's settings ask who somebody is, and in a namespace of its own root still is root.
    # And nobody looks at bubblewrap's own process in there, or gets at what that has open.
    told += ["--proc", "/proc", "--perms", "0555", "--tmpfs", "/proc/1"]
    told += ["--remount-ro", "/proc/1", "--remount-ro", "/proc"]
    free: list[str] = []
    for kind, path in mounts:
        told += _hidden(path, free) if kind is Kind.HIDDEN else _mount(kind, path)
        free += [f"{path}/"] if kind is Kind.FREE else []
    told += ["--chdir", folder, "--clearenv"]
    for name, value in environment.items():
        told += ["--setenv", name, value]
    return told


def last_options(descriptors: Mapping[str, int], stop: int) -> list[str]:
    """
    What stands behind these options.

    Args:
        descriptors: Options that name an open descriptor, ``--seccomp`` at least.
        stop: A descriptor that bubblewrap reads to its end once the mounts are laid.
    """
    told = [text for option, descriptor in descriptors.items() for text in (option, str(descriptor))]
    return [*told, "--perms", "0444", "--file", str(stop), _STOP]


def packed(options: Iterable[str]) -> bytes:
    """
    *options* as ``--args`` reads them: environments are long, and nobody else's to see.

    Raises:
        ValueError: One holds a NUL, as ``subprocess`` says of arguments.
    """
    told = list(options)
    encoded = os.fsencode("".join(f"{option}\0" for option in told))
    if encoded.count(b"\0") != len(told):
        raise ValueError("embedded null byte")
    return encoded


def laid_before() -> dict[str, Kind]:
    """What is laid in every box, before its mounts."""
    return {_RUN: Kind.HIDDEN, **dict.fromkeys(_kept_of_run(), Kind.SHOWN)}


def _kept_of_run() -> list[str]:
    resolver = os.path.realpath(_RESOLVER)
    of_names = [resolver] if resolver.startswith(f"{_RUN}/") else []
    return [path for path in (*_RUN_KEPT, *of_names) if os.path.exists(path)]


def _mount(kind: Kind, path: str) -> Sequence[str]:
    return ("--bind" if kind is Kind.FREE else "--ro-bind", path, path)


def _hidden(path: str, free: Iterable[str]) -> Sequence[str]:
    """
    Nothing in place of *path*.

    A folder is empty. Where something may be written, git would take it for emptied, and commit that. If it tracks
    files in there, nobody can tell whether they are there: git says so, and leaves them as they were.
    """
    if not os.path.isdir(path):
        return ("--ro-bind", "/dev/null", path)
    untold = path.startswith(tuple(free)) and is_tracked(path)
    return ("--perms", "0444" if untold else "0555", "--tmpfs", path)
