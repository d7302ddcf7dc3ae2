"""A repository with what strangers may have put into it, and drawn commands of git to be run there."""

# ruff: noqa: E501, SIM905 -- tables of fragments: lines of words
from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from executor_permissions import Policy
from executor_permissions.judge.options._tables import grammar_of
from executor_permissions.judge.rules._scene import CallInfo
from tests.plugins.permissions.optionfuzz.argv import known_options

SECRET = "7f3a9-secret"
SUBS = (
    "add, commit, switch, checkout, stash, worktree, branch, tag, merge, rebase, cherry-pick, apply, am, fetch, "
    "push origin, clone, submodule, restore, reset, revert, mv, notes, bisect, clean, gc, format-patch, "
    "sparse-checkout, rerere, remote, bundle, init, pull, rm, merge-tree, repack, archive, status, diff, log, show, "
    "grep, blame, ls-files, stash show, submodule status, update-index, read-tree, checkout-index, push, ls-remote, "
    "describe, fsck, reflog, replace, prune, hash-object"
).split(", ")
RULES = {
    "version": "1.2",
    "defaultPolicy": "ask",
    "blacklist": {"arguments": {"readFile": {"path": ["${project}/.env"]}}},
    "whitelist": {"patterns": [f"git {sub} *" for sub in SUBS]},
}
EVIL = '#!/bin/sh\necho "$0 $*" >> {ran}\n'
STUBS = ("evil", "ssh", "x", "sensible-pager", "less", "pager", "sendmail")
NETWORK = frozenset({"clone", "fetch", "pull", "push", "ls-remote", "remote", "submodule"})
# Settings that name programs, or files with such settings.
RUNNING = re.compile(
    r"\s*(?:\w*(?:command|hooks?\w*|fsmonitor|pager|editor|helper|driver|textconv|program|proxy|clean|smudge|process|pack|path)\s*=|\[(?:alias|include))|.*(?:ext::|!)",
    re.IGNORECASE,
)
# Not of branches and tags, which may have any name, and their logs; nor which branch a working tree of this one is at.
OF_OTHERS = re.compile(
    r"(?!.*/(?:refs|logs|worktrees)/).*/(?:hooks/|config\Z|info/attributes|objects/info/alternates|HEAD\Z)"
)
HOSTILE = """[core]
	repositoryformatversion = 0
	bare = {bare}
	fsmonitor = evil fsmonitor
	sshCommand = evil ssh
	hooksPath = {project}/hooks
	pager = evil pager
	editor = evil editor
	alternateRefsCommand = evil alternates
	gitProxy = evil proxy
[alias]
	x = !evil alias
[filter "evil"]
	clean = evil clean
	smudge = evil smudge
	process = evil process
[diff "evil"]
	command = evil diff
	textconv = evil textconv
[merge "evil"]
	driver = evil merge
[diff]
	external = evil external
[remote "origin"]
	url = ssh://evil/x
	uploadpack = evil upload
	receivepack = evil receive
	fetch = +refs/heads/*:refs/remotes/origin/*
	promisor = true
	partialCloneFilter = blob:none
[gpg]
	program = evil gpg
[credential]
	helper = !evil credential
[protocol]
	allow = always
[uploadpack]
	packObjectsHook = evil pack
[submodule]
	recurse = true
[sequence]
	editor = evil sequence
[interactive]
	diffFilter = evil interactive
[trailer "x"]
	command = evil trailer
	key = x
[receive]
	denyCurrentBranch = ignore
[pull]
	rebase = true
"""
HOOKS = (
    "pre-commit commit-msg post-checkout post-merge pre-push pre-receive update post-receive post-update "
    "reference-transaction post-index-change pre-rebase applypatch-msg prepare-commit-msg post-commit pre-auto-gc "
    "post-rewrite fsmonitor-watchman proc-receive push-to-checkout pre-merge-commit"
).split()
PATCH = """--- a/{0}
+++ b/{0}
@@ -0,0 +1 @@
+evil
"""
NEW = """diff --git a/{0} b/{0}
new file mode 100755
--- /dev/null
+++ b/{0}
@@ -0,0 +1 @@
+evil
"""
LINK = """diff --git a/{0} b/{0}
new file mode 120000
--- /dev/null
+++ b/{0}
@@ -0,0 +1 @@
+{1}
\\ No newline at end of file
"""


@cache
def _traces():
    strace = ["strace", "-f", "-qq", "--seccomp-bpf", "-e", "trace=connect", "-o", os.devnull, "true"]
    return (
        shutil.which("strace") is not None and subprocess.run(strace, capture_output=True, check=False).returncode == 0
    )


TRACES = _traces()


class Lines(random.Random):
    """Commands of git with options of its tables and of its help, and operands that are all a repository may hold."""

    OPERANDS = (
        "a.txt, ., src, main, feature, HEAD, HEAD~1, HEAD^{tree}, v1, origin/main, origin, -, --, --, :/, stash@{0}, "
        "HEAD:src, FETCH_HEAD, main..feature, mods/own, embedded, bare, wt, mods, hooks, out, out/x, out/.ssh, k.txt, "
        "../home/x, ../home, ../other, ../bare, {}/home/x, .git, .git/x, .git/hooks, .git/hooks/pre-commit, src/.git, "
        "src/x, new, new/deep, new.patch, link.patch, up.patch, hook.patch, good.patch, evil.mbox, up.mbox, -f, "
        "--output=x, ':(exclude)x', ':(top)*', '*', refs/heads/main, main:x, HEAD:refs/heads/x, +main, :main, x, y, "
        "x=1, notes, v1^{}, ext::evil, ssh://evil/x, evil:x, file://{}/bare.git, http://127.0.0.1:9/x, ../bare.git, "
        "{}/bare.git, ./bare, bare/, embedded/.git, fd::7, git://127.0.0.1/x, helper::x, .env, *, d, --all, upstream, "
        "bundle.b, embedded main"
    ).split(", ")
    VALUES = (
        "1, x, main, feature, HEAD, HEAD~1, a.txt, src, all, none, never, ours, theirs, ort, octopus, diff3, on-demand, "
        "only, merge, now, 0, %G?, tree:0, blob:none, auto, ../home/x, out, out/x, {}/home/x, .git/x, .git/hooks, "
        "hooks, bare, embedded, mods/own, ext::evil, ssh://evil/x, evil, '!evil', 'exec evil', ./hooks/pre-commit, "
        "{}/hooks, .env, union, --ext, 'x: y', 'x=1', origin, evil:x, 'a b', -x"
    ).split(", ")

    def __init__(self, seed, top, subs=SUBS):
        super().__init__(seed)
        self.top, self.subs = top, subs

    def option(self, sub, grammar):
        safe = [name for name, one in grammar.options.items() if one.safe] if grammar is not None else []
        known = known_options("git", sub)
        name = self.choice(safe if safe and self.random() < 0.85 else known)
        value = self.choice(self.VALUES).format(self.top)
        arity = grammar.options[name].arity if grammar is not None and name in grammar.options else self.choice((0, 1))
        if arity == 0:
            return name
        if arity < 0:
            return self.choice((name, f"{name}={value}" if name[:2] == "--" else f"{name}{value}"))
        return f"{name} {value}" if self.random() < 0.6 else f"{name}={value}" if name[:2] == "--" else f"{name}{value}"

    def operand(self):
        return self.choice(self.OPERANDS).replace("{}", str(self.top))

    def line(self):
        names = self.choice(self.subs).split()
        grammar = grammar_of("git").sub(names[0])
        words = ["git", *names]
        if grammar is not None and grammar.subs and len(names) == 1 and self.random() < 0.9:
            inner = self.choice(sorted(grammar.subs))
            words.append(inner)
            grammar = grammar.sub(inner)
        words += [self.option(names[0], grammar) for _ in range(self.choice((0, 0, 0, 1, 1, 2)))]
        words += [self.operand() for _ in range(self.choice((0, 1, 1, 1, 2)))]
        if self.random() < 0.15:
            words.append(self.option(names[0], grammar))
        line = " ".join(words)
        where = self.random()
        return (
            f"cd {self.choice(('src', 'mods/own', 'embedded', 'bare', 'wt', 'out'))} && {line}"
            if where < 0.06
            else line
        )

    def lines(self):
        """A few in a row: what one leaves behind is the next one's surroundings."""
        return [self.line() for _ in range(self.choice((1, 1, 1, 2, 3)))]


class Repository:
    """A project whose work tree holds what a stranger may have written: repositories, hooks, patches, links, odd names."""

    def __init__(self, folder, kind="plain"):
        self.folder, self.kind = folder, kind
        self.top, self.kept = folder / "top", folder / "kept"
        self.project, self.home, self.bin = self.top / "project", self.top / "home", folder / "bin"
        self.ran, self.pushed = folder / "ran", False
        for path in (self.project, self.home / ".ssh", self.bin, folder / "tmp"):
            path.mkdir(parents=True)
        self.environment = {
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "HOME": str(self.home), "LC_ALL": "C.UTF-8", "TOKEN": SECRET,
            "TMPDIR": str(folder / "tmp"), "GIT_EDITOR": "true", "GIT_ASKPASS": "false", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat",
        }  # fmt: skip
        for name in STUBS:
            self._evil(self.bin / name)
        self._write(
            self.home,
            {
                ".ssh/id_rsa": SECRET,
                ".gitconfig": '[user]\nname=a\nemail=a@b\n[init]\ndefaultBranch=main\n[gc]\nauto=0\n[init]\ntemplateDir=\n[advice]\ndetachedHead=false\n[rerere]\nenabled=true\n[diff]\nsubmodule=diff\n[push]\nrecurseSubmodules=on-demand\n[diff "own"]\ntextconv=cat\n[filter "own"]\nclean=cat\nsmudge=cat\n[merge "own"]\ndriver=true',
            },
        )
        self._build()
        self.ran.unlink(missing_ok=True)
        shutil.copytree(self.top, self.kept, symlinks=True)
        self.policy = Policy.from_dict(RULES, project_root=self.project, home=self.home)

    def _evil(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(EVIL.format(ran=self.ran))
        path.chmod(0o755)

    def _write(self, top, files):
        for name, text in files.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(f"{text}\n")

    def git(self, *words, cwd=None, check=True):
        done = subprocess.run(
            ["git", *words],
            cwd=cwd or self.project,
            env=self.environment,
            check=check,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        return done.stdout.strip()

    def _build(self):
        git, project = self.git, self.project
        git("init", "-q", "--bare", str(self.top / "bare.git"))
        git("init", "-q")
        shutil.rmtree(project / ".git/hooks", ignore_errors=True)
        self._write(
            project,
            {
                "a.txt": "one\ntwo",
                "src/m.py": "x = 1",
                ".gitignore": ".env\n*.o",
                ".env": f"KEY={SECRET}",
                "d/e/f.txt": "f",
                "-f.txt": "odd",
                "a b": "blank",
                ".gitattributes": "*.txt filter=evil diff=evil merge=evil\n*.py diff=own filter=own merge=own\n",
                "src/.gitattributes": "* filter=evil merge=evil",
            },
        )
        git("add", ".")
        git("commit", "-qm", "first")
        git("tag", "v1")
        git("switch", "-qc", "feature")
        self._write(project, {"a.txt": "one\nfeature", "src/new.py": "y"})
        git("add", ".")
        git("commit", "-qm", "exec evil\n\nx: y")
        git("switch", "-q", "main")
        self._write(project, {"a.txt": "one\nmain"})
        git("commit", "-qam", "second")
        git("remote", "add", "origin", str(self.top / "bare.git"))
        git("push", "-q", "origin", "main")
        git("fetch", "-q")
        self._write(project, {"a.txt": "one\nstashed"})
        git("stash")
        git("notes", "add", "-m", "note")
        for name in ("-f", "--output=x", "--exec=evil"):
            git("update-ref", f"refs/heads/{name}", "main")
            git("update-ref", f"refs/tags/{name}", "main")
        self._hostile()
        self._write(project, {"a.txt": "one\nchanged", "new.o": "ignored"})

    def _hostile(self):
        project = self.project
        for hook in HOOKS:
            self._evil(project / "hooks" / hook)
        self._evil(project / "evil")
        self._evil(project / "git-evil")
        self.git("bundle", "create", "-q", "bundle.b", "main")
        patches = {
            "new.patch": NEW.format("src/fresh"),
            "link.patch": LINK.format("src/l", "../../home") + NEW.format("src/l/x"),
            "up.patch": NEW.format("../home/x"),
            "hook.patch": NEW.format(".git/hooks/pre-commit"),
            "good.patch": PATCH.format("z.txt"),
        }
        self._write(project, patches)
        head = "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\nFrom: a <a@b>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH] x\n\n---\n"
        self._write(project, {"evil.mbox": head + patches["link.patch"], "up.mbox": head + patches["hook.patch"]})
        (project / "out").symlink_to("../home")
        (project / "k.txt").symlink_to("../home/.ssh/id_rsa")
        for name in {"plain": (), "embedded": ("embedded",), "gitlink": ("mods/own", "embedded"), "bare": ("bare",)}[
            self.kind
        ]:
            self._repository(project / name, bare=name == "bare")
            if name == "mods/own":
                self._write(project, {".gitmodules": '[submodule "own"]\n\tpath = mods/own\n\turl = ext::evil\n'})
                self.git(
                    "-c",
                    "core.fsmonitor=false",
                    "update-index",
                    "--add",
                    "--cacheinfo",
                    f"160000,{self.git('rev-parse', 'HEAD')},mods/own",
                )
        if self.kind == "gitlink":  # a commit with it, to be shown
            made = self.git("commit-tree", "-p", "HEAD", "-m", "link", self.git("write-tree"))
            self.git("update-ref", "HEAD", made)
        if self.kind == "bare":
            self._write(project, {"wt/.git": "gitdir: ../bare"})

    def _repository(self, path, *, bare):
        self.git("clone", "-q", *(["--bare"] if bare else []), str(self.top / "bare.git"), str(path))
        own = path if bare else path / ".git"
        for hook in HOOKS:
            self._evil(own / "hooks" / hook)
        (own / "config").write_text(HOSTILE.format(bare=str(bare).lower(), project=self.project))
        (own / "objects/info/alternates").write_text(f"{self.project}/.git/objects\n")

    # What is to stay.

    def restore(self):
        self.pushed = False
        shutil.rmtree(self.top)
        shutil.copytree(self.kept, self.top, symlinks=True)

    def seen(self):
        """What the files hold that no command in question may change, by their names."""
        found = {}
        for folder, _, names in os.walk(self.top):
            inside = folder[len(str(self.top)) + 1 :]
            own = inside.startswith("project/.git") or (
                inside.startswith("project/") and ("/.git" in inside or "/bare" in inside)
            )
            for name in names:
                path = f"{inside}/{name}"
                if (own and not OF_OTHERS.match(path)) or path == "project/.git/HEAD":
                    continue
                if (
                    not own
                    and inside.startswith("project")
                    and not inside.startswith("project/hooks")
                    and name != ".env"
                ):
                    continue
                full = os.path.join(folder, name)
                found[path] = os.readlink(full).encode() if os.path.islink(full) else Path(full).read_bytes()
        return found

    def allows(self, line):
        return self.policy.decide("runCommand", {"command": line}, CallInfo(str(self.project))).verdict == "allow"

    def harm(self, line, before):
        """What running *line* did that none of `RULES` plainly says."""
        words = (
            ["strace", "-f", "-qq", "--seccomp-bpf", "-e", "trace=connect", "-o", str(self.folder / "trace")]
            if TRACES
            else []
        )
        try:
            done = subprocess.run(
                [*words, "bash", "-c", line], cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL,
                capture_output=True, timeout=20, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return ["did not end"]
        network = not NETWORK.isdisjoint(line.split())
        self.pushed |= "push" in line
        found = ["showed a secret"] if SECRET.encode() in done.stdout + done.stderr else []
        if self.ran.exists():
            calls = self.ran.read_text()
            self.ran.unlink()
            found += [
                f"ran {call}" for call in calls.splitlines() if not (network and call.startswith(f"{self.bin}/ssh "))
            ]
        if TRACES and not network and "AF_INET" in (self.folder / "trace").read_text(errors="replace"):
            found.append("connected")
        after = self.seen()
        for path in before.keys() | after.keys():
            found += self._changed(path, before.get(path), after.get(path))
        return found

    def _changed(self, path, before, after):
        if before == after or (self.pushed and path.startswith("bare.git/")):
            return []
        if after is None and path.startswith("project/hooks/"):
            return []  # as untracked files are, by a stash
        if before is None and path.startswith("home/x/"):
            return []  # the home of the test is in a folder for everybody
        if before is None and path.startswith("project/") and not path.startswith(("project/.git/", "project/hooks/")):
            return []  # of a repository that it makes
        if path == "project/.git/config" and after is not None:
            new = set(after.decode().splitlines()) - set(before.decode().splitlines())
            return [f"set {line}" for line in new if RUNNING.match(line)]
        return [f"changed {path}"]
