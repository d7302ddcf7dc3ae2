"""Rules as other hosts write them, ``Bash(rm:*)`` and ``Read(~/.ssh/**)``, and our tools for what theirs do."""

from __future__ import annotations

import re

from executor_permissions.store._advice import Advice

SHELLS = frozenset({"bash", "shell", "sh", "terminal", "run_shell_command", "execute_command"})
_OWN_SHELLS = frozenset({"runcommand", "cli_based_tool"})
# Their tools for files, and ours that do the same: a rule of theirs about "Edit" is one about all that changes a file.
_FILE_TOOLS = {
    "read": ("readFile",),
    "edit": ("editFile", "writeFile"),
    "multiedit": ("editFile", "writeFile"),
    "write": ("writeFile",),
    "glob": ("listFiles",),
    "grep": ("searchFiles",),
}
_FETCHING = frozenset({"webfetch", "fetch", "web_fetch"})
_CALL = re.compile(r"(\w+)\((.+)\)\Z")
_BETWEEN = re.compile(r"(?<=\))(?:\s*,\s*|\s+)(?=\w+\()")
_NAMED = re.compile(r"\w+=")
_NO_PATH = re.compile(r"[\[\]{}!?$'\"\\,:]|\A\s|\s\Z|\A\Z|(?:\A|/)\.\.(?:/|\Z)")


def about_their_call(text: str, *, allows: bool, is_tool: bool) -> Advice | None:
    """
    How to write *text*, if it is a rule of another host; the commands that it gives may be in another notation yet.

    Args:
        is_tool: Whether the tool that it names runs commands here.
    """
    several = _BETWEEN.split(text)
    if len(several) > 1 and all(_CALL.match(one) for one in several):
        each = [about_their_call(one, allows=allows, is_tool=is_tool) for one in several]
        rules = [rule for one in each if one is not None for rule in one.rules]
        is_whole = all(one is not None and one.rules for one in each)
        return Advice(f"{text!r} is one rule with several in it", tuple(rules) if is_whole else ())
    call = _CALL.match(text)
    if call is None or _NAMED.match(call[2]) or is_tool:
        return None
    tool = call[1].lower()
    if tool in SHELLS or tool in _OWN_SHELLS:
        command = call[2].removesuffix(":*")
        command = command if command == call[2] else f"{command} *"
        wrong = f"{text!r} is about a tool named {call[1]}"
        if not command.strip("* "):
            return Advice(f"{wrong}: all commands together are the tool 'runCommand'")
        return Advice(f"{wrong}: commands are written as they are", (command,))
    if tool in _FILE_TOOLS:
        wrong = f"{text!r} is about a tool named {call[1]}, and this very text in any argument"
        ours = _FILE_TOOLS[tool][:1] if allows else _FILE_TOOLS[tool]
        return Advice(wrong, tuple(f"{one}(path={path})" for path in _paths(call[2], allows=allows) for one in ours))
    if tool in _FETCHING:
        wrong = f"{text!r} is about a tool named {call[1]}, and this very text in any argument"
        return Advice(f"{wrong}: name the tool that fetches here, its argument, and what the address begins with")
    return None


def _paths(path: str, *, allows: bool) -> list[str]:
    """A path of theirs in our notation: what allows is about no more files, what forbids about no fewer."""
    if _NO_PATH.search(path):
        return []
    path = f"{path}**" if path.endswith("/") else path
    if path.startswith("~/"):
        return [path]
    if path.startswith("//"):
        return [path[1:]]
    if path.startswith("/"):  # of the disk, or of the project
        return [] if allows else [path, "${project}" + path]
    if path.startswith("./") or allows:
        return ["${project}/" + path.removeprefix("./")]
    return [path if path.startswith("**") else f"**/{path}"]
