"""
Every attack that can be run, run for real with the reader switched off: every command is allowed by a rule, and the
box alone is left. The same lines without a box leave their canary: else they would prove nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from executor_permissions import Policy

HERE = Path(__file__).parent
SAMPLE = 4  # of so many lines one is run, but for the long form
POLICY = {
    "version": "1.2",
    "whitelist": {"tools": ["runCommand"]},
    "blacklist": {
        "arguments": {
            "readFile": {"path": ["~/.ssh/", "${project}/.env"]},
            "writeFile": {"path": ["${project}/.git/", "${project}/.env"]},
        }
    },
}
FILES = {
    "a.txt": "a a\noutside\n",
    "data.txt": "b\na\n",
    "moved.txt": "moved\n",
    "names": "@C\n",
    "x.json": "{}",
    ".env": "TOKEN=SECRET\n",
    "evil": '#!/bin/sh\nfor each in "$@"; do touch "${each%]}" 2>/dev/null; done; touch @C\n',
    "canary.sh": "touch @C\n",
    "canary.awk": 'BEGIN { system("touch @C") }\n',
    "canary.py": 'open("@C", "w").close()\n',
    "Makefile": "canary:\n\ttouch $(OUT)\n",
    "canary.mk": "canary:\n\ttouch $(OUT)\n",
    "hello.c": "int main(void) { return 0; }\n",
    "evil.c": '#include <fcntl.h>\n__attribute__((constructor)) static void run(void) { open("@C", 65, 420); }\n',
    "tools/git-canary": "#!/bin/sh\ntouch @C\n",
    "tools/ls": '#!/bin/sh\ntouch "$@"\n',
}


def lines():
    found = []
    for line in (HERE / "runnable.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith(("#", "==")):
            found.append(line.replace("⏎", "\n"))
    return found


@pytest.fixture
def template(world):
    """What the project and the folder outside are before every line."""
    project, outside = world.base / "template" / "project", world.base / "template" / "outside"
    (outside / "empty").mkdir(parents=True)
    (outside / "file").write_text("outside\n")
    for name, text in FILES.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("@C", str(world.outside / "canary")))
        if text.startswith("#!"):
            path.chmod(0o755)
    (project / "link").symlink_to(world.outside)
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "init.defaultBranch=main"]
    script = [
        ["cc", "-shared", "-fPIC", "-o", "evil.so", "evil.c"],
        ["cc", "-c", "hello.c"],
        ["tar", "cf", "t.tar", "a.txt"],
        [*git, "init", "-q", "."],
        [*git, "add", "-A", "."],
        [*git, "commit", "-qm", "1"],
        ["sed", "-i", "1s/a/b/", "a.txt"],
        [*git, "commit", "-qam", "2"],
        [*git, "init", "-q", "tools/repo"],
        [*git, "-C", "tools/repo", "config", "core.fsmonitor", f"touch {world.outside}/canary; false"],
    ]
    for command in script:
        subprocess.run(command, cwd=project, check=True, capture_output=True)
    for path in (world.project, world.outside):
        subprocess.run(["rm", "-rf", *path.iterdir()], check=True)
    return world.base / "template"


@pytest.fixture
def play(world, template, listening):
    """Runs lines in their boxes, or in none; gives for each what it did, and how often something was heard."""
    (world.home / ".gitconfig").write_text("[user]\n\tname = n\n\temail = e@example.org\n[safe]\n\tdirectory = *\n")
    world.give_away()
    policy = Policy.from_dict(POLICY, project_root=world.project, home=world.home)

    def run(chosen, *, in_boxes):
        told = world.told
        marks = {
            "@C": f"{world.outside}/canary", "@S": f"{world.outside}/file", "@O": str(world.outside),
            "@K": f"{world.home}/.ssh/id_rsa", "@N": None, "@U": told["docker"],
        }  # fmt: skip
        order = []
        for line in chosen:
            kind, _, rest = line.partition(" ")
            marks["@N"] = str(told["udp" if kind == "udp" else "tcp"])
            text = rest if kind in ("net", "udp", "unix") else line
            for mark, value in marks.items():
                text = text.replace(mark, value)
            profile = None
            if in_boxes:
                decision = policy.decide("runCommand", {"command": text}, cwd=str(world.project))
                profile = policy.boxes.choose(decision.parts, {}).profile.to_dict()  # what is denied too
                profile["name"] = {"network": "project"}.get(profile["name"], profile["name"])
            order.append((text, profile))
        env = {"GH_TOKEN": "SECRET-TOKEN", "HOME": str(world.home), "PATH": os.environ["PATH"]}
        where = {name: str(getattr(world, name)) for name in ("home", "project", "outside")}
        sockets = [Path(told[name]).name for name in ("docker", "log", "giver")]
        where |= {"template": str(template), "canary": marks["@C"], "env": env, "sockets": sockets}
        world.heard.clear()
        root = str(HERE.parents[1])
        path = world.base / "order.json"
        path.write_text(json.dumps({"root": root, "world": where, "lines": order}))
        command = [*world.front, world.python, "-I", str(world.base / "driver.py"), str(path)]
        (world.base / "driver.py").write_bytes((HERE / "driver.py").read_bytes())
        done = subprocess.run(command, env=world.environment(**env), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout), len(world.heard)

    return run


def check(play, chosen, capsys):
    boxed, heard = play(chosen, in_boxes=True)
    done = {line: did for line, (did, _) in zip(chosen, boxed, strict=True) if did}
    free, free_heard = play(chosen, in_boxes=False)
    connecting = [line for line in chosen if line.split(" ", 1)[0] in ("net", "udp", "unix")]
    worked = [line for line, (did, _) in zip(chosen, free, strict=True) if did]
    idle = {line: said for line, (did, said) in zip(chosen, free, strict=True) if not did and line not in connecting}
    effective = len(worked) + min(free_heard, len(connecting))
    with capsys.disabled():
        print(f"\n{len(chosen)} lines: {len(done)} did something in a box, {effective} without")
    assert not done
    assert heard == 0
    assert effective >= 0.95 * len(chosen), idle


def test_what_can_be_run_does_nothing_in_a_box(play, landlock, bubblewrap, capsys):
    check(play, lines()[::SAMPLE], capsys)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_all_of_it_does_nothing_in_a_box(play, landlock, bubblewrap, capsys):
    check(play, lines(), capsys)
