"""Public names that are imported when they are first used."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_names(package: str, names_of: Mapping[str, str]) -> tuple[list[str], Callable[[str], Any]]:
    """
    The ``__all__`` and ``__getattr__`` of a package whose names come from its modules when they are first used.

    Args:
        package: The package's ``__name__``.
        names_of: By module, the names that it has for the package, with blanks between them.
    """
    module_of = {name: module for module, names in names_of.items() for name in names.split()}

    def find(name: str) -> Any:
        module = module_of.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        __import__(module)
        value = getattr(sys.modules[module], name)
        setattr(sys.modules[package], name, value)  # found once
        return value

    return sorted(module_of), find
