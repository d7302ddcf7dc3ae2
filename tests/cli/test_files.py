"""``toolexec files``: what the file tools changed, and taking it back."""

from __future__ import annotations

import os


def test_a_change_is_listed_and_taken_back(run, run_json, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").write_text("one\n")
    assert run("call", "writeFile", "path=f", "content=two\n", "--yes").exit_code == 0
    assert run("call", "deleteFile", "path=f", "--yes").exit_code == 0
    path = os.path.realpath(tmp_path / "f")
    assert [(row["what"], row["path"], row["kept"]) for row in run_json("files", "history", "f")] == [
        ("deleted", path, True),
        ("changed", path, True),
    ]
    assert run("files", "undo", "f").exit_code == 3, "there is nobody who could be asked"
    assert run_json("files", "undo", "f", "--yes")["undone"] == "deleteFile"
    assert (tmp_path / "f").read_text() == "two\n"
    listed = run("files", "history").stdout.splitlines()
    assert [line.split()[2:5] for line in listed[1:]] == [
        ["deleteFile", "deleted", path],
        ["writeFile", "changed", path],
    ]
    assert listed[1].endswith("undone")
    assert run_json("files", "history", "--limit", "1")[0]["undone"]
    (tmp_path / "f").write_text("three\n")
    refused = run("files", "undo", "f", "--yes")
    assert (refused.exit_code, (tmp_path / "f").read_text()) == (5, "three\n")
    assert "changed by somebody else" in refused.stderr


def test_a_history_of_no_change_is_no_empty_table(run):
    result = run("files", "history")
    assert (result.stdout, result.stderr) == ("", "there is no change that can be taken back\n")


def test_a_history_that_cannot_be_read_is_an_error_that_says_so(run, own_folders):
    (own_folders / "state" / "toolexec" / "files" / "undo.db").mkdir(parents=True)
    result = run("files", "history")
    assert result.exit_code == 4
    assert "what was kept of changed files cannot be read" in result.stderr
