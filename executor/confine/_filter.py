"""Our filter of system calls (seccomp, see seccomp(2)), as the kernel takes it."""

from __future__ import annotations

import platform
import struct
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from executor.confine import _syscalls as calls

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from executor.confine._values import Box

# Classic BPF: class and mode of the instructions used (linux/bpf_common.h).
_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT = 0x15, 0x35, 0x45
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
# seccomp_data: nr, arch, instruction_pointer, args[6]; both machines are little-endian.
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_INSTRUCTION = struct.Struct("<HBBI")

Code = list[bytes]


@dataclass(frozen=True, slots=True)
class Filter:
    """
    What a filter lets through beside what it always does.

    Attributes:
        metadata: Changing the mode, owner, times and attributes of files.
        internet: Sockets of TCP and UDP.
        system_v: System V memory, semaphores and messages.
        scheduling: Scheduling by the number of a process, which may be one outside, or a thread of its own.
        siblings: Making processes that are its parent's.
    """

    metadata: bool
    internet: bool
    system_v: bool
    scheduling: bool
    siblings: bool = False


def supported() -> bool:
    """Whether there is a filter for this machine."""
    return platform.machine() in calls.COLUMNS


def filter_for(box: Box) -> bytes:
    """The filter of system calls that belongs to *box*."""
    return program(_filter_of(box))


def filters_of_keeper(box: Box) -> tuple[bytes, bytes]:
    """The same in two: that of a keeper, which makes commands, and what these have besides. The second costs little."""
    return program(replace(_filter_of(box), siblings=True)), _no_siblings(platform.machine())


def _filter_of(box: Box) -> Filter:
    apart = box.mechanism == "bubblewrap"  # its files are read-only mounts, its loopback and System V its own
    wide = box.profile != "read"
    return Filter(apart or wide, apart or box.profile == "network", apart, apart)


@lru_cache(maxsize=1)
def _no_siblings(machine: str) -> bytes:
    """Only behind `program`, which looks at the architecture."""
    number = calls.CLONE[calls.COLUMNS[machine]]
    assert number is not None, "every machine has it"
    refusal = _refused_if_any_bit(0, calls.AS_SIBLING)
    steps = [_step(_LOAD, _NUMBER), _step(_IF_EQUAL, number, 0, len(refusal)), *refusal, *_allow()]
    return b"".join(steps)


@lru_cache(maxsize=8)
def program(what: Filter, machine: str | None = None) -> bytes:
    """
    The filter's instructions, 8 bytes each.

    The kernel walks them for each of its calls when the filter is set: they are a search tree, which takes a tenth of
    the time of a list.

    Raises:
        KeyError: There is no filter for the machine, see `supported`.
    """
    here = machine or platform.machine()
    leaves = dict(_leaves(what, calls.COLUMNS[here]))
    starts: dict[int, Code] = {0: _allow()}
    for number, leaf in leaves.items():
        starts[number] = leaf
        if number + 1 not in leaves:
            starts[number + 1] = _allow()
    starts[calls.NEWEST + 1] = _refuse(calls.NO_SUCH_CALL)
    starts[calls.X32] = _refuse(calls.NOT_PERMITTED)
    return b"".join(
        [
            _step(_LOAD, _ARCHITECTURE),
            _step(_IF_EQUAL, calls.AUDIT[here], 1, 0),
            *_refuse(calls.NOT_PERMITTED),
            _step(_LOAD, _NUMBER),
            *_tree(_joined(sorted(starts.items()))),
        ]
    )


def _leaves(what: Filter, column: int) -> Iterable[tuple[int, Code]]:
    """What becomes of each system call that is not simply let through; of two for one, the later."""
    yield from _modes(column)
    groups = [(calls.MISSING, calls.NO_SUCH_CALL), (calls.REFUSED, calls.NOT_PERMITTED)]
    if not what.system_v:
        groups.append((calls.SYSTEM_V, calls.NOT_PERMITTED))
    if not what.metadata:
        groups.append((calls.METADATA, calls.NOT_PERMITTED))
    for group, error in groups:
        for numbers in group.values():
            number = numbers[column]
            if number is not None:
                yield number, _refuse(error)
    if not what.scheduling:
        for numbers in calls.SCHEDULING.values():
            number = numbers[column]
            assert number is not None, "every machine has these"
            yield number, _allowed_if(0, [0], calls.NOT_PERMITTED)
    for numbers, code in (
        (calls.CLONE, _refused_if_any_bit(0, calls.NEW_NAMESPACES | (0 if what.siblings else calls.AS_SIBLING))),
        (calls.UNSHARE, _refused_if_any_bit(0, calls.NEW_NAMESPACES | calls.NEW_TIME)),
        (calls.IOCTL, _ioctl()),
        (calls.SOCKET, _socket([calls.AF_INET, calls.AF_INET6] if what.internet else [])),
        (calls.SOCKETPAIR, _socket_pair()),
        # Only of the process itself: Landlock does not look at these.
        (calls.PRLIMIT, _allowed_if(0, [0], calls.NOT_PERMITTED)),
        (calls.SETPRIORITY, _allowed_for_itself(calls.PRIO_PROCESS)),
        (calls.IOPRIO_SET, _allowed_for_itself(calls.IOPRIO_WHO_PROCESS)),
        # bubblewrap's own process is the first, and under no filter.
        (calls.PTRACE, [_argument(1), _step(_IF_EQUAL, 1, 0, 1), *_refuse(calls.NOT_PERMITTED), *_allow()]),
    ):
        number = numbers[column]
        assert number is not None, "every machine has these"
        yield number, code


def _modes(column: int) -> Iterable[tuple[int, Code]]:
    """No file becomes one that runs as its owner."""
    for table, judged in ((calls.MODES, _refused_if_any_bit), (calls.OPENINGS, _opening)):
        for numbers, index in table:
            number = numbers[column]
            if number is not None:
                yield number, judged(index, calls.SET_USER_ID)


def _step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return _INSTRUCTION.pack(code, then, otherwise, value)


def _allow() -> Code:
    return [_step(_RETURN, _ALLOW)]


def _refuse(error: int) -> Code:
    return [_step(_RETURN, _ERRNO | error)]


def _argument(index: int) -> bytes:
    """Load the lower half of an argument: all that the kernel itself looks at in those judged here."""
    return _step(_LOAD, _ARGUMENTS + 8 * index)


def _refused_if_any_bit(index: int, bits: int) -> Code:
    return [_argument(index), _step(_IF_ANY_BIT, bits, 0, 1), *_refuse(calls.NOT_PERMITTED), *_allow()]


def _allowed_if(index: int, values: Sequence[int], error: int) -> Code:
    return [_argument(index), *_any_of(values), *_refuse(error), *_allow()]


def _allowed_for_itself(kind: int) -> Code:
    """Only what is about this process: the first argument, *kind*, says that a process is meant, and the next is 0."""
    refused = _refuse(calls.NOT_PERMITTED)
    return [_argument(0), _step(_IF_EQUAL, kind, 1, 0), *refused, *_allowed_if(1, [0], calls.NOT_PERMITTED)]


def _any_of(values: Sequence[int]) -> Code:
    """Go on with the next step but one if what is loaded is one of *values*, else with the next."""
    return [_step(_IF_EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)]


def _opening(index: int, bits: int) -> Code:
    """The flags of an opening, and behind them the mode, which is anything unless a file is made."""
    return [
        _argument(index),
        _step(_IF_ANY_BIT, calls.NEW_FILE, 1, 0),
        *_allow(),
        *_refused_if_any_bit(index + 1, bits),
    ]


def _ioctl() -> Code:
    refusal = _refuse(calls.NOT_PERMITTED)
    refused = [step for value in calls.REFUSED_IOCTLS for step in (_step(_IF_EQUAL, value, 0, 1), *refusal)]
    of_file_systems = _allowed_if(1, calls.ALLOWED_IOCTLS, calls.NOT_PERMITTED)
    kind = [_step(_AND, calls.IOCTL_KIND), *_any_of(calls.FILE_SYSTEM_IOCTLS), *_allow(), *of_file_systems]
    return [_argument(1), *refused, *kind]


def _socket(families: Sequence[int]) -> Code:
    netlink = _allowed_if(2, [calls.NETLINK_ROUTE], calls.NO_SUCH_PROTOCOL)
    others = _allowed_if(0, families, calls.NO_ACCESS)
    return [_argument(0), _step(_IF_EQUAL, calls.AF_NETLINK, 0, len(netlink)), *netlink, *others]


def _socket_pair() -> Code:
    pair = [_argument(1), _step(_AND, calls.SOCKET_KIND), *_any_of(calls.SOCKET_PAIRS)]
    refusal = _refuse(calls.NO_ACCESS)
    return [_argument(0), _step(_IF_EQUAL, calls.AF_UNIX, 1, 0), *refusal, *pair, *refusal, *_allow()]


def _joined(starts: Iterable[tuple[int, Code]]) -> list[tuple[int, Code]]:
    """The same ranges, neighbours that do the same made one."""
    joined: list[tuple[int, Code]] = []
    for start, code in starts:
        if not joined or joined[-1][1] != code:
            joined.append((start, code))
    return joined


def _tree(ranges: Sequence[tuple[int, Code]]) -> Code:
    """Search for the range that a number is in, each given by its first."""
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    below, above = _tree(ranges[:middle]), _tree(ranges[middle:])
    assert len(below) < 256, "a jump is one byte"
    return [_step(_IF_AT_LEAST, ranges[middle][0], len(below), 0), *below, *above]
