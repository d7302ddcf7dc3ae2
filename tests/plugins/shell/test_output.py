"""What a command writes: live, apart, in order, whole, and as text."""

import os
import stat
import time
from pathlib import Path

import pytest

from executor_shell import ShellPlugin, _capture


class TestResult:
    def test_a_shell_line_gives_exit_code_and_both_streams(self, run):
        result = run("echo out; echo err >&2; exit 3")
        assert result.pop("duration") >= 0
        assert result == {"exit_code": 3, "stdout": "out\n", "stderr": "err\n"}

    def test_an_argv_is_passed_as_it_is_without_a_shell(self, run):
        assert run(argv=["printf", "%s|", "a b", "$HOME", "*", ";"])["stdout"] == "a b|$HOME|*|;|"

    def test_a_line_is_run_by_bash(self, run):
        assert run("[[ abc == a* ]] && echo ${BASH_VERSION:+bash}")["stdout"] == "bash\n"

    def test_a_line_that_begins_with_a_dash_is_no_option_of_the_shell(self, run):
        result = run("-c 'echo hidden'")
        assert result["exit_code"] == 127
        assert result["stdout"] == ""

    def test_a_command_killed_by_a_signal_says_which(self, run):
        result = run("kill -KILL $$")
        assert (result["exit_code"], result["signal"]) == (-9, "SIGKILL")

    def test_a_signal_without_a_name_is_given_by_number(self, run):
        assert run("kill -40 $$")["signal"] == "signal 40"

    def test_the_duration_is_that_of_the_command(self, begin, fifo):
        began = time.monotonic()
        running = begin(f"echo up; read x < {fifo}")
        running.heard("up")
        fifo.write_text("go\n")
        assert 0 < running.end()["duration"] <= time.monotonic() - began + 0.001

    def test_standard_input_is_empty(self, run):
        result = run("cat; echo $?")
        assert result["stdout"] == "0\n"

    def test_a_command_leads_a_session_of_its_own(self, run):
        result = run("read -r _ _ _ _ group session _ < /proc/$$/stat; echo $((group == $$)) $((session == $$))")
        assert result["stdout"] == "1 1\n"

    def test_no_option_of_the_shells_is_inherited_by_which_it_reads_another_line(self, run, monkeypatch, tmp_path):
        (tmp_path / ".hidden").touch()
        (tmp_path / "shown").touch()
        for name, value in (
            ("BASHOPTS", "dotglob:nocaseglob"),
            ("SHELLOPTS", "noglob:keyword"),
            ("GLOBIGNORE", "shown"),
        ):
            monkeypatch.setenv(name, value)
        assert run("echo * ?HIDDEN", cwd=str(tmp_path))["stdout"] == "shown ?HIDDEN\n"
        assert run(argv=["printenv", "GLOBIGNORE"])["stdout"] == "shown\n"

    def test_environment_is_added_to_the_inherited_one(self, run, monkeypatch):
        monkeypatch.setenv("INHERITED", "a")
        monkeypatch.setenv("CHANGED", "b")
        result = run("echo $INHERITED $CHANGED $NEW", env={"CHANGED": "c", "NEW": "d"})
        assert result["stdout"] == "a c d\n"

    def test_a_given_path_is_where_a_program_is_looked_for(self, run, tmp_path):
        program = tmp_path / "only-here"
        program.write_text("#!/bin/sh\necho found\n")
        program.chmod(0o755)
        assert run(argv=["only-here"], env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})["stdout"] == "found\n"

    def test_cwd_is_the_working_folder(self, run, tmp_path):
        assert run("pwd -P", cwd=str(tmp_path))["stdout"] == f"{os.path.realpath(tmp_path)}\n"

    def test_a_command_outside_any_call_runs_too(self, shell):
        assert shell.run_command({"command": "echo hi"})["stdout"] == "hi\n"


class TestLive:
    def test_output_is_shown_before_the_line_ends(self, begin, fifo):
        running = begin(f"printf half; read x < {fifo}; echo ' whole'")
        assert running.heard("half") == "half"
        fifo.write_text("go\n")
        assert running.end()["stdout"] == "half whole\n"
        assert running.output == "half whole\n"

    def test_both_streams_are_shown(self, begin):
        running = begin("echo out; echo err >&2")
        running.end()
        assert sorted(running.output.splitlines()) == ["err", "out"]

    def test_a_character_in_two_pieces_is_shown_whole(self, begin, fifo):
        running = begin(f"printf 'a\\342\\202'; read x < {fifo}; printf '\\254b'")
        assert running.heard("a") == "a"
        fifo.write_text("go\n")
        assert running.end()["stdout"] == "a€b"
        assert "".join(running.shown) == "a€b"

    def test_each_stream_keeps_its_order(self, run):
        result = run("for i in {1..2000}; do echo $i; echo -$i >&2; done")
        assert result["stdout"].split() == [str(i) for i in range(1, 2001)]
        assert result["stderr"].split() == [f"-{i}" for i in range(1, 2001)]

    def test_a_listener_that_is_interrupted_ends_the_command(self, listening, watch):
        processes = []

        def interrupt(text):
            processes.append(watch(text))
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            listening(interrupt, command="trap '' TERM; echo $$; sleep 1000")
        assert processes[0].dead()


class TestMuch:
    def test_much_on_stderr_while_stdout_is_silent_does_not_block(self, run):
        result = run("head -c 300000 /dev/zero | tr '\\0' x >&2; echo done", max_output=400_000)
        assert result["stdout"] == "done\n"
        assert result["stderr"] == "x" * 300_000
        assert "stderr_file" not in result

    def test_twenty_megabytes_are_shown_and_kept(self, begin):
        running = begin("yes 0123456789abcde | head -c 20000000")
        result = running.end()
        assert sum(map(len, running.shown)) == 20_000_000
        assert Path(result["stdout_file"]).stat().st_size == 20_000_000
        assert len(result["stdout"]) < 66_000

    def test_head_and_tail_are_in_the_result_and_all_of_it_in_a_file(self, run):
        result = run("seq 1 1000; echo err >&2", max_output=100)
        whole = "".join(f"{i}\n" for i in range(1, 1001))
        assert result["stdout"] == f"{whole[:50]}\n[... {len(whole) - 100} bytes left out ...]\n{whole[-50:]}"
        assert Path(result["stdout_file"]).read_text() == whole
        assert result["stderr"] == "err\n"
        assert "stderr_file" not in result
        assert "stdout_note" not in result

    def test_output_of_exactly_the_limit_needs_no_file(self, run, tmp_path):
        result = run("printf 0123456789", max_output=10)
        assert result["stdout"] == "0123456789"
        assert not (tmp_path / "state").exists()

    def test_the_file_is_for_this_user_only(self, run):
        path = Path(run("seq 1 1000", max_output=10)["stdout_file"])
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700

    def test_without_configuration_the_file_is_in_the_user_state_folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        result = ShellPlugin().run_command({"command": "seq 1 1000", "max_output": 10})
        assert Path(result["stdout_file"]).parent == tmp_path / "toolexec" / "output"

    def test_a_folder_that_cannot_be_made_is_no_error_of_the_command(self, run, tmp_path):
        (tmp_path / "state").write_text("a file in the way")
        result = run("seq 1 1000", max_output=10)
        assert result["exit_code"] == 0
        assert "bytes left out" in result["stdout"]
        assert "stdout_file" not in result
        assert result["stdout_note"].startswith("the full output could not be kept: [Errno")

    def test_a_full_disk_is_no_error_of_the_command(self, run, tmp_path, monkeypatch):
        full = tmp_path / "full"
        full.touch()
        monkeypatch.setattr(_capture, "_create", lambda *_: (os.open("/dev/full", os.O_WRONLY), full))
        result = run("seq 1 1000", max_output=10)
        assert result["exit_code"] == 0
        assert "No space left on device" in result["stdout_note"]
        assert "stdout_file" not in result
        assert not full.exists()

    def test_old_files_are_removed_when_a_new_one_is_made(self, run, tmp_path):
        folder = tmp_path / "state" / "output"
        folder.mkdir(parents=True)
        long_ago = time.time() - 8 * 24 * 3600
        for name in ("command-old.stdout", "somebody-else.stdout", "command-young.stderr"):
            (folder / name).touch()
            if "young" not in name:
                os.utime(folder / name, (long_ago, long_ago))
        new = run("seq 1 1000", max_output=10)["stdout_file"]
        assert {path.name for path in folder.iterdir()} == {
            "somebody-else.stdout",
            "command-young.stderr",
            Path(new).name,
        }


class TestBytes:
    def test_bytes_that_are_not_utf8_are_replaced_and_the_result_says_so(self, begin):
        running = begin("printf 'a\\377b'")
        result = running.end()
        assert result["stdout"] == running.output == "a\ufffdb"
        assert result["undecodable"] is True

    def test_a_character_cut_off_by_the_end_is_replaced_and_shown(self, begin):
        running = begin("printf 'a\\342\\202' >&2")
        result = running.end()
        assert result["stderr"] == running.output == "a\ufffd"
        assert result["undecodable"] is True

    def test_a_replacement_character_that_the_command_wrote_is_none_of_ours(self, run):
        result = run("printf '\\357\\277\\275'")
        assert result["stdout"] == "\ufffd"
        assert "undecodable" not in result

    def test_binary_output_comes_whole_into_the_file(self, run):
        result = run(f"head -c {3 * 256 * 256} /dev/urandom | tee /dev/stderr", max_output=1000)
        assert result["undecodable"] is True
        data = Path(result["stdout_file"]).read_bytes()
        assert len(data) == 3 * 256 * 256
        assert data == Path(result["stderr_file"]).read_bytes()
