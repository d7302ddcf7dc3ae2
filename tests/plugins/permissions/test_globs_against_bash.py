"""What a glob becomes in a real bash is what the policy looks at: a file that is kept stays kept behind any pattern."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest

from executor_permissions import Policy

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash to compare with")

NAMES = (".env", "keys.pem", "a]b", "x-y")
KEPT = {
    "whitelist": {"patterns": ["cat *"]},
    "blacklist": {"arguments": {"readFile": {"path": [f"${{project}}/{name}" for name in NAMES]}}},
}
INSIDE = (
    *("[:alpha:]", "[:lower:]", "[:digit:]", "[:punct:]", "[:nosuch:]", "[=e=]", "[.e.]", "[.a.]-[.f.]", "[.-.]"),
    *("]", "-", "a-z", "A-Z", "e", "x", ".", "[", "\\]", "\\e", "!", "^", ":", "+--", "'e'", '"]"'),
)
OUTSIDE = ("*", "?", "e", "n", "v", ".", "k", "\\e", "'n'", "a", "]", "-", "x", "y", "b")


def spoken(pick):
    """A name with a bracket or two in it, most often one that comes near to a name that is kept."""
    name = list(pick.choice(NAMES))
    for _ in range(pick.randrange(1, 3)):
        bracket = f"[{pick.choice(['', '!', '^', ''])}{''.join(pick.choices(INSIDE, k=pick.randrange(1, 4)))}]"
        name[pick.randrange(len(name))] = bracket
    if pick.random() < 0.3:
        name[pick.randrange(len(name))] = pick.choice(OUTSIDE)
    return "".join(name)


def became(globs, folder):
    """What a bash makes of each of them, in one run; nothing of one that it cannot read."""
    lines = [f"printf '%s\\0' {glob} | tr '\\n' ' '; printf '\\n'" for glob in globs]
    done = subprocess.run(
        [BASH, "--norc", "-c", "\n".join(lines)], cwd=folder, capture_output=True, timeout=120, check=False
    )
    return [line.decode().split("\0")[:-1] for line in done.stdout.split(b"\n")[:-1]]


def test_no_glob_that_becomes_a_kept_file_is_allowed(tmp_path):
    root = tmp_path.resolve()
    for name in NAMES:
        (root / name).touch()
    policy = Policy.from_dict(KEPT, project_root=root, home=root / "home")
    pick = random.Random(20)
    globs = [spoken(pick) for _ in range(600)]
    words = became(globs, root)
    assert len(words) == len(globs)
    reaching = [glob for glob, found in zip(globs, words, strict=True) if set(found) & set(NAMES)]
    assert len(reaching) > 60
    allowed = [glob for glob in reaching if policy.decide("runCommand", {"command": f"cat {glob}"}).verdict == "allow"]
    assert allowed == []
    harmless = ("*.py", "[a-m]*.md", "src/[[:alpha:]]*.py", "?.txt", "[[:upper:]]*.c")
    asked = [glob for glob in harmless if policy.decide("runCommand", {"command": f"cat {glob}"}).verdict != "allow"]
    assert asked == []
