"""What a command writes goes through pipes whole, as it comes, and no further than somebody reads."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys

import pytest

LINES = 300_000  # about 2 MB: more than a result holds, or a pipe


@pytest.fixture(autouse=True)
def without_boxes(policy, process):
    """The tests are about what is passed on; `process` puts the package on the path."""
    policy({"version": "1.2", "confine": {"default": "open"}})


@pytest.fixture
def begin(tmp_path):
    """Start the command, with its stdout as a pipe."""
    begun = []

    def start(*words, **options):
        words = [sys.executable, "-m", "executor", "call", "--yes", *words]
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
        begun.append(subprocess.Popen(words, cwd=tmp_path, **options))
        return begun[-1]

    yield start
    for one in begun:
        with one:
            one.kill()


def test_long_output_arrives_whole(begin):
    out, err = begin("runCommand", f"command=seq {LINES}; echo beside >&2").communicate()
    wanted = "".join(f"{number}\n" for number in range(1, LINES + 1)).encode()
    assert hashlib.sha256(out).digest() == hashlib.sha256(wanted).digest()
    assert b"beside\n" in err
    assert b"stdout_file" not in err


def test_a_hundred_megabytes_pass_in_little_memory(tmp_path):
    """Measured by a small process between: a child's peak begins with what its parent held."""
    words = [sys.executable, "-m", "executor", "call", "--yes", "runCommand", "command=seq 12000000"]
    measure = f"""
import resource, subprocess
with subprocess.Popen({words!r}, stdout=subprocess.PIPE) as one:
    count = sum(len(piece) for piece in iter(lambda: one.stdout.read1(65536), b""))
print(count, one.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
    done = subprocess.run([sys.executable, "-I", "-c", measure], cwd=tmp_path, capture_output=True, check=True)
    count, code, kilobytes = map(int, done.stdout.split())
    assert (count, code) == (96_888_897, 0)
    assert kilobytes <= 60 * 1024


def test_bytes_that_are_no_text_arrive_as_they_are(begin, tmp_path):
    data = bytes(range(256)) * 300 + b"\xe2\x82"  # ends in the middle of a character
    (tmp_path / "data").write_bytes(data)
    one = begin("runCommand", "command=cat data")
    assert one.communicate()[0] == data
    assert one.returncode == 0


@pytest.mark.parametrize("option", ["--no-live", "--live", "--stream"])
def test_it_arrives_as_it_comes(begin, tmp_path, option):
    os.mkfifo(tmp_path / "go on")
    one = begin("runCommand", "command=echo first; read x < 'go on'; echo $x", option)
    assert one.stdout.readline() == b"first\n"
    (tmp_path / "go on").write_text("second\n")
    assert one.stdout.read() == b"second\n"
    assert one.wait() == 0
    assert (b"first" in one.stderr.read()) is (option == "--live")


def test_a_reader_that_has_gone_ends_the_command(begin, tmp_path):
    one = begin("runCommand", "command=echo $$ > pid; exec yes")
    assert one.stdout.readline() == b"y\n"
    one.stdout.close()
    assert one.wait(30) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a disk that is always full")
def test_a_full_disk_ends_the_command_and_says_so(begin):
    with open("/dev/full", "wb") as full:
        one = begin("runCommand", "command=yes", stdout=full)
        assert b"cannot be written: No space left" in one.communicate()[1]
    assert one.returncode == 1


def test_the_code_of_a_command_that_failed_is_told(begin):
    one = begin("runCommand", "command=echo out; echo err >&2; exit 3", "--stream")
    out, err = one.communicate()
    assert (out, one.returncode) == (b"out\n", 5)
    assert err.startswith(b"err\n")
    assert b"exit code 3" in err


def test_an_interrupt_ends_a_command_whose_reader_is_slow(begin):
    one = begin("runCommand", "command=exec yes", start_new_session=True)
    assert one.stdout.read(10) == b"y\n" * 5  # and no more: the pipe is full soon
    os.killpg(one.pid, signal.SIGINT)
    assert one.wait(30) == 130


def test_as_json_every_piece_says_where_it_comes_from(begin):
    out, _ = begin("runCommand", "command=echo out; echo err >&2", "--stream", "--json").communicate()
    told = [json.loads(line) for line in out.splitlines()]
    pieces = [(event["stream"], event["data"]) for event in told if event["kind"] == "output"]
    assert sorted(pieces) == [("stderr", "err\n"), ("stdout", "out\n")]
    assert told[-1]["data"]["exit_code"] == 0


def test_a_reader_of_events_that_has_gone_ends_the_command(begin, tmp_path):
    """Otherwise it would go on until somebody makes the file that it waits for."""
    one = begin(
        "runCommand", "command=echo first; while [ ! -e stop ]; do sleep 0.1; echo more; done", "--json", "--stream"
    )
    assert json.loads(one.stdout.readline())["data"] == "first\n"
    one.stdout.close()
    assert one.wait(30) == 0
    assert one.stderr.read() == b""
