"""What a policy file says: keys that begin with ``_`` are comments, and one whose value is null is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from executor_permissions.judge.rules._rules import LISTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KINDS = ("shell", "argv", "path", "url")


def without_comments(value: Any) -> Any:
    """
    The content of a policy file without what is not meant to be read. It shares nothing with *value* that is changed.

    The names of tools and arguments may begin with ``_`` too: below ``arguments`` and ``argumentKinds``, what has the
    form of a rule is one.
    """
    if not isinstance(value, Mapping):
        return value
    content = _stripped(value)
    for name in LISTS:
        section = content.get(name)
        if isinstance(section, Mapping):
            content[name] = section = _stripped(section)
            if isinstance(section.get("arguments"), Mapping):
                section["arguments"] = _by_tool(section["arguments"], lambda item: isinstance(item, list))
    for key in ("channel", "confine"):
        if key in content:
            content[key] = _stripped(content[key])
    if "argumentKinds" in content:
        content["argumentKinds"] = _by_tool(content["argumentKinds"], lambda item: item in KINDS)
    if isinstance(content.get("limits"), Mapping):
        content["limits"] = {tool: _stripped(numbers) for tool, numbers in _stripped(content["limits"]).items()}
    if isinstance(content.get("tests"), list):
        content["tests"] = [_stripped(test) for test in content["tests"]]
    return content


def without_nulls(value: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a policy file, its comments too, without the keys and parts of lists that are not there: null."""
    content = {key: item for key, item in value.items() if item is not None}
    for name in LISTS:
        if isinstance(content.get(name), Mapping):
            content[name] = {key: item for key, item in content[name].items() if item is not None}
    return content


def every_comment(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """For ``json.loads``: an object in which comments of one name stay, all but the last under longer names."""
    found: dict[str, Any] = {}
    for key, value in reversed(pairs):
        name = key
        while name in found and name.startswith("_") and isinstance(value, str):
            name += "_"
        found.setdefault(name, value)
    return dict(reversed(found.items()))


def _stripped(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {key: item for key, item in value.items() if item is not None and not str(key).startswith("_")}


def _by_tool(value: Any, is_rule: Callable[[Any], bool]) -> Any:
    """What is said about arguments, by tool."""
    if not isinstance(value, Mapping):
        return value
    content = {}
    for tool, names in value.items():
        if isinstance(names, Mapping):
            is_comment = str(tool).startswith("_")
            kept = {
                name: item
                for name, item in names.items()
                if item is not None and (is_rule(item) or not (is_comment or str(name).startswith("_")))
            }
            if kept or not is_comment:
                content[tool] = kept
        elif names is not None and not str(tool).startswith("_"):
            content[tool] = names
    return content
