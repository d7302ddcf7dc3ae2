"""Archives and patches write, and call otherwise, what the policy keeps from the file tools."""

from __future__ import annotations

import io
import tarfile
import zipfile

import pytest

from executor_permissions import Policy

RULES = {
    "version": "1.1",
    "blacklist": {
        "patterns": ["rm -rf *"],
        "arguments": {"readFile": {"path": ["${project}/.env"]}, "writeFile": {"path": ["${project}/locked/"]}},
    },
    "whitelist": {
        "patterns": ["git apply *", "git am *", "patch *", "tar *", "unzip *"],
        "arguments": {"readFile": {"path": ["${project}/"]}},
    },
}
RENAMED = "diff --git a/.env b/seen.txt\nsimilarity index 100%\n{0} from .env\n{0} to seen.txt\n"
CHANGED = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-x\n+y\n"
PATCHES = {
    "rename": RENAMED.format("rename"),
    "copy": RENAMED.format("copy"),
    "env": CHANGED.format(".env"),
    "locked": CHANGED.format("locked/a"),
    "own": CHANGED.format(".toolexec/permissions.json"),
    "link": CHANGED.format("link-env"),
}


@pytest.fixture
def verdict(project):
    """What becomes of a command in the project, with patches and archives in it."""
    root, home = project
    for name, text in PATCHES.items():
        (root / f"{name}.patch").write_text(text)
    (root / "plain.patch").write_text(CHANGED.format("src/.env.example") + CHANGED.format(".gitignore"))
    for name, member in {"env": "./.env", "own": ".toolexec/permissions.json", "plain": ".gitignore"}.items():
        with tarfile.open(root / f"{name}.tar", "w") as archive:
            archive.addfile(tarfile.TarInfo(member), io.BytesIO())
    with zipfile.ZipFile(root / "own.zip", "w") as archive:
        archive.writestr(".toolexec/permissions.json", "{}")

    def of(command, default="ask"):
        policy = Policy.from_dict({**RULES, "defaultPolicy": default}, project_root=root, home=home)
        return policy.decide("runCommand", {"command": command}).verdict

    return of


@pytest.mark.parametrize("default", ["ask", "allow"])
@pytest.mark.parametrize("name", PATCHES)
def test_what_a_patch_writes_or_renames_is_kept_as_the_files_are(verdict, name, default):
    for command in (
        "git apply {}",
        "git am < {}",
        "git -C src apply ../{}",
        "timeout 5 git apply {}",
        "patch -p1 -i {}",
    ):
        assert verdict(command.format(f"{name}.patch"), default) == "ask"
    assert verdict(f"git apply <<'E'\n{PATCHES[name]}E", default) == "ask"


def test_what_an_archive_writes_is_kept_as_the_files_are(verdict):
    for command in ("tar xf env.tar", "tar -xf own.tar", "unzip own.zip"):
        assert verdict(command) == verdict(command, "allow") == "ask"


def test_no_rule_covers_a_patch_that_nobody_can_look_at(verdict):
    for command in ("git diff | git apply -R", "git am", "git apply src"):
        assert verdict(command) == "ask"


def test_what_no_rule_keeps_may_come_out(verdict):
    for command in ("git apply plain.patch", "patch -p1 < plain.patch", "tar xf plain.tar", "git am --continue"):
        assert verdict(command) == "allow"
    assert verdict("git apply --stat env.patch") == "allow"
