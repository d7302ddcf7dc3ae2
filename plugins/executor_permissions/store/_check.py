"""Whether the content of a policy file is one: every key, every type, each with what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from executor.confine import PROFILE_NAMES
from executor_permissions.judge.rules._call_patterns import split_call
from executor_permissions.judge.rules._rules import LISTS
from executor_permissions.judge.rules._tokenize import tokenize
from executor_permissions.store._channel import TYPES
from executor_permissions.store._content import KINDS
from executor_permissions.store._other_hosts import about_their_call

if TYPE_CHECKING:
    from executor_permissions.judge.rules._rules import ListName
    from executor_permissions.store._lines import KeyPath

VERSIONS = ("1.0", "1.1", "1.2", "1")
VERDICTS = ("allow", "ask", "deny")  # from the laxest on
_NEW_IN = {
    "1.1": ("ask", "argumentKinds", "shellTools", "tests"),
    "1.2": ("confine", "limits"),
}
KEYS = ("version", "defaultPolicy", *LISTS, "channel", "argumentKinds", "shellTools", "tests", "confine", "limits")
_CONFINE_KEYS = ("default", *PROFILE_NAMES, "env", "require", "people")
SCOPES = ("turn", "session")  # of limits
MOST_RULES = 20_000  # each takes up to half a millisecond to be made
_SECTION_KEYS = ("tools", "patterns", "arguments")
_CHANNEL_KEYS = ("type", "timeout", "endpoint", "headers", "auth_token", "auth_token_env", "base_path", "poll_interval")
_TEST_KEYS = ("tool", "args", "expect", "why")


class Checker:
    """One look over one file's content: what is wrong, and what is only odd."""

    def __init__(self) -> None:
        self.errors: list[tuple[KeyPath, str]] = []
        self.notes: list[tuple[KeyPath, str]] = []
        self._rules = 0

    def _error(self, path: KeyPath, text: str) -> None:
        self.errors.append((path, text))

    def _note(self, path: KeyPath, text: str) -> None:
        self.notes.append((path, text))

    def check(self, value: Any) -> None:
        """Look over the whole content."""
        if not isinstance(value, Mapping):
            self._error(
                (), f"the policy is {_kind(value)}, not an object: write {{}} for one that asks about everything"
            )
            return
        self._keys((), value, KEYS)
        self._version(value)
        default = value.get("defaultPolicy", "ask")
        if default not in VERDICTS:
            self._error(("defaultPolicy",), f"{default!r} is no verdict: use one of {', '.join(VERDICTS)}")
        for name in LISTS:
            if name in value:
                self._section((name,), value[name])
        self._channel(value.get("channel", {}))
        self._kinds(value.get("argumentKinds", {}))
        self._strings(("shellTools",), value.get("shellTools", []))
        self._tests(value.get("tests", []))
        self._confine(value.get("confine", {}))
        self._limits(value.get("limits", {}))
        if not self.errors:
            self._oddities(value)

    def _keys(self, path: KeyPath, value: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for key in value:
            if key not in known:
                import difflib  # wanted by mistakes only

                near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.5)
                mend = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(known)}"
                self._error((*path, key), f"unknown key {key!r}: {mend}")

    def _version(self, value: Mapping[str, Any]) -> None:
        version = value.get("version", VERSIONS[0])
        if version not in VERSIONS or not isinstance(version, str):
            self._error(("version",), f"{version!r} is not a version that is known here: use '1.0', '1.1' or '1.2'")
            return
        for since, keys in _NEW_IN.items():
            for key in keys:
                if "version" in value and version < since and key in value:
                    self._note((key,), f'{key!r} belongs to version {since}: set "version": "{since}"')

    def _section(self, path: KeyPath, section: Any) -> None:
        if not isinstance(section, Mapping):
            self._error(path, f"is {_kind(section)}: write an object with {', '.join(_SECTION_KEYS)}")
            return
        self._keys(path, section, _SECTION_KEYS)
        self._strings((*path, "tools"), section.get("tools", []))
        self._strings((*path, "patterns"), section.get("patterns", []))
        if isinstance(section.get("patterns", []), list) and self._rules <= MOST_RULES:
            name: ListName = path[0]  # type: ignore[assignment]  # a key of LISTS
            for i, pattern in enumerate(section.get("patterns", [])):
                if isinstance(pattern, str):
                    self._pattern((*path, "patterns", i), pattern, name)
        arguments = section.get("arguments", {})
        if not isinstance(arguments, Mapping):
            self._error((*path, "arguments"), f'is {_kind(arguments)}: write {{"tool": {{"argument": [values]}}}}')
            return
        for tool, names in arguments.items():
            if not isinstance(names, Mapping):
                self._error((*path, "arguments", tool), f'is {_kind(names)}: write {{"argument": [values]}}')
                continue
            for name, values in names.items():
                self._values((*path, "arguments", tool, name), values)

    def _values(self, path: KeyPath, values: Any) -> None:
        if not isinstance(values, list):
            example = f", [{values!r}]" if isinstance(values, str) else ""
            self._error(path, f"is {_kind(values)}: write a list of values{example}")
            return
        if self._are_too_many(path, values):
            return
        for i, item in enumerate(values):
            if item is not None and not isinstance(item, str | int | float | bool):
                self._error((*path, i), f"is {_kind(item)}: a value is a text, a number, true, false or null")
            elif item == "" or (isinstance(item, str) and "\0" in item):
                self._error((*path, i), "is empty, or holds a NUL character: leave it out")
            elif isinstance(item, str):
                self._quotes((*path, i), item)

    def _pattern(self, path: KeyPath, pattern: str, name: ListName) -> None:
        try:
            call = split_call(pattern)
        except ValueError as error:
            self._error(path, _theirs(pattern, name) or f"{pattern!r}: {error}; write tool(name=value, other=value)")
            return
        if call is None:
            self._quotes(path, pattern)

    def _quotes(self, path: KeyPath, text: str) -> None:
        try:
            tokenize(text)
        except ValueError as error:
            self._error(path, f"{text!r}: {error}; close it, or put a backslash in front of it")

    def _strings(self, path: KeyPath, value: Any) -> None:
        if not isinstance(value, list):
            self._error(path, f"is {_kind(value)}: write a list of texts")
            return
        if self._are_too_many(path, value):
            return
        for i, item in enumerate(value):
            if not isinstance(item, str):
                self._error((*path, i), f"is {_kind(item)}: write a text")
            elif not item.strip():
                self._error((*path, i), "is empty: leave it out")

    def _are_too_many(self, path: KeyPath, values: list[Any]) -> bool:
        """Whether these make more rules than a file may have: whoever opens a project waits for them."""
        before, self._rules = self._rules, self._rules + len(values)
        if before <= MOST_RULES < self._rules:
            self._error(path, f"comes to more than {MOST_RULES} rules in this file: write fewer, with wildcards")
        return self._rules > MOST_RULES

    def _channel(self, channel: Any) -> None:
        if not isinstance(channel, Mapping):
            self._error(("channel",), f'is {_kind(channel)}: write {{"type": "console", "timeout": 300}}')
            return
        self._keys(("channel",), channel, _CHANNEL_KEYS)
        kind = channel.get("type", "console")
        if kind not in TYPES:
            self._error(
                ("channel", "type"),
                f"{kind!r} is no channel: use one of {', '.join(TYPES)}; auto is every surface that plugins bring",
            )
        for key in ("timeout", "poll_interval"):
            number = channel.get(key, 1)
            if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < 1e7:
                self._error(("channel", key), f"{number!r}: write a number of seconds above 0")
        for key in ("endpoint", "auth_token", "auth_token_env", "base_path"):
            if not isinstance(channel.get(key, ""), str):
                self._error(("channel", key), f"is {_kind(channel[key])}: write a text")
        headers = channel.get("headers", {})
        if not isinstance(headers, Mapping) or not all(isinstance(item, str) for item in headers.values()):
            self._error(("channel", "headers"), 'write an object of texts: {"X-Name": "value"}')
        if kind == "file" and not channel.get("base_path"):
            self._error(("channel",), 'the file channel needs a folder of its own: add "base_path": "/folder"')
        if kind == "webhook" and not channel.get("endpoint"):
            self._error(("channel",), 'a webhook needs its address: add "endpoint": "https://…"')

    def _kinds(self, kinds: Any) -> None:
        if not isinstance(kinds, Mapping):
            self._error(("argumentKinds",), f'is {_kind(kinds)}: write {{"tool": {{"argument": "path"}}}}')
            return
        for tool, arguments in kinds.items():
            if not isinstance(arguments, Mapping):
                self._error(("argumentKinds", tool), f'is {_kind(arguments)}: write {{"argument": "path"}}')
                continue
            for name, kind in arguments.items():
                if kind not in KINDS:
                    self._error(("argumentKinds", tool, name), f"{kind!r} is no kind: use one of {', '.join(KINDS)}")

    def _tests(self, tests: Any) -> None:
        if not isinstance(tests, list):
            self._error(("tests",), f'is {_kind(tests)}: write a list of {{"tool", "args", "expect"}}')
            return
        for i, test in enumerate(tests):
            if not isinstance(test, Mapping):
                self._error(("tests", i), f'is {_kind(test)}: write {{"tool": …, "args": {{…}}, "expect": "allow"}}')
                continue
            self._keys(("tests", i), test, _TEST_KEYS)
            if not isinstance(test.get("tool"), str):
                self._error(("tests", i), 'has no "tool": write the name of the tool that is called')
            if not isinstance(test.get("args", {}), Mapping):
                self._error(("tests", i, "args"), f"is {_kind(test['args'])}: write an object of arguments")
            if test.get("expect") not in VERDICTS:
                self._error(("tests", i), f'has no "expect": write one of {", ".join(VERDICTS)}')

    def _confine(self, confine: Any) -> None:
        if not isinstance(confine, Mapping):
            self._error(("confine",), f'is {_kind(confine)}: write {{"default": "auto"}}')
            return
        self._keys(("confine",), confine, _CONFINE_KEYS)
        default = confine.get("default", "auto")
        if default not in ("auto", *PROFILE_NAMES):
            profiles = ", ".join(("auto", *PROFILE_NAMES))
            self._error(("confine", "default"), f"{default!r} is no profile: use one of {profiles}")
        for profile in PROFILE_NAMES:
            patterns = confine.get(profile, [])
            self._strings(("confine", profile), patterns)
            for i, pattern in enumerate(patterns if isinstance(patterns, list) else ()):
                if isinstance(pattern, str):
                    self._quotes(("confine", profile, i), pattern)
        self._strings(("confine", "env"), confine.get("env", []))
        for key in ("require", "people"):
            if not isinstance(confine.get(key, False), bool):
                self._error(("confine", key), f"is {_kind(confine[key])}: write true or false")

    def _limits(self, limits: Any) -> None:
        if not isinstance(limits, Mapping):
            self._error(("limits",), f'is {_kind(limits)}: write {{"runCommand": {{"turn": 30, "session": 200}}}}')
            return
        for tool, numbers in limits.items():
            if not isinstance(numbers, Mapping):
                self._error(("limits", tool), f'is {_kind(numbers)}: write {{"turn": 30, "session": 200}}')
                continue
            self._keys(("limits", tool), numbers, SCOPES)
            for scope in SCOPES:
                number = numbers.get(scope, 0)
                if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                    self._error(("limits", tool, scope), f"{number!r}: write how many calls, a whole number")

    def _oddities(self, value: Mapping[str, Any]) -> None:
        """What is legal, but probably not meant."""
        black, white = value.get("blacklist", {}), value.get("whitelist", {})
        for key in ("tools", "patterns"):
            for i, entry in enumerate(white.get(key, [])):
                if entry in black.get(key, []):
                    self._note(("whitelist", key, i), f"{entry!r} is in the blacklist too, which wins")


def _theirs(pattern: str, name: ListName) -> str | None:
    """How to write what is no call of ours, but a rule of another host."""
    if about_their_call(pattern.strip(), allows=name == "whitelist", is_tool=False) is None:
        return None
    from executor_permissions.store._notations import about_pattern  # it reads commands

    meant = about_pattern(pattern.strip(), name, is_tool=False)
    return meant.told() if meant is not None else None


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), f"a {type(value).__name__}")
