"""Finding the table of a program. The families are read at the first question, not at import."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

from executor_permissions.judge.options._entry import compile_entry

if TYPE_CHECKING:
    from executor_permissions.judge.options._entry import Entry, Grammar

FAMILIES = (
    "text", "search", "files", "git", "node", "python", "python_tools", "build", "ruby", "containers", "system",
    "network", "shells",
)  # fmt: skip
_OF_PYTHON = ("python", "python_tools")
_ALIASES = {
    "gmake": "make",
    "gsed": "sed",
    "py.test": "pytest",
    "podman": "docker",
    "gtar": "tar",
    "bsdtar": "tar",
}
_VERSIONED = ("python", "pip", "pypy")
_grammars: dict[str, Grammar | None] = {}


@cache
def entries(families: tuple[str, ...] = FAMILIES) -> dict[str, Entry]:
    """The table of every program, or of those of certain *families*, by its name."""
    found: dict[str, Entry] = {}
    for family in families:
        module = importlib.import_module(f"executor_permissions.judge.options.{family}")
        for names, entry in module.PROGRAMS.items():
            for name in (names,) if names.startswith("-m ") else names.split():
                found[name] = entry
    return found


def module_grammar(module: str) -> Grammar | None:
    """
    The table of what ``python -m`` runs, or None if nothing is known about it.

    A module is no program that happens to have its name: ``python -m nice ls`` runs a file ``nice.py``.
    """
    known = entries(_OF_PYTHON)
    name = next((one for one in (f"-m {module}", module) if one in known), None)
    return grammar_of(name) if name is not None else None


def grammar_of(program: str) -> Grammar | None:
    """The table of *program*, ready for use, or None if nothing is known about it."""
    if program in _grammars:
        return _grammars[program]
    name = _ALIASES.get(program, program)
    if name.startswith(_VERSIONED):
        name = name.rstrip("0123456789.")
    entry = entries().get(name)
    grammar = compile_entry(entry) if entry is not None else None
    if entry is not None:  # the names of unknown programs have no end
        _grammars[program] = grammar
    return grammar
