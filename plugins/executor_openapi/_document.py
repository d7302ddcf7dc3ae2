"""An OpenAPI description: read, and its references resolved. No reference to another document is ever followed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

MAX_REFERENCES = 50  # of references that lead to references
MAX_ALIASED = (
    1 << 24
)  # characters that the aliases of YAML may add to a description: a few lines can stand for terabytes


class DocumentError(ValueError):
    """Why a description, or a part of it, cannot be used."""


class Document:
    """
    A description of OpenAPI 3.0 or 3.1.

    Attributes:
        version: ``3.0`` or ``3.1``.
    """

    def __init__(self, told: Mapping[str, Any], where: str) -> None:
        version = told.get("openapi")
        if not isinstance(version, str) or not version.startswith(("3.0", "3.1")):
            raise DocumentError(_what_it_is(told, version, where))
        if not isinstance(told.get("paths", {}), Mapping):
            raise DocumentError(f'{where}: "paths" is no object')
        self.told = told
        self.where = where
        self.version = version[:3]

    def resolve(self, value: Any) -> Any:
        """
        *value*, or what it refers to.

        Raises:
            DocumentError: The reference leads nowhere, in a circle, or to another document.
        """
        seen: list[object] = []
        while isinstance(value, Mapping) and "$ref" in value:
            reference = value["$ref"]
            if reference in seen or len(seen) > MAX_REFERENCES:
                raise DocumentError(f"the reference {reference!r} leads in a circle")
            seen.append(reference)
            value = self.at(reference)
        return value

    def at(self, reference: object) -> Any:
        """What stands at ``#/…``; raises as `resolve` does."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise DocumentError(f"it refers to another document ({reference!r}), and none is ever fetched: bundle them")
        found: Any = self.told
        for part in reference[1:].split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and key.isdigit() and int(key) < len(found):
                found = found[int(key)]
            elif isinstance(found, Mapping) and key in found:
                found = found[key]
            else:
                raise DocumentError(f"the reference {reference!r} leads nowhere")
        return found

    def first_server(self) -> str | None:
        """The first server, with its variables at their defaults, or None."""
        return server_of(self.told)


def server_of(told: Mapping[str, Any]) -> str | None:
    """The first server of a document, path or operation, with its variables at their defaults, or None."""
    servers = told.get("servers")
    first = servers[0] if isinstance(servers, list) and servers else None
    if not isinstance(first, Mapping) or not isinstance(first.get("url"), str):
        return None
    url: str = first["url"]
    variables = first.get("variables")
    for name, variable in variables.items() if isinstance(variables, Mapping) else ():
        default = variable.get("default", "") if isinstance(variable, Mapping) else ""
        url = url.replace(f"{{{name}}}", str(default))
    return url


def _what_it_is(told: Mapping[str, Any], version: object, where: str) -> str:
    if "swagger" in told:
        return (
            f"{where} is Swagger {told['swagger']}, which is not read: convert it to OpenAPI 3, for instance with "
            "'npx swagger2openapi FILE'"
        )
    found = f"version {version!r}" if version else "none"
    return f"{where} is no description of OpenAPI 3.0 or 3.1 (it is {found})"


def parse(text: str | bytes, where: str) -> Document:
    """
    The description in *text*: JSON, or YAML where PyYAML is installed.

    Raises:
        DocumentError: It is neither, or no description that is understood; the message says where.
    """
    try:
        told = json.loads(text)
    except (UnicodeDecodeError, RecursionError) as error:
        raise DocumentError(f"{where} cannot be read: {error}") from error
    except json.JSONDecodeError as error:
        told = _yaml(text, where, error)
    if not isinstance(told, Mapping):
        raise DocumentError(f"{where} is no description of OpenAPI: it is a {type(told).__name__}")
    return Document(told, where)


def _yaml(text: str | bytes, where: str, problem: json.JSONDecodeError) -> Any:
    plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    begins = plain.lstrip("\ufeff \t\r\n")[:1]
    if begins == "<":
        raise DocumentError(f"{where} is XML or HTML: a description of OpenAPI is JSON or YAML")
    if begins in ("{", "["):
        raise DocumentError(f"{where}: line {problem.lineno}, column {problem.colno}: {problem.msg}")
    try:
        import yaml  # type: ignore[import-untyped, unused-ignore]  # it ships no types, and need not be installed
    except ImportError:
        raise DocumentError(
            f"{where} is no JSON (line {problem.lineno}: {problem.msg}); for YAML: pip install 'toolexec[yaml]'"
        ) from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it was built
    try:
        told = _loaded(loader(plain), len(plain) + MAX_ALIASED)
        return json.loads(json.dumps(told, default=str))  # dates become text, keys too
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        raise DocumentError(f"{where} is no YAML: {error}") from error


def _loaded(loader: Any, most: int) -> Any:
    """The value that a loader reads. Raises ValueError: with its aliases written out it is longer than *most*."""
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        if _length(node, {}) > most:
            raise ValueError("its aliases make it too long, or one of them holds itself")
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _length(node: Any, known: dict[int, float]) -> float:
    """How long a node of YAML is, its aliases written out, each of which is looked at once."""
    if id(node) not in known:
        known[id(node)] = math.inf  # while it is looked at: of what holds itself
        text = isinstance(node.value, str)
        inner: float = len(node.value) if text else 0
        for item in () if text else node.value:
            for part in item if isinstance(item, tuple) else (item,):  # of a mapping each is a pair
                inner += _length(part, known)
        known[id(node)] = 1 + inner
    return known[id(node)]
