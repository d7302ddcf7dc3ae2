"""Real programs, in their boxes and in none: what they say, how they end, and what they make is the same."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from executor.confine import Profile, start

pytestmark = pytest.mark.usefixtures("landlock", "bubblewrap")

READ = """
ls -la src
cat src/a.py | head -3
grep -rn def src
find . -name '*.py' -newer Makefile -o -name Makefile
sort src/a.py | uniq -c
wc -l src/a.py
sed -n '1,2p' src/a.py
awk '{print $1}' src/a.py
cut -c1-3 src/a.py
diff src/a.py src/b.py
diff <(sort src/a.py) <(sort src/b.py)
sha256sum src/a.py
stat -c %s src/a.py
du -s src
file src/a.py
tar cf - src | tar tf -
echo hi > /dev/null; echo there >&2
cat <<< text
git status --short
git log --oneline
git diff HEAD~ HEAD
git show --stat
git blame src/a.py
git ls-files
git grep def
git stash list
git rev-parse HEAD
python3 --version
python3 -c 'import json, sqlite3, ssl, subprocess; print(subprocess.run(["echo", "x"], capture_output=True).stdout)'
python3 -c 'import tempfile; f = tempfile.TemporaryFile(); f.write(b"x"); print(f.tell())'
python3 -c 'import asyncio; print(asyncio.run(asyncio.sleep(0, "slept")))'
python3 -c 'import threading; t = threading.Thread(target=print, args=("t",)); t.start(); t.join()'
perl -e 'print 6 * 7'
node -e 'console.log(6 * 7)'
npm --version
make -n
gcc --version
jq . package.json
id -u
uname -s
timeout 5 ls
xargs wc -l <<< src/a.py
seq 3 | while read x; do echo $x; done
sleep 0.01 & wait; echo $?
"""

PROJECT = """
make
gcc -o out src/c.c && ./out
python3 -m compileall -q src
python3 -m unittest discover -s src 2>&1 | tail -1
python3 -m venv --without-pip venv && venv/bin/python -c 'print(1)'
git add -A && git commit -qm more && git log --oneline | wc -l
git checkout -qb other && git switch -q -
git stash list; echo x >> src/a.py; git stash -q; git stash pop -q; git status --short
git tag t && git branch -q b && git merge -q b
cp -r src copy && mv copy moved && rm -r moved && ls
mkdir -p a/b && touch a/b/c && chmod 600 a/b/c && stat -c %a a/b/c
tar czf x.tgz src && tar tzf x.tgz
ln -s src link && readlink link
npm pkg get name
npm run --silent hello
node -e 'require("fs").writeFileSync("w", "1")' && cat w
python3 -c 'from multiprocessing import Pool; print(Pool(2).map(abs, [-1, -2]))'
python3 -c 'import socket as s; l = s.create_server(("127.0.0.1", 0)); s.create_connection(l.getsockname()); print(1)'
find . -name '*.py' -exec sed -i s/return/return/ {} +
mktemp >/dev/null && echo made
"""

FILES = {
    "src/a.py": "def a():\n    return 1\n",
    "src/b.py": "def b():\n    return 2\n",
    "src/test_a.py": "import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n",
    "src/c.c": '#include <stdio.h>\nint main(void) { puts("c"); return 0; }\n',
    "Makefile": "all:\n\t@echo built > built; cat built\n",
    "package.json": '{"name": "p", "version": "1.0.0", "scripts": {"hello": "echo hello"}}',
}


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_700_000_000, 1_700_000_000))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gitconfig").write_text("[user]\n\tname = n\n\temail = e@example.org\n")
    env = environment(tmp_path)
    for words in (
        ["init", "-qb", "main"],
        ["add", "-A"],
        ["commit", "-qm", "1"],
        ["commit", "-qm", "2", "--allow-empty"],
    ):
        subprocess.run(["git", *words], cwd=folder, env=env, check=True)
    return folder


def environment(base):
    dates = {"GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z"}
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(base / "home"),
        "LANG": "C.UTF-8",
        "npm_config_offline": "true",
        "npm_config_update_notifier": "false",
        **dates,
    }


def play(line, project, profile):
    how = {"cwd": str(project), "env": environment(project.parent), "stdin": subprocess.DEVNULL}
    how |= {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    command = ["/bin/bash", "-c", line]
    if profile is None:
        done = subprocess.run(command, check=False, **how)
        return done.returncode, done.stdout.decode()
    boxed = start(profile, command, **how)
    said, _ = boxed.process.communicate(timeout=60)
    boxed.close()
    return boxed.process.returncode, said.decode()


def cases(text):
    return [line for line in text.splitlines() if line]


def made(project):
    """What is in the project, git's own files but for its heads left out."""
    return sorted(str(path.relative_to(project)) for path in project.rglob("*") if ".git/" not in f"{path}/")


def compared(lines, name, project, tmp_path):
    closed = tuple(f"{project}/{path}" for path in (".git/hooks/", ".git/config", ".env", ".toolexec/"))
    profile = Profile(name, str(project), unwritable=closed, unreadable=(f"{project}/.env",))
    template = tmp_path / "template"
    shutil.copytree(project, template, symlinks=True)
    different = {}
    for line in lines:
        outcomes = []
        for box in (None, profile):
            if name != "read":
                shutil.rmtree(project)
                shutil.copytree(template, project, symlinks=True)
            outcomes.append((*play(line, project, box), made(project)))
        free, boxed = outcomes
        if free[0] == 127:
            continue  # the program is not installed here
        if free != boxed:
            different[line] = outcomes
    return different


def test_what_reads_says_the_same(project, tmp_path):
    assert not compared(cases(READ), "read", project, tmp_path)


@pytest.mark.parametrize("name", ["project", "network"])
def test_what_builds_makes_the_same(project, tmp_path, name):
    lines = cases(PROJECT) if name == "project" else cases(PROJECT)[:6]
    assert not compared(lines, name, project, tmp_path)
