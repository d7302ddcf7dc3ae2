"""git shows what it tracks: a file that no tool may read is asked about where git may print it."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import os
import subprocess
import zlib

import pytest

from executor_permissions import Policy
from executor_permissions.judge.git._index import tracked

RULES = {
    "whitelist": {"patterns": ["git *", "cd *"], "tools": []},
    "blacklist": {"arguments": {"readFile": {"path": ["${project}/.env", "${project}/keys/"]}}},
}
WILD = {**RULES, "blacklist": {"arguments": {"readFile": {"path": ["**/*.pem"]}}}}


def git(root, *words):
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True, text=True, timeout=30)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    """A repository with ordinary files; gives its folder."""
    root = tmp_path.resolve() / "proj"
    for name in ("src", "keys", "docs"):
        (root / name).mkdir(parents=True)
    for name in (".env", "keys/id", "src/a.py", "docs/b.md", "docs/c.pem"):
        (root / name).write_text("x\n")
    git(root, "init", "-q", ".")
    git(root, "add", "src", "docs/b.md")
    return root


def asked(root, commands, rules=RULES):
    policy = Policy.from_dict(rules, project_root=root, home=root.parent / "home")
    return [text for text in commands if policy.decide("runCommand", {"command": text}).verdict != "allow"]


SHOWING = [
    "git diff", "git diff HEAD~3", "git diff --cached", "git show", "git show HEAD", "git log -p", "git log -5 -p --stat", "git log -U1", "git log --patch -- .", "git grep x", "git grep -n x HEAD", "git stash show -p", "git diff --check",
    "git show HEAD HEAD:src/a.py", "git diff -- :/", "git diff -- '*'", "cd src && git diff", "git -C src diff", "git log -p -S src", "git grep -l x", "git grep -c x", "git grep -q x", "git log -S x", "git log --oneline -Gx", "git diff -G x --stat", "git grep src", "git whatchanged -p", "git status -v", "git diff --stat -p", "git --no-pager diff", "git cat-file -p HEAD", "git diff -- . ':!docs'", "timeout 5 git diff",
]  # fmt: skip
NOT_SHOWING = [
    "git diff --stat", "git diff --name-only HEAD~1", "git log", "git log --oneline --stat -5", "git show --stat", "git show HEAD:src/a.py", "git diff -- src", "git diff HEAD~1 src", "git diff src/a.py", "git log -p -- src/a.py docs", "git log --grep x", "git status -s", "git grep x -- src",
    "git diff -- . ':!.env' ':!keys'", "git diff -- . ':(exclude).env' ':^keys'", "git cat-file -t HEAD", "git cat-file -p HEAD:src/a.py", "git blame src/a.py", "git stash show", "git ls-files", "git diff HEAD:src/a.py HEAD~1:src/a.py", "git -C src diff -- .", "git branch -v",
]  # fmt: skip


def test_a_tracked_file_that_no_tool_may_read_is_asked_about_where_git_may_show_it(repository):
    git(repository, "add", "-f", ".env", "keys")
    assert asked(repository, SHOWING) == SHOWING
    assert asked(repository, NOT_SHOWING) == []


def test_a_file_that_is_not_tracked_is_no_reason_to_ask(repository):
    assert asked(repository, [*SHOWING, *NOT_SHOWING]) == []
    assert asked(repository, ["git grep --untracked x"]) == ["git grep --untracked x"]


def test_the_reason_names_the_file_and_how_to_leave_it_out(repository):
    git(repository, "add", ".env")
    decision = Policy.from_dict(RULES, project_root=repository).decide("runCommand", {"command": "git diff"})
    assert "it may show .env, which a rule denies: ':!.env' at its end leaves that out" in decision.reason


def test_rules_with_a_wildcard_count_as_well(repository):
    assert asked(repository, SHOWING, WILD) == []
    git(repository, "add", "docs/c.pem")
    assert asked(repository, ["git diff", "git diff -- src", "git diff -- . ':!docs/c.pem'"], WILD) == ["git diff"]


def test_what_is_added_or_removed_later_is_seen(repository):
    assert asked(repository, ["git diff"]) == []
    git(repository, "add", ".env")
    assert asked(repository, ["git diff"]) == ["git diff"]
    git(repository, "rm", "-q", "--cached", ".env")
    assert asked(repository, ["git diff"]) == []


@pytest.mark.parametrize("form", ["--index-version=2", "--index-version=4", "--split-index"])
def test_the_index_is_read_whatever_git_writes_or_counts_as_unknown(repository, form):
    git(repository, "add", "-N", ".env")  # an entry with more flags
    git(repository, "update-index", form)
    names = tracked(str(repository))
    assert names == ((".env", "docs/b.md", "src/a.py") if form != "--split-index" else None)
    assert asked(repository, ["git diff"]) == ["git diff"]
    git(repository, "rm", "-q", "--cached", "-f", ".env")
    unknown = ["git diff"] if form == "--split-index" else []
    assert asked(repository, ["git diff"]) == asked(repository, ["git diff"], WILD) == unknown


def test_the_index_of_a_linked_work_tree_is_its_own(repository):
    git(repository, "commit", "-q", "-m", "x")
    git(repository, "worktree", "add", "-q", "../other")
    other = repository.parent / "other"
    (other / ".env").write_text("x\n")
    assert tracked(str(other)) == ("docs/b.md", "src/a.py")
    git(other, "add", ".env")
    assert asked(other, ["git diff"]) == ["git diff"]
    assert asked(repository, ["git diff"]) == []


def test_an_index_that_is_cut_off_or_of_another_kind_is_not_taken_for_an_empty_one(repository):
    index = repository / ".git" / "index"
    data = index.read_bytes()
    assert tracked(str(repository)) == ("docs/b.md", "src/a.py")
    wrong = bytearray(data)
    wrong[12 + 61] ^= 1  # the length of the first name
    for damaged in (b"", data[:8] + b"\0\0\0\x09" + data[12:], bytes(wrong)):
        index.write_bytes(damaged)
        assert tracked(str(repository)) is None


CHOOSING = [
    "git add -p", "git add -i", "git add -Ap", "git add -e", "git add --interactive", "git stage --patch", "git commit -p", "git commit -qpm x", "git commit --interactive", "git commit --patch -m x", "git reset -p", "git reset -qp HEAD~1", "git restore -p", "git restore --patch --source=HEAD~1", "git checkout -p",
    "git checkout -p HEAD~1", "git checkout -mp", "git stash -p", "git stash push -kp", "git am --show-current-patch", "git rebase --show-current-patch=diff", "git bisect view -p",
]  # fmt: skip
NOT_CHOOSING = [
    "git add -A", "git add src", "git add -p src", "git add -p -- src ':!.env'", "git commit -m 'p i e'", "git commit -mpatch", "git commit -i -m x src/a.py", "git commit -am x", "git reset -q", "git reset -p -- docs", "git checkout -b p", "git checkout -bparse", "git restore -sHEAD~1 src", "git rebase HEAD~1",
]  # fmt: skip
PATHS_THAT_DO_NOT_COUNT = [
    "git log -p --full-diff -- src", "git show --full-diff HEAD -- src", "git diff-tree -p --stdin -- src", "git --icase-pathspecs diff -- .ENV", "git --icase-pathspecs log -p -- .Env", "git --icase-pathspecs grep x -- .ENV", "git --literal-pathspecs diff -- ':!.env' ':!keys'", "git diff -- ':!.env/' ':!keys'",
    "git log -p -- ':!.env/' ':!keys'", "git grep x -- ':!.env/' ':!keys'", "git diff -- ':!.ENV' ':!keys'", "git diff -- ':(exclude,icase).ENV' ':!keys'", "git diff -- ':!.env' ':!key'",
]  # fmt: skip
PATHS_THAT_COUNT = [
    "git log -p --full-history -- src", "git --literal-pathspecs diff -- src", "git --glob-pathspecs log -p -- src docs", "git diff -- ':!.env' ':!keys/'", "git diff -- ':!./.env' ':!keys'", "git diff -- ':!.env' ':!keys' ':!docs/'",
]  # fmt: skip


@pytest.mark.parametrize(
    ("held", "free"), [(CHOOSING, NOT_CHOOSING), (PATHS_THAT_DO_NOT_COUNT, PATHS_THAT_COUNT)], ids=["choosing", "paths"]
)
def test_what_else_shows_a_tracked_file(repository, held, free):
    git(repository, "add", "-f", ".env", "keys")
    assert asked(repository, held) == held
    assert asked(repository, free) == []


@pytest.mark.parametrize("packed", [False, True])
def test_the_paths_beside_an_object_s_name_say_nothing_of_a_file_or_a_folder(repository, packed):
    git(repository, "add", "-f", ".env", "keys")
    git(repository, "commit", "-qm", "x")
    names = {"blob": "HEAD:.env", "tree": "HEAD:keys", "commit": "HEAD"}
    hashes = {name: git(repository, "rev-parse", "--short", what) for name, what in names.items()}
    if packed:
        git(repository, "repack", "-adq")
    forms = ["git show {} -- src", "git show {} src", "git grep x {} -- src", "git diff {} HEAD -- src", "git diff HEAD..{} -- src", "git diff-tree -p HEAD {} -- id", "git show v1-2-g{} -- src", "git show -s {} -- src"]  # fmt: skip
    held = [form.format(hashes[name]) for name in ("blob", "tree") for form in forms]
    held += [held[0].upper().replace("GIT SHOW", "git show").replace("SRC", "src")]
    held += ["git grep x HEAD:keys -- id", "git diff HEAD~1:keys HEAD:src -- id", "git show :src/a.py -- src"]
    assert asked(repository, held) == held
    free = [form.format(name) for name in (hashes["commit"], "HEAD~2", "main") for form in forms[:-1]]
    free += ["git grep -n -A 3 'a: b' -- src", "git grep -e 'a: b' HEAD -- src", "git diff main...feature -- src"]
    assert asked(repository, free) == []


def test_what_gives_a_tracked_file_another_name_is_asked_about(repository):
    git(repository, "add", "-f", ".env", "keys")
    git(repository, "commit", "-qm", "x")
    blob, tree, commit = (git(repository, "rev-parse", name) for name in ("HEAD:.env", "HEAD:keys", "HEAD"))
    held = ["git notes add -C {blob} HEAD", "git notes append -fC {blob}", "git notes edit --reuse-message={blob}", "git tag b {blob}", "git tag -f b HEAD:.en?", "git update-ref refs/tags/b {blob}", "git push . {blob}:refs/tags/b", "git fetch . {blob}:refs/tags/b", "git merge-tree {tree} HEAD main", "git restore --source={tree} -- id", "git restore -qsHEAD:keys -- id", "git checkout HEAD:keys -- id", "git worktree add ../proj/x", "git mv keys k", "timeout 5 git mv -k keys docs"]  # fmt: skip
    held = [text.format(blob=blob[:9], tree=tree) for text in held]
    assert asked(repository, held) == held
    free = ["git tag v1", "git tag -a v1 -m 'a: b'", f"git tag v1 {commit}", "git tag 20240101", f"git update-ref refs/x {commit}", f"git checkout {commit[:7]}", f"git checkout {commit[:7]} -- src", f"git reset -q {commit[:7]}", "git checkout -b feed", "git notes add -m x", "git merge-tree main x", "git worktree list", "git mv src s", "git mv src/a.py .", "git mv docs/b.md src"]  # fmt: skip
    assert asked(repository, free) == []


OF_OTHERS = [
    "git difftool", "git difftool -y -x cat HEAD~1", "git difftool HEAD~1 HEAD", "git fast-export HEAD", "git request-pull -p HEAD~1 .", "git unpack-file 12345678", "git clone -q . copy", "git clone -b main --depth 1 src/.. /tmp/x",
    "git clone file:///x y", "git checkout-index -a --prefix=x/", "git checkout-index --temp -a", "git read-tree --prefix=x/ HEAD", "git bundle create x HEAD", "git pack-objects --all x", "git diagnose --mode=all",
]  # fmt: skip
NOT_OF_OTHERS = [
    "git difftool -y HEAD~1 -- src", "git request-pull v1 https://example.com/x", "git clone https://example.com/a/b", "git clone me@example.com:a/b b", "git checkout-index a", "git read-tree HEAD", "git bundle verify x", "git fsck",
]  # fmt: skip


def test_what_is_covered_by_no_wildcard_shows_a_tracked_file_as_well(repository):
    rules = {"defaultPolicy": "allow", "blacklist": RULES["blacklist"]}
    assert asked(repository, [*OF_OTHERS, *NOT_OF_OTHERS], rules) == []
    git(repository, "add", "-f", ".env")
    git(repository, "commit", "-qm", "x")
    assert asked(repository, [*OF_OTHERS, *NOT_OF_OTHERS], rules) == OF_OTHERS


LOOKED_INTO = [".git", ".git/index", ".git/HEAD", ".git/config", ".git/packed-refs", ".gitignore", ".ignore", ".rgignore", "a.tar", "a.zip", "a.patch", "a.tar.gz"]  # fmt: skip
LOOKING = ["git checkout -- a", "git checkout main", "git switch main", "git restore a", "git clean -fd", "git commit -am x", "git add .", "git add -A", "git rm a", "git mv a b", "git stash", "git status", "git apply a.patch", "patch -p1 -i a.patch", "rg x", "rg --hidden x .", "rg x .git*", "grep -r x .", "tar xf a.tar", "tar xzf a.tar.gz", "unzip a.zip", "cp -r . ../x", "rm a", "cat *"]  # fmt: skip


@pytest.mark.timeout(30)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has none")
@pytest.mark.parametrize("name", LOOKED_INTO)
def test_a_fifo_is_waited_for_by_nobody_who_judges(tmp_path, name):
    """A command may make one, and whoever opens it waits until somebody writes into it."""
    if name.startswith(".git/"):
        (tmp_path / ".git").mkdir()
        (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    content = {
        "whitelist": {"patterns": ["*"]},
        "blacklist": {"arguments": {"writeFile": {"path": ["${project}/kept"]}}},
    }
    policy = Policy.from_dict(content, project_root=tmp_path, home=tmp_path)
    for command in LOOKING:
        assert policy.decide("runCommand", {"command": command}).verdict in ("allow", "ask", "deny")


@pytest.mark.parametrize("packed", [False, True])
def test_objects_with_names_of_another_length_are_asked_about(tmp_path, packed):
    root = tmp_path.resolve() / "other"
    (root / "src").mkdir(parents=True)
    for name in (".env", "src/a.py"):
        (root / name).write_text("x\n")
    git(root, "init", "-q", "--object-format=sha256", ".")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    if packed:
        git(root, "repack", "-adq")
    blob = git(root, "rev-parse", "HEAD:.env")
    commands = [f"git {sub} {name} -- src" for sub in ("show", "grep x") for name in (blob, blob[:10])]
    assert asked(root, commands) == commands


def a_long_configuration(root, _):
    with (root / ".git/config").open("a") as file:
        file.write("# x\n" * (1 << 18))


def many_commits(root, commit):
    folder = root / ".git/objects" / commit[:2]
    for number in range(100):
        (folder / f"{commit[2:8]}{number:032x}").write_bytes(zlib.compress(b"commit 0\0"))


@pytest.mark.parametrize("make", [a_long_configuration, many_commits])
def test_what_is_too_much_to_be_looked_at_may_be_a_file(repository, make):
    git(repository, "commit", "-qm", "x")
    git(repository, "add", "-f", ".env")
    commit = git(repository, "rev-parse", "HEAD")
    command = [f"git show {commit[:8]} -- src"]
    assert asked(repository, command) == []
    make(repository, commit)
    assert asked(repository, command) == command


def test_a_branch_is_not_missed_among_many(repository):
    git(repository, "add", "-f", ".env")
    git(repository, "commit", "-qm", "x")
    git(repository, "rm", "-q", "--cached", ".env")
    assert asked(repository, ["git diff --cached"]) == ["git diff --cached"]
    git(repository, "pack-refs", "--all")
    file = repository / ".git/packed-refs"
    first, *rest = file.read_text().splitlines(keepends=True)
    more = "".join(f"{'0' * 39}1 refs/heads/a{number}\n" for number in range(75_000))
    file.write_text(first + more + "".join(rest))
    assert asked(repository, ["git diff --cached"]) == ["git diff --cached"]


@pytest.mark.parametrize("deep", [False, True])
def test_what_submodules_track_is_shown_as_well(repository, tmp_path, deep):
    """By an option, or by settings (``submodule.recurse``, ``diff.submodule``), which are not looked at."""
    for name, inner in (("inner", None), ("outer", "inner")):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init", "-q", ".")
        (tmp_path / name / "a.py").write_text("x\n")
        git(tmp_path / name, "add", ".")
        if inner:
            git(tmp_path / name, "-c", "protocol.file.allow=always", "submodule", "add", "-q", tmp_path / inner, inner)
        git(tmp_path / name, "commit", "-qm", "x")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", tmp_path / "outer", "lib")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init", "--recursive")
    git(repository, "commit", "-qm", "x")
    commands = ["git grep --recurse-submodules x", "git diff --submodule=diff", "git show", "git log -p", "git grep x"]
    place = "lib/inner" if deep else "lib"
    rules = {"whitelist": {"patterns": ["git *"]}, "blacklist": {"arguments": {"readFile": {"path": [f"{place}/key"]}}}}
    wild = {**rules, "blacklist": {"arguments": {"readFile": {"path": ["**/key"]}}}}
    assert asked(repository, commands, rules) == asked(repository, commands, wild) == []
    (repository / place / "key").write_text("x\n")
    git(repository / place, "add", "-f", "key")
    assert asked(repository, commands, rules) == asked(repository, commands, wild) == commands
    assert asked(repository, ["git grep --recurse-submodules x -- src"], rules) == []


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_LITERAL_PATHSPECS"])
def test_what_git_shows_is_asked_about_where_the_environment_sends_it_to_what_was_not_looked_at(
    repository, monkeypatch, name
):
    shown = [
        "git diff",
        "git log -p",
        "git show HEAD:src/a.py",
        "git diff -- . ':!.env' ':!keys'",
        "cd src && git show",
    ]
    assert asked(repository, shown) == []
    monkeypatch.setenv(name, str(repository.parent))
    assert asked(repository, shown) == shown
    assert asked(repository, ["git log", "git status -s", "git diff --stat"]) == []
    assert asked(repository, shown, {"whitelist": {"patterns": ["git *", "cd *"]}}) == []
