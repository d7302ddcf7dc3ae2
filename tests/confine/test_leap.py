"""Processes that a row of system calls makes: the machine code is what it says, and a fork without it does the same."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from executor.confine import _leap
from tests.confine.conftest import PYTHON

ROOT = Path(__file__).parents[2]
ASSEMBLERS = {"x86_64": "x86_64-linux-gnu-as", "aarch64": "aarch64-linux-gnu-as"}
LISTED = re.compile(r'^ {8}"([0-9a-f]+)"  # (.*)$', re.M)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_machine_code_is_what_stands_beside_it(tmp_path, machine):
    assembler = shutil.which(ASSEMBLERS[machine]) or (shutil.which("as") if machine == os.uname().machine else None)
    if assembler is None:
        pytest.skip(f"no {ASSEMBLERS[machine]}")
    _, _, text = Path(_leap.__file__).read_text().partition(f'"{machine}": (')
    told = LISTED.findall(text.partition("\n    ),")[0])
    options = ["-march=armv8.5-a"] if machine == "aarch64" else []
    lines = "".join(f"{line}\n" for _, line in told)
    (tmp_path / "code.s").write_text(f'.section .code, "ax"\n{lines}')
    subprocess.run([assembler, *options, "-o", tmp_path / "code.o", tmp_path / "code.s"], check=True)
    dumped = subprocess.run(
        ["objdump", "-s", "-j", ".code", tmp_path / "code.o"], capture_output=True, text=True, check=True
    )
    words = [word for line in dumped.stdout.splitlines()[4:] for word in line[1:41].split()[1:]]
    assert "".join(words) == "".join(code for code, _ in told) == _leap._CODE[machine]


SAYS = f"""
    import ctypes, os, sys
    sys.path.insert(0, {str(ROOT)!r})
    from executor.confine import _leap
    if sys.argv[1] == "fork":
        _leap._runnable = lambda code: 0
    leap = _leap.Leap()
    assert bool(leap._code) == (sys.argv[1] == "borrow")
    kept = [ctypes.create_string_buffer(os.fsencode(text)) for text in sys.argv[2:]]
    words = (ctypes.c_void_p * 4)(*map(ctypes.addressof, kept[-3:]), 0)
    none = (ctypes.c_void_p * 1)(0)

    def started(*rows):
        for at, (step, name, *arguments) in enumerate(rows):
            (leap.then if at else leap.first)(step, name, *arguments)
        for path in kept[:-3]:
            leap.then("command", "execve", *map(ctypes.addressof, (path, words, none)), or_else=True)
        return leap.start()[1:]

    print(started(("group", "setpgid")), flush=True)
    print(started(("folder", "fchdir", 99), ("group", "setpgid")), flush=True)
    kept[:-3] = kept[:1]
    print(started(("group", "setpgid")), flush=True)
    kept[:-3] = [ctypes.create_string_buffer(b"/etc"), *kept[:1], ctypes.create_string_buffer(b"/no/such/either")]
    print(started(("group", "setpgid")), flush=True)
    kept[:-3] = kept[:1] * 2000
    try:
        started(("group", "setpgid"))
    except OSError as error:
        print(error.strerror)
"""


@pytest.mark.parametrize("way", ["borrow", "fork"])
def test_a_row_ends_with_a_program_or_says_which_step_failed(landlock, way):
    told = ["/no/such", "/bin/echo", "echo", "a", "b"]
    command = [PYTHON, "-I", "-c", textwrap.dedent(SAYS), way, *told]
    done = subprocess.run(["sh", "-c", '"$@"; wait', "sh", *command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    lines = sorted(done.stdout.splitlines())
    assert lines == sorted(
        [
            "a b",
            "('', 0)",
            "('folder', 9)",
            "('command', 2)",
            "('command', 13)",  # what says most, not what was tried last
            "Argument list too long",
        ]
    )


WITHOUT = f"""
    import os, subprocess, sys
    sys.path.insert(0, {str(ROOT)!r})
    from executor.confine import Profile, start
    from executor.confine._start import _slots
    streams = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    def run(*command):
        boxed = start(Profile("read", "/"), list(command), cwd="/", **streams)
        said = boxed.process.communicate()
        boxed.close()
        return boxed.box.mechanism, boxed.process.returncode, said
    print(run("echo", "on"))
    maps = open(f"/proc/{{_slots._kept[0]._keeper._pid}}/maps").read()
    print("memfd:executor" in maps)
    print(run("touch", "/etc/evil")[1])
    try:
        run("no-such-program")
    except FileNotFoundError as error:
        print(error.filename)
    print(run("sh", "-c", "kill -9 $$")[1])
"""


@pytest.mark.parametrize("refused", ["", "memory"])
def test_a_machine_that_runs_no_memory_has_boxes_all_the_same(landlock, refused):
    refuse = Path(__file__).with_name("refuse.py")
    command = [sys.executable, refuse, str(ROOT), refused, sys.executable, "-c", textwrap.dedent(WITHOUT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "('landlock', 0, (b'on\\n', b''))",
        str(not refused),
        "1",
        "no-such-program",
        "-9",
    ], done.stderr
