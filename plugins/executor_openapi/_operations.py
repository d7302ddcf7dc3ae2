"""From the operations of a description to what a tool of ours needs of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from executor_openapi._bodies import Body, body_of, unused
from executor_openapi._document import DocumentError, server_of
from executor_openapi._schemas import Converter
from executor_openapi._schemes import requirements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from executor_openapi._document import Document
    from executor_openapi._settings import Api

METHODS = ("get", "put", "post", "delete", "options", "head", "patch")  # "trace" would only echo our secrets
# OpenAPI: definitions of the first three shall be ignored. The others say where a request goes, and where it ends.
# fmt: off  -- a word list, read by the line
_OURS = frozenset(
    {
        "accept",
        "content-type",
        "authorization",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# fmt: on
_VARIABLE = re.compile(r"\{([^{}/]+)\}")
_ODD = re.compile(r"[^A-Za-z0-9_.-]+")
_STYLES = ("form", "simple", "spaceDelimited", "pipeDelimited", "deepObject", "label", "matrix")

Place: TypeAlias = Literal["path", "query", "header", "cookie"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    One parameter of an operation.

    Attributes:
        argument: The tool's argument that it is given by.
        style: How lists and objects are written: OpenAPI's names.
        as_json: It is written as JSON, whatever it is.
        reserved: Reserved characters are written as they are.
    """

    argument: str
    name: str
    place: Place
    style: str
    explode: bool
    as_json: bool = False
    reserved: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """
    One operation: what a model is told of it, and how it is called.

    Attributes:
        server: Where it is, if not where the others are.
        security: The ways in which a request may say who calls, each the names of schemes that belong together; an
            empty way is none at all. None: the description does not say.
    """

    id: str
    method: str
    path: str
    parameters: tuple[Parameter, ...]
    body: Body | None
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | bool | None
    description: str
    title: str | None
    server: str | None = None
    security: tuple[tuple[str, ...], ...] | None = None


def operations(document: Document, api: Api) -> Iterator[Operation | tuple[str, str]]:
    """Every operation that *api* wants; for one that cannot be used its id and the reason."""
    maker = _Maker(document)
    seen: set[str] = set()
    for path, item in document.told.get("paths", {}).items():
        if str(path).startswith("x-"):
            continue
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
            tags = told.get("tags")
            if not api.wants(name, method, str(path), tags if isinstance(tags, list) else []):
                continue
            if name in seen:
                yield name, f"{method.upper()} {path} has the id of another operation"
                continue
            found = maker.attempt(name, method, str(path), shared, told)
            yield found
            if isinstance(found, Operation):
                seen.add(name)


def _id(told: Mapping[str, Any], method: str, path: str) -> str:
    named = told.get("operationId")
    wanted = _ODD.sub("_", named).strip("_") if isinstance(named, str) else ""
    # A name of which nothing is left, for it is in another script, would be the same for all.
    return wanted or _ODD.sub("_", f"{method}{path}").strip("_") or method


class _Maker:
    """Makes the operations of one document, which share what they refer to."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._request = Converter(document, "request")
        self._response = Converter(document, "response")

    def attempt(
        self, name: str, method: str, path: str, shared: Mapping[str, Any], told: Mapping[str, Any]
    ) -> Operation | tuple[str, str]:
        """The operation, or its id and why there is none."""
        try:
            return self.operation(name, method, path, shared, told)
        except DocumentError as error:
            return name, str(error)
        except (TypeError, AttributeError, ValueError, RecursionError) as error:
            return name, f"its description is malformed: {error}"

    def operation(
        self, name: str, method: str, path: str, shared: Mapping[str, Any], told: Mapping[str, Any]
    ) -> Operation:
        document, converter = self._document, self._request
        converter.begin()
        properties: dict[str, Any] = {}
        required: list[str] = []
        parameters = []
        for parameter, argument in _arguments(_parameters(document, path, shared, told)):
            made, properties[argument] = _parameter(converter, parameter, argument)
            parameters.append(made)
            if parameter.get("required") is True or made.place == "path":
                required.append(argument)
        body = body_of(document, converter, told, properties, required)
        summary = told.get("summary") or shared.get("summary")
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        if required:
            schema["required"] = list(dict.fromkeys(required))
        return Operation(
            id=name,
            method=method.upper(),
            path=path,
            parameters=tuple(parameters),
            body=body,
            input_schema=converter.with_definitions(schema),
            output_schema=self._output(told),
            description=_description(method, path, summary, told),
            title=str(summary) if summary else None,
            server=server_of(told) or server_of(shared),
            security=requirements(told.get("security", document.told.get("security"))),
        )

    def _output(self, told: Mapping[str, Any]) -> Mapping[str, Any] | bool | None:
        """The schema of what a success answers, where the description leaves no doubt and it is not too long."""
        try:
            schema = _success(self._document, told.get("responses"))
            converted = None if schema is None else self._response.whole(schema)
        except DocumentError:
            return None  # the operation can be called all the same
        return converted if isinstance(converted, dict | bool) else None


def _description(method: str, path: str, summary: object, told: Mapping[str, Any]) -> str:
    parts = [str(part).strip() for part in (summary, told.get("description")) if part]
    if told.get("deprecated") is True:
        parts.append("Deprecated.")
    return "\n\n".join(dict.fromkeys(parts)) or f"{method.upper()} {path}"


def _parameters(
    document: Document, path: str, shared: Mapping[str, Any], told: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """The parameters of the operation and of its path, each resolved; those of the operation win."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for source in (shared.get("parameters"), told.get("parameters")):
        for value in source if isinstance(source, list) else ():
            parameter = document.resolve(value)
            place = parameter.get("in") if isinstance(parameter, Mapping) else None
            if place not in ("path", "query", "header", "cookie") or not isinstance(parameter.get("name"), str):
                raise DocumentError(f"a parameter is in {place!r}: path, query, header and cookie are known")
            if place == "header" and parameter["name"].lower() in _OURS:
                continue
            found[place, parameter["name"]] = parameter
    for name in dict.fromkeys(_VARIABLE.findall(path)):  # some forget to describe what is in their paths
        found.setdefault(("path", name), {"name": name, "in": "path", "schema": {"type": "string"}})
    return list(found.values())


def _arguments(found: list[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Each parameter with the argument that it is given by: its name, and where it is if that is not enough."""
    places = Counter(str(parameter["name"]) for parameter in found)
    taken = {name for name, count in places.items() if count == 1}
    for parameter in found:
        argument = str(parameter["name"])
        if places[argument] > 1:
            argument = unused(f"{parameter['in']}_{argument}", taken)
            taken.add(argument)
        yield parameter, argument


def _parameter(converter: Converter, told: Mapping[str, Any], argument: str) -> tuple[Parameter, dict[str, Any]]:
    place = cast("Place", told["in"])
    content = told.get("content")
    as_json = isinstance(content, Mapping) and bool(content)
    media = next(iter(content.values())) if isinstance(content, Mapping) and content else told
    schema = media.get("schema", {}) if isinstance(media, Mapping) else {}
    converted = converter.convert(schema)
    made = dict(converted) if isinstance(converted, Mapping) else {}
    if told.get("description"):
        made["description"] = str(told["description"])
    style = str(told.get("style") or ("form" if place in ("query", "cookie") else "simple"))
    if style not in _STYLES:
        raise DocumentError(f"the parameter {told['name']!r} has the style {style!r}, which is not known")
    explode = bool(told.get("explode", style in ("form", "deepObject")))
    return Parameter(argument, told["name"], place, style, explode, as_json, told.get("allowReserved") is True), made


def _success(document: Document, responses: Any) -> Any:
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
    return media.get("schema") if isinstance(media, Mapping) else None
