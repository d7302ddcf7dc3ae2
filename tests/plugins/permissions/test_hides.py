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
