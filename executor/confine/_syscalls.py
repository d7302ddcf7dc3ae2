"""The system calls that a box refuses: their numbers on each architecture, and with which error."""

from __future__ import annotations

import errno

# Numbers above this one are of system calls that were made after this list: to a program they do not exist, and it
# falls back to what it did before (file_setattr, Linux 6.17).
NEWEST = 469
X32 = 0x40000000  # the bit of x86_64's second table

# What the kernel calls each architecture in ``seccomp_data.arch`` (``AUDIT_ARCH_*`` of linux/audit.h), and its place in
# the tables below.
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
COLUMNS = {"x86_64": 0, "aarch64": 1}

Numbers = tuple[int | None, int | None]  # x86_64, aarch64; None where there is no such call

# Calls that programs try and can do without.
MISSING: dict[str, Numbers] = {
    "clone3": (435, 435),  # its flags are in memory, where a filter cannot look
    "io_uring_setup": (425, 425),  # a ring does what the filter is never asked about
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "openat2": (437, 437),  # the mode of a new file likewise
}

REFUSED: dict[str, Numbers] = {
    # into kernel objects that no path leads to
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    # into other processes
    "pidfd_getfd": (438, 438),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    # out of the view of the files
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "file_setattr": (469, 469),
    # the machine
    "create_module": (174, None),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "iopl": (172, None),
    "ioperm": (173, None),
    "uselib": (134, None),
    "vhangup": (153, 58),
}

# System V memory, semaphores and messages: shared with the whole machine, unless the box has its own.
SYSTEM_V: dict[str, Numbers] = {
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
}

# What Landlock does not hold: the owner, mode, times and attributes of files.
METADATA: dict[str, Numbers] = {
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
}

# Judged by an argument.
CLONE: Numbers = (56, 220)
UNSHARE: Numbers = (272, 97)
IOCTL: Numbers = (16, 29)
SOCKET: Numbers = (41, 198)
SOCKETPAIR: Numbers = (53, 199)
# Those that give a file its mode, and which argument that is.
MODES: tuple[tuple[Numbers, int], ...] = (
    ((90, None), 1),  # chmod
    ((91, 52), 1),  # fchmod
    ((268, 53), 2),  # fchmodat
    ((452, 452), 2),  # fchmodat2
    ((85, None), 1),  # creat
    ((133, None), 1),  # mknod
    ((259, 33), 2),  # mknodat
)
# Likewise where a file is made; after the argument with the flags, which say whether one is.
OPENINGS: tuple[tuple[Numbers, int], ...] = (((2, None), 1), ((257, 56), 2))  # open, openat
PRLIMIT: Numbers = (302, 261)
SETPRIORITY: Numbers = (141, 140)
IOPRIO_SET: Numbers = (251, 30)
PTRACE: Numbers = (101, 117)
PRIO_PROCESS, IOPRIO_WHO_PROCESS = 0, 1
# How another process is scheduled, and on which processors.
SCHEDULING: dict[str, Numbers] = {
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
}

# Of clone: makes a child of the caller's parent, which is outside and waits for no such one.
AS_SIBLING = 0x00008000
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET; of unshare also NEWTIME, which in clone is a signal.
NEW_NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
NEW_TIME = 0x00000080

REFUSED_IOCTLS = (
    0x5412,  # TIOCSTI types into the terminal
    0x541C,  # TIOCLINUX does so on a console
)
# Of what a file system itself is asked, by the byte that says which one: to make subvolumes, to change flags, versions
# and layouts, with a descriptor that was opened for reading, and without Landlock being asked.
FILE_SYSTEM_IOCTLS = (
    0x6600,  # ext4, and what others have taken over from it
    0x7600,
    0x5800,  # XFS, likewise
    0x9400,  # Btrfs, likewise
    0xF500,  # F2FS
    0xBC00,  # bcachefs
    0x9700,  # Ceph
    0xCF00,  # CIFS
)
# These of them only look, or write to a descriptor that is open for it.
ALLOWED_IOCTLS = (
    0x80086601,  # FS_IOC_GETFLAGS, and its form of 32 bits
    0x80046601,
    0xC020660B,  # FS_IOC_FIEMAP
    0xC0046686,  # FS_IOC_MEASURE_VERITY
    0x80087601,  # FS_IOC_GETVERSION
    0x801C581F,  # FS_IOC_FSGETXATTR
    0x40049409,  # FICLONE
    0x4020940D,  # FICLONERANGE
    0xC0189436,  # FIDEDUPERANGE
    0x81009431,  # FS_IOC_GETFSLABEL
)
IOCTL_KIND = 0xFF00

# Of a mode: whoever runs the file becomes its owner. The like for its group is also asked for folders, where it is
# another thing, and every copy of such a folder asks for it.
SET_USER_ID = 0o4000
NEW_FILE = 0o100 | 0o20000000  # O_CREAT, and what O_TMPFILE is by itself

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
# Interfaces, addresses and routes, as every look-up of a name asks for them. The other families of netlink tell of
# other processes' sockets, pass messages between processes, and change the network.
NETLINK_ROUTE = 0
# Connected for good. A pair of datagram sockets can be connected anew, to any socket that has a path.
SOCKET_PAIRS = (1, 5)  # SOCK_STREAM, SOCK_SEQPACKET
SOCKET_KIND = 0xF

NOT_PERMITTED = errno.EPERM
NO_ACCESS = errno.EACCES
NO_SUCH_CALL = errno.ENOSYS
NO_SUCH_PROTOCOL = errno.EPROTONOSUPPORT  # as of a kernel that was built without it: programs go on
