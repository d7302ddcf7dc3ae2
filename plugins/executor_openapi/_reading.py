"""Where descriptions come from: files, URLs, and what is kept on disk of those that were read before."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from executor_openapi._bodies import Body, Part
from executor_openapi._document import DocumentError, parse
from executor_openapi._operations import Operation, Parameter, operations
from executor_openapi._schemes import Scheme, schemes_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor_openapi._document import Document
    from executor_openapi._settings import Api

MAX_DOCUMENT = 64 * 1024 * 1024  # bytes; the largest that are published have about 35 MB
FETCH_SECONDS = 30.0  # for a description that is a URL
FORM = 2  # changes when the kept files' form does; older ones are then not read


@dataclass(frozen=True, slots=True)
class Described:
    """
    What is used of a description.

    Attributes:
        server: Where the service is, as the description says; None where it does not.
        problems: Why operations cannot be used, by id.
    """

    server: str | None = None
    operations: Mapping[str, Operation] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    schemes: Mapping[str, Scheme] = field(default_factory=dict)


def described(api: Api, folder: Path | None) -> Described:
    """
    What a service offers: read anew only where the description has changed since it was read last.

    Args:
        folder: Where what was read is kept; None: nowhere.

    Raises:
        DocumentError: The description cannot be read or fetched, or is none.
    """
    kept = _Kept(api, folder)
    if "://" not in api.document:
        return _of_file(api, kept)
    if kept.found is not None and kept.age < api.refresh:
        return kept.found
    try:
        fetched = _fetch(api.document, kept.tags if kept.found is not None else {})
    except DocumentError as error:
        if kept.found is None:
            raise
        told = {**kept.found.problems, "the description": f"{error}; the one that was fetched before is used"}
        return replace(kept.found, problems=told)
    if fetched is None:
        assert kept.found is not None, "only then it was asked whether it has changed"
        kept.touch()
        return kept.found
    body, tags = fetched
    return kept.write(_made(api, parse(body, shown(api.document))), {"at": time.time(), "tags": tags})


def _of_file(api: Api, kept: _Kept) -> Described:
    path = Path(api.document).expanduser()
    try:
        status = path.stat()
        if kept.found is not None and kept.stamp.get("file") == [status.st_mtime_ns, status.st_size]:
            return kept.found
        document = parse(path.read_bytes(), str(path))
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror or error}") from error
    return kept.write(_made(api, document), {"file": [status.st_mtime_ns, status.st_size]})


def _made(api: Api, document: Document) -> Described:
    made: dict[str, Operation] = {}
    problems: dict[str, str] = {}
    for found in operations(document, api):
        if isinstance(found, Operation):
            made[found.id] = found
        else:
            problems[found[0]] = found[1]
    for name in api.include:
        if not any(character in name for character in "*?[") and name not in made:
            problems.setdefault(name, "the description has no operation of this id")
    return Described(document.first_server(), made, problems, schemes_of(document))


class _Kept:
    """
    What was kept of a description when it was last read. What cannot be read or written is not there.

    Attributes:
        found: What it came to, or None.
    """

    def __init__(self, api: Api, folder: Path | None) -> None:
        self._path: Path | None = None
        self._told: dict[str, Any] = {}
        self.found: Described | None = None
        if folder is None:
            return
        place = api.document if "://" in api.document else str(Path(api.document).expanduser().absolute())
        key = json.dumps([FORM, place, api.include, api.exclude, api.tags, api.methods, api.paths])
        self._path = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
            told = json.loads(self._path.read_bytes())
            if told["form"] == FORM:
                self.found, self._told = _decoded(told), told

    @property
    def stamp(self) -> dict[str, Any]:
        """What the description was like when it was read."""
        stamp = self._told.get("stamp")
        return stamp if isinstance(stamp, dict) else {}

    @property
    def age(self) -> float:
        """Seconds since it was fetched."""
        at = self.stamp.get("at")
        age = time.time() - at if isinstance(at, int | float) else float("inf")
        return age if age >= 0 else float("inf")

    @property
    def tags(self) -> dict[str, str]:
        tags = self.stamp.get("tags")
        return tags if isinstance(tags, dict) else {}

    def touch(self) -> None:
        """The description is still the same."""
        self._write({**self._told, "stamp": {**self.stamp, "at": time.time()}})

    def write(self, made: Described, stamp: Mapping[str, Any]) -> Described:
        """Keep what was read. Returns it."""
        if self._path is not None:
            self._write({"form": FORM, "stamp": stamp, **_encoded(made)})
        return made

    def _write(self, told: Mapping[str, Any]) -> None:
        if self._path is None:
            return
        with contextlib.suppress(OSError):  # a full or read-only disk costs the next start a moment, and no more
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    json.dump(told, file, separators=(",", ":"), default=str)
                Path(name).replace(self._path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise


class _Shared:
    """Numbers for what several schemas share, so that it is written once."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self.values: list[Any] = []

    def number(self, value: Any) -> int:
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.values)
            self.values.append(value)
        return number


def _encoded(made: Described) -> dict[str, Any]:
    definitions, sets = _Shared(), _Shared()

    def schema(value: Any) -> Any:
        if not isinstance(value, dict) or "$defs" not in value:
            return [value, None]
        return [{key: item for key, item in value.items() if key != "$defs"}, sets.number(value["$defs"])]

    told = [
        {
            **_plain(operation),
            "input_schema": schema(operation.input_schema),
            "output_schema": schema(operation.output_schema),
        }
        for operation in made.operations.values()
    ]
    numbered = [{name: definitions.number(item) for name, item in found.items()} for found in sets.values]
    return {
        "server": made.server,
        "operations": told,
        "problems": dict(made.problems),
        "schemes": {name: asdict(scheme) for name, scheme in made.schemes.items()},
        "sets": numbered,
        "definitions": definitions.values,
    }


def _plain(operation: Operation) -> dict[str, Any]:
    told = {name: getattr(operation, name) for name in ("id", "method", "path", "description", "title", "server")}
    told["security"] = operation.security
    told["parameters"] = [asdict(parameter) for parameter in operation.parameters]
    told["body"] = asdict(operation.body) if operation.body is not None else None
    return told


def _decoded(told: Mapping[str, Any]) -> Described:
    definitions = told["definitions"]
    sets = [{name: definitions[number] for name, number in found.items()} for found in told["sets"]]

    def schema(value: Any) -> Any:
        made, number = value
        return made if number is None else {**made, "$defs": sets[number]}

    made = [_operation(one, schema) for one in told["operations"]]
    schemes = {name: Scheme(**{**one, "scopes": tuple(one["scopes"])}) for name, one in told["schemes"].items()}
    return Described(told["server"], {one.id: one for one in made}, dict(told["problems"]), schemes)


def _operation(told: Mapping[str, Any], schema: Any) -> Operation:
    body = told["body"]
    if body is not None:
        parts = {name: Part(**part) for name, part in body["parts"].items()} if body["parts"] is not None else None
        fields = tuple(body["fields"]) if body["fields"] is not None else None
        body = Body(**{**body, "fields": fields, "parts": parts})
    security = told["security"]
    return Operation(
        **{
            **told,
            "parameters": tuple(Parameter(**parameter) for parameter in told["parameters"]),
            "body": body,
            "input_schema": schema(told["input_schema"]),
            "output_schema": schema(told["output_schema"]),
            "security": None if security is None else tuple(tuple(one) for one in security),
        }
    )


def where(api: Api, found: Described) -> str:
    """
    Where the service is.

    Raises:
        DocumentError: The description does not say, or says another place than its own.
    """
    if api.server is not None:
        return api.server
    told = found.server
    if "://" in api.document:
        # What was fetched may not send us elsewhere.
        there = urljoin(api.document, told or "/")
        if urlsplit(there)[:2] != urlsplit(api.document)[:2]:
            raise DocumentError(f"it says that the service is at {there}: configure that as `server` if it is meant")
        return there
    if told is None or urlsplit(told).scheme not in ("http", "https"):
        raise DocumentError(f"{api.document} does not say where the service is: configure its `server`")
    return told


def where_of(api: Api, server: str, operation: Operation) -> str:
    """Where one operation is; a place of its own counts only where the description, a file, may say where calls go."""
    told = operation.server
    if told is None or api.server is not None:
        return server
    there = urljoin(f"{server.rstrip('/')}/", told)
    same = urlsplit(there)[:2] == urlsplit(server)[:2]
    if same or ("://" not in api.document and urlsplit(there).scheme == "https"):
        return there
    raise DocumentError(f"it says that this operation is at {there}: configure that as `server` if it is meant")


def _fetch(url: str, tags: Mapping[str, str]) -> tuple[bytes, dict[str, str]] | None:
    """The description at a URL, and what tells whether it changed; None where *tags* say that it did not."""
    import httpx2

    found = bytearray()
    try:
        with httpx2.stream("GET", url, headers=dict(tags), timeout=FETCH_SECONDS, follow_redirects=False) as response:
            if response.status_code == 304 and tags:
                return None
            if response.status_code != 200:
                raise DocumentError(f"{shown(url)} answered with HTTP {response.status_code}")
            for chunk in response.iter_bytes():
                found += chunk
                if len(found) > MAX_DOCUMENT:
                    raise DocumentError(f"{shown(url)} has more than {MAX_DOCUMENT} bytes")
    except httpx2.HTTPError as error:
        raise DocumentError(f"{shown(url)} cannot be fetched: {error or type(error).__name__}") from error
    named = {"If-None-Match": response.headers.get("etag"), "If-Modified-Since": response.headers.get("last-modified")}
    return bytes(found), {name: value for name, value in named.items() if value}


def shown(url: str) -> str:
    """A URL as it may be shown: without query and fragment."""
    return urlsplit(url)._replace(query="", fragment="").geturl()
