"""
What stands at the head of modules and classes, told line by line: what a change of it changes is seen in a review.

    python -m tests.known_tables     # writes known_tables.txt anew, to be read before it is committed

These are tables, patterns and texts; what may be left out of a dataclass, and how its fields are compared; the members
of enumerations. Of the tables of options `tests.plugins.permissions.known_safe` tells what they allow, and the numbers
that were chosen for the executor stand in `tests.test_modules`.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import executor
import executor_permissions
from executor_permissions.judge.options import _tables

FILE = Path(__file__).with_suffix(".txt")
ROOMS = (
    "values",
    "threads",
    "calls",
    "tools",
    "run",
    "background",
    "engines",
    "registry",
    "records",
    "tasks",
    "permission",
)
_OPTIONS = {f"executor_permissions.judge.options.{name}" for name in (*_tables.FAMILIES, "_git_reads", "_git_writes")}
_TABLES = (str, bytes, int, float, re.Pattern, tuple, list, dict, frozenset, set)
_MANY = (tuple, list, dict, frozenset, set)
_STATE = ("{}", "()", "[]", "set()")  # what is empty at first is filled while it runs
_EXPORTS = ("__all__", "_names")  # `tests.test_surface` has them
_WIDTH = 110


def lines() -> Iterator[str]:
    """One line for each, and for what is long one for each of its members."""
    for package in (executor, executor_permissions):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if _is_told(found.name):
                yield from _of_module(importlib.import_module(found.name))


def _is_told(name: str) -> bool:
    top, _, rest = name.partition(".")
    if top == "executor":
        return rest.startswith("_") or rest.partition(".")[0] in (*ROOMS, "paths")
    return name not in _OPTIONS and not name.endswith("__main__")


def _of_module(module: ModuleType) -> Iterator[str]:
    for name in _names(module):
        value = getattr(module, name, None)
        if isinstance(value, type):
            yield from _of_class(f"{module.__name__}.{name}", value)
        elif isinstance(value, _TABLES) and not (module.__name__.startswith("executor.") and _is_number(value)):
            yield from _lines(f"{module.__name__}.{name}", value)


def _is_number(value: object) -> bool:
    # Bytes are the key of this run's digests.
    return isinstance(value, int | float | bytes) and not isinstance(value, enum.Enum)


def _names(module: ModuleType) -> Iterator[str]:
    """What the module's own source names, aliases of types and what it grows while it runs left out."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        alias = isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation)
        if not alias and ast.unparse(node.value) not in _STATE:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                yield from (each.id for each in names if isinstance(each, ast.Name) and each.id not in _EXPORTS)


def _of_class(title: str, made: type) -> Iterator[str]:
    fields = {field.name: _field(field) for field in dataclasses.fields(made)} if dataclasses.is_dataclass(made) else {}
    fields |= {name: _told(value) for name, value in getattr(made, "_field_defaults", {}).items()}
    if issubclass(made, enum.Enum):
        fields |= {member.name: _told(member.value) for member in made}
    else:
        own = {name: value for name, value in vars(made).items() if name[0] != "_" and name not in fields}
        fields |= {name: _told(value) for name, value in own.items() if isinstance(value, _TABLES)}
    yield from (f"{title}.{name} = {told}" for name, told in fields.items() if told)


def _field(field: dataclasses.Field[Any]) -> str:
    """What may be left out, and what differs from the usual; nothing for a plain field that must be given."""
    told = []
    if field.default is not dataclasses.MISSING:
        told.append(_told(field.default))
    if field.default_factory is not dataclasses.MISSING:
        told.append(f"made by {_told(field.default_factory)}")
    told += [name for name in ("init", "repr", "compare") if not getattr(field, name)]
    told += ["not hashed"] if field.hash is False else []
    told += ["by name only"] if field.kw_only else []
    return ", ".join(told)


def _lines(title: str, value: Any) -> Iterator[str]:
    whole = f"{title} = {_told(value)}"
    if len(whole) <= _WIDTH or not isinstance(value, _MANY):
        yield whole
        return
    yield f"{title} ="
    yield from (f"    {member}" for member in _members(value))


def _members(value: Any) -> list[str]:
    if isinstance(value, dict):
        return sorted(f"{_told(key)}: {_told(item)}" for key, item in value.items())  # some are made from sets
    if isinstance(value, frozenset | set):
        if value >= sys.stdlib_module_names:
            return ["this Python's own modules"]
        return sorted(map(_told, value))
    return [_told(item) for item in value]


def _told(value: Any) -> str:
    """Texts in ASCII: which characters are told as they are is not the same for each Python, whose Unicode grows."""
    if isinstance(value, re.Pattern):
        return f"{value.pattern!a} ({re.RegexFlag(value.flags & ~re.UNICODE.value)!r})"
    if isinstance(value, enum.Enum):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return f"{type(value).__name__}({', '.join(_members(fields))})"
    if isinstance(value, _MANY):
        return f"{type(value).__name__}({', '.join(_members(value))})"
    if isinstance(value, type) or callable(value):
        return str(getattr(value, "__qualname__", type(value).__name__))
    return ascii(value) if isinstance(value, _TABLES) or value is None else type(value).__name__


if __name__ == "__main__":
    FILE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
