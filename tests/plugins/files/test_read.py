"""readFile, on real files."""

import os
import socket

import pytest

import executor_files
from executor.errors import ToolCancelledError


class TestReadFile:
    def test_a_whole_file_is_given_exactly(self, here, tools):
        text = "one\r\ntwo\n\n\tthree ünï 日本"
        (here / "f").write_bytes(text.encode())
        assert tools.readFile("f") == {
            "path": str(here / "f"),
            "content": text,
            "start_line": 1,
            "end_line": 4,
            "has_more": False,
            "size": len(text.encode()),
            "total_lines": 4,
        }

    def test_an_empty_file_has_no_lines(self, here, tools):
        (here / "f").touch()
        result = tools.readFile("f")
        assert (result["content"], result["end_line"], result["total_lines"]) == ("", 0, 0)

    def test_a_range_of_lines_includes_its_last(self, here, tools):
        (here / "f").write_text("1\n2\n3\n4\n")
        result = tools.readFile("f", start_line=2, end_line=3)
        assert (result["content"], result["end_line"], result["has_more"]) == ("2\n3\n", 3, True)
        assert "total_lines" not in result
        result = tools.readFile("f", start_line=4, end_line=4)
        assert (result["content"], result["has_more"], result["total_lines"]) == ("4\n", False, 4)
        assert tools.readFile("f", start_line=4, end_line=9)["end_line"] == 4

    def test_numbers_may_be_written_with_a_point(self, here, tools):
        (here / "f").write_text("1\n2\n")
        assert tools.readFile("f", start_line=2.0, max_bytes=10.0)["content"] == "2\n"

    @pytest.mark.parametrize("text", ["1\n2\n3\n", "1\n2\n3"])
    def test_a_range_behind_the_end_says_how_many_lines_there_are(self, here, tools, text):
        (here / "f").write_text(text)
        for start in (4, 5, 100):
            assert "has only 3 lines" in tools.refuse("readFile", "f", start_line=start)

    def test_a_range_the_wrong_way_round_is_refused(self, here, tools):
        (here / "f").write_text("1\n2\n")
        assert "end_line 1 is before start_line 2" in tools.refuse("readFile", "f", start_line=2, end_line=1)

    def test_reading_on_from_the_note_gives_the_whole_file(self, here, tools):
        text = "".join(f"line {n} ü\n" for n in range(1000))
        (here / "f").write_text(text)
        parts, start, more = [], 1, True
        while more:
            result = tools.readFile("f", start_line=start, max_bytes=100)
            assert len(result["content"].encode()) <= 100
            parts.append(result["content"])
            start, more = result["end_line"] + 1, result["has_more"]
            assert not more or f"start_line={start}" in result["note"]
        assert "".join(parts) == text

    def test_a_line_longer_than_the_limit_is_cut_between_characters(self, here, tools):
        for character in ("x", "ü", "日", "😀"):
            (here / "f").write_text(character * 100 + "\nnext\n")
            for limit in range(8, 13):
                result = tools.readFile("f", max_bytes=limit)
                assert result["content"] == character * (limit // len(character.encode()))
                assert "Line 1 is longer" in result["note"]
                assert result["has_more"]
        assert tools.readFile("f", start_line=2)["content"] == "next\n"

    def test_a_limit_within_the_first_character_still_says_so(self, here, tools):
        (here / "f").write_text("a\n😀")
        result = tools.readFile("f", start_line=2, max_bytes=1)
        assert (result["content"], result["has_more"]) == ("", True)

    def test_the_front_of_a_huge_file_does_not_need_the_rest(self, here, tools):
        with (here / "f").open("wb") as file:
            file.write(b"".join(b"line %d\n" % n for n in range(1, 100)))
            file.truncate(100 << 30)
        result = tools.readFile("f", start_line=10, end_line=12)
        assert result["content"] == "line 10\nline 11\nline 12\n"
        assert (result["has_more"], result["size"]) == (True, 100 << 30)

    def test_a_hole_in_the_way_is_binary_and_ends_the_reading(self, here, tools):
        with (here / "f").open("wb") as file:
            file.write(b"line\n" * 10)
            file.truncate(100 << 20)
        assert "binary" in tools.refuse("readFile", "f", start_line=12)

    def test_lines_deep_in_a_large_file_are_found(self, here, tools):
        (here / "f").write_bytes(b"".join(b"line %d\n" % n for n in range(1, 300_001)))
        assert tools.readFile("f", start_line=299_999)["content"] == "line 299999\nline 300000\n"
        assert tools.readFile("f", start_line=300_000)["total_lines"] == 300_000

    def test_skipping_stops_when_the_call_is_cancelled(self, here, tools, token):
        (here / "f").write_text("a\nb\n")
        token.cancel()
        with pytest.raises(ToolCancelledError):
            tools.readFile("f", start_line=2)

    def test_a_byte_order_mark_is_told_and_no_part_of_the_text(self, here, tools):
        (here / "f").write_bytes(b"\xef\xbb\xbfone\ntwo\n")
        result = tools.readFile("f")
        assert (result["content"], result["byte_order_mark"]) == ("one\ntwo\n", True)
        assert "byte_order_mark" not in tools.readFile("f", start_line=2)

    @pytest.mark.parametrize(
        ("data", "problem"),
        [
            (b"PNG\0\1\2", "binary file (6 bytes"),
            ("text".encode("utf-16"), "UTF-16 text (10 bytes)"),
            ("日本".encode("utf-16"), "UTF-16 text (6 bytes)"),
            ("one\ncaf\xe9\n".encode("latin-1"), "byte 7 is 0xE9"),
            (b"\xed\xa0\x80", "not UTF-8"),
        ],
    )
    def test_what_is_no_utf_8_is_refused_with_its_kind_and_the_mend(self, here, tools, data, problem):
        (here / "f").write_bytes(data)
        message = tools.refuse("readFile", "f")
        assert problem in message
        assert "iconv" in message or "program" in message

    def test_the_byte_that_is_no_utf_8_is_counted_from_the_start_of_the_file(self, here, tools):
        (here / "f").write_bytes(b"1234\n\xff\n")
        assert "byte 5 is 0xFF" in tools.refuse("readFile", "f", start_line=2)

    def test_what_is_not_there_or_no_file_is_refused_with_the_mend(self, here, tools):
        (here / "file").touch()
        assert f"Cannot read {here}/no: it does not exist: look with listFiles" in tools.refuse("readFile", "no")
        assert f"{here}/no does not exist" in tools.refuse("readFile", "no/f")
        assert f"{here}/file is no folder" in tools.refuse("readFile", "file/f")
        assert "use listFiles" in tools.refuse("readFile", ".")
        assert "use listFiles" in tools.refuse("readFile", "/")
        assert "NUL" in tools.refuse("readFile", "a\0b")
        assert "surrogate" in tools.refuse("readFile", "\ud800")

    def test_fifos_sockets_and_devices_are_left_alone(self, here, tools):
        os.mkfifo("fifo")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket")
            assert "is a socket" in tools.refuse("readFile", "socket")
        assert "is a FIFO" in tools.refuse("readFile", "fifo")
        assert "is a device" in tools.refuse("readFile", "/dev/zero")
        for name in ("fifo", "/dev/null"):
            assert "regular file" in tools.refuse("writeFile", name, content="x")
            assert "regular file" in tools.refuse("editFile", name, old_text="x", new_text="y")
            assert "regular file" in tools.refuse("deleteFile", name)

    def test_files_of_the_system_that_say_they_are_empty_are_read(self, tools):
        assert "Name:" in tools.readFile("/proc/self/status")["content"]

    def test_links_lead_to_what_is_read(self, here, tools):
        (here / "real").write_text("x")
        (here / "link").symlink_to("real")
        assert tools.readFile("link")["path"] == str(here / "real")

    def test_a_file_swapped_for_a_link_after_it_was_resolved_is_not_read(self, here, tools, monkeypatch):
        (here / "f").write_text("x")
        resolve = executor_files.paths.resolve

        def swapped(path, base=None):
            resolved = resolve(path, base=base)
            resolved.unlink()
            resolved.symlink_to("/etc/passwd")
            return resolved

        monkeypatch.setattr(executor_files.paths, "resolve", swapped)
        assert "is a link" in tools.refuse("readFile", "f")

    def test_names_may_hold_anything_a_name_can(self, here, tools):
        for name in ("new\nline", "ünï", "-rf", " ", "a*b"):
            (here / name).write_text(name)
            assert tools.readFile(f"./{name}")["content"] == name
