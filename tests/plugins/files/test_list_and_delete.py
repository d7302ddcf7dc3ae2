"""listFiles and deleteFile, on real folders."""

import os
from pathlib import Path

import pytest

import executor_files
from executor.errors import ToolCancelledError


class TestListFiles:
    def names(self, result):
        return [entry["path"] for entry in result["entries"]]

    @pytest.fixture
    def tree(self, here):
        for name in ("b.py", "a.txt", ".hidden", "sub/c.py", "sub/deep/d.py", ".git/config", "sub/.e"):
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            (here / name).write_text(name)
        return here

    def test_entries_have_a_type_a_size_and_a_time(self, here, tools):
        (here / "f").write_text("1234")
        (here / "link").symlink_to("f")
        (here / "sub").mkdir()
        os.mkfifo("pipe")
        for name in ("f", "sub", "pipe"):
            os.utime(name, (0, 86400))
        entries = tools.listFiles()["entries"]
        assert entries[0] == {"path": "f", "type": "file", "size": 4, "modified": "1970-01-02T00:00:00Z"}
        assert entries[2:] == [
            {"path": "pipe", "type": "FIFO", "modified": "1970-01-02T00:00:00Z"},
            {"path": "sub", "type": "folder", "modified": "1970-01-02T00:00:00Z"},
        ]
        assert entries[1]["type"] == "link"

    def test_hidden_entries_are_listed_on_request(self, tree, tools):
        assert self.names(tools.listFiles()) == ["a.txt", "b.py", "sub"]
        assert self.names(tools.listFiles(include_hidden=True)) == [".git", ".hidden", "a.txt", "b.py", "sub"]

    def test_folders_below_follow_their_parents(self, tree, tools):
        listed = ["a.txt", "b.py", "sub", "sub/c.py", "sub/deep", "sub/deep/d.py"]
        assert self.names(tools.listFiles(recursive=True)) == listed

    @pytest.mark.parametrize(
        ("pattern", "found"),
        [
            ("*.py", ["b.py"]),
            ("*.{py,txt}", ["a.txt", "b.py"]),
            ("?.py", ["b.py"]),
            ("[!b].*", ["a.txt"]),
            ("**/*.py", ["b.py", "sub/c.py", "sub/deep/d.py"]),
            ("sub/*.py", ["sub/c.py"]),
            ("./sub/**", ["sub", "sub/c.py", "sub/deep", "sub/deep/d.py"]),
            ("sub/**/d.py", ["sub/deep/d.py"]),
            ("**/deep/**/d.py", ["sub/deep/d.py"]),
            ("**/deep", ["sub/deep"]),
            ("s*/d*/{c,d}.py", ["sub/deep/d.py"]),
            ("no*", []),
            ("{a}", []),
        ],
    )
    def test_globs_choose_entries(self, tree, tools, pattern, found):
        assert self.names(tools.listFiles(pattern=pattern)) == found

    def test_a_pattern_without_a_slash_and_recursive_chooses_by_name(self, tree, tools):
        assert self.names(tools.listFiles(pattern="*.py", recursive=True)) == ["b.py", "sub/c.py", "sub/deep/d.py"]

    def test_a_glob_made_to_backtrack_ends(self, here, tools):
        (here / ("a" * 200)).touch()
        assert tools.listFiles(pattern="*a" * 60 + "b")["entries"] == []
        deep = here.joinpath(*["a"] * 60)
        deep.mkdir(parents=True)
        assert tools.listFiles(pattern="**/a/" * 20 + "b")["entries"] == []

    def test_braces_without_bound_are_refused(self, tools):
        assert "alternatives" in tools.refuse("listFiles", ".", pattern="{a,b}" * 30)

    def test_linked_folders_are_listed_and_not_entered(self, here, tools):
        (here / "loop").symlink_to(".")
        (here / "etc").symlink_to("/etc")
        result = tools.listFiles(recursive=True)
        assert self.names(result) == ["etc", "loop"]
        assert "unreadable_folders" not in result

    def test_the_limit_holds_in_a_folder_of_ten_thousand(self, here, tools):
        folder = here / "many"
        folder.mkdir()
        for number in range(10_000):
            (folder / f"{number:05}").touch()
        result = tools.listFiles("many")
        assert (len(result["entries"]), result["truncated"]) == (1000, True)
        assert "raise limit" in result["note"]
        result = tools.listFiles("many", limit=10_000)
        assert (len(result["entries"]), result["truncated"]) == (10_000, False)
        assert result["entries"][-1]["path"] == "09999"

    def test_a_folder_deeper_than_any_path_may_be_long_is_walked(self, here, tools):
        folder = os.open(here, os.O_RDONLY)
        for _ in range(30):
            os.mkdir("d" * 200, dir_fd=folder)
            below = os.open("d" * 200, os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = below
        os.close(folder)
        entries = tools.listFiles(recursive=True)["entries"]
        assert len(entries) == 30
        assert len(entries[-1]["path"]) > os.pathconf("/", "PC_PATH_MAX")

    def test_names_that_are_no_text_are_shown_escaped(self, here, tools):
        Path(os.fsdecode(os.fsencode(here) + b"/caf\xe9")).touch()
        (here / "new\nline").touch()
        assert self.names(tools.listFiles()) == ["caf\\xe9", "new\nline"]

    def test_years_that_no_calendar_has_are_left_out(self, here, tools):
        (here / "f").touch()
        os.utime("f", ns=(0, 10**20 // 9))
        assert tools.listFiles()["entries"][0]["modified"] is not None
        assert executor_files._search._time(1e18) is None

    def test_a_file_is_no_folder(self, here, tools):
        (here / "f").touch()
        assert "use readFile" in tools.refuse("listFiles", "f")
        assert "does not exist" in tools.refuse("listFiles", "no")

    def test_folders_that_may_not_be_listed_are_counted(self, public, tools, nobody):
        (public / "open").mkdir()
        (public / "shut").mkdir(mode=0o000)
        with nobody():
            result = tools.listFiles(public, recursive=True)
            assert "not accessible" in tools.refuse("listFiles", public / "shut")
        assert self.names(result) == ["open", "shut"]
        assert result["unreadable_folders"] == 1

    def test_listing_stops_when_the_call_is_cancelled(self, here, tools, token):
        (here / "f").touch()
        token.cancel()
        with pytest.raises(ToolCancelledError):
            tools.listFiles()


class TestDeleteFile:
    def test_a_file_is_deleted(self, here, tools):
        (here / "f").touch()
        assert tools.deleteFile("f") == {"path": str(here / "f"), "deleted": "file"}
        assert not (here / "f").exists()

    def test_a_link_is_deleted_and_not_what_it_leads_to(self, here, tools):
        (here / "f").touch()
        (here / "sub").mkdir()
        (here / "link").symlink_to("f")
        (here / "folder").symlink_to("sub")
        (here / "dead").symlink_to("nowhere")
        for name in ("link", "folder", "dead"):
            assert tools.deleteFile(name)["deleted"] == "link"
        assert sorted(path.name for path in here.iterdir()) == ["f", "sub"]

    def test_an_empty_folder_is_deleted_and_a_full_one_is_not(self, here, tools):
        (here / "sub" / "deep").mkdir(parents=True)
        assert "not empty" in tools.refuse("deleteFile", "sub")
        assert tools.deleteFile("sub/deep")["deleted"] == "folder"
        assert tools.deleteFile("sub/")["deleted"] == "folder"

    def test_what_is_not_there_is_an_error(self, tools):
        assert "does not exist" in tools.refuse("deleteFile", "no")
        assert "does not exist" in tools.refuse("deleteFile", "no/no")

    def test_the_root_of_the_system_is_not_deleted(self, tools):
        assert "not deleted" in tools.refuse("deleteFile", "/")

    def test_a_mount_point_is_in_use(self, here, tools, mounted):
        (here / "mnt").mkdir()
        with mounted(here / "mnt"):
            assert "mount point" in tools.refuse("deleteFile", "mnt")
