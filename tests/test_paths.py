"""Resolving and opening paths: on real folders, links, FIFOs and devices."""

import errno
import os
import pwd
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

import pytest

from executor import paths
from executor.paths import PathChangedError, inside, open_parent, open_resolved, resolve, resolve_entry, stat_resolved


@pytest.fixture
def here(tmp_path):
    return Path(os.path.realpath(tmp_path))


def read(path):
    fd = open_resolved(path, os.O_RDONLY)
    with open(fd, "rb") as file:
        return file.read()


class TestResolve:
    def test_a_relative_path_is_relative_to_the_base(self, here):
        assert resolve("a/b.txt", base=here) == here / "a" / "b.txt"
        assert resolve("a/b.txt", base=str(here)) == here / "a" / "b.txt"

    def test_a_relative_base_is_relative_to_the_working_folder(self, here, monkeypatch):
        monkeypatch.chdir(here)
        assert resolve("x", base="sub") == here / "sub" / "x"
        assert resolve("x") == here / "x"

    def test_an_absolute_path_does_not_care_for_the_base(self, here):
        assert resolve("/etc/hosts", base=here) == Path("/etc/hosts")

    def test_an_absolute_path_needs_no_working_folder(self, here):
        code = (
            "import os; from executor.paths import resolve; d = os.getcwd(); os.rmdir(d);"
            " print(resolve('/etc'), resolve('x', base='/etc'))\n"
            "try: resolve('x')\nexcept FileNotFoundError: print('gone')"
        )
        (here / "gone").mkdir()
        root = Path(paths.__file__).parent.parent
        env = {**os.environ, "PYTHONPATH": str(root)}
        done = subprocess.run(
            [sys.executable, "-P", "-c", code], cwd=here / "gone", env=env, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == ["/etc", "/etc/x", "gone"]

    @pytest.mark.parametrize(
        "spelling", ["//etc/hosts", "///etc//hosts", "/etc/./hosts", "/etc/hosts/", "/../etc/hosts"]
    )
    def test_slashes_and_dots_make_no_other_path(self, spelling):
        assert str(resolve(spelling)) == "/etc/hosts"

    def test_two_dots_after_a_link_leave_the_folder_the_link_leads_to(self, here):
        (here / "far" / "deep").mkdir(parents=True)
        (here / "link").symlink_to(here / "far" / "deep")
        assert resolve("link/../x", base=here) == here / "far" / "x"

    def test_two_dots_in_the_base_come_after_its_links(self, here):
        (here / "far" / "deep").mkdir(parents=True)
        (here / "link").symlink_to("far/deep")
        assert resolve("x", base=here / "link" / "..") == here / "far" / "x"

    def test_links_are_followed_at_every_part_and_through_each_other(self, here):
        (here / "real").mkdir()
        (here / "one").symlink_to("two")
        (here / "two").symlink_to("real")
        (here / "real" / "file").symlink_to("../other")
        assert resolve("one/file", base=here) == here / "other"

    def test_parts_that_do_not_exist_are_kept(self, here):
        (here / "link").symlink_to(here / "nowhere" / "yet")
        assert resolve("link/a/../b", base=here) == here / "nowhere" / "yet" / "b"

    def test_a_circle_of_links_is_an_error_also_before_two_dots(self, here):
        (here / "loop").symlink_to("loop")
        for path in ("loop", "loop/x", "loop/../x"):
            with pytest.raises(OSError, match="circle") as caught:
                resolve(path, base=here)
            assert caught.value.errno == errno.ELOOP

    def test_forty_links_are_followed_as_the_system_does(self, here):
        (here / "0").write_text("end")
        for number in range(1, 42):
            (here / str(number)).symlink_to(str(number - 1))
        assert resolve("40", base=here) == here / "0"
        assert (here / "40").read_text() == "end"
        with pytest.raises(OSError, match="circle"):
            resolve("41", base=here)

    def test_home_is_expanded_and_only_at_the_start(self, here, monkeypatch):
        monkeypatch.setenv("HOME", str(here))
        assert resolve("~") == here
        assert resolve("~/x") == here / "x"
        assert resolve("a/~", base=here) == here / "a" / "~"
        assert resolve("./~", base=here) == here / "~"

    def test_the_home_of_a_user_is_expanded_and_of_nobody_is_a_name(self, here):
        user = pwd.getpwuid(0)
        assert resolve(f"~{user.pw_name}/x") == Path(os.path.realpath(user.pw_dir), "x")
        assert resolve("~no-such-user/x", base=here) == here / "~no-such-user" / "x"

    @pytest.mark.parametrize("path", ["", "a\0b", "\0", "a\ud800b", "\udcff"])
    def test_what_can_be_no_name_is_refused(self, path):
        with pytest.raises(ValueError, match="path"):
            resolve(path)
        with pytest.raises(ValueError, match="path"):
            resolve_entry(path)

    def test_any_other_character_is_a_name(self, here):
        for name in ("new\nline", "tab\t", "ünï", "日本", "\u202e", " ", "*", "-rf"):
            (here / name).write_text(name)
            assert read(resolve(name, base=here)) == name.encode()

    def test_a_path_too_long_for_the_system_is_resolved_part_by_part(self, here):
        (here / "d").mkdir()
        (here / "link").symlink_to("/etc")
        assert resolve("d/../" * 2000 + "link/hosts", base=here) == Path("/etc/hosts")

    def test_the_working_folder_of_the_process_by_its_proc_link(self, here, monkeypatch):
        monkeypatch.chdir(here)
        assert resolve("/proc/self/cwd/x") == here / "x"
        assert resolve("/proc/self/root/etc") == Path("/etc")


class TestResolveEntry:
    def test_the_last_link_stays_and_the_others_are_followed(self, here):
        (here / "real").mkdir()
        (here / "folder").symlink_to("real")
        (here / "real" / "link").symlink_to("/etc/hosts")
        assert resolve_entry("folder/link", base=here) == here / "real" / "link"
        assert resolve_entry("folder", base=here) == here / "folder"

    @pytest.mark.parametrize("ending", ["/", "/.", "/..", "/../real"])
    def test_a_path_that_names_no_entry_is_resolved_as_a_whole(self, here, ending):
        (here / "real").mkdir()
        (here / "folder").symlink_to("real")
        assert resolve_entry("folder" + ending, base=here) == resolve("folder" + ending, base=here)

    def test_the_root_is_itself(self):
        assert resolve_entry("/") == Path("/")


class TestInside:
    def test_equality_and_below_count(self):
        assert inside(Path("/a/b"), Path("/a/b"))
        assert inside(Path("/a/b/c/d"), Path("/a/b"))
        assert inside(Path("/a"), Path("/"))

    def test_a_common_beginning_of_names_does_not(self):
        assert not inside(Path("/a/bc"), Path("/a/b"))
        assert not inside(Path("/a"), Path("/a/b"))


def fold(path):
    """The path as a file system that ignores case and composition would find it."""
    found = "/"
    for part in str(path).split("/")[1:]:
        key = unicodedata.normalize("NFD", part).casefold()
        names = os.listdir(found) if os.path.isdir(found) else []
        found = os.path.join(found, next((n for n in names if unicodedata.normalize("NFD", n).casefold() == key), part))
    return found


@pytest.fixture
def folding(here, monkeypatch):
    """Below *here*, the system calls take every spelling of a name, as they do on APFS, NTFS or ext4 with casefold."""

    def folds(function):
        return lambda path, **options: function(fold(path) if str(path).startswith(str(here)) else path, **options)

    for name in ("lstat", "readlink", "scandir"):
        monkeypatch.setattr(os, name, folds(getattr(os, name)))
    monkeypatch.setattr(os.path, "lexists", folds(os.path.lexists))
    return here


class TestCase:
    def test_names_that_differ_in_case_are_two_files_where_the_system_says_so(self, here):
        (here / "readme").write_text("")
        assert resolve("README", base=here) == here / "README"
        (here / "README").write_text("")
        assert resolve("README", base=here) == here / "README"
        assert resolve("readme", base=here) == here / "readme"

    def test_existing_parts_are_spelled_as_they_are_listed(self, folding):
        (folding / ".Git").mkdir()
        (folding / ".Git" / "Config").write_text("")
        assert resolve(".gIT/cONFIG", base=folding) == folding / ".Git" / "Config"
        assert resolve(".GIT/New", base=folding) == folding / ".Git" / "New"
        assert resolve_entry(".git/config", base=folding) == folding / ".Git" / "Config"

    def test_links_are_found_under_any_spelling(self, folding):
        (folding / "Link").symlink_to("Target")
        (folding / "target").mkdir()
        assert resolve("LINK/x", base=folding) == folding / "target" / "x"

    def test_composed_and_decomposed_accents_are_one_name(self, folding):
        (folding / unicodedata.normalize("NFD", "é")).write_text("")
        assert resolve(unicodedata.normalize("NFC", "é"), base=folding).name == unicodedata.normalize("NFD", "é")

    def test_of_two_hard_links_the_one_that_differs_in_case_only_is_meant(self, folding):
        (folding / "aaa").write_text("")
        (folding / "Name").hardlink_to(folding / "aaa")
        assert resolve("nAME", base=folding) == folding / "Name"

    def test_a_folder_that_may_not_be_listed_leaves_the_spelling(self, folding, monkeypatch):
        def refuse(path):
            raise PermissionError(path)

        (folding / "Name").write_text("")
        monkeypatch.setattr(os, "scandir", refuse)
        assert resolve("nAME", base=folding) == folding / "nAME"


class TestOpenResolved:
    def test_it_opens_what_was_resolved(self, here):
        (here / "a").mkdir()
        (here / "a" / "f").write_text("text")
        (here / "link").symlink_to("a/f")
        assert read(resolve("link", base=here)) == b"text"

    def test_the_descriptor_is_not_inherited(self, here):
        fd = open_resolved(here, os.O_RDONLY)
        assert not os.get_inheritable(fd)
        os.close(fd)

    def test_a_last_part_that_became_a_link_is_not_followed(self, here):
        (here / "f").write_text("harmless")
        path = resolve("f", base=here)
        path.unlink()
        path.symlink_to("/etc/passwd")
        for flags in (os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_RDONLY | os.O_DIRECTORY):
            with pytest.raises(PathChangedError, match="link now") as caught:
                open_resolved(path, flags)
            assert caught.value.filename == str(path)

    def test_a_folder_that_became_a_link_is_not_followed(self, here):
        (here / "a" / "b").mkdir(parents=True)
        path = resolve("a/b/f", base=here)
        (here / "a").rename(here / "elsewhere")
        (here / "a").symlink_to("elsewhere")
        for act in (lambda: open_resolved(path, os.O_WRONLY | os.O_CREAT), lambda: stat_resolved(path)):
            with pytest.raises(PathChangedError) as caught:
                act()
            assert caught.value.filename == str(here / "a")
        assert not (here / "elsewhere" / "b" / "f").exists()

    def test_an_opened_folder_stays_the_same_when_its_path_is_swapped(self, here):
        (here / "a").mkdir()
        (here / "trap").mkdir()
        with open_parent(here / "a" / "f") as (folder, name):
            (here / "a").rename(here / "moved")
            (here / "a").symlink_to("trap")
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT, dir_fd=folder))
        assert (here / "moved" / "f").exists()
        assert not (here / "trap" / "f").exists()

    @pytest.mark.parametrize("path", ["relative", "/a/../b"])
    def test_a_path_that_was_not_resolved_is_refused(self, path):
        for act in (lambda: open_resolved(Path(path), os.O_RDONLY), lambda: stat_resolved(Path(path))):
            with pytest.raises(ValueError, match="not resolved"):
                act()

    def test_errors_name_the_whole_path(self, here):
        (here / "file").write_text("")
        with pytest.raises(FileNotFoundError) as missing:
            open_resolved(here / "no" / "file", os.O_RDONLY)
        assert missing.value.filename == str(here / "no")
        with pytest.raises(FileNotFoundError) as missing:
            open_resolved(here / "no", os.O_RDONLY)
        assert missing.value.filename == str(here / "no")
        with pytest.raises(NotADirectoryError) as no_folder:
            open_resolved(here / "file" / "below", os.O_RDONLY)
        assert no_folder.value.filename == str(here / "file")

    def test_the_root_is_opened_and_has_no_parent(self):
        fd = open_resolved(Path("/"), os.O_RDONLY | os.O_DIRECTORY)
        assert os.path.samestat(os.fstat(fd), stat_resolved(Path("/")))
        os.close(fd)
        with pytest.raises(ValueError, match="no parent"), open_parent(Path("/")):
            pass

    def test_a_fifo_without_a_partner_never_waits(self, here):
        os.mkfifo(here / "fifo")
        os.close(open_resolved(here / "fifo", os.O_RDONLY))
        with pytest.raises(OSError) as caught:
            open_resolved(here / "fifo", os.O_WRONLY)
        assert caught.value.errno == errno.ENXIO

    def test_no_descriptor_is_left_open(self, here):
        (here / "a" / "b").mkdir(parents=True)
        (here / "a" / "link").symlink_to("b")
        before = os.listdir("/proc/self/fd")
        for path in (here / "a" / "b" / "no", here / "no" / "x", here / "a" / "link" / "x", here / "a" / "link"):
            with pytest.raises(OSError):
                open_resolved(path, os.O_RDONLY)
            with pytest.raises(OSError):
                stat_resolved(path / "x")
        stat_resolved(here / "a" / "b")
        assert os.listdir("/proc/self/fd") == before

    def test_passing_through_a_folder_needs_no_right_to_list_it(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as name:  # tmp_path is below a folder that only its owner passes
            folder = Path(os.path.realpath(name))
            (folder / "d").mkdir()
            (folder / "d" / "f").write_text("x")
            (folder / "d").chmod(0o111)
            folder.chmod(0o755)
            user = os.geteuid()
            if user == 0:
                os.seteuid(65534)
            try:
                assert read(folder / "d" / "f") == b"x"
                with pytest.raises(PermissionError):
                    open_resolved(folder / "d", os.O_RDONLY)
            finally:
                os.seteuid(user)
                (folder / "d").chmod(0o700)


class TestWithoutDirFd:
    """What Windows gets: resolved again and compared."""

    @pytest.fixture(autouse=True)
    def no_dir_fd(self, monkeypatch):
        monkeypatch.setattr(paths, "_CAN_WALK", False)
        monkeypatch.setattr(paths, "_NOFOLLOW", 0)

    def test_what_was_resolved_is_opened(self, here):
        (here / "f").write_text("text")
        assert read(here / "f") == b"text"
        assert stat_resolved(here / "f").st_size == 4
        with open_parent(here / "f") as (folder, name):
            assert (folder, name) == (None, str(here / "f"))

    def test_a_folder_that_became_a_link_is_noticed(self, here):
        (here / "real").mkdir()
        (here / "real" / "f").write_text("text")
        (here / "a").symlink_to("real")
        with pytest.raises(PathChangedError):
            open_resolved(here / "a" / "f", os.O_RDONLY)

    def test_a_last_part_that_became_a_link_is_noticed(self, here):
        (here / "f").symlink_to("/etc/passwd")
        with pytest.raises(PathChangedError):
            open_resolved(here / "f", os.O_RDONLY)
