"""
The policy as one object: `Judge.decide` says whether a call may run, and why.

With ``**/.env`` in the blacklist, ``decide("readFile", {"path": "a/.env"})`` is a `Decision` to deny by that rule.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from executor import Decision
from executor_permissions.judge._carriers import CARRIERS, carried
from executor_permissions.judge._judge_call import CallJudge, Plan
from executor_permissions.judge._verdicts import (
    Granted,
    Grants,
    InvalidError,
    allowed_part,
    asked_part,
    by_grant,
    check_tree,
    decided,
    denied_by_grant,
    denied_part,
    first_with_rule,
)
from executor_permissions.judge.rules._json_texts import may_be_odd
from executor_permissions.judge.rules._meanings import Meanings, is_shell
from executor_permissions.judge.rules._rules import (
    KINDS,
    LISTS,
    ListName,
    Part,
    Places,
    RuleList,
    Section,
)
from executor_permissions.judge.rules._scene import NOTHING_MORE, CallInfo, Scene
from executor_permissions.judge.rules._tool_rules import ShellIndex
from executor_permissions.judge.rules._values import PATH_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from executor_permissions.judge._shell_scope import Outcome, Rules
    from executor_permissions.judge.paths._links import Links
    from executor_permissions.judge.paths._paths import Led
    from executor_permissions.judge.rules._file_rules import FileRules
    from executor_permissions.judge.rules._limits import Limit
    from executor_permissions.judge.rules._tool_rules import Arguments

DefaultPolicy = Literal["allow", "ask", "deny"]
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,256}\Z")
_DEFAULTS = {"listFiles": {"path": "."}, "searchFiles": {"path": "."}}  # what an argument means that is left out
_FILE_TOOLS = {"writeFile": ("writeFile", "write_file"), "readFile": ("readFile", "read_file")}
_MAX_PLANS = 512  # tools whose rules are kept at hand; more of them are compiled anew


class Judge:
    """
    Decides about calls. It never asks, and reads nothing but the file system's links: two equal policies decide alike.

    Made once, of rules; it does not change afterwards, whatever happens to the files they came from.

    Attributes:
        limits: How often a tool may run before a person is asked.
    """

    def __init__(
        self,
        sections: Mapping[ListName, Sequence[Section]],
        places: Places,
        *,
        default: DefaultPolicy = "ask",
        kinds: Mapping[str, Mapping[str, str]] | None = None,
        shell_tools: Iterable[str] = (),
        origins: Mapping[tuple[str, str], str] | None = None,
        channel: Mapping[str, Any] | None = None,
        limits: Sequence[Limit] = (),
        led: Led | None = None,
    ) -> None:
        self.places = places
        self.default = default
        self.limits = tuple(limits)
        self.channel: Mapping[str, Any] = dict(channel or {})
        self._origins = dict(origins or {})
        self._meanings = Meanings(kinds or {}, shell_tools)
        self._led: Led = dict(led or {})  # first those of the policy that this one varies
        self._lists = {name: RuleList(name, sections.get(name, ()), places.marks_of(name), self._led) for name in LISTS}
        self._plans: dict[Any, Plan] = {}
        self._calls = CallJudge(places)
        self._kept: FileRules | None = None
        if self._lists["blacklist"].is_about_values:
            self._kept = self._files  # now, where a rule may be refused; else for the first command

    @property
    def _files(self) -> FileRules:
        """What the blacklist keeps from the file tools, and the policy's own files."""
        if self._kept is None:
            from executor_permissions.judge.rules._file_rules import file_rules

            named = {*KINDS, *self._meanings.kinds, *_FILE_TOOLS["readFile"], *_FILE_TOOLS["writeFile"]}
            tools = {name for name in named if not self.is_shell_tool(name)}
            self._kept = file_rules(self._lists["blacklist"], tools, KINDS, self.places)
        return self._kept

    def with_only(self, list_name: ListName, section: Section, *, default: DefaultPolicy) -> Judge:
        """One with no other rules than those of *section*, in the folder that they are for, or in this one."""
        return Judge(
            {list_name: [section]},
            self.places._replace(project=section.project or self.places.base),
            default=default,
            kinds=self._meanings.kinds,
            shell_tools=self._meanings.shell_tools,
        )

    def origin(self, list_name: str, rule: str) -> str | None:
        """Where a rule stands: ``FILE:LINE``, or None if the policy was not loaded from a file."""
        return self._origins.get((list_name, rule))

    def asks_by_rule(self, rule: str | None) -> bool:
        """Whether *rule* is an ``ask`` rule of the file, or a limit: no rule of the blacklist that may be meant."""
        return rule is not None and (self._lists["ask"].has(rule) or any(limit.rule == rule for limit in self.limits))

    def is_shell_tool(self, tool: str, kinds: Mapping[str, str] | None = None) -> bool:
        """Whether the tool runs commands, by what the policy knows, or by what *kinds* say of its arguments."""
        return self._meanings.is_shell_tool(tool) or is_shell(kinds or {})

    def decide(
        self,
        tool: str,
        args: Mapping[str, Any],
        info: CallInfo = NOTHING_MORE,
        *,
        argument_kinds: Mapping[str, str] | None = None,
        cwd: str | None = None,
        grants: Grants | None = None,
    ) -> Decision:
        """
        May *tool* run with *args*? Never raises: what cannot be judged is denied.

        Args:
            tool: Its id.
            args: Its arguments, a JSON object.
            info: What else is known of the call.
            argument_kinds: Its `kinds`, for short …
            cwd: … and its `cwd`.
            grants: What people have allowed and forbidden so far.
        """
        if argument_kinds is not None or cwd is not None:
            info = info._replace(kinds=argument_kinds or info.kinds, cwd=cwd or info.cwd)
        try:
            plan = (self._plans.get(tool) if not info.kinds else None) or self._planned(tool, info.kinds)
            if grants is None and plan.fixed is not None and self.is_plain(args):
                return plan.fixed
            scene = Scene(info.cwd or self.places.base, self.places.home, info.resolve, info.defaults)
            return self._decide(plan, args, grants, scene, read_only=info.read_only)
        except InvalidError as error:
            return Decision("deny" if self.default == "deny" or error.deny else "ask", str(error), "invalid")
        except Exception as error:  # noqa: BLE001 -- whatever goes wrong here must not let a call through
            return Decision("deny", f"The policy could not judge this call ({type(error).__name__}: {error})", "error")

    def fixed(self, tool: str, args: object, argument_kinds: Mapping[str, str] | None = None) -> Decision | None:
        """What `decide` says without grants, where that depends on nothing but the tool's name; None elsewhere."""
        try:
            plan = self._planned(tool, argument_kinds)
            return plan.fixed if plan.fixed is not None and self.is_plain(args) else None
        except Exception:  # noqa: BLE001 -- `decide` meets it again, and says what it means
            return None

    # Making ready.

    def _planned(self, tool: str, argument_kinds: Mapping[str, str] | None) -> Plan:
        plan = self._plans.get(tool if not argument_kinds else (tool, frozenset(argument_kinds.items())))
        return plan if plan is not None else self._plan(tool, argument_kinds or {})

    def _plan(self, tool: object, declared: Mapping[str, str]) -> Plan:
        if not isinstance(tool, str):
            raise InvalidError("the tool's name is no text", deny=True)
        if not _NAME.match(tool):
            raise InvalidError(f"the tool's name {tool[:80]!r} is not one that rules can be written for")
        own, known = self._meanings.own(tool, declared), self._meanings.of_any(tool, declared)
        commands = {name for each in LISTS[:2] for name in self._lists[each].commands_of(tool)} - known.keys()
        kinds = known | dict.fromkeys(commands, "shell")
        deny, ask = (
            self._lists[each].for_tool(tool, kinds, is_shell=is_shell(kinds), commands=commands) for each in LISTS[:2]
        )
        allow = self._lists["whitelist"].for_tool(tool, own, is_shell=is_shell(own))
        plan = Plan(tool, kinds, deny, ask, allow, None, beside=bool(commands) and not is_shell(known))
        if is_shell(kinds):
            plan.shell = {}
        free = not (deny.depends_on_arguments or ask.depends_on_arguments or allow.depends_on_arguments)
        if deny.whole is not None or (free and not kinds and tool not in CARRIERS):
            plan.fixed = self._fixed(plan)
        if len(self._plans) < _MAX_PLANS:
            self._plans[tool if not declared else (tool, frozenset(declared.items()))] = plan
        return plan

    def _fixed(self, plan: Plan) -> Decision:
        """The decision on a tool whose rules do not depend on its arguments."""
        lists = ((plan.deny, denied_part), (plan.ask, asked_part), (plan.allow, allowed_part))
        found = next((part(plan.tool, rules.whole) for rules, part in lists if rules.whole is not None), None)
        return decided(found) if found is not None else self._default(plan.tool, ())

    def _default(self, tool: str, parts: Sequence[Part], reason: str | None = None) -> Decision:
        told = reason or f"no rule is about {tool}"
        if self.default == "allow" and reason is None:
            told = f"no rule is about {tool}, and the default is to allow"
        return Decision(self.default, told, "default", None, tuple(parts))

    # Judging.

    def _decide(
        self,
        plan: Plan,
        args: Mapping[str, Any],
        grants: Grants | None,
        scene: Scene,
        *,
        read_only: bool,
    ) -> Decision:
        if type(args) is not dict:
            raise InvalidError("the arguments are no object", deny=True)
        check_tree(args)
        if plan.tool in CARRIERS:
            return self._carried(plan.tool, args, grants, scene)
        if plan.tool in _DEFAULTS:
            args = {**_DEFAULTS[plan.tool], **args}
        granted = self._calls.granted(grants, plan, args, scene) if grants is not None else None
        shell = plan.shell_for(args)
        if shell is None:
            return self._decide_plain(plan, args, scene, granted, read_only=read_only)
        denied = self._calls.denied(plan, args, scene)
        if denied is not None and denied.verdict == "deny":
            return denied
        decision = denied_by_grant(granted) or self._decide_shell(plan, shell, args, scene, grants, denied)
        if plan.beside and decision.method not in _BY_RULE and not decision.maybe_denied:
            return self._decide_plain(plan, args, scene, granted, read_only=read_only)
        return decision

    def _decide_plain(
        self, plan: Plan, args: dict[str, Any], scene: Scene, granted: Granted, *, read_only: bool
    ) -> Decision:
        """A tool that runs no shell command."""
        denied = self._calls.denied(plan, args, scene)
        if denied is None or denied.verdict != "deny":
            denied = denied_by_grant(granted) or denied
        ruled = denied or self._calls.asked(plan, args, scene)
        if ruled is not None:
            return ruled
        unclear = self._calls.unclear(plan, args, scene, read_only=read_only)
        if granted is not None and unclear is None:
            return by_grant(granted, ())
        allowed = self._calls.allowed(plan, args, scene) if unclear is None else None
        if allowed is not None:
            return allowed
        if unclear is not None and self.default == "allow":
            return Decision("ask", unclear, "default")
        return self._default(plan.tool, (), unclear)

    def _carried(self, tool: Any, args: Any, grants: Grants | None, scene: Scene) -> Decision:
        """A tool that starts another call: the inner call is judged, and rules about the carrier hold as well."""
        maybe = asked = None
        *outer, (tool, args) = carried(tool, args)
        for carrier, given in outer:
            plan = self._planned(carrier, None)
            maybe = self._calls.denied_by_rule(plan, given, scene) or maybe
            if maybe is not None and maybe.verdict == "deny":
                return maybe
            asked = asked or self._calls.asked(plan, given, scene)
        if not isinstance(tool, str) or tool in CARRIERS:
            raise InvalidError("the call that it carries cannot be told", deny=True)
        decision = self.decide(tool, args, CallInfo(scene.base, resolve=scene.resolve), grants=grants)
        ruled = maybe or (asked if decision.verdict == "allow" else None)
        return decision if ruled is None or decision.verdict == "deny" else ruled

    def is_plain(self, args: object) -> bool:
        """Whether no value has to be looked into: an object of scalars that do not name the policy's own files."""
        if type(args) is not dict or not PATH_NAMES.isdisjoint(args):
            return False
        search, odd = self._calls.marks.search, may_be_odd
        for name, value in args.items():
            kind = type(value)
            if type(name) is not str or (kind not in _SCALARS and (kind is not str or search(value) or odd(value))):
                return False
        return True

    def _file_verdict(self, tool: str, path: str, links: Links) -> Part:
        """A redirection, judged as a call of the file tools."""
        parts = []
        scene = Scene(self.places.base, self.places.home, links.resolve)
        for name in _FILE_TOOLS[tool]:
            plan = self._plans.get(("file", name))
            if plan is None:
                plan = self._plans[("file", name)] = self._plan(name, {"path": "path"})
            decision = self._decide_plain(plan, {"path": path}, scene, None, read_only=tool == "readFile")
            told = decision.verdict, decision.rule, decision.reason, decision.method, decision.maybe_denied
            parts.append(Part(path, *told))
        denied = next((part for part in parts if part.verdict == "deny" and part.method != "default"), None)
        asks = [part for part in parts if part.verdict == "ask" and part.method == "ask_rule"]
        asked = max(asks, key=lambda part: part.maybe_denied, default=None)
        allowed = next((part for part in parts if part.verdict == "allow"), None)
        found = denied or asked or allowed or parts[0]
        if found.method == "default":
            return found._replace(verdict="allow" if self.default == "allow" else "ask")
        return found

    # Shell tools.

    def _decide_shell(
        self,
        plan: Plan,
        shell: dict[tuple[int, ...], Rules],
        args: dict[str, Any],
        scene: Scene,
        grants: Grants | None,
        maybe: Decision | None,
    ) -> Decision:
        # The reader of shell commands and the tables of their options, 60 ms, for those who run some.
        from executor_permissions.judge._shell_calls import beside, folder, in_line, outcome_of

        session = grants.shell_rules(plan.tool) if grants is not None else {}
        files = self._calls.fitting(plan.allow, args, scene) if plan.allow.files else []
        fitting = tuple(map(id, files))
        rules = shell.get(fitting) or shell.setdefault(fitting, self._shell_rules(plan, files))
        base, moved, outside = folder(args, scene, self.places.project)
        outcome = outcome_of(plan.kinds, args, rules, scene, session, base, moved=moved)
        parts = [*(maybe.parts if maybe is not None else ()), *outcome.parts]
        if rules.has_lines:
            parts.extend(in_line(rules, plan.kinds, args, parts))
        if outside is not None or len(args) > 1:
            parts.extend(beside(args, outside, {*plan.kinds, *(name for file in files for name in file.values)}))
        asked = self._calls.asked(plan, args, scene) if plan.asks else None
        if asked is not None:
            parts.append(Part(plan.tool, "ask", asked.rule, asked.reason, asked.method))
        if not parts:
            raise InvalidError(f"{plan.tool} was given no command")
        granted = self._calls.granted(grants, plan, args, scene) if grants is not None else None
        return self._combine(plan, parts, outcome, granted)

    def _combine(self, plan: Plan, parts: list[Part], outcome: Outcome, granted: Granted) -> Decision:
        """One decision from those on *parts*, those of *outcome* and more: deny before ask before allow."""
        told = tuple(parts)
        open_parts = [part for part in parts if part.verdict != "allow"]
        for part in open_parts:
            if part.verdict == "deny" and part.method != "default":
                return Decision("deny", part.reason, part.method, part.rule, told)
        whole = plan.allow.whole  # a rule for the tool covers nothing that nobody sees
        seen = outcome.unseen is None or whole is None or all(part.rule != whole for part in parts)
        if not open_parts and granted is None and seen:
            first = first_with_rule(parts)
            return Decision("allow", first.reason, first.method, first.rule, told)
        maybe = self._may_be_denied(plan, parts, outcome.hidden)
        for part in open_parts:
            if part.verdict == "ask" and part.method == "ask_rule":
                reason = f"{part.text}: {part.reason}"
                return Decision("ask", reason, part.method, part.rule, told, maybe_denied=maybe)
        if granted is not None:
            return by_grant(granted, told)
        if not open_parts or self.default == "allow":
            if outcome.unseen is not None or any(part.method == "invalid" for part in parts):
                reason = outcome.unseen or open_parts[0].reason
                return Decision("ask", reason, "default", None, told, maybe_denied=maybe)
            return self._default(plan.tool, told)
        first = open_parts[0]
        reason = f"{first.text}: {first.reason}" if first.text else first.reason
        return Decision(self.default, reason, "default", None, told, maybe_denied=maybe)

    def _may_be_denied(self, plan: Plan, parts: Sequence[Part], hidden: str | None) -> bool:
        """Whether a rule of the blacklist may be about a command: a part that it may mean, or one that is hidden."""
        if hidden is not None and (plan.deny.is_about_commands or self._files.has_rules):
            return True
        return any(
            part.maybe_denied or (part.method == "ask_rule" and not self.asks_by_rule(part.rule)) for part in parts
        )

    def _shell_rules(self, plan: Plan, files: Sequence[Arguments]) -> Rules:
        """What there is for the commands of a tool, where what *files* allow of its other arguments fits."""
        from executor_permissions.judge._shell_known import Known
        from executor_permissions.judge._shell_scope import Rules

        return Rules(
            deny=self._lists["blacklist"].shell,
            ask=self._lists["ask"].shell,
            allow=plan.allow.shell or ShellIndex(),
            denying=plan.deny.about_commands(plan.deny.files),
            asking=plan.ask.about_commands(plan.ask.files),
            allowing=plan.allow.about_commands(files),
            whole=plan.allow.whole,
            file_verdict=self._file_verdict,
            files=self._files,
            places=self.places,
            base=self.places.base,
            known=Known(),
        )


_BY_RULE = frozenset({"blacklist", "session_blacklist", "ask_rule"})
_SCALARS = frozenset({int, float, bool, type(None)})
