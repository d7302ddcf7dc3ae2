"""What bash really runs of lines drawn at random: where a rule to deny or to ask is about it, no line is allowed unasked."""

# ruff: noqa: E501 -- tables of fragments: a line each
from __future__ import annotations

import os
import random
import select
import shutil
import signal
import subprocess

import pytest

from executor_permissions import Policy
from executor_permissions.ask._suspensions import needs_person
from executor_permissions.judge.rules._scene import CallInfo

PROGRAMS = ("rm", "git", "curl", "sudo", "docker", "npm", "chmod")
REAL = (
    *(
        "bash",
        "sh",
        "env",
        "timeout",
        "nice",
        "nohup",
        "xargs",
        "find",
        "cat",
        "rev",
        "tr",
        "sed",
        "awk",
        "tee",
        "head",
    ),
    *("python3", "perl", "setsid", "stdbuf", "cp", "ln", "base64"),
)
RULES = ("rm *", "git push *", "curl *", "sudo *", "docker run *", "npm publish *", "chmod 777 *")
TARGETS = (
    *("rm a.txt", "rm -rf x", "git push", "git push origin main", "curl x.com", "sudo ls", "docker run -it x"),
    *("npm publish", "npm publish --tag x", "chmod 777 a.txt"),
)
SECONDS = 3.0
RECORDER = """#!{sh}
printf '%s\\0' "{name}" "$@" '/end/' >> '{record}'
"""


class Lines(random.Random):
    """Lines that mostly run one of the targets, in the spellings and the places that bash has for it."""

    WRAPPERS = (
        *("env {}", "env -i PATH=$PATH {}", "env A=1 {}", "nice -n 5 {}", "timeout 5 {}", "nohup {}", "command {}"),
        *("builtin command {}", "exec {}", "exec -a z {}", "setsid -w {}", "stdbuf -oL {}", "xargs {}", "xargs -n1 {}"),
        *("find src -maxdepth 0 -exec {} \\;", "env -S '{}'", "time -p {}", "eval {}", "A=1 {}", "> o {}", "{} 2>&1"),
        *("$zz {}", "`:` {}", "${{z[@]}} {}", "${{x-}} {}", "{} < /dev/null", "{} <<< x", "\\\n{}", "$@ {}"),
    )
    FRAMES = (
        *("({})", "{{ {}\n}}", "f() {{ {}\n}}; f", "function f {{ {}\n}}\nf", "if {}\nthen :; fi", "! {}", "time {}"),
        *("for i in 1; do {}\ndone", "for ((i=0;i<1;i++)); do {}\ndone", "while {}\ndo break; done", "true && {}"),
        *("until {}\ndo break; done", "case a in b) ;; *) {}\nesac", "select x in a; do {}\nbreak; done <<< 1"),
        *("false || {}", "echo x | {}", "{} &\nwait", "coproc {{ {}\n}}; wait", "echo $({}\n)", 'echo "$({}\n)"'),
        *(
            "x=$({}\n)",
            "cat <({}\n)",
            ": > >({}\n)",
            "cat <<E\n$({}\n)\nE",
            "echo $(( $({}\n) + 1 ))",
            "echo ${{z:-$({}\n)}}",
        ),
        *(
            "[[ -z $({}\n) ]]",
            "a[$({}\n)1]=2",
            "export A=$({}\n)",
            "echo {{a,$({}\n)}}",
            "# it's\n{}",
            ": <<'E'\n'\nE\n{}",
        ),
        *(
            "echo a#b; {}",
            "echo $'\\''; {}",
            "[ -d src ] && {}",
            "shopt -s expand_aliases\nalias zz='ls'\n{}",
            "set -x; {}",
        ),
    )
    SCRIPTS = (
        *("bash -c {}", "sh -ec {}", "bash <<< {}", "echo {} | sh", "echo {} > s; sh s", ". /dev/stdin <<< {}", "eval {}"),
        *("source <(echo {})", "trap {} EXIT", "x={}; eval \"$x\"", "x={}; bash -c \"$x\"", "x={}; $x", "bash <(echo {})"),
        *("bash -c 'echo '{}' > s; sh s'", "declare -l x; x={}; $x", "IFS=; x={}; eval $x", "set -- {}; $1", "x=({}); ${{x[0]}}"),
        *("read -r l <<< {}; $l", "printf -v x %s {}; $x", "mapfile -t a <<< {}; ${{a[0]}}", "f() {{ $1; }}; f {}"),
        *("while read -r l; do $l; done <<< {}", "echo {} | base64 | base64 -d | sh", "base64 <<< {} | base64 -d | bash"),
        *("xargs -I% sh -c % <<< {}", "env -S {}", "timeout 3 bash -c {}", "exec 3<<< {}; bash <&3", "tee s <<< {}; bash ./s"),
        *("PS4='$('{}')'; set -x; :", "x='a[$('{}')]'; echo $((x))", "x='$('{}')'; echo ${{x@P}}", "BASH_ENV=<(echo {}) bash -c :"),
        "for i in 1 2; do [ -f s ] && sh s; echo {} > s; done",
    )  # fmt: skip

    def word(self, word, before):
        form = self.random()
        if form < 0.5:
            return word
        inner = self.randrange(len(word) + 1)
        if form < 0.75:
            return self.choice((f"'{word}'", f'"{word}"', f"\\{word}", f"{word[:inner]}''{word[inner:]}", f"{word[:inner]}$zz{word[inner:]}"))  # fmt: skip
        if form < 0.85:
            letters = (self.choice((f"\\x{ord(letter):02x}", f"\\{ord(letter):03o}")) for letter in word)
            return f"$'{''.join(letters)}'"
        if form < 0.92:
            return self.choice((f"$(echo {word})", f"${{zz:-{word}}}", f"`rev <<< {word[::-1]}`", f"{{{word},}}"))
        name = self.choice(("v", "w_1"))
        made, used = self.choice(
            (
                *(
                    (f"{name}={word}", f"${name}"),
                    (f"{name}=X{word}", f"${{{name}#X}}"),
                    (f"{name}=(a {word})", f"${{{name}[1]}}"),
                ),
                *(
                    (f"{name}={word.upper()}", f"${{{name},,}}"),
                    (f"y={word}; {name}=y", f"${{!{name}}}"),
                    (f"set -- {word}", "$1"),
                ),
                *((f"read {name} <<< {word}", f"${name}"), (f"declare -n {name}=y; y=ls; {name}={word}", "$y")),
                *((f"declare -l {name}; {name}={word.upper()}", f"${name}"), (f"true {word}", "$_")),
                (f"for {name} in {word}; do :; done", f"${name}"),
            )
        )
        before.append(made)
        return used

    def line(self):
        before = []
        line = " ".join(self.word(word, before) for word in self.choice(TARGETS).split())
        for _ in range(self.choice((0, 0, 1, 1, 2))):
            line = self.choice(self.WRAPPERS).format(line)
        for _ in range(self.choice((0, 1, 1, 2))):
            quoted = "'" + line.replace("'", "'\\''") + "'"
            line = (
                self.choice(self.SCRIPTS).format(quoted)
                if self.random() < 0.5
                else self.choice(self.FRAMES).format(line)
            )
        return "; ".join([*before, line])


class Bash:
    """An empty folder, with recorders of the denied programs and the real ones that run others as its whole PATH."""

    def __init__(self, folder):
        self.work, self.bin, self.record = folder / "work", folder / "bin", folder / "record"
        self.bin.mkdir()
        for name in PROGRAMS:
            (self.bin / name).write_text(RECORDER.format(sh=shutil.which("sh"), name=name, record=self.record))
            (self.bin / name).chmod(0o755)
        for name in REAL:
            program = shutil.which(name)
            if program is not None:
                (self.bin / name).symlink_to(program)
        self.environment = {"PATH": str(self.bin), "HOME": str(folder), "LC_ALL": "C.UTF-8"}

    def runs(self, line):
        """The calls of recorders that *line* makes."""
        shutil.rmtree(self.work, ignore_errors=True)
        (self.work / "src").mkdir(parents=True)
        (self.work / "a.txt").write_text("one\n")
        self.record.write_bytes(b"")
        # Whoever is still at work holds the pipe: what runs in the background is waited for, and not taken for the next.
        reading, writing = os.pipe()
        with subprocess.Popen(
            [self.bin / "bash", "-c", line], cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(writing,), start_new_session=True,
        ) as process:  # fmt: skip
            os.close(writing)
            ended, _, _ = select.select([reading], [], [], SECONDS)
            os.close(reading)
            if not ended:
                os.killpg(process.pid, signal.SIGKILL)
        calls = self.record.read_text(errors="replace").split("/end/\0")[:-1]
        return [call.split("\0")[:-1] for call in calls]


def policies(rule, folder):
    """For each form that *rule* has: a policy that denies it, and one that asks about it, and allows all else."""
    forms = (
        {"patterns": [rule]},
        {"patterns": [f"runCommand(command={rule})"]},
        {"arguments": {"runCommand": {"command": [rule.removesuffix(" *")]}}},
    )
    for kind in ("blacklist", "ask"):
        for form in forms:
            rules = {"version": "1.1", "defaultPolicy": "allow", kind: form}
            yield kind, Policy.from_dict(rules, project_root=folder)


def judged(kind, policy, line, folder):
    decision = policy.decide("runCommand", {"command": line}, CallInfo(str(folder)))
    if kind == "blacklist" and decision.verdict == "ask" and not needs_person(decision, policy):
        return "asked, and answered by --yes"
    return decision.verdict


def check(folder, seed, count):
    bash, lines = Bash(folder), Lines(seed)
    every = {rule: list(policies(rule, bash.work)) for rule in RULES}
    wrong, ran = [], 0
    for _ in range(count):
        line = lines.line()
        calls = bash.runs(line)
        ran += bool(calls)
        for rule, ruled in every.items():
            begins = rule.split()[:-1]
            if not any(call[: len(begins)] == begins for call in calls):
                continue
            for kind, policy in ruled:
                verdict = judged(kind, policy, line, bash.work)
                wrong += [(line, rule, kind, verdict)] if verdict not in ("deny", "ask") else []
    assert wrong == []
    assert ran > count // 2


needs_bash = pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")


@needs_bash
def test_no_line_that_runs_what_a_rule_is_about_is_allowed(tmp_path):
    check(tmp_path, 1, 120)


@pytest.mark.long
@pytest.mark.timeout(7200)
@needs_bash
@pytest.mark.parametrize("seed", range(2, 6))
def test_no_line_that_runs_what_a_rule_is_about_is_allowed_in_the_long_run(tmp_path, seed):
    check(tmp_path, seed, 5_000)
