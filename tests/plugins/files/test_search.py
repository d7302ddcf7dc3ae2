"""searchFiles, on real files and with expressions that never end."""

import os
import sys
import threading

import pytest

from executor.calls._token import source_of
from executor.errors import ToolCancelledError
from executor_files import _match, _search


@pytest.fixture
def tree(here):
    for name, text in {
        "a.py": "import os\nimport sys\n\nprint(os.name)\n",
        "sub/b.py": "import os\n",
        "sub/c.txt": "Import nothing\n",
        ".hidden": "import secret\n",
        ".git/config": "import git\n",
        "sub/.git": "import gitfile\n",
    }.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text)
    return here


def places(result):
    return [(match["file"], match["line"]) for match in result["matches"]]


def test_lines_of_all_files_are_found_in_order(tree, tools):
    result = tools.searchFiles(pattern="import")
    assert places(result) == [(".hidden", 1), ("a.py", 1), ("a.py", 2), ("sub/b.py", 1)]
    assert result["matches"][2] == {"file": "a.py", "line": 2, "text": "import sys"}
    assert (result["files_searched"], result["truncated"]) == (4, False)
    assert "skipped" not in result


@pytest.mark.parametrize("pattern", [r"^import\b", "^import (os|sys)$|secret", "imp[o]rt ..*"])
def test_expressions_with_repeats_find_the_same(tree, tools, pattern):
    assert len(tools.searchFiles(pattern=pattern)["matches"]) == 4


def test_case_can_be_ignored_in_both_ways_of_matching(tree, tools):
    assert places(tools.searchFiles(pattern="IMPORT N", ignore_case=True)) == [("sub/c.txt", 1)]
    assert places(tools.searchFiles(pattern="IMPORT N+", ignore_case=True)) == [("sub/c.txt", 1)]
    assert tools.searchFiles(pattern="IMPORT N+")["matches"] == []


def test_a_glob_chooses_the_files(tree, tools):
    assert tools.searchFiles(pattern="import", glob="*.py")["files_searched"] == 2
    assert places(tools.searchFiles(pattern="import", glob="sub/*.{py,txt}")) == [("sub/b.py", 1)]


def test_one_file_can_be_searched(tree, tools):
    assert places(tools.searchFiles("sub/b.py", pattern="os")) == [("b.py", 1)]


def test_lines_around_a_match_are_given(tree, tools):
    match = tools.searchFiles("a.py", pattern="sys", context_lines=2)["matches"][0]
    assert (match["before"], match["after"]) == (["import os"], ["", "print(os.name)"])


def test_line_ends_are_no_part_of_a_line(here, tools):
    (here / "f").write_bytes(b"one\r\ntwo\r\n")
    assert tools.searchFiles(pattern="one$")["matches"] == [{"file": "f", "line": 1, "text": "one"}]


def test_the_limit_is_told_when_there_is_more(here, tools):
    (here / "f").write_text("x\n" * 10)
    result = tools.searchFiles(pattern="x", limit=9)
    assert (len(result["matches"]), result["truncated"]) == (9, True)
    assert "raise limit" in result["note"]
    result = tools.searchFiles(pattern="x", limit=10)
    assert (len(result["matches"]), result["truncated"]) == (10, False)


def test_much_context_is_bounded_by_its_size(here, tools):
    (here / "f").write_text(("x" * 250 + "\n") * 2000)
    result = tools.searchFiles(pattern="x", limit=2000, context_lines=20)
    assert result["truncated"]
    assert len(str(result)) < 2 * _search._MAX_RESULT


def test_what_is_not_searched_is_counted(here, tools):
    (here / "binary").write_bytes(b"needle\0")
    with (here / "huge").open("wb") as file:
        file.truncate(_search.MAX_SEARCHED_BYTES + 1)
    (here / "link").symlink_to("/etc/passwd")
    os.mkfifo("pipe")
    result = tools.searchFiles(pattern="needle")
    assert result["matches"] == []
    assert result["skipped"] == {"binary": 1, "links": 1, "special_files": 1, "too_large": 1}


def test_files_and_folders_that_may_not_be_read_are_counted(public, tools, nobody):
    (public / "f").write_text("needle")
    (public / "f").chmod(0)
    (public / "shut").mkdir(mode=0)
    with nobody():
        result = tools.searchFiles(public, pattern="needle")
    assert result["skipped"] == {"unreadable": 1, "unreadable_folders": 1}


def test_text_that_is_no_utf_8_is_searched_all_the_same(here, tools):
    (here / "f").write_bytes(b"caf\xe9 needle\n")
    assert tools.searchFiles(pattern="need.e")["matches"][0]["text"] == "caf\ufffd needle"


def test_the_text_of_a_long_line_is_the_part_around_the_match(here, tools):
    (here / "f").write_text("x" * 1000 + "needle" + "y" * 5000 + "needle2")
    (match,) = tools.searchFiles(pattern="needle")["matches"]
    assert "needleyyy" in match["text"]
    assert match["text"].startswith("…xxx")
    assert match["text"].endswith("… (6013 characters)")
    assert len(match["text"]) < 350
    assert tools.searchFiles(pattern="needle2")["matches"] == []  # beyond what is looked at of a line


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", "*", "(?P<a>x)(?P<a>y)", "x{99999999999999999999}"])
def test_what_is_no_expression_is_told_with_the_mend(tree, tools, pattern):
    message = tools.refuse("searchFiles", ".", pattern=pattern)
    assert "is not a regular expression" in message
    assert "backslash" in message


def test_a_path_that_is_neither_file_nor_folder_is_refused(tools):
    assert "does not exist" in tools.refuse("searchFiles", "no", pattern="x")
    assert "is a device" in tools.refuse("searchFiles", "/dev/zero", pattern="x")


def test_an_expression_that_never_ends_is_ended(here, tools, monkeypatch):
    monkeypatch.setattr(_match, "MATCH_SECONDS", 0.3)
    (here / "f").write_text("a" * 1000 + "!\n")
    message = tools.refuse("searchFiles", ".", pattern="(a+)+$")
    assert "took more than 0.3 seconds on one file" in message


def test_an_expression_that_never_ends_stops_with_its_call(here, tools, token, monkeypatch):
    (here / "f").write_text("a" * 1000 + "!\n")
    asked = threading.Event()
    ask = _match._Conversation._ask

    def noticed(conversation, request):
        asked.set()
        return ask(conversation, request)

    monkeypatch.setattr(_match._Conversation, "_ask", noticed)
    ended = []

    def search():
        with pytest.raises(ToolCancelledError) as caught:
            tools.searchFiles(pattern="(a+)+$")
        ended.append(caught.value)

    thread = threading.Thread(target=search)
    thread.start()
    assert asked.wait(10)
    token.cancel()
    thread.join(10)
    assert ended


def test_a_search_stops_when_its_call_is_cancelled(tree, tools, token):
    token.cancel()
    for pattern in ("import", "import+"):
        with pytest.raises(ToolCancelledError):
            tools.searchFiles(pattern=pattern)


def test_a_search_that_is_over_leaves_nothing_with_its_call(tree, tools, token):
    tools.searchFiles(pattern="import+")
    assert not source_of(token).functions


def test_without_an_interpreter_plain_expressions_are_still_matched(tree, tools, monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    assert tools.searchFiles(pattern="import")["matches"]
    assert "without * + ?" in tools.refuse("searchFiles", ".", pattern="import+")


def test_an_interpreter_that_is_none_is_told(tree, tools, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert "/bin/false) ended with code 1" in tools.refuse("searchFiles", ".", pattern="import+")


def test_much_text_goes_through_the_pipes(here, tools):
    (here / "f").write_text("".join(f"line {n} ünï\n" for n in range(200_000)))
    assert places(tools.searchFiles(pattern=r"^line 19999\d ü")) == [("f", n) for n in range(199_991, 200_001)]
