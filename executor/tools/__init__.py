"""
From a function or a schema to a tool: names, signatures, schemas, the catalogue.

Public here: what a registered tool is (`Registered`), what can be said about a plugin's tool from outside
(`ToolSettings`), and whether a schema is one (`check_schema`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor._lazy import lazy_names

# Twice each, and both are needed: type checkers read the imports, Python the table. A test compares them.
if TYPE_CHECKING:
    from executor.tools._make import Registered as Registered
    from executor.tools._schema import Schema as Schema
    from executor.tools._schema import check_schema as check_schema
    from executor.tools._settings import ToolSettings as ToolSettings

__all__, __getattr__ = lazy_names(
    __name__,
    {
        "executor.tools._make": "Registered",
        "executor.tools._schema": "Schema check_schema",
        "executor.tools._settings": "ToolSettings",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
