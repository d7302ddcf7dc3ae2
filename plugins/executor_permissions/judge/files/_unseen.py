"""Words that only the running shell knows, as in ``cat "$f"``: which files they may be, and what they are given to."""

# ruff: noqa: PTH118, SIM905 -- texts, not files; lines of words
from __future__ import annotations

import os
import re
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Literal

from executor_permissions.judge.bash._expand import ANYWHERE
from executor_permissions.judge.bash._words import DEFINITE, HANDED, KNOWN, REST, Glob, PublicWords, Suffix, program_of
from executor_permissions.judge.files._findings import Finding
from executor_permissions.judge.options import takes_files_by_option, walk
from executor_permissions.judge.options._programs import INTERPRETERS
from executor_permissions.judge.paths._globbed import WILDCARD
from executor_permissions.judge.paths._globs import Wildcard
from executor_permissions.judge.paths._overlap import may_meet, name_may_meet
from executor_permissions.judge.paths._paths import LONGEST_PATH, UnclearPathError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor_permissions.judge.bash._expand import Folders
    from executor_permissions.judge.options._walk import Walk
    from executor_permissions.judge.paths._links import Links
    from executor_permissions.judge.rules._file_rules import FileRules, Found

_WORKED_OUT = re.compile(r"\$\([^()]*\)|`[^`]*`|\$\{[^{}]*\}|\$\w+|\$[^\w({]|\{(?:[^{}.,]|\.(?!\.))*+[.,][^{}]*+\}")
_MARK = "\0"  # in no word of a command
_DEEPEST_BRACES = 6
_MOST_ENTRIES = 2000  # of kept folders
_STARTS_ANYHOW = frozenset("*?[")
_OF_A_TEXT = re.compile(r"[\s=:]")  # "fix $x", VERSION=$v, image:$tag; what is behind a sign is looked at by itself
_READ_AND_WRITTEN: tuple[Literal["read"], Literal["write"]] = ("read", "write")
# They tell of files what they are, and not what is in them.
_TELLING = frozenset("ls stat wc du df file tree realpath readlink cksum md5sum sha1sum sha256sum sha512sum".split())
# With such an option they take the names of files from their input, or from a list.
_NAMED_BY_INPUT = {
    **dict.fromkeys(("7z", "7za", "7zr", "7zz"), re.compile(r"-i.*@|@")),
    **dict.fromkeys(("xz", "unxz", "xzcat", "lzma", "unlzma"), re.compile(r"--files")),
    **dict.fromkeys(("tar", "gtar", "bsdtar", "rsync", "sort"), re.compile(r"--files")),  # cut short, too
    "ack": re.compile(r"-[a-zA-Z]*x|--files-from"),
    "cpio": re.compile(r"-[^-]*[op]|--(?:cr|pa)"),
    "gpg": re.compile(r"--multifile"),
    "pax": re.compile(r"-[^-]*w"),
    "zip": re.compile(r"-[^-]*@|--names-stdin"),
}


# Where in a word they take the name of a file: "-d @x", "-F a=@x", "if=x".
_ANNOUNCED = {
    **dict.fromkeys("curl gh glab".split(), re.compile(r"(?:-[A-Za-z]|[^\0]*[=;,])?[\"']?[@<](.*\0.*)", re.DOTALL)),
    **dict.fromkeys("http https xh xhs".split(), re.compile(r"[^\0]*@(.*\0.*)", re.DOTALL)),
    "dd": re.compile(r"[\"']?if=(.*\0.*)", re.DOTALL),
}


def given_unseen(words: list[str]) -> Literal["read", "write"] | None:
    """What the program does with a file that may be any: shows it or takes it elsewhere; or, if not that, writes it."""
    program = program_of(words) or ""
    option = _NAMED_BY_INPUT.get(program)
    if option is not None and any(map(option.match, words)):
        return "read"
    if DEFINITE.issuperset(map(type, words)):
        found = walk(words) if program not in _TELLING else None
        return "read" if found is not None and REST in found.reads else None
    marked = [*map(_marked, words)]
    if program in _ANNOUNCED and any(map(partial(_announces, _ANNOUNCED[program]), marked)):
        return "read"
    found = walk(marked)  # as text, so that it is a value also where it might be an option
    known = (found is not None and found.grammar is not None) or type(words) is Suffix  # which may be no command
    if (not known or program in INTERPRETERS) and any(word == REST or HANDED in word for word in words):
        return "read"  # as where find gives it files
    if found is None or found.grammar is None:
        return None
    all_read = REST in words or REST in found.reads
    tells = program in _TELLING or found.grammar.entry.kind == "builder"
    if not tells and any(
        _is_open(word, all_read=all_read) for word in (_moved(found) if program == "mv" else found.reads)
    ):
        return "read"
    # Who is given lists to write is looked for by itself, too.
    return "write" if any(_is_open(word, all_read=False) for word in found.writes) else None


def _announces(form: re.Pattern[str], marked: str) -> bool:
    found = form.match(marked)
    return found is not None and not _fixed_name(found[1])


def _marked(word: str) -> str:
    return word if type(word) in DEFINITE or word in ("{}", REST) else _worked_out(word)


def _worked_out(text: str) -> str:
    """*text* with a mark in place of each part that the shell works out."""
    found = int("$" in text or "`" in text)  # of braces every name is written out
    while found:
        text, found = _WORKED_OUT.subn(_MARK, text)
    return text


def _moved(found: Walk) -> list[str]:
    """What ``mv`` is given to move: it writes that as well, and its target last, unless an option is not known."""
    return found.writes if found.guessed else found.writes[:-1]


def _is_open(word: str, *, all_read: bool) -> bool:
    """Whether *word* may become any name; what ``find`` puts in place of ``{}`` is looked for by itself."""
    return all_read if word in ("{}", REST) else _MARK in word and not _fixed_name(word)


def has_open_name(text: str) -> bool:
    """Whether the shell works out the whole name of the file that *text* is."""
    return not _fixed_name(_worked_out(text))


def _fixed_name(marked: str) -> str:
    """What is written out of the name of the file that *marked* is."""
    return marked.rpartition("/")[2].strip("\"'*" + _MARK)


def patterns_of(text: str) -> list[str]:
    """The names in a path of which the shell works out a part, with ``*`` for that part: of ``.{env,x}`` ``.*``."""
    return [name for name in _pattern(text).split("/") if "*" in name and name.strip("*")]


def _pattern(text: str) -> str:
    """*text* with a ``*`` for each part that the shell works out."""
    for _ in range(_DEEPEST_BRACES):
        text, found = _WORKED_OUT.subn("*", text)
        if not found:
            break
    return text.replace('"', "").replace("'", "")


def may_be_opened(
    text: str, folder: str, rules: FileRules, links: Links, home: str, *, writes: bool
) -> Iterator[Found]:
    """The rules about the file that a redirection to *text*, of which the shell works out a part, may open."""
    if has_open_name(text) or (writes and _pattern(text)[:1] == "*"):
        kept: Literal["read", "write"] = "write" if writes else "read"
        yield from (*there(rules, links, kept), *rules.globs(kept))
    else:
        yield from _may_be_named(text, folder, rules, links, home, writes=writes, deeper=True)


def may_be_given(text: str, folder: str, rules: FileRules, links: Links, home: str, *, writes: bool) -> Iterator[Found]:
    """The rules about the file that *text*, an operand, may be; not where nothing of its name is written out."""
    if len(text) > LONGEST_PATH or has_open_name(text) or _OF_A_TEXT.search(_pattern(text).rpartition("/")[2]):
        return
    yield from _may_be_named(text, folder, rules, links, home, writes=writes, deeper=False)


def _may_be_named(
    text: str, folder: str, rules: FileRules, links: Links, home: str, *, writes: bool, deeper: bool
) -> Iterator[Found]:
    """The same by what is written out of *text*; *deeper*: what is worked out may hold slashes."""
    pattern = _pattern(text)
    fixed, star, rest = (home + pattern[1:] if pattern[:2] == "~/" else pattern).partition("*")
    unknown = folder == ANYWHERE and fixed[:1] != "/"
    if unknown or (star and not fixed):
        yield from anywhere(pattern, rules, links)  # what is worked out may be any folder, or begin with one
    if unknown:
        return
    start, _, name = os.path.join(folder, fixed).rpartition("/")
    begin = f"{links.real(start or '/', folder or None).rstrip('/')}/{name}"
    whole = Wildcard((begin, *rest.split("*"))) if star else Wildcard((begin,))
    kinds = _READ_AND_WRITTEN[: 1 + writes]
    for one in rules.roots.values():
        if one.kept in kinds:
            above = one.path.startswith(begin) and one.rule.endswith("/") and (deeper or rest[:1] == "/")
            fits = above or begin.startswith(f"{one.path}/") or whole.fits(one.path)
            if fits and _is_there(one, links):
                yield one
    for one in chain.from_iterable(map(rules.globs, kinds)):
        if may_meet(f"{begin}{star}{rest}", one.path, dots=True):
            yield one


def there(rules: FileRules, links: Links, kept: Literal["read", "write"]) -> list[Found]:
    """The files and folders that are kept from *kept*; from reading those that are there."""
    return [one for one in rules.roots.values() if one.kept == kept and _is_there(one, links)]


def _names_below(rules: FileRules, links: Links) -> dict[str, Found] | None:
    """The names of what is kept from reading, and of all that is in it, each with one of these; None: too many."""
    found: dict[str, Found] = {}
    left = _MOST_ENTRIES
    for one in there(rules, links, "read"):
        found.setdefault(_name_in(one.path), one)
        waiting = [one.path]
        while waiting:
            for entry in links.entries(waiting.pop()):
                left -= 1
                if left < 0:
                    return None
                found.setdefault(_name_in(entry.path), one)
                if entry.is_folder:
                    waiting.append(entry.path)
    return found


def _name_in(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def anywhere(text: str, rules: FileRules, links: Links) -> Iterator[Found]:
    """
    What the relative path *text*, whose name may be a glob, may be where nobody knows where it begins.

    Raises:
        UnclearPathError: The folders that are kept hold more than is looked at.
    """
    if "names below" not in links.memory:
        links.memory["names below"] = _names_below(rules, links)
    below = links.memory["names below"]
    if below is None:
        raise UnclearPathError("folders that are kept hold more than is looked at")
    name = _name_in(os.path.normpath(text))  # "id/." is id
    if name in below:
        yield below[name]
    elif WILDCARD.search(name):
        yield from islice((one for each, one in below.items() if name_may_meet(name, each, dots=True)), 1)
    for one in rules.globs("read"):
        if name_may_meet(name, _name_in(one.path), dots=True):
            yield one


def _is_there(one: Found, links: Links) -> bool:
    return one.kept == "write" or links.exists(one.path)


def options_listed(words: list[str], folders: Folders, links: Links, *, changed: bool) -> Finding | None:
    """Whether the name of a file that is listed, or that a glob becomes, may be an option that names another."""
    if KNOWN.issuperset(map(type, words)) or not takes_files_by_option(words):
        return None
    for word in words:
        if word == "--":
            return None
        if type(word) is Glob and _becomes_option(word, folders, links):
            return Finding("maybe", f"{word} is an option, too, by the name of a file: write ./{word}")
        if type(word) is PublicWords and word.startswith("$(git ls-files"):
            if changed or ANYWHERE in folders:
                return Finding("ask", "a name that is listed may be an option: write -- in front")
            from executor_permissions.judge.files._tracked import lists_options

            for folder in folders:
                if lists_options(word, links.real(folder), links):
                    return Finding("maybe", "a name that is listed is an option: write -- in front")
    return None


def _becomes_option(word: str, folders: Folders, links: Links) -> bool:
    """Whether there is a file by whose name a glob becomes what looks like an option."""
    if word[0] not in _STARTS_ANYHOW:
        return False
    first = word.partition("/")[0]
    return any(
        name[0] == "-" and name_may_meet(first, name)
        for folder in folders - {ANYWHERE}
        for name in links.names_in(folder)
    )
