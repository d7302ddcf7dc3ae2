"""The filter of system calls, run as the kernel runs it: what each call gets, on each machine."""

from __future__ import annotations

import errno
import struct

import pytest

from executor.confine import _syscalls as calls
from executor.confine._filter import Filter, program

READ = Filter(metadata=False, internet=False, system_v=False, scheduling=False)
WIDE = Filter(True, True, True, True)
OPENAT, MKNODAT = (257, 56), (259, 33)
MACHINES = ["x86_64", "aarch64"]


def answer(code, machine, number, *arguments, audit=None):
    """What the program says of a call: None lets it through, else the error."""
    arguments = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("<iIQ6Q", number, calls.AUDIT[machine] if audit is None else audit, 0, *arguments)
    steps = list(struct.iter_unpack("<HBBI", code))
    at, loaded = 0, 0
    while True:
        kind, then, otherwise, value = steps[at]
        at += 1
        if kind == 0x20:
            loaded = struct.unpack_from("<I", data, value)[0]
        elif kind == 0x54:
            loaded &= value
        elif kind == 0x06:
            return None if value == 0x7FFF0000 else value & 0xFFFF
        else:
            holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[kind]
            at += then if holds else otherwise


def column(machine):
    return calls.COLUMNS[machine]


@pytest.mark.parametrize("machine", MACHINES)
def test_every_call_gets_what_the_tables_say(machine):
    judged = {calls.CLONE, calls.UNSHARE, calls.IOCTL, calls.SOCKET, calls.SOCKETPAIR}
    judged |= {calls.PRLIMIT, calls.SETPRIORITY, calls.IOPRIO_SET, *calls.SCHEDULING.values()}
    judged |= {numbers for table in (calls.MODES, calls.OPENINGS) for numbers, _ in table if numbers[column(machine)]}
    judged -= set(calls.METADATA.values())
    judged = {numbers[column(machine)] for numbers in judged}
    refused = {number[column(machine)]: errno.ENOSYS for number in calls.MISSING.values()}
    for table in (calls.REFUSED, calls.SYSTEM_V, calls.METADATA):
        refused |= {number[column(machine)]: errno.EPERM for number in table.values()}
    narrow = program(READ, machine)
    for number in range(calls.NEWEST + 1):
        if number not in judged:
            assert answer(narrow, machine, number) == refused.get(number), number
    wide = program(WIDE, machine)
    for table in (calls.SYSTEM_V, calls.METADATA):
        for numbers in table.values():
            if numbers[column(machine)] is not None:
                assert answer(wide, machine, numbers[column(machine)]) is None


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("numbers", "arguments", "error"),
    [
        (calls.CLONE, (0x01200011,), None),  # fork
        (calls.CLONE, (0x003D0F00,), None),  # a thread
        (calls.CLONE, (0x10000011,), errno.EPERM),
        (calls.CLONE, (0x8011,), errno.EPERM),
        (OPENAT, (0, 0, 0o101, 0o4755), errno.EPERM),
        (OPENAT, (0, 0, 0o20200002, 0o4755), errno.EPERM),
        (OPENAT, (0, 0, 0o101, 0o2755), None),
        (OPENAT, (0, 0, 0, 0o4755), None),  # nothing is made: that argument is whatever it is
        (MKNODAT, (0, 0, 0o104755), errno.EPERM),
        (calls.CLONE, (0x00020000 | 0xFFFFFFFF00000000,), errno.EPERM),
        (calls.UNSHARE, (0x400,), None),
        (calls.UNSHARE, (0x40000000,), errno.EPERM),
        (calls.UNSHARE, (0x80,), errno.EPERM),
        (calls.IOCTL, (0, 0x5401), None),
        (calls.IOCTL, (0, 0x5412), errno.EPERM),
        (calls.IOCTL, (0, 0x100005412), errno.EPERM),  # the kernel takes the lower half
        (calls.IOCTL, (0, 0x40086602), errno.EPERM),
        (calls.IOCTL, (0, 0x40806685), errno.EPERM),
        (calls.IOCTL, (0, 0x541C), errno.EPERM),
        (calls.IOCTL, (0, 0x40086604), errno.EPERM),  # EXT4_IOC_SETVERSION
        (calls.IOCTL, (0, 0x5000940E), errno.EPERM),  # BTRFS_IOC_SUBVOL_CREATE
        (calls.IOCTL, (0, 0x800C6613), errno.EPERM),  # FS_IOC_SET_ENCRYPTION_POLICY
        (calls.IOCTL, (0, 0x80086601), None),  # lsattr
        (calls.IOCTL, (0, 0x40049409), None),  # cp --reflink
        (calls.IOCTL, (0, 0xC020660B), None),
        (calls.SOCKET, (16, 3, 0), None),  # a look-up of a name
        *((calls.SOCKET, (16, 3, protocol), errno.EPROTONOSUPPORT) for protocol in (2, 4, 6, 7, 9, 11, 12, 15, 16)),
        (calls.SOCKET, (1,), errno.EACCES),
        (calls.SOCKET, (40,), errno.EACCES),
        (calls.SOCKET, (38,), errno.EACCES),
        (calls.SOCKETPAIR, (1, 1), None),
        (calls.SOCKETPAIR, (1, 5 | 0o2000000), None),
        (calls.SOCKETPAIR, (1, 2), errno.EACCES),
        (calls.SOCKETPAIR, (1, 3), errno.EACCES),
        (calls.SOCKETPAIR, (30, 1), errno.EACCES),
        (calls.PRLIMIT, (0,), None),
        (calls.PRLIMIT, (1234,), errno.EPERM),
        (calls.SETPRIORITY, (0, 0), None),
        (calls.SETPRIORITY, (0, 1234), errno.EPERM),
        (calls.IOPRIO_SET, (1, 1234), errno.EPERM),
    ],
)
def test_calls_are_judged_by_their_arguments(machine, numbers, arguments, error):
    for what in (READ, WIDE):
        assert answer(program(what, machine), machine, numbers[column(machine)], *arguments) == error


@pytest.mark.parametrize("machine", MACHINES)
def test_no_file_is_made_to_run_as_its_owner(machine):
    code = program(WIDE, machine)
    for numbers, index in calls.MODES:
        if (number := numbers[column(machine)]) is not None:
            assert answer(code, machine, number, *[0] * index, 0o4755) == errno.EPERM
            assert answer(code, machine, number, *[0] * index, 0o2755) is None
    for numbers, index in calls.OPENINGS:
        if (number := numbers[column(machine)]) is not None:
            assert answer(code, machine, number, *[0] * index, 0o102, 0o4600) == errno.EPERM
            assert answer(code, machine, number, *[0] * index, 0o102, 0o600) is None


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("numbers", calls.SCHEDULING.values(), ids=calls.SCHEDULING)
def test_others_are_scheduled_only_where_they_are_the_boxs_own(machine, numbers):
    number = numbers[column(machine)]
    assert answer(program(READ, machine), machine, number, 0) is None
    assert answer(program(READ, machine), machine, number, 1234) == errno.EPERM
    assert answer(program(WIDE, machine), machine, number, 1234) is None


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("family", [2, 10])
def test_the_internet_is_for_who_may(machine, family):
    number = calls.SOCKET[column(machine)]
    assert answer(program(READ, machine), machine, number, family) == errno.EACCES
    assert answer(program(WIDE, machine), machine, number, family) is None


@pytest.mark.parametrize("machine", MACHINES)
def test_other_tables_of_calls_are_closed(machine):
    code = program(WIDE, machine)
    assert answer(code, machine, 20, audit=0x40000003) == errno.EPERM  # i386
    assert answer(code, machine, calls.X32 | 41, 1) == errno.EPERM
    assert answer(code, machine, -1) == errno.EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_a_call_that_is_newer_than_the_list_does_not_exist(machine):
    assert answer(program(WIDE, machine), machine, calls.NEWEST + 1) == errno.ENOSYS
    assert answer(program(WIDE, machine), machine, 10_000) == errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_no_number_stands_in_two_tables(machine):
    tables = [calls.MISSING, calls.REFUSED, calls.SYSTEM_V, calls.METADATA]
    numbers = [
        each[column(machine)] for table in tables for each in table.values() if each[column(machine)] is not None
    ]
    assert len(numbers) == len(set(numbers))
