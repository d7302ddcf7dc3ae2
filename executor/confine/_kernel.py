"""What the kernel is asked for directly, beside what a process does to itself: rulesets of Landlock. Linux only."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from functools import cache
from typing import TYPE_CHECKING

from executor.confine._restrict import SCOPES, call, failed, libc

if TYPE_CHECKING:
    from collections.abc import Callable

# linux/landlock.h; the same numbers on every architecture.
_CREATE, _ADD = 444, 445
_PATH_BENEATH = 1
_OPENAT2, _AT_FDCWD, _RESOLVE_NO_SYMLINKS = 437, -100, 0x04
_VERSION_FLAG = 1
_STATX, _STATX_BTIME, _AT_SYMLINK_NOFOLLOW = {"x86_64": 332, "aarch64": 291}, 0x800, 0x100
ABI_OF_SCOPES = 6
NEWEST_ABI = 7  # of what is asked for; a newer kernel does as much

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
# Removing and making of files, folders, sockets, FIFOs and links, and moving them between folders; no devices.
_MAKE = sum(1 << bit for bit in (4, 5, 7, 8, 9, 10, 12, 13))
READ = EXECUTE | READ_FILE | READ_DIR
READ_ONE = EXECUTE | READ_FILE  # of a file, which has no folder's rights
WRITE_ALONE = WRITE_FILE | _TRUNCATE  # of a file, whether it may be read or not
WRITE_ONE = READ_FILE | WRITE_ALONE | _IOCTL_DEV
WRITE = READ | WRITE_ONE | _MAKE
_HANDLED = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF}  # by ABI; all 16 from 5 on
_HANDLED_NOW = 0xFFFF
_TCP = 3  # bind and connect


@cache
def _add_rule() -> Callable[[int, int, int, bytes, int], int]:
    """The system call that is made hundreds of times: told once what its arguments are, it takes half the time."""
    found = libc["syscall"]
    found.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
    found.restype = ctypes.c_long
    return found


@cache
def landlock_abi() -> int:
    """Which Landlock the kernel has: its ABI, 0 for none."""
    found = call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))
    return max(found, 0)


def make_ruleset(abi: int, *, tcp: bool) -> int:
    """
    The descriptor of an empty ruleset: whoever is put under it may do nothing with files, open no TCP connection
    unless *tcp*, and signal nobody outside.

    Raises:
        OSError: The kernel refuses.
    """
    if abi < 4:
        attributes = struct.pack("=Q", _HANDLED[abi])
    elif abi < ABI_OF_SCOPES:
        attributes = struct.pack("=QQ", _handled(abi), 0 if tcp else _TCP)
    else:
        attributes = struct.pack("=QQQ", _handled(abi), 0 if tcp else _TCP, SCOPES)
    made = call(_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if made < 0:
        failed("landlock_create_ruleset")
    return made  # close-on-exec, as the kernel makes it


def _handled(abi: int) -> int:
    return _HANDLED.get(abi, _HANDLED_NOW)


def open_plain(path: str, flags: int, mode: int = 0) -> int:
    """
    Open *path*, which was found to be free of links, unless one has been put on its way since.

    Raises:
        OSError: As ``os.open``; ELOOP for a link.
    """
    how = struct.pack("=QQQ", flags | os.O_CLOEXEC, mode, _RESOLVE_NO_SYMLINKS)
    opened = call(_OPENAT2, ctypes.c_int(_AT_FDCWD), os.fsencode(path), how, ctypes.c_size_t(len(how)))
    if opened < 0:
        number = ctypes.get_errno()
        if number == errno.ENOSYS:  # before Linux 5.6
            return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        raise OSError(number, os.strerror(number), path)
    return opened


def born(path: str) -> int:
    """When the file or folder *path* was made, which nobody can change, in ns; 0 where its file system does not say."""
    number = _STATX.get(platform.machine())
    found = ctypes.create_string_buffer(256)
    if number is None:
        return 0
    asked = (
        ctypes.c_int(_AT_FDCWD),
        os.fsencode(path),
        ctypes.c_int(_AT_SYMLINK_NOFOLLOW),
        ctypes.c_uint(_STATX_BTIME),
    )
    if call(number, *asked, found) < 0:
        return 0
    mask, seconds, rest = struct.unpack_from("=I76xqI", found)
    return seconds * 1_000_000_000 + rest if mask & _STATX_BTIME else 0


def add_rule(ruleset: int, abi: int, path: str, rights: int, opened: Callable[[str, int], int] = os.open) -> bool:
    """
    Give *rights* to *path* and, if it is a folder, to all below it. Returns False when it is not there (any more).

    Args:
        opened: Opens it: `open_plain` where somebody may be at work on the way to it.

    Raises:
        OSError: The kernel refuses.
    """
    try:
        beneath = opened(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False  # gone, or in a folder that this user may not pass: nobody in the box will either
    try:
        rule = struct.pack("=Qi", rights & _handled(abi), beneath)
        if _add_rule()(_ADD, ruleset, _PATH_BENEATH, rule, 0) < 0:
            failed(f"landlock_add_rule for {path}")
    finally:
        os.close(beneath)
    return True


def watched(pid: int) -> int | None:
    """A descriptor by which the end of a process is seen; None where there is none (Linux before 5.3, some Pythons)."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
