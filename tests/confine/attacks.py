"""
What a command may try in a box. Run in it: ``attacks.py WORLD.json [NAME ...]``; prints ``{name: how it ended}``.

``done`` means that it worked; anything else is why it did not. An attack gets the world (paths, ports, a process
outside) and raises when it is refused.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import mmap
import os
import pty
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"
ATTACKS = {}
METADATA = {}  # of files outside


def attack(fn):
    ATTACKS[fn.__name__] = fn
    return fn


def metadata(fn):
    METADATA[fn.__name__] = fn
    return attack(fn)


def checked(value):
    if value < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return value


def syscall(number, *arguments):
    whole = (ctypes.c_long(each) if isinstance(each, int) else each for each in arguments)
    return checked(LIBC.syscall(ctypes.c_long(number), *whole))


def write(path, text="canary"):
    with open(path, "w") as file:
        file.write(text)


@attack
def create(world):
    write(f"{world['outside']}/new")


@attack
def overwrite(world):
    write(f"{world['outside']}/file")


@attack
def append(world):
    with open(f"{world['outside']}/file", "a") as file:
        file.write("canary")


@attack
def truncate(world):
    os.truncate(f"{world['outside']}/file", 0)


@attack
def unlink(world):
    os.unlink(f"{world['outside']}/file2")


@attack
def rename(world):
    os.rename(f"{world['outside']}/file3", f"{world['outside']}/file4")


@attack
def move_out(world):
    path = f"{os.environ['TMPDIR']}/moved"
    write(path)
    os.rename(path, f"{world['outside']}/moved")


@attack
def hard_link_out(world):
    path = f"{os.environ['TMPDIR']}/linked"
    write(path)
    os.link(path, f"{world['outside']}/linked")


@attack
def hard_link_in(world):
    """Where a link can be made, what it links to can be written through it."""
    link = f"{os.environ['TMPDIR']}/in"
    os.link(f"{world['outside']}/file", link)
    write(link)


@attack
def symbolic_link(world):
    link = f"{os.environ['TMPDIR']}/link"
    os.symlink(f"{world['outside']}/through", link)
    write(link)


@attack
def make_folder(world):
    os.mkdir(f"{world['outside']}/folder")


@attack
def make_fifo(world):
    os.mkfifo(f"{world['outside']}/fifo2")


@attack
def make_socket(world):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"{world['outside']}/socket")


@attack
def through_proc_root(world):
    write(f"/proc/self/root{world['outside']}/root")


@attack
def through_proc_of_parent(world):
    write(f"/proc/{world['victim']}/root{world['outside']}/parent")


@attack
def through_proc_cwd_of_parent(world):
    write(f"/proc/{world['victim']}/cwd/canary")


@attack
def memfd_program(world):
    made = os.memfd_create("program")
    os.write(made, b"#!/bin/sh\ntouch $1/memfd\n")
    subprocess.run([f"/proc/self/fd/{made}", world["outside"]], pass_fds=[made], check=True)
    os.stat(f"{world['outside']}/memfd")


@attack
def session_of_its_own(world):
    subprocess.run(["setsid", "--wait", "touch", f"{world['outside']}/setsid"], check=True)


@attack
def late_grandchild(world):
    """Orphaned, in a session of its own, after its parent is gone."""
    done, told = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            try:
                write(f"{world['outside']}/late")
            except OSError as error:
                os.write(told, str(error).encode())
        os._exit(0)
    os.wait()
    os.close(told)
    why = os.read(done, 1000)
    os.close(done)
    if why:
        raise OSError(why.decode())


@attack
def from_a_thread(world):
    errors = []

    def run():
        try:
            write(f"{world['outside']}/thread")
        except OSError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


@attack
def hook(world):
    write(f"{world['project']}/.git/hooks/pre-commit")


@attack
def git_config(world):
    write(f"{world['project']}/.git/config")


@attack
def git_config_as_git_does(world):
    path = f"{world['project']}/.git/config"
    write(f"{path}.lock")
    try:
        os.rename(f"{path}.lock", path)
    except OSError:
        os.unlink(f"{path}.lock")
        raise


@attack
def environment_file(world):
    path = f"{world['project']}/.env"
    write(f"{path}.new")
    try:
        os.rename(f"{path}.new", path)
    except OSError:
        os.unlink(f"{path}.new")
        raise


@attack
def missing_policy(world):
    os.makedirs(f"{world['project']}/.toolexec", exist_ok=True)
    write(f"{world['project']}/.toolexec/permissions.json")


@attack
def move_masked_parent(world):
    git = f"{world['project']}/.git"
    os.rename(git, f"{git}2")
    write(f"{git}2/config")
    os.rename(f"{git}2", git)


@attack
def remove_masked_parent(world):
    shutil.rmtree(f"{world['project']}/deep/kept")
    os.makedirs(f"{world['project']}/deep/kept")


@attack
def move_grandparent_of_mask(world):
    deep = f"{world['project']}/deep"
    os.rename(deep, f"{deep}2")
    write(f"{deep}2/kept/file")
    os.rename(f"{deep}2", deep)


@attack
def move_project(world):
    os.rename(world["project"], f"{world['project']}2")
    os.rename(f"{world['project']}2", world["project"])


@attack
def exchange_masked(world):
    """renameat2 with RENAME_EXCHANGE"""
    other = f"{world['project']}/other"
    write(other)
    number = 316 if X86 else 276
    try:
        syscall(number, -100, other.encode(), -100, f"{world['project']}/.git/config".encode(), ctypes.c_uint(2))
    finally:
        os.unlink(other)


@attack
def rename_race(world):
    """A folder and a link to the outside change places while files are made in it."""
    base = f"{os.environ['TMPDIR']}/race"
    os.mkdir(base)
    os.mkdir(f"{base}/a")
    os.symlink(world["outside"], f"{base}/b")
    end = threading.Event()

    def swap():
        while not end.is_set():
            LIBC.syscall(
                ctypes.c_long(316 if X86 else 276),
                ctypes.c_int(-100),
                f"{base}/a".encode(),
                ctypes.c_int(-100),
                f"{base}/b".encode(),
                ctypes.c_uint(2),
            )

    thread = threading.Thread(target=swap)
    thread.start()
    why = None
    try:
        for number in range(2000):
            try:
                write(f"{base}/a/raced{number}")
            except OSError as error:
                why = error
    finally:
        end.set()
        thread.join()
    if not any(name.startswith("raced") for name in os.listdir(world["outside"])):
        raise why or OSError("never raced")


@attack
def read_key(world):
    with open(f"{world['home']}/.ssh/id_rsa") as file:
        return file.read()


@attack
def read_key_through_proc(world):
    with open(f"/proc/self/root{world['home']}/.ssh/id_rsa") as file:
        return file.read()


@attack
def read_key_by_moving(world):
    os.rename(f"{world['home']}/.ssh", f"{world['home']}/seen")
    os.rename(f"{world['home']}/seen", f"{world['home']}/.ssh")


@attack
def read_denied_file(world):
    with open(f"{world['project']}/.env") as file:
        return file.read()


@attack
def read_own_state(world):
    with open(f"{world['home']}/.local/state/toolexec/tasks.db") as file:
        return file.read()


@attack
def read_environment_of_parent(world):
    with open(f"/proc/{world['victim']}/environ", "rb") as file:
        if not file.read():
            raise OSError("empty")


@attack
def secret_variable(world):
    if "GH_TOKEN" not in os.environ and "SSH_AUTH_SOCK" not in os.environ:
        raise OSError("not there")


@attack
def inherited_descriptor(world):
    written = 0
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        try:
            if descriptor > 2 and "outside" in os.readlink(f"/proc/self/fd/{name}"):
                os.write(descriptor, b"canary")
                written += 1
        except OSError:
            continue
    if not written:
        raise OSError("no descriptor was inherited")


@attack
def inherited_folder(world):
    for name in os.listdir("/proc/self/fd"):
        try:
            if int(name) > 2 and os.readlink(f"/proc/self/fd/{name}") == world["outside"]:
                os.close(os.open("through", os.O_CREAT | os.O_WRONLY, dir_fd=int(name)))
                return
        except ValueError:
            continue
    raise OSError("no folder was inherited")


@attack
def out_of_any_folder_that_was_inherited(world):
    for name in os.listdir("/proc/self/fd"):
        try:
            if int(name) > 2:
                os.stat("..", dir_fd=int(name))
                os.close(os.open("../canary", os.O_CREAT | os.O_WRONLY, dir_fd=int(name)))
                return
        except OSError:
            continue
    raise OSError("no folder leads out")


def opened_for_writing(path):
    os.close(os.open(path, os.O_WRONLY))


@attack
def kernel_settings(world):
    """Any file that is the kernel's own, from /proc/sys/kernel/core_pattern to /proc/sysrq-trigger."""
    for folder, folders, names in os.walk("/proc"):
        folders[:] = [name for name in folders if not name.isdigit() and name not in ("self", "thread-self")]
        for name in names:
            with contextlib.suppress(OSError):
                opened_for_writing(f"{folder}/{name}")
                return f"{folder}/{name}"
    raise OSError("none can be written")


@attack
def control_groups(world):
    opened_for_writing("/sys/fs/cgroup/cgroup.procs")


@attack
def scheduled(world):
    for folder in (
        "/etc/cron.d",
        "/var/spool/cron",
        "/var/spool/cron/crontabs",
        "/etc/systemd/system",
        "/var/spool/at",
    ):
        with contextlib.suppress(FileNotFoundError):
            write(f"{folder}/toolexec-canary", "# nothing\n")
            os.unlink(f"{folder}/toolexec-canary")
            return
    raise OSError("no such folder")


@attack
def device(world):
    path = f"{os.environ['TMPDIR']}/device"
    os.mknod(path, 0o600 | stat.S_IFBLK, os.makedev(7, 99))
    opened_for_writing(path)


@attack
def shared_memory(world):
    """What is in /dev/shm is every program's; under bubblewrap it is the box's own."""
    if world["boxed"] == "bubblewrap":
        raise OSError("its own")
    write("/dev/shm/toolexec-canary")
    os.unlink("/dev/shm/toolexec-canary")


@attack
def another_device(world):
    """A disk, a camera, a keyboard, the kernel's messages: any device but the usual ones, only to be read."""
    # ptmx makes a new terminal, which is the command's own.
    usual = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts/ptmx")}
    for folder, _, names in os.walk("/dev"):
        for path in sorted({f"{folder}/{name}" for name in names} - usual):
            with contextlib.suppress(OSError):
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW))
                return path
    raise OSError("none can be read")


@attack
def rights_of_a_program(world):
    """Set-user-ID, and capabilities of files."""
    with open("/proc/self/status") as status:
        if "NoNewPrivs:\t1" in status.read():
            raise OSError("not given")


@attack
def repository_led_elsewhere(world):
    write(f"{world['project']}/.git/commondir", "/elsewhere\n")


@attack
def startup_of_the_users_shell(world):
    with open(f"{world['home']}/.bashrc", "a") as file:
        file.write("canary")


@attack
def received_descriptor(world):
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(world["giver"])
        _, descriptors, _, _ = socket.recv_fds(asking, 10, 1)
        os.write(descriptors[0], b"canary")


@attack
def tcp(world):
    with socket.create_connection(("127.0.0.1", world["tcp"]), timeout=2) as made:
        made.sendall(b"canary")


@attack
def tcp_fast_open(world):
    with socket.socket() as made:
        made.sendto(b"canary", 0x20000000, ("127.0.0.1", world["tcp"]))


@attack
def mptcp(world):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as made:
        made.settimeout(2)
        made.connect(("127.0.0.1", world["tcp"]))


@attack
def udp(world):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.sendto(b"canary", ("127.0.0.1", world["udp"]))
    raise OSError("sent; what arrived is counted outside")


@attack
def vsock(world):
    with socket.socket(40, socket.SOCK_STREAM) as made:
        made.settimeout(1)
        made.connect((1, 9999))


@attack
def docker(world):
    with socket.socket(socket.AF_UNIX) as made:
        made.connect(world["docker"])
        made.sendall(b"canary")


@attack
def session_bus(world):
    with socket.socket(socket.AF_UNIX) as made:
        made.connect("\0" + world["bus"])
        made.sendall(b"canary")


@attack
def log_by_a_pair(world):
    """A pair of datagram sockets needs no socket(2), and can be connected anew."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        one.sendto(b"canary", world["log"])


@attack
def stream_pair_connected_anew(world):
    one, other = socket.socketpair()
    with one, other:
        one.connect(world["docker"])


@attack
def signal_outside(world):
    os.kill(world["victim"], signal.SIGWINCH)


@attack
def limits_of_another(world):
    import resource

    resource.prlimit(world["victim"], resource.RLIMIT_NOFILE, (64, 64))


@attack
def priority_of_another(world):
    os.setpriority(os.PRIO_PROCESS, world["victim"], 19)


@attack
def scheduling_of_another(world):
    os.sched_setscheduler(world["victim"], os.SCHED_BATCH, os.sched_param(0))


@attack
def processors_of_another(world):
    os.sched_setaffinity(world["victim"], {min(os.sched_getaffinity(0))})


@attack
def trace_another(world):
    checked(LIBC.ptrace(ctypes.c_long(16), ctypes.c_long(world["victim"]), None, None))
    os.waitpid(world["victim"], 0x40000000)
    checked(LIBC.ptrace(ctypes.c_long(17), ctypes.c_long(world["victim"]), None, None))


@attack
def memory_of_another(world):
    with open(f"/proc/{world['victim']}/mem", "rb") as file:
        file.read(0)


@attack
def descriptor_of_another(world):
    watched = os.pidfd_open(world["victim"])
    syscall(438, watched, 1, 0)


@attack
def system_v_memory(world):
    made = syscall(29 if X86 else 194, 0x7E57, ctypes.c_size_t(4096), 0o1666)
    if world["boxed"] == "bubblewrap":
        raise OSError("its own")
    syscall(31 if X86 else 195, made, 0, None)


@attack
def keyring(world):
    syscall(248 if X86 else 217, b"user", b"canary", b"x", ctypes.c_size_t(1), ctypes.c_int(-3))


@attack
def ring(world):
    made = syscall(425, 4, ctypes.create_string_buffer(256))
    os.close(made)


@attack
def user_namespace(world):
    pid = os.fork()  # which the attacks that come after this one are not to be in
    if pid == 0:
        os._exit(ctypes.get_errno() if LIBC.unshare(0x10000000) else 0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        raise OSError(code, os.strerror(code))


@attack
def mount(world):
    checked(LIBC.mount(b"none", world["project"].encode(), b"tmpfs", 0, None))


@attack
def unmount(world):
    checked(LIBC.umount2(f"{world['project']}/.git/config".encode(), 2))


@attack
def change_root(world):
    os.chroot("/")


@attack
def other_architecture(world):
    """int 0x80: getpid by the table of 32 bits, where the numbers are others."""
    if not X86:
        raise OSError("x86_64 only")
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    if (said := call()) != os.getpid():
        raise OSError(f"answered {said}")


@attack
def x32(world):
    if not X86:
        raise OSError("x86_64 only")
    syscall(0x40000000 | 41, 1, 1, 0)


@attack
def type_into_the_terminal(world):
    """TIOCSTI into a terminal of its own: the kernel allows that to whoever controls it."""
    inner, outer = pty.openpty()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            fcntl.ioctl(outer, 0x540E, 0)
            fcntl.ioctl(outer, 0x5412, b"x")
        except OSError as error:
            os._exit(error.errno)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.wait()[1])
    os.close(inner)
    os.close(outer)
    if code:
        raise OSError(code, os.strerror(code))


@attack
def flags_of_a_file(world):
    path = f"{os.environ['TMPDIR']}/flagged"
    write(path)
    with open(path) as file:
        value = struct.unpack("i", fcntl.ioctl(file, 0x80086601, b"\0" * 4))[0]
        fcntl.ioctl(file, 0x40086602, struct.pack("i", value | 0x80))  # no access times


@attack
def other_netlink(world):
    """Every family but the one of names: of audit, of other processes' sockets, of messages between processes."""
    opened = []
    for protocol in range(1, 32):
        with contextlib.suppress(OSError):
            socket.socket(16, socket.SOCK_RAW, protocol).close()
            opened.append(protocol)
    if not opened:
        raise OSError("none can be opened")
    return str(opened)


@attack
def other_families(world):
    """AF_ALG, AF_PACKET, AF_BLUETOOTH, AF_XDP, AF_TIPC, AF_CAN, AF_KCM, AF_SMC and whatever else there is."""
    opened = []
    for family in range(64):
        if family in (2, 10, 16):
            continue
        for kind in (1, 2, 3, 5):
            with contextlib.suppress(OSError):
                socket.socket(family, kind).close()
                opened.append((family, kind))
    if not opened:
        raise OSError("none can be opened")
    return str(opened)


@attack
def raw_internet(world):
    for family in (2, 10):
        for protocol in (1, 58, 255):
            with contextlib.suppress(OSError):
                socket.socket(family, socket.SOCK_RAW, protocol).close()
                return
    raise OSError("none can be opened")


@attack
def set_user_id(world):
    """A program that whoever runs it runs as its owner: by a change of its mode, and by making it so."""
    folder = world["project"] if world["boxed"] == "bubblewrap" else os.environ["TMPDIR"]
    ways = {
        "chmod": lambda path: (write(path), os.chmod(path, 0o4755)),
        "fchmod": lambda path: os.fchmod(os.open(path, os.O_CREAT | os.O_RDWR), 0o4755),
        "fchmodat2": lambda path: (write(path), syscall(452, -100, path.encode(), 0o4755, 0)),
        "open": lambda path: os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o4755)),
        "openat2": lambda path: syscall(437, -100, path.encode(), struct.pack("QQQ", 0o101, 0o4755, 0), 24),
        "mknod": lambda path: os.mknod(path, 0o104755),
        "O_TMPFILE": lambda path: os.link(
            f"/proc/self/fd/{os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o4755)}", path, follow_symlinks=True
        ),
    }
    made = []
    for name, way in ways.items():
        path = f"{folder}/set-user-id"
        with contextlib.suppress(OSError):
            way(path)
        with contextlib.suppress(FileNotFoundError):
            if os.stat(path).st_mode & stat.S_ISUID:
                made.append(name)
            os.unlink(path)
    if not made:
        raise OSError("none was made")
    return str(made)


@attack
def child_of_the_parent(world):
    """CLONE_PARENT: whoever started a process gets a child that it knows nothing of."""
    known = os.fork()
    if known == 0:
        LIBC.syscall(ctypes.c_long(56 if X86 else 220), ctypes.c_ulong(0x8011), None, None, None, None)
        os._exit(0)
    os.waitpid(known, 0)
    try:
        os.wait()
    except ChildProcessError as error:
        raise OSError("there is none") from error


@attack
def stop_outside(world):
    os.kill(world["victim"], signal.SIGSTOP)
    os.kill(world["victim"], signal.SIGCONT)


@attack
def signal_by_a_descriptor(world):
    signal.pidfd_send_signal(os.pidfd_open(world["victim"]), signal.SIGWINCH)


@attack
def files_of_another(world):
    for name in ("fd/1", "fd/0", "exe", "map_files", "environ", "maps", "stack"):
        path = f"/proc/{world['victim']}/{name}"
        with contextlib.suppress(OSError):
            if os.path.isdir(path):
                os.listdir(path)
            else:
                with open(path, "rb") as file:
                    file.read(1)
            return name
    raise OSError("none can be read")


@attack
def folder_of_another(world):
    os.listdir(f"/proc/{world['victim']}/cwd/")


@attack
def memory_by_a_call(world):
    local = ctypes.create_string_buffer(8)
    vector = struct.pack("PN", ctypes.addressof(local), 8)
    for number in (310, 311) if X86 else (270, 271):
        try:
            syscall(number, world["victim"], vector, 1, vector, 1, 0)
        except OSError as error:
            if error.errno != errno.EFAULT:  # it may, and there is nothing at this address
                continue
        return
    raise OSError("neither")


@attack
def comparison_with_another(world):
    syscall(312 if X86 else 272, os.getpid(), world["victim"], 1, 0, 0)


@attack
def kernel_objects(world):
    """bpf, userfaultfd, perf events, key rings, message queues."""
    x86, arm = {"bpf": 321, "userfaultfd": 323, "perf": 298, "mq": 240, "keyctl": 250}, {"bpf": 280, "userfaultfd": 282}
    arm |= {"perf": 241, "mq": 180, "keyctl": 219}
    numbers = x86 if X86 else arm
    event = struct.pack("IIQ", 1, 112, 0).ljust(112, b"\0")
    tries = {
        "bpf": (0, struct.pack("IIII", 2, 4, 4, 1).ljust(64, b"\0"), 64),
        "userfaultfd": (1,),
        "perf": (event, 0, -1, -1, 0),
        "mq": (b"canary", 0o102, 0o600, None),
        "keyctl": (0, -3, 1),
    }
    made = []
    for name, arguments in tries.items():
        with contextlib.suppress(OSError):
            syscall(numbers[name], *arguments)
            made.append(name)
    if not made:
        raise OSError("none")
    return str(made)


@attack
def handle_of_a_file(world):
    """A file by its number: past every path."""
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 136)
    number = ctypes.c_int()
    path = f"{world['home']}/.ssh/id_rsa".encode()
    syscall(303 if X86 else 264, -100, path, handle, ctypes.byref(number), 0)


@attack
def new_mounts(world):
    """The newer calls: a file system without a place, a copy of a mount."""
    made = []
    for name, number, arguments in (
        ("fsopen", 430, (b"overlay", 0)),
        ("open_tree", 428, (-100, b"/", 1)),
        ("fspick", 433, (-100, b"/", 0)),
    ):
        with contextlib.suppress(OSError):
            syscall(number, *arguments)
            made.append(name)
    if not made:
        raise OSError("none")
    return str(made)


@attack
def namespaces_by_clone(world):
    for flags in (0x10000000, 0x40000000, 0x20000000, 0x00020000):
        with contextlib.suppress(OSError):
            pid = syscall(56 if X86 else 220, ctypes.c_ulong(flags | signal.SIGCHLD), None, None, None, None)
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)
            return hex(flags)
    raise OSError("none")


@attack
def new_user_by_clone3(world):
    told = struct.pack("8Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    pid = syscall(435, told, ctypes.c_size_t(64))
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


@attack
def files_in_user_space(world):
    os.close(os.open("/dev/fuse", os.O_RDWR))


@attack
def program_without_a_name(world):
    """execveat of a memory file: no path leads to it; the box is around it as around any other."""
    made = os.memfd_create("program", 0)
    with open("/usr/bin/touch", "rb") as program:
        os.write(made, program.read())
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(OSError):
            os.execve(made, ["touch", f"{world['outside']}/nameless"], {"PATH": "/usr/bin"})
        os._exit(1)
    os.waitpid(pid, 0)
    os.stat(f"{world['outside']}/nameless")


@attack
def message_to_a_socket(world):
    """sendmsg with an address, from what was connected to another."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with one, other:
        one.sendmsg([b"canary"], [], 0, world["log"])
    raise OSError("sent; what arrived is counted outside")


@attack
def window_system(world):
    with open(f"{world['home']}/.Xauthority", "rb") as file:
        file.read()


@attack
def whole_file_system(world):
    """What a file system itself is asked, by whoever may only read: a subvolume, a flag, a version, a key."""
    folder = os.open(world["outside"], os.O_RDONLY)
    for number in (0x5000940E, 0x40086602, 0x40086604, 0x40087602, 0xC0506617, 0x401C5820):
        try:
            fcntl.ioctl(folder, number, bytearray(4096))
        except OSError as error:
            if error.errno == errno.EPERM:
                continue
        return hex(number)  # it was asked, and knows no such thing, or did it
    raise OSError("none")


@metadata
def mode(world):
    os.chmod(f"{world['outside']}/file", 0o777)


@metadata
def mode_by_descriptor(world):
    with open(f"{world['outside']}/file") as file:
        os.fchmod(file.fileno(), 0o777)


@metadata
def mode_of_hidden(world):
    os.chmod(f"{world['home']}/.ssh/id_rsa", 0o666)


@metadata
def owner(world):
    os.chown(f"{world['outside']}/file", os.getuid(), os.getgid())


@metadata
def times(world):
    os.utime(f"{world['outside']}/file", (1, 1))


@metadata
def extended_attribute(world):
    os.setxattr(f"{world['outside']}/file", "user.canary", b"x")


@attack
def second_box(world):
    """A box made in the box, of the widest profile, gives nothing back."""
    subprocess.run([*world["launcher"], "--", "touch", f"{world['outside']}/second"], check=True, timeout=20)
    os.stat(f"{world['outside']}/second")


@attack
def another_box_of_the_system(world):
    command = ["bwrap", "--unshare-user", "--bind", "/", "/", "touch", f"{world['outside']}/wrapped"]
    subprocess.run(command, check=True, capture_output=True, timeout=20)


@attack  # the last: it ends the process outside
def signal_by_input(world):
    """F_SETOWN: the kernel itself signals whoever is named when something arrives. Only whoever is named can tell."""
    one, other = socket.socketpair()
    with one, other:
        fcntl.fcntl(one, fcntl.F_SETOWN, world["victim"])
        fcntl.fcntl(one, 10, signal.SIGKILL)  # F_SETSIG
        fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        other.send(b"x")
    raise OSError("whether it was signalled is seen outside")


def main():
    with open(sys.argv[1]) as file:
        world = json.load(file)
    ended = {}
    for name in sys.argv[2:] or ATTACKS:
        began = time.monotonic()
        try:
            said = ATTACKS[name](world)
            ended[name] = "done" if said is None else f"done: {said}"
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            ended[name] = str(error) or type(error).__name__
        if time.monotonic() - began > 10:
            ended[name] += " (slow)"
    sys.stdout.write(json.dumps(ended))


if __name__ == "__main__":
    main()
