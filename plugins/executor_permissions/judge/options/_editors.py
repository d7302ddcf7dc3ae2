"""
Commands that do what their input says: editors, debuggers, and what has one or asks questions.

Whoever feeds them runs what he likes.
"""

# ruff: noqa: SIM905 -- lines of words
from __future__ import annotations

import re

from executor_permissions.judge.options import walk
from executor_permissions.judge.options._programs import PYTHON_FLAGS

EDITORS = frozenset("vi vim nvim view ex ed red emacs nano pico joe micro rvim vimdiff gvim".split())
_TRANSFERS = frozenset("sftp ftp lftp".split())  # their "!" runs the rest of a line
# They hand their input to a shell, or to what runs elsewhere: by a sub-command, or "start" with an option.
_ATTACHING = frozenset("docker podman nerdctl docker-compose kubectl oc lxc incus adb vagrant".split())
_ATTACHES = frozenset({"attach", "console", "shell", "ssh"})
_STARTS_ATTACHED = re.compile(r"-[a-z]*[ai]|--(?:a|in)")
# Debuggers; the others load the file that they are given, and go on with their input.
PROMPTS = frozenset("gdb cgdb lldb dlv jdb pdb pdb3 ipdb rdbg byebug R ghci iex erl jshell sbcl".split())
# Of interpreters that are given a script: what has them ask what to do with it. unittest calls what it is given the
# name of, and names lead to any function that a module has imported.
_OF_NODE = re.compile(r"inspect\Z|debug\Z|-i\Z|--int")
_OF_PYTHON = re.compile(rf"-[{PYTHON_FLAGS}]*i|(?:-[{PYTHON_FLAGS}]*m)?(?:pdb|ipdb|code|bdb|unittest)\Z")
_ASKING = {
    "node": _OF_NODE,
    "nodejs": _OF_NODE,
    "perl": re.compile(r"-[a-zA-Z]{0,2}d(?:[:t]|\Z)"),
    "pypy": _OF_PYTHON,
    "python": _OF_PYTHON,
    "ruby": re.compile(r"-rdebug"),
}
# git without a message has an editor, and so have these options, or they ask what to do with each part.
_MESSAGE = re.compile(r"-[aqvsonzfd]*[mFC]|--(?:message|file|reuse-message)(?:=|\Z)|--fixup=(?!amend:|reword:)")
_WITHOUT_MESSAGE = frozenset({"--no-edit", "--dry-run", "--short", "--porcelain", "--long"})
_ANNOTATES = re.compile(r"-[lifd]*[asu]|--(?:an|si|lo)")
_INTERACTIVE = re.compile(r"-[A-Za-z]*[ipe]|--(?:i|pa|ed|ree|co|to)")
_EDITING = frozenset(
    "add stage commit checkout switch restore reset stash rebase clean am merge revert cherry-pick pull notes branch "
    "config tag mergetool difftool replace bisect worktree send-email".split()
)


def takes_commands(words: list[str]) -> bool:
    """Whether a command does what its input says, be that to run something."""
    program, found = words[0].rpartition("/")[2], walk(words)
    named = 1 if found is None else found.named
    if program in _ATTACHING:
        first = words[1 : max(named, 4)]
        return not _ATTACHES.isdisjoint(first) or ("start" in first and any(map(_STARTS_ATTACHED.match, words)))
    if program != "git":
        asking = _ASKING.get(program.rstrip("0123456789."))
        if asking is None:
            return program in EDITORS or program in PROMPTS or program in _TRANSFERS
        return any(map(asking.match, _up_to_script(words)))
    sub = next((word for word in words[1:named] if word in _EDITING), None)
    if sub is None:
        return False
    given = words[named:]
    given = given[: given.index("--")] if "--" in given else given
    if any(_INTERACTIVE.match(word) and word not in _WITHOUT_MESSAGE for word in given):
        return True
    told = any(word in _WITHOUT_MESSAGE or _MESSAGE.match(word) for word in given)
    if sub == "tag":
        return not told and any(map(_ANNOTATES.match, given))
    return sub in ("commit", "notes") and not told


def _up_to_script(words: list[str]) -> list[str]:
    """The arguments of an interpreter up to its script, or module: what follows is for that."""
    for i in range(1, len(words)):
        if words[i][:1] != "-" and words[i - 1] not in ("-X", "-W", "-r"):
            return words[1 : i + 1]
    return words[1:]
