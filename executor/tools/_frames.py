"""
How a process tells another one something: frames of a length, and so many bytes.

They are pickles, which can make any object and call any function where they are read, and take any amount of memory.
What comes out of a box is JSON: that makes plain data, and what this module makes of it by itself (blocks, pieces of
output, errors of ours), each as often as it is written. What takes far more time or memory than its length says is
refused.
"""

from __future__ import annotations

import base64
import json
import pickle
import struct
from collections import Counter, deque
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import TYPE_CHECKING, Any, BinaryIO

from executor import errors
from executor.values._blocks import BLOCKS, blocks_of
from executor.values._data import data_of
from executor.values._output import OutputChunk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LENGTH = struct.Struct("<Q")
_LARGEST = 1 << 28  # bytes of a frame out of a box, and about what is written for one
_MOST_NESTED = 1 << 22  # lists and objects in it, of which each takes some hundred bytes of memory, however short
_MOST_ALIKE = 100  # elements or keys of one hash: each is compared with all others, and no other thread runs meanwhile
_KIND = "\0"  # the one key of what stands for something else
_AS_THEY_ARE = frozenset({int, float, bool, type(None)})


class UnsayableError(ValueError):
    """It cannot be told to whoever is outside of a box, or says more than that one hears."""


def write(stream: BinaryIO | Any, value: Any) -> None:
    send(stream, packed(value))


def send(stream: BinaryIO | Any, data: bytes) -> None:
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def packed(value: Any, *, boxed: bool = False) -> bytes:
    """
    What says *value* in a frame. Raises whatever keeps it from being said.

    Args:
        boxed: Whether this process is in a box.
    """
    if not boxed:
        return pickle.dumps(value)
    try:
        text = json.dumps(_Shapes().of(value), ensure_ascii=False, separators=(",", ":"))
    except RecursionError as error:
        raise UnsayableError("it is too deep") from error
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > _LARGEST:
        raise UnsayableError(_too_long(len(data)))
    _check_nested(data)
    return data


def read(stream: BinaryIO | Any, *, boxed: bool = False) -> Any:
    """
    The next frame; None when there is none any more.

    Args:
        boxed: Whether whoever wrote it is in a box, and this process is not.

    Raises:
        UnsayableError: It is longer than those of boxes may be. So may be what it says otherwise, with other errors.
    """
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    if boxed and length > _LARGEST:
        raise UnsayableError(_too_long(length))
    data = stream.read(length)
    if len(data) < length:
        return None
    if boxed:
        _check_nested(data)
        return json.loads(data.decode("utf-8", "surrogatepass"), object_hook=_made)
    return pickle.loads(data)  # noqa: S301 -- its process is this one's own


def _too_long(length: int) -> str:
    return f"it has {length} bytes, and at most {_LARGEST} leave a box at once"


def _check_nested(data: bytes) -> None:
    nested = data.count(b"[") + data.count(b"{")  # in texts as well, which nobody has yet told from the others
    if nested > _MOST_NESTED:
        raise UnsayableError(f"it has {nested} brackets, and at most {_MOST_NESTED} leave a box at once")


class _Shapes:
    """What JSON says of values; of each that is met again and again it is made once, and counted every time."""

    def __init__(self) -> None:
        self._size = 0
        self._met: dict[int, tuple[Any, Any, int] | None] = {}  # by id, with the value, which so stays the only one

    def of(self, value: Any) -> Any:
        """Raises UnsayableError: it holds something that is no data, itself, or too much."""
        if type(value) in _AS_THEY_ARE:
            return value
        if type(value) is str:
            self._count(len(value))
            return value
        if id(value) not in self._met:
            before, self._met[id(value)] = self._size, None
            shape = self._shape(value)
            self._met[id(value)] = value, shape, self._size - before
            return shape
        if (met := self._met[id(value)]) is None:
            raise UnsayableError("it holds itself")
        self._count(met[2])
        return met[1]

    def _count(self, more: int) -> None:
        self._size += more
        if self._size > _LARGEST:
            raise UnsayableError(f"it says more than the {_LARGEST} bytes that leave a box at once")

    def _each(self, values: Any) -> list[Any]:
        listed = list(values)
        self._count(2 * len(listed) + 2)  # a digit and what parts it from the next
        return [each if type(each) in _AS_THEY_ARE else self.of(each) for each in listed]

    def _shape(self, value: Any) -> Any:  # noqa: C901 -- a list of kinds
        if isinstance(value, dict | Mapping):
            values = self._each(value.values())
            if _KIND not in value and all(type(key) is str for key in value):
                self._count(sum(map(len, value)))
                return dict(zip(value, values, strict=True))
            return self._kind("pairs", self._each(value), values)
        if isinstance(value, list | deque):
            return self._each(value)
        if isinstance(value, Enum):
            return self.of(value.value)
        for kind, of_kind in (("tuple", tuple), ("frozenset", frozenset), ("set", AbstractSet)):
            if isinstance(value, of_kind):
                return self._kind(kind, self._each(value))
        if isinstance(value, bytes | bytearray | memoryview):
            return self._kind("bytes", self.of(base64.b64encode(value).decode()))
        if isinstance(value, OutputChunk):
            return self._kind("chunk", *map(self.of, (str.__str__(value), value.stream, value.raw)))
        for base in (str, int, float):
            if isinstance(value, base):
                return self.of(base(value))
        if isinstance(value, BLOCKS):
            return self._kind("block", self.of(value.to_dict()))
        if isinstance(value, BaseException):
            return self._kind("error", *map(self.of, _parts(value)))
        return self.of(_data(value))

    def _kind(self, *parts: Any) -> dict[str, Any]:
        return {_KIND: parts}


def _parts(error: BaseException) -> tuple[Any, ...]:
    if not isinstance(error, errors.ToolExecutorError):
        return "ToolExecutorError", (f"{type(error).__name__}: {error}",), {}
    kind = next(each for each in type(error).__mro__ if each.__module__ == errors.__name__)
    _, arguments, state = error.__reduce__()
    return kind.__name__, arguments, state


def _data(value: Any) -> Any:
    """The data that an object stands for. Raises UnsayableError: it stands for none."""
    try:
        return data_of(value)
    except TypeError as error:
        kind = type(value)
        name = f"{kind.__module__}.{kind.__name__}"
        told = "and only plain data, dataclasses and blocks leave a box"
        raise UnsayableError(f"it holds a {name}, {told}") from error


def _made(told: dict[str, Any]) -> Any:
    """What stands for something else, as that."""
    if _KIND not in told:
        return told
    kind, *parts = told[_KIND]
    return _MADE[kind](*parts)


def _block(told: Mapping[str, Any]) -> Any:
    return blocks_of(told)[0]


def _error(name: str, arguments: Sequence[Any], state: Mapping[str, Any]) -> errors.ToolExecutorError:
    kind = getattr(errors, name)
    if not issubclass(kind, errors.ToolExecutorError):
        raise TypeError(f"{name} is no error of ours")
    made: errors.ToolExecutorError = kind("")
    made.args = tuple(arguments)
    made.__dict__.update({key: each for key, each in state.items() if not hasattr(kind, key)})
    made.__cause__ = state.get("__cause__")
    return made


def _hashed(values: Sequence[Any]) -> Sequence[Any]:
    """*values*, as elements or keys; whoever is in a box may choose them. Raises UnsayableError: too many are alike."""
    alike = max(Counter(map(hash, values)).values(), default=0)
    if alike > _MOST_ALIKE:
        raise UnsayableError(
            f"{alike} elements of a set, or keys, have one hash, and at most {_MOST_ALIKE} leave a box"
        )
    return values


_MADE: Mapping[str, Callable[..., Any]] = {
    "block": _block,
    "bytes": base64.b64decode,
    "chunk": OutputChunk,
    "error": _error,
    "frozenset": lambda values: frozenset(_hashed(values)),
    "pairs": lambda keys, values: dict(zip(_hashed(keys), values, strict=True)),
    "set": lambda values: set(_hashed(values)),
    "tuple": tuple,
}
