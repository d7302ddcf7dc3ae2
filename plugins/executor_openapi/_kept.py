"""What is kept of a description: what every start needs of all operations, and a record for each that is used."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor_openapi._bodies import Body, Part
from executor_openapi._document import DocumentError
from executor_openapi._operations import Operation, Parameter
from executor_openapi._records import in_memory, packed, read, write
from executor_openapi._schemes import Scheme

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from executor_openapi._records import Records, Table
    from executor_openapi._settings import Api

FORM = 3  # changes when the kept files' form does; older ones are then not read
UNREADABLE = (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Described:
    """
    What is used of a description.

    Attributes:
        server: Where the service is, as the description says; None where it does not.
        problems: Why operations cannot be used, by id.
    """

    server: str | None
    operations: Operations
    problems: Mapping[str, str] = field(default_factory=dict)
    schemes: Mapping[str, Scheme] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Made:
    """What is to be kept of a description; `Described` says what its parts are."""

    server: str | None
    operations: Sequence[Operation]
    problems: Mapping[str, str]
    schemes: Mapping[str, Scheme]


class Operations(Mapping[str, Operation]):
    """
    The operations by id. Each is made of its record when it is first looked up, from any thread: what two threads make
    at once is equal.

    Attributes:
        listed: What a model is told of each, but for its schemas: method, description and title, by id.
    """

    def __init__(self, index: Mapping[str, Any], records: Records) -> None:
        self._records = records
        columns = (index[name] for name in ("methods", "descriptions", "titles"))
        self.listed: dict[str, tuple[str, str, str | None]] = dict(
            zip(index["ids"], zip(*columns, strict=True), strict=True)
        )
        self._numbers = {name: number for number, name in enumerate(self.listed)}
        self._made: dict[str, Operation] = {}
        self._shared: dict[tuple[str, int], Any] = {}
        if len(self) != records.count("operations"):
            raise ValueError("the index has other operations than the records")

    def __getitem__(self, name: str) -> Operation:
        """Raises KeyError, and DocumentError: its record is not what it should be."""
        made = self._made.get(name)
        if made is None:
            number = self._numbers[name]
            try:
                made = self._made[name] = _operation(self._records.get("operations", number), self._schema)
            except UNREADABLE as error:
                raise DocumentError(
                    f"what was kept of the operation {name!r} cannot be read ({error}): the next start reads the "
                    "description anew"
                ) from error
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self.listed)

    def __len__(self) -> int:
        return len(self.listed)

    def _schema(self, told: Any) -> Any:
        made, number = told
        return made if number is None else {**made, "$defs": self._set(number)}

    def _set(self, number: int) -> Any:
        """What some operations refer to: one object for all of them."""
        key = ("sets", number)
        if key not in self._shared:
            found = {name: self._definition(each) for name, each in self._records.get(*key).items()}
            self._shared.setdefault(key, found)
        return self._shared[key]

    def _definition(self, number: int) -> Any:
        key = ("definitions", number)
        if key not in self._shared:
            self._shared.setdefault(key, self._records.get(*key))
        return self._shared[key]


class Kept:
    """
    What was kept of a description when it was last read. What cannot be read or written is not there.

    Args:
        folder: Where it is kept; None: nowhere.

    Attributes:
        found: What it came to, or None.
        stamp: What the description was like when it was read.
    """

    def __init__(self, api: Api, folder: Path | None) -> None:
        self._path: Path | None = None
        self.found: Described | None = None
        self.stamp: Mapping[str, Any] = {}
        if folder is None:
            return
        place = api.document if "://" in api.document else str(Path(api.document).expanduser().absolute())
        key = json.dumps([FORM, place, api.include, api.exclude, api.tags, api.methods, api.paths])
        self._path = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.jsonl"
        with contextlib.suppress(*UNREADABLE):
            head, index, records = read(self._path)
            if head["form"] == FORM and isinstance(head["stamp"], dict):
                self.found, self.stamp = _decoded(index, records), head["stamp"]

    @property
    def age(self) -> float:
        """Seconds since it was fetched, or was seen to be still the same."""
        try:
            age = time.time() - self._path.stat().st_mtime if self._path is not None else -1.0
        except OSError:
            age = -1.0
        return age if age >= 0 else float("inf")

    @property
    def tags(self) -> dict[str, str]:
        """What tells the place that it came from which one it is."""
        tags = self.stamp.get("tags")
        return tags if isinstance(tags, dict) else {}

    def touch(self) -> None:
        """The description is still the same."""
        if self._path is not None:
            with contextlib.suppress(OSError):
                os.utime(self._path)

    def write(self, made: Made, stamp: Mapping[str, Any]) -> Described:
        """Keep what was read. Returns it in the form in which it is used from now on."""
        index, table, records = _encoded(made)
        if self._path is not None:
            with contextlib.suppress(OSError):  # a full or read-only disk costs the next start a moment, and no more
                write(self._path, {"form": FORM, "stamp": stamp}, index, table, records)
        return _decoded(index, in_memory(table, records))


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


def _encoded(made: Made) -> tuple[dict[str, Any], Table, bytes]:
    """The index, the table of the records, and the records."""
    definitions, sets = _Shared(), _Shared()

    def schema(value: Any) -> Any:
        if not isinstance(value, dict) or "$defs" not in value:
            return [value, None]
        return [{key: item for key, item in value.items() if key != "$defs"}, sets.number(value["$defs"])]

    operations = [
        {**_plain(one), "input_schema": schema(one.input_schema), "output_schema": schema(one.output_schema)}
        for one in made.operations
    ]
    numbered = [{name: definitions.number(item) for name, item in found.items()} for found in sets.values]
    table, records = packed({"operations": operations, "sets": numbered, "definitions": definitions.values})
    index = {
        "server": made.server,
        "problems": dict(made.problems),
        "schemes": {name: asdict(scheme) for name, scheme in made.schemes.items()},
        **{column: [getattr(one, name) for one in made.operations] for column, name in _COLUMNS.items()},
    }
    return index, table, records


_COLUMNS = {"ids": "id", "methods": "method", "descriptions": "description", "titles": "title"}


def _decoded(index: Mapping[str, Any], records: Records) -> Described:
    """What `_encoded` has written. Raises, for something else, one of several errors."""
    schemes = {name: Scheme(**{**one, "scopes": tuple(one["scopes"])}) for name, one in index["schemes"].items()}
    return Described(index["server"], Operations(index, records), dict(index["problems"]), schemes)


def _plain(operation: Operation) -> dict[str, Any]:
    told = {name: getattr(operation, name) for name in ("id", "method", "path", "description", "title", "server")}
    told["security"] = operation.security
    told["parameters"] = [asdict(parameter) for parameter in operation.parameters]
    told["body"] = asdict(operation.body) if operation.body is not None else None
    return told


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
