"""
The relations: each function draws commands, and gives those for which one does not hold.

A line is at least as severe as each of its parts alone, but where a part legitimately depends on another:

* what stands in front may change the shell: its folder, its variables, its options, its positional parameters, what its
  words mean. Behind such a command (`CHANGES_THE_SHELL`) a part may mean less than alone: ``cd src && cat .env`` is
  about another file. Parts in front of it depend on nothing that stands behind, unless they run beside it, which only
  ever adds to what may be;
* a loop is behind itself: of what changes the shell it is not asked;
* ``{}`` alone is the place of a name for whoever hands one on, which nobody does to an inner script;
* a rule about a whole line, ``* < .env``, finds what a comment says at its end, and only there;
* ``|`` binds closer than ``;`` and ``&&``: parts that are lists are put into braces;
* what is not understood has no parts. Such a line is allowed no more than the part is, that is all that is asked.
"""

# ruff: noqa: E501 -- tables of forms: a line each
from __future__ import annotations

import json
import re
import shlex
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from executor_permissions import Policy
from executor_permissions.judge.bash import _shell
from executor_permissions.judge.rules._scene import CallInfo
from executor_permissions.store._load import load_effective
from tests.plugins.permissions.relations.draw import POLICIES, command

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from executor import Decision

CHANGES_THE_SHELL = re.compile(
    r"(?:^|[\s;&|({!'\"`\\])(?:cd|pushd|popd|set|shopt|export|read|readarray|mapfile|eval|source|\.|for|unset|declare|local"
    r"|typeset|readonly|printf|getopts|alias|unalias|exec|let|exit|return|select|coproc|function|while|until|trap|umask"
    r"|builtin|command|enable|shift|break|continue)(?:[\s;&|)}'\"`]|$)|(?:^|[\s;&|({!])\w+\+?=|\(\)|:?=|(?:^|[\s;&|({!])\S*[$`*?\[]\S*"
)
JOINED = ["%s; %s", "%s && %s", "%s || %s", "%s | %s", "%s & %s", "%s\n%s", "{ %s\n} | { %s\n}", "( %s\n); { %s\n}"]
AROUND = [
    "{ %s\n}", "( %s\n)", "( ( { %s\n} ) )", "if true; then %s\nfi", "if %s\nthen true; fi", "for i in 1; do %s\ndone", "while true; do %s\nbreak; done",
    "until false; do %s\ndone", "case x in x) %s\n;; esac", "true && { %s\n}", "{ %s\n} > /dev/null", "{ %s\n} 2>&1", "%s\n:", "true; %s", "  %s", "\n%s\n\n",
]  # fmt: skip
OF_ONE = [  # what stands in front of one command
    "! %s", "time %s", "timeout 5 %s", "env %s", "nohup %s", "nice %s", "stdbuf -oL %s", "setsid %s", "command %s", "LANG=C %s", "%s &", "%s # x",
    "%s 2>/dev/null", "%s  ", "%s < /dev/null", "%s | cat",
]  # fmt: skip
QUOTED = ["bash -c %s", "sh -ec %s", "eval %s", "timeout 5 bash -c %s"]
# They are of the shell alone: another program of that name, or none, would run, and change nothing here.
_OF_THE_SHELL = re.compile(
    r"\s*(?:cd|pushd|popd|export|read|source|\.|alias|set|unset|eval|builtin|command|exec|time|\\)\b|\s*[\\.]"
)
_NOT_ONE = re.compile(r"[;&|(){}<>!\n#`]|^\s*(?:if|for|while|case|until)\b|^\s*\w+\+?=|<<|\\$")
_COMMENT = re.compile(r"#")  # rules about a whole line find what a comment says where it ends the line
_OPEN_END = re.compile(r"\n|#|<<|\\$|[&;|]\s*$")
RULES = [
    "cat *", "git *", "*.env*", "rm *", "find *", "ls src*", "* > out/*", "*a*", "cat * < a", "sort *", "make *", "npm *", "cat src/*", "cd *", "ls *|cat *",
    "runCommand(command=cat *)", "grep x *", "git log", "echo *", "* < *", "xargs *", "bash *", "*", "timeout *", "sed *", "python *", "env *", "sudo *", "tar *",
]  # fmt: skip
FILES = ["a", "src/", "**/*.py", "out/", ".env", "*.txt", "${project}/", "/etc/", "**/.git/**", "src/a.*", "~/"]


def severity(decision: Decision) -> int:
    """Deny before what a deny rule may be about, that before what a rule asks about, before other questions."""
    if decision.verdict == "ask":
        return 3 if decision.maybe_denied else 2 if decision.method == "ask_rule" else 1
    return 4 if decision.verdict == "deny" else 0


def is_one(text: str) -> bool:
    """Whether it is one command that other programs may run."""
    return not _NOT_ONE.search(text) and not _OF_THE_SHELL.match(text)


def judged(policy: Policy, text: str) -> Decision:
    return policy.decide("runCommand", {"command": text})


def is_understood(text: str) -> bool:
    return not _shell.understood(text).opaque


def lines(pick: random.Random, made: Mapping[str, Policy], count: int) -> Iterator[object]:
    """Lines that are milder than a part of them."""
    for _ in range(count):
        one, other = command(pick), command(pick)
        name, form = pick.choice(sorted(made)), pick.choice(JOINED)
        if _OPEN_END.search(one):
            form = "%s\n%s"
        elif form == "%s | %s" and re.search("[;&|]", one + other):
            form = "{ %s\n} | { %s\n}"
        line = form % (one, other)
        if _COMMENT.search(one + other):
            continue
        whole = judged(made[name], line)
        understood = is_understood(one) and is_understood(other) and is_understood(line)
        for part in (one, other) if understood or not is_understood(line) else ():
            alone = judged(made[name], part)
            if part == other and severity(whole) < severity(alone) and CHANGES_THE_SHELL.search(one):
                continue
            if severity(whole) < severity(alone) and (understood or whole.verdict == "allow"):
                yield name, line, part, alone.verdict, alone.reason, whole.verdict, whole.reason


def wrapped(pick: random.Random, made: Mapping[str, Policy], count: int) -> Iterator[object]:
    """Forms of a command that are milder than it."""
    for _ in range(count):
        text, name = command(pick), pick.choice(sorted(made))
        policy = made[name]
        # More broadly is read, by itself: a comment, by rules for texts; a folder of the name ~, behind recursive options.
        if not is_understood(text) or "#" in text or "'~" in text:
            continue
        alone = judged(policy, text)
        changes = CHANGES_THE_SHELL.search(text)
        forms = [form % text for form in pick.sample(AROUND, 3) if not (changes and form.endswith("done"))]
        if not _NOT_ONE.search(text):
            forms.append(pick.choice(OF_ONE[10:]) % text)
            if not _OF_THE_SHELL.match(text):
                forms.append(pick.choice(OF_ONE[:10]) % text)
        if "{}" not in text:
            forms.append(pick.choice(QUOTED) % shlex.quote(text))
        for form in forms:
            found = judged(policy, form)
            if severity(found) < severity(alone):
                yield name, form, alone.verdict, alone.reason, found.verdict, found.reason
        call = {"tool_name": "runCommand", "arguments": {"command": text}}
        carried = policy.decide("startBackgroundTask", call)
        if severity(carried) < severity(alone):
            yield name, "startBackgroundTask", text, alone.reason, carried.verdict, carried.reason


def whole_of(policy: Policy, text: str) -> object:
    """All that is said of a command, and the box that it gets."""
    found = judged(policy, text)
    choice = policy.boxes.choose(found.parts, {})
    return found.verdict, found.reason, found.method, found.rule, found.maybe_denied, found.parts, choice


def remembered(
    pick: random.Random, old: Mapping[str, Policy], new: Mapping[str, Policy], texts: list[str]
) -> Iterator[object]:
    """Commands of which a policy that has judged others says another thing than one that has not."""
    for name in old:
        for text in pick.sample(texts, len(texts)):
            before, fresh = whole_of(old[name], text), whole_of(new[name], text)
            if before != fresh:
                yield name, text, before, fresh


def ruled(pick: random.Random, root: Path, home: Path, rounds: int) -> Iterator[object]:
    """Commands that a further rule to deny or to ask makes milder, or one to allow, or a wider one, stricter."""
    for _ in range(rounds):
        name = pick.choice(sorted(POLICIES))
        rules: dict[str, Any] = deepcopy(dict(POLICIES[name]))
        key = pick.choice(["blacklist", "ask", "whitelist"])
        section = rules.setdefault(key, {})
        kind = pick.choice(["pattern", "pattern", "file", "tool", "wider"])
        text: object
        if kind == "file":
            text = pick.choice(["readFile", "writeFile"]), pick.choice(FILES)
            section.setdefault("arguments", {}).setdefault(text[0], {}).setdefault("path", []).append(text[1])
        elif kind == "wider" and key == "whitelist" and section.get("patterns"):
            at = pick.randrange(len(section["patterns"]))
            text = section["patterns"][at]
            section["patterns"][at] = " ".join(text.removesuffix(" *").split()[: pick.choice((1, 2))]) + " *"
        elif kind == "tool" and key == "whitelist":
            text = "runCommand"
            section["tools"] = [*section.get("tools", ()), text]
        else:
            text = pick.choice(RULES)
            section.setdefault("patterns", []).append(text)
        before = Policy.from_dict(POLICIES[name], project_root=root, home=home)
        after = Policy.from_dict(rules, project_root=root, home=home)
        for line in (command(pick) for _ in range(40)):
            one, other = judged(before, line), judged(after, line)
            milder, stricter = severity(other) < severity(one), severity(other) > severity(one)
            if stricter if key == "whitelist" else milder:
                yield name, key, text, line, one.verdict, one.reason, other.verdict, other.reason


_NAMES = ("read", "project", "network", "open")


def boxed(pick: random.Random, made: Mapping[str, Policy], count: int) -> Iterator[object]:
    """Lines whose box is narrower than that of a part, or has more credentials, or more to write, than theirs."""
    for _ in range(count):
        one, other = command(pick), command(pick)
        if _OPEN_END.search(one) or CHANGES_THE_SHELL.search(one) or not (is_understood(one) and is_understood(other)):
            continue
        name = pick.choice(sorted(made))
        line, *choices = (
            made[name].boxes.choose(judged(made[name], text).parts, {})
            for text in (pick.choice(["%s; %s", "%s\n%s", "%s && %s"]) % (one, other), one, other)
        )
        whole, parts = line.profile, [choice.profile for choice in choices]
        if line.mixed:  # what is open in it has the box of the others, or a person looks
            parts = [box for box in parts if box is not None]
        names = [_NAMES.index("open" if box is None else box.name) for box in (whole, *parts)]
        denied = any(judged(made[name], text).verdict == "deny" for text in (one, other))
        if not denied and names[0] < max(names[1:]):
            yield name, one, other, whole, parts
        if whole is None:
            continue
        for field in ("credentials", "writable"):
            more = set(getattr(whole, field)).difference(*(getattr(box, field) for box in parts if box is not None))
            if more:
                yield name, one, other, field, more


def by_words(pick: random.Random, made: Mapping[str, Policy], count: int) -> Iterator[object]:
    """Lists of words that are judged otherwise than the line that a shell reads them out of."""
    for _ in range(count):
        try:
            words = shlex.split(command(pick))
        except ValueError:
            continue
        line = shlex.join(words)
        if not words or not words[0] or "=" in words[0] or _OF_THE_SHELL.match(line) or not is_understood(line):
            continue
        name = pick.choice(sorted(made))
        by_line = judged(made[name], line)
        by_list = made[name].decide("runCommand", {"argv": words}, argument_kinds={"command": "shell", "argv": "argv"})
        # Whether a word is one of the policy's own files is asked of a list as of any argument, more broadly.
        milder = severity(by_list) < severity(by_line)
        if milder or (severity(by_list) > severity(by_line) and "toolexec" not in line):
            yield name, line, by_line.verdict, by_line.reason, by_list.verdict, by_list.reason


def elsewhere(pick: random.Random, root: Path, home: Path, rounds: int) -> Iterator[object]:
    """Commands that are judged otherwise where a folder is entered by ``cwd``, by ``cd``, or by the program itself."""
    for _ in range(rounds):
        name, folder = pick.choice(sorted(POLICIES)), pick.choice(["src", "docs", "secrets", "src/gen", "out", "."])
        policy = Policy.from_dict(POLICIES[name], project_root=root, home=home)
        for text in (command(pick) for _ in range(40)):
            if not is_understood(text) or "#" in text:
                continue
            given = {"command": text, "cwd": folder}
            by_cwd, by_path = (
                policy.decide("runCommand", {**given, "cwd": each}) for each in (folder, str(root / folder))
            )
            started = policy.decide("runCommand", {"command": text}, CallInfo(str(root / folder)))
            by_cd = judged(policy, f"cd {folder} && {{ {text}\n}}")
            if severity(by_cwd) != severity(by_path):
                yield name, "absolute", folder, text, by_cwd.reason, by_path.reason
            # The one is in the folder's name; the other is not said of the folder in which a person has started the host.
            own = "*secret*" in by_cwd.reason or "a repository of its own" in by_cwd.reason
            if severity(by_cwd) != severity(started) and not own:
                yield name, "started", folder, text, by_cwd.verdict, by_cwd.reason, started.verdict, started.reason
            if severity(by_cd) < severity(by_cwd) and "cd -" not in text:  # which leads back to where that came from
                yield name, "cd", folder, text, by_cwd.verdict, by_cwd.reason, by_cd.verdict, by_cd.reason


def narrowed(pick: random.Random, root: Path, home: Path, rounds: int) -> Iterator[object]:
    """Commands that a project's own file, whatever it says, makes milder while nobody has trusted it."""
    user = home / "permissions.json"
    for _ in range(rounds):
        one, other = (deepcopy(dict(POLICIES[pick.choice(sorted(POLICIES))])) for _ in range(2))
        section: dict[str, Any] = other.setdefault(pick.choice(["blacklist", "ask", "whitelist"]), {})
        section.setdefault("patterns", []).append(pick.choice(RULES))
        section.setdefault("arguments", {}).setdefault("readFile", {}).setdefault("path", []).append(pick.choice(FILES))
        user.write_text(json.dumps(one))
        own = root / ".toolexec/permissions.json"
        own.unlink(missing_ok=True)
        plain = load_effective(user, root, home=home)
        own.write_text(json.dumps(other))
        both = load_effective(user, root, home=home)
        for line in (command(pick) for _ in range(40)):
            before, after = judged(plain, line), judged(both, line)
            if severity(after) < severity(before):
                yield one, other, line, before.verdict, before.reason, after.verdict, after.reason
