"""The content of one policy file: read, checked, and where each rule of it stands."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from executor.errors import PermissionConfigError
from executor.ownfolders import lost_link
from executor.paths import regular_only
from executor_permissions.judge.rules._limits import Limit
from executor_permissions.judge.rules._rules import LISTS, ListName, Section
from executor_permissions.store._check import Checker
from executor_permissions.store._content import without_comments
from executor_permissions.store._lines import Lines, find_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from executor_permissions.judge.rules._rules import Placeholders, Places
    from executor_permissions.store._lines import KeyPath

MAX_FILE_BYTES = 4 << 20


@dataclass(slots=True)
class Source:
    """
    The content of one policy file, checked.

    Attributes:
        path: The file, or None for a value.
        digest: SHA-256 of the file's bytes: what trust is bound to.
        trusted: Whether it may allow things: the user's own file may, a project's where its folder is trusted.
        added: Whether it is in no file: what is said for a session.
        project: The folder that its rules are relative to, if that is not the project: it is of a folder above it.
        whole: What stands in it; *value* is what of that holds.
    """

    value: Mapping[str, Any]
    path: Path | None = None
    lines: Lines = field(default_factory=Lines)
    digest: str = ""
    notes: list[str] = field(default_factory=list)
    trusted: bool = True
    added: bool = False
    project: str | None = None
    whole: Mapping[str, Any] = field(default_factory=dict)

    def where(self, path: KeyPath) -> str:
        """``FILE:LINE: key`` for messages."""
        key = _key_text(path)
        place = f"{self.path}:{self.lines.line(path)}: " if self.path is not None else ""
        return place + (f"{key}: " if key else "")

    def section(self, name: ListName) -> Section:
        """One of the three lists."""
        return Section(self.value.get(name, {}), self.project)

    def marks(self, places: Places) -> Placeholders:
        """What the placeholders in it stand for."""
        return places.marks._replace(project=self.project or places.project)

    def origins(self) -> dict[tuple[str, str], str]:
        """Where each rule stands."""
        found: dict[tuple[str, str], str] = {}
        if self.path is None:
            return found
        for name in LISTS:
            section = self.section(name).rules
            for key in ("tools", "patterns"):
                for i, rule in enumerate(section.get(key, ())):
                    found.setdefault((name, rule), f"{self.path}:{self.lines.line((name, key, i))}")
            for tool, names in section.get("arguments", {}).items():
                for argument, values in names.items():
                    for i, rule in enumerate(values):
                        line = self.lines.line((name, "arguments", tool, argument, i))
                        found.setdefault((name, str(rule)), f"{self.path}:{line}")
        for tool, numbers in self.value.get("limits", {}).items():
            for scope, number in numbers.items():
                line = self.lines.line(("limits", tool, scope))
                found.setdefault(("ask", Limit(tool, scope, number).rule), f"{self.path}:{line}")
        return found


def _key_text(path: KeyPath) -> str:
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else str(key)
    return text


def read_source(path: Path) -> Source:
    """
    The checked content of a file.

    Raises:
        PermissionConfigError: It is missing, unreadable, no regular file, no JSON, or no policy.
    """
    source = read_unchecked(path)
    checked(source)
    return source


def read_unchecked(path: Path) -> Source:
    """
    The content of a file as it stands there: `checked` says whether it is a policy.

    Raises:
        PermissionConfigError: It is missing, unreadable, no regular file, or no JSON.
    """
    try:
        with open(path, "rb", opener=regular_only) as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        link = lost_link(path)
        if link is not None:
            problem = f"{link}: the link leads to nothing: have it lead to the policy, or remove it"
            raise failure(path, [problem]) from None
        raise failure(
            path, [f"{path}: the file does not exist: create it (a file of {{}} asks about everything)"]
        ) from None
    except OSError as error:
        raise failure(path, [f"{path}: cannot be read ({error.strerror}): make it a readable file"]) from error
    if len(data) > MAX_FILE_BYTES:
        raise failure(path, [f"{path}: is larger than 4 MiB: no policy is; is it the right file?"])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise failure(path, [f"{path}:{line}: is not UTF-8: save it as UTF-8"]) from error
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        problem = f"{path}:{error.lineno}: is not JSON: {error.msg} (column {error.colno}): {_json_mend(error)}"
        raise failure(path, [problem]) from error
    except (RecursionError, ValueError) as error:
        raise failure(
            path, [f"{path}: is not JSON: {str(error) or 'it is nested too deep'}: write a flat object"]
        ) from error
    import hashlib  # with OpenSSL 3 ms, for those who have a policy

    return Source(value, path, find_lines(text), hashlib.sha256(data).hexdigest())


def _json_mend(error: json.JSONDecodeError) -> str:
    rest = error.doc[error.pos : error.pos + 2]
    before = error.doc[: error.pos].rstrip()[-1:]
    if rest[:1] in "]}" and before == ",":
        return "take the comma before it away"
    if "trailing comma" in error.msg:  # how Python 3.13 and later tell of the same
        return "take the comma away"
    if rest.startswith(("//", "/*", "#")):
        return "JSON has no comments: take it away"
    if "delimiter" in error.msg:
        return "put a comma or a colon there"
    return "mend it there"


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def checked(source: Source) -> None:
    """Look its content over, and note what is odd. Raises PermissionConfigError for what is no policy."""
    problems = [
        f"{source.path}:{line}: {_key_text(path)}: the key {path[-1]!r} stands twice: keep one"
        for path, line in source.lines.twice
        if not str(path[-1]).startswith("_")
    ]
    source.value = source.whole = without_comments(source.value)
    checker = Checker()
    checker.check(source.value)
    problems += [source.where(path) + text for path, text in checker.errors]
    if problems:
        raise failure(source.path, problems)
    source.notes = [source.where(path) + text for path, text in checker.notes]


def failure(path: Path | None, problems: Sequence[str]) -> PermissionConfigError:
    """What is raised for a policy that could not be loaded."""
    head = f"The permission policy{f' {path}' if path else ''} could not be loaded, so nothing may run:"
    return PermissionConfigError("\n  ".join([head, *problems]), path=str(path) if path else None, problems=problems)
