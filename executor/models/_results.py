"""What is answered to a call: text, and what is no text in a form that APIs have words for."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

from executor._json import to_text
from executor.values._blocks import Audio, Image, Resource, blocks_of, text_of_blocks

if TYPE_CHECKING:
    from collections.abc import Collection

    from executor.values import JSON, Block

_T = TypeVar("_T")
NOT_RUN = "The call was not run"
NO_OUTPUT = "(no output)"
_NO_REASON = "Error: the tool failed without a reason"
_SAYS_SO = re.compile(
    r"error|exception|fail|denied|invalid|refused|not run|not found|unavailable|timed out|cancelled|interrupted",
    re.IGNORECASE,
)
_READ_TO = 400  # characters of a failure in which it has to call itself one
_LEAST_STRUCTURED = 1024  # characters: what is structured may be so long, however short its text

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_ALIASES = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "application/x-pdf": "application/pdf",
}
PDF = frozenset({"application/pdf"})


class Result(Protocol):
    """What `Request.answer` needs of a result; a `ToolResult` has it."""

    @property
    def call_id(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def is_error(self) -> bool: ...
    @property
    def blocks(self) -> Any: ...
    @property
    def structured(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Media:
    """
    An image, sound or file.

    Attributes:
        data: Its bytes in base64.
        uri: Where it comes from, or a name for it.
        words: What stands for it where it cannot be shown.
    """

    kind: Literal["image", "audio", "file"]
    mime_type: str
    data: str
    uri: str
    words: str

    @property
    def name(self) -> str:
        """A short name for it."""
        return self.uri.rstrip("/").rpartition("/")[2] or "file"

    @property
    def url(self) -> str:
        """It, as a ``data:`` URL."""
        return f"data:{self.mime_type};base64,{self.data}"


@dataclass(frozen=True, slots=True)
class Answer:
    """
    The answer to a call.

    Attributes:
        text: For the model; what is structured and the texts of the blocks are in it.
        media: What is no text.
        structured: The value as JSON, where it may stand for the text; else None.
    """

    text: str
    is_error: bool = False
    media: tuple[Media, ...] = ()
    structured: JSON = None

    def carried(self, mime_types: Collection[str] | None) -> tuple[Media, ...]:
        """The media of these types; of all types for None."""
        return tuple(each for each in self.media if mime_types is None or each.mime_type in mime_types)

    def words(self, carried: Collection[Media] = ()) -> str:
        """The text, never blank for an error; if it is blank, what stands for the media that are not *carried*."""
        if self.text.strip():
            return self.text
        left = "\n".join(each.words for each in self.media if each not in carried)
        return left or (_NO_REASON if self.is_error else "")

    def said(self, carried: Collection[Media] = ()) -> str:
        """`words` for APIs that have no mark for errors: the text of an error says that it is one."""
        words = self.words(carried)
        return words if not self.is_error or _SAYS_SO.search(words[:_READ_TO]) else f"Error: {words}"


MISSING = Answer(NOT_RUN, is_error=True)


def answer_of(result: Result) -> Answer:
    """
    The answer that is in a result.

    Raises:
        ValueError: It is no result.
    """
    try:
        content, is_error, given = result.content, result.is_error, getattr(result, "blocks", None)
    except AttributeError as error:
        raise ValueError(f"a {type(result).__name__} is no result: {error}") from error
    said = clean(content) if isinstance(content, str) else to_text(content) if content is not None else ""
    blocks = blocks_of(given) if given else ()
    if blocks and not said:
        said = clean(text_of_blocks(block for block in blocks if _media_of(block) is None))
    media = tuple(found for block in blocks if (found := _media_of(block)) is not None)
    structured = None if is_error else _structured_of(result, said)
    return Answer(said, bool(is_error), media, structured)


def clean(text: str) -> str:
    """The text as UTF-8 can hold it: a half of a surrogate pair would spoil the whole request."""
    if text.isascii():
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")  # the halves of one pair
    return joined.encode("utf-8", "replace").decode()


def sendable(tree: _T) -> _T:
    """What goes into a request, each text in it `clean`; it is itself where all of them are."""
    try:
        json.dumps(tree, ensure_ascii=False, skipkeys=True, default=lambda _: None).encode()
    except UnicodeEncodeError:
        return cast("_T", _cleaned(tree))
    except (ValueError, RecursionError):  # no JSON, whatever its texts are
        pass
    return tree


def _cleaned(tree: Any) -> Any:
    if isinstance(tree, str):
        return clean(tree)
    if isinstance(tree, dict):
        return {_cleaned(key): _cleaned(value) for key, value in tree.items()}
    return [_cleaned(each) for each in tree] if isinstance(tree, list | tuple) else tree


def _media_of(block: Block) -> Media | None:
    if isinstance(block, Image | Audio):
        if not block.data:
            return None  # APIs refuse a request for one
        sort: Literal["image", "audio"] = "image" if isinstance(block, Image) else "audio"
        return Media(sort, _named(block.mime_type), block.data, "", str(block))
    if not isinstance(block, Resource) or not block.blob:
        return None
    mime_type = _named(block.mime_type or "application/octet-stream")
    kind = mime_type.partition("/")[0]
    return Media(
        "image" if kind == "image" else "audio" if kind == "audio" else "file",
        mime_type,
        block.blob,
        block.uri,
        str(block),
    )


def _named(mime_type: str) -> str:
    """The type by the name that APIs know it by: servers write it in many ways."""
    name = mime_type.partition(";")[0].strip().lower()
    return _ALIASES.get(name, name)


def _structured_of(result: Result, said: str) -> JSON:
    """What is structured, unless the text is the better answer: it was cut, or the user has added something."""
    structured = getattr(result, "structured", None)
    permission = getattr(result, "permission", None)
    if structured is None or (permission and "comment" in permission):
        return None
    structured, text = _as_json(structured)
    return structured if len(text) <= max(len(said), _LEAST_STRUCTURED) else None


def _as_json(value: Any) -> tuple[JSON, str]:
    """What stands for *value* in a request, whatever it is, and its text."""
    text = to_text(value)
    try:
        if _encode(value) == text:
            return value, text
    except (ValueError, TypeError, RecursionError):  # no JSON has NaN, foreign objects, cycles
        pass
    try:
        found: JSON = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return text, text
    return found, text


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
