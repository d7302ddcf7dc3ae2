"""What commands are told by their input, and addresses by other spellings: neither is allowed, or escapes a rule."""

# ruff: noqa: E501 -- tables of cases
from __future__ import annotations

import os
import tarfile

import pytest

from executor_permissions import Policy
from executor_permissions.judge.options import _walk
from tests.plugins.permissions.test_options import open_leaves

ALLOWED = [
    "git *",
    "printf *",
    "echo *",
    "cat *",
    "sh *",
    "bash *",
    "timeout *",
    "vim *",
    "ed *",
    "sleep *",
    "xargs *",
    "python3 *",
    "node *",
]


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    (root / ".git").mkdir()
    return Policy.from_dict({"whitelist": {"patterns": ALLOWED}}, project_root=root)


def verdict(policy, command):
    decision = policy.decide("runCommand", {"command": command})
    assert decision.method != "error", decision.reason
    return decision.verdict


EDITS = ["git commit", "git commit -m x -e", "git commit --amend", "git add -p", "git add -i", "git rebase -i HEAD~1", "git tag -a v1", "git tag -s v1",
         "git notes add", "git merge --continue", "git merge --edit x", "git clean -i", "git stash -p", "git checkout -p", "git restore -p", "git reset -p",
         "git commit --fixup=amend:HEAD", "git -C . commit", "timeout 5 git commit", "git revert -e x", "git branch --edit-description", "vim a", "ed a"]  # fmt: skip
DEBUGS = [
    "gdb a",
    "lldb a",
    "node inspect a.js",
    "node -i a.js",
    "python -m pdb a.py",
    "python3.11 -mpdb a.py",
    "python -i a.py",
    "perl -d a.pl",
    "jdb a",
    "ghci a.hs",
    "iex a.exs",
    "R a",
]
FEEDS = ["printf x | {}", "(sleep 1; printf x) | {}", "{} < a", "{} <<E\n:!x\nE\n", "{} <<< x", "{{ {}; }} < a", "printf x | ({})", "while true; do {}; break; done < a",
         "printf x | sh -c '{}'", "printf x | bash -c 'cat a; {}'"]  # fmt: skip


@pytest.mark.parametrize("feed", FEEDS)
@pytest.mark.parametrize("command", EDITS)
def test_what_does_as_its_input_says_is_asked_about_where_it_is_fed(policy, feed, command):
    assert verdict(policy, feed.format(command)) == "ask"


@pytest.mark.parametrize("feed", FEEDS[:6])
@pytest.mark.parametrize("command", DEBUGS)
def test_a_rule_that_names_a_debugger_does_not_say_what_it_is_told(tmp_path, feed, command):
    rules = [f"{command} *", f"{command.rpartition(' ')[0]} *", "printf *", "sleep *"]
    policy = Policy.from_dict({"whitelist": {"patterns": rules}}, project_root=tmp_path)
    assert verdict(policy, command) == "allow"
    assert verdict(policy, feed.format(command)) == "ask"


@pytest.mark.parametrize(
    "command",
    ["git commit", "git commit --amend", "git rebase -i HEAD~1", "git add -p", "vim a", "printf x | git commit -F -", "printf x | git commit -qam 'a b'",
     "printf x | git tag v1", "printf x | python3 -X dev a.py -i", "printf x | node a.js inspect", "printf x | git tag -a v1 -m x", "printf x | git commit --amend --no-edit", "printf x | git log", "git log | cat"],
)  # fmt: skip
def test_what_is_not_fed_or_has_its_message_is_allowed(policy, command):
    assert verdict(policy, command) == "allow"


def test_names_of_tests_are_those_of_the_project_and_nothing_is_sent_to_what_they_call(tmp_path):
    for path in ("tests/test_a.py", "test/__init__.py", "src/pkg/test_b.py", "test_c.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / "out").symlink_to("/usr")
    rules = {"whitelist": {"patterns": ["python -m unittest *", "timeout *", "echo *"]}}
    policy = Policy.from_dict(rules, project_root=tmp_path)
    names = ["tests.test_a", "-v tests.test_a.A.test", "tests/test_a.py", "./tests/test_a.py", "test.test_d", "pkg.test_b", "test_c", "test_c.py", "discover test",
             "discover -s tests -t . -p 'test_*.py'", "discover tests 'test_*.py'", "discover code", ""]  # fmt: skip
    assert [name for name in names if verdict(policy, f"python -m unittest {name}") != "allow"] == []
    others = ["code.interact", "pdb.set_trace", "-v os.abort", "tests.test_a code.interact", "pip.main", "pip", "out.x", "out/x.py", "../x", "discover out", "discover -s out", "$x", "test_*"]  # fmt: skip
    assert [name for name in others if verdict(policy, f"python -m unittest {name}") != "ask"] == []
    feeds = ["echo x | {}", "{} < tests/test_a.py", "{} <<< x", "{} <<E\nx\nE", "echo x | timeout 5 {}"]
    assert [feed for feed in feeds if verdict(policy, feed.format("python -m unittest tests.test_a")) != "ask"] == []


@pytest.mark.parametrize(
    "command",
    ["git push ../evil HEAD:refs/heads/y", "git push ./evil", "git push /srv/evil", "git push file:///srv/evil", "git remote add e ../evil", "git symbolic-ref config refs/heads/x",
     "git symbolic-ref ../../x refs/heads/x", "git symbolic-ref HEAD ../x", "git format-patch -1 --suffix=/../../x"],
)  # fmt: skip
def test_git_is_led_nowhere_by_a_name(policy, command):
    assert verdict(policy, command) == "ask"


@pytest.mark.parametrize(
    ("rule", "asked", "allowed"),
    [
        ("tar *", ["tar -tL20 -f a.tar", "tar -tM -f a.tar"], ["tar -tf a.tar"]),
        ("python *", ["python -m unittest discover ../x", "python -m unittest discover /x"], ["python -m unittest discover tests", "python -m unittest -v"]),
        ("cmake *", ["cmake ..", "cmake ../x", "cmake --build /tmp/x"], ["cmake .", "cmake -S . -B build", "cmake --build build"]),
        ("curl *", ["curl '{localhost:1/,file:///x/.env}'", "curl 'http://x/[1-9]'", "curl --resolve a:443:6.6.6.6 https://a/"], ["curl -s 'http://x/a?b=1'"]),
        ("sqlite3 *", ["sqlite3 -readonly x.db \"select data from fsdir('.env')\"", "sqlite3 file:../x.db 'select 1'"], ["sqlite3 -readonly x.db 'select 1'"]),
        ("rpm *", ["rpm -fE '%(id)'", "rpm --eval '%(id)'"], ["rpm -qa", "rpm -qf /bin/sh"]),
        ("ss *", ["ss -oD x", "ss -D x"], ["ss -tlnp"]),
        ("lsof *", ["lsof -oDbx"], ["lsof -nPi:80", "lsof -i :80"]),
        ("npm *", ["npm pkg set scripts.x=y", "npm i ../x", "npm i https://x/y.tgz", "npm install git+ssh://x/y", "npm link ../x"], ["npm i", "npm install -D react @types/node@20"]),
        ("less *", ["less '-px\n!id\nq' a.txt"], ["less -px a.txt"]),
        ("zstd *", ["zstd -k -T ../x"], ["zstd -k a"]),
        ("terraform *", ["terraform fmt /x", "terraform fmt -recursive /x/a.tf", "terraform providers mirror /x", "terraform show /x/plan", "terraform graph -plan=/x"],
         ["terraform fmt", "terraform fmt -check -recursive", "terraform fmt -write=false src", "terraform providers", "terraform providers schema -json", "terraform show -json plan"]),
        ("terraform *", ["terraform init -backend -plugin-dir=/x", "terraform plan -lock -out=/x"], ["terraform init -backend=false"]),
        ("dotnet *", ["dotnet build /p:PreBuildEvent=./x"], ["dotnet build a.csproj"]),
        ("psql *", ["psql db me", "psql db"], ["psql --version"]),
        ("yarn *", ["yarn --mutex file:/x install"], ["yarn install"]),
        ("rake *", ["rake test RUBYOPT=-r./x"], ["rake test"]),
        ("docker *", ["docker build https://x/y.git"], ["docker build -t x ."]),
        ("kubectl *", ["kubectl create token x"], ["kubectl create namespace x"]),
        ("ruff *", ["ruff check @args", "ruff format @../x", "ruff check -- @x", "ruff check --select @x a.py", "ruff rule @x"], ["ruff check -- src", "ruff check --select E,F a.py"]),
        ("mypy *", ["mypy -- @x", "mypy -p @x"], ["mypy -- a.py", "mypy -p a"]),
        ("strings *", ["strings -- @x", "strings -n @x a"], ["strings -n 5 a"]),
        ("dotnet *", ["dotnet build @x.rsp"], ["dotnet build"]),
        ("node *", ["node inspect a.js", "node inspect -p 1", "node inspect evil.com:9229", "node --trace-warnings inspect a.js"], ["node a.js", "node inspect.js", "node ./inspect"]),
        ("scala *", ["scala @x"], ["scala a.scala"]),
        ("prettier *", ["prettier --check --parser=../evil.js .", "prettier --check --parser ./x.js .", "prettier --check --stdin-filepath /x/a.js", "prettier --file-info /x/a.js"],
         ["prettier --check --parser=babel .", "prettier --check --parser typescript a.ts", "prettier --stdin-filepath a.js"]),
        ("eslint *", ["eslint --stdin --stdin-filename /x/a.js", "eslint --print-config /x/a.js", "eslint --parser ./x a.js"], ["eslint --stdin --stdin-filename a.js"]),
        ("npm *", ["npm run env", "npm run -s env", "npm run-script -- env"], ["npm run environment", "npm run build env", "npm start env"]),
        ("npm *", ["npm pack /x", "npm publish /x", "npm pack http://x/y", "npm pack user/repository", "npm ci -g", "npm uninstall -g x", "npm i --global", "npm link", "npm ln x"],
         ["npm pack", "npm pack .", "npm publish ./dist", "npm ci", "npm uninstall x"]),
        ("pip *", ["pip install /x", "pip install file:///x", "pip install git+https://x/y", "pip install 'x @ https://y'", "pip install -e /x", "pip install -e git+https://x", "pip install -r http://x/r", "pip install -c https://x"],
         ["pip install .", "pip install -e '.[dev]'", "pip install .[dev]", "pip install 'requests[socks]>=2,<3' 'a; python_version < \"3.9\"'", "pip install -r r.txt", "pip install dist/*.whl"]),
        ("uv *", ["uv add /x", "uv pip install git+https://x", "uv pip install -r https://x"], ["uv add requests", "uv pip install -e .", "uv sync"]),
        ("poetry *", ["poetry add /x", "poetry add git+https://x"], ["poetry add requests@^2", "poetry remove x"]),
        ("pnpm *", ["pnpm publish /x", "pnpm add -g x", "pnpm link"], ["pnpm publish --dry-run", "pnpm add x"]),
        ("bun *", ["bun add /x", "bun add https://x", "bun add -g x", "bun run env", "bun test /x"], ["bun add x", "bun run build"]),
        ("brew *", ["brew install /x.rb", "brew install https://x/y.rb"], ["brew install x"]),
        ("yarn *", ["yarn run env"], ["yarn run build"]),
        ("pnpm *", ["pnpm run env"], ["pnpm run build -r"]),
        ("tox *", ["tox --no-provision=/x/F", "tox --no-provision=x", "tox run --no-provision ../F"], ["tox -e py311", "tox run --skip-missing-interpreters"]),
        ("deno *", ["deno run --lock=/x/f a.ts"], ["deno run --no-remote a.ts"]),
        ("go *", ["go test -mod=mod github.com/x/y", "go build -mod mod x.com/y", "go vet -mod=mod x.com/y", "go install -mod=mod ./..."],
         ["go build -mod=vendor ./...", "go test -mod=readonly ./..."]),
        ("make *", ["make test TESTS=../x", "make test FILES=/x"], ["make test TESTS=tests/a.py", "make -j4 test"]),
    ],
)  # fmt: skip
def test_options_and_operands_that_run_or_write_elsewhere_are_not_covered(tmp_path, rule, asked, allowed):
    policy = Policy.from_dict({"whitelist": {"patterns": [rule]}}, project_root=tmp_path)
    assert [command for command in asked if verdict(policy, command) != "ask"] == []
    assert [command for command in allowed if verdict(policy, command) != "allow"] == []


SENT = ["echo '{}' | {}", "{1} <<< '{0}'", "{1} <<E\n{0}\nE\n", "printf '%s\n' '{}' q | timeout 5 {}", "bash -c \"echo '{}' | {}\""]  # fmt: skip


@pytest.mark.parametrize("sent", SENT)
def test_what_is_sent_to_who_does_as_told_is_looked_at_whatever_its_options(tmp_path, sent):
    (tmp_path / ".env").touch()
    kept = {"readFile": {"path": ["${project}/.env"]}}
    rules = {"blacklist": {"patterns": ["rm -rf *", "sudo *"], "arguments": kept}, "defaultPolicy": "allow"}
    policy = Policy.from_dict(rules, project_root=tmp_path)
    for program in (
        "ed",
        "ed a",
        "ex -",
        "vi",
        "vim a",
        "sftp h",
        "sftp -q h",
        "lftp h",
        "ghci a.hs",
        "git commit",
        "python -m unittest a.b",
        "gdb a",
    ):
        assert verdict(policy, sent.format("!rm -rf x", program)) == "ask", program
        assert verdict(policy, sent.format("r .env", program)) == "ask", program
        assert verdict(policy, sent.format("hello", program)) == "allow", program
    for program in ("gcc -E -", "cc -x c -c -", "clang++ -xc++ -fsyntax-only -", "timeout 5 g++ -E -"):
        assert verdict(policy, sent.format("#include <.env>", program)) == "ask", program
        assert verdict(policy, sent.format("int x", program)) == "allow", program
    allowed = {"whitelist": {"patterns": ["gcc *", "echo *", "printf *", "timeout *", "bash *", "sftp *"]}}
    policy = Policy.from_dict(allowed, project_root=tmp_path)
    assert verdict(policy, sent.format("#include <~/.aws/credentials>", "gcc -E -")) == "ask"
    assert verdict(policy, sent.format("get a", "sftp h")) == "ask"


def test_ed_takes_a_command_for_a_file(tmp_path):
    rules = {"blacklist": {"patterns": ["rm -rf *"]}, "whitelist": {"patterns": ["ed *"]}}
    policy = Policy.from_dict(rules, project_root=tmp_path)
    commands = ["ed '!rm -rf x'", "ed -s '!rm -rf x'", "ed '!ls'", "ed a"]
    assert [verdict(policy, command) for command in commands] == ["deny", "deny", "ask", "allow"]


HOSTS = ["http://EVIL.com", "http://ev%69l.com/", "http://evil%2ecom", "EVIL.com", "ev%69l.com/a", "--url=http://EVIL.com", "http://me@EVIL.com:80/x",
         "http://2852039166/", "http://0xa9fea9fe/", "http://169.254.43518/", "http://0251.0376.0251.0376/"]  # fmt: skip


@pytest.mark.parametrize("program", ["curl -s", "wget"])
@pytest.mark.parametrize("host", HOSTS)
def test_an_address_is_denied_however_it_is_spelled(tmp_path, program, host):
    name = program.split()[0]
    rules = [f"{name} *evil.com*", f"{name} *169.254.169.254*"]
    policy = Policy.from_dict(
        {"whitelist": {"patterns": ["curl *", "wget *"]}, "blacklist": {"patterns": rules}}, project_root=tmp_path
    )
    assert verdict(policy, f"{program} {host}") == "deny"
    assert verdict(policy, f"{program} 'https://good.com/Path?q=EVIL'") == "allow"


PROXIES = [
    "http_proxy=evil.com {}",
    "https_proxy=http://evil.com:80 {}",
    "env ALL_PROXY=evil.com {}",
    "timeout 5 env -u a http_proxy=evil.com {}",
]
UNSURE = ["'http://{evil,x}.com/'", "'http://e[v-v]il.com/'", "'{http,ftp}://x'", "-K- <<< 'url=http://evil.com'", "-K x", "-sKx", "--config x http://good.com", "--url 'http://{a,b}.com'",
          "--variable u=evil --expand-url 'http://{{u}}.com'", "-sS -d x 'http://[a-z].com'"]  # fmt: skip
SURE = [
    "http://good.com",
    "-s 'http://[::1]:80/x'",
    """-d '{"a": [1]}' http://good.com""",
    """-sd '{"a": 1}' good.com""",
    "-H 'a: {b}' --data '{c}' good.com",
    "--connect-timeout 5 good.com",
]


def test_an_address_that_only_the_program_reads_may_be_any(tmp_path):
    rules = {
        "defaultPolicy": "allow",
        "blacklist": {"patterns": ["curl *evil.com*", "wget *evil.com*", "aria2c *evil.com*"]},
    }
    policy = Policy.from_dict(rules, project_root=tmp_path)

    def told(verb, commands):
        return [command for command in commands if verdict(policy, command) != verb]

    assert (
        told("deny", [proxy.format(f"{name} http://good.com") for proxy in PROXIES for name in ("curl", "wget")]) == []
    )
    assert told("ask", [f"curl {way}" for way in UNSURE]) == []
    assert (
        told(
            "ask",
            [
                "printf x | curl -K -",
                "wget -i x",
                "wget -qi x",
                "wget --input-file=x",
                "wget -e robots=off http://x",
                "aria2c -i x",
            ],
        )
        == []
    )
    assert told("allow", [f"curl {way}" for way in SURE]) == []
    assert (
        told("allow", ["wget -q http://good.com", "http_proxy=good.com curl http://x", "http_proxy=evil.com npm i"])
        == []
    )


def test_an_archive_that_is_written_anew_in_its_place_is_read_anew(tmp_path):
    def packed(name):
        (tmp_path / "member").write_text("x")
        with tarfile.open(tmp_path / "new.tar", "w") as archive:
            archive.add(tmp_path / "member", name)
        return (tmp_path / "new.tar").read_bytes()

    policy = Policy.from_dict({"whitelist": {"patterns": ["tar *"]}}, project_root=tmp_path)
    call = {"command": "tar xf x.tar", "cwd": str(tmp_path)}
    path = tmp_path / "x.tar"
    path.write_bytes(packed("some/where/post"))
    before = path.stat()
    assert policy.decide("runCommand", call).verdict == "allow"
    with path.open("r+b") as file:
        file.write(packed(".git/hooks/post"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert policy.decide("runCommand", call).verdict != "allow"


def test_every_table_is_read_by_a_function_that_there_is():
    assert {grammar.entry.shape for _, grammar in open_leaves()} <= _walk.SHAPES.keys()
