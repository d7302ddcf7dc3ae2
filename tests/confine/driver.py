"""
Runs lines, each in a project made anew, and says what each has done. ``driver.py ORDER.json`` prints a JSON list.

The order: ``{"root": …, "world": {…}, "lines": [[line, profile or null], …]}``. What a line did is a list of words:
``canary``, ``changed`` (names outside), ``secret``; what arrived at sockets is counted by who listens there.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys

LIMIT = 20.0


def prepare(world):
    """The project, and the folder outside, as they are before every line."""
    for name in ("project", "outside"):
        folder = world[name]
        for entry in os.listdir(folder) if os.path.isdir(folder) else ():
            path = os.path.join(folder, entry)
            if entry in world["sockets"]:
                continue
            if os.path.isdir(path) and not os.path.islink(path):
                subprocess.run(["chmod", "-R", "u+rwx", path], check=False)
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)
        shutil.copytree(f"{world['template']}/{name}", folder, symlinks=True, dirs_exist_ok=True)


def state(world):
    """All outside the project, without what boxes keep."""
    found = {}
    for top in (world["outside"], world["home"]):
        for folder, folders, files in os.walk(top):
            folders[:] = [name for name in folders if name != "toolexec"]
            for name in (*folders, *files):
                path = os.path.join(folder, name)
                look = os.lstat(path)
                changed = 0 if name in folders else look.st_mtime_ns
                found[path] = (look.st_mode, look.st_uid, look.st_size if name in files else 0, changed)
    return found


def run(line, profile, world):
    """(output, exit code) of one line."""
    env = {**os.environ, **world["env"]}
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    command = ["/bin/bash", "-c", line]
    boxed = None
    if profile is None:
        process = subprocess.Popen(command, cwd=world["project"], env=env, start_new_session=True, **streams)
    else:
        from executor.confine import Profile, start

        boxed = start(Profile.of(profile), command, cwd=world["project"], env=env, start_new_session=True, **streams)
        process = boxed.process
    try:
        said, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if boxed is not None:
        boxed.close()
    return said


def effects(line, profile, world):
    prepare(world)
    before = state(world)
    said = run(line, profile, world)
    after = state(world)
    found = []
    if os.path.lexists(world["canary"]):
        found.append("canary")
    if any(before.get(path) != after.get(path) for path in before.keys() | after.keys()):
        found.append("changed")
    if b"SECRET" in said:
        found.append("secret")
    return found, said[-300:].decode(errors="replace")


def main():
    with open(sys.argv[1]) as file:
        order = json.load(file)
    sys.path.insert(0, order["root"])
    world = order["world"]
    print(json.dumps([effects(line, profile, world) for line, profile in order["lines"]]))


if __name__ == "__main__":
    main()
