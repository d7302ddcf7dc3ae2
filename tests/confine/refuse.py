"""
Be a command on a machine that refuses the calls a box is made with: ``refuse.py ROOT WHAT COMMAND…``.

A filter around the whole process refuses WHAT: ``landlock``, ``namespaces``, ``memory`` (that has a descriptor,
and may be run), several with a comma between, or nothing.
"""

import os
import platform
import struct
import sys

X86 = platform.machine() == "x86_64"
LANDLOCK, CLONE, UNSHARE, NEW_USER = 444, 56 if X86 else 220, 272 if X86 else 97, 0x10000000
MEMFD_CREATE = 319 if X86 else 279
LOAD, IF_EQUAL, IF_ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, ERRNO, ENOSYS, EPERM = 0x7FFF0000, 0x50000, 38, 1


def refusing(what):
    steps = [(LOAD, 0, 0, 0)]
    if "landlock" in what:
        steps += [(IF_EQUAL, 0, 1, LANDLOCK), (RETURN, 0, 0, ERRNO | ENOSYS)]
    if "memory" in what:
        steps += [(IF_EQUAL, 0, 1, MEMFD_CREATE), (RETURN, 0, 0, ERRNO | EPERM)]
    if "namespaces" in what:
        for number in (CLONE, UNSHARE):
            steps += [(IF_EQUAL, 0, 4, number), (LOAD, 0, 0, 16), (IF_ANY_BIT, 0, 1, NEW_USER)]
            steps += [(RETURN, 0, 0, ERRNO | EPERM), (LOAD, 0, 0, 0)]
    steps.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


def main():
    root, what, *command = sys.argv[1:]
    sys.path.insert(0, root)
    from executor.confine import _restrict

    if what:
        _restrict.forbid_new_privileges()
        _restrict.filter_this_thread(refusing(what.split(",")))
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
