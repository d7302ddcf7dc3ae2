"""Values that another program, or another version, takes for operands; operands of which only the first was looked at."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import os

import pytest

from executor_permissions import Policy
from executor_permissions.judge.paths._links import Links
from tests.plugins.permissions.test_guards import misjudged

# Rows of (pattern, what it covers, what it does not).
COVERED = [
    # an option that the program does not know takes no value: what follows is an operand, or the sub-command
    ("npm *", ["npm ls --depth 0", "npm ls --depth=Infinity", "npm ci --omit dev", "npm install --tag next lodash", "npm -w packages/a run build", "npm run build --workspace=@me/a", "npm publish --access public", "npm version minor -m x"],
     ["npm install --mode ../x", "npm install --mode me/repo", "npm publish --publish-branch ../x", "npm --omit exec test", "npm ls --depth run", "npm install --install-strategy ../x", "npm install --cpu ../x", "npm publish --tag ../x", "npm audit --audit-level ../x", "npm -w ../x test"]),
    ("yarn *", ["yarn build --watch", "yarn list --prod", "yarn install --mode=skip-build"],
     ["yarn --depth exec rm -r src", "yarn --omit dlx test", "yarn --loglevel exec install a b", "yarn -w exec rm -r src", "yarn --workspace exec link a b", "yarn install --mode ../x"]),
    ("pnpm *", ["pnpm -r build", "pnpm --filter web test", "pnpm -w add lodash", "pnpm publish --publish-branch main"],
     ["pnpm --omit dlx test", "pnpm --include exec rm -r src", "pnpm --workspace exec rm -r src", "pnpm add --mode me/repo", "pnpm --loglevel dlx test"]),
    ("npm cache *", ["npm cache verify", "npm cache ls", "npm cache clean --force", "npm cache add lodash"], ["npm cache add git+https://e.com/x", "npm cache add me/repo", "npm cache add ../x", "npm cache add /x"]),
    ("pytest *", ["pytest -n auto", "pytest -n4 tests", "git pull && pytest -n auto", "git pull && pytest -n 4 --timeout=1.5", "pytest --reruns 2", "pytest --timeout=60 tests", "pytest -p no:cacheprovider --dist loadfile", "pytest --randomly-seed last"],
     ["pytest --reruns ../x", "pytest --timeout /x", "pytest -n ../x", "pytest --randomly-seed ../x tests", "pytest --dist ../x", "pytest --hypothesis-profile ~/x", "pytest --asyncio-mode ../x", "pytest --cov-fail-under /x", "pytest --max-warnings ../x"]),
    ("sed *", ["sed -l 5 p a", "sed --line-length=9 -n l a"], ["sed -l 'w evil' p"]),
    ("bsdtar *", ["bsdtar -tf a.tar"], ["bsdtar -xf a.tar -W use-compress-program=./x"]),
    # letters behind one dash, of which the last takes the next word
    ("jest *", ["jest -t name", "jest -w 2 src", "jest -i -t name"], ["jest -tc x.json", "jest -wc ../x.js", "jest -tname"]),
    ("vitest *", ["vitest run -t name"], ["vitest -tc /x/y.js"]),
    # what is run is more than the first operand
    ("node *", ["node --test a.test.js b.test.js", "node a.js ../data", "node --watch a.js"], ["node --test a.test.js ../x.js", "node --test a.test.js /x.js", "node --test --watch a.js ~/x.js"]),
    ("deno *", ["deno test a.ts b.ts", "deno fmt src", "deno run a.ts ../data", "deno task build ../x", "deno lint"], ["deno test a.ts https://e.com/x.ts", "deno test a.ts ../x.ts", "deno fmt a.ts ../x.ts", "deno run npm:x", "deno run jsr:@x/y", "deno bench a.ts /x.ts", "deno check npm:x"]),
    ("go run *", ["go run .", "go run ./cmd/x ../data", "go run a.go b.go", "go run a.go ../data"], ["go run ../x.go", "go run a.go ../x.go", "go run e.com/x@latest", "go run ../x", "go run -exec sh ."]),
    ("go generate *", ["go generate ./..."], ["go generate ../x"]),
    ("coverage run *", ["coverage run a.py", "coverage run --branch a.py ../data"], ["coverage run ../a.py", "coverage run /x/a.py", "coverage run -m x"]),
    ("dmypy *", ["dmypy run -- src", "dmypy run -- --strict src", "dmypy status", "dmypy check src", "dmypy stop"],
     ["dmypy run -- --config-file ../x.ini", "dmypy run -- --config-file=x.ini src", "dmypy start -- --python-executable=./x", "dmypy restart -- @args", "dmypy run -- --shadow-file a b"]),
    # what the project's scripts and test programs are told to run
    ("npm *", ["npm test -- --watchAll=false", "npm test src/a.test.js", "npm run e2e -- --url http://localhost:3000", "npm run e2e -- http://localhost:3000", "npm run lint -- --fix src"], ["npm test ../x", "npm test -- ../x", "npm run e2e -- /x/y.js", "npm start ~/x"]),
    ("pnpm *", ["pnpm test src", "pnpm run lint -- src"], ["pnpm test ../x", "pnpm run lint /x"]),
    ("yarn *", ["yarn test src", "yarn build --watch"], ["yarn test ../x", "yarn build /x"]),
    ("tox *", ["tox -e py -- tests/test_a.py -x", "tox run -- -k x"], ["tox -- ../x", "tox run -e py -- /x"]),
    ("nox *", ["nox -s tests -- -x tests"], ["nox -s tests -- ../x"]),
    # what names other code
    ("pip *", ["pip install -r requirements.txt", "pip install -c c.txt x", "pip install --group dev", "pip uninstall -y -r requirements.txt"],
     ["pip install -r ../x.txt", "pip install -r/x.txt", "pip install -r=../x.txt", "pip install -c /x.txt y", "pip install --requirement=../x.txt", "pip install --group ../x/pyproject.toml:dev"]),
    ("uv *", ["uv pip install -r requirements.txt", "uv add -r requirements.txt", "uv python find 3.12", "uv python list"], ["uv pip install -r ../x.txt", "uv pip sync --requirements /x.txt", "uv add -r ../x.txt", "uv python find ../x", "uv python pin ./x"]),
    ("uv tool install *", ["uv tool install ruff"], ["uv tool install git+https://e.com/x", "uv tool install ../x"]),
    ("pipx install *", ["pipx install ruff"], ["pipx install git+https://e.com/x", "pipx install ../x"]),
    ("poetry *", ["poetry env use 3.12", "poetry env use python3.11", "poetry env remove my-py3.11", "poetry add --python '^3.9' x"], ["poetry env use ./x", "poetry env use /x/python", "poetry env remove ../x"]),
    ("pipenv *", ["pipenv install --python 3.12"], ["pipenv install --python ../x", "pipenv install --python ./x"]),
    ("apt *", ["apt install -y curl", "apt show curl"], ["apt install ../x.deb", "apt install ./x.deb", "apt reinstall /x.deb"]),
    ("rpm *", ["rpm -qa", "rpm -qlp x.rpm"], ["rpm -Vp x.rpm", "rpm -V x", "rpm --verify -p x.rpm"]),
    ("terraform apply *", ["terraform apply -auto-approve", "terraform apply plan"], ["terraform apply ../plan"]),
    ("systemctl enable *", ["systemctl enable nginx"], ["systemctl enable ../x.service", "systemctl enable /x/y.service"]),
    ("cmake *", ["cmake --build build -t all", "cmake --build build --target MyApp"], ["cmake --build build -t 'x:=$(shell id)'", "cmake --build build '-t--eval=$(shell id)'", "cmake --build build -t ../x", "cmake --build build --target SHELL=x"]),
    ("pipenv *", ["pipenv install --dev", "pipenv sync"], ["pipenv install --with ../x", "pipenv install -G /x", "pipenv install --extras ../x"]),
    ("bun *", ["bun run --timeout 5 a.js"], ["bun run --timeout ../x.js"]),
    # an option that takes no value elsewhere: what follows it may be the first of two operands
    ("install *", ["install -m 755 a src", "install -S .bak a b"], ["install -S a ../x", "install -S a .git/config"]),
    ("cp *", ["cp -S .bak a b"], ["cp -S a ../x", "cp -S a .git/config"]),
    # code, or what is to be done, comes from the input
    ("uv *", ["uv run a.py"], ["uv run -", "echo a | uv run -", "uv run - < a.py"]),
    ("deno *", ["deno run a.ts"], ["deno run -", "deno run - < a.ts"]),
    ("bun *", ["bun run a.ts"], ["bun run -", "bun run - < a.ts"]),
    ("crontab *", ["crontab -l"], ["crontab", "crontab < a", "crontab -"]),
    ("openssl *", ["openssl version"], ["openssl", "openssl < a"]),
    # without PATH, bash takes every program from the folder that it is in
    ("unset *", ["unset x", "unset -v x IFS", "unset -f f"], ["unset PATH", "unset -v PATH", "unset x PATH", "unset HOME"]),
    # git: what runs another program, and names of references that are files
    ("git *", ["git bisect log", "git bisect good", "git update-ref HEAD abc", "git update-ref -d refs/heads/x"], ["git bisect view git-tools/x", "git bisect visualize gitx", "git update-ref config HEAD", "git update-ref hooks/pre-commit HEAD", "git update-ref refs/../config HEAD"]),
    ("gh repo clone *", ["gh repo clone a/b", "gh repo clone a/b sub"], ["gh repo clone a/b -- -c core.fsmonitor=./x", "gh repo clone a/b -- --upload-pack=x", "gh repo clone a/b ../x", "gh repo clone a/b .git/hooks"]),
    ("gh repo fork *", ["gh repo fork a/b"], ["gh repo fork a/b -- --config x=y"]),
    ("kubectl cp *", ["kubectl cp p:/x y"], ["kubectl cp p:/x ../y", "kubectl cp p:/x .git/config"]),
    ("helm *", ["helm repo list", "helm dependency list", "helm list"], ["helm repo add x https://e.com", "helm dependency update ../x", "helm repo remove x"]),
    ("arp *", ["arp -a", "arp -n"], ["arp -d h", "arp -s h aa:bb", "arp -f x"]),
    ("yq *", ["yq '.pre-load' a.yml"], ["yq -n '1 -load_str(\"x\")'", "yq '0-load(\"x.yml\")' a", "yq '.a-env(HOME)' a", "yq '.a -strenv(HOME)' a"]),
    ("sqlite3 *", ["sqlite3 a.db .tables", "sqlite3 a.db '.schema t'", "sqlite3 a.db .indexes"], ["sqlite3 a.db '.shell id'", "sqlite3 a.db '.schema\n.shell id'", "sqlite3 a.db '.tables | id'", "sqlite3 a.db '.output x'"]),
]  # fmt: skip


@pytest.mark.parametrize("row", COVERED, ids=lambda row: row[0])
def test_what_may_be_an_operand_is_judged_as_one(row):
    assert misjudged([row], "git pull *") == []


# Rows of (pattern, what it covers, what it does not): git's settings run programs, and so do those of other repositories.
GIT = [
    ("git -C * status", ["git -C sub status", "git -C sub/x status", "git -C . status"], ["git -C .. status", "git -C /x status", "git -C sub -C ../.. status", "git -C ~/x status", "git -C sub/../../x status"]),
    ("git -C /x/* status", ["git -C /x/y status", "git -C /x/y/z status"], ["git -C /x/../y status", "git -C /y status"]),
    ("git -C /x status", ["git -C /x status"], ["git -C /x/y status"]),
    ("git -C * log *", ["git -C sub log -5"], ["git -C /x log -5"]),
    ("git --git-dir=* log", ["git --git-dir=sub/x log"], ["git --git-dir=../x log", "git --git-dir=/x/.git log"]),
    ("git --git-dir * log", ["git --git-dir sub/x log"], ["git --git-dir /x/.git log"]),
    ("git --work-tree=* status", ["git --work-tree=sub status"], ["git --work-tree=/ status"]),
    ("git --exec-path=* log", [], ["git --exec-path=/x log", "git --exec-path=../x log"]),
    ("git -c * log", [], ["git -c core.pager=x log", "git -c core.fsmonitor=x log", "git -c alias.log=!x log", "git -c color.ui=always log"]),
    ("git -c *", [], ["git -c core.pager=x log", "git -c core.fsmonitor=x status"]),
    ("git -c * *", [], ["git -c core.pager=x log", "git -c core.fsmonitor=x status"]),
    ("git --config-env=* log", [], ["git --config-env=core.pager=X log"]),
    ("git -c color.ui=* log", ["git -c color.ui=always log"], ["git -c core.pager=x log", "git -c color.ui=x -c core.pager=x log"]),
    ("git -c core.quotePath=false ls-files *", ["git -c core.quotePath=false ls-files src"], ["git -c core.fsmonitor=x ls-files src"]),
    ("git clone -c *", [], ["git clone -c core.fsmonitor=x https://e.com/x"]),
    ("git clone -c * https://e.com/x", [], ["git clone -c core.fsmonitor=x https://e.com/x"]),
    ("git clone --config=* https://e.com/x", [], ["git clone --config=core.fsmonitor=x https://e.com/x"]),
    ("git switch -c *", ["git switch -c new", "git switch -c new main"], []),
    ("git switch -c * main", ["git switch -c new main"], []),
]  # fmt: skip


@pytest.mark.parametrize("row", GIT, ids=lambda row: row[0])
def test_a_rule_says_which_setting_of_git_and_which_repository(row):
    assert misjudged([row], "npm test *") == []


# Rows of (pattern, what it covers, what it does not): what a rule says by an option is said once.
PINNED = [
    ("kubectl -n staging *", ["kubectl -n staging get po -o name", "kubectl -n staging get po -oname", "kubectl -n staging get po --no-headers", "kubectl -n staging logs -f x"],
     ["kubectl -n staging -n prod get po", "kubectl -n staging delete po x -n prod", "kubectl -n staging get po --namespace prod", "kubectl -n staging get po --namespace=prod", "kubectl -n staging get po -nprod", "kubectl -n staging get po -wnprod", "kubectl -n staging get po -A", "kubectl -n staging delete po --all --all-namespaces"]),
    ("kubectl --namespace=staging *", ["kubectl --namespace=staging get po -w"], ["kubectl --namespace=staging get po -n prod", "kubectl --namespace=staging get po -A"]),
    ("helm -n staging *", ["helm -n staging list -q"], ["helm -n staging list -n prod", "helm -n staging list --namespace=prod"]),
    ("gh pr list -R o/r *", ["gh pr list -R o/r --limit 5"], ["gh pr list -R o/r --repo x/y", "gh pr list -R o/r -Rx/y"]),
    ("tar -tf a.tar *", ["tar -tf a.tar src -v"], ["tar -tf a.tar -f b.tar", "tar -tf a.tar --file=b.tar", "tar -tf a.tar -vf b.tar"]),
    ("tail -n 5 *", ["tail -n 5 a", "tail -n 5 -q a b"], ["tail -n 5 a -n 9"]),
    # of a program without a table
    ("aws --profile dev *", ["aws --profile dev s3 ls"], ["aws --profile dev s3 ls --profile prod", "aws --profile dev --prof prod s3 ls", "aws --profile dev s3 ls --profile=prod"]),
    ("foo -c dev *", ["foo -c dev x -v"], ["foo -c dev x -c prod", "foo -c dev -cprod"]),
    # a flag takes no value, and changes nothing when it is given once more
    ("grep -rn foo *", ["grep -rn foo src -n", "grep -rn foo --include=*.py src -A3"], []),
    ("ls -la src *", ["ls -la src -a"], []),
    ("find src -name *", ["find src -name x"], []),
    # what a rule switches on is not switched off
    ("helm upgrade --dry-run *", ["helm upgrade --dry-run x ./c", "helm upgrade --dry-run x ./c --wait"], ["helm upgrade --dry-run x ./c --dry-run=false", "helm upgrade --dry-run --dry-run=none x ./c"]),
    ("kubectl delete --dry-run=client *", ["kubectl delete --dry-run=client po x"], ["kubectl delete --dry-run=client po x --dry-run=none"]),
    ("ruff check --no-fix *", ["ruff check --no-fix src"], ["ruff check --no-fix --fix src"]),
    ("go build -n *", ["go build -n ./...", "go build -n -v ./..."], ["go build -n -n=false ./...", "go build -n --n=false ./..."]),
    ("foo --dry-run *", ["foo --dry-run x", "foo --dry-run -- --no-dry-run"], ["foo --dry-run --no-dry-run x", "foo --dry-run --dry-run=0"]),
    ("bash -n *", ["bash -n a.sh", "bash -n -x a.sh", "bash -n +x a.sh"], ["bash -n +n a.sh", "bash -n +xn a.sh", "bash -n -x +n a.sh", "bash -n +nx -- a.sh"]),
    ("sh -en *", ["sh -en a.sh"], ["sh -en +n a.sh", "sh -en +e a.sh"]),
    ("date -u *", ["date -u +%u", "date -u +%F"], []),
    # nor is another address named
    ("curl * https://x.org/*", ["curl -s https://x.org/a"], ["curl https://y.org https://x.org/a", "curl y.org https://x.org/a", "curl --url=https://y.org https://x.org/a"]),
    ("curl -H * https://x.org/*", ["curl -H a:b https://x.org/a"], ["curl -H a:b https://y.org/a"]),
    ("curl https://x.org/* *", ["curl https://x.org/a -sm 5", "curl https://x.org/a -H a:b -e https://y.org", "curl https://x.org/a https://x.org/b", "curl https://x.org/a --url https://x.org/b", "curl https://x.org/a -Hm --max-time 5"],
     ["curl https://x.org/a https://y.org", "curl https://x.org/a y.org", "curl https://x.org/a --url y.org", "curl https://x.org/a --url=https://y.org", "curl https://x.org/a -sm5 y.org", "curl https://x.org/a -Hm y.org", "curl https://x.org/a -- y.org", "curl https://x.org/a https://x.org.y.org/"]),
    ("curl -s https://x.org/a *", ["curl -s https://x.org/a -L"], ["curl -s https://x.org/a https://x.org/b", "curl -s https://x.org/a y.org"]),
    ("wget x.org/* *", ["wget x.org/a -q", "wget x.org/a x.org/b"], ["wget x.org/a y.org", "wget x.org/a https://y.org/"]),
    ("curl *", ["curl x.org y.org", "curl -s https://x.org https://y.org"], []),
    # no option at all
    ("foo --= a *", ["foo --= a b"], []),
    ("foo - a *", ["foo - a -"], []),
]  # fmt: skip


@pytest.mark.parametrize("row", PINNED, ids=lambda row: row[0])
def test_an_option_of_a_rule_is_not_given_another_value_by_its_wildcard(row):
    assert misjudged([row]) == []


# Rows of (pattern, what it covers, what it does not): code that an option names, for any value, is the project's.
NAMING = [
    (f"{before} *{after}", [f"{before} sub{after}"], [f"{before} ../x{after}", f"{before} /x{after}", f"{before} ~/x{after}"])
    for before, after in [
        ("make -C", " test"), ("make -f", " test"), ("npm --prefix", " test"), ("pnpm -C", " test"), ("yarn --cwd", " test"),
        ("cargo build --manifest-path", ""), ("cargo --config", " build"), ("go -C", " test"), ("go test -exec", " ./..."), ("go build -toolexec", " ./..."),
        ("pytest -c", " tests"), ("pytest --rootdir", " tests"), ("mypy --config-file", " src"), ("mypy --python-executable", " src"), ("tox -c", " -e py"),
        ("nox -f", ""), ("coverage --rcfile", " report"), ("pylint --rcfile", " src"), ("uv --directory", " run pytest"), ("uv run --with", " pytest"),
        ("poetry -C", " run pytest"), ("pip --python", " list"), ("node -r", " a.js"), ("node --import", " a.js"), ("jest -c", ""),
        ("eslint -c", " src"), ("eslint --rulesdir", " src"), ("prettier --plugin", " src"), ("docker compose -f", " up"), ("terraform plan -from-module", ""),
        ("cmake -P", ""), ("ninja -C", ""), ("rake -f", " build"), ("gradle -p", " build"), ("rg --pre", " x"), ("sort --compress-program", " a"),
        ("tar -I", " -cf a.tar b"), ("awk -f", " a"), ("sed -f", " a"), ("curl -K", ""), ("git clone --template", " https://e.com/x"), ("git bisect run", ""),
    ]
]  # fmt: skip


@pytest.mark.parametrize("row", NAMING, ids=lambda row: row[0])
def test_code_that_an_option_names_is_that_of_the_project_unless_the_rule_names_it(row):
    pattern, covered, asked = row
    assert misjudged([row]) == []
    assert misjudged([(pattern.replace(" *", "=*", 1), [], [one.replace(" ../", "=../") for one in asked[:1]])]) == []
    assert misjudged([(asked[0], [asked[0]], [])]) == []


@pytest.fixture
def verdict(tmp_path):
    """By rules for single arguments of tools that nobody has declared."""
    rules = {
        "patterns": ["u(dst=docs/*)", "n(name=prod-*)", "w(cmd=git *)", "q(sql=select *)", "o(text=*)", "c(cmd=*)"]
    }
    policy = Policy.from_dict({"whitelist": rules}, project_root=tmp_path, home=tmp_path)
    return lambda tool, name, value: policy.decide(tool, {name: value}).verdict


@pytest.mark.parametrize(
    ("tool", "name", "covered", "asked"),
    [
        ("u", "dst", ["docs/a", "docs/a/b", "docs/a..b"], ["docs/../x", "docs/a/../../x", "docs/%2e%2e/x", "docs\\..\\x"]),
        ("n", "name", ["prod-a", "prod-1.2"], ["prod-/../x", "prod-x/.."]),
        ("w", "cmd", ["git status", "git log -5"], ["git status; rm x", "git $(id)", "git log | sh", "git log > x", "git log\nid", "git `id`"]),
        ("q", "sql", ["select 1", "select 1;", "select * from a where b > 1"], ["select 1; drop table a"]),
        ("o", "text", ["see ../x; and more", "a\nb"], []),
        ("c", "cmd", ["a; b"], []),
    ],
)  # fmt: skip
def test_a_wildcard_for_an_argument_of_no_known_kind_covers_plain_text(verdict, tool, name, covered, asked):
    assert [value for value in covered if verdict(tool, name, value) != "allow"] == []
    assert [value for value in asked if verdict(tool, name, value) == "allow"] == []


def test_long_paths_lead_where_they_do_whatever_was_looked_up_before(tmp_path):
    root = tmp_path.resolve()
    at = root
    for _ in range(80):
        at = at / "long"
    at.mkdir(parents=True)
    (at / "up").symlink_to("../..")
    (at / "cwd").symlink_to("/proc/self/cwd")
    links = Links(str(root))
    paths = [f"{root}{'/long' * deep}" for deep in range(81)]
    paths += [f"{at}/up", f"{at}/up/x", f"{at}/up/../x", f"{at}/new/a/b/c/d/e/f", f"{at}/new/a/b/c/d"]
    assert [path for path in paths * 2 if links.real(path) != os.path.realpath(path)] == []
    assert [links.real(f"{at}/cwd/x", folder) for folder in ("/a", "/b")] == ["/a/x", "/b/x"]


def test_what_bisect_shows_by_another_command_is_that_command(tmp_path):
    rules = {"defaultPolicy": "allow", "blacklist": {"patterns": ["git push --force *", "gitx *"]}}
    policy = Policy.from_dict(rules, project_root=tmp_path, home=tmp_path)
    commands = [
        f"git bisect {view} {what}" for view in ("view", "visualize") for what in ("push -f", "gitx a", "--stat")
    ]
    found = [policy.decide("runCommand", {"command": command}).verdict for command in commands]
    assert found == ["deny", "deny", "allow"] * 2


@pytest.mark.parametrize("name", ["args", "arguments", "params", "options", "flags"])
def test_a_text_beside_a_command_goes_behind_it(tmp_path, name):
    rules = {
        "shellTools": ["sh"],
        "blacklist": {"patterns": ["git push --force *", "rm *"]},
        "whitelist": {"patterns": ["git *", "ls *"]},
    }
    policy = Policy.from_dict(rules, project_root=tmp_path, home=tmp_path)
    found = {
        text: policy.decide("sh", {"command": command, name: text}).verdict
        for command, text in [
            ("git", "status -s"),
            ("ls", "-la src"),
            ("ls", ""),
            ("git", "push --force"),
            ("ls", "; rm x"),
            ("ls", "$(rm x)"),
            ("ls", "> x"),
            ("git", "log --output=x"),
        ]
    }
    assert [text for text, verdict in found.items() if verdict == "allow"] == ["status -s", "-la src", ""]
    assert [text for text, verdict in found.items() if verdict == "deny"] == ["push --force", "; rm x", "$(rm x)"]
