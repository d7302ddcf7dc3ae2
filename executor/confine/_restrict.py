"""
What a process does to itself: putting itself into a box, making others, becoming another program. Linux only.

This is what keepers are made of, see `_keeper`. Each of their forks copies what they have imported: so here is nothing
that comes with more than itself, not even `typing`.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

from executor.confine import _syscalls as calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # linux/landlock.h; the same numbers on every architecture
_PATH_BENEATH, _REFER = 1, 1 << 13  # moving and linking between folders
SCOPES = 3  # abstract Unix sockets, signals
_PR_SET_NO_NEW_PRIVS = 38
SET_SECCOMP, MODE_FILTER = 22, 2  # prctl(2)
_CAPABILITY_VERSION = 0x20080522
# CHOWN, DAC_OVERRIDE, FOWNER, FSETID: what makes root's own files root's. All else reaches past them.
KEPT_CAPABILITIES = 1 << 0 | 1 << 1 | 1 << 3 | 1 << 4
_SIGCHLD, _SIGKILL = 17, 9

if sys.platform != "win32":  # where there are no boxes, and only that is to be told
    libc = ctypes.CDLL(None, use_errno=True)


def failed(what: str) -> NoReturn:
    """Raise what the last call said."""
    number = ctypes.get_errno()
    raise OSError(number, f"{what}: {os.strerror(number)}")


def call(number: int, *arguments: object) -> int:
    """What the system call *number* returns: -1 where it failed, for `failed` to say how."""
    return int(libc.syscall(ctypes.c_long(number), *arguments))


def restrict_this_thread(ruleset: int) -> None:
    """Put this thread, and what it starts, under *ruleset*, for good. Raises OSError."""
    if call(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0)) < 0:
        failed("landlock_restrict_self")


def scope_this_thread() -> None:
    """
    Have this thread, and what it starts, signal nobody else and reach no abstract socket. Raises OSError.

    Every ruleset refuses to move and to link files between folders unless it has a rule for that, one that says nothing
    else of files too (landlock(7), LANDLOCK_ACCESS_FS_REFER): that is left to the rulesets of the boxes.
    """
    attributes = struct.pack("=QQQ", _REFER, 0, SCOPES)
    ruleset = call(_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if ruleset < 0:
        failed("landlock_create_ruleset")
    try:
        _allow_moving(ruleset)
        restrict_this_thread(ruleset)
    finally:
        os.close(ruleset)


def _allow_moving(ruleset: int) -> None:
    everything = os.open("/", os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", _REFER, everything)
        if call(_ADD, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0)) < 0:
            failed("landlock_add_rule")
    finally:
        os.close(everything)


def give_up_rights(program: bytes) -> None:
    """
    What a box takes from this thread, and from what it starts, whatever its ruleset is; for good.

    Args:
        program: The filter of its system calls.

    Raises:
        OSError: The kernel refuses; the thread may be half in it, and must start nothing.
    """
    forbid_new_privileges()
    drop_capabilities()
    filter_this_thread(program)


def forbid_new_privileges() -> None:
    """No program that this thread starts gets rights that it does not have (set-user-ID and the like)."""
    longs = [ctypes.c_ulong(number) for number in (1, 0, 0, 0)]
    if libc.prctl(ctypes.c_int(_PR_SET_NO_NEW_PRIVS), *longs) < 0:
        failed("prctl(PR_SET_NO_NEW_PRIVS)")


class Program(ctypes.Structure):
    """A filter of system calls, as the kernel is told it (``struct sock_fprog``)."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))

    @classmethod
    def of(cls, instructions: bytes) -> Program:
        """*instructions*, 8 bytes each."""
        return cls(len(instructions) // 8, instructions)


def filter_this_thread(program: bytes) -> None:
    """Have the system calls of this thread, and of what it starts, go through *program*, for good. Raises OSError."""
    if libc.prctl(SET_SECCOMP, ctypes.c_ulong(MODE_FILTER), ctypes.byref(Program.of(program)), 0, 0) < 0:
        failed("prctl(PR_SET_SECCOMP)")


def drop_capabilities() -> None:
    """
    Take every capability but `KEPT_CAPABILITIES` from this thread, and from what it starts, for good.

    After `forbid_new_privileges`: then a program that root starts gets no capability that the thread has not, and the
    bounding set may stay as it is.

    Raises:
        OSError: The kernel refuses.
    """
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    held = ctypes.create_string_buffer(24)
    if libc.capget(header, held) < 0:
        failed("capget")
    if not any(held.raw):
        return
    effective, permitted, *_ = struct.unpack("=6I", held.raw)
    kept = struct.pack("=6I", effective & KEPT_CAPABILITIES, permitted & KEPT_CAPABILITIES, 0, 0, 0, 0)
    if libc.capset(header, kept) < 0:
        failed("capset")


def signals_are_refused() -> bool:
    """Whether this thread may not signal the process that started this one, as seen: that one is outside of its box."""
    parent = os.getppid()
    if not parent:  # in another namespace of processes: there is nobody to see it by
        return False
    try:
        os.kill(parent, 0)
    except PermissionError:
        return True
    except ProcessLookupError:
        pass
    return False


def end_all() -> None:
    """
    End every process that this thread may signal, its own one aside. Only for a thread that can signal nobody outside.

    It takes 0.1 ms where there are some hundred processes; other threads go on meanwhile, as during ``os.kill`` they
    would not.
    """
    libc.kill(ctypes.c_int(-1), ctypes.c_int(_SIGKILL))  # fails where there is none


def fork_as_sibling() -> int:
    """
    As ``os.fork``, for a process with no other thread: the new one is a child of this one's parent, who waits for it.

    Raises:
        OSError: As there.
    """
    zero = ctypes.c_long(0)
    flags = ctypes.c_long(calls.AS_SIBLING | _SIGCHLD)
    number = calls.CLONE[calls.COLUMNS[os.uname().machine]]
    assert number is not None, "every machine has it"
    made = call(number, flags, zero, zero, zero, zero)
    if made < 0:
        failed("clone")
    return made
