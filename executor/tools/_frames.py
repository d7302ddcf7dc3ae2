"""
How a process tells another one something: frames of a length, and so many bytes of pickle.

A pickle can make any object and call any function where it is read. So of what comes out of a box only plain data is
read, and what this module makes of it by itself: blocks, pieces of output, errors of ours.
"""

from __future__ import annotations

import dataclasses
import io
import pickle
import struct
from collections.abc import Mapping, Sized
from typing import TYPE_CHECKING, Any, BinaryIO

from executor import errors
from executor.values._blocks import BLOCKS, blocks_of
from executor.values._output import OutputChunk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LENGTH = struct.Struct("<Q")
_LARGEST = 1 << 28  # bytes of a frame out of a box
_MOST_TIMES = 64  # as large as its frame may a value be that says the same thing over and over: keys, mostly


def write(stream: BinaryIO | Any, value: Any, *, boxed: bool = False) -> None:
    """
    Args:
        boxed: Whether this process is in a box.
    """
    data = _boxed_dumps(value) if boxed else pickle.dumps(value)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def read(stream: BinaryIO | Any, *, boxed: bool = False) -> Any:
    """
    The next frame; None when there is none any more.

    Args:
        boxed: Whether whoever wrote it is in a box, and this process is not.

    Raises:
        UnpicklingError: It holds more than `boxed` ones may.
    """
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    if boxed and length > _LARGEST:
        raise pickle.UnpicklingError(f"it has {length} bytes, and at most {_LARGEST} leave a box at once")
    data = stream.read(length)
    if len(data) < length:
        return None
    return _of_a_box(data) if boxed else pickle.loads(data)  # noqa: S301 -- its process is this one's own


def check(value: Any, *, boxed: bool) -> None:
    """Raises whatever keeps *value* from being written, or read by the other process."""
    if boxed:
        _of_a_box(_boxed_dumps(value))
    else:
        pickle.dumps(value)


def _boxed_dumps(value: Any) -> bytes:
    written = io.BytesIO()
    _InABox(written, pickle.HIGHEST_PROTOCOL).dump(value)
    return written.getvalue()


class _InABox(pickle.Pickler):
    def persistent_id(self, value: Any) -> tuple[Any, ...] | None:
        """What is made of *value* outside; None where it stays as it is."""
        if isinstance(value, BLOCKS):
            return "block", value.to_dict()
        if isinstance(value, OutputChunk):
            return "chunk", str.__str__(value), value.stream, value.raw
        if isinstance(value, errors.ToolExecutorError):
            kind = next(each for each in type(value).__mro__ if each.__module__ == errors.__name__)
            _, arguments, state = value.__reduce__()
            return "error", kind.__name__, arguments, state
        if isinstance(value, BaseException):
            return "error", "ToolExecutorError", (f"{type(value).__name__}: {value}",), {}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return "plain", {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return ("plain", value.model_dump(mode="json")) if hasattr(type(value), "model_dump") else None


class _OfABox(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Nothing that has a name is made: it might do anything."""
        raise pickle.UnpicklingError(
            f"it holds a {module}.{name}, and only plain data, dataclasses and blocks leave a box"
        )

    def persistent_load(self, told: Any) -> Any:
        """What `_InABox` has told of."""
        kind, *parts = told
        return _MADE[kind](*parts)


def _of_a_box(data: bytes) -> Any:
    value = _OfABox(io.BytesIO(data)).load()
    if not _is_at_most(value, _MOST_TIMES * len(data)):
        raise pickle.UnpicklingError("it holds itself, or the same thing so often that it has no end to speak of")
    return value


def _is_at_most(value: Any, size: int) -> bool:
    """Whether, all that is in it counted as often as it is there, it has a *size* of bytes and items at most."""
    left = [value]
    while left:
        one = left.pop()
        size -= 1 + (len(one) if isinstance(one, Sized) else 0)
        if size < 0:
            return False
        if isinstance(one, Mapping):
            left += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            left += one
        elif isinstance(one, BLOCKS):
            left.append(one.to_dict())
        elif isinstance(one, BaseException):
            left += [one.args, vars(one), one.__cause__]
    return True


def _block(told: Mapping[str, Any]) -> Any:
    return blocks_of(told)[0]


def _chunk(text: str, stream: str, raw: bytes) -> OutputChunk:
    return OutputChunk(text, stream, raw)


def _error(name: str, arguments: Sequence[Any], state: Mapping[str, Any]) -> errors.ToolExecutorError:
    kind = getattr(errors, name)
    if not issubclass(kind, errors.ToolExecutorError):
        raise pickle.UnpicklingError(f"{name} is no error of ours")
    made: errors.ToolExecutorError = kind(*arguments)
    made.__dict__.update({key: value for key, value in state.items() if key != "__cause__"})
    made.__cause__ = state.get("__cause__")
    return made


def _plain(value: Any) -> Any:
    return value


_MADE: Mapping[str, Callable[..., Any]] = {"block": _block, "chunk": _chunk, "error": _error, "plain": _plain}
