"""From the operations of a description to what a tool of ours needs of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from executor_openapi._document import DocumentError
from executor_openapi._schemas import Converter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor_openapi._document import Document

METHODS = ("get", "put", "post", "delete", "options", "head", "patch")  # "trace" would only echo our secrets
_ODD = re.compile(r"[^A-Za-z0-9_.-]+")

Place: TypeAlias = Literal["path", "query", "header", "cookie"]
BodyKind: TypeAlias = Literal["json", "form", "text"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    One parameter of an operation.

    Attributes:
        argument: The tool's argument that it is given by.
        style: How lists and objects are written: OpenAPI's names.
        as_json: It is written as JSON, whatever it is.
    """

    argument: str
    name: str
    place: Place
    style: str
    explode: bool
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """
    The body of an operation's request.

    Attributes:
        fields: The arguments that together are the body; None: the argument `argument` is all of it.
    """

    kind: BodyKind
    content_type: str
    argument: str = "body"
    fields: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: what a model is told of it, and how it is called."""

    id: str
    method: str
    path: str
    parameters: tuple[Parameter, ...]
    body: Body | None
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | bool | None
    description: str
    title: str | None


def operations(document: Document) -> Iterator[Operation | tuple[str, str]]:
    """Every operation; for one that cannot be used its id and the reason."""
    seen: set[str] = set()
    for path, item in document.told.get("paths", {}).items():
        try:
            shared = document.resolve(item)
        except DocumentError as error:
            yield str(path), str(error)
            continue
        for method in METHODS:
            told = shared.get(method) if isinstance(shared, Mapping) else None
            if not isinstance(told, Mapping):
                continue
            name = _id(told, method, str(path))
            if name in seen:
                yield name, f"{method.upper()} {path} has the id of another operation"
                continue
            try:
                yield _operation(document, name, method, str(path), shared, told)
            except DocumentError as error:
                yield name, str(error)
            else:
                seen.add(name)


def _id(told: Mapping[str, Any], method: str, path: str) -> str:
    named = told.get("operationId")
    wanted = named if isinstance(named, str) and named else f"{method}{path}"
    return _ODD.sub("_", wanted).strip("_") or method


def _operation(
    document: Document, name: str, method: str, path: str, shared: Mapping[str, Any], told: Mapping[str, Any]
) -> Operation:
    converter = Converter(document, "request")
    properties: dict[str, Any] = {}
    required: list[str] = []
    found = _parameters(document, shared, told)
    places: dict[str, int] = {}
    for parameter in found:
        places[parameter["name"]] = places.get(parameter["name"], 0) + 1
    parameters = []
    for parameter in found:
        twice = places[parameter["name"]] > 1
        argument = f"{parameter['in']}_{parameter['name']}" if twice else str(parameter["name"])
        made, properties[argument] = _parameter(converter, parameter, argument)
        parameters.append(made)
        if parameter.get("required") is True or made.place == "path":
            required.append(argument)
    body = _body(document, converter, told, properties, required)
    summary = told.get("summary") or shared.get("summary")
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    return Operation(
        id=name,
        method=method.upper(),
        path=path,
        parameters=tuple(parameters),
        body=body,
        input_schema=converter.with_definitions(schema),
        output_schema=_output(document, told),
        description=_description(method, path, summary, told),
        title=str(summary) if summary else None,
    )


def _description(method: str, path: str, summary: object, told: Mapping[str, Any]) -> str:
    parts = [str(part).strip() for part in (summary, told.get("description")) if part]
    if told.get("deprecated") is True:
        parts.append("Deprecated.")
    return "\n\n".join(dict.fromkeys(parts)) or f"{method.upper()} {path}"


def _parameters(document: Document, shared: Mapping[str, Any], told: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parameters of the operation and of its path, each resolved; those of the operation win."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for source in (shared.get("parameters"), told.get("parameters")):
        for value in source if isinstance(source, list) else ():
            parameter = document.resolve(value)
            place = parameter.get("in") if isinstance(parameter, Mapping) else None
            if place not in ("path", "query", "header", "cookie") or not isinstance(parameter.get("name"), str):
                raise DocumentError(f"a parameter is in {place!r}: path, query, header and cookie are known")
            if place == "header" and parameter["name"].lower() in ("accept", "content-type", "authorization"):
                continue  # OpenAPI: such definitions shall be ignored
            found[place, parameter["name"]] = parameter
    return list(found.values())


def _parameter(converter: Converter, told: Mapping[str, Any], argument: str) -> tuple[Parameter, dict[str, Any]]:
    place: Place = told["in"]
    content = told.get("content")
    as_json = isinstance(content, Mapping) and bool(content)
    media = next(iter(content.values())) if isinstance(content, Mapping) and content else told
    schema = media.get("schema", {}) if isinstance(media, Mapping) else {}
    converted = converter.convert(schema)
    made = dict(converted) if isinstance(converted, Mapping) else {}
    if told.get("description"):
        made["description"] = str(told["description"])
    style = str(told.get("style") or ("form" if place in ("query", "cookie") else "simple"))
    if style not in ("form", "simple", "spaceDelimited", "pipeDelimited", "deepObject"):
        raise DocumentError(f"the parameter {told['name']!r} has the style {style!r}, which is not supported")
    explode = bool(told.get("explode", style == "form"))
    return Parameter(argument, told["name"], place, style, explode, as_json), made


def _body(
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
    schema = content[content_type].get("schema", {}) if isinstance(content[content_type], Mapping) else {}
    if kind == "text":
        schema = {"type": "string"}
    is_required = request.get("required") is True
    if kind == "text" or not _can_be_merged(document, schema, properties):
        argument = "body" if "body" not in properties else "request_body"
        converted = converter.convert(schema)
        made = dict(converted) if isinstance(converted, Mapping) else {}
        if request.get("description"):
            made.setdefault("description", str(request["description"]))
        properties[argument] = made
        if is_required:
            required.append(argument)
        return Body(kind, content_type, argument)
    merged = converter.convert(document.resolve(schema))
    properties.update(merged["properties"])
    if is_required:
        required += [name for name in merged.get("required", ()) if name in merged["properties"]]
    return Body(kind, content_type, fields=tuple(merged["properties"]))


def _kind(content: Mapping[str, Any]) -> tuple[BodyKind, str]:
    for content_type in content:
        plain = content_type.partition(";")[0].strip().lower()
        if plain == "application/json" or plain.endswith("+json") or plain == "*/*":
            return "json", content_type
    for content_type in content:
        plain = content_type.partition(";")[0].strip().lower()
        if plain == "application/x-www-form-urlencoded":
            return "form", content_type
        if plain.startswith("text/"):
            return "text", content_type
    raise DocumentError(f"its request is of the type {', '.join(content)}, which is not supported")


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


def _output(document: Document, told: Mapping[str, Any]) -> Mapping[str, Any] | bool | None:
    """The schema of what a success answers, where the description leaves no doubt."""
    responses = told.get("responses")
    successes = {
        str(status): answer
        for status, answer in (responses.items() if isinstance(responses, Mapping) else ())
        if str(status).startswith("2")
    }
    if len(successes) != 1:
        return None
    answer = document.resolve(next(iter(successes.values())))
    content = answer.get("content") if isinstance(answer, Mapping) else None
    if not isinstance(content, Mapping) or len(content) != 1:
        return None
    content_type, media = next(iter(content.items()))
    plain = content_type.partition(";")[0].strip().lower()
    if plain != "application/json" and not plain.endswith("+json"):
        return None
    schema = media.get("schema") if isinstance(media, Mapping) else None
    if schema is None:
        return None
    converted = Converter(document, "response").whole(schema)
    return converted if isinstance(converted, dict | bool) else None
