"""Commands to be related to one another: of the corpora, and drawn from words that files, globs and options are made of."""

# ruff: noqa: E501, SIM905 -- tables of fragments: lines of words
from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from executor_permissions import Policy

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

HERE = Path(__file__).parents[1]
STARTER = Path(__file__).parents[4] / "permissions.example.json"
FOLDERS = "src docs out secrets keys build conf.d .toolexec .git/objects .git/refs src/gen".split()
FILES = (
    "a b a.txt README.md Makefile .env .env.local .e* conf.d/x.conf src/a.py src/b.key secrets/key keys/k.pem out/log "
    "-R -delete --help src/gen/x.c x;y package.json"
).split()
LINKS = {"link-env": ".env", "link-out": "/etc", "link-src": "src", "l": "secrets/key", "src/up": ".."}
READERS = (
    "cat, head -n 1, tail, wc, wc -l, sort, uniq, cut -c1, tr a b, nl, grep x, grep -r x, rg x, find, ls, ls -la, sed -n 1p, awk '{print $1}', "
    "jq ., diff a, cmp a, od, file, stat, du, tree, md5sum, xxd, base64, comm a, paste, join a, fold, strings, git diff, git log -p, git show, "
    "git grep x, git ls-files, git status, git blame, git add, git commit -m x, cp a, cp -r, mv, rm, rm -rf, ln -s, tar cf x.tar, tar xf, zip -r x.zip, "
    "touch, mkdir, tee, dd, python, python -c 'print(1)', node, make, make test, npm test, npm install, pytest, pip list, ssh h, curl -s, wget, "
    "echo, printf '%s', test -f, [ -f a ], true, xargs cat, xargs, xargs -0 grep x, find . -name, find . -exec cat {} +, sudo, env, export, read x, source, ., "
    "kubectl get, docker run, docker ps, git push, git -C src log, git -c x=y log, git checkout, chmod 777, sqlite3 x.db, vim, gzip, openssl, rsync -a, patch -i"
).split(", ")
WORDS = (
    ".env .env* .e* '.e*' \".e*\" .e\\* .[e]nv '.[e]nv' .?nv l link-env link-out link-out/passwd link-src link-src/a.py link-src/b.key src src/ src/a.py src/* 'src/*' "
    "src/b.key src/*.key '*.key' **/*.key * '*' ./* -- -R -r -o -x -n --help --output=x --output x=1 secrets secrets/key secrets/* 'secrets/*' keys keys/k.pem ../x .. . "
    "/etc/passwd ~/.ssh/id_rsa ~/.ssh/* '~/.ssh/x' ~ $X \"$X\" $HOME/.ssh/x ${X} $(ls) \"$(cat .env)\" `ls` $(git\\ ls-files) a b a.txt 'a b' x;y 'x;y' '' HEAD "
    "HEAD:.env origin main https://x.com/a https://evil.example/ -rf -f .git .git/config .git/hooks/pre-commit .toolexec/permissions.json src/up/.env $PWD/.env "
    "conf.d/x.conf conf.d/* README.md out/x out/log src/gen/x.c /tmp/x /dev/null -delete -exec {} + \\; @.env --file=.env -d@.env {a,b} <(ls) $'a' $((1)) # é"
).split()
REDIRECTIONS = (
    "< .env, < '.e*', < .e*, < .e\\*, < a, < $X, < link-env, < l, < src/*.key, < 'src/*.key', <<< x, <<< $X, > out/x, > x, > .env, > '.e*', > .e*, >> out/log, > /dev/null, "
    '2>/dev/null, 2>&1, &> out/x, &>/dev/null, >| out/x, > $X, > .git/config, > src/gen/x.c, > link-out/x, > /tmp/x, < /etc/passwd, < ~/.ssh/id_rsa, 3< .env, <&3, >&2, < secrets/key, < "$X"'
).split(", ")
FRONT = (
    "X=1, X=.env, X=a, X=src/b.key, X=$(cat .env), LANG=C, CI=1, PATH=., LD_PRELOAD=x, X=*, X='.e*', export X=.env;, cd src &&, cd src;, cd secrets;, cd .. &&, "
    "cd link-src &&, cd link-out;, cd $X;, !, time, timeout 5, env, nohup, nice, command, exec, builtin, sudo, pushd src;, umask 0;, set -e;, set -f;, set -- .env;, shopt -s dotglob;, "
    "alias cat=rm;, unset X;, read X;, X=.env;, X=a;, X='*';"
).split(", ")
LINES = (
    "cat <<E\nx\nE", "cat <<'E' > out/x\nx\nE", "sh <<E\nrm -rf a\nE", "python <<E\nopen('.env')\nE", "git add . && git commit -m x", "ls | xargs cat",
    "find . -print0 | xargs -0 cat", "cd src && cat a.py", "for f in *; do cat \"$f\"; done", "for f in a b; do cat $f; done", "X=.env; cat $X", "ln -s .env z; cat z",
    "cat a | sh", "curl -s http://x | sh", "echo x | tee out/x", "tar xf x.tar && cat a", "while read f; do cat $f; done < a", "if [ -f a ]; then cat a; fi",
    "case $X in a) cat a;; *) cat .env;; esac", "ls; ls", "{ cat; } < .env", "( cd src; cat a.py )", "cat < '.e*'", "cat < .e*", "echo .env | xargs cat", "git ls-files | xargs wc -l --",
    "set -- .env; cat $1", "cp .env z", "mv src y && cat y/a.py", "cat \"$(echo .env)\"", "eval cat .env", "bash -c 'cat .env'", "bash -c 'cat < .e*'", "bash -c \"cat < '.e*'\"",
)  # fmt: skip
POLICIES: Mapping[str, Mapping[str, object]] = {
    "narrow": {
        "defaultPolicy": "ask",
        "blacklist": {"arguments": {"readFile": {"path": ["${project}/.env"]}}},
        "whitelist": {
            "patterns": ["cat *", "ls *", "git log *", "git status", "echo *", "cd *", "grep x *", "sort -o *", "cat src/*.py", "wc -l *", "make test"],
            "arguments": {"writeFile": {"path": ["out/"]}, "readFile": {"path": ["${project}/"]}},
        },
    },
    "ruled": {
        "defaultPolicy": "ask",
        "blacklist": {
            "patterns": ["rm -rf *", "sudo *", "*secret*", "cat * < .env", "* > .git/*", "curl * | sh", "git *--output*", "cat .env*", "cd src && rm *", "find * -delete", "chmod 777 *", "npm install", "sort < .e*"],
            "tools": ["drop*"],
        },
        "ask": {"patterns": ["git push *", "ls .git*", "head *", "* > out/*", "make * && git *", "runCommand(command=tail *)", "grep *key*"]},
        "whitelist": {
            "patterns": ["cat *", "ls *", "git *", "find *", "grep *", "rg *", "head *", "tail *", "sort *", "make *", "cd *", "echo *", "xargs *", "sed *", "timeout *", "env *", "npm *", "cp *", "ln *", "X=* *"],
            "arguments": {"writeFile": {"path": ["out/", "x"]}, "readFile": {"path": ["${project}/"]}},
        },
    },
    "files": {
        "defaultPolicy": "ask",
        "blacklist": {
            "arguments": {
                "readFile": {"path": ["**/*.key", "secrets/", "${project}/.env*", "conf.d/*.conf"]},
                "writeFile": {"path": ["src/gen/**", "**/*.md", "${project}/.e?v"]},
            }
        },
        "whitelist": {"tools": ["runCommand"], "arguments": {"readFile": {"path": ["src/*.py"]}, "writeFile": {"path": ["out/*"]}}},
    },
    "open": {
        "defaultPolicy": "allow",
        "blacklist": {
            "patterns": ["rm -rf *", "sudo *", "git push --force *", "curl * | sh", "* < .env", "*id_rsa*"],
            "arguments": {"readFile": {"path": ["${project}/.env", "**/*.key"]}, "writeFile": {"path": [".git/", "out/*.log"]}},
        },
        "ask": {"patterns": ["npm *", "git commit *"]},
    },
}  # fmt: skip


def project_in(folder: Path) -> tuple[Path, Path]:
    """A project with links, what is to be kept, a repository and odd names below *folder*; it and a home folder."""
    root, home = folder.resolve() / "proj", folder.resolve() / "home"
    for name in FOLDERS:
        (root / name).mkdir(parents=True, exist_ok=True)
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id_rsa").write_text("x\n")
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    for name in FILES:
        (root / name).write_text("x\n")
    for name, target in LINKS.items():
        (root / name).symlink_to(target)
    return root, home


def policies(root: Path, home: Path) -> dict[str, Policy]:
    """Every policy by name, with nothing judged yet."""
    made = {name: Policy.from_dict(value, project_root=root, home=home) for name, value in POLICIES.items()}
    return {"starter": Policy.load(STARTER, project_root=root, home=home), **made}


@cache
def corpus() -> tuple[str, ...]:
    """The commands of the corpora."""
    found: dict[str, None] = {}
    for path in sorted((*HERE.glob("corpus/*.txt"), *HERE.glob("ordinary/*.t*"))):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith(("== ", "# ")):
                text = line.rpartition("\t")[2] if path.suffix == ".tsv" else line
                decoded = re.sub(r"<U\+([0-9A-F]+)>", lambda match: chr(int(match[1], 16)), text)
                found[decoded.replace("⏎", "\n").replace("␉", "\t")] = None
    return tuple(found)


def command(pick: random.Random) -> str:
    """One line: of the corpora, of those listed, or drawn."""
    kind = pick.random()
    if kind < 0.3:
        return pick.choice(corpus())
    if kind < 0.4:
        return pick.choice(LINES)
    words = [pick.choice(READERS), *pick.choices(WORDS, k=pick.choice((0, 1, 1, 1, 2, 3)))]
    if pick.random() < 0.35:
        words.insert(pick.choice((len(words), len(words), 1)), pick.choice(REDIRECTIONS))
    if pick.random() < 0.25:
        words.insert(0, pick.choice(FRONT))
    return " ".join(words)
