"""What a box refused, told from what the command said: and which line of the policy would allow it."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import stat
from typing import TYPE_CHECKING, NamedTuple

from executor.confine._advice import SHELLS_OWN, advice
from executor.confine._closed import unwritable
from executor.confine._disk import Disk
from executor.confine._files import only_as_root
from executor.confine._mounted import is_in
from executor.confine._places import DEVICES, Places, secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor.confine._values import Box
    from executor.values._profile import Profile

# How a refusal shows: by Landlock, by mounts, by the filter; and how programs say it that do not quote the system.
_FILES = re.compile(
    r"permission denied|read-only file system|operation not permitted|device or resource busy|cross-device"
    r"|\b(?:EACCES|EROFS|EPERM|EBUSY|EXDEV)\b|errno (?:1|13|16|18|30)\b|could not lock"
    r"|unable to (?:create|write|open database)",
    re.IGNORECASE,
)
# Said without a box too, and so a refusal only of what surely was: of what stands where something is closed …
_IN_PLACE = re.compile(r"is a directory|\bEISDIR\b", re.IGNORECASE)
_ABSENT = re.compile(r"no such file or directory|\bENOENT\b", re.IGNORECASE)  # … and of what is hidden
_NETWORK = re.compile(
    r"(?:could ?n[o']t|failed to|unable to) resolve (?:the )?(?:host|proxy|address)|name or service not known"
    r"|temporary failure (?:in name resolution|resolving)|network is unreachable|failed to connect|connection refused"
    r"|\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH)\b"
    r"|no such host|dns error",
    re.IGNORECASE,
)
# Of what listens at a Unix socket: no box reaches it.
_SERVICES = re.compile(
    r"authentication agent|agent refused|permission denied \([^)]*publickey|docker daemon|docker\.sock"
    r"|failed to connect to (?:system |session )?bus|\.sock\b.{0,40}permission denied",
    re.IGNORECASE,
)
# What stands in quotes, those of coreutils included, and what is a path by its looks.
_PATHS = re.compile(
    r"""['"`\u2018\u201c]([^'"`\u2019\u201d\n]+)['"`\u2019\u201d]|(?:^|[\s:=(])((?:\.{0,2}/|~/)[^\s:'",)]+)""",
    re.MULTILINE,
)
# The file that a refusal is about, right in front of it or behind it.
_ABOUT = re.compile(
    r"""(?:^|[\s'"\u2018])((?:\.{0,2}/|~/)[^\s:'"\u2019]+)['"\u2019]?(?: for \w+)?"""
    r""": (?:cannot open: )?permission denied"""
    r"""|permission denied: '([^']+)'""",
    re.IGNORECASE,
)
_MOST_PATHS = 60
_MOST_PLACES = 60  # in what it said, at which a refusal shows …
_LONGEST_AROUND = 1_000  # … and characters before and behind it in its line, in which a path is looked for
_DEVICES = frozenset(f"/dev/{name}" for name in DEVICES)
_LONGEST = 16_384  # characters of what the command said, its end, that are looked at


class _Told(NamedTuple):
    """A command: what held it, as it was given, where, its words, and what it said that tells of a refusal."""

    held: Profile
    command: str | list[str]
    folder: str
    words: list[str]
    said: str


def refusal(profile: Profile, box: Box, command: str | list[str], folder: str, said: str) -> str | None:
    """
    Why *command* may have failed in *box*, in a sentence or two; None when nothing it said points to the box.

    Args:
        profile: What it may do.
        box: What held it to that.
        command: The shell line, or the program and its arguments.
        folder: Its working folder, maybe relative to this process's own.
        said: What it wrote, complaints first.
    """
    if box.mechanism == "none":
        return None
    said = said[-_LONGEST:]
    words = command if isinstance(command, list) else _words(command)
    told = _Told(profile, command, folder, words, _complaints(said))
    if _SERVICES.search(said):
        return f"The box {profile.name!r} reaches no service of this machine, and no agent. {_line(told, 'open')}"
    if _FILES.search(said):
        if _without_a_box(profile, folder, said):
            return None
        return _about_file(profile, told, folder, said) or _perhaps(profile, told)
    if (_IN_PLACE.search(said) or _ABSENT.search(said)) and (sure := _about_file(profile, told, folder, said)):
        return sure
    if profile.name != "network" and _NETWORK.search(said):
        return f"The box {profile.name!r} has no network. {_line(told, 'network')}"
    return None


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quote that is never closed
        return line.split()


def _about_file(profile: Profile, told: _Told, folder: str, said: str) -> str | None:
    """The file that was surely refused: this process may do it, and the box may not."""
    try:
        return _surely(profile, told, folder, said)
    except OSError:  # as many files are open as there may be: then that is not known
        return None


def _surely(profile: Profile, told: _Told, folder: str, said: str) -> str | None:
    places = Places.now()
    hidden = _hidden(profile, places)
    closed: list[str] | None = None  # looked for once, and only if it is needed: that is every folder of the project
    # The text names what failed; the words of the command are less sure.
    found = dict.fromkeys(
        (path, how) for how in (_FILES, _IN_PLACE, _ABSENT) for path in _named(told, said, how, places.home)
    )
    if _FILES.search(said):
        found |= dict.fromkeys((path, _FILES) for path in _named_by_words(told.words, folder, places.home))
    for path, how in found:
        if any(is_in(path, place) for place in hidden):
            if how is not _IN_PLACE and os.access(path, os.R_OK):
                return f"The box {profile.name!r} refused {path}: it is kept from being read. {_line(told, 'open')}"
        elif how is not _ABSENT and path not in profile.writable and path not in _DEVICES and _could_write(path):
            inside = is_in(path, profile.project)
            if inside and closed is None:
                closed = [os.path.realpath(place) for place in unwritable(profile)]
            kept = any(is_in(path, place) for place in closed or ())
            if how is _IN_PLACE and not (kept and _is_empty(path)):
                continue  # it is one
            if inside and not kept and profile.name != "read":
                if only_as_root(path if os.path.lexists(path) else os.path.dirname(path), stat.S_IWOTH):
                    return _as_owner(profile, path)
                continue  # it may write that
            enough = "project" if inside and not kept else "open"
            return f"The box {profile.name!r} refused to write {path}. {_line(told, enough, '' if inside else path)}"
    return None


def _hidden(profile: Profile, places: Places) -> list[str]:
    """What may not be read, without links: a hundred places in each home folder."""
    disk = Disk()
    return [disk.real(path) for path in secrets(profile, places, disk)]


def _as_owner(profile: Profile, path: str) -> str:
    return (
        f"In the box {profile.name!r} root may write what is root's own: {path} is not. "
        "Run toolexec as the user whose it is"
    )


def _perhaps(profile: Profile, told: _Told) -> str:
    if profile.name != "read" and only_as_root(profile.project, stat.S_IWOTH):
        return _as_owner(profile, profile.project)
    enough = "project" if profile.name == "read" else "open"
    return f"Perhaps the box {profile.name!r} refused it. {_line(told, enough)}"


def _line(told: _Told, enough: str, place: str = "") -> str:
    return advice(told.held, told.command, told.folder, told.said, enough, place)


def _complaints(said: str) -> str:
    """The lines that tell of a refusal."""
    lines = [line for line in said[-_LONGEST:].split("\n") if len(line) <= _LONGEST_AROUND]
    for patterns in (_SERVICES, _FILES, _IN_PLACE, _NETWORK), (_ABSENT,):
        if found := [line for line in lines if any(one.search(line) for one in patterns)]:
            return "\n".join(found)
    return ""


def _named(told: _Told, text: str, how: re.Pattern[str], home: str) -> Iterator[str]:
    """The paths in the lines that tell of a refusal in this way: ``PROGRAM: PATH: permission denied``, or in quotes."""
    found = 0
    given = {word.lstrip("<>&0123456789") for word in told.words}
    for match in itertools.islice(how.finditer(text), _MOST_PLACES):
        before = text[max(0, match.start() - _LONGEST_AROUND) : match.start()].rpartition("\n")[2]
        before = SHELLS_OWN.sub("", before, count=1)  # it is no file that was refused
        behind = text[match.end() : match.end() + _LONGEST_AROUND].partition("\n")[0]
        subject = before.rstrip(": ").rpartition(": ")[2]
        names = [subject] if subject and (subject in given or not set(subject) & set(" \t'\"[(")) else []
        if subject not in given:  # with a blank or a quote in it, a part of it would be another file
            names += [quoted[1] or quoted[2] for part in (subject, behind, before) for quoted in _PATHS.finditer(part)]
        for name in names:
            found += 1
            if found > _MOST_PATHS:
                return
            literal = how is _ABSENT and name.startswith("~")  # who says so did not take it for the home folder
            if "\0" not in name and not literal:
                yield _real(name, told.folder, home)


def _without_a_box(profile: Profile, folder: str, said: str) -> bool:
    """Whether each refusal is about a file that this process can do nothing with either: then the system refused it."""
    places = Places.now()
    lines = {line for line in said.split("\n") if _FILES.search(line)}
    if len(lines) > _MOST_PLACES or any(len(line) > _LONGEST_AROUND for line in lines):
        return False
    try:
        hidden = _hidden(profile, places)
    except OSError:  # as in `_about_file`
        return False
    found = [match and _real(match[1] or match[2], folder, places.home) for match in map(_ABOUT.search, lines)]
    return all(path and _is_others(path) and not any(is_in(path, place) for place in hidden) for path in found)


def _is_others(path: str) -> bool:
    """Whether a file, and the folder that it is in, are somebody else's, and closed to this process."""
    try:
        owners = {os.lstat(place).st_uid for place in (os.path.dirname(path), path) if os.path.lexists(place)}
    except OSError:
        return False
    may_be_used = os.access(path, os.W_OK) or os.access(os.path.dirname(path), os.W_OK)
    return bool(owners) and os.geteuid() not in owners and not may_be_used and not path.startswith("/dev/")


def _is_empty(path: str) -> bool:
    """Whether a folder is, as those that stand where something is closed are."""
    try:
        return not os.listdir(path)
    except OSError:  # it was removed when its box was over
        return True


def _named_by_words(words: list[str], folder: str, home: str) -> Iterator[str]:
    for word in words[1 : 1 + _MOST_PATHS]:
        name = word.rpartition("=")[2].lstrip("<>&")
        if name and not name.startswith("-") and "\0" not in name:
            path = _real(name, folder, home)
            if "/" in name or os.path.lexists(path):
                yield path


def _real(name: str, folder: str, home: str) -> str:
    if name == "~" or name.startswith("~/"):
        name = home + name[1:]
    return os.path.realpath(os.path.join(folder, name))


def _could_write(path: str) -> bool:
    """Whether this process, which is in no box, may write there."""
    return os.access(path if os.path.lexists(path) else os.path.dirname(path), os.W_OK)
