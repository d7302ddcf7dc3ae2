"""Judging the arguments of a call one by one: what the lists say about them, and the policy's own files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from executor import Decision
from executor_permissions.judge._paths import UnclearPathError, under
from executor_permissions.judge._values import PATH_NAMES, guess_kind, scalars
from executor_permissions.judge._verdicts import allowed_part, asked_part, decided, denied_part

if TYPE_CHECKING:
    from collections.abc import Iterable

    from executor_permissions.judge._rules import ShellIndex, ToolRules
    from executor_permissions.judge._values import Scene

READING_TOOLS = frozenset(
    {"readFile", "listFiles", "searchFiles", "read_file", "list_files", "search_files", "list_directory"}
)
_VERSION_CONTROL = re.compile(r"/\.(?:git|hg|svn)(?:/|\Z)")
_LONGEST_PATH = 4096


@dataclass(slots=True)
class Plan:
    """Everything the policy has about one tool with certain kinds, made once."""

    tool: str
    kinds: dict[str, str]
    deny: ToolRules
    ask: ToolRules
    allow: ToolRules
    is_shell: bool
    fixed: Decision | None
    extra: tuple[ShellIndex, ShellIndex, ShellIndex]


class CallJudge:
    """
    What the three lists say about the arguments of a call.

    Args:
        protected: The policy's own files and folders.
        marks: Finds their names in a text.
    """

    def __init__(self, protected: tuple[str, ...], marks: re.Pattern[str]) -> None:
        self._protected = protected
        self._protected_marks = marks

    def denied(self, plan: Plan, args: dict[str, Any], scene: Scene, *, read_only: bool) -> Decision | None:
        rules = plan.deny
        if rules.whole is not None:
            return decided(denied_part(plan.tool, rules.whole))
        for call in rules.calls:
            if call.catches(args, scene):
                return decided(denied_part(plan.tool, call.text))
        for name, values in rules.arguments.items():
            if name in args:
                for text, rule in values:
                    if rule.catches(args[name], scene):
                        return decided(denied_part(f"{plan.tool} {name}", text))
        if not read_only and plan.tool not in READING_TOOLS and self._protected:
            return self._writes_protected(plan, args, scene)
        return None

    def asked(self, plan: Plan, args: dict[str, Any], scene: Scene) -> Decision | None:
        rules = plan.ask
        if rules.whole is not None:
            return decided(asked_part(plan.tool, rules.whole))
        for call in rules.calls:
            if call.catches(args, scene):
                return decided(asked_part(plan.tool, call.text))
        for name, values in rules.arguments.items():
            for text, rule in values:
                if name in args and rule.catches(args[name], scene):
                    return decided(asked_part(f"{plan.tool} {name}", text))
        return None

    def allowed(self, plan: Plan, args: dict[str, Any], scene: Scene) -> Decision | None:
        rules = plan.allow
        if rules.whole is not None:
            return decided(allowed_part(plan.tool, rules.whole))
        for call in rules.calls:
            if call.allows(args, scene) and (call.arguments or not call.text.endswith("()") or not args):
                return self._unless_version_control(plan, args, scene, call.text)
        if rules.arguments:
            text = self.every_argument(rules, args, scene)
            if text is not None:
                return self._unless_version_control(plan, args, scene, text)
        return None

    def every_argument(self, rules: ToolRules, args: dict[str, Any], scene: Scene) -> str | None:
        """The rules that allow these arguments, if every argument that has rules fits one of its own."""
        found = []
        for name, values in rules.arguments.items():
            if name not in args:
                return None
            text = next((text for text, rule in values if rule.allows(args[name], scene)), None)
            if text is None:
                return None
            found.append(text)
        return ", ".join(found)

    def _unless_version_control(self, plan: Plan, args: dict[str, Any], scene: Scene, rule: str) -> Decision | None:
        """A rule for a folder does not cover its .git, whose hooks are run, unless it says so."""
        if plan.tool not in READING_TOOLS and not re.search(r"\.(git|hg|svn)\b", rule):
            for _, value in self._paths_in(plan, args):
                place = scene.locate(value)
                if _VERSION_CONTROL.search(place.real):
                    return None
        return decided(allowed_part(plan.tool, rule))

    def _paths_in(self, plan: Plan, args: dict[str, Any]) -> Iterable[tuple[str, str]]:
        """Every (argument, path) of the call."""
        for name, value in args.items():
            kind = plan.kinds.get(name) or guess_kind(name, ())
            if kind == "path" or (kind is None and name in PATH_NAMES):
                for item in scalars(value):
                    if isinstance(item, str) and item:
                        yield name, item

    def unclear(self, plan: Plan, args: dict[str, Any], scene: Scene, *, read_only: bool) -> str | None:
        """Why no rule may allow these arguments: their type does not fit their kind, or a path that nobody can tell."""
        for name, kind in plan.kinds.items():
            value = args.get(name)
            if kind not in ("path", "url") or value is None:
                continue
            items = value if isinstance(value, list) else [value]
            for item in items:
                if not isinstance(item, str):
                    return f"{name} is no text"
                if kind == "path":
                    try:
                        place = scene.locate(item)
                    except UnclearPathError as error:
                        return str(error)
                    if not (read_only or plan.tool in READING_TOOLS) and self._holds_protected(place.real):
                        return f"{item} holds the permission policy's own files"
        return None

    def _holds_protected(self, path: str) -> bool:
        return any(under(place, path) for place in self._protected)

    def _may_be_paths(self, plan: Plan, args: dict[str, Any]) -> Iterable[tuple[str, str]]:
        """The call's paths, and every other text that names one of the policy's own files, whatever its argument."""
        yield from self._paths_in(plan, args)
        for name, value in args.items():
            for item in scalars(value):
                if isinstance(item, str) and len(item) < _LONGEST_PATH and self._protected_marks.search(item):
                    yield name, item

    def _writes_protected(self, plan: Plan, args: dict[str, Any], scene: Scene) -> Decision | None:
        for name, value in self._may_be_paths(plan, args):
            try:
                place = scene.locate(value)
            except UnclearPathError:
                continue
            for path in (place.real, place.entry, place.written):
                if any(under(path, root) for root in self._protected):
                    text = f"{name} {value} belongs to the permission policy"
                    return Decision("deny", text, "blacklist", "(the policy's own files)")
        return None
