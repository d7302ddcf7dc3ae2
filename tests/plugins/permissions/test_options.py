"""What the tables of options say about arguments: what a wildcard covers, which files are named, what runs inside."""

# ruff: noqa: E501, SIM905 -- tables of cases: a line each
from __future__ import annotations

import dataclasses
import random
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from executor_permissions import Policy
from executor_permissions.judge.bash._words import REST, Command, Glob, Number, PublicWord, PublicWords, Unknown
from executor_permissions.judge.options import is_known, kind_of, only_reads, read_only_words, walk
from executor_permissions.judge.options._awk import is_safe_awk
from executor_permissions.judge.options._checks import CHECKS, fits
from executor_permissions.judge.options._entry import Trait
from executor_permissions.judge.options._sed import is_safe_sed
from executor_permissions.judge.options._tables import entries, grammar_of
from executor_permissions.judge.options._walk import Walk, walk_plainly
from executor_permissions.judge.rules._guards import exposed
from executor_permissions.judge.runs._peel import parts_of, peeled
from tests.plugins.permissions.known_safe import FILE, lines


def covered(*words):
    """Whether a rule of the program's name and a ``*`` covers *words*."""
    return exposed(Command(list(words), " ".join(words))) < 0


def split(text):
    """Words at blanks; what begins like a glob is one."""
    return [Glob(word) if word[:1] in "*?" or ("*" in word and word[:1] == "-") else word for word in text.split(" ")]


NOT_COVERED = [
    # Ends of options, and operands that are more than files.
    "find -- a.txt -delete", "find -", "find . - -print", "find . -name x -fprint0 f", "uniq -- a b", "uniq -5 a b", "xxd a -x", "shuf -o f", "tee -x", "date 010100002030", "sort a -o f", "cut a --output-delimite=x",
    # Globs that may become options.
    "sort -* data.txt", "git diff --out* HEAD", "sort *", "uniq ?", "find *", "git log *", "tar cf x *", "npm run -*",
    # Abbreviations, and options that nobody knows.
    "mypy --config-f evil.ini", "mypy @args", "pytest @args", "npm test --script-she=./evil", "npm test --node-opt=x", "npm run a --userc=x", "git ls-remote --u=x o", "git diff --outp=x", "git grep --open=x y", "sort --outp=f a", "sort --compr=x a", "ls --colo", "curl --out x https://a", "wget --exec x",
    "npm exe -- x", "npm ex x", "git stash clea", "tox --overr=x", "pip install --targ=x y",
    # Runners: what they run is judged.
    "uv run python -c x", "uv run sort -o f", "uv run --with x pytest", "npx sort -o f", "npx -p evil x", "npx -c 'x y'", "poetry run sh -c x", "poetry run find . -delete", "tox exec -- sort -o f", "tox exec -e py -- sh", "pipx run x", "uvx --from x y", "npm exec x", "pnpm dlx x", "coverage run x.py",
    # Commands inside arguments.
    "ssh host ls ;touch", "ssh host", "watch -n9 ls $(id)", "xargs sh", "xargs -I{} sh -c {}", "timeout 5 sh -c x", "env A=1 ls", "nice -n 5 sort -o f",
    # Options that load, run or write.
    "pytest --tx popen//python=./evil", "pytest -p evil", "pytest -W error::a.B", "pytest --debug", "npm --logs-dir=x test", "tar tvf a --index-file=f", "tar xf h:a", "tar xf a -C /", "python3 -m json.tool in out", "python3 -m unittest discover -s /x", "python3 -W x.y script.py",
    "sqlite3 -readonly x.db 'vacuum into f'", "sqlite3 x.db \"select readfile('f')\"", "gcc -Wl,-plugin x.c", "gcc -o f x.c", "eslint -f ./x src", "git log --show-signature", "git log --format=%G?", "git push --force", "git push origin +main", "git push origin :main", "git push -fu origin", "git fetch ext::x",
    "git bundle create f HEAD", "git archive -o f HEAD", "git cat-file --batch-command", "git config a.b c", "git config edit", "git config a", "git rebase -x id", "docker build -f x .", "docker ps --x", "docker run -v /:/h i", "kubectl get -f x", "kubectl get pods -o custom-columns-file=f", "gh api x", "systemctl start x", "journalctl --vacuum-size=1",
    "ps axe", "ps e", "ps -auxe", "ps -u xe", "ps axo cmd e", "ps -eo environ", "ps -p e", "curl file:///etc/passwd", "curl -d @f https://x", "curl -H @f https://x", "curl -b jar https://x", "wget https://x -O f", "rsync --filter=merge,f a b", "rsync -e x a b", "docker run -e TOKEN i", "journalctl --cursor-file=f", "go test -exec x", "go build -ldflags=x", "go vet -vettool x", "cargo build --config x",
    "make -f x", "make CC=x", "make $(shell touch canary)=x", "make BASH_ENV=1", "make ARGS=--basetemp=/x", "make ARGS=;id", "make MAKEFLAGS=x", "make -j4 SHELL=x", "make $(x)", "test -v a[$(id)]", "[ -R a[1] ]", "printf -v a[$(id)] x", "export A=1 PATH=/x", "export LANG=C PATH=x", "unset a[$(id)]", "read a[1]",
    # Values that look like options.
    "sort -k -o f", "git log -n --output=x", "head -n --x f", "sort -t -o f",
    "tree -Lo 2 canary", "zip -rlf log a", "less -x4ofile f", "less -pfoo$ofile f", "printf %n PATH", "npm test -prefix /x", "python -m zipfile -e x /y", "cargo clippy -- -C linker=x", "cargo fmt -- --config-path x", "cargo test -- --logfile=x", "cargo build --target x.json", "curl -n https://x", "prettier --check -w .",
    "unzip a.zip -- -d x", "tsc -- --outDir x", "gcc -- -o x", "bundle exec sh -c x", "bundle exec sort -o f", "parallel sort -o f", "tmux new sh", "conda run python -c x", "mise exec -- bash", "screen -dm find . -delete", "entr -r sh -c x",
    "npm view git+https://x/y", "npm view a/b", "npm show ./x", "npm info x@https://y/z.tgz",
    "deno", "bun", "python", "python -", "bash", "node -e x", "socat a b", "pwsh x",
]  # fmt: skip
COVERED = [
    "sort -k2,2n -t , f", "sort -rnk1 f", "sort -n f", "uniq -c f", "head -5 f", "head -n -5 f", "tail -f f", "grep -rn x src", "grep -e x -e y f", "grep -A3 -B 2 x f", "grep x *.py", "ls *", "wc -l *", "echo -rf $x", "cut -d: -f1 f", "cut -d , -f 1-3 f", "diff -u a b", "find . -name x -type f -print", "find -L . ( -name a -o -name b ) -not -empty",
    "sed -n 1p f", "sed -e p -e d f", "awk {print} f *", "awk -F : -v a=1 {print$1} f", "jq .a f", "jq --arg a b .env.x f", "tar xzf a.tgz", "tar -czvf a.tgz src", "tar tf a --wildcards x",
    "git log --oneline -5", "git log -S foo --since yesterday -- *", "git log --format=%H", "git diff HEAD~1 -- src", "git show HEAD:a", "git status -sb", "git stash list", "git stash", "git branch -D x", "git push -u origin main", "git fetch origin", "git clone https://x/y", "git config --get a", "git config user.name", "git config list", "git add *.py", "git commit -am x", "git rebase -i main",
    "git merge -s ours x", "git worktree list", "git submodule update --init", "git bisect start", "git remote add o https://x", "git cherry-pick -x a", "git --no-pager log",
    "npm test -- --watch=false", "npm run a -- -x", "npm ls --depth=0", "npm i -D x", "npm view x", "npm v @a/b@1.2 versions --json", "npm audit", "npm audit fix --force", "npm audit signatures --json", "pnpm i --frozen-lockfile", "yarn add x", "npx tsc --noEmit", "tsc --noEmit -p tsconfig.json", "eslint -f stylish --ext .ts src", "prettier --check .", "node x.js --y", "jest --coverage",
    "pytest -q -k a tests", "pytest -p no:cacheprovider", "pytest --cov=src --cov-report=term-missing", "pytest -W error -W ignore::DeprecationWarning", "python -m pytest -x", "python -m http.server 80", "python -X dev x.py", "pip install -r r.txt", "pip show -f x", "uv run pytest -q", "uv sync --frozen", "poetry run mypy src", "tox -e py311 -- -k x", "ruff check --fix .", "mypy --strict src", "black --check .", "coverage report -m",
    "make -j4 test", "make V=1", "make TEST=a.py", "cargo test -p x -- --nocapture", "go test -count=1 -cover ./...", "go test -run X -v ./pkg", "go build ./...", "gcc -Wall -c a.c", "cmake --build build",
    "docker ps -a", "docker compose up -d", "docker build -t x .", "kubectl get pods -n x -o yaml", "terraform plan -no-color", "gh pr list --limit 5", "systemctl status x", "journalctl -u x -n 50 --no-pager", "ps aux", "ps -ef", "ps axo pid,cmd", "ps axo pid cmd", "ps -u root", "ps -p 1 -o args", "ps -o pid,cmd -p 1", "curl -sSL https://x", "curl -X GET -H a:b x.org/y", "wget -q --spider https://x", "rsync -av a b", "ping -c 1 h",
    "bundle exec rspec", "nix build x", "vagrant up", "conda run pytest -q", "cp -r a b", "rm -rf x", "mkdir -p a/b", "tee -a f", "touch f", "chmod +x f", "ln -s a b", "zip -r a b", "test -f x", "[ a = b ]", "test -v x", "export CI=1", "cd src", "set -euo pipefail", "sleep 1", "kill -9 1", "man 3 printf", "less -N f", "sqlite3 -header x.db select", "true -x", "date +%F",
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_COVERED)
def test_a_wildcard_does_not_cover_what_is_not_known_to_be_safe(text):
    assert not covered(*split(text))


def test_a_wildcard_covers_what_is_known_to_be_safe():
    assert [text for text in COVERED if not covered(*split(text))] == []


def test_a_rule_that_spells_an_option_out_covers_it_and_no_other():
    table = [
        ("sed -i *", ["sed -i s/a/b/ f", "sed -i -n p f"], ["sed -i '1e id' f", "sed -i --expression='1e id' f", "sed -i -e p -e 'w f' g", "sed -i '' '1w x' f", "sed -i p -f x"]),
        ("sort -o *", ["sort -o f a"], ["sort -o f -T d a", "sort -o -- -T d"]),
        ("sort --unheard *", ["sort --unheard a"], ["sort --unheard -- -o f"]),
        ("docker run *", ["docker run --rm -it i ls", "docker run i"], ["docker run -v /:/h i", "docker run i sh -c x", "docker run --privileged i"]),
        ("uv run *", ["uv run pytest -q", "uv run x"], ["uv run python -c x", "uv run sh"]),
        ("ssh host ls *", ["ssh host ls -la"], ["ssh host ls '; touch canary'", "ssh host ls '$(id)'"]),
        ("watch -n9 ls *", ["watch -n9 ls -la"], ["watch -n9 ls ';id'"]),
        ("tee *", [], ["tee -- -x"]),
        ("export A=1 *", ["export A=1"], ["export A=1 PATH=/x"]),
        ("wget *", ["wget -q https://x"], ["wget --exec x https://y"]),
        ("git worktree *", ["git worktree list"], ["git worktree foo"]),
        ("npm exec *", ["npm exec tsc"], ["npm exec -c 'x y'", "npm exec sh"]),
    ]  # fmt: skip
    wrong = []
    for pattern, allowed, asked in table:
        policy = Policy.from_dict({"whitelist": {"patterns": [pattern]}}, project_root="/proj", home="/home/me")
        for expected, commands in (("allow", allowed), ("ask", asked)):
            for command in commands:
                decision = policy.decide("runCommand", {"command": command})
                if decision.verdict != expected or decision.method == "error":
                    wrong.append((pattern, command, decision.reason))
    assert wrong == []


SED_SAFE = ["p", "5{p;q}", "1,5p;20q", "/a/,/b/{s/x/y/;p}", "$!N;P;D", ":a;N;$!ba;s/\\n/ /g", "s/[a-z]*/x/g", "s|/a|/b|2", "y/ab/ba/", "1~2d", "/x/!d", "1i text", "$a text", "/a/I,+3p", "#n\np", "s/a/[/", "\\,a,d", "{p}", "s/a\\/b/c/", "s/[]x]/y/", "s/[^]]*//", "s/[][]//g", "s/[[]x]//", "s/[[:space:]]*$//", "s/[\\n\\t]//", "=", "l 5", "p # w f", "2,~4p", " ; ; p"]  # fmt: skip
SED_UNSAFE = ["w f", "W f", "e id", "e", "r f", "R f", "s/a/b/w f", "s/a/b/e", "s/a/b/gw f", "1e id", "{w f\n}", "p;w f", "p\nw f", "a\\", "i\\\ntext", "a x\\", "s/a/b", "/a", "s/[/]/w f/", "b x;}", "{p", "}", "v", "s\\a\\b\\", "s\na\nb\n", "1,w f", "F w", "p w f", "s/a/b/ w f", "y/a/b/w f", "\\\na\np", "1,+p", "sa", "t x y", "s/[^]/]$/;/e;#/p", "s/[]/]/;/e;#/p", "/[^]/p;s/]/e;#/;p", "s/[[:alpha:]/]/;/e;#/p", "s/[[.].]/]/;/e;#/p", "s/[[=a=]/]/;/e;#/p", "s/[\\]/]/;/e;#/p", "s|[^]|]|;|e;#|p", "s/[a"]  # fmt: skip


def test_sed_scripts_that_do_nothing_else_are_safe():
    assert [script for script in SED_SAFE if not is_safe_sed(script)] == []
    assert [script for script in SED_UNSAFE if is_safe_sed(script)] == []


AWK_SAFE = ["{print $1}", "NR==1", "{s+=$1} END {print s/NR}", "$3 > 100 {print}", "/a\\/b/ || /[x]/", "BEGIN{FS=\",\"} {print $2}", "{print > \"/dev/stderr\"}", "{if ($1>2) print \"a > b\"; else next}", "length($0) > 80", "{printf \"%s|%s\\n\", $1, $2}", "!seen[$0]++", "{ print (1 > 2) }", "{gsub(/a/, \"b\")} 1", "# c > \"f\"\n1", "{ x = y ? 1 : 2 }", "$1 ~ /}|\"/", "{ print a[1]/2 }", "{print NR \": \" $0 > \"/dev/stderr\"; next}"]  # fmt: skip
AWK_UNSAFE = ["BEGIN{system(\"id\")}", "BEGIN{print \";\" > \"f\"}", "{print >> \"f\"}", "{print | \"id\"}", "\"id\" | getline", "{getline x < \"f\"}", "@load \"x\"", "{print,\n$1 > \"f\"}", "{print $1, # c\n$2 > \"f\"}", "{print $1 \\\n> \"f\"}", "{print > $1}", "{print > \"/dev/stderr\" \"x\"}", "{print(1) > \"f\"}", "{if(1)/\"/;print > \"f\";x=\"/\"}", "{x++ / 2}", "{length / 2}", "{close(\"x\")}", "{print ENVIRON[\"A\"]}", "BEGIN{ARGV[1]=\"f\"}", "{print \"a", "{f=\"system\";@f(\"x\")}", "/a", "/[/]/", "a & b", "{print |& \"x\"}", ")", "{ print ? 1 :\n2 > \"f\" }", "`"]  # fmt: skip


def test_awk_programs_that_do_nothing_else_are_safe():
    assert [program for program in AWK_SAFE if not is_safe_awk(program)] == []
    assert [program for program in AWK_UNSAFE if is_safe_awk(program)] == []


def test_other_values_are_checked_by_their_kind():
    table = {
        "jq": ([".a", ".env", '.["env"]', "select(.x)"], ["env", "$ENV.A", "$ ENV.A", "$#x\nENV", '"\\(env)"', "import \"a\" as a;", "[env]"]),
        "sql": (["select 1", "select * from t where a like '%x'"], [".shell id", "select 1;\n.shell id", "attach 'x' as y", "vacuum into 'f'", "select load_extension('x')", "pragma x=1", "copy t to program 'x'"]),
        "remote": (["origin", "https://x/y", "git@x:y/z"], ["../x", "./x", "/x", "~/x", "file:///x", "ext::sh -c x", "fd::3", "--upload-pack=x"]),
        "url": (["https://x", "http://x:80/a?b#c", "x.org", "x.org/a"], ["file:///etc/passwd", "FILE:x", "ftp://x", "telnet://x", "https://u:p@x", "dict://x", "https://u@x"]),
        "maketarget": (["test", "V=1", "ARGS=-k foo", "TESTS=a/b.py c", "DEBUG=", "CI = true"], ["$(x)=1", "SHELL=x", "V=$(id)", "ARGS=-p x", "ARGS=a;b", "a:=1", "BASH_ENV=1", "=x", "$(shell x)"]),
        "warning": (["error", "ignore::DeprecationWarning", "default:text:UserWarning"], ["error::a.B", "ignore:::a.b", "x.y"]),
        "psletters": (["aux", "axo", "u"], ["axe", "e", "auxe", "a b"]),
        **dict.fromkeys(("codefolder", "module"), (["src", "a/b"], ["/x", "../x", "~/x", "a/../../b", "-x"])),
        "duration": (["5", "1.5m", "10s"], ["", "x", "5x", "-5"]),
        "archive": (["a.tar", "-"], ["host:a"]),
        "address": (["https://x/y", "git@x:y/z", "x:y"], ["x", "src/x", "../x", "/x", "file:///x", "ext::sh -c x", "fd::3"]),
        "buffer": (["0", "L", "4096", "4K", "123456789G"], ["", "l", "1T", "-1", "1234567890"]),
        "cmakevariable": (["CMAKE_BUILD_TYPE=Debug", "BUILD_TESTING=ON", "CMAKE_EXPORT_COMPILE_COMMANDS=1"], ["CMAKE_C_COMPILER=./x", "XBUILD_A=1", "CMAKE_BUILD_TYPE"]),
        "cookie": (["a=b", "a=b; c=d"], ["jar", "@a=b", "./a"]),
        "curlformat": (["%{http_code}", "x"], ["@f", "%output{f}", "a%output{>>f}"]),
        "ddoperand": (["if=a", "bs=1M", "count=1", "status=none", "conv=sync", "seek=1", "iseek=1", "oflag=x", "ibs=1", "cbs=1"], ["of=a", "x", "if", "obsx=1"]),
        "dockervariable": (["A=1", "A="], ["A", "1A=1", ""]),
        "fetched": (["main", "refs/heads/*", "^main", "v1..2"], ["a:b", "+a", "+refs/*:refs/*", ":b"]),
        "format": (["%H %s", "x"], ["%G?", "%+G?", "%h%-GS", "% GK", "%(signature)", "%(describe)"]),
        "header": (["a: b", ""], ["@f"]),
        "lint": (["-Dwarnings", "-A", "dead_code", "clippy::all", "-W"], ["-C", "linker=x", "-Xa", "", "-DA"]),
        "manpage": (["ls", "printf(3)", "git-log"], ["./x", "a/b", "ls(x)", "a b"]),
        "name": (["a", "_A1"], ["1a", "a[1]", "a-b", "", "a="]),
        "nodollar": (["a b", ""], ["$a", "a$", "a\n!x", "a\rb"]),
        "codebuilt": (["..", ".", "src"], ["../x", "/x", "a/../../b"]),
        "codescript": (["build", "src/x.ts"], ["env"]),
        "created": (["job", "x", "pod/secret"], ["token", "secret", "secrets/x", "pod,Secret"]),
        "filename": ([".patch", "x"], ["/x", "a/b"]),
        "npmpackage": (["react", "@types/node@20", "a@^1.0.0", "a@latest"], ["../x", "./x", "/x", "a/b", "https://x", "git+ssh://x", "file:x", "-x"]),
        "readcontext": ([".", "a/b"], ["https://x/y.git", "git@x:y"]),
        "remotename": (["origin", "upstream", "me/fork"], ["https://x/y", "git@x:y/z", "x:y", "../x", "..", "/x", "ext::sh -c x"]),
        "codeproject": (["a.csproj"], ["/p:X=y", "/logger:x"]),
        "refname": (["HEAD", "ORIG_HEAD", "refs/heads/a/b"], ["config", "hooks/x", "../x", "refs/../config", "refs/heads/../../x"]),
        "nohost": ([":80", "tcp:443", "4TCP@127.0.0.1:80", "@[::1]", "a.txt"], ["@x.org", "tcp@x.org:80", "@beef.cafe", "@[::1].x"]),
        "socketfilter": (["sport = :22", "state", "10.0.0.0/8", "[::1]:80", "*:*", "( dport = :https or src 1.2.3.4 )", "!=:22"], ["x.org", "dst x.org:80", "beef.cafe", "dst=x", "1.2.3.4.x"]),
        "number": (["1", "-1", "+12"], ["", "x", "1234567890", "1.5", "--1"]),
        "plusformat": (["+%F", "+"], ["-d", "x", ""]),
        "printfformat": (["%s\n", "100%%n", "%d"], ["%n", "%5n", "a%ln", "%%%n"]),
        "pscolumn": (["pid", "cmd", "-p", "1", "%cpu"], ["e", "environ", "xe", "env"]),
        "psformat": (["pid,cmd", "x"], ["environ", "pid,env"]),
        "pslist": (["root", "1,2", "T"], ["e", "axe", "xeo"]),
        "readawk": (["f", "a=b"], ["/inet/tcp/0/x/80", "/inet4/x"]),
        "codenpm": (["react", ".", "./x", "@types/node@20"], ["a/b", "https://x", "git+ssh://x", "-x"]),
        "codepackage": (["requests", "a[b]==1.2", ".", ".[dev]", "x; y < '3'"], ["git+http://x", "file:///x", "x @ https://y", "-x", "~/x"]),
        "protocols": (["=https", "=http,HTTPS", "-all,https", "-ftp", "=", "=https,-file", "+-file"], ["=http,file", "+all", "all", "-+file", "=https,ftp", "http s"]),
        "unsetname": (["x", "IFS", "LD_PRELOAD"], ["PATH", "HOME", "a[0]", "a[$(id)]"]),
        "codego": ([".", "./cmd/x", "a.go"], ["e.com/x@latest"]),
        "codelocal": (["r.txt", "../r.txt"], ["http://x/r.txt", "npm:x", "jsr:@x/y"]),
        "cmaketarget": (["all", "MyApp", "src/a.o", "a-b_c"], ["", "-x", "--eval=x", "a=b", "x:=$(shell id)", "../x", "a/../../b", "a b"]),
        "pythonversion": (["3.12", "python3.11", "^3.9", ">=3.9,<4", "system", "pypy3.10"], ["./x", "../python", "/x/python", "x", "systemd"]),
        "script": (["build", "environment"], ["env"]),
        "refspec": (["main", "a:b"], ["+main", ":main"]),
        "rsyncfilter": (["- *.o", "+ a", "exclude,a"], ["merge f", ". f", "- merge f", ": f", "dir-merge f", "! ", "clear"]),
        "resource": (["pods", "deploy/x", "externalsecrets", "pods,svc", "all"], ["secret", "Secrets", "secret/x", "pods,secrets", "secrets.v1."]),
        "rustfmtargument": (["--check", "-l", "--color=never"], ["--config-path", "x", ""]),
        "rusttarget": (["x86_64-unknown-linux-gnu", "wasm32"], ["x.json", "./x", "A", "a--b"]),
        "shellword": (["a/b=1,2:3@4%5+6"], ["", "a b", "a;b", "$a", "*"]),
        "below": (["cache/x", "*", "x.json"], ["../x", "a/../../x", "/x", "~/x"]),
        "testargument": (["-k", "x"], ["--logfile", "--logfile=x"]),
        "yq": ([".a.env", ".load", '."load-balancer"', ".a | keys"], ["load(.a)", 'load_str("x")', "strload(.a)", "strenv(A)", "env(A)", "envsubst", 'eval("a")', "$ENV"]),
    }  # fmt: skip
    assert {*table, "awk", "sed"} == set(CHECKS)  # those two have tests of their own
    for kind, (safe, unsafe) in table.items():
        assert [value for value in safe if not CHECKS[kind](value)] == [], kind
        assert [value for value in unsafe if CHECKS[kind](value)] == [], kind


def test_the_files_that_a_command_names_are_known():
    table = {
        "sort -n a b": (["a", "b"], []),
        "grep -f list x y": (["list", "x", "y"], []),
        "grep x y": (["y"], []),
        "sed -n p f g": (["f", "g"], []),
        "awk {print} f": (["f"], []),
        "cp a b c": (["a", "b"], ["c"]),
        "cp -t d a": (["a"], ["d"]),
        "tee -- -x y": ([], ["-x", "y"]),
        "sort -of a": (["a"], ["f"]),
        "curl --output=f https://x": ([], ["f"]),
        "find src lib -newer x": (["src", "lib", "x"], []),
        "python x.py y": (["x.py"], []),
        "tar cf a.tar src": (["src"], ["a.tar"]),
        "tar -uvf a.tar src": (["src"], ["a.tar"]),
        "tar --append --file=a.tar src": (["src"], ["a.tar"]),
        "tar tf a.tar src": (["src", "a.tar"], []),
        "tar -xzf crua.tgz": (["crua.tgz"], []),
        "split -l 5 a b": (["a"], ["b"]),
        "csplit -f p a 3": (["a"], ["p"]),
        "sqlite3 a.db vacuum": (["a.db"], ["a.db"]),
        "sqlite3 a.db select": (["a.db"], []),
        "sqlite3 -readonly a.db x": (["a.db"], []),
        "test -f x": (["x"], []),
        "git diff a b": (["a", "b"], []),
    }  # fmt: skip
    told = {text: walk(text.split()) for text in table}
    assert {text: (found.reads, found.writes) for text, found in told.items()} == table


def test_what_programs_do_is_told():
    table = {
        "sort -n f": "reader", "sort -o f": None, "timeout 5 git push": "network", "find . -name x": "reader", "find . -delete": None, "find . -exec wc {} ;": "reader", "find . -exec rm {} ;": "writer",
        "npm audit": "network", "npm audit signatures": "network", "npm audit fix": "builder",
        "find . -exec foo {} ;": None, "timeout 5 foo": None, "nice timeout 5 ls": "reader", "xargs rm": "builder", "": None,
    }  # fmt: skip
    assert {text: kind_of(text.split()) for text in table} == table
    assert [kind_of(text.split()) for text in ("ls -l", "git log", "git push", "pytest", "foo", "git", "docker ps")] == [
        "reader", "reader", "network", "builder", None, "writer", "reader",
    ]  # fmt: skip
    assert [is_known(name) for name in ("ls", "git", "pip3", "python3.12", "gmake", "foo", "-m unittest")] == [
        True
    ] * 5 + [False, True]
    assert [only_reads(text.split()) for text in ("wc -l", "git status", "sort a", "rm a", "foo", "echo x")] == [
        True,
        True,
        False,
        False,
        False,
        True,
    ]


def test_a_rule_may_end_where_a_sub_command_only_reads():
    table = {
        "git log -5": 2, "git stash list": 3, "git stash": 0, "git remote -v": 0, "git branch --show-current": 0, "ls -la": 1, "git remote get-url x": 3, "git push": 0, "npm ls": 2, "npm test": 0, "docker ps": 2, "foo x": 0,
        "git --no-pager log": 0, "kubectl options": 2, "kubectl version": 0, "git": 0, "pip list": 2, "git worktree list": 3, "git foo": 0, "rm x": 0,
        # Providers, the settings of a backend, and plugins, all of the project's choice, are run.
        "terraform state list": 0, "terraform state show x": 0, "tofu workspace list": 0, "golangci-lint linters": 0,
    }  # fmt: skip
    assert {text: read_only_words(text.split()) for text in table} == table


@pytest.mark.parametrize("kind", sorted(CHECKS))
def test_what_stands_for_a_word_that_only_the_shell_knows_says_nothing_about_it(kind):
    good = next(
        text
        for text in ("x=1", "1", "+%F", "p", "a", ".", "--check", "count=1", "BUILD_X=1", "L", "x:y")
        if CHECKS[kind](text)
    )
    assert fits(kind, good)
    for text in ("$#", "$?", "$((1))", good):
        assert not fits(kind, Unknown(text))
        assert not fits(kind, PublicWord(text))
        assert not fits(kind, PublicWords(text))
        assert kind in ("buffer", "duration", "number", "readawk", "testargument") or not fits(kind, Number(text))
        assert kind in ("codepackage", "readawk", "testargument") or not fits(kind, Glob(text))


NUMBERED = ["sed $#", "sed ''$#", "sed -n $? a", "awk $#", "sed -e $((1)) a", "make test $$", "make *", "make test T*", "jq $?", "printf $#", "printf *", "find . -name a $?"]  # fmt: skip


def test_a_number_or_a_glob_is_no_script_and_no_target():
    policy = Policy.from_dict({"whitelist": {"patterns": ["sed *", "awk *", "make *", "jq *", "printf *", "find *"]}})
    verdicts = {text: policy.decide("runCommand", {"command": text}).verdict for text in NUMBERED}
    assert verdicts == dict.fromkeys(NUMBERED, "ask")
    assert policy.decide("runCommand", {"command": "printf '%s %s' -n -v $? *.md"}).verdict == "allow"


BELOW_0 = ["0-1", "1+ - 2", "-1", "1 -2", "9**99", "9223372036854775807+1", "99999999999999999999"]


@pytest.mark.parametrize("program", ["sort", "cat", "sed -n p", "head", "git log"])
def test_a_number_below_0_looks_like_an_option(program):
    """Calculated or counted; also where so many digits come to one."""
    policy = Policy.from_dict({"whitelist": {"patterns": ["sort *", "cat *", "sed *", "head *", "git log *"]}})

    def verdicts(*texts):
        return {policy.decide("runCommand", {"command": text}).verdict for text in texts}

    assert verdicts(*(f"{program} $(({text}))" for text in BELOW_0)) == {"ask"}
    assert verdicts(*(f"for i in {{{ends}}}; do {program} $i; done" for ends in ("1..-5", "-5..1"))) == {"ask"}
    assert verdicts(f"{program} $((1+2*3/4%5))", f"for i in {{1..5}}; do {program} $i; done") == {"allow"}


def test_words_that_only_the_shell_knows_are_asked_unless_no_word_can_do_harm():
    assert covered("wc", "-l", REST)
    assert covered("sort", Number("$?"))
    assert covered("grep", "x", "-r", Glob("--include=*.py"), ".")
    assert not covered("sort", REST)
    assert not covered("wc", Glob("-*"))
    assert not covered("grep", Glob("--inc*=x"), "y")
    assert not covered("git", REST, "log")


PARTS = {
    "timeout 5 ls a": ["ls a"],
    "nice -n 5 timeout -k 1 5 nohup ls": ["ls"],
    "env LANG=C CI=1 ls": ["ls"],
    "git --no-pager log -5": ["git log -5"],
    "git -P --literal-pathspecs status": ["git status"],
    "make -j4": ["make"],
    "make -j4 -k test": ["make test"],
    "npm --silent test": ["npm test"],
    "npm -s test": ["npm test -s"],
    "make -n -j4 test": ["make test -n"],
    "apt-get --purge -q remove x": ["apt-get remove x --purge"],
    "helm --kube-context prod list": ["helm list --kube-context prod"],
    "pnpm --filter x run build": ["pnpm run build --filter x"],
    "find . -name x -exec grep -l y {} +": ["find . -name x", "grep -l y"],
    "find . -exec wc -l {} ;": ["find .", "wc -l"],
    "xargs -0 -n 5 wc -l": ["wc -l"],
    "xargs -I{} grep -c x {}": ["grep -c x"],
    "xargs -I {} grep -c x {}": ["grep -c x"],
    "xargs -I {} -n 1 wc -l {}": ["wc -l"],
    "xargs grep -l x": ["grep -l x"],
    "xargs -n1": ["echo"],
    "find . -type f -exec file {} ;": ["find . -type f", "file"],
    "timeout 5 find . -exec stat {} ;": ["find .", "stat"],
}
NO_PARTS = [
    "ls a", "git log", "make", "make -n", "tox -e py", "terraform -help", "git -C x log", "git -c a=b log", "make -f x test", "env A=1 ls", "env -i ls", "timeout 5", "timeout x ls", "find .", "find . -exec cat {} +", "find . -exec rm {} ;", "find . -execdir wc {} ;", "find . -ok wc {} ;", "find . -delete -exec wc {} +", "find . -exec grep x {} +",
    "xargs cat", "xargs rm", "xargs -I X X", "xargs -a f", "xargs -I wc wc", "xargs -I{} {}", "xargs sort", "xargs sh -c x", "xargs grep x", "xargs -a f wc", "find . -exec {} ;", "find . -exec", "find . -exec file -m {} ;", "xargs file", "xargs ls", "sudo ls", "/usr/bin/timeout 5 ls", "command -v ls", "foo ls", "xargs -I{} grep -l{} x",
]  # fmt: skip


@pytest.mark.parametrize("text", PARTS)
def test_parts_stand_for_a_command_that_changes_nothing_about_them(text):
    assert [part.words for part in parts_of(Command(text.split(), text))] == [part.split() for part in PARTS[text]]


def test_nothing_stands_for_other_commands():
    told = {text: parts_of(Command(text.split(), text)) for text in NO_PARTS}
    assert {text: parts for text, parts in told.items() if parts} == {}


def test_one_part_is_what_is_behind_a_wrapper():
    assert peeled(Command("timeout 5 ls".split(), "timeout 5 ls")).words == ["ls"]
    assert peeled(Command("find . -exec wc {} +".split(), "")) is None
    assert peeled(Command(["ls"], "ls")) is None


ORDINARY = [
    "git --no-pager log", "git log --oneline -5 --graph", "git log -p --follow src/a.py", "git log -S foo -- src", "git diff --stat HEAD~3", "git show HEAD:src/a.py", "git branch --show-current", "git branch -a", "git rev-parse --short HEAD", "git stash list", "git shortlog -sn", "git blame -L 10,20 a.py",
    "git diff --cached --name-only", "git ls-files -o --exclude-standard", "git describe --tags --dirty", "git commit -am 'a b'", "git status --porcelain", "git fetch --all --prune",
    "find . -name '*.py' | xargs wc -l", "find . -name '*.py' -print0 | xargs -0 grep -l foo", "git ls-files | xargs -n1 echo", "find . -type f -newer a -not -path './x/*'", "rg -n foo src -g '*.py'", "rg --files | head", "grep -rnE 'a|b' --include='*.py' src", "grep -r x --include=*.py src", "fd -e py",
    "go test -count=1 ./...", "go test -cover -run X ./pkg", "go vet ./...", "cargo test -p foo -- --nocapture", "cargo clippy -- -D warnings", "cargo fmt -- --check", "make -j4", "make -j4 test", "make test ARGS='-k foo'", "make test V=1",
    "pip show -f requests", "pip list --outdated", "PYTHONPATH=src pytest", "pytest -q -k 'a and b' --cov=src --cov-report=term-missing", "python -m pytest -x -q", "timeout 60 pytest -x", "time pytest -q", "tox -e py311", "tox -p auto", "mypy --strict src", "ruff check --fix src", "black --check src",
    "eslint -f stylish src", "eslint --ext .ts,.tsx --fix src", "prettier --check .", "tsc --noEmit -p tsconfig.json", "npm test -- --watch=false", "npm run build --silent", "npm --silent test", "npm ls --depth=0",
    "sed -n '5{p;q}' f", "sed -n '1,10p;20q' f", "sed -e 's/a/b/' -e '/x/d' f", "awk '{print > \"/dev/stderr\"}' f", "awk '{s+=$1} END {print s/NR}' f", "awk -F: 'NR>5 && /foo/ {printf \"%s\\n\", $2}' f", "jq -r '.a[] | select(.b) | .c' f.json",
    "ps aux", "ps -ef | grep node", "realpath a", "tee /dev/null", "ls | tee /dev/stderr", "command -v python", "basename a/b .c", "sort -k2,2n -t, f | uniq -c | sort -rn | head -20", "cut -d: -f1 f", "tail -n +5 f", "head -c 100 f", "wc -l src/*.py", "tree -L 2 -I node_modules", "du -sh src", "stat -c %s f", "diff -u a b", "date +%F", "cat *.md", "ls -la --color=auto",
]  # fmt: skip


def test_ordinary_options_scripts_and_runners_need_no_question():
    policy = Policy.load(Path(__file__).parents[3] / "permissions.example.json", project_root="/proj", home="/home/me")
    told = {command: policy.decide("runCommand", {"command": command}) for command in ORDINARY}
    assert {command: decision.reason for command, decision in told.items() if decision.verdict != "allow"} == {}


@pytest.mark.timeout(30)  # what goes back over its steps takes minutes
@pytest.mark.parametrize(
    "program", ["sed", "awk", "jq", "make", "sqlite3 db", "sort", "git log", "find .", "curl", "foo", "ps", "tar"]
)
def test_a_long_argument_is_judged_in_one_pass(program):
    for piece in (
        " ",
        "[",
        "(",
        "{",
        "\\",
        "/",
        "[]a]",
        "-",
        "a=",
        '"',
        "'",
        ";",
        "\n",
        "}",
        "s/a/b/;",
        "[^]",
        "1",
        "import ",
    ):
        for text in (piece * (30_000 // len(piece)), piece * 2000 + "w", "/" + piece * 2000):
            assert isinstance(covered(*program.split(), text, text[:100]), bool)


def leaves():
    """The words that lead to each table, and the table."""
    for name in entries():
        if name.startswith("-m "):
            pending = [(["python", "-m", name[3:]], grammar_of(name))]
        else:
            pending = [([name], grammar_of(name))]
        while pending:
            path, grammar = pending.pop()
            yield path, grammar
            pending.extend(([*path, sub], grammar.sub(sub)) for sub in grammar.subs or ())


FREE = {"echo", "true", "false", ":", "test", "[", "[["}  # an option that nobody knows is a text for them


def open_leaves():
    return [(path, grammar) for path, grammar in leaves() if path[0] not in FREE]


def test_every_trait_of_a_table_is_one_that_is_heeded():
    assert [path for path, grammar in leaves() if not grammar.traits <= {*get_args(Trait)}] == []


def test_no_table_lets_an_option_through_that_it_does_not_have():
    wrong = []
    for path, grammar in open_leaves():
        wrong.extend(
            (path, word) for word in ("--zzz-unheard", "--zzz=x", "-\u00e9", Glob("-*")) if covered(*path, word)
        )
        missing = next(letter for letter in "ZYJQKGjyXqzuwkWVUSTRNMLHFEDCBA" if f"-{letter}" not in grammar.options)
        if covered(*path, f"-{missing}") and path[0] not in ("tar", "gtar"):
            wrong.append((path, missing))
    assert wrong == []


def test_no_table_takes_a_shortened_option_for_the_whole():
    wrong = []
    for path, grammar in open_leaves():
        for option in grammar.options:
            if option.startswith("--") and len(option) > 5:
                wrong.extend(
                    (path, option[:end])
                    for end in (4, len(option) - 1)
                    if option[:end] not in grammar.options and covered(*path, option[:end])
                )
    assert wrong == []


def test_what_is_to_be_spelled_out_is_never_covered():
    wrong = []
    for path, grammar in open_leaves():
        for option, known in grammar.options.items():
            runs = ["x"] if option in ("-exec", "-execdir", "-ok", "-okdir") else []  # find: a command follows
            if not known.safe and covered(*path, option, *runs, *["x"] * max(known.arity, 0)):
                wrong.append((path, option))
    assert wrong == []


def test_words_that_come_from_elsewhere_are_asked_unless_the_program_only_reads_and_prints():
    assert [path for path, grammar in open_leaves() if "inert" not in grammar.traits and covered(*path, REST)] == []


def test_the_tables_are_read_when_they_are_first_needed():
    code = (
        "import sys, executor_permissions, executor_permissions.judge.rules._guards\n"
        "print([name for name in sys.modules if name.endswith(('options.git', 'options.text', 'options.node'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_becomes_safe_or_stops_being_so_unseen():
    told = FILE.read_text(encoding="utf-8").splitlines()
    assert list(lines()) == told, "read what differs; python -m tests.plugins.permissions.known_safe writes it down"


@pytest.mark.parametrize(("rule", "verdict"), [("env -Z a=b ls", "allow"), ("env -Z a=b *", "ask"), ("env *", "ask")])
def test_an_option_that_nobody_knows_is_covered_by_a_rule_that_spells_all_of_it(rule, verdict):
    policy = Policy.from_dict({"whitelist": {"patterns": [rule]}}, project_root="/proj", home="/home/me")
    assert policy.decide("runCommand", {"command": "env -Z a=b ls"}).verdict == verdict


def grammars(grammar):
    yield grammar
    for name in grammar.subs or ():
        yield from grammars(grammar.sub(name))


def test_options_that_are_passed_over_at_once_are_those_that_a_closer_look_says_nothing_of():
    pick, compared = random.Random(5), 0
    for program in entries():
        for grammar in grammars(grammar_of(program)):
            looked_at = dataclasses.replace(grammar, alone=frozenset(), flags=frozenset())
            letters = [name[1] for name in grammar.options if len(name) == 2] + ["5", "0", "#", "é"]
            words = [
                *grammar.options,
                "-",
                "--",
                "x",
                "--no=1",
                "-5",
                "-10",
                *(f"{name}=x" for name in grammar.options),
            ]
            words += ["-" + "".join(pick.choices(letters, k=pick.randrange(1, 5))) for _ in range(40)]
            for word in words:
                found = []
                for one in (grammar, looked_at):
                    given = Walk([program, word, "a"])
                    walk_plainly(given, one, 1)
                    found.append(
                        [
                            getattr(given, name)
                            for name in ("reach", "reads", "writes", "lead", "given", "unsure", "guessed")
                        ]
                    )
                assert found[0] == found[1], (program, word)
                compared += 1
    assert compared > 10_000


@pytest.mark.parametrize("around", ["nice", "env", "timeout 5", "nohup", "stdbuf -oL", "command", ""])
@pytest.mark.parametrize("python", ["python", "python3", "python3.12", "python -u", "python -B"])
def test_a_module_is_no_program_that_happens_to_have_its_name(python, around, tmp_path):
    rules = {"patterns": ["ls *", "make deploy", "git status *"]}
    policy = Policy.from_dict({"whitelist": rules}, project_root=tmp_path, home="/home/me")
    for command in ("ls", "ls -la src", "make deploy", "git status"):
        decision = policy.decide("runCommand", {"command": f"{python} -m {around} {command}"}, cwd=str(tmp_path))
        assert decision.verdict == "ask"
        assert kind_of([*python.split(), "-m", *around.split(), *command.split()]) != "reader"


def test_a_tool_of_python_is_known_as_a_module_too(tmp_path):
    policy = Policy.from_dict({"whitelist": {"patterns": ["python -m pytest *", "python -m ruff check *"]}}, project_root=tmp_path, home="/home/me")  # fmt: skip
    for command, verdict in (("pytest -q", "allow"), ("pytest ../x", "ask"), ("ruff check src", "allow"), ("pytest --junitxml=x", "ask")):  # fmt: skip
        assert policy.decide("runCommand", {"command": f"python -m {command}"}, cwd=str(tmp_path)).verdict == verdict
