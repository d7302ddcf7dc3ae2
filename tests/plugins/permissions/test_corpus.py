"""Every call of the corpus: no attack is allowed, every benign call that a rule covers is."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from executor_permissions.judge.rules._scene import CallInfo

CORPUS = Path(__file__).parent / "corpus"


def decoded(line):
    line = re.sub(r"<U\+([0-9A-F]+)>", lambda match: chr(int(match[1], 16)), line)
    return line.replace("⏎", "\n").replace("␉", "\t")


def commands(name):
    """(heading, command) of every line of a corpus file."""
    heading = None
    for line in (CORPUS / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            heading = line[3:].split()
        elif heading and line and (not line.startswith("# ") or "⏎" in line):
            yield heading, decoded(line)


def calls(name):
    return json.loads((CORPUS / "calls.json").read_text(encoding="utf-8"))[name]


ATTACKS = [(policy, expected, command) for (policy, expected), command in commands("attacks.txt")]
BENIGN = [(policy, command) for (policy,), command in commands("benign.txt")]


def filled(value, root):
    if isinstance(value, str):
        return value.replace("${PROJECT}", str(root))
    if isinstance(value, list):
        return [filled(item, root) for item in value]
    if isinstance(value, dict):
        return {key: filled(item, root) for key, item in value.items()}
    return value


def test_the_corpus_is_as_large_as_promised():
    assert len(ATTACKS) + len(calls("attacks")) >= 300
    assert len(BENIGN) + len(calls("benign")) >= 150


@pytest.mark.parametrize("policy", ["example", "dev", "open"])
def test_no_attack_is_allowed_and_blacklisted_ones_are_denied(policies, policy):
    wrong = []
    for name, expected, command in ATTACKS:
        if name == policy:
            decision = policies[policy].decide("cli_based_tool", {"command": command})
            if (
                decision.verdict == "allow"
                or decision.method == "error"
                or (expected == "deny") > (decision.verdict == "deny")
            ):
                wrong.append((command, decision.verdict, decision.reason))
    assert not wrong


@pytest.mark.parametrize("policy", ["example", "dev"])
def test_every_command_that_a_rule_plainly_covers_is_allowed(policies, policy):
    wrong = []
    for name, command in BENIGN:
        if name == policy:
            decision = policies[policy].decide("cli_based_tool", {"command": command})
            if decision.verdict != "allow":
                wrong.append((command, decision.verdict, decision.reason))
    assert not wrong


def test_calls_of_other_tools_are_judged_as_the_corpus_says(policies, project):
    wrong = []
    for kind in ("attacks", "benign"):
        for case in calls(kind):
            decision = policies[case["policy"]].decide(
                case["tool"], filled(case["args"], project[0]), CallInfo(kinds=case.get("kinds"))
            )
            expected = case.get("expect", "allow" if kind == "benign" else None)
            fits = decision.verdict == expected if expected else decision.verdict != "allow"
            if not fits or decision.method == "error":
                wrong.append((case, decision.verdict, decision.reason))
    assert not wrong


def test_a_command_is_judged_alike_whatever_stands_around_it_in_the_arguments(policies):
    for name, expected, command in ATTACKS[::7]:
        one = policies[name].decide("runCommand", {"command": command, "timeout": 5})
        other = policies[name].decide("runCommand", {"timeout": 5, "command": command})
        assert (one.verdict, one.rule) == (other.verdict, other.rule), (expected, command)
        assert one.verdict != "allow" or name == "example"


JOINTS = [" ; ", " && ", " || ", " | ", "\n", " & ", "&&", "|", ";", " |& "]


def complete(command):
    """Whether a command ends where it ends: nothing that comes behind it is part of it."""
    return not re.search(r"<<|#|\\$|[|&;(]\s*$|['\"`]|\$\(|\bfor\b|\bif\b|\bcase\b|^&|^\|", command)


@pytest.mark.parametrize("joint", JOINTS)
def test_adding_a_complete_command_never_allows_what_was_not(policies, joint):
    additions = {"example": ["git status", "ls -la"], "dev": ["echo hi", "pwd"], "open": ["ls", "echo hi"]}
    wrong = []
    for name, _expected, command in ATTACKS:
        for addition in additions[name]:
            texts = [command + joint + addition, addition + joint + command]
            if joint.strip() in ("|", "|&") and command.startswith("cd "):
                del texts[1]  # what is piped to runs in a shell of its own: cd leads nowhere
            for text in texts:
                if complete(command) and policies[name].decide("cli_based_tool", {"command": text}).verdict == "allow":
                    wrong.append((name, text))
    assert not wrong


@pytest.mark.parametrize("block", range(4))
def test_no_spelling_of_a_blacklisted_command_is_allowed(policies, speaker, block):
    """Quoting, blanks, option order, wrappers and nesting are varied at random around what is blacklisted."""
    wrong = []
    for seed in range(block * 300, block * 300 + 300):
        say = speaker(seed, ("git", "ls"))
        words = say.pick.choice(
            [["rm", "-rf", "/"], ["rm", "-r", "-f", "x"], ["rm", "-fr", "a b"], ["rm", "--recursive", "--force", "x"],
             ["rm", "x", "-rf"], ["sudo", "ls"], ["sudo", "-u", "root", "ls"], ["shutdown", "now"], ["/bin/rm", "-rf", "x"]]
        )  # fmt: skip
        wrapper = say.pick.choice(
            [[], [], [], ["env"], ["env", "A=1"], ["nohup"], ["timeout", "5"], ["nice", "-n", "3"], ["command"], ["exec"],
             ["xargs", "-n", "1"], ["stdbuf", "-oL"], ["setsid"], ["find", ".", "-exec"], ["time"], ["busybox"]]
        )  # fmt: skip
        ending = [";"] if wrapper[:1] == ["find"] else []
        spoken = say.simple([*wrapper, *words, *ending]) if wrapper != ["time"] else "time " + say.simple(words)
        if say.pick.random() < 0.4:
            spoken = f"{say.pick.choice(['sh', 'bash'])} -c {say.quoted(spoken)}"
        frame = say.pick.choice(
            ["{}", "ls; {}", "ls && {}", "ls | {}", "{} | ls", "( {} )", "{{ {}; }}", "! {}", "if {}; then ls; fi", "ls $({})",
             'ls "$({})"', "ls <({})", "for i in 1; do {}; done", "x=$({})", "f() {{ {}; }}; f", "ls\n{}", "{} &\nls",
             "case a in a) {};; esac", "while {}; do ls; done", "cat <<E\n$({})\nE"]
        )  # fmt: skip
        text = frame.format(spoken)
        for name in ("example", "open"):
            decision = policies[name].decide("cli_based_tool", {"command": text})
            if decision.verdict == "allow":
                wrong.append((name, text))
    assert not wrong


def test_the_number_of_parts_does_not_matter(policies):
    for count in (2, 51, 249):
        benign = " && ".join(["git status"] * count)
        assert policies["example"].decide("cli_based_tool", {"command": benign}).verdict == "allow", count
        attack = " && ".join([*["git status"] * count, "rm -rf /"])
        assert policies["example"].decide("cli_based_tool", {"command": attack}).verdict == "deny", count
        mixed = "; ".join(f"ls {i}" for i in range(count)) + "; evil"
        assert policies["example"].decide("cli_based_tool", {"command": mixed}).verdict == "ask", count


@pytest.mark.parametrize("block", range(4))
def test_no_program_runs_for_real_that_the_policy_would_not_have_let_run(policies, speaker, block):
    """Whatever is said with programs that no rule names is never allowed; with allowed ones only, often."""
    allowed = 0
    for seed in range(block * 200, block * 200 + 200):
        evil = speaker(seed, ("evil", "git")).command()
        named = "evil" in re.sub(r"['\"\\]|\\\n", "", re.sub(r"#.*", "", evil))
        decision = policies["example"].decide("cli_based_tool", {"command": evil})
        good = speaker(seed, ("ls", "cat")).command(2)
        allowed += policies["example"].decide("cli_based_tool", {"command": good}).verdict == "allow"
        assert decision.method != "error"
        if named and decision.verdict == "allow":
            assert "evil" not in [word for part in decision.parts for word in part.text.split()[:1]], evil
    assert allowed > 15
