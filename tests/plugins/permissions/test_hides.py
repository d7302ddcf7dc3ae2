"""Where no rule is about a command and the default allows: what names a forbidden program in code is asked about."""

from __future__ import annotations

import pytest

from executor_permissions import Policy

CODE = [
    """awk 'BEGIN{system("reboot")}'""",
    """awk 'BEGIN{\tsystem("reboot")}'""",
    """python3 -c 'import os;os.system("reboot")'""",
    """node -e 'require("child_process").execSync("reboot")'""",
    """node -e 'require("child_process").spawn("npm",["publish"])'""",
    """perl -e 'system("reboot")'""",
    "perl -e '`reboot`'",
    "ruby -e '`reboot`'",
    """lua -e 'os.execute("reboot")'""",
    "sed 's/.*/reboot/e' README.md",
    "vim '+!reboot' x",
    "gdb -batch -ex '!reboot'",
    "compgen -W '$(reboot)'",
]
IN_FRONT = [
    "",
    "env ",
    "timeout 5 ",
    "nohup ",
    "nice -n 5 ",
    "busybox ",
    "stdbuf -oL ",
    "command ",
    "env -i timeout 5 ",
]
WRITTEN = [
    "cat > x.py <<'E'\nimport os\nos.system('reboot')\nE\npython3 x.py",
    """echo 'require("child_process").execSync("reboot")' > x.js && node x.js""",
    """printf 'os.system("reboot")' | tee x.py; timeout 5 python3 x.py""",
    "echo reboot > x && timeout 5 sh x",
    "echo reboot > x && chmod +x x && nohup ./x",
]
QUIET = [
    "git commit -m 'fix(npm): x'",
    "echo 'npm publish' > notes.txt && npm test",
    "echo 'see npm' > notes.txt && prettier --check notes.txt",
    "echo x > notes.txt && python3 x.py",
    "rg 'npm (publish|test)'",
    """grep -rn "npm('x')" src""",
    "sed -n '/npm/p' README.md",
    "awk '/npm/{print}' README.md",
    "python3 scripts/npm.py",
    "mytool src/npm/x",
    "timeout 5 npm test",
    "mv 'a (npm).txt' b",
]


@pytest.fixture(scope="module")
def policy():
    value = {"defaultPolicy": "allow", "blacklist": {"patterns": ["reboot *", "npm publish"]}}
    return Policy.from_dict(value, project_root="/proj", home="/home/me")


def decided(policy, command):
    return policy.decide("runCommand", {"command": command})


@pytest.mark.parametrize("command", [front + code for code in CODE for front in IN_FRONT] + WRITTEN)
def test_a_forbidden_program_in_a_text_that_may_be_run_is_for_a_person(policy, command):
    decision = decided(policy, command)
    assert decision.verdict != "allow"
    assert decision.verdict == "deny" or decision.maybe_denied


@pytest.mark.parametrize("command", QUIET)
def test_a_forbidden_program_in_a_text_that_nothing_runs_is_not_asked_about(policy, command):
    assert decided(policy, command).verdict == "allow"


LISTS = {
    "pattern": {"patterns": ["reboot *"]},
    "call": {"patterns": ["runCommand(command=reboot *)"]},
    "argument": {"arguments": {"runCommand": {"command": ["reboot"]}}},
}
COMPUTED = ["`:` reboot", "$'\\x72eboot'", "{r,}eboot x", "x=$(echo reboot); $x", "read -r x <<< reboot; $x"]


def told(kind, which, command, **further):
    rules = Policy.from_dict(
        {"version": "1.1", kind: LISTS[which], "defaultPolicy": "allow", **further}, project_root="/proj"
    )
    return rules.decide("runCommand", {"command": command})


@pytest.mark.parametrize("which", LISTS)
@pytest.mark.parametrize("command", CODE + WRITTEN + COMPUTED + ["ed <<'E'\n!reboot\nE"])
def test_however_a_rule_is_written_code_that_names_its_program_is_asked_about(which, command):
    if "npm" in command:
        return
    assert told("ask", which, command).verdict == "ask"
    decision = told("blacklist", which, command)
    assert decision.verdict == "deny" or (decision.verdict == "ask" and decision.maybe_denied)


def test_what_an_ask_rule_may_be_about_is_answered_as_what_it_is_about():
    denies = {"blacklist": {"patterns": ["shutdown *"]}, "defaultPolicy": "ask"}
    assert not told("ask", "pattern", """python3 -c 'os.system("reboot")'""", **denies).maybe_denied


@pytest.mark.parametrize(
    "command",
    [
        "bash -c 'echo reboot > x; sh x'",
        "bash <<< 'printf \"reboot\\n\" > x; bash <(cat x)'",
        "trap 'cp /sbin/reboot x; ./x' EXIT",
        "for i in 1 2; do sh x; echo 'r''eboot' > x; done",
        "while sh x; do echo 'r''eboot' > x; done",
    ],
)
def test_what_an_inner_script_or_a_round_of_a_loop_has_written_is_not_run_unasked(policy, command):
    assert decided(policy, command).verdict == "ask"


@pytest.mark.parametrize("command", ["find . {}-exec r''eboot \\;", 'bash -c "{}r""eboot"', "bash -c '{}r\\eboot'"])
def test_what_runs_more_than_is_looked_at_is_for_a_person(policy, command):
    many = "-exec true \\; " * 150 if "find" in command else "true; " * 150
    decision = decided(policy, command.format(many))
    assert decision.verdict == "deny" or decision.maybe_denied


@pytest.mark.parametrize(
    "command",
    [
        "bash -c 'echo npm'",
        "bash -ec 'grep reboot README.md'",
        "trap 'echo reboot' EXIT",
        "xargs echo reboot",
        "find . -exec grep -l reboot {} +",
        "echo x > y; bash -c 'ls'",
        '[ "$x" = reboot ]',
    ],
)
def test_an_inner_script_is_read_and_not_searched_for_names(policy, command):
    assert decided(policy, command).verdict == "allow"


ALTERED = [
    "declare -l x; x=REBOOT; $x",
    "typeset -l x y; y=REBOOT; $y",
    "declare -n r=c; c=ls; r=reboot; $c",
    "declare -nx r=c; c=ls; r=reboot; $c",
    "declare +x -n r=c; c=ls; read r <<< reboot; $c",
    "command declare -l x; x=REBOOT; $x",
    "if true; then declare -l x; fi; x=REBOOT; $x",
    "declare -l x; for x in REBOOT; do $x; done",
    "declare -gl x; x=REBOOT; timeout 5 $x",
    "eval 'declare -l x'; x=REBOOT; $x",
]


@pytest.mark.parametrize("command", ALTERED)
def test_a_variable_that_alters_what_it_is_given_is_not_followed(policy, command):
    assert decided(policy, command).maybe_denied


def test_a_variable_that_only_is_exported_is_followed(policy):
    assert decided(policy, "export x=ls; x=cat; $x a").verdict == "allow"
    assert decided(policy, "(declare -l x); x=ls; $x a").verdict == "allow"
