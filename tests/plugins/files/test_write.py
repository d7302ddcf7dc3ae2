"""writeFile and editFile, on real files, full disks and folders that may not be written."""

import errno
import os
import resource
import shutil
import stat
import subprocess
import threading
from pathlib import Path

import pytest

import executor_files
from executor.errors import ToolCancelledError, ToolFailedError
from executor_files import _write


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def meanwhile(monkeypatch):
    """A function that is done by somebody else between a file's reading and its replacing."""

    def arrange(act):
        write = _write._write_all
        monkeypatch.setattr(_write, "_write_all", lambda fd, data: (write(fd, data), act()))

    return arrange


class TestWriteFile:
    def test_a_new_file_is_written_exactly(self, here, tools):
        text = "one\r\ntwo\n\ufeff日本 \0"
        assert tools.writeFile("f", content=text) == {
            "path": str(here / "f"),
            "bytes_written": len(text.encode()),
            "created": True,
        }
        assert (here / "f").read_bytes() == text.encode()
        assert names(here) == ["f"]

    def test_a_new_file_has_the_mode_of_the_umask(self, here, tools):
        before = os.umask(0o027)
        try:
            tools.writeFile("f", content="")
        finally:
            os.umask(before)
        assert stat.S_IMODE((here / "f").stat().st_mode) == 0o640

    def test_a_replaced_file_keeps_its_mode_owner_and_attributes(self, here, tools):
        (here / "f").write_text("old")
        (here / "f").chmod(0o754)
        os.setxattr(here / "f", "user.colour", b"blue")
        if os.geteuid() == 0:
            os.chown(here / "f", 1234, 2345)
        before = (here / "f").stat()
        assert tools.writeFile("f", content="new")["created"] is False
        after = (here / "f").stat()
        assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
        assert after.st_ino != before.st_ino
        assert os.getxattr(here / "f", "user.colour") == b"blue"

    @pytest.mark.skipif(os.geteuid() != 0, reason="needs a file of another user")
    def test_a_group_that_cannot_be_kept_gives_its_rights_to_no_other_group(self, public, tools, nobody):
        (public / "f").write_text("old")
        (public / "f").chmod(0o4776)
        with nobody():
            tools.writeFile(public / "f", content="new")
        after = (public / "f").stat()
        assert (after.st_uid, stat.S_IMODE(after.st_mode)) == (65534, 0o766)

    def test_a_replaced_text_is_shown_as_a_diff(self, here, tools):
        (here / "f").write_text("a\nb\nc\n")
        assert tools.writeFile("f", content="a\nB\nc\n")["diff"] == "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
        assert tools.writeFile("f", content="a\nB\nc\n")["diff"] == ""

    def test_a_replaced_file_that_is_no_text_or_large_has_no_diff(self, here, tools):
        for data in (b"\0", b"\xff", b"x" * (_write._MAX_DIFFED + 1)):
            (here / "f").write_bytes(data)
            assert "diff" not in tools.writeFile("f", content="new")

    def test_a_link_stays_and_what_it_leads_to_is_replaced(self, here, tools):
        (here / "sub").mkdir()
        (here / "sub" / "real").write_text("old")
        (here / "link").symlink_to("sub/real")
        (here / "dead").symlink_to("sub/not-yet")
        assert tools.writeFile("link", content="new")["path"] == str(here / "sub" / "real")
        assert tools.writeFile("dead", content="new")["created"] is True
        assert (here / "link").readlink() == Path("sub/real")
        assert (here / "sub" / "real").read_text() == (here / "sub" / "not-yet").read_text() == "new"

    def test_other_names_of_the_file_are_told_of(self, here, tools):
        (here / "f").write_text("old")
        (here / "other").hardlink_to(here / "f")
        assert "2 names" in tools.writeFile("f", content="new")["note"]
        assert (here / "other").read_text() == "old"

    def test_folders_are_made_on_request_only(self, here, tools):
        assert "create_parents=true" in tools.refuse("writeFile", "a/b/f", content="x")
        assert names(here) == []
        tools.writeFile("a/b/f", content="x", create_parents=True)
        tools.writeFile("a/b/g", content="x", create_parents=True)
        assert names(here / "a" / "b") == ["f", "g"]

    @pytest.mark.parametrize("create_parents", [False, True])
    def test_a_folder_or_something_below_a_file_cannot_be_written(self, here, tools, create_parents):
        (here / "sub").mkdir()
        (here / "file").write_text("x")
        for path, problem in (
            ("sub", "is a folder"),
            ("file/f", "is no folder"),
            ("file/a/f", "is no folder"),
            ("/", "/"),
        ):
            assert problem in tools.refuse("writeFile", path, content="x", create_parents=create_parents)
        assert names(here) == ["file", "sub"]

    def test_a_full_disk_leaves_the_old_file_and_nothing_else(self, here, tools, mounted):
        with mounted(here):
            (here / "f").write_text("old")
            assert "full" in tools.refuse("writeFile", here / "f", content="x" * 200_000)
            assert names(here) == ["f"]
            assert (here / "f").read_text() == "old"

    @pytest.mark.parametrize(
        ("tool", "told"), [("writeFile", {"content": "new"}), ("editFile", {"old_text": "old", "new_text": "new"})]
    )
    def test_what_cannot_be_shown_was_not_changed(self, here, tools, monkeypatch, tool, told):
        def refused(*_):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), "difflib")

        (here / "f").write_text("old")
        monkeypatch.setattr(_write, "unified_diff", refused)
        with pytest.raises((OSError, ToolFailedError), match=r"(?i)too many"):
            getattr(tools, tool)("f", **told)
        assert (here / "f").read_text() == "old"

    @pytest.mark.parametrize("old", [None, "old"])
    def test_whoever_is_killed_while_it_is_written_leaves_nothing_beside_it(self, here, tools, meanwhile, old):
        try:
            os.close(os.open(here, os.O_TMPFILE | os.O_WRONLY))
        except (AttributeError, OSError):
            pytest.skip("this file system has no files without a name")
        if old is not None:
            (here / "f").write_text(old)
        seen = []
        meanwhile(lambda: seen.append(names(here)))
        tools.writeFile("f", content="new")
        assert seen == [[] if old is None else ["f"]]
        assert ((here / "f").read_text(), names(here)) == ("new", ["f"])

    @pytest.mark.parametrize("missing", ["link", "kind"])
    def test_where_no_file_can_do_without_a_name_it_has_one(self, here, tools, monkeypatch, missing):
        def refused(*_, **__):
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

        monkeypatch.setattr(*((os, "link", refused) if missing == "link" else (_write, "_NAMELESS", 0)))
        assert tools.writeFile("f", content="new")["created"]
        assert not tools.writeFile("f", content="newer")["created"]
        assert ((here / "f").read_text(), names(here)) == ("newer", ["f"])

    def test_a_limit_on_the_size_of_files_leaves_the_old_file_and_nothing_else(self, here, tools):
        (here / "f").write_text("old")
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        try:
            message = tools.refuse("writeFile", "f", content="x" * 2000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert "larger than this process" in message
        assert names(here) == ["f"]
        assert (here / "f").read_text() == "old"

    def test_a_read_only_file_system_is_told(self, here, tools, mounted):
        with mounted(here, "ro"):
            assert "read-only file system" in tools.refuse("writeFile", here / "f", content="x")

    def test_a_folder_or_file_without_the_right_to_write_is_left_alone(self, public, tools, nobody):
        (public / "shut").mkdir(mode=0o555)
        (public / "f").write_text("old")
        (public / "f").chmod(0o444)
        with nobody():
            assert "not accessible" in tools.refuse("writeFile", public / "shut" / "f", content="x")
            assert "write-protected for this user (mode 0444)" in tools.refuse("writeFile", public / "f", content="x")
            assert "write-protected" in tools.refuse("editFile", public / "f", old_text="old", new_text="new")
        assert (public / "f").read_text() == "old"
        assert names(public) == ["f", "shut"]

    @pytest.mark.skipif(os.geteuid() != 0 or shutil.which("chattr") is None, reason="needs chattr, and to be root")
    def test_a_file_that_may_not_be_replaced_is_left_and_nothing_beside_it(self, here, tools):
        (here / "f").write_text("old")
        if subprocess.run(["chattr", "+i", "f"], capture_output=True, check=False).returncode != 0:
            pytest.skip("this file system has no immutable files")
        try:
            message = tools.refuse("writeFile", "f", content="new")
        finally:
            subprocess.run(["chattr", "-i", "f"], check=True)
        assert "permissions" in message
        assert names(here) == ["f"]

    def test_names_as_long_as_names_may_be_are_written(self, here, tools):
        name = "x" * 255
        tools.writeFile(name, content="x")
        assert names(here) == [name]
        assert "too long" in tools.refuse("writeFile", name + "x", content="x")

    def test_text_that_cannot_be_encoded_is_refused(self, here, tools):
        assert "surrogates" in tools.refuse("writeFile", "f", content="\ud800")
        assert names(here) == []

    def test_readers_see_the_old_or_the_new_and_never_a_part(self, here, tools):
        texts = ["a" * 300_000, "b" * 300_000]
        tools.writeFile("f", content=texts[0])
        done = threading.Event()
        seen = []

        def read():
            while not done.is_set():
                seen.append((here / "f").read_text())

        reader = threading.Thread(target=read)
        reader.start()
        for number in range(30):
            tools.writeFile("f", content=texts[number % 2])
        done.set()
        reader.join()
        assert seen
        assert set(seen) <= set(texts)

    def test_a_call_that_is_stopped_before_the_end_changes_nothing(self, here, tools, token, meanwhile):
        (here / "f").write_text("old")
        meanwhile(token.cancel)
        with pytest.raises(ToolCancelledError):
            tools.writeFile("f", content="new")
        assert (here / "f").read_text() == "old"
        assert names(here) == ["f"]

    def test_a_folder_swapped_for_a_link_after_it_was_resolved_is_not_followed(self, here, tools, monkeypatch):
        (here / "sub").mkdir()
        (here / "trap").mkdir()
        resolve = executor_files.paths.resolve

        def swapped(path, base=None):
            resolved = resolve(path, base=base)
            (here / "sub").rename(here / "moved")
            (here / "sub").symlink_to("trap")
            return resolved

        monkeypatch.setattr(executor_files.paths, "resolve", swapped)
        assert "replaced by a symbolic link" in tools.refuse("writeFile", "sub/f", content="x", create_parents=True)
        assert names(here / "trap") == names(here / "moved") == []

    def test_a_file_swapped_for_a_link_while_it_is_written_is_not_followed(self, here, tools, meanwhile):
        (here / "f").write_text("old")
        meanwhile(lambda: ((here / "f").unlink(), (here / "f").symlink_to("/etc/passwd")))
        assert "replaced by a symbolic link" in tools.refuse("writeFile", "f", content="new")
        assert names(here) == ["f"]


class TestEditFile:
    def test_the_one_place_is_replaced_and_shown(self, here, tools):
        (here / "f").write_text("".join(f"{n}\n" for n in range(1, 21)))
        result = tools.editFile("f", old_text="10\n", new_text="ten\n")
        assert result == {
            "path": str(here / "f"),
            "replacements": 1,
            "diff": "--- f\n+++ f\n@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n",
        }
        assert (here / "f").read_text() == "".join(f"{n}\n" if n != 10 else "ten\n" for n in range(1, 21))

    def test_empty_new_text_deletes(self, here, tools):
        (here / "f").write_text("abc")
        tools.editFile("f", old_text="b", new_text="")
        assert (here / "f").read_text() == "ac"

    def test_all_places_are_replaced_when_as_many_are_expected(self, here, tools):
        (here / "f").write_text("x y x\nx\n")
        assert tools.editFile("f", old_text="x", new_text="z", expected_replacements=3)["replacements"] == 3
        assert (here / "f").read_text() == "z y z\nz\n"

    @pytest.mark.parametrize("expected", [1, 2, 4])
    def test_another_number_of_places_changes_nothing_and_names_the_lines(self, here, tools, expected):
        (here / "f").write_text("x\n\nx x\n")
        message = tools.refuse("editFile", "f", old_text="x", new_text="z", expected_replacements=expected)
        assert f"occurs 3 times in {here}/f, not {expected}: on lines 1, 3, 3. Nothing was changed" in message
        assert (here / "f").read_text() == "x\n\nx x\n"

    def test_many_places_are_named_in_part(self, here, tools):
        (here / "f").write_text("x\n" * 1000)
        assert "19, 20, …. Nothing" in tools.refuse("editFile", "f", old_text="x", new_text="z")

    def test_a_text_that_does_not_occur_is_answered_with_the_nearest_lines(self, here, tools):
        (here / "f").write_text("import os\n\ndef compute(first, second):\n    return first\n")
        message = tools.refuse("editFile", "f", old_text="\ndef compute(first, last):\n", new_text="x")
        assert "line 3: 'def compute(first, second):'" in message
        assert "Read the file again" in message
        far = tools.refuse("editFile", "f", old_text="§§§§", new_text="x")
        assert "nothing was changed. Read the file again" in far

    def test_a_text_that_occurs_with_other_blanks_is_answered_so(self, here, tools):
        (here / "f").write_text("if x:\n\treturn  1\n")
        message = tools.refuse("editFile", "f", old_text="if x:\n    return 1", new_text="x")
        assert "other white space" in message
        assert "'if x:'" in message

    def test_the_nearest_lines_of_a_large_file_are_found_in_time(self, here, tools):
        (here / "f").write_text("".join(f"value_{n} = compute({n})\n" for n in range(100_000)))
        assert "nearest lines" in tools.refuse("editFile", "f", old_text="value_7 = computed(7)", new_text="x")

    def test_the_same_text_is_nothing_to_change(self, here, tools):
        (here / "f").write_text("x")
        assert "nothing to change" in tools.refuse("editFile", "f", old_text="x", new_text="x")

    def test_crlf_and_the_byte_order_mark_survive(self, here, tools):
        (here / "f").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")
        tools.editFile("f", old_text="one\ntwo\n", new_text="1\n2\n3\n")
        assert (here / "f").read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n3\r\nthree\r\n"
        tools.editFile("f", old_text="2\r\n", new_text="zwei\r\n")
        assert (here / "f").read_bytes() == b"\xef\xbb\xbf1\r\nzwei\r\n3\r\nthree\r\n"

    def test_mixed_line_ends_are_taken_as_they_are(self, here, tools):
        (here / "f").write_bytes(b"one\r\ntwo\nthree\n")
        assert "other white space" in tools.refuse("editFile", "f", old_text="one\ntwo", new_text="x")
        tools.editFile("f", old_text="two\nthree", new_text="2\n3")
        assert (here / "f").read_bytes() == b"one\r\n2\n3\n"

    def test_what_is_no_text_or_too_large_is_refused(self, here, tools):
        (here / "f").write_bytes(b"a\0b")
        assert "binary" in tools.refuse("editFile", "f", old_text="a", new_text="b")
        (here / "f").write_bytes(b"caf\xe9")
        assert "not UTF-8" in tools.refuse("editFile", "f", old_text="a", new_text="b")
        with (here / "f").open("wb") as file:
            file.truncate(_write.MAX_EDIT_BYTES + 1)
        assert "sed" in tools.refuse("editFile", "f", old_text="a", new_text="b")
        assert "does not exist" in tools.refuse("editFile", "no", old_text="a", new_text="b")

    @pytest.mark.parametrize(
        "change",
        [
            lambda path: path.write_text("other"),
            lambda path: path.write_text("else"),
            lambda path: path.unlink(),
            lambda path: (path.rename(path.with_name("g")), path.write_text("text")),
        ],
        ids=["longer", "as-long", "gone", "another-file"],
    )
    def test_a_file_that_changed_meanwhile_is_not_overwritten(self, here, tools, meanwhile, change):
        (here / "f").write_text("text")
        meanwhile(lambda: change(here / "f"))
        assert "changed by somebody else" in tools.refuse("editFile", "f", old_text="text", new_text="new")
        assert not (here / "f").exists() or (here / "f").read_text() != "new"
        assert not list(here.glob(".executor-*"))

    def test_edits_of_one_file_at_once_are_all_made(self, here, tools):
        (here / "f").write_text("".join(f"<{n}>\n" for n in range(20)))
        start = threading.Barrier(20)

        def edit(number):
            start.wait(10)
            tools.editFile("f", old_text=f"<{number}>", new_text=f"({number})")

        threads = [threading.Thread(target=edit, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert (here / "f").read_text() == "".join(f"({n})\n" for n in range(20))

    def test_a_diff_of_many_changes_is_bounded(self, here, tools):
        (here / "f").write_text("old\n" * 3000)
        diff = tools.editFile("f", old_text="old", new_text="new" * 1000, expected_replacements=3000)["diff"]
        assert diff.endswith("… the rest of the diff is left out\n")
        assert len(diff.splitlines()) < 500
        assert len(diff) < 500 * 400
