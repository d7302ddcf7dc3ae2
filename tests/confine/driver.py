"""
Runs lines in the machine to throw away, each in a project as it was, and says what each did. Reads ``/order.json``:
``{"user": true or false, "lines": [[line, profile or null], …]}``; prints a JSON list of ``{"did": …, "said": …}``.

What a line did, a list of words: ``changed PATH``, outside or what is closed in the project; ``project PATH``, in it;
``secret``; ``heard NAME`` of a socket.
"""

import contextlib
import fcntl
import json
import os
import resource
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile

LIMIT = 3.0
LARGEST = 1 << 26  # bytes of a file that a line may write
USER = 1000
HOME, PROJECT = "/home/user", "/home/user/project"
BOXES = f"{HOME}/.local/state/toolexec/boxes"
CLOSED = tuple(f"{PROJECT}/{name}" for name in (".git/hooks", ".git/config", ".env", ".toolexec"))
FIXED = ("/usr", "/lib", "/bin", "/sbin", "/proc", "/dev", "/opt", "/driver.py", "/order.json", BOXES)
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": HOME,
    "SHELL": "/bin/bash",
    "LANG": "C.UTF-8",
    "GH_TOKEN": "SECRET-TOKEN",
    "SSH_AUTH_SOCK": "/srv/agent.sock",
    "FILTER_BRANCH_SQUELCH_WARNING": "1",
    "PIP_BREAK_SYSTEM_PACKAGES": "1",
    "PIP_RETRIES": "0",
    "npm_config_fetch_retries": "0",
    "npm_config_update_notifier": "false",
}
SOCKETS = {
    "http": (socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 80)),
    "https": (socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 443)),
    "ssh": (socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 22)),
    "tcp": (socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 7777)),
    "udp": (socket.AF_INET, socket.SOCK_DGRAM, ("0.0.0.0", 7778)),
    "names": (socket.AF_INET, socket.SOCK_DGRAM, ("0.0.0.0", 53)),
    "docker": (socket.AF_UNIX, socket.SOCK_STREAM, "/run/docker.sock"),
    "agent": (socket.AF_UNIX, socket.SOCK_STREAM, "/srv/agent.sock"),
    "log": (socket.AF_UNIX, socket.SOCK_DGRAM, "/srv/log"),
    "bus": (socket.AF_UNIX, socket.SOCK_STREAM, "\0session-bus"),
}


class Ears:
    """A process that listens, as root; it is asked what it has heard."""

    def __init__(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_:
            fcntl.ioctl(any_, 0x8914, struct.pack("16sh22x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up
        bound = {}
        for name, (family, kind, address) in SOCKETS.items():
            made = bound[name] = socket.socket(family, kind)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if isinstance(address, str):
                _remove(address)
            made.bind(address)
            if kind == socket.SOCK_STREAM:
                made.listen(64)
            made.setblocking(False)
            if family == socket.AF_UNIX and not address.startswith("\0"):
                os.chmod(address, 0o777)
        self._here, there = socket.socketpair()
        if os.fork() == 0:
            self._here.close()
            _listen(bound, there)
            os._exit(0)
        there.close()
        for made in bound.values():
            made.close()

    def heard(self):
        """The names of the sockets at which something arrived since the last time."""
        self._here.sendall(b"?")
        return json.loads(self._here.recv(1000))


def _listen(bound, asked):
    names, heard = {made.fileno(): name for name, made in bound.items()}, set()
    while True:
        for ready in select.select([*names, asked], [], [])[0]:
            if ready is not asked:
                _take(bound[names[ready]], names[ready], heard)
                continue
            if not asked.recv(1):
                return
            for left in select.select([*names], [], [], 0)[0]:
                _take(bound[names[left]], names[left], heard)
            asked.sendall(json.dumps(sorted(heard)).encode())
            heard.clear()


def _take(made, name, heard):
    with contextlib.suppress(OSError):
        while True:
            heard.add(name)
            if made.type == socket.SOCK_DGRAM:
                made.recv(100)
                continue
            peer, _ = made.accept()
            with peer:
                if name == "http":
                    peer.settimeout(0.5)
                    with contextlib.suppress(OSError):
                        peer.recv(4096)
                        peer.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nevil\n")


def look(path):
    found = os.lstat(path)
    # A folder is what is in it; a box makes and removes placeholders.
    changed = 0 if stat.S_ISDIR(found.st_mode) else found.st_ctime_ns
    return (found.st_mode, found.st_uid, found.st_gid, 0 if stat.S_ISDIR(found.st_mode) else found.st_size, changed)


def state():
    """All of the machine that can be written."""
    found, waiting = {}, ["/"]
    while waiting:
        folder = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.path.startswith(FIXED):
                    continue
                found[entry.path] = look(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
    return found


class Original:
    """The machine as it was, and the way back to it."""

    def __init__(self):
        self.state = state()
        self._contents = {}
        for path, (mode, *_) in self.state.items():
            if stat.S_ISREG(mode):
                with open(path, "rb") as file:
                    self._contents[path] = file.read()
            elif stat.S_ISLNK(mode):
                self._contents[path] = os.readlink(path)

    def restore(self, now):
        """Undo what made it *now*."""
        changed = sorted(path for path in now.keys() | self.state.keys() if now.get(path) != self.state.get(path))
        for path in changed:
            if path not in self.state or stat.S_IFMT(now.get(path, self.state[path])[0]) != stat.S_IFMT(
                self.state[path][0]
            ):
                _remove(path)
        for path in changed:
            if path in self.state:
                self._put_back(path)
                self.state[path] = look(path)

    def _put_back(self, path):
        mode, owner, group, *_ = self.state[path]
        if stat.S_ISDIR(mode):
            os.makedirs(path, exist_ok=True)
        elif stat.S_ISLNK(mode):
            _remove(path)
            os.symlink(self._contents[path], path)
        elif stat.S_ISREG(mode):
            _remove(path)
            with open(path, "wb") as file:
                file.write(self._contents[path])
        else:
            return
        if (os.lstat(path).st_uid, os.lstat(path).st_gid) != (owner, group):
            os.chown(path, owner, group, follow_symlinks=False)
        if not stat.S_ISLNK(mode):
            os.chmod(path, stat.S_IMODE(mode))


def _remove(path):
    with contextlib.suppress(FileNotFoundError, ValueError):  # an abstract address is no path
        if os.path.isdir(path) and not os.path.islink(path):
            subprocess.run(["/usr/.bin/chmod", "-R", "u+rwx", path], check=False)
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)


def run(line, profile):
    """The output of one line."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    command = ["/bin/bash", "-c", line]
    boxed = None
    try:
        if profile is None:
            process = subprocess.Popen(command, cwd=PROJECT, env=ENVIRONMENT, start_new_session=True, **streams)
        else:
            from executor.confine import Profile, start

            boxed = start(Profile.of(profile), command, cwd=PROJECT, env=ENVIRONMENT, start_new_session=True, **streams)
            process = boxed.process
    except ValueError as error:
        return str(error).encode()
    try:
        said, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
        said += b"\ntook too long"
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if boxed is not None:
        boxed.close()
    return said


def leaks(path):
    with contextlib.suppress(OSError):
        if stat.S_ISREG(os.lstat(path).st_mode):
            with open(path, "rb") as file:
                return b"SECRET" in file.read()
    return False


def effects(line, profile, original, ears):
    said = run(line, profile)
    now = state()
    changed = sorted(path for path in now.keys() | original.state.keys() if now.get(path) != original.state.get(path))
    did = []
    for path in changed:
        inside = path.startswith(f"{PROJECT}/") and not path.startswith(CLOSED)
        did.append(f"{'project' if inside else 'changed'} {path}")
        if inside and leaks(path):
            did.append("secret")
    if b"SECRET" in said:
        did.append("secret")
    did += [f"heard {name}" for name in ears.heard()]
    original.restore(now)
    return {"did": did, "said": said[-300:].decode(errors="replace")}


def main():
    sys.path.insert(0, "/opt/toolexec")
    with open("/order.json") as file:
        order = json.load(file)
    ears = Ears()
    if order["user"]:
        os.setgid(USER)
        os.setuid(USER)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, LARGEST))
    os.environ |= {"HOME": HOME}
    os.makedirs(BOXES, mode=0o700, exist_ok=True)
    tempfile.tempdir = "/tmp"
    if any(profile for _, profile in order["lines"]):
        warm_up()
    original = Original()
    print(json.dumps([effects(line, profile, original, ears) for line, profile in order["lines"]]))


def warm_up():
    """What is tried once in a process is tried, and the boxes are what they should be."""
    from executor.confine import Profile, box_of

    found = {name: box_of(Profile(name, PROJECT)).mechanism for name in ("read", "project", "network")}
    assert found == {"read": "landlock", "project": "bubblewrap", "network": "bubblewrap"}, found


if __name__ == "__main__":
    main()
