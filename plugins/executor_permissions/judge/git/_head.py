"""Whether the commit that is checked out has a file, if its objects are in no pack: gitrepository-layout(5)."""

from __future__ import annotations

import os
import re
import zlib

from executor.paths import regular_only

# ruff: noqa: PTH112, PTH113, PTH118 -- texts; and pathlib is slower

_MOST = 1 << 22  # bytes of an object that are looked at
_NAME = re.compile(r"[0-9a-f]{40}\Z")
_ENTRY = re.compile(rb"(\d+) ([^\0]+)\0(.{20})", re.DOTALL)


def in_head(top: str, path: str) -> bool | None:
    """
    Whether HEAD of the work tree *top* has the file or folder *path*, relative to it.

    Returns:
        None if that cannot be told: an object on the way is in a pack, or of a form that is not read here.
    """
    try:
        own, common = folders_of(top)
        head = _text(f"{own}/HEAD")
        if head.startswith("ref:"):
            found = _ref(common, head[4:].strip())
            if found is None:
                return False  # nothing was committed
            head = found
        commit = _object(common, head)
        name = None if commit is None else commit.split(b"\n", 1)[0].partition(b"tree ")[2].decode()
        for part in filter(None, path.split("/")):
            tree = None if name is None else _object(common, name)
            if tree is None:
                return None
            name = next((one[3].hex() for one in _ENTRY.finditer(tree) if os.fsdecode(one[2]) == part), None)
            if name is None:
                return False
    except (OSError, ValueError, zlib.error):
        return None
    return True


def folders_of(top: str) -> tuple[str, str]:
    """The folder of the work tree's own HEAD, and that of the objects."""
    own = own_folder(top)
    shared = f"{own}/commondir"
    return own, os.path.join(own, _text(shared)) if os.path.isfile(shared) else own


def own_folder(top: str) -> str:
    """Where git keeps what is the work tree *top*'s own: its ``.git``, or what that names if it is a file."""
    own = f"{top}/.git"
    return os.path.join(top, _text(own).removeprefix("gitdir:").strip()) if os.path.isfile(own) else own


def _ref(common: str, name: str) -> str | None:
    if os.path.isfile(f"{common}/{name}"):
        return _text(f"{common}/{name}")
    if os.path.isdir(f"{common}/reftable"):
        raise ValueError("names are kept in another form")
    if not os.path.isfile(f"{common}/packed-refs"):
        return None
    lines = (line.split(" ") for line in _text(f"{common}/packed-refs").split("\n"))
    return next((line[0] for line in lines if line[1:] == [name]), None)


def _object(common: str, name: str) -> bytes | None:
    """What the object *name* holds; None if it is in a pack."""
    path = f"{common}/objects/{name[:2]}/{name[2:]}"
    if not _NAME.match(name) or not os.path.isfile(path):
        return None
    with open(path, "rb", opener=regular_only) as file:
        data = zlib.decompressobj().decompress(file.read(_MOST), _MOST)
    return data.partition(b"\0")[2] if len(data) < _MOST else None


def _text(path: str) -> str:
    with open(path, encoding="utf-8", opener=regular_only) as file:
        text = file.read(_MOST + 1)
    if len(text) > _MOST:
        raise ValueError("more than is read")
    return text.strip()
