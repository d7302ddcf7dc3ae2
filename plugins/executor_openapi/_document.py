"""An OpenAPI description: read, and its references resolved. No reference to another document is ever followed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

MAX_DOCUMENT = 32 * 1024 * 1024  # bytes; the largest that are published have about 10 MB
MAX_REFERENCES = 50  # of references that lead to references


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
            found = f"version {version!r}" if version else f"Swagger {told['swagger']}" if "swagger" in told else "none"
            raise DocumentError(f"{where} is no description of OpenAPI 3.0 or 3.1 (it is {found})")
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
        servers = self.told.get("servers")
        first = servers[0] if isinstance(servers, list) and servers else None
        if not isinstance(first, Mapping) or not isinstance(first.get("url"), str):
            return None
        url: str = first["url"]
        variables = first.get("variables")
        for name, variable in variables.items() if isinstance(variables, Mapping) else ():
            default = variable.get("default", "") if isinstance(variable, Mapping) else ""
            url = url.replace(f"{{{name}}}", str(default))
        return url


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
    if plain.lstrip()[:1] in ("{", "["):
        raise DocumentError(f"{where}: line {problem.lineno}, column {problem.colno}: {problem.msg}")
    try:
        import yaml  # type: ignore[import-untyped, unused-ignore]  # it ships no types, and need not be installed
    except ImportError:
        raise DocumentError(
            f"{where} is no JSON (line {problem.lineno}: {problem.msg}); for YAML install PyYAML, or convert it"
        ) from None
    try:
        return json.loads(json.dumps(yaml.safe_load(plain), default=str))  # dates become text, keys too
    except (yaml.YAMLError, TypeError, ValueError) as error:
        raise DocumentError(f"{where} is no YAML: {error}") from error


def read(place: str, timeout: float) -> Document:
    """
    The description at a path or URL.

    Raises:
        DocumentError: It cannot be read or fetched, or `parse` refuses it.
    """
    if "://" in place:
        return parse(_fetch(place, timeout), _shown(place))
    path = Path(place).expanduser()
    try:
        return parse(path.read_bytes(), str(path))
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror or error}") from error


def _fetch(url: str, timeout: float) -> bytes:
    import httpx2

    found = bytearray()
    try:
        with httpx2.stream("GET", url, timeout=timeout, follow_redirects=False) as response:
            if response.status_code != 200:
                raise DocumentError(f"{_shown(url)} answered with HTTP {response.status_code}")
            for chunk in response.iter_bytes():
                found += chunk
                if len(found) > MAX_DOCUMENT:
                    raise DocumentError(f"{_shown(url)} has more than {MAX_DOCUMENT} bytes")
    except httpx2.HTTPError as error:
        raise DocumentError(f"{_shown(url)} cannot be fetched: {error or type(error).__name__}") from error
    return bytes(found)


def _shown(url: str) -> str:
    return urlsplit(url)._replace(query="", fragment="").geturl()
