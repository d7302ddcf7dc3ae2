"""What archives and patches write into a project: nothing that its git would run."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
import zlib

import pytest

from executor_permissions import Policy
from executor_permissions.judge.files import _archives

RULES = {
    "whitelist": {
        "patterns": ["tar *", "unzip *", "patch *", "cpio *", "7z *", "cat *", "wget *", "cd *", "timeout *", "bash -c *"],
        "arguments": {"readFile": {"path": ["${project}/"]}, "writeFile": {"path": ["${project}/"]}},
    }
}  # fmt: skip
HARMLESS = ["src/a.py", "README.md", ".github/ci.yml", ".gitignore", "x.git/y", "a/git/b"]
INTO_GIT = [".git/hooks/pre-commit", "./.git/config", "x/.git/hooks/y", ".GIT/config", "git~1/config", "src/../.git/x", ".git", "to/config"]  # fmt: skip
PATCH = "--- a/{0}\n+++ b/{0}\n@@ -0,0 +1 @@\n+x\n"
RENAME = "diff --git a/a.txt b/{0}\nsimilarity index 100%\nrename from a.txt\nrename to {0}\n"


@pytest.fixture
def root(tmp_path):
    """A project whose repository is reached by a link as well."""
    root = tmp_path.resolve() / "proj"
    (root / ".git/hooks").mkdir(parents=True)
    (root / "src").mkdir()
    (root / "to").symlink_to(".git")
    return root


@pytest.fixture
def judged(root):
    policy = Policy.from_dict(RULES, project_root=root, home=root.parent / "home")
    return lambda text: policy.decide("runCommand", {"command": text}).verdict


def tar(path, name, mode="w", link=""):
    with tarfile.open(path, mode) as archive:
        for one in ("first", name):
            member = tarfile.TarInfo(one)
            member.size = 0 if link else 1
            if link and one == name:
                member.type, member.linkname = tarfile.SYMTYPE, link
            archive.addfile(member, io.BytesIO(b"x"))


def zipped(path, name, link=""):
    with zipfile.ZipFile(path, "w") as archive:
        member = zipfile.ZipInfo(name)
        if link:
            member.external_attr = 0o120777 << 16
        archive.writestr("first", "x")
        archive.writestr(member, link or "x")


TARS = ["tar xf x.tar", "tar -xf x.tar", "tar xvf ./x.tar", "tar --extract --file=x.tar", "tar --get --file x.tar -v", "tar -x -f x.tar", "timeout 5 tar xf x.tar", "bash -c 'tar xf x.tar'", "cd src && tar xf ../x.tar -C ..", "tar xf x.tar -C ."]  # fmt: skip
ZIPS = ["unzip x.zip", "unzip -o -q x.zip", "timeout 5 unzip x.zip", "unzip x.zip -d ."]
PATCHES = ["patch -p1 < x.patch", "patch -p1 -i x.patch", "patch -p1 --input=x.patch", "patch -ix.patch -p1", "patch -p0 < x.patch", "patch a.txt x.patch", "patch -d . -p1 -i x.patch"]  # fmt: skip


@pytest.mark.parametrize("name", INTO_GIT)
def test_what_comes_into_the_repository_is_asked_about(root, judged, name):
    tar(root / "x.tar", name)
    zipped(root / "x.zip", name)
    texts = [*TARS, *ZIPS]
    assert [text for text in texts if judged(text) == "allow"] == []
    for form in (PATCH, RENAME):
        (root / "x.patch").write_text(PATCH.format("src/a") + form.format(name))
        assert [text for text in PATCHES if judged(text) == "allow"] == []


def test_what_comes_behind_links_that_lead_nowhere_is_asked_about(root, judged):
    (root / "round").symlink_to("round")
    tar(root / "x.tar", "round/a")
    assert [text for text in TARS if judged(text) == "allow"] == []


@pytest.mark.parametrize("name", HARMLESS)
def test_what_does_not_is_not(root, judged, name):
    tar(root / "x.tar", name)
    zipped(root / "x.zip", name)
    (root / "x.patch").write_text(PATCH.format(name) + RENAME.format(name))
    spelled = (" -C ", " -d ", "bash ")  # what only a rule covers that names it
    texts = [text for text in (*TARS, *ZIPS, *PATCHES) if not any(one in text for one in spelled)]
    assert [text for text in texts if judged(text) != "allow"] == []


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz", "w"])
def test_packed_archives_are_looked_into(root, judged, mode):
    tar(root / "x.tar", ".git/config", mode)
    assert judged("tar xf x.tar") == "ask"
    tar(root / "x.tar", "src/config", mode)
    assert judged("tar xf x.tar") == "allow"


@pytest.mark.parametrize("link", [".git", "./.git/hooks", "x/../.git"])
def test_a_link_to_the_repository_is_no_way_into_it(root, judged, link):
    tar(root / "x.tar", "l", link=link)
    zipped(root / "x.zip", "l", link)
    assert [judged(text) for text in ("tar xf x.tar", "unzip x.zip")] == ["ask", "ask"]


def test_what_cannot_be_looked_at_is_asked_about(root, judged, monkeypatch):
    tar(root / "x.tar", "src/a")
    (root / "broken.tar").write_bytes(b"\x1f\x8b" + b"x" * 600)
    (root / "broken.zip").write_bytes(b"PK" + b"x" * 600)
    (root / "x.7z").write_bytes(b"7z")
    (root / "quoted.patch").write_text('+++ "b/\\056git/config"\n')
    unclear = ["tar x", "tar xz -f -", "cat x.tar | tar xf -", "wget http://h/y.tar && tar xf y.tar", "tar xf broken.tar", "unzip broken.zip", "patch -p1 < quoted.patch", "cat x | patch -p1", "patch -p1", "cpio -i < x", "cpio -idm", "7z x x.7z", "tar xf src"]  # fmt: skip
    assert [text for text in unclear if judged(text) == "allow"] == []
    monkeypatch.setattr(_archives, "_MOST_NAMES", 1)
    (root / "y.tar").write_bytes((root / "x.tar").read_bytes())
    assert judged("tar xf y.tar") == "ask"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("between", ["garbage", "a wrong sum", "an empty block", "an end", "half a header"])
def test_what_stands_behind_an_error_or_the_end_is_not_overlooked(root, judged, between, packed):
    """GNU tar goes on behind an error, others behind an end."""
    for name in ("src/a", "src/b", ".git/hooks/pre-commit"):
        tar(root / f"{name[-1]}.tar", name)
    first, other, hook = ((root / f"{name}.tar").read_bytes()[1024:2048] for name in "abt")
    wrong = {
        "garbage": b"\1" * 512,
        "a wrong sum": other[:148] + b"0000000\0" + other[156:],
        "an empty block": b"\0" * 512,
        "an end": b"\0" * 1024,
        "half a header": b"\1" * 100,
    }[between]
    pack = gzip.compress if packed else bytes
    (root / "x.tar").write_bytes(pack(first + wrong + hook + b"\0" * 1024))
    assert judged("tar xf x.tar") == "ask"
    (root / "x.tar").write_bytes(pack(first + other + b"\0" * 10_240))
    assert judged("tar xf x.tar") == "allow"


@pytest.mark.parametrize("name", [".g\x01it/config", ".g\x7fit/config", ".git\n/hooks/x", "sub/.git;1", "sub/.git;"])
def test_a_name_of_which_unzip_leaves_something_out_is_asked_about(root, judged, name):
    zipped(root / "x.zip", name)
    assert judged("unzip x.zip") == "ask"


def test_a_name_that_stands_in_an_extra_field_is_asked_about(root, judged):
    """Info-ZIP's Unicode path, 0x7075 in APPNOTE.TXT: its name counts, if the sum is that of the other one."""
    new = b".git/config"
    told = struct.pack("<BI", 1, zlib.crc32(b"src/a")) + new
    member = zipfile.ZipInfo("src/a")
    time, path = struct.pack("<HHB4s", 0x5455, 5, 1, b"upup"), struct.pack("<HH", 0x7075, len(told)) + told
    for extra, verdict in ((b"", "allow"), (time, "allow"), (time + path, "ask"), (path + time, "ask")):
        member.extra = extra
        with zipfile.ZipFile(root / "x.zip", "w") as archive:
            archive.writestr(member, "x")
        assert judged("unzip x.zip") == verdict


def test_a_name_that_others_cut_off_is_asked_about(root, judged):
    with tarfile.open(root / "x.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("src/a")
        member.pax_headers = {"path": "sub/.git\0.txt"}
        archive.addfile(member)
    assert judged("tar xf x.tar") == "ask"


def test_an_archive_that_says_more_of_its_files_than_is_read_is_asked_about(root, judged):
    for count, verdict in ((20, "allow"), (40, "ask")):
        with zipfile.ZipFile(root / "x.zip", "w") as archive:
            for number in range(count):
                archive.writestr(f"src/{number}{'x' * 60_000}", b"")
        assert judged("unzip x.zip") == verdict


def test_a_rule_that_spells_it_out_need_not_be_told_what_is_in_it(root):
    """As ``always`` stores it; but what is seen to come into the repository is asked about all the same."""
    tar(root / "evil.tar", ".git/config")
    texts = ["7z x x.7z", "tar xf evil.tar", "tar xf big.tar", "cpio -i"]
    (root / "big.tar").write_bytes(b"\x1f\x8b" + b"x" * 600)
    policy = Policy.from_dict({"whitelist": {"patterns": texts}}, project_root=root, home=root.parent / "home")
    verdicts = [policy.decide("runCommand", {"command": text}).verdict for text in texts]
    assert verdicts == ["allow", "ask", "allow", "ask"]


def test_looking_into_an_archive_and_packing_one_goes_on(root, judged):
    tar(root / "x.tar", ".git/config")
    zipped(root / "x.zip", ".git/config")
    (root / "x.patch").write_text(PATCH.format(".git/config"))
    texts = ["tar tf x.tar", "tar -tvf x.tar", "unzip -l x.zip", "unzip -p x.zip first", "patch --dry-run -p1 < x.patch", "tar czf y.tgz src", "7z l x.7z", "tar xf not-there.tar", "cd src && tar xf not-there.tar"]  # fmt: skip
    assert [text for text in texts if judged(text) != "allow"] == []


def test_an_archive_that_becomes_huge_is_not_read_to_its_end(root, judged, monkeypatch):
    monkeypatch.setattr(_archives, "_LARGEST", 4096)
    with tarfile.open(root / "x.tgz", "w:gz") as archive:
        for name in ("a", "b", "c"):
            member = tarfile.TarInfo(name)
            member.size = 5000
            archive.addfile(member, io.BytesIO(b"\0" * 5000))
    assert judged("tar xf x.tgz") == "ask"
    named = tarfile.TarInfo("a")
    named.pax_headers = {"comment": "x" * 5000}
    with tarfile.open(root / "y.tgz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(named)
    assert judged("tar xf y.tgz") == "ask"
