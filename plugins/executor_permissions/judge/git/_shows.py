"""What a command of git shows, as far as its words say: lines of files, of which files, or of which objects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import Glob

if TYPE_CHECKING:
    from collections.abc import Sequence

_PATCH = re.compile(
    r"-(?:(?![SGnlOCMBX])[A-Za-z]*[pucWmUL].*|-patch.*|-unified.*|-cc|-check|-word-diff.*|-color-words.*|-binary|-function-context"
    r"|-dd|-remerge-diff|-diff-merges.*)\Z"
)
_NO_PATCH = re.compile(
    r"-(?:[sq]|-no-patch|-quiet|-raw|-summary|-name-(?:only|status)|-(?:short|num|dir)?stat(?:=.*)?)\Z"
)
_ABOUT_OBJECTS = re.compile(r"-(?:[tse]|-batch-check.*)\Z")
# Where they print no patch of their own accord: what makes them show one, for somebody to choose from it or to see it.
# Patterns, of which hardly any is ever looked for.
_ADDING = r"-[A-Za-z]*[pie]|--(?:patc|int|e)"
_TAKING_BACK = r"-[^-bBs]*p|--patc"
_SHOWING = {
    "status": r"-[A-Za-z]*v|--verb",
    "commit": r"-[^-mFCctuS]*[pv]|--(?:patc|int|verb)",
    **dict.fromkeys(("add", "stage"), _ADDING),
    **dict.fromkeys(("reset", "restore", "checkout"), _TAKING_BACK),
    **dict.fromkeys(("am", "rebase"), "--show-cur"),
    "request-pull": r"-p\Z",
    **dict.fromkeys(("fast-export", "unpack-file"), ""),
}
_PATCHES = frozenset({"diff", "difftool", "show", "range-diff", "format-patch"})
_PATCHES_IF_TOLD = frozenset({"log", "whatchanged", "reflog", "stash", "diff-tree", "diff-index", "diff-files"})
_OTHERS = frozenset({"grep", "archive", "cat-file", "merge-tree"})
_TAKING_A_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path"})
_TYPES = frozenset({"blob", "tree", "commit", "tag"})
LEAVING_OUT = re.compile(r":(?:[!^]|\(exclude\))")  # pathspecs for what a command of git is not about
MAGIC = frozenset("*?[:")
_OBJECT = re.compile(r"[\w./~^-]+:([^:]+)\Z")
_HASH = re.compile(r"(?:.*-g)?([0-9a-fA-F]{4,64})(?:[~^@].*)?\Z")  # also as git describe says it
_OF_OBJECTS = frozenset({"show", "diff", "cat-file", "archive", "grep"})
_FLAG = re.compile(  # no word behind it is its value
    r"-(?:[pucWmsq]|-(?:patch|cc|no-patch|quiet|raw|summary|name-only|name-status|(?:short|num)?stat|word-diff|text"
    r"|color-words|binary|textconv|filters|no-color|color)|[a-z-]+=.*)\Z"
)
_OBJECTS_AND_PATHS = frozenset({"show", "diff", "grep", "diff-tree", "diff-index"})
# They give objects further names, or put what is in them under other names.
_NAMING = frozenset({"tag", "update-ref", "push", "fetch", "checkout", "restore", "reset"})
_MESSAGE = r"-[a-z]*[mFu]\Z|--(?:message|file|local-user|format|sort)\Z"
_SOURCE = r"(?:--so[a-z]*=|-[^-s]*s)(.+)"
_COPYING_A_NOTE = r"-[a-z]*[cC]|--re"
_HERE = re.compile(r"file:|[./~][^:]*\Z|(?!-)[^:]*/[^:]*\Z")  # a repository on this machine, or a folder for one
_SHORTEST_HASH = 4
_GREP_VALUE = r"-[aEFGhHiIlLnopPqrsvwWzc]*[ef]\Z"
_PATTERN = re.compile(r"-[A-Za-z]*[ef]|--(?:and|or|not)\Z")
NO_PATHS = frozenset(
    {"grep", "stash", "cat-file", "range-diff", "reflog", "merge-tree"}
)  # before "--" they name no files
_WRITING_THE_INDEX = frozenset({"add", "stage", "update-index", "read-tree", "reset", "restore", "apply", "am"})
STASHING_ALL = re.compile(r"-[a-z]*[au]|--all|--inc|--only|.*\^3")


def sub_command_at(words: list[str]) -> int:
    """The index of git's sub-command."""
    at = 1
    while at < len(words) and words[at][:1] == "-":
        at += 2 if words[at] in _TAKING_A_VALUE else 1
    return at


def shows_content(words: Sequence[str]) -> bool:
    """Whether a sub-command with these words prints lines of files that it is not given by name."""
    name = words[0] if words else ""
    if name in _SHOWING:
        return any(re.match(_SHOWING[name], word) for word in words[1:])
    if name == "bisect" and words[1:2] in (["view"], ["visualize"]):
        return any(map(_PATCH.match, words))  # what follows is told to git log
    if name not in _PATCHES and name not in _PATCHES_IF_TOLD and name not in _OTHERS:
        return False
    if len(words) == 1:
        return name in _PATCHES or name in ("grep", "archive")
    if name in _PATCHES or name in _PATCHES_IF_TOLD:
        if any(map(_PATCH.match, words)):
            return True
        if name != "stash" and any(word.startswith(("-G", "-S")) for word in words):
            return True  # which commits it shows tells what is in the files
        if name == "show" and any(":" in word or _HASH.match(word) for word in operands(words)):
            return True  # a file's content, whatever the options say about commits
        return name in _PATCHES and not any(map(_NO_PATCH.match, words))
    if name == "merge-tree":  # of three commits it shows what differs
        return "--trivial-merge" in words or len(operands(words)) > 2
    return name in ("archive", "grep") or (name == "cat-file" and not any(map(_ABOUT_OBJECTS.match, words)))


def shows_patches(words: Sequence[str]) -> bool:
    """Whether a sub-command with these words shows what differs between commits, or between them and the files."""
    return words[:1] != [] and words[0] in _PATCHES | _PATCHES_IF_TOLD and shows_content(words)


def operands(words: Sequence[str]) -> list[str]:
    return [word for word in words[1:] if word[:1] != "-"]


def paths_in_objects(words: Sequence[str]) -> list[str] | None:
    """The paths in ``HEAD:src/a.py``; None if a sub-command is, or may be, about anything else."""
    name = words[0] if words else ""
    if name not in _OF_OBJECTS or "--" in words or (name == "cat-file" and any(map(_ABOUT_OBJECTS.match, words))):
        return None
    at = [i for i in range(1, len(words)) if words[i][:1] != "-" and not (name == "cat-file" and words[i] in _TYPES)]
    if name == "grep" and not any(map(_PATTERN.match, words[1:])):
        at = at[1:]
    found: list[str] = []
    for i in at:
        named = _OBJECT.match(words[i]) if type(words[i]) is str else None
        before = words[i - 1]
        if named is None or (i > 1 and before[:1] == "-" and (name == "grep" or not _FLAG.match(before))):
            return None  # behind an option it may be its value
        found.append(named[1])
    return found or None


def writes_the_index(words: Sequence[str]) -> bool:
    if words[:1] == ["stash"]:
        return words[1:2] in (["pop"], ["apply"], ["branch"])
    return bool(words) and words[0] in _WRITING_THE_INDEX


def takes_along(words: Sequence[str]) -> bool:
    """Whether files that git does not track are put into a stash."""
    if words[:1] != ["stash"] or (len(words) > 1 and words[1][:1] != "-" and words[1] not in ("push", "save")):
        return False
    return any(map(STASHING_ALL.match, words[1:]))


def hands_on(words: Sequence[str]) -> bool:
    """Whether afterwards what is in a file may be found under another name."""
    match words:
        case ["worktree", "add", *options]:
            return "--no-checkout" not in options
        case ["notes", "add" | "append" | "edit", *options]:
            return any(re.match(_COPYING_A_NOTE, word) for word in options)
        case ["checkout-index" | "read-tree", *options]:
            return any(word.startswith(("--pre", "--te")) for word in options)
        case ["bundle", "create", *_] | ["pack-objects" | "diagnose", *_]:
            return True
        case ["clone", *given]:
            return any(_HERE.match(word) for word in given)
    return False


def objects_given_names(words: Sequence[str]) -> list[str] | None:
    """The objects that are given further names, as `objects_named` says."""
    if not words or words[0] not in _NAMING:
        return []
    found: list[str] = []
    rest = iter(words[1:])
    for word in rest:
        if word == "--":
            break
        if words[0] in ("tag", "update-ref") and re.match(_MESSAGE, word):
            next(rest, None)
        elif word[:1] != "-":
            found.append(word)
        elif words[0] == "restore" and (source := re.match(_SOURCE, word)):
            found.append(source[1])
    if words[0] in ("push", "fetch"):
        found = [word.lstrip("+").partition(":")[0] for word in found]
    if words[0] not in ("tag", "update-ref"):
        found = [word for word in found if type(word) is str]
    return _hashes(found)


def objects_named(words: Sequence[str]) -> list[str] | None:
    """
    The objects that a sub-command with these words names by their hashes: of a file its paths say nothing.

    Returns:
        None if it may name a file or a folder of a commit otherwise, or if its paths do not count.
    """
    end = words.index("--") if "--" in words else len(words)
    if any(word.startswith("--full-d") or word == "--stdin" for word in words[:end]):
        return None
    if words[0] not in _OBJECTS_AND_PATHS:
        return []
    return _hashes(_of_grep(words[:end]) if words[0] == "grep" else words[1:end])


def _hashes(words: Sequence[str]) -> list[str] | None:
    found: list[str] = []
    for word in words:
        if word[:1] == "-":
            continue
        if type(word) not in (str, Glob) and not word.startswith("$(git merge-base"):
            return None
        for name in word.lstrip("^").replace("...", "..").split(".."):
            if ":" in name and not name.startswith((":!", ":^", ":(", ":/")):
                return None
            named = _HASH.match(name)
            if named is not None:
                found.append(named[1].lower())
    return found


def _of_grep(words: Sequence[str]) -> list[str]:
    """The operands of ``git grep`` but for its pattern, and for numbers that its options are told."""
    found: list[str] = []
    patterns = False
    rest = iter(words[1:])
    for word in rest:
        if re.match(_GREP_VALUE, word):
            patterns = True
            next(rest, None)
        elif word[:1] != "-" and not (len(word) < _SHORTEST_HASH and word.isdecimal()):
            found.append(word)
    return found if patterns or any(map(_PATTERN.match, words[1:])) else found[1:]
