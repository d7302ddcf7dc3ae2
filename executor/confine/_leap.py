"""
A new process that does what no other program does for it, and becomes its program: a row of system calls. Linux only.

To fork a Python for that copies its tables of memory, and then each page that the copy touches; that takes longer than
all that a box asks for. Here the new process borrows the memory of this one, which waits meanwhile (vfork(2)), and
nothing of Python runs in it: some sixty bytes of machine code walk down a table that was written before. Where memory
may not be run (some hardened systems refuse that), a fork walks down the same table.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct

from executor.confine._restrict import call, failed, libc
from executor.confine._syscalls import AS_SIBLING, COLUMNS

# What the machine code is, for one argument: the table. Each row is eight numbers: a system call, its six arguments,
# and whether to go on if it fails, in the place of which its result is put. The last row ends the process.
_CODE = {
    "x86_64": (
        "f30f1efa"  # endbr64
        "4889fb"  # mov %rdi, %rbx
        "488b03"  # 1: mov (%rbx), %rax
        "488b7b08"  # mov 8(%rbx), %rdi
        "488b7310"  # mov 16(%rbx), %rsi
        "488b5318"  # mov 24(%rbx), %rdx
        "4c8b5320"  # mov 32(%rbx), %r10
        "4c8b4328"  # mov 40(%rbx), %r8
        "4c8b4b30"  # mov 48(%rbx), %r9
        "0f05"  # syscall
        "48874338"  # xchg %rax, 56(%rbx)
        "48837b3800"  # cmpq $0, 56(%rbx)
        "7905"  # jns 2f
        "4885c0"  # test %rax, %rax
        "7406"  # je 3f
        "4883c340"  # 2: add $64, %rbx
        "ebcd"  # jmp 1b
        "bf7f000000"  # 3: mov $127, %edi
        "b83c000000"  # mov $60, %eax
        "0f05"  # syscall
    ),
    "aarch64": (
        "5f2403d5"  # bti c
        "f30300aa"  # mov x19, x0
        "680240a9"  # 1: ldp x8, x0, [x19]
        "610a41a9"  # ldp x1, x2, [x19, #16]
        "631242a9"  # ldp x3, x4, [x19, #32]
        "652643a9"  # ldp x5, x9, [x19, #48]
        "010000d4"  # svc #0
        "601e00f9"  # str x0, [x19, #56]
        "4000f8b6"  # tbz x0, #63, 2f
        "690000b4"  # cbz x9, 3f
        "73020191"  # 2: add x19, x19, #64
        "f7ffff17"  # b 1b
        "e00f80d2"  # 3: mov x0, #127
        "a80b80d2"  # mov x8, #93
        "010000d4"  # svc #0
    ),
}
# Their numbers: x86_64, aarch64.
_NUMBERS = {
    "setpgid": (109, 154),
    "setsid": (112, 157),
    "fchdir": (81, 50),
    "dup3": (292, 24),
    "prctl": (157, 167),
    "landlock_restrict_self": (446, 446),
    "execve": (59, 221),
    "exit": (60, 93),
    "clone": (56, 220),
}
NOT_STARTED = 127
_ROW = struct.Struct("7Qq")
_RESULT = struct.Struct("q")
_TABLE, _STACK = 1 << 16, 1 << 14  # bytes
_READ, _WRITE, _RUN = 1, 2, 4  # mmap(2), on both machines
_SHARED, _PRIVATE, _ANONYMOUS = 0x01, 0x02, 0x20
_NOWHERE = 2**64 - 1
_BORROWING, _WAITED_FOR, _SIGCHLD = 0x100, 0x4000, 17  # clone(2): CLONE_VM, CLONE_VFORK


def numbers_of(machine: str) -> dict[str, int]:
    """The system calls that a row may be, by name. Raises KeyError: the machine is not known."""
    column = COLUMNS[machine]
    return {name: numbers[column] for name, numbers in _NUMBERS.items()}


class Leap:
    """
    The ground for such processes, in this one, which may have no other thread; it stays until this process ends.

    Raises:
        KeyError: The machine is not known.
        OSError: There is no memory for it.
    """

    def __init__(self) -> None:
        machine = os.uname().machine
        self._numbers = numbers_of(machine)
        self._rows: list[tuple[str, bool, bytes]] = []  # which step it is, whether there is another way, itself
        self._table = _mapped(_TABLE, _READ | _WRITE, _SHARED | _ANONYMOUS)  # shared: also a fork tells its results
        self._stack = _mapped(_STACK, _READ | _WRITE, _PRIVATE | _ANONYMOUS)
        self._code = _runnable(bytes.fromhex(_CODE[machine]))

    def first(self, step: str, name: str, *arguments: int) -> None:
        """
        The first thing that the next process does.

        Args:
            step: What it is a part of, for who is told that it failed.
            name: The system call.
            arguments: Its arguments: numbers, and addresses of what stays where it is until the process is started.
        """
        self._rows.clear()
        self.then(step, name, *arguments)

    def then(self, step: str, name: str, *arguments: int, or_else: bool = False) -> None:
        """What it does then, as `first`; with *or_else* it goes on with the row behind this if this fails."""
        padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
        self._rows.append((step, or_else, _ROW.pack(self._numbers[name], *padded, or_else)))

    def start(self) -> tuple[int, str, int]:
        """
        Start the process.

        Returns:
            Its number: it is a child of this one's parent, who waits for it; and, if it has not become its program,
            which step failed, and the number of the error; else "" and 0.

        Raises:
            OSError: There is none.
        """
        self.then("", "exit", NOT_STARTED)
        told = b"".join(row for _, _, row in self._rows)
        if len(told) > _TABLE:
            raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
        ctypes.memmove(self._table, told, len(told))
        made = self._borrowing() if self._code else self._forked()
        return made, *self._problem()

    def _borrowing(self) -> int:
        flags = ctypes.c_int(_BORROWING | _WAITED_FOR | AS_SIBLING | _SIGCHLD)
        top = ctypes.c_void_p(self._stack + _STACK)
        made = libc.clone(ctypes.c_void_p(self._code), top, flags, ctypes.c_void_p(self._table))
        if made < 0:
            failed("clone")
        return int(made)

    def _forked(self) -> int:
        zero = ctypes.c_long(0)
        flags = ctypes.c_long(_WAITED_FOR | AS_SIBLING | _SIGCHLD)
        made = call(self._numbers["clone"], flags, zero, zero, zero, zero)
        if made < 0:
            failed("clone")
        if made == 0:
            try:
                self._walk()
            finally:
                os._exit(NOT_STARTED)
        return made

    def _walk(self) -> None:
        """As the machine code does."""
        for at in range(self._table, self._table + _TABLE, _ROW.size):
            number, *arguments, or_else = _ROW.unpack(ctypes.string_at(at, _ROW.size))
            result = call(number, *map(ctypes.c_ulong, arguments))
            told = _RESULT.pack(result if result >= 0 else -ctypes.get_errno())
            ctypes.memmove(at + _ROW.size - _RESULT.size, told, _RESULT.size)
            if result < 0 and not or_else:
                return

    def _problem(self) -> tuple[str, int]:
        """Which step failed for good, and the error's number; of several programs, of that which says most."""
        walked = zip(
            self._rows, _ROW.iter_unpack(ctypes.string_at(self._table, len(self._rows) * _ROW.size)), strict=True
        )
        results = [(step, or_else, row[-1]) for (step, or_else, _), row in walked]
        for step, or_else, result in results:
            if result < 0 and not or_else:
                return step, -result
        tried = [(step, -result) for step, or_else, result in results if or_else]
        if not tried or tried[-1][1] < 0:  # it was not come to, or has not come back
            return "", 0
        return next((each for each in tried if each[1] not in (errno.ENOENT, errno.ENOTDIR)), tried[-1])


def _mapped(size: int, protection: int, flags: int, descriptor: int = -1) -> int:
    """The address of new memory. Raises OSError."""
    libc.mmap.restype = ctypes.c_void_p
    long, whole = ctypes.c_long(0), ctypes.c_size_t(size)
    found = libc.mmap(None, whole, ctypes.c_int(protection), ctypes.c_int(flags), ctypes.c_int(descriptor), long)
    if found in (None, _NOWHERE):
        failed("mmap")
    return int(found)


def _runnable(code: bytes) -> int:
    """The address of *code* in memory that may be run, and never could be written; 0 if this machine refuses that."""
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # no file may be that long: an error, and not the end
    try:
        written = os.memfd_create("executor", os.MFD_CLOEXEC)
        try:
            os.write(written, code)
            return _mapped(len(code), _READ | _RUN, _PRIVATE, written)
        finally:
            os.close(written)
    except OSError:
        return 0
    finally:
        signal.signal(signal.SIGXFSZ, before)
