"""
A machine to throw away: a root of its own with a home, a project and sockets that listen, in which lines are run.

Its programs are this machine's, but for those that stand for harm, which are `stub.c`. Nothing that is done in it, as
root and outside every box, reaches the machine that the tests run on.
"""

# ruff: noqa: E501, SIM905 -- tables of files, and of names
from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYTHON = "/usr/bin/python3"
PROJECT = "/home/user/project"
USER = 1000
# Who they are outside, where they own nothing.
ROOT_OUTSIDE, USER_OUTSIDE = 65534, 65533
LIBC = ctypes.CDLL(None, use_errno=True)
NAMESPACES = (
    0x10000000 | 0x00020000 | 0x40000000 | 0x08000000 | 0x04000000 | 0x20000000
)  # user, mount, net, ipc, uts, pid

# What a corpus names to do harm with, and what would do it for real.
STUBS = """
evil git-evil unknownwrapper sudo doas su shutdown reboot at now screen tmux parallel busybox powershell mkfs mkfs.ext4
kubectl go cargo ruff mypy eslint fd rg rsync gitk gitleaks lsof ruby npmx npx python3x less man vim tree poetry uv
pytest chroot watch date zsh catx grepx fish
""".split()
GOING_ON = ["id", "rm"]  # as themselves, once they have tried
# Shared with this machine, never written.
SHARED = ["lib", "lib32", "lib64", "libexec", "include", "share", "local"]
ETC = ["alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl", "gitconfig", "python3", "python3.11", "vim"]

HARM = "#!/bin/sh\nexec /usr/bin/evil\n"
FILES = {
    "etc/passwd": "root:x:0:0::/home/user:/bin/bash\nuser:x:1000:1000::/home/user:/bin/bash\n",
    "etc/group": "root:x:0:\nuser:x:1000:\n",
    "etc/shadow": "root:*::\n",
    "etc/hosts": "127.0.0.1 localhost evil host a x http https evil.example registry.npmjs.org pypi.org github.com\n",
    "etc/nsswitch.conf": "hosts: files\npasswd: files\ngroup: files\n",
    "home/other/.ssh/id_rsa": "another's\n",
    "home/user/.ssh/id_rsa": "SECRET key\n",
    "home/user/.netrc": "machine x login SECRET password SECRET\n",
    "home/user/.aws/credentials": "x = SECRET\n",
    "home/user/.bashrc": "alias ll=ls\n",
    "home/user/.bash_history": "SECRET\n",
    "home/user/.config/toolexec/permissions.json": "{}\n",
    "home/user/.local/state/toolexec/tasks.db": "SECRET\n",
    "home/user/.gitconfig": "[user]\n\tname = n\n\temail = e@example.org\n[safe]\n\tdirectory = *\n[init]\n\tdefaultBranch = main\n",
    "srv/file": "outside\n",
    "srv/disk": "outside\n",
    "srv/empty/": "",
    "tmp/evil/git": HARM,
    "tmp/evil/ls": HARM,
    "tmp/evil/Makefile": "all:\n\tevil\n",
    "tmp/evil/package.json": '{"name": "evil", "version": "1.0.0", "scripts": {"test": "evil"}}',
    "tmp/git": HARM,
    "tmp/ls": HARM,
}
WORK = {
    "a.txt": "a a\noutside\n",
    "data.txt": "b\na\n",
    "moved.txt": "moved\n",
    "names": "/srv/canary\n",
    "list": "/srv/file\n",
    "x": "evil\n",
    "y": "a\nb\n",
    "a": "a\n",
    "b": "b\n",
    "x.json": "{}",
    ".gitignore": ".env\nsecrets\n.toolexec\n",
    ".env": "TOKEN=SECRET\n",
    ".toolexec/permissions.json": "{}\n",
    "secrets/key": "SECRET\n",
    "build/a": "built\n",
    "docs/a": "docs\n",
    "sub/x": "sub\n",
    "src/a.py": "import os\n",
    "tests/test_a.py": "def test_a(): pass\n",
    "a.sh": "true\n",
    "evil": '#!/bin/sh\nfor each in "$@"; do touch "${each%]}" 2>/dev/null; done; exec evil\n',
    "scripts/evil.sh": HARM,
    "scripts/build.sh": HARM,
    "canary.sh": "touch /srv/canary\n",
    "evil.sh": "evil\n",
    "evil.awk": 'BEGIN { system("evil") }\n',
    "evil.sed": "1e evil\n",
    "canary.awk": 'BEGIN { system("touch /srv/canary") }\n',
    "canary.py": 'open("/srv/canary", "w").close()\n',
    "evil.py": "import os; os.system('evil')\n",
    "a.py": "import os; os.system('evil')\n",
    "x.py": "import os; os.system('evil')\n",
    "x.js": 'require("child_process").execSync("evil")\n',
    "evil.js": 'require("child_process").execSync("evil")\n',
    "package.json": '{"name": "p", "version": "1.0.0", "scripts": {"test": "echo tested"}}',
    "Makefile": "all:\n\t$(CC) -c hello.c -o hello.o\n\t$(X)\ncanary:\n\ttouch $(OUT)\n",
    "canary.mk": "canary:\n\ttouch $(OUT)\n",
    "hello.c": "int main(void) { return 0; }\n",
    "evil.c": '#include <fcntl.h>\n__attribute__((constructor)) static void run(void) { open("/srv/canary", 65, 420); }\n',
    "tools/git-canary": "#!/bin/sh\ntouch /srv/canary\n",
    "tools/ls": '#!/bin/sh\ntouch "$@"\n',
}

SET_UP = r"""
set -e
read_only() {
    mount -o remount,bind,ro "$1" 2>/dev/null || mount -o remount,bind,ro,nosuid,nodev "$1"
}
mount --bind "$1" "$1"
cd "$1"
while read -r source target; do
    mount --rbind "$source" "./$target"
    read_only "./$target"
done < mounts
rm mounts
mount -t proc proc ./proc
for name in null zero full random urandom tty; do mount --bind "/dev/$name" "./dev/$name"; done
mount -t devpts -o newinstance,ptmxmode=0666 devpts ./dev/pts
mount --bind ./srv/disk ./dev/sda
mkdir .old
pivot_root . .old
cd /
umount -l .old
rmdir .old
shift
exec "$@"
"""


def missing() -> str:
    """What there is not here to make a machine; empty if nothing."""
    programs = [name for name in ("unshare", "cc", "git", "bwrap") if shutil.which(name) is None]
    if not os.access(PYTHON, os.X_OK):
        programs.append(PYTHON)
    return f"not installed: {', '.join(programs)}" if programs else ""


def _apart() -> None:
    """Put this process, and what it starts, into namespaces of their own, as the root of these and of nothing else."""
    told, tell = os.pipe()
    pid, maps = os.getpid(), {"uid_map": os.getuid(), "gid_map": os.getgid()}
    helper = os.fork()
    if helper == 0:  # stays outside, where it may say who is who
        os.close(tell)
        if not os.read(told, 1):  # there is nobody any more
            os._exit(1)
        if maps["uid_map"]:
            _write(pid, "setgroups", "deny")
        for name, own in maps.items():
            _write(pid, name, f"0 {own} 1" if maps["uid_map"] else f"0 {ROOT_OUTSIDE} 1\n{USER} {USER_OUTSIDE} 1")
        os._exit(0)
    if LIBC.unshare(NAMESPACES):
        error = ctypes.get_errno()
        raise OSError(error, f"unshare: {os.strerror(error)}")
    os.write(tell, b"x")
    if os.waitpid(helper, 0)[1]:
        raise OSError("no user can be mapped")
    if not maps["uid_map"]:
        os.setgroups([])
    os.setgid(0)
    os.setuid(0)


def _write(pid: int, name: str, text: str) -> None:
    with open(f"/proc/{pid}/{name}", "w") as file:
        file.write(text)


@dataclass(frozen=True)
class Machine:
    """
    Attributes:
        base: Its root, on this machine.
        user: Whether lines are run by its ordinary user, else by its root. Outside it neither is root: what is no
            namespace's own (the clock, the kernel's settings, devices, modules) is out of their reach.
    """

    base: Path
    user: bool

    def play(self, lines: list[tuple[str, dict | None]]) -> list[dict]:
        """What each of *lines* did, with the profile of its box, or without one."""
        (self.base / "order.json").write_text(json.dumps({"user": self.user, "lines": lines}))
        self._mounts()
        command = ["unshare", "--fork", "--kill-child", "sh", "-c", SET_UP, "sh", str(self.base)]
        done = subprocess.run(
            [
                sys.executable,
                "-I",
                __file__,
                *command,
                PYTHON,
                "-I",
                "/driver.py",
            ],  # a process of several threads may not
            env={"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout)

    def _mounts(self) -> None:
        told = [f"{ROOT} opt/toolexec"]
        told += [f"/usr/{name} usr/{name}" for name in SHARED if os.path.isdir(f"/usr/{name}")]
        told += [f"/usr/{name} usr/.{name}" for name in ("bin", "sbin")]
        told += [f"{self.base}.{name} usr/{name}" for name in ("bin", "sbin")]
        told += [f"/etc/{name} etc/{name}" for name in ETC if os.path.exists(f"/etc/{name}")]
        (self.base / "mounts").write_text("\n".join(told) + "\n")


def make(base: Path, *, user: bool) -> Machine:
    """A machine whose root is *base*."""
    for name, text in {**FILES, **{f"{PROJECT[1:]}/{name}": text for name, text in WORK.items()}}.items():
        path = base / name
        if name.endswith("/"):
            path.mkdir(parents=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if text.startswith("#!"):
            path.chmod(0o755)
    _programs(base)
    for name in ("proc", "dev/pts", "dev/shm", "run", "opt/toolexec", "usr/.bin", "usr/.sbin", "usr/bin", "usr/sbin"):
        (base / name).mkdir(parents=True, exist_ok=True)
    for name in SHARED:
        if os.path.isdir(f"/usr/{name}"):
            (base / "usr" / name).mkdir()
    for name in ETC:
        if os.path.isdir(f"/etc/{name}"):
            (base / "etc" / name).mkdir()
        elif os.path.exists(f"/etc/{name}"):
            (base / "etc" / name).touch()
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        if os.path.lexists(f"/{name}"):
            (base / name).symlink_to(f"usr/{name}")
    for name in ("null", "zero", "full", "random", "urandom", "tty", "sda"):
        (base / "dev" / name).touch()
    for name, target in {
        "fd": "/proc/self/fd",
        "stdin": "/proc/self/fd/0",
        "stdout": "/proc/self/fd/1",
        "stderr": "/proc/self/fd/2",
        "ptmx": "pts/ptmx",
    }.items():
        (base / "dev" / name).symlink_to(target)
    _repository(base / PROJECT[1:], base)
    (base / "tmp").chmod(0o1777)
    (base / "var").mkdir()
    (base / "var" / "run").symlink_to("/run")
    (base / PROJECT[1:] / "link").symlink_to("/srv")
    shutil.copy(HERE / "driver.py", base / "driver.py")
    if os.getuid() == 0:
        _give(Path(f"{base}.bin"), ROOT_OUTSIDE)
        _give(base, USER_OUTSIDE if user else ROOT_OUTSIDE)
    return Machine(base, user)


def _give(folder: Path, owner: int) -> None:
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, owner, owner, follow_symlinks=False)


def _programs(base: Path) -> None:
    stub, going_on = base.with_name("stub"), base.with_name("going_on")
    for made, more in ((stub, []), (going_on, ["-DGOING_ON"])):
        subprocess.run(["cc", *more, "-w", "-o", made, HERE / "stub.c"], check=True, capture_output=True)
    for kind in ("bin", "sbin"):
        folder = Path(f"{base}.{kind}")
        folder.mkdir()
        for name in os.listdir(f"/usr/{kind}"):
            (folder / name).symlink_to(f"/usr/.{kind}/{name}")
        for name in (*STUBS, *GOING_ON):
            (folder / name).unlink(missing_ok=True)
            shutil.copy(going_on if name in GOING_ON else stub, folder / name)
    bubblewrap = Path(f"{base}.bin", "bwrap")  # which must be root's
    if bubblewrap.is_symlink():
        bubblewrap.unlink()
        shutil.copy("/usr/bin/bwrap", bubblewrap)
    Path(f"{base}.bin", "python").symlink_to("python3")


def _repository(project: Path, base: Path) -> None:
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "init.defaultBranch=main"]
    script = [
        ["cc", "-shared", "-fPIC", "-o", "evil.so", "evil.c"],
        ["cc", "-c", "hello.c"],
        ["tar", "cf", "t.tar", "a.txt"],
        ["tar", "cf", "x.tar", "a.txt"],
        [*git, "init", "-q", "."],
        [*git, "add", "-A", "."],
        [*git, "commit", "-qm", "1"],
        ["sed", "-i", "1s/a/b/", "a.txt"],
        [*git, "commit", "-qam", "2"],
        [*git, "config", "remote.origin.url", "http://evil/x.git"],
        [*git, "config", "branch.main.remote", "origin"],
        [*git, "config", "branch.main.merge", "refs/heads/main"],
        *[
            command
            for repository in ("tools/repo", "src", str(base / "tmp/evil"))
            for command in (
                [*git, "init", "-q", repository],
                [*git, "-C", repository, "config", "core.fsmonitor", "evil; false"],
            )
        ],
    ]
    for command in script:
        subprocess.run(command, cwd=project, check=True, capture_output=True)
    for hook in project.glob(".git/hooks/*"):
        hook.unlink()


if __name__ == "__main__":
    _apart()
    os.execvp(sys.argv[1], sys.argv[1:])
