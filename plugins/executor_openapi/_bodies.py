"""The bodies of requests: from the description of one to the arguments that it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from executor_openapi._document import DocumentError

if TYPE_CHECKING:
    from collections.abc import Container

    from executor_openapi._document import Document
    from executor_openapi._schemas import Converter

BodyKind: TypeAlias = Literal["json", "form", "multipart", "text", "bytes"]
AS_TEXT = "As text; base64:… for bytes."


@dataclass(frozen=True, slots=True)
class Part:
    """
    How one property of a form or multipart body is written.

    Attributes:
        style: As of a parameter; empty where the description does not say.
        content_type: Of a part; empty where the description does not say.
        binary: It is bytes, sent as a file.
    """

    style: str = ""
    explode: bool = True
    content_type: str = ""
    binary: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """
    The body of an operation's request.

    Attributes:
        fields: The arguments that together are the body; None: the argument `argument` is all of it.
        parts: How properties are written, for those of which there is anything to say.
        required: Whether it is sent although none of its fields is given.
    """

    kind: BodyKind
    content_type: str
    argument: str = "body"
    fields: tuple[str, ...] | None = None
    parts: Mapping[str, Part] | None = None
    required: bool = False


def unused(wanted: str, taken: Container[str]) -> str:
    """*wanted*, or with a number after it where that is taken."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def body_of(
    document: Document, converter: Converter, told: Mapping[str, Any], properties: dict[str, Any], required: list[str]
) -> Body | None:
    """The request's body; its arguments are added to *properties* and *required*."""
    if told.get("requestBody") is None:
        return None
    request = document.resolve(told["requestBody"])
    content = request.get("content") if isinstance(request, Mapping) else None
    if not isinstance(content, Mapping) or not content:
        return None
    kind, content_type = _kind(content)
    media = content[content_type] if isinstance(content[content_type], Mapping) else {}
    schema = media.get("schema", {})
    if kind in ("text", "bytes"):
        schema = {"type": "string", "description": AS_TEXT} if kind == "bytes" else {"type": "string"}
    is_required = request.get("required") is True
    parts = _parts(document, schema, media.get("encoding")) if kind in ("form", "multipart") else None
    if kind in ("text", "bytes") or not _can_be_merged(document, schema, properties):
        argument = unused("body" if "body" not in properties else "request_body", properties)
        converted = converter.convert(schema)
        made = dict(converted) if isinstance(converted, Mapping) else {}
        if request.get("description"):
            made.setdefault("description", str(request["description"]))
        properties[argument] = made
        if is_required:
            required.append(argument)
        return Body(kind, content_type, argument, parts=parts)
    merged = converter.convert(document.resolve(schema))
    properties.update(merged["properties"])
    if is_required:
        required += [name for name in merged.get("required", ()) if name in merged["properties"]]
    return Body(kind, content_type, fields=tuple(merged["properties"]), parts=parts, required=is_required)


def _kind(content: Mapping[str, Any]) -> tuple[BodyKind, str]:
    """The kind of the body that is sent, of those that may be; JSON before all others."""
    plain = {content_type: str(content_type).partition(";")[0].strip().lower() for content_type in content}
    for content_type, kind in plain.items():
        if kind == "application/json" or kind.endswith("+json") or kind == "*/*":
            return "json", content_type
    for content_type, kind in plain.items():
        if kind == "application/x-www-form-urlencoded":
            return "form", content_type
        if kind == "multipart/form-data":
            return "multipart", content_type
        if kind.startswith("text/") and kind != "text/xml":
            return "text", content_type
    for content_type, kind in plain.items():
        if not kind.endswith(("/xml", "+xml")):
            return "bytes", content_type  # what nobody here knows is sent as it is given
    raise DocumentError(f"its request is of the type {', '.join(content)}, and XML is not written here")


def _can_be_merged(document: Document, schema: Any, taken: Mapping[str, Any]) -> bool:
    """Whether the body's properties can be arguments of their own."""
    plain = document.resolve(schema)
    properties = plain.get("properties") if isinstance(plain, Mapping) else None
    if not isinstance(properties, Mapping) or not properties or any(name in taken for name in properties):
        return False
    # Alternatives, and properties without a name, cannot be taken apart without losing what they say.
    if any(key in plain for key in ("allOf", "anyOf", "oneOf", "not", "if", "patternProperties")):
        return False
    return plain.get("additionalProperties") in (None, False) and plain.get("nullable") is not True


def _parts(document: Document, schema: Any, encoding: Any) -> dict[str, Part]:
    plain = document.resolve(schema)
    properties = plain.get("properties") if isinstance(plain, Mapping) else None
    told = encoding if isinstance(encoding, Mapping) else {}
    found = {}
    for name, value in properties.items() if isinstance(properties, Mapping) else ():
        given = told.get(name)
        one: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        style = str(one.get("style") or "")
        part = Part(
            style=style,
            explode=bool(one.get("explode", style in ("", "form", "deepObject"))),
            content_type=str(one.get("contentType") or "").partition(",")[0].strip(),
            binary=_is_binary(document, value),
        )
        if part != Part():
            found[str(name)] = part
    return found


def _is_binary(document: Document, schema: Any) -> bool:
    plain = document.resolve(schema)
    if isinstance(plain, Mapping) and plain.get("type") == "array":
        plain = document.resolve(plain.get("items"))
    if not isinstance(plain, Mapping):
        return False
    return (
        plain.get("format") == "binary" or "contentMediaType" in plain or plain.get("contentEncoding") == "binary"
    ) and plain.get("type", "string") in ("string", ["string"], "file")
