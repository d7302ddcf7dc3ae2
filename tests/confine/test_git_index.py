"""Paths in git's index: those that git itself puts there are taken, those that it never does are found."""

from __future__ import annotations

import hashlib
import struct
import subprocess

import pytest

from executor.confine._git_index import way_out_of_index, way_out_of_resolutions

SIZES = {"sha1": 20, "sha256": 32}
OUT = [".git/hooks/x", ".GIT/x", "a/.git/config", "../x", "a/../../x", "/etc/x", "a//x", "a/.", "..", "a\0b"]
OURS = ["a", ".gitignore", ".github/x", "a/.gitkeep", "a../x", "..a/x", "a.git/x", "...", "git/x", "b/"]


def an_index(*paths, size=20, version=2, extensions=b""):
    body, before = struct.pack(">4sII", b"DIRC", version, len(paths)), b""
    for path in (path.encode() for path in paths):
        entry = bytes(40 + size) + struct.pack(">H", len(path))
        if version == 4:
            common = 1 if path[:1] == before[:1] != b"" else 0  # a letter is enough to tell
            body += entry + bytes([len(before) - common]) + path[common:] + b"\0"
            before = path
        else:
            entry += path
            body += entry + bytes(8 - len(entry) % 8)
    end = len(body)
    return body + (extensions(end) if callable(extensions) else extensions) + bytes(size)


@pytest.mark.parametrize("size", SIZES.values())
@pytest.mark.parametrize("version", [2, 4])
@pytest.mark.parametrize("path", OUT)
def test_a_path_that_leads_out_is_found(path, version, size):
    index = an_index("a", path, "z", version=version, size=size)
    assert way_out_of_index(index, size) in (path, "/")
    assert way_out_of_index(an_index(path, version=version, size=size), size) in (path, "/")


@pytest.mark.parametrize("version", [2, 4])
def test_a_path_that_does_not_is_none(version):
    assert way_out_of_index(an_index(*OURS, version=version), 20) is None


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize(
    "setting", ["index.version=2", "index.version=4", "core.splitIndex=true", "index.recordEndOfIndexEntries=true"]
)
def test_what_git_writes_names_nothing_elsewhere(tmp_path, kind, setting):
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-c", setting, "-c", "index.threads=2"]

    def run(*words):
        subprocess.run([*git, *words], cwd=tmp_path, check=True, capture_output=True)

    run("init", "-q", f"--object-format={kind}")
    long = "l" * 200
    for name in ("a", ".gitignore", f"{long}/{long}/{long}", "dir/b", "dir/.gitattributes", "ü", "new\nline"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    run("add", "-A")
    run("commit", "-qm", "1")
    (tmp_path / "later").write_text("")
    run("add", "-N", "later")  # an entry with more flags
    found = [*(tmp_path / ".git").glob("*index*")]
    assert found
    for index in found:
        assert way_out_of_index(index.read_bytes(), SIZES[kind]) is None


def blocks(*pairs):
    data = struct.pack(">I", 1) + b"".join(struct.pack(">II", *pair) for pair in pairs)
    return b"IEOT" + struct.pack(">I", len(data)) + data


def end_at(offset):
    return b"EOIE" + struct.pack(">II", 24, offset) + hashlib.sha1(usedforsecurity=False).digest()


@pytest.mark.parametrize(
    ("extensions", "found"),
    [
        (blocks((12, 1), (76, 1)), None),
        (lambda end: end_at(end), None),
        (blocks((12, 1), (84, 1)), "/"),
        (blocks((12, 1)), "/"),
        (blocks((12, 2), (76, 1)), "/"),
        (lambda end: end_at(end + 8), "/"),
        (lambda end: b"abcd" + struct.pack(">I", 32) + end_at(end + 8), "/"),
    ],
)
def test_what_several_threads_would_read_is_what_one_does(extensions, found):
    assert way_out_of_index(an_index("a", "b", extensions=extensions), 20) == found


def test_a_block_does_not_begin_in_the_middle_of_a_name():
    index = an_index("aa", "a.git", version=4, extensions=lambda _: blocks((12, 1), (12 + 62 + 4, 1)))
    assert way_out_of_index(index, 20) == "/"


@pytest.mark.parametrize(
    "index", [b"", b"DIRC", an_index("../x")[:60], b"x" + an_index("../x"), an_index("../x")[:-30]]
)
def test_what_git_cannot_read_names_nothing(index):
    assert way_out_of_index(index, 20) is None


def test_a_solved_conflict_elsewhere_is_found():
    assert way_out_of_resolutions(b"1" * 40 + b"\ta\0" + b"2" * 40 + b".1\t../b\0") == "../b"
    assert way_out_of_resolutions(b"1" * 40 + b"\ta/.gitignore\0") is None
    assert way_out_of_resolutions(b"") is None
