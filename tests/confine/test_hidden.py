"""What a command does so that the next box does not find what is to be closed: nothing of it opens anything."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from executor.confine import Profile, _closable, _disk, _repositories
from executor.confine._closable import closable
from executor.confine._closed import unwritable
from executor.confine._git_files import UnclearError, read
from executor.confine._real import Real
from executor.errors import ConfinementError
from tests.confine.conftest import NOBODY, PYTHON, ROOT, as_nobody
from tests.confine.test_closed import closed, configured, git, in_a_box, with_a_submodule

HOOK = "echo x > {0}/hooks/evil || echo x >> {0}/config"


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    git(tmp_path, "init", "-q", "project")
    git(folder, "commit", "-qm", "1", "--allow-empty")
    return folder


def with_one_in_a_linked_tree(project):
    with_a_submodule(project)
    git(project, "commit", "-qm", "2")
    git(project, "worktree", "add", "-q", "../other")
    git(project.parent / "other", "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    return ".git/worktrees/other/modules/sub"


def with_one_that_is_not_checked_out(project):
    with_a_submodule(project)
    git(project, "commit", "-qm", "2")
    git(project, "submodule", "--quiet", "deinit", "-f", "sub")
    return ".git/modules/sub"


def with_one_further_down(project):
    with_one_that_is_not_checked_out(project)
    (project / ".git/modules/libs").mkdir()
    (project / ".git/modules/sub").rename(project / ".git/modules/libs/sub")
    return ".git/modules/libs/sub"


def with_a_bare_one(project):
    git(project, "init", "-q", "--bare", "b.git")
    return "b.git"


def with_one_below(project):
    git(project, "init", "-q", "vendor/lib")
    return "vendor/lib/.git"


AWAY = "mkdir away; for i in HEAD objects refs index packed-refs info logs description; do mv {0}/$i away; done; true"
MADE = "for i in $(seq 60); do mkdir -p {0}$i/.git {0}$i/b; touch {0}$i/HEAD {0}$i/config; done"
HIDDEN = {
    "a submodule of a linked tree": (with_one_in_a_linked_tree, "true"),
    "a submodule whose parts are moved": (with_one_that_is_not_checked_out, AWAY),
    "a submodule below what looks like one": (
        with_one_further_down,
        "cd .git/modules/libs; touch HEAD config; mkdir objects refs",
    ),
    "a bare repository whose parts are moved": (with_a_bare_one, AWAY),
    "a repository below what looks like a bare one": (
        with_one_below,
        "cd vendor; mkdir objects refs; touch HEAD config",
    ),
    "a repository among many": (with_one_below, MADE.format("")),
    "a submodule among many": (with_one_further_down, MADE.format(".git/modules/a")),
    "a submodule among trees": (with_one_in_a_linked_tree, "cd .git/worktrees && mkdir $(seq 600)"),
    "a repository among folders": (with_one_below, "mkdir $(seq 1500)"),
}


@pytest.mark.parametrize("case", HIDDEN)
def test_the_next_box_finds_it_all_the_same(project, bubblewrap, case):
    prepare, hide = HIDDEN[case]
    repository = prepare(project)
    assert in_a_box(project, hide.format(repository))[0] == 0
    code, said = in_a_box(project, HOOK.format(repository))
    assert code != 0, said
    assert in_a_box(project, f"mv {repository} x")[0] != 0
    assert in_a_box(project, "touch a.txt")[0] == 0
    assert not (project / repository / "hooks/evil").exists()


def as_user(code, *words):
    """What *code* prints, run by an ordinary user, as JSON."""
    front = [*as_nobody(), PYTHON, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"]
    done = subprocess.run([*front, *words], capture_output=True, check=True, text=True, env={"HOME": "/nowhere"})
    return json.loads(done.stdout)


LOOK = """
import json, os
from executor.confine._closed import unwritable
from executor.values._profile import Profile
top, away, mode = sys.argv[1:]
os.chmod(os.path.join(top, away), int(mode, 8))
found = unwritable(Profile("project", top))
os.chmod(os.path.join(top, away), 0o755)
print(json.dumps([os.path.relpath(path, top) for path in found]))
"""


@pytest.fixture
def users_project():
    """An ordinary user's project, with each kind of repository in it."""
    as_nobody()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        top = os.path.realpath(folder)
        git(top, "init", "-q", "p/vendor/lib")
        git(top, "init", "-q", "p")
        git(top, "init", "-q", "--bare", "p/.git/modules/libs/m")
        git(top, "init", "-q", "--bare", "p/.git/worktrees/w/modules/m")
        configured("[core]\n\thooksPath = conf/hooks\n[include]\n\tpath = ../conf/more\n")(project := Path(top) / "p")
        (project / "conf/hooks").mkdir(parents=True)
        (project / "conf/more").touch()
        for path in (project, *project.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        yield project


UNSEEN = {
    "vendor": {"vendor"},
    "vendor/lib": {"vendor/lib"},
    ".git/modules": {".git/modules"},
    ".git/modules/libs": {".git/modules/libs"},
    ".git/worktrees/w/modules": {".git/worktrees/w/modules"},
    ".git/worktrees": {".git/worktrees"},
}


@pytest.mark.parametrize("mode", ["0311", "0000"])
@pytest.mark.parametrize("case", UNSEEN)
def test_what_a_user_cannot_list_is_closed_as_a_whole(users_project, case, mode):
    found = set(as_user(LOOK, str(users_project), case, mode))
    assert UNSEEN[case] <= found
    assert {".git/hooks", ".git/config", "conf/hooks"} <= found


@pytest.mark.parametrize("case", [".git", "conf"])
def test_where_configuration_cannot_be_read_all_is_closed(users_project, case):
    """It may name folders of hooks, which are as good as unknown then."""
    assert "." in as_user(LOOK, str(users_project), case, "0000")


def test_a_folder_in_which_nothing_can_be_made_is_closed_itself(users_project):
    found = as_user(LOOK, str(users_project), ".git", "0555")
    assert ".git" in found
    assert ".git/commondir" not in found


def test_a_place_that_nobody_in_a_box_can_make_is_passed_over(users_project):
    os.chown(users_project, 0, 0)
    look = LOOK.replace("os.chmod(", "str(").replace(", int(mode, 8))", ")").replace(", 0o755)", ")")
    found = as_user(look, str(users_project), ".git", "0")
    assert ".toolexec" not in found
    assert ".git/hooks" in found


def test_a_box_is_refused_when_too_many_files_are_open_and_had_when_they_are_not(project, bubblewrap, monkeypatch):
    repository = with_one_below(project)
    real = os.scandir

    def full(folder):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(_disk.os, "scandir", full)
    with pytest.raises(ConfinementError, match=r"Too many open files.*Try again"):
        in_a_box(project, "true")
    monkeypatch.setattr(_disk.os, "scandir", real)
    assert in_a_box(project, HOOK.format(repository))[0] != 0


def no_file_can_be_opened(path, flags, mode=0):
    raise OSError(errno.ENFILE, os.strerror(errno.ENFILE))


def test_a_file_that_cannot_be_read_now_is_not_taken_for_an_empty_one(project, monkeypatch):
    monkeypatch.setattr("executor.confine._git_files.regular_only", no_file_can_be_opened)
    with pytest.raises(OSError, match=os.strerror(errno.ENFILE)):
        read(str(project / ".git/config"))


def test_configuration_that_is_too_long_closes_all(project, bubblewrap):
    with open(project / ".git/config", "a", encoding="utf-8") as config:
        config.write("# a comment\n" * 100_000 + "[core]\n\thooksPath = .gh\n")
    with pytest.raises(UnclearError):
        read(str(project / ".git/config"))
    assert "." in closed(project)
    assert in_a_box(project, "touch a.txt")[0] != 0
    assert in_a_box(project, "touch $TMPDIR/a.txt; git status")[0] == 0


def of_the_tree(project):
    git(project, "config", "extensions.worktreeConfig", "true")
    git(project, "config", "--worktree", "core.hooksPath", ".gh")
    git(project, "config", "--worktree", "include.path", "../more.ini")


def of_a_linked_tree(project):
    git(project, "worktree", "add", "-q", "node_modules/x")
    of_the_tree(project / "node_modules/x")


def of_a_submodule(project):
    with_a_submodule(project)
    git(project / "sub", "config", "core.hooksPath", ".gh")


def of_variables(project, monkeypatch):
    for name, value in {"COUNT": "1", "KEY_0": "core.hooksPath", "VALUE_0": ".gh"}.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)


def of_a_file_that_a_variable_names(project, monkeypatch):
    (project / "mine.ini").write_text("[core]\n\thooksPath = .gh\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(project / "mine.ini"))


def of_the_system(project, monkeypatch):
    (project.parent / "system").write_text("[include]\n\tpath = project/more.ini\n")
    (project / "more.ini").write_text("[core]\n\thooksPath = .gh\n")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(project.parent / "system"))


def by_a_link(project, monkeypatch):
    (project.parent / "mine").symlink_to(project / "mine.ini")
    of_a_file_that_a_variable_names(project, monkeypatch)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(project.parent / "mine"))


def by_a_link_to_a_folder(project, monkeypatch):
    (project / "dot").mkdir()
    (project.parent / "settings").mkdir()
    (project.parent / "settings" / "git").symlink_to(project / "dot")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project.parent / "settings"))


def of_a_missing_file_that_a_variable_names(project, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(project / "mine.ini"))


def of_the_user_by_what_is_missing(project, monkeypatch):
    (project.parent / "user").write_text("[include]\n\tpath = project/mine.ini\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(project.parent / "user"))


def of_a_variable_of_templates(project, monkeypatch):
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(project / "new"))


NAMED = {
    "a tree's own": (of_the_tree, {".gh", "more.ini", ".git/config.worktree"}),
    "a linked tree's own": (
        of_a_linked_tree,
        {"node_modules/x/.gh", ".git/worktrees/more.ini", ".git/worktrees/x/config.worktree"},
    ),
    "a submodule's": (of_a_submodule, {"sub/.gh"}),
    "variables": (of_variables, {".gh"}),
    "a file that a variable names": (of_a_file_that_a_variable_names, {".gh", "mine.ini"}),
    "the system's, by what it includes": (of_the_system, {".gh", "more.ini"}),
    "a file that a link leads to": (by_a_link, {".gh", "mine.ini"}),
    "the project's own folder as that of hooks": (configured("[core]\n\thooksPath = .\n"), {"."}),
    "what new repositories are made from": (configured("[init]\n\ttemplateDir = new/\n"), {"new"}),
    "a variable that says so": (of_a_variable_of_templates, {"new"}),
    "a file that the user's own includes, and is not there": (of_the_user_by_what_is_missing, {"mine.ini"}),
    "a file that a variable names, and is not there": (of_a_missing_file_that_a_variable_names, {"mine.ini"}),
    "the user's own, that a link leads to": (by_a_link_to_a_folder, {"dot/config"}),
    "a folder with a slash": (configured("[core]\n\thooksPath = .gh/\n"), {".gh"}),
    "with a condition": (configured('[includeIf "gitdir:/a]b/"] path = ../more.ini # x\n'), {"more.ini"}),
    "after a line that cannot be read": (configured("[core\n]\n[core] hooksPath = .gh\n"), {".gh"}),
}


@pytest.mark.parametrize("case", NAMED)
def test_whatever_names_hooks_and_configuration_is_heeded(project, own_folders, monkeypatch, case):
    prepare, expected = NAMED[case]
    prepare(*(project, monkeypatch)[: prepare.__code__.co_argcount])
    assert expected <= closed(project)


def test_in_a_home_folder_the_users_own_configuration_is_closed(project, bubblewrap, monkeypatch):
    monkeypatch.setenv("HOME", str(project))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (project / ".gitconfig").write_text("[user]\n\tname = n\n")
    (project / ".config").mkdir()
    assert in_a_box(project, "echo x >> .gitconfig")[0] != 0
    assert in_a_box(project, "mkdir -p .config/git && echo x > .config/git/config")[0] != 0
    assert in_a_box(project, "touch .config/other && git config user.name")[1] == "n\n"


def test_in_a_home_folder_no_box_makes_the_configuration_that_the_user_has_not(project, bubblewrap, monkeypatch):
    monkeypatch.setenv("HOME", str(project))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert in_a_box(project, "echo x > .gitconfig")[0] != 0
    assert (
        in_a_box(project, "rm -rf .gitconfig 2> /dev/null; git config --list > /dev/null && echo read")[1] == "read\n"
    )
    assert not (project / ".gitconfig").exists(), "what stood for it is cleared away"


def test_no_box_makes_what_the_users_own_configuration_includes(project, own_folders, bubblewrap, monkeypatch):
    of_the_user_by_what_is_missing(project, monkeypatch)
    code, said = in_a_box(project, "git status && echo '[core]' > mine.ini")
    assert code != 0
    assert "Read-only file system" in said
    assert not (project / "mine.ini").exists(), "what stood for it is cleared away"


OBSTACLES = {
    "a file for a tree": "mkdir -p .git/worktrees; touch .git/worktrees/x",
    "a link for trees": "ln -s worktrees .git/worktrees",
    "many trees": "mkdir -p .git/worktrees; cd .git/worktrees; mkdir $(seq 2000)",
    "many submodules": "mkdir -p .git/modules; cd .git/modules; mkdir $(seq 450); "
    "for i in *; do : > $i/HEAD; : > $i/config; done",
    "a submodule in a file": "mkdir -p .git/modules/m/o; cd .git/modules/m; touch HEAD ../../../f; "
    "printf '[core]\\nworktree = ../../../f/x\\n' > config",
    "a submodule with too long a name": "mkdir -p .git/modules/m; cd .git/modules/m; touch HEAD; "
    "printf '[core]\\nworktree = ../../../%300d\\n' 0 > config",
    "a submodule with a NUL": "mkdir -p .git/modules/m; cd .git/modules/m; touch HEAD; "
    "printf '[core]\\nworktree = ../../../a\\0b\\n' > config",
    "a tree with an odd repository": "mkdir t; printf 'gitdir: a\\0b' > t/.git; touch f; "
    "mkdir u; echo gitdir: ../f/x > u/.git",
    "folders far down": "a=$(printf '%0200d' 0); "
    "for i in $(seq 18); do mkdir $a && cd $a || exit; done; mkdir .git; true",
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("case", OBSTACLES)
def test_nothing_that_is_found_keeps_the_next_box_from_starting(project, bubblewrap, case):
    assert in_a_box(project, OBSTACLES[case])[0] == 0
    began = time.monotonic()
    assert in_a_box(project, "git status -s >/dev/null; touch a.txt && echo y > .git/hooks/x")[0] != 0
    assert (project / "a.txt").exists()
    assert not (project / ".git/hooks/x").exists()
    assert time.monotonic() - began < 5
    shutil.rmtree(project)


def test_of_too_many_the_inmost_are_closed_by_what_they_are_in(monkeypatch, tmp_path):
    for name in ("a/b/c/d", "a/b/e", "f/g"):
        (tmp_path / name).mkdir(parents=True)
    asked = [f"{tmp_path}/{name}" for name in ("a/b/c/d", "a/b/e", "f/g", "f/none")]

    def within(most):
        monkeypatch.setattr(_closable, "_MOST", most)
        return {os.path.relpath(path, tmp_path) for path in closable([*asked, "/elsewhere/x"], str(tmp_path), Real())}

    elsewhere = os.path.relpath("/elsewhere/x", tmp_path)
    assert within(8) == {"a/b/c/d", "a/b/e", "f/g", "f/none", elsewhere}
    assert within(7) == {"a/b/c", "a/b/e", "f/g", "f/none", elsewhere}
    assert within(6) == {"a/b", "f/g", "f/none", elsewhere}
    assert within(3) == {"a", "f", elsewhere}
    assert within(1) == {".", elsewhere}


WORDS = "[core]\n" + "\tx = a/b c d\n" * 80_000
# What a clone brings along, by the files of a repository in it; as a whole it takes minutes to read.
ENDLESS = {
    "a long value": {"config": "[core]\n\tx = " + "ab " * 330_000},
    "many settings": {"config": WORDS},
    "many files": {
        "config": "[core]\n" + "".join(f"[include]\npath = x{number}\n" for number in range(90)),
        **{f"x{number}": WORDS for number in range(90)},
    },
    "many programs": {"config": "[core]\n\tx = ./a " + "".join(f"b{number} " for number in range(20_000))},
    "many folders of hooks": {"config": "[core]\n" + "".join(f"hooksPath = h{number}\n" for number in range(20_000))},
    "many working trees": {"config": "", **{f"worktrees/w{number}/x": "" for number in range(10_001)}},
    "a long path": {"config": "", "commondir": "a/" * 100_000},
}


@pytest.mark.parametrize("case", ENDLESS)
def test_a_repository_that_takes_too_long_to_read_is_closed_as_a_whole(project, bubblewrap, case):
    for name, text in {"HEAD": "ref: refs/heads/main\n", "objects/x": "", "refs/x": "", **ENDLESS[case]}.items():
        path = project / "lib" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert "lib" in closed(project)
    assert in_a_box(project, "touch a.txt; touch lib/x")[0] != 0
    assert (project / "a.txt").exists()


def test_a_repository_of_thousands_of_branches_stays_open(project, bubblewrap):
    with (project / ".git/config").open("a") as config:
        for number in range(10_000):
            config.write(f'[branch "topic/{number}"]\n\tremote = origin\n\tmerge = refs/heads/topic/{number}\n')
    assert "." not in closed(project)
    assert in_a_box(project, "touch a.txt")[0] == 0


@pytest.mark.parametrize(
    ("config", "is_one"),
    [
        ("[core]\n\tbare = true\n", True),
        ("[core]BARE=1", True),
        ("\ufeffbare", True),
        ("[core]\r\n  worktree = ../x\r\n", True),
        ("[core] repositoryformatversion ; x", True),
        ("# the bare minimum\nworktrees = 3\n[x]\nthreadbare = 1\n", False),
        ("x\n" * 20_000, True),  # too long to be read: it may be
        ("\n" * 30_000, False),
    ],
)
def test_a_folder_is_a_repository_by_its_configuration_alone(project, config, is_one):
    (project / "app").mkdir()
    (project / "app/config").write_text(config, newline="")
    assert ("app/config" in closed(project)) is is_one


def test_a_long_row_of_folders_is_closed_before_it_takes_long(project, bubblewrap):
    (project / ("folder/" * 500) / ".git").mkdir(parents=True)
    row = [place for place in closed(project) if place.endswith("/folder")]
    assert len(row) == 1
    assert 100 < row[0].count("folder") < 200
    assert in_a_box(project, "touch a.txt; cd folder/folder && touch x")[0] == 0
    assert in_a_box(project, f"touch {'folder/' * 199}x")[0] != 0
    shutil.rmtree(project)


def test_beyond_what_is_searched_all_is_closed(project, bubblewrap, monkeypatch):
    monkeypatch.setattr(_repositories, "_MOST_FOLDERS", 3)
    (project / "a/b").mkdir(parents=True)
    monkeypatch.setattr(_closable, "_MOST", 3)
    for number in range(5):
        (project / f"d{number}").mkdir()
    assert "." in closed(project)
    assert in_a_box(project, "touch a.txt")[0] != 0


def test_packages_and_large_projects_stay_open(project, bubblewrap):
    for number in range(1_500):
        (project / f"src/m{number // 50}/p{number}").mkdir(parents=True)
        (project / f"node_modules/x{number}/dist").mkdir(parents=True)
    (project / "app").mkdir()
    (project / "app/config").write_text("[core]\n\tname = x\n")
    found = unwritable(Profile("project", str(project)))
    assert not [path for path in found if "/src" in path or "/node_modules" in path or "/app" in path]
    assert in_a_box(project, "touch src/m7/p350/a node_modules/x3/dist/b app/config app/objects")[0] == 0


def test_folders_that_hold_much_of_what_is_closed_are_looked_up_once(tmp_path, monkeypatch):
    looked = []
    is_link = os.path.islink
    monkeypatch.setattr(os.path, "islink", lambda path: looked.append(path) or is_link(path))
    for folder in ("a", "b"):
        for name in range(50):
            (tmp_path / folder / str(name)).mkdir(parents=True)
    closed = [str(path) for path in (*tmp_path.glob("*/*"), *(tmp_path / f"a/new{name}" for name in range(50)))]
    looked.clear()
    assert closable(closed, str(tmp_path), Real()) == tuple(closed)
    assert len(looked) == len(tmp_path.parts) - 1 + len(("a", "b"))
