"""
Draw ordinary commands at random from the examples of manuals: the same packages and seed give the same commands.

    apt-get download git-doc && dpkg -x git-doc_*.deb git-doc
    pip download --no-deps --no-binary :all: cheat==2.5.1 && tar xzf cheat-2.5.1.tar.gz
    python draw.py --git-doc git-doc/usr/share/doc/git-doc --man /usr/share/man/man1 \\
        --cheat cheat-2.5.1/cheat/cheatsheets

Prints lines of ``SOURCE<TAB>COMMAND``. The verdicts in ``drawn.tsv`` were written before anything judged them.
"""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import argparse
import random
import re
import subprocess
from pathlib import Path

# What a person who develops software has at hand; others (disks, networks, package managers) are not ordinary here.
PROGRAMS = frozenset(
    "awk basename cat cd chmod cmp column comm cp curl cut date df diff dirname docker du echo env export fgrep"
    " egrep file find for gcc git grep gzip head hexdump iconv jq journalctl kill less ln ls make man md5sum mkdir"
    " more mv npm numfmt od paste patch pgrep pip ps pwd python readlink rename rm rsync sed seq sort split ssh"
    " stat strings systemctl tail tar tee touch tr tree truncate uname uniq unzip wc wget whereis which while"
    " xargs xxd zip".split()
)
SHARES = {"git-doc": 80, "man": 40, "cheat": 80}
_PLACEHOLDER = re.compile(r"<[a-z][^>|]*>| \.\.\.|…|\[options?\]|\{\{|\[[A-Z_]+\]")
_ITEM = re.compile(r"`(git [^`]+)`::\Z")
_NOTE = re.compile(r"(?:\s+<\d+>)+\Z")


def from_git_doc(folder: Path) -> list[tuple[str, str]]:
    """The examples of git's manuals and of its two introductions."""
    found = []
    for path in sorted(folder.glob("git*.txt")):
        text = path.read_text(encoding="utf-8")
        if path.stem not in ("giteveryday", "gittutorial", "gittutorial-2"):
            text = "".join(re.findall(r"^EXAMPLES?\n-+\n(.*?)(?=^[A-Z][A-Z ]+\n-+\n|\Z)", text, re.M | re.S))
        for line in text.splitlines():
            item = _ITEM.match(line)
            command = item[1] if item else line[2:] if line.startswith("$ ") else ""
            found.append((f"git-doc {path.stem}", _NOTE.sub("", command)))
    return found


def from_manuals(folder: Path) -> list[tuple[str, str]]:
    """The examples of the installed manuals of `PROGRAMS`."""
    found = []
    for program in sorted(PROGRAMS - {"git"}):
        path = folder / f"{program}.1.gz"
        if path.exists():
            shown = subprocess.run(
                ["man", "--no-hyphenation", "--no-justification", "-l", str(path)],
                env={"MANWIDTH": "400", "LC_ALL": "C", "PATH": "/usr/bin:/bin"},
                capture_output=True, text=True, check=True,
            ).stdout  # fmt: skip
            text = re.sub(".\b", "", shown)
            for section in re.findall(r"^EXAMPLES?\n(.*?)(?=^\S|\Z)", text, re.M | re.S):
                for line in section.splitlines():
                    command = re.sub(r"^[$%] ", "", line.strip())
                    if not command.endswith((".", ":", ",")):
                        found.append((f"man {program}", command))
    return found


def from_cheat(folder: Path) -> list[tuple[str, str]]:
    """The lines of the sheets of `PROGRAMS`."""
    return [
        (f"cheat {path.name}", line.strip().removeprefix("$ "))
        for path in sorted(folder.iterdir())
        if path.name in PROGRAMS
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def is_command(text: str) -> bool:
    """Whether it is a whole command of a known program: no placeholder, not the beginning of one."""
    if text.partition(" ")[0] not in PROGRAMS or not text.isascii() or len(text) > 160:
        return False
    if text.startswith(("for ", "while ")) and not text.endswith("done"):
        return False
    unfinished = text.endswith(("\\", "|", "{", "do", "(")) or text.count("'") % 2 == 1 or text.count('"') % 2 == 1
    return not unfinished and not _PLACEHOLDER.search(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--git-doc", type=Path, required=True)
    parser.add_argument("--man", type=Path, required=True)
    parser.add_argument("--cheat", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=20261121)
    given = parser.parse_args()
    pick = random.Random(given.seed)
    seen: set[str] = set()
    for share, read, folder in (
        ("git-doc", from_git_doc, given.git_doc),
        ("man", from_manuals, given.man),
        ("cheat", from_cheat, given.cheat),
    ):
        lines = {command: source for source, command in reversed(read(folder)) if is_command(command)}
        fresh = sorted(set(lines) - seen)
        for command in sorted(pick.sample(fresh, min(SHARES[share], len(fresh)))):
            seen.add(command)
            print(f"{lines[command]}\t{command}")


if __name__ == "__main__":
    main()
