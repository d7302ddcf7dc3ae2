"""
What ``always`` was answered to is not asked again, and lets nothing else run.

Commands are drawn with their siblings: other words, options, folders, wrappers, redirections, inputs, arguments of the
tool. What is let through by the answer is run in bash against recorders: they are called as the offered rules say.
"""

# ruff: noqa: E501 -- tables of commands: a line each
from __future__ import annotations

import random
import shlex
import shutil
import subprocess
from itertools import count

import pytest

from executor import ToolCall
from executor_permissions import PermissionPlugin

BASH = shutil.which("bash")
POLICY = {
    "whitelist": {
        "patterns": [
            "cd *",
            "pushd *",
            "popd",
            "echo *",
            "cat *",
            "head *",
            "true",
            "test *",
            "[ *",
            "git add *",
            "ls *",
        ]
    }
}
COMMANDS = [
    "npm install", "npm i -D jest", "npm --prefix src install", "npm config get registry", "npm fund", "npm cache verify", "pnpm -r build", "pnpm why x",
    "pnpm --filter a test", "yarn", "yarn list", "npx prettier .", "pip install -r a.txt", "pip check", "python -m pip install x", "uv run pytest",
    "uv run python script.py", "poetry run pytest", "tox -e py", "pytest -x src/a.py::b", "coverage report", "coverage run -m pytest", "cargo +nightly build",
    "cargo version", "cargo run -- x y", "go env -w GOFLAGS=x", "go doc fmt", "docker logs x", "docker build -t x .", "docker exec c ls", "docker -H tcp://h ps",
    "docker compose -f a.yml ps", "docker compose logs", "kubectl -n prod get pods", "kubectl config view", "kubectl apply -f a.txt", "helm upgrade x y --dry-run",
    "gh pr list", "gh api -X POST repos/x/y", "git pull --rebase", "git log --oneline", "git -C src pull", "git stash list", "git reset --hard", "git commit -am \"it's\"",
    "make deploy", "make -j4 deploy", "make -n deploy", "make -C src", "make FOO=bar deploy", "find . -name '*.pyc' -delete", "find . -name a -exec touch {} +",
    "sed -i s/a/b/ a.txt", "awk -f s.awk a.txt", "rg --pre cat foo", "tar -xzf x.tar -C src", "ssh -i key host uptime", "curl -s https://x.com/a", "curl -o x https://x.com",
    "python script.py a b", "python -c 'print(1)'", "python -m mypkg", "node -e 1", "node --inspect x.js", "perl -e 1", "cp -r src dst", "cp a.txt /tmp/c.txt",
    "rm -r src", "pkill mytool", "chmod +x a.txt", "env FOO=1 make deploy", "timeout 60 make deploy", "nohup make deploy", "nice make deploy", "command make deploy",
    "mytool", "mytool 'a b' \"c'd\" e", "mytool '*'", "mytool a\\ \\*", "mytool \"it's \\\"x\\\" *\"", "mytool -- -x", "mytool ''", "mytool 'x;y'", "mytool '{a,b}'", "mytool '|' sh", "mytool a=b", "mytool '\\*'",
    "cd src && make deploy", "(cd src && make deploy)", "cd lsrc && make x", "npm install && make deploy", "make deploy 2>&1 | head",
    "make deploy &", "if [ -f a.txt ]; then make deploy; fi", "for i in 1 2; do make deploy; done", "[ -f a.txt ] && make deploy",
]  # fmt: skip
WRAPPED = [
    "timeout 5 %s", "nohup %s", "env %s", "nice %s", "stdbuf -oL %s", "CI=1 %s", "PATH=. %s", "LD_PRELOAD=x %s", "X=1; %s", "export X=1; %s", "time %s", "! %s", "command %s", "exec %s", "sudo %s",
    "uv run %s", "npx %s", "bash -c %q", "bash -lc %q", "eval %q", "trap %q EXIT", "echo %q | sh", "watch %q", "ssh h %q", "docker exec c %s", "xargs %s", "echo x | xargs %s", "echo x | %s", "cat a.txt | %s",
    "cd src && %s", "cd src; %s", "cd lsrc && %s", "cd letc && %s", "cd .. && %s", "cd src && cd .. && %s", "(%s)", "{ %s; }", "{ %s; } < a.txt", "(%s) > x", "%s > x", "%s 2> x", "%s < a.txt", "%s <<< x", "%s > /dev/null 2>&1",
    "%s | cat", "%s | sh", "%s | tee x", "%s | %s", "%s && %s", "%s && rm a.txt", "%s; mytool z", "%s &", "%s || true", "%s # x", "for i in 1 2; do %s; done", "while read -r l; do %s; done < a.txt", "until true; do %s; done",
    "if true; then %s; fi", "case x in x) %s;; esac", "f() { %s; }; f", "echo \"$(%s)\"", "echo `%s`", "X=$(%s)", "cat <(%s)", "find . -name a -exec %s ';'", "git add . && %s", "ln -s / l && %s", "touch z && %s", "alias make=rm; %s",
]  # fmt: skip
APPENDED = [
    "x",
    "-v",
    "-q",
    "-h",
    "-n",
    "-i",
    "-f x",
    "-c x",
    "-o x",
    "-C /tmp",
    "--help",
    "--output=x",
    "--config=x",
    "--exec=x",
    "*",
    "../x",
    ".env",
    "/etc/passwd",
    "$X",
    "$(id)",
    "-- x",
]
INSTEAD = ["x", "../x", "-x", "--x=1", "/etc/passwd", ".env", "..", "--", "-", "", "*"]
BESIDE = [
    {"cwd": "src"}, {"cwd": "lsrc"}, {"cwd": "/tmp"}, {"cwd": ".."}, {"cwd": "."}, {"env": {"PATH": "."}}, {"env": {"CI": "1"}}, {"env": {"LD_PRELOAD": "x"}}, {"timeout": 5},
    {"stdin": "x"}, {"input": "x"}, {"executable": "./x"}, {"args": ["x"]}, {"user": "root"}, {"argv": ["mytool", "y"]},
]  # fmt: skip
STUBS = {word for command in COMMANDS for word in command.replace("(", "").split() if word.isalpha()} - {"for", "do", "done", "if", "then", "fi", "in", "cd", "env", "timeout", "nohup", "nice", "command", "head"}  # fmt: skip
REAL = ("timeout", "nohup", "env", "nice", "stdbuf", "cat", "head", "xargs", "find")
RECORDER = """\
#!/bin/sh
read -r line && fed=fed || fed=
printf '%s\\0' "$fed" "$PWD" "${0##*/}" "$@" '/end/' >> "$RECORD"
echo said
"""


def siblings(command):
    """Arguments of calls that are like *command*, and not the same."""
    for form in WRAPPED:
        yield {"command": form.replace("%s", command).replace("%q", shlex.quote(command))}
    for more in APPENDED:
        yield {"command": f"{command} {more}"}
    for beside in BESIDE:
        yield {"command": command, **beside}
    if any(mark in command for mark in "|&;<>$`(\n"):
        return
    words = shlex.split(command)
    yield {"argv": words}
    for at, word in enumerate(words):
        before, after = words[:at], words[at + 1 :]
        changed = [
            [*before, *after],
            [*before, word, word, *after],
            [*before, word + "x", *after],
            [*before, word.swapcase(), *after],
            [*before, "./" + word, *after],
        ]
        changed += [
            [*before, word, *after[:1][::-1], "-v", *after],
            [*before, *after[:1], word, *after[1:]],
            [*before, *word.split("=", 1), *after],
        ]
        changed += [[*before, other, *after] for other in INSTEAD if at]
        yield from ({"command": shlex.join(one)} for one in changed if one and one != words)
        yield {"command": " ".join((shlex.join(before), "\\" + word, shlex.join(after)))}
    for path in ("./", "/usr/bin/", "bin/"):
        yield {"command": path + shlex.join(words)}


class Place:
    """A project with recorders for programs, and a plugin for each policy of answers."""

    def __init__(self, folder):
        self.root, self.bin, self.state = folder / "proj", folder / "bin", folder / "state"
        for made in (self.root / "src", self.root / ".git" / "objects", self.bin, folder / "home"):
            made.mkdir(parents=True)
        (self.root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        for name in ("a.txt", "src/a.py", "script.py", ".env"):
            (self.root / name).write_text("x\n")
        (self.root / "lsrc").symlink_to("src")
        (self.root / "letc").symlink_to("/etc")
        (self.bin / "recorder").write_text(RECORDER)
        (self.bin / "recorder").chmod(0o755)
        for name in {*STUBS, "sudo", "ssh", "rm", "touch", "tee", "sh", "watch", "tox", "id", "ln", "z"} - set(REAL):
            (self.bin / name).symlink_to("recorder")
        for name in REAL:
            (self.bin / name).symlink_to(shutil.which(name))
        self.home, self._numbers = str(folder / "home"), count()

    def plugin(self, answer, state=None):
        asked = []
        channel = lambda approval: asked.append(approval) or answer
        state = state or self.state / str(next(self._numbers))
        made = PermissionPlugin(policy=POLICY, channel=channel, project_root=self.root, home=self.home, state_dir=state)
        return made, asked, state

    def effects(self, args):
        """The programs that were called, each with whether it was fed, its folder and its words; what was written."""
        record = self.root.parent / f"record{next(self._numbers)}"
        before = self._files()
        line = (
            ["bash", "--norc", "-c", args["command"]]
            if "command" in args
            else ["bash", "-c", '"$@"', "bash", *args["argv"]]
        )
        env = {"PATH": str(self.bin), "HOME": self.home, "RECORD": str(record), **args.get("env", {})}
        subprocess.run([BASH, *line[1:]], env=env, cwd=self.root / args.get("cwd", "."), stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)  # fmt: skip
        calls, words = set(), []
        for word in record.read_text().split("\0")[:-1] if record.exists() else ():
            if word == "/end/":
                calls.add(tuple(words))
                words = []
            else:
                words.append(word)
        return calls, self._files() - before

    def _files(self):
        return {str(path) for path in self.root.rglob("*")}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return Place(tmp_path_factory.mktemp("offers").resolve())


def verdict(plugin, args):
    return plugin.decide(ToolCall("c", "runCommand", args)).verdict


def bare(call):
    """What was called, without what only tells how much is said, and how fast it is."""
    fed, folder, *words = call
    return fed, folder, *(word for word in words if word not in ("-v", "-q", "-j4"))


def is_meant(call, meant, opened):
    """Whether a person who has read the rules expects *call*."""
    _, _, *words = bare(call)
    return bare(call) in meant or words == ["git", "add", "."] or any(words[: len(one)] == one for one in opened)


def run_what_is_let_through(place, commands, draw):
    """Answer each command, and run the siblings that *draw* takes, where the answer lets them through."""
    ran = 0
    free = place.plugin("no")[0]
    for command in commands:
        plugin, asked, state = place.plugin("always project")
        assert plugin.check_permission("runCommand", {"command": command})[0]
        elsewhere = place.plugin("no", state)[0]  # another process, which has only read what was kept
        assert verdict(plugin, {"command": command}) == verdict(elsewhere, {"command": command}) == "allow", command
        rules = asked[0].offered_rule
        opened = [rule.split()[:-1] for rule in rules.split("; ") if rule.endswith(" *")]
        meant = set(map(bare, place.effects({"command": command})[0]))
        meant |= set(map(bare, place.effects({"command": rules})[0])) if not opened and ";" not in rules else set()
        for args in draw(list(siblings(command))):
            if verdict(elsewhere, args) == "allow" and verdict(free, args) != "allow":
                ran += 1
                calls, written = place.effects(args)
                assert not [call for call in calls if not is_meant(call, meant, opened)], (rules, args)
                assert not written, (rules, args)
    return ran


@pytest.mark.skipif(BASH is None, reason="needs bash to compare with")
def test_what_a_kept_answer_lets_through_runs_what_was_offered_and_nothing_else(place, monkeypatch):
    monkeypatch.chdir(place.root)
    pick = random.Random(11)
    ran = run_what_is_let_through(place, pick.sample(COMMANDS, 20), lambda found: pick.sample(found, 22))
    assert ran > 40


@pytest.mark.long
@pytest.mark.parametrize("part", range(8))
def test_every_sibling_of_every_command_that_a_kept_answer_lets_through(place, monkeypatch, part):
    monkeypatch.chdir(place.root)
    assert run_what_is_let_through(place, COMMANDS[part::8], lambda found: found) > 100


LOADING = ["pnpm list", "pnpm store path", "yarn why x", "yarn config get x", "cargo version", "cargo audit", "coverage report", "bundle list"]  # fmt: skip


@pytest.mark.parametrize("command", LOADING)
def test_a_program_that_loads_what_the_project_names_is_offered_as_it_stands(place, monkeypatch, command):
    monkeypatch.chdir(place.root)
    plugin, asked, _ = place.plugin("always")
    assert plugin.check_permission("runCommand", {"command": command})[0]
    assert asked[0].offered_rule == command
    assert verdict(plugin, {"command": command}) == "allow"
    assert verdict(plugin, {"command": f"{command} -v"}) == verdict(plugin, {"command": command, "cwd": "src"}) == "ask"
