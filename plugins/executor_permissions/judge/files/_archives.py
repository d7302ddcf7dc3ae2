"""The names in archives and patches: what ``tar xf a.tar`` would write. Imported by need, as their readers are slow."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import tarfile
import zipfile
import zlib
from functools import lru_cache
from typing import IO, TYPE_CHECKING, cast

from executor.paths import regular_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Self

    from executor_permissions.judge.paths._links import Links, Stamp

_LARGEST = 64 << 20  # bytes that are read of an archive, unpacked
_MOST_NAMES = 20_000
_LARGEST_DIRECTORY = 2 << 20  # bytes that a ZIP archive may say of its files, some hundred of each
# unzip leaves out what is not printed, and the version that VMS has there.
_VERSION = re.compile(r";\d*\Z")
_UNICODE_PATH = 0x7075  # the extra field of a ZIP archive with another name, which unzip takes
_LARGEST_PATCH = 8 << 20  # bytes
_NAMING = re.compile(rb"(?:\+\+\+|---|\*\*\*|Index:|(?:rename|copy) (?:to|from)|diff --git)[ \t]")
_ESCAPED = re.compile(rb'"[^"]*\\')
_UNREADABLE = (
    OSError, ValueError, EOFError, RuntimeError, tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError,
)  # fmt: skip


def names_at(path: str, form: str, links: Links) -> tuple[str, ...] | None:
    """`names_in` of the archive that is *path* now; no names where nothing is there yet."""
    stamp = links.stamp(path)
    if stamp is None:
        return None if links.exists(path) else ()
    return names_in(path, form, stamp)


@lru_cache(maxsize=16)
def names_in(path: str, form: str, stamp: Stamp) -> tuple[str, ...] | None:  # noqa: ARG001 -- *stamp* is of the key
    """
    The files that the archive *path*, as it is at that time, makes or changes, and what its links point to.

    Returns:
        None if that cannot be told: it is too large, or of a form that is not read.
    """
    try:
        with open(path, "rb", opener=regular_only) as file:
            names = list(_FORMS[form](file)) if form in _FORMS else None
    except _UNREADABLE:
        return None
    return tuple(names) if names is not None and len(names) <= _MOST_NAMES else None


class _Bounded:
    """The first bytes of a file: what is packed small may become larger than any memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._left = _LARGEST

    def read(self, size: int = 1 << 16) -> bytes:
        """As of a file; a ValueError behind the end."""
        data = self._file.read(min(size, self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise ValueError("it is too large")
        return data


class _Member(tarfile.TarInfo):
    """Of an archive without errors: this reader takes the first for the end, and others go on behind it."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if not buf.strip(b"\0"):  # the end
                raise
            raise ValueError(str(error)) from error


def _in_tar(file: IO[bytes]) -> Iterator[str]:
    begins = file.read(6)
    file.seek(0)
    opened = next((opener for magic, opener in _PACKED if begins.startswith(magic)), None)
    content = file if opened is None else opened(file)
    with tarfile.open(fileobj=cast("IO[bytes]", _Bounded(content)), mode="r|", tarinfo=_Member) as archive:
        for count, member in enumerate(archive):
            if count > _MOST_NAMES:
                raise ValueError("it has too many files")
            if "\0" in member.name + member.linkname:
                raise ValueError("others cut a name off there")
            yield member.name
            yield member.linkname
        behind = cast("IO[bytes]", archive.fileobj)
        while piece := behind.read(1 << 16):
            if piece.strip(b"\0"):
                raise ValueError("it goes on behind its end")


class _InPieces:
    """A file that is read piece by piece: what a ZIP archive tells of its files, it reads at once, however much."""

    def __init__(self, file: IO[bytes]) -> None:
        self.seek, self.tell, self.seekable, self._file = file.seek, file.tell, file.seekable, file

    def read(self, size: int = -1) -> bytes:
        """As of a file; a ValueError for more than is looked at."""
        data = self._file.read(_LARGEST_DIRECTORY + 1 if size < 0 else min(size, _LARGEST_DIRECTORY + 1))
        if len(data) > _LARGEST_DIRECTORY:
            raise ValueError("it has too many files")
        return data


def _in_zip(file: IO[bytes]) -> Iterator[str]:
    with zipfile.ZipFile(cast("IO[bytes]", _InPieces(file))) as archive:
        for member in archive.infolist()[: _MOST_NAMES + 1]:
            name = member.filename
            if _VERSION.search(name) or not name.isprintable() or _UNICODE_PATH in _extra_fields(member.extra):
                raise ValueError("unzip makes another name of it")
            yield name.replace("\\", "/")
            if member.external_attr >> 28 == 0xA:  # a link: what it holds is where it points to
                with archive.open(member) as link:
                    yield link.read(4096).decode("utf-8", "surrogateescape")


def _extra_fields(extra: bytes) -> Iterator[int]:
    """The numbers of the extra fields of a file in a ZIP archive (APPNOTE.TXT, 4.5)."""
    while len(extra) >= 4:
        yield int.from_bytes(extra[:2], "little")
        extra = extra[4 + int.from_bytes(extra[2:4], "little") :]


def names_in_patch(file: IO[bytes]) -> tuple[str, ...] | None:
    """The same of a patch that is no file."""
    try:
        return tuple(_in_patch(file))
    except _UNREADABLE:
        return None


def _in_patch(file: IO[bytes]) -> Iterable[str]:
    text = file.read(_LARGEST_PATCH + 1)
    if len(text) > _LARGEST_PATCH:
        raise ValueError("it is too large")
    for line in text.splitlines():
        match = _NAMING.match(line.lstrip())
        if match is not None:
            if _ESCAPED.search(line):
                raise ValueError("it has names in quotes")
            names = line.lstrip()[match.end() :].decode("utf-8", "surrogateescape")
            for name in names.replace('"', " ").split():
                yield name
                yield name.partition("/")[2]


# ruff: noqa: SIM115 -- what is opened ends with the file in it
_PACKED: tuple[tuple[bytes, Callable[[IO[bytes]], IO[bytes]]], ...] = (
    (b"\x1f\x8b", lambda file: cast("IO[bytes]", gzip.GzipFile(fileobj=file))),
    (b"BZh", lambda file: cast("IO[bytes]", bz2.BZ2File(file))),
    (b"\xfd7zXZ", lambda file: cast("IO[bytes]", lzma.LZMAFile(file))),
)
_FORMS = {"tar": _in_tar, "zip": _in_zip, "patch": _in_patch}
