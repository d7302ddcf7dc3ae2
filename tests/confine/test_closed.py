"""What git and toolexec run by themselves: which files these are, and that no box writes them while git still works."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from executor.confine import Profile, _closable, _kept_repositories, _repositories, start
from executor.confine._closed import unwritable
from executor.confine._places import Places
from executor.confine._repositories import Repositories, below

GIT = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "init.defaultBranch=main"]
USUAL = {".toolexec", ".git/commondir", ".git/hooks", ".git/config"}


def git(folder, *words):
    return subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", ".")
    (folder / "a").write_text("a\n")
    git(folder, "add", "a")
    git(folder, "commit", "-qm", "1")
    return folder


def closed(folder):
    found = {os.path.relpath(path, folder) for path in unwritable(Profile("project", str(folder)))}
    return found - {os.path.relpath(path, folder) for path in of_the_user()}


def of_the_user():
    places = Places.now()
    git = "/etc/gitconfig", f"{places.home}/.gitconfig", f"{places.config}/git", f"{places.config}/git/config"
    return *git, *places.all_own


def configured(text):
    def prepare(project):
        with open(project / ".git" / "config", "a", encoding="utf-8") as config:
            config.write(text)

    return prepare


def programs(text):
    def prepare(project):
        (project / "run").mkdir()
        for path in (project / "run" / "it", project / "it"):
            path.write_text("")
        configured(text)(project)

    return prepare


def with_a_worktree(project):
    git(project, "worktree", "add", "-q", "../other")


def with_a_repository_elsewhere(project):
    (project / ".git").rename(project / "repository")
    (project / ".git").write_text("gitdir: repository\n")


def with_hooks_for_all(project):
    with open(os.path.expanduser("~/.gitconfig"), "w", encoding="utf-8") as config:
        config.write("[core]\n\thooksPath = .githooks\n")


def with_a_hook_that_is_a_link(project):
    (project / "tools").mkdir()
    (project / "tools" / "check").symlink_to("../real")
    (project / "real").write_text("#!/bin/sh\n")
    (project / ".git" / "hooks" / "pre-commit").symlink_to("../../tools/check")


def with_hooks_for_all_that_are_links(project):
    with_hooks_for_all(project)
    (project / ".githooks").mkdir()
    (project / ".githooks" / "pre-push").symlink_to(project / "missing")


def with_a_submodule(project):
    subprocess.run([*GIT, "clone", "-q", project, project.parent / "source"], check=True)
    git(project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../source", "sub")


def with_configurations_of_trees(project):
    git(project, "worktree", "add", "-q", "../other")
    git(project, "config", "extensions.worktreeConfig", "true")


def with_a_nested_repository(project):
    git(project, "init", "-q", "vendor/lib")


def with_a_bare_repository(project):
    git(project, "init", "-q", "--bare", "data/origin.git")


def with_a_nested_working_tree(project):
    git(project, "worktree", "add", "-q", "trees/other")


def named(repository, *names):
    return {f"{repository}/{name}" for name in names or ("hooks", "config", "commondir")}


CASES = {
    "a repository below it": (with_a_nested_repository, USUAL | named("vendor/lib/.git")),
    "a bare one": (with_a_bare_repository, USUAL | named("data/origin.git")),
    "a working tree below it": (
        with_a_nested_working_tree,
        USUAL | {"trees/other/.git", ".git/worktrees/other/commondir"},
    ),
    "submodules": (
        with_a_submodule,
        USUAL | {"sub/.git", *(f".git/modules/sub/{name}" for name in ("hooks", "config", "commondir"))},
    ),
    "configurations of working trees": (
        with_configurations_of_trees,
        USUAL | {".git/worktrees/other/commondir", ".git/config.worktree", ".git/worktrees/other/config.worktree"},
    ),
    "a repository": (lambda _: None, USUAL),
    "hooks elsewhere": (configured('[core]\n\thooksPath = ".husky/_"\n'), USUAL | {".husky/_", ".git/.husky/_"}),
    "hooks elsewhere, in one line": (
        configured("[Core] HooksPath=tools/hooks # ours\n"),
        USUAL | {"tools/hooks", ".git/tools/hooks"},
    ),
    "hooks of all repositories": (with_hooks_for_all, USUAL | {".githooks", ".git/.githooks"}),
    "a hook that is a link": (with_a_hook_that_is_a_link, USUAL | {"tools/check", "real"}),
    "a hook of all that is a link to what is not there": (
        with_hooks_for_all_that_are_links,
        USUAL | {".githooks", ".git/.githooks", "missing"},
    ),
    "what is included": (configured("[include]\n\tpath = ../shared.ini\n"), USUAL | {"shared.ini"}),
    "what is included at times": (
        configured('[includeIf "onbranch:x"]\n\tpath = ../x.ini\n'),
        USUAL | {"x.ini"},
    ),
    "configuration of working trees": (
        configured("[extensions]\n\tworktreeConfig = true\n"),
        USUAL | {".git/config.worktree"},
    ),
    "a monitor": (programs("[core]\n\tfsmonitor = ./run/it\n"), USUAL | {"run/it"}),
    "a filter": (programs('[filter "x"]\n\tclean = python3 -I run/it --clean %f\n'), USUAL | {"run/it"}),
    "a helper": (programs("[credential]\n\thelper = \"!f() { 'run/it'; }; f\"\n"), USUAL | {"run/it"}),
    "a driver": (programs('[merge "x"]\n\tdriver = "sh it %A;run/it"\n'), USUAL | {"run/it", "it"}),
    "a command of one's own": (programs("[alias]\n\tx = !run/it\n\ty = log -- it\n"), USUAL | {"run/it"}),
    "an update of a submodule": (programs('[submodule "run"]\n\tupdate = !sh ../it\n'), USUAL | {"it"}),
    "a program elsewhere": (programs("[core]\n\teditor = it\n\tpager = less run\n"), USUAL),
    "people and branches": (programs('[user]\n\tname = run/it it\n[branch "b"]\n\tmerge = run/it\n'), USUAL),
    "another setting of these names": (configured("[other]\n\thooksPath = x\n\tpath = y\n"), USUAL),
    "another working tree": (with_a_worktree, USUAL | {".git/worktrees/other/commondir"}),
    "a repository elsewhere": (
        with_a_repository_elsewhere,
        {".toolexec", ".git", "repository/commondir", "repository/hooks", "repository/config"},
    ),
}


@pytest.mark.parametrize("name", ["read", "project"])
def test_a_redirection_that_a_rule_allowed_opens_nothing_of_it(project, own_folders, name, landlock):
    configured("[core]\n\thooksPath = .husky\n[include]\n\tpath = ../more.ini\n")(project)
    (project / ".husky").mkdir()
    own = Places.now()
    files = [f"{project}/.husky/pre-commit", f"{project}/more.ini", f"{project}/.git/config", f"{project}/.git/hooks/x"]
    files += [f"{own.home}/.gitconfig", f"{own.config}/git/config", f"{own.config}/toolexec/permissions.json"]
    for file in map(Path, files[4:6]):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    before = [text_of(file) for file in files]
    out = f"{project}/out.txt"
    profile = Profile(name, str(project), writable=(*files, out))
    said = in_a_box(project, "; ".join(f"echo '# x' >> {file}" for file in (*files, out)), profile)[1]
    assert [text_of(file) for file in files] == before, said
    assert text_of(out) == "# x\n"


def text_of(path):
    return Path(path).read_text() if os.path.exists(path) else None


@pytest.mark.parametrize("case", CASES)
def test_what_git_runs_is_closed_wherever_it_is(project, own_folders, case):
    prepare, expected = CASES[case]
    prepare(project)
    assert closed(project) == expected


def test_files_that_include_one_another_end(project):
    configured("[include]\n\tpath = config\n")(project)
    assert closed(project) == USUAL


def test_of_a_linked_working_tree_what_is_in_the_repository_is_closed(project):
    with_a_worktree(project)
    found = closed(project.parent / "other")
    assert {".git", ".toolexec", "../project/.git/hooks", "../project/.git/config"} <= found


def test_without_a_repository_only_the_folder_of_toolexec_is_closed(tmp_path):
    assert closed(tmp_path) == {".toolexec"}


def in_a_box(project, line, profile=None):
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    boxed = start(profile or Profile("project", str(project)), ["bash", "-c", line], cwd=str(project), **streams)
    said, _ = boxed.process.communicate(timeout=60)
    boxed.close()
    return boxed.process.returncode, said.decode()


@pytest.mark.parametrize("included", ["../shared.ini", "../no/such/shared.ini", "own"])
def test_git_works_while_a_file_that_it_includes_is_not_there(project, bubblewrap, included):
    configured(f"[include]\n\tpath = {included}\n")(project)
    git(project, "add", "-A")
    git(project, "commit", "-qm", "all", "--allow-empty")
    before = sorted(path.name for path in (*project.iterdir(), *(project / ".git").iterdir()))
    path = f".git/{included}"
    code, said = in_a_box(
        project, f"echo '[core]' > {path}; mkdir -p $(dirname {path}); git log --oneline && git status"
    )
    assert code == 0, said
    assert "fatal" not in said
    assert sorted(path.name for path in (*project.iterdir(), *(project / ".git").iterdir())) == before


ATTEMPTS = {
    "a hook": "echo x > .git/hooks/pre-commit",
    "configuration": "echo x >> .git/config",
    "configuration as git does it": "git config core.pager x",
    "configuration taken from elsewhere": "mkdir c && echo $PWD/c > .git/commondir",
    "likewise, by a rename": "mkdir c && echo $PWD/c > x && mv -f x .git/commondir",
    "another repository in its place": "mv .git g; git init -q .",
    "of another working tree": "echo $PWD > .git/worktrees/other/commondir",
    "that working tree moved": "mv .git/worktrees/other x",
    "all of them moved": "mv .git/worktrees x",
    "hooks elsewhere": "echo x > own/hooks/pre-commit",
    "hooks elsewhere, moved": "mv own o",
    "toolexec": "mkdir -p .toolexec && echo '{}' > .toolexec/permissions.json",
}


@pytest.mark.parametrize("case", ATTEMPTS)
def test_no_box_writes_it(project, bubblewrap, case):
    with_a_worktree(project)
    (project / "own" / "hooks").mkdir(parents=True)
    configured("[core]\n\thooksPath = own/hooks\n")(project)
    before = (project / ".git" / "config").read_bytes(), git(project, "rev-parse", "--git-common-dir")
    code, said = in_a_box(project, ATTEMPTS[case])
    assert code != 0, said
    assert before == ((project / ".git" / "config").read_bytes(), git(project, "rev-parse", "--git-common-dir"))
    assert os.listdir(project / "own" / "hooks") == []
    assert not (project / ".git" / "commondir").exists()
    assert not (project / ".toolexec").exists()
    assert (project / ".git" / "worktrees" / "other" / "commondir").read_text() == "../..\n"


# HEAD is replaced with each switch of a branch. Without it git looks on, and first in the folder itself.
ITSELF = r"""
echo 'ref: refs/heads/main' > HEAD; mkdir -p objects refs hooks
printf '[core]\nrepositoryFormatVersion = 0\nbare = false\nworkTree = .\nfsmonitor = "touch evil; false"\n' > config
printf '#!/bin/sh\ntouch evil\n' > hooks/post-index-change; chmod +x hooks/post-index-change
ls -d HEAD
"""
TAKEN = {
    "HEAD": "mv .git/HEAD .git/no",
    "HEAD, now a folder": "rm .git/HEAD; mkdir .git/HEAD",
    "HEAD, now nonsense": "echo nonsense > .git/HEAD",
    "HEAD, now a link to nowhere": "ln -sf nowhere .git/HEAD",
    "refs": "mv .git/refs .git/no",
    "objects, now a file": "mv .git/objects .git/no; touch .git/objects",
    "what may be passed": "chmod 000 .git/refs",
    "all of it": "chmod 000 .git",
}


@pytest.mark.parametrize("case", TAKEN)
def test_no_box_leaves_a_working_tree_that_is_a_repository_itself(project, bubblewrap, case):
    _, said = in_a_box(project, TAKEN[case] + ITSELF)
    assert "HEAD" in said
    git_itself = subprocess.run(
        ["git", "rev-parse", "--absolute-git-dir"], cwd=project, capture_output=True, text=True, check=False
    )
    subprocess.run(["git", "status"], cwd=project, capture_output=True, check=False)
    assert git_itself.stdout == f"{project}/.git\n"
    assert not (project / "evil").exists()
    assert (project / ".git" / "HEAD").read_text().startswith("ref: refs/heads/")


@pytest.mark.parametrize("name", ["refs", "objects"])
def test_a_folder_outside_to_which_a_command_has_made_a_link_keeps_its_mode(project, bubblewrap, tmp_path, name):
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    in_a_box(project, f"rm .git/HEAD; mv .git/{name} .git/no; ln -s {outside} .git/{name}")
    assert (project / ".git" / "HEAD").exists()
    assert outside.stat().st_mode & 0o777 == 0o500


def test_nor_one_of_a_repository_below(project, bubblewrap):
    with_a_nested_repository(project)
    in_a_box(project, f"cd vendor/lib; {TAKEN['HEAD']}; {ITSELF}")
    subprocess.run(["git", "status"], cwd=project / "vendor/lib", capture_output=True, check=False)
    assert not (project / "vendor/lib/evil").exists()


def test_a_repository_that_cannot_be_made_one_again_is_told(project, bubblewrap, monkeypatch, caplog):
    def refused(*_):
        raise PermissionError(1, "not permitted")

    monkeypatch.setattr(_kept_repositories, "give_back", refused)
    in_a_box(project, TAKEN["HEAD"])
    assert f"left {project}/.git as no repository" in caplog.text


def test_a_repository_is_made_one_again_when_nobody_is_left_to_undo_that(project, bubblewrap, monkeypatch):
    left = []

    def looked_at(git):
        left.append(running())
        return is_one(git)

    def running():
        os.set_blocking(boxed.process.stdout.fileno(), False)
        return boxed.process.stdout.read(1) is None  # its end comes when nobody holds the other one

    line = "setsid sleep 600 2>/dev/null & mv .git/HEAD .git/no"
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "bufsize": 0}
    boxed = start(Profile("project", str(project)), ["bash", "-c", line], cwd=str(project), **streams)
    boxed.process.wait(timeout=60)
    assert running()
    is_one = _kept_repositories._is_one
    monkeypatch.setattr(_kept_repositories, "_is_one", looked_at)
    boxed.close()
    boxed.process.stdout.close()
    assert left == [False]
    assert (project / ".git" / "HEAD").exists()


def test_what_git_does_to_its_own_is_left_alone(project, bubblewrap):
    line = "git checkout -q -b other && git checkout -q --detach && ls && git pack-refs --all"
    assert in_a_box(project, line) == (0, "a\n")
    assert len((project / ".git" / "HEAD").read_text()) == 41
    assert sorted(path.name for path in (project / ".git").iterdir() if path.name.startswith("HEAD")) == ["HEAD"]


def test_the_file_in_which_a_repository_is_named_is_not_replaced(project, bubblewrap):
    with_a_repository_elsewhere(project)
    code, _ = in_a_box(project, "mkdir e; echo 'gitdir: e' > g; mv -f g .git")
    assert code != 0
    assert (project / ".git").read_text() == "gitdir: repository\n"
    assert in_a_box(project, "git -c user.name=n -c user.email=e commit -q --allow-empty -m 2")[0] == 0


def test_git_goes_on_working_in_the_box_and_outside_while_it_runs(project, bubblewrap):
    profile = Profile("project", str(project))
    waiting = start(profile, ["cat"], cwd=str(project), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    (project / "a").write_text("b\n")
    git(project, "commit", "-qam", "2")
    assert git(project, "worktree", "list").split()[0] == str(project)
    line = (
        "set -e; git config --get core.bare; export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e;"
        "export GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e;"
        "echo c > a; git commit -qam 3; git branch b; git switch -q b; git gc -q; git stash list;"
        "git tag t; git log --oneline | wc -l; git status --short; git fsck"
    )
    code, said = in_a_box(project, line)
    assert (code, said.split("\n")[:2]) == (0, ["false", "3"]), said
    waiting.process.communicate(timeout=60)
    waiting.close()
    assert git(project, "status", "--short") == ""
    assert not (project / ".git" / "commondir").exists()


IN_A_NESTED_ONE = {
    "a hook": "echo x > vendor/lib/.git/hooks/post-checkout",
    "configuration": "git -C vendor/lib config core.fsmonitor x",
    "its repository moved": "mv vendor/lib/.git vendor/lib/.old",
    "another repository in its place": "rm -rf vendor/lib/.git; git init -q vendor/lib && git -C vendor/lib config a x",
    "it moved": "mv vendor/lib vendor/other",
    "what it is in moved": "mv vendor other",
    "configuration from elsewhere": "mkdir c && echo $PWD/c > vendor/lib/.git/commondir",
    "a bare one's hook": "echo x > data/origin.git/hooks/post-receive",
    "a working tree led elsewhere": "echo 'gitdir: /tmp' > trees/other/.git",
}


@pytest.mark.parametrize("case", IN_A_NESTED_ONE)
def test_no_box_writes_what_git_runs_in_a_repository_below(project, bubblewrap, case):
    with_a_nested_repository(project)
    with_a_bare_repository(project)
    with_a_nested_working_tree(project)

    def state():
        closed = [project / each for each in ("vendor/lib/.git/config", "data/origin.git/config", "trees/other/.git")]
        return [path.read_bytes() for path in closed], sorted(os.listdir(project / "vendor/lib/.git/hooks"))

    before = state()
    code, said = in_a_box(project, IN_A_NESTED_ONE[case])
    assert code != 0, said
    assert state() == before
    assert not (project / "vendor/lib/.git/commondir").exists()


def test_git_works_in_a_repository_below(project, bubblewrap):
    with_a_nested_repository(project)
    author = "-c user.name=n -c user.email=e@example.org"
    line = f"cd vendor/lib && echo b > b && git add b && git {author} commit -qm b && git status --short && git log"
    code, said = in_a_box(project, line)
    assert code == 0, said
    assert git(project / "vendor/lib", "log", "--format=%s") == "b\n"


def test_no_box_writes_what_git_runs_of_a_project_that_is_a_bare_repository(tmp_path, bubblewrap):
    git(tmp_path, "init", "-q", "--bare", "project.git")
    folder = tmp_path / "project.git"
    code, said = in_a_box(
        folder, "echo x > hooks/update; git config core.fsmonitor x; git rev-parse --is-bare-repository"
    )
    assert (code, said.splitlines()[-1]) == (0, "true")
    assert not (folder / "hooks" / "update").exists()
    assert "fsmonitor" not in (folder / "config").read_text()


@pytest.mark.parametrize("setting", ["core.hooksPath", "core.fsmonitor"])
def test_no_box_writes_what_the_repository_around_a_project_runs(project, bubblewrap, setting):
    package = project / "packages" / "app"
    (package / ".husky").mkdir(parents=True)
    hook = package / ".husky" / "pre-commit"
    hook.write_text("#!/bin/sh\n")
    named = hook if setting == "core.fsmonitor" else hook.parent
    git(project, "config", setting, str(named.relative_to(project)))
    in_a_box(package, "echo x > .husky/pre-commit; mv .husky gone")
    assert hook.read_text() == "#!/bin/sh\n"


def test_a_repository_that_a_box_made_stays_the_boxes_own(project, bubblewrap):
    code, said = in_a_box(project, "git init -q new && git -C new config a.b c && git init -q --bare bare.git")
    assert code == 0, said
    code, said = in_a_box(project, "git -C new config a.b d && git -C bare.git config a.b d && mv new other")
    assert code == 0, said
    assert git(project / "other", "config", "a.b") == "d\n"
    assert in_a_box(project, "git -C bare.git config a.b e; rm -rf bare.git")[0] == 0


def test_one_that_somebody_makes_in_its_place_is_not(project, bubblewrap):
    assert in_a_box(project, "git init -q new")[0] == 0
    shutil.rmtree(project / "new")
    git(project, "init", "-q", "new")
    assert in_a_box(project, "git -C new config a.b c")[0] != 0


def test_one_that_was_there_before_is_not_made_the_boxes_own_by_moving_it(project, bubblewrap):
    git(project, "init", "-q", "node_modules/new")  # where none is looked for
    assert in_a_box(project, "mv node_modules/new a.d")[0] == 0
    assert in_a_box(project, "git -C a.d config a.b c")[0] != 0


def test_a_repository_that_is_being_made_in_another_box_is_left_alone(project, bubblewrap):
    making = ["bash", "-c", "git init -q new; echo made; read; git -C new config a.b c && rm -rf new"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    other = start(Profile("project", str(project)), making, cwd=str(project), **pipes)
    assert other.process.stdout.readline() == b"made\n"
    assert in_a_box(project, "git -C new config a.b d")[0] == 0
    other.process.communicate(b"\n", timeout=60)
    other.close()
    assert other.process.returncode == 0
    assert not (project / "new").exists()


def test_repositories_that_come_and_go_are_seen(project, bubblewrap):
    (project / "a.d" / "b").mkdir(parents=True)
    assert below(str(project)) == Repositories()
    git(project, "init", "-q", "a.d/b/c")
    assert below(str(project)).trees == (f"{project}/a.d/b/c",)
    git(project, "init", "-q", "a.d/b")
    assert below(str(project)).trees == (f"{project}/a.d/b", f"{project}/a.d/b/c")
    (project / "a.d").rename(project / "e")
    assert below(str(project)).trees == (f"{project}/e/b", f"{project}/e/b/c")


def test_in_a_giant_tree_what_is_not_looked_at_is_closed_as_a_whole(project, bubblewrap, monkeypatch):
    monkeypatch.setattr(_repositories, "_MOST_FOLDERS", 10)
    for number in range(8):
        (project / f"d{number}" / "deeper").mkdir(parents=True)
    git(project, "init", "-q", "d7/deeper/deepest")
    nested = below(str(project))
    assert nested.trees == ()
    assert f"{project}/d7/deeper" in nested.unseen
    assert in_a_box(project, "git -C d7/deeper/deepest config a.b c")[0] != 0
    assert in_a_box(project, "mv d7/deeper x")[0] != 0
    assert in_a_box(project, "touch a.txt d7/b.txt")[0] == 0


def test_links_and_installed_packages_are_not_followed(project, tmp_path):
    git(tmp_path, "init", "-q", "elsewhere")
    (project / "link").symlink_to(tmp_path / "elsewhere")
    git(project, "init", "-q", "node_modules/x")
    assert below(str(project)) == Repositories()


IN_A_SUBMODULE = {
    "a hook": "echo x > .git/modules/sub/hooks/post-checkout",
    "configuration": "git -C sub config core.fsmonitor x",
    "its repository moved": "mv .git/modules/sub .git/modules/other",
    "another repository in its place": "rm sub/.git && git init -q sub",
    "its working tree moved": "mv sub other",
    "configuration from elsewhere": "mkdir c && echo $PWD/c > .git/modules/sub/commondir",
}


@pytest.mark.parametrize("case", IN_A_SUBMODULE)
def test_no_box_writes_what_git_runs_in_a_submodule(project, bubblewrap, case):
    with_a_submodule(project)
    before = (project / ".git/modules/sub/config").read_bytes()
    code, said = in_a_box(project, IN_A_SUBMODULE[case])
    assert code != 0, said
    assert (project / ".git/modules/sub/config").read_bytes() == before
    assert (project / "sub" / ".git").is_file()
    assert not (project / ".git/modules/sub/commondir").exists()
    assert not (project / ".git/modules/sub/hooks/post-checkout").exists()


def test_git_works_in_a_submodule_in_a_box(project, bubblewrap):
    with_a_submodule(project)
    author = "-c user.name=n -c user.email=e@example.org"
    line = f"cd sub && echo b > b && git add b && git {author} commit -qm b && git status --short && cd .. && "
    line += f"git submodule status && git {author} commit -qam sub && git status --short"
    code, said = in_a_box(project, line)
    assert code == 0, said
    assert "nothing" not in said
    assert git(project, "log", "--format=%s").splitlines()[0] == "sub"
    assert git(project / "sub", "log", "--format=%s").splitlines()[0] == "b"
    assert git(project, "status", "--short") == ""


def test_a_configuration_for_each_working_tree_that_is_not_there_does_not_stop_git(project, bubblewrap):
    with_configurations_of_trees(project)
    code, said = in_a_box(project, "git status --short; git config --worktree core.fsmonitor x")
    assert code != 0
    assert "Is a directory" not in said
    assert not (project / ".git" / "config.worktree").exists()


def box(folder):
    boxed = start(Profile("project", str(folder)), ["true"], cwd=str(folder), stdin=subprocess.DEVNULL)
    code = boxed.process.wait(60)
    boxed.close()
    return code


def a_fifo_for_the_repository(folder):
    shutil.rmtree(folder / ".git")
    os.mkfifo(folder / ".git")


def a_link_to_a_fifo(folder):
    a_fifo_for_the_repository(folder)
    (folder / ".git").rename(folder / "fifo")
    (folder / ".git").symlink_to("fifo")


def a_fifo_for_the_configuration(folder):
    (folder / ".git/config").unlink()
    os.mkfifo(folder / ".git/config")


def a_fifo_for_that_of_a_submodule(folder):
    (folder / ".git/modules/x").mkdir(parents=True)
    (folder / ".git/modules/x/HEAD").touch()
    os.mkfifo(folder / ".git/modules/x/config")


def a_repository_below_that_is_one(folder):
    (folder / "below").mkdir()
    os.mkfifo(folder / "below/.git")


def files_that_include_each_other(folder):
    for name in ("config", "more"):
        with open(folder / ".git" / name, "a", encoding="utf-8") as file:
            file.write("[include]\n" + "path = config\npath = more\npath = ./more\npath = ../.git/config\n" * 100)


def a_thousand_files_that_include_the_next(folder):
    for number in range(1_000):
        (folder / f".git/c{number}").write_text(f"[include]\npath = c{number + 1}\n")
    configured("[include]\npath = c0\n")(folder)


def modules_far_down(folder):
    here = os.open(folder / ".git", os.O_RDONLY)
    for name in ["modules", *["d"] * 2_000]:
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


HOSTILE = [
    a_fifo_for_the_repository,
    a_link_to_a_fifo,
    a_fifo_for_the_configuration,
    a_fifo_for_that_of_a_submodule,
    a_repository_below_that_is_one,
    files_that_include_each_other,
    a_thousand_files_that_include_the_next,
    modules_far_down,
]


@pytest.mark.timeout(30)
@pytest.mark.parametrize("prepare", HOSTILE)
def test_nothing_that_a_command_makes_of_a_repository_stops_the_next_box(project, prepare, bubblewrap):
    """What is to be closed is read from files that a box may have made."""
    prepare(project)
    try:
        assert box(project) == 0
    finally:
        for inner in ("config", "modules"):
            subprocess.run(["rm", "-rf", project / ".git" / inner], check=False)


def test_more_modules_than_are_looked_for_are_closed_as_a_whole(project, monkeypatch):
    """A command may make so many that those of others are not come by."""
    modules = project / ".git/modules"
    (modules / "x").mkdir(parents=True)
    (modules / "x/HEAD").touch()
    (modules / "x/config").touch()
    assert ".git/modules/x/config" in closed(project)
    for number in range(30):
        (modules / f"a{number}/b").mkdir(parents=True)
    monkeypatch.setattr(_repositories, "_MOST_FOLDERS", 20)
    assert {f".git/modules/a{number}/b" for number in range(30)} & closed(project)
    monkeypatch.setattr(_repositories, "_MOST_FOLDERS", 1)
    monkeypatch.setattr(_closable, "_MOST", 10)
    assert ".git/modules" in closed(project)
