"""The blocks of a result: text, images, audio, resources and links, in the shapes that MCP gives them in JSON."""

from __future__ import annotations

import binascii
import contextlib
import json
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from executor.values._frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Text:
    """
    Text.

    Attributes:
        annotations: MCP's ``audience``, ``priority`` and ``lastModified``, or None.
    """

    type: ClassVar[str] = "text"
    text: str
    annotations: Mapping[str, Any] | None = field(default=None, hash=False, kw_only=True)

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """The block as MCP writes it."""
        return _with_annotations(self, {"text": self.text})

    @classmethod
    def from_dict(cls, block: Mapping[str, Any]) -> Self:
        """The block that MCP writes so. Raises ValueError: it is not such a block."""
        return cls(_text(block, "text"), annotations=_annotations(block))


class _Media:
    """What images and audio have in common."""

    __slots__ = ()
    type: ClassVar[str]
    data: str
    mime_type: str
    annotations: Mapping[str, Any] | None

    def __init__(
        self,
        data: bytes | bytearray | memoryview | str,
        mime_type: str,
        *,
        annotations: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(mime_type, str) or not mime_type:
            raise ValueError(f"mime_type is {mime_type!r}: give one such as '{self.type}/…'")
        # The classes are frozen: there is no other way for an __init__ of their own.
        object.__setattr__(self, "data", _base64(data, "data"))
        object.__setattr__(self, "mime_type", mime_type)
        object.__setattr__(self, "annotations", annotations)

    @property
    def raw(self) -> bytes:
        """The bytes themselves."""
        return binascii.a2b_base64(self.data)

    def __str__(self) -> str:
        return f"[{self.type}: {self.mime_type}, {_decoded_size(self.data)} bytes]"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_decoded_size(self.data)} bytes, {self.mime_type!r})"

    def to_dict(self) -> dict[str, Any]:
        """The block as MCP writes it."""
        return _with_annotations(self, {"data": self.data, "mimeType": self.mime_type})

    @classmethod
    def from_dict(cls, block: Mapping[str, Any]) -> Self:
        """The block that MCP writes so. Raises ValueError: it is not such a block."""
        return cls(_text(block, "data"), _mime_type(block) or "", annotations=_annotations(block))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Image(_Media):
    """
    An image: ``Image(data, mime_type)``.

    Attributes:
        data: The base64 text; given may be the bytes, too.
        mime_type: Such as ``image/png``.
        annotations: As in `Text`.

    Raises:
        ValueError: The text is not base64, or there is no MIME type.
    """

    type: ClassVar[str] = "image"
    data: str
    mime_type: str
    annotations: Mapping[str, Any] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Audio(_Media):
    """
    Sound; the arguments and attributes are those of `Image`.

    Raises:
        ValueError: The text is not base64, or there is no MIME type.
    """

    type: ClassVar[str] = "audio"
    data: str
    mime_type: str
    annotations: Mapping[str, Any] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True, repr=False)
class Resource:
    """
    A document that comes with the result.

    Attributes:
        uri: Its name.
        text: What it says, for text.
        blob: The base64 text of its bytes, for everything else; bytes are taken too.
        annotations: As in `Text`.

    Raises:
        ValueError: It has neither text nor blob, or both, or the blob is not base64.
    """

    type: ClassVar[str] = "resource"
    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None
    annotations: Mapping[str, Any] | None = field(default=None, hash=False, kw_only=True)

    def __post_init__(self) -> None:
        if (self.text is None) == (self.blob is None):
            raise ValueError(f"The resource {self.uri} needs either text or a blob")
        if self.blob is not None:
            object.__setattr__(self, "blob", _base64(self.blob, "blob"))

    @property
    def raw(self) -> bytes:
        """Its bytes, of text in UTF-8."""
        return (self.text or "").encode() if self.blob is None else binascii.a2b_base64(self.blob)

    def __str__(self) -> str:
        if self.text is not None:
            return self.text
        return (
            f"[resource: {self.uri}, {self.mime_type or 'of an unknown type'}, {_decoded_size(self.blob or '')} bytes]"
        )

    def __repr__(self) -> str:
        size = len(self.text) if self.text is not None else _decoded_size(self.blob or "")
        return f"Resource({self.uri!r}, {self.mime_type!r}, {'text' if self.blob is None else 'blob'} of {size})"

    def to_dict(self) -> dict[str, Any]:
        """The block as MCP writes it."""
        named = {"uri": self.uri, "mimeType": self.mime_type, "text": self.text, "blob": self.blob}
        return _with_annotations(self, {"resource": _given(named)})

    @classmethod
    def from_dict(cls, block: Mapping[str, Any]) -> Self:
        """The block that MCP writes so. Raises ValueError: it is not such a block."""
        inner = block.get("resource")
        if not isinstance(inner, Mapping):
            raise ValueError(f"A resource block needs an object 'resource', and has {inner!r}")  # noqa: TRY004 -- as in _base64
        return cls(
            _text(inner, "uri"),
            _mime_type(inner),
            _optional(inner, "text"),
            _optional(inner, "blob"),
            annotations=_annotations(block),
        )


@dataclass(frozen=True, slots=True)
class Link:
    """
    A document that can be fetched.

    Attributes:
        uri: Where it is.
        name: A short name of it.
        title: A name for people.
        size: Its length in bytes, if that is known.
        annotations: As in `Text`.
    """

    type: ClassVar[str] = "resource_link"
    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    annotations: Mapping[str, Any] | None = field(default=None, hash=False, kw_only=True)

    def __str__(self) -> str:
        described = f" ({self.description})" if self.description else ""
        return f"[link: {self.title or self.name}: {self.uri}{described}]"

    def to_dict(self) -> dict[str, Any]:
        """The block as MCP writes it."""
        named = {
            "uri": self.uri,
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "mimeType": self.mime_type,
            "size": self.size,
        }
        return _with_annotations(self, _given(named))

    @classmethod
    def from_dict(cls, block: Mapping[str, Any]) -> Self:
        """The block that MCP writes so. Raises ValueError: it is not such a block."""
        size = block.get("size")
        return cls(
            _text(block, "uri"),
            _optional(block, "name") or _text(block, "uri"),
            _optional(block, "title"),
            _optional(block, "description"),
            _mime_type(block),
            size if type(size) is int else None,
            annotations=_annotations(block),
        )


Block: TypeAlias = Text | Image | Audio | Resource | Link
BLOCKS: tuple[type[Block], ...] = (Text, Image, Audio, Resource, Link)
_RETURNED = frozenset({str, *BLOCKS})
_BY_TYPE: dict[str, type[Block]] = {kind.type: kind for kind in BLOCKS}


def blocks_of(content: object) -> tuple[Block, ...]:
    """
    Blocks of ours, for those of an MCP answer.

    Args:
        content: Blocks of the MCP SDK, dicts in MCP's shape, texts, blocks of ours; one, several or None.

    Returns:
        One block for each. What is not understood becomes a `Text` that says what it was. Never raises.
    """
    if content is None:
        return ()
    if isinstance(content, list | tuple):
        return tuple(map(_block_of, content))
    return (_block_of(content),)


def returned_blocks(value: object) -> tuple[Block, ...] | None:
    """The blocks that a tool returned: a block, or a list or tuple of blocks and texts; None for every other value."""
    if isinstance(value, BLOCKS):
        return (value,)
    if not isinstance(value, list | tuple):
        return None
    try:
        if not value or type(value[0]) not in _RETURNED:
            return None
        kinds = set(map(type, value))  # a tool may return a million numbers: nothing is done for each of them in Python
    except Exception:  # noqa: BLE001 -- a class of the tool's own, which raises when it is read
        return None
    return blocks_of(value) if not kinds.isdisjoint(BLOCKS) and kinds <= _RETURNED else None


def blocks_within(value: object) -> tuple[Block, ...]:
    """The blocks anywhere in the lists and objects of *value*, in order, but texts: these stand where they are."""
    from executor.values._data import data_of

    found: list[Block] = []

    def note(item: object) -> Any:
        if not isinstance(item, BLOCKS):
            with contextlib.suppress(Exception):  # it stands for no data, or raises when it is read
                return data_of(item)
        elif not isinstance(item, Text):
            found.append(item)
        return None

    with contextlib.suppress(Exception):  # cycles, keys that are no text, and what raises when it is read
        json.dumps(value, default=note, skipkeys=True)
    return tuple(found)


def text_of_blocks(blocks: Iterable[Block]) -> str:
    """The texts of *blocks*, joined by newlines, for a model; of a block that is no text, what it is."""
    return "\n".join(map(str, blocks))


def dicts_of(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """The blocks as MCP writes them."""
    return [block.to_dict() for block in blocks]


def _block_of(item: object) -> Block:
    if isinstance(item, BLOCKS):
        return item
    if isinstance(item, str):
        return Text(item)
    try:
        shape = _shape(item)
        kind = _BY_TYPE.get(str(shape.get("type")))
        if kind is not None:
            return kind.from_dict(shape)
        said = str(shape.get("type", type(item).__name__))
    except Exception as error:  # noqa: BLE001 -- one block of somebody else's server must not lose the others
        return Text(f"[a block that could not be read: {type(item).__name__}: {error}]")
    return Text(f"[a block of the unknown type {said!r}]")


def _shape(item: object) -> Mapping[str, Any]:
    if isinstance(item, Mapping):
        return item
    dump = getattr(item, "model_dump", None)
    shape = dump(mode="json", by_alias=True, exclude_none=True) if dump is not None else vars(item)
    if not isinstance(shape, Mapping):
        raise TypeError(f"its model_dump gave {type(shape).__name__}")
    return shape


def _base64(data: object, name: str) -> str:
    """The base64 text of bytes, or of a text that is that already. Raises ValueError."""
    if isinstance(data, bytes | bytearray | memoryview):
        return binascii.b2a_base64(data, newline=False).decode("ascii")
    if not isinstance(data, str):
        raise ValueError(f"{name} is {type(data).__name__}: give bytes, or their base64 text")  # noqa: TRY004 -- one error for whoever reads a block
    text = "".join(data.split())  # some servers break the lines
    try:
        binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise ValueError(f"{name} is not base64 text: {error}") from error
    return text


def _decoded_size(text: str) -> int:
    return len(text) * 3 // 4 - text[-2:].count("=")


def _with_annotations(block: Any, rest: dict[str, Any]) -> dict[str, Any]:
    shape = {"type": block.type, **rest}
    if block.annotations is not None:
        shape["annotations"] = dict(block.annotations)
    return shape


def _annotations(shape: Mapping[str, Any]) -> Mapping[str, Any] | None:
    given = shape.get("annotations")
    return given if isinstance(given, Mapping) else None


def _given(named: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in named.items() if value is not None}


def _text(shape: Mapping[str, Any], name: str) -> str:
    value = shape.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is {value!r}, not a text")  # noqa: TRY004 -- as in _base64
    return value


def _optional(shape: Mapping[str, Any], name: str) -> str | None:
    return None if shape.get(name) is None else _text(shape, name)


def _mime_type(shape: Mapping[str, Any]) -> str | None:
    # The SDK's own objects and some hosts write it in Python's way.
    return _optional(shape, "mimeType") or _optional(shape, "mime_type")
