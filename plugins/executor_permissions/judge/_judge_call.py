"""
Arguments that are no commands (paths, addresses, values) and the policy's own files: what the lists say about them.

``writeFile(path=src/**)`` allows ``{"path": "src/a.py"}``, and not ``{"path": "src/.git/hooks/x"}``, which git would
run.
"""

# ruff: noqa: SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from executor import Decision
from executor_permissions.judge._verdicts import allowed_part, asked_part, decided, denied_part, maybe_denied_part
from executor_permissions.judge.paths._path_texts import is_plain, may_be_one, may_become, places_of
from executor_permissions.judge.paths._paths import UnclearPathError, under
from executor_permissions.judge.paths._through_links import folders_of_line, through_links, words_of_line
from executor_permissions.judge.rules._rules import OURS, OWN_FILES, READING_TOOLS
from executor_permissions.judge.rules._scene import ABSENT
from executor_permissions.judge.rules._values import PATH_NAMES, anywhere, guess_kind, scalars

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from executor_permissions.judge._shell_scope import Rules
    from executor_permissions.judge._verdicts import Granted, Grants
    from executor_permissions.judge.rules._fitting import Match
    from executor_permissions.judge.rules._rules import Places
    from executor_permissions.judge.rules._scene import Scene
    from executor_permissions.judge.rules._tool_rules import Arguments, ToolRules

_MOST_WORDS = 1000  # that may be files, of a call that runs no commands; of a longer one the first
_VERSION_CONTROL = re.compile(r"/\.(?:git|hg|svn)(?:/|\Z)")
_BASES = frozenset(
    "cwd workdir workingdir workingdirectory chdir root rootdir rootpath rootfolder rootdirectory base basedir basepath"
    " basefolder basedirectory dir directory folder repopath repositorypath reporoot projectpath projectroot projectdir"
    " workspacepath workspaceroot workspacefolder workspacedir".split()
)
_LONGEST_SHOWN = 200


@dataclass(slots=True)
class Plan:
    """
    Everything the policy has about one tool with certain kinds, made once.

    Attributes:
        shell: What it has for commands, of a shell tool; by which files' rules fit the other arguments. None elsewhere.
        beside: Whether it is a shell tool only to those who forbid or ask: what else allows a call, allows it.
        denies, asks: Whether a rule to deny, or to ask, may be about the call whatever its command is.
        paths: The arguments that a rule to allow takes for paths, whatever they are called.
    """

    tool: str
    kinds: dict[str, str]
    deny: ToolRules
    ask: ToolRules
    allow: ToolRules
    fixed: Decision | None
    shell: dict[tuple[int, ...], Rules] | None = None
    beside: bool = False
    denies: bool = field(init=False)
    asks: bool = field(init=False)
    paths: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.paths = self.allow.paths
        self.denies = self.deny.whole is not None or self.deny.depends_on_arguments
        self.asks = self.ask.whole is not None or self.ask.depends_on_arguments

    def shell_for(self, args: dict[str, Any]) -> dict[tuple[int, ...], Rules] | None:
        """`shell`, where there is a command among *args*; of a tool that surely is none for commands None elsewhere."""
        if self.beside and all(kind != "shell" or args.get(name) is None for name, kind in self.kinds.items()):
            return None
        return self.shell


class CallJudge:
    """
    What the three lists say about the arguments of a call.

    Args:
        places: The policy's own files and folders, and the repository.

    Attributes:
        marks: Finds the names of the policy's own in a text.
    """

    def __init__(self, places: Places) -> None:
        self._protected = places.protected
        self._places = places
        names = {os.path.basename(path) for path in places.protected}  # noqa: PTH119 -- text, not a file
        self.marks = re.compile("|".join(map(re.escape, sorted(names | {".toolexec"}))))

    def denied(self, plan: Plan, args: dict[str, Any], scene: Scene) -> Decision | None:
        """The decision of the blacklist: to deny, to ask where it may mean the call, or none."""
        ruled = self.denied_by_rule(plan, args, scene)
        if ruled is not None and ruled.verdict == "deny":
            return ruled
        return (self._names_protected(plan, args, scene) if self._protected else None) or ruled

    def denied_by_rule(self, plan: Plan, args: dict[str, Any], scene: Scene) -> Decision | None:
        """The same of the rules alone, without the policy's own files."""
        found = self._found(plan.deny, plan, args, scene) if plan.denies else None
        if found is None:
            return None
        return decided(denied_part(*found[0]) if found[1] == 2 else maybe_denied_part(*found[0]))

    def asked(self, plan: Plan, args: dict[str, Any], scene: Scene) -> Decision | None:
        """The decision of the rules to ask, if one of them is or may be about the call."""
        found = self._found(plan.ask, plan, args, scene) if plan.asks else None
        return decided(asked_part(*found[0])) if found is not None else None

    def _found(
        self, rules: ToolRules, plan: Plan, args: dict[str, Any], scene: Scene
    ) -> tuple[tuple[str, str], Match] | None:
        """What a rule is about, that rule, and whether surely: the first that surely is, else one that may be."""
        maybe: tuple[tuple[str, str], Match] | None = None
        for match, *about in self._matches(rules, plan, args, scene):
            if match == 2:
                return (about[0], about[1]), 2
            if match and maybe is None:
                maybe = (about[0], about[1]), 1
        return maybe

    def _matches(
        self, rules: ToolRules, plan: Plan, args: dict[str, Any], scene: Scene
    ) -> Iterator[tuple[Match, str, str]]:
        """How well each rule fits the call: (match, what it is about, rule)."""
        if rules.whole is not None:
            yield 2, plan.tool, rules.whole
        for call in rules.calls:
            yield call.catches(args, scene), plan.tool, call.text
        for file, name in ((each, name) for each in rules.files for name in each.values):
            value = scene.value_of(args, name)
            if value is not ABSENT:
                for text, rule in file.about(name, value, scene):
                    yield rule.catches(value, scene), f"{plan.tool} {name}", text
        for wildcard, text in rules.anywhere:
            yield anywhere(wildcard, plan.tool, args, scene), plan.tool, text

    def allowed(self, plan: Plan, args: dict[str, Any], scene: Scene) -> Decision | None:
        rules = plan.allow
        if rules.whole is not None:
            return decided(allowed_part(plan.tool, rules.whole))
        for text, named in self._fitting_rules(rules, args, scene):
            if not self._from_elsewhere(plan, args, scene, named) and self._may_write(plan, args, scene, text):
                return decided(allowed_part(plan.tool, text))
        return None

    def _fitting_rules(
        self, rules: ToolRules, args: dict[str, Any], scene: Scene
    ) -> Iterator[tuple[str, Collection[str]]]:
        """The rules that the arguments fit, each with those that it names."""
        for call in rules.calls:
            if (not call.is_free or not args) and call.allows(args, scene):
                yield call.text, call.arguments
        for file in rules.files:
            text = _every_argument(file, args, scene)
            if text is not None:
                yield text, file.values

    def fitting(self, rules: ToolRules, args: dict[str, Any], scene: Scene) -> list[Arguments]:
        """What files say of the arguments, where all that one names of them fits."""
        return [file for file in rules.files if _every_argument(file, args, scene) is not None]

    def _from_elsewhere(self, plan: Plan, args: dict[str, Any], scene: Scene, named: Collection[str]) -> bool:
        """Whether an argument that the rule is not about may move the folder that relative paths start in."""
        if plan.tool in OURS or len(args) == 1:
            return False
        bases = [name for name in args.keys() - set(named) if isinstance(args[name], str) and _is_base(name)]
        if not bases or all(_is_absolute(value) for name, value in self._paths_in(plan, args) if name not in bases):
            return False
        home = os.path.realpath(scene.base)
        try:
            return any(args[name] and scene.locate(args[name]).real != home for name in bases)
        except UnclearPathError:
            return True

    def _may_write(self, plan: Plan, args: dict[str, Any], scene: Scene, rule: str) -> bool:
        """A rule for a folder does not cover its .git, whose hooks are run, unless it says so; wherever that is."""
        if plan.tool in READING_TOOLS:
            return True
        named = re.search(r"\.(git|hg|svn)\b", rule)
        elsewhere = [folder for folder in self._places.repository if not self._places.is_named_in(rule, folder)]
        reals = [scene.locate(value).real for _, value in self._paths_in(plan, args)]
        return not any(
            (not named and _VERSION_CONTROL.search(real)) or any(under(real, folder) for folder in elsewhere)
            for real in reals
        )

    def _paths_in(self, plan: Plan, args: dict[str, Any]) -> Iterable[tuple[str, str]]:
        """Every (argument, path) of the call."""
        for name, value in args.items():
            kind = plan.kinds.get(name) or guess_kind(name, ())
            if kind == "path" or name in plan.paths or (kind is None and name in PATH_NAMES):
                for item in scalars(value):
                    if isinstance(item, str) and item:
                        yield name, item

    def granted(self, grants: Grants, plan: Plan, args: dict[str, Any], scene: Scene) -> Granted:
        """What people have said of the call as a whole."""
        return grants.find(plan.tool, args, lambda: self._bound(plan, args, scene))

    def _bound(self, plan: Plan, args: dict[str, Any], scene: Scene) -> Iterator[str]:
        """What the arguments mean besides their text: where the paths lead, and where commands run."""
        if plan.shell is not None:
            yield scene.base
        if plan.shell is not None or plan.tool not in OURS:
            yield from _links_in(args, scene, runs_commands=plan.shell is not None)
        if plan.shell is None and plan.tool not in OURS and _may_be_relative(args, scene.base):
            yield scene.base
        for name, value in self._paths_in(plan, args):
            try:
                place = scene.locate(value)
            except UnclearPathError:
                continue
            is_path = (plan.kinds.get(name) or guess_kind(name, ())) == "path"
            if is_path or "/" in value or os.path.lexists(place.written):  # "to": "de" is none, unless there is one
                yield f"{name} {place.real} {place.entry}"

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
        """The call's paths, and every other text that may name one of the policy's own files, whatever its argument."""
        yield from self._paths_in(plan, args)
        for name, value in args.items():
            for item in (value,) if isinstance(value, str) else scalars(value):
                if isinstance(item, str) and (self.marks.search(item) or may_be_one(item)):
                    yield name, item

    def _in_texts(self, plan: Plan, args: dict[str, Any], scene: Scene) -> Iterable[tuple[str, str]]:
        """The same of what is in texts of JSON, should the tool read them: ours do not."""
        for item in scalars(args) if plan.tool not in OURS else ():
            for inside in scene.in_text(item):
                if isinstance(inside, str) and (self.marks.search(inside) or may_be_one(inside)):
                    yield "a text", inside

    def _names_protected(self, plan: Plan, args: dict[str, Any], scene: Scene) -> Decision | None:
        search, kinds = self.marks.search, plan.kinds
        # A command is no path, and nearly none names one of those files.
        for name, value in args.items():
            if type(value) is not str or kinds.get(name) != "shell" or search(value):
                break
        else:
            return None
        may_be: str | None = None
        for name, value in dict.fromkeys(self._may_be_paths(plan, args)):
            match = self._is_protected(value, scene, ours=plan.tool in OURS or kinds.get(name) == "shell")
            if match == 2:
                text = f"{name} {value[:_LONGEST_SHOWN]} belongs to the permission policy"
                return Decision("deny", text, "blacklist", OWN_FILES)
            if match:
                may_be = f"{name} {value[:_LONGEST_SHOWN]}"
        for name, value in dict.fromkeys(self._in_texts(plan, args, scene)) if may_be is None else ():
            if self._is_protected(value, scene, ours=False):
                may_be = f"{name} with {value[:_LONGEST_SHOWN]}"
        if may_be is None:
            return None
        return decided(maybe_denied_part(f"{may_be} may belong to the permission policy", OWN_FILES))

    def _is_protected(self, value: str, scene: Scene, *, ours: bool) -> Match:
        """Whether *value* is one of the policy's own files (2), or may be (1), as the tool takes it."""
        if scene.is_full:
            return 1 if not is_plain(value) or ("/" in value and self.marks.search(value)) else 0
        spelled = [value] if ours else scene.spellings(value)
        maybe: Match = 0 if spelled else 1
        for text in spelled if ours else places_of(spelled or [value], scene.home):
            try:
                place = scene.locate(text)
            except UnclearPathError:
                may_be = not ours and "/" in text and len(text.split(maxsplit=1)) == 1  # a sentence is no path
                maybe = 1 if may_be and self.marks.search(text) else maybe
                continue
            if any(under(path, root) for path in place[:3] for root in self._protected):
                return 2
            if not ours and any(may_become(place.written, root) for root in self._protected):
                maybe = 1
        return maybe


def _every_argument(file: Arguments, args: dict[str, Any], scene: Scene) -> str | None:
    """The rules of *file* that allow these arguments, if every argument that it names fits one of its own."""
    found = []
    for name, values in file.values.items():
        if name not in args:
            return None
        text = next((text for text, rule in values if rule.allows(args[name], scene)), None)
        if text is None:
            return None
        found.append(text)
    return ", ".join(found)


def _is_base(name: str) -> bool:
    """Whether the argument *name* is a folder that paths are relative to."""
    return name.replace("_", "").replace("-", "").lower() in _BASES


def _is_absolute(path: str) -> bool:
    return path[:1] in ("/", "~")


def _may_be_relative(args: dict[str, Any], base: str) -> bool:
    """Whether a text of the call may name a file from *base* on, whatever its argument is called."""
    words = (word for item in scalars(args) if isinstance(item, str) for word in words_of_line(item))
    return any(
        not _is_absolute(word) and ("/" in word or os.path.lexists(os.path.join(base, word)))  # noqa: PTH118 -- text
        for word in islice(words, _MOST_WORDS)
    )


def _links_in(args: dict[str, Any], scene: Scene, *, runs_commands: bool) -> Iterator[str]:
    """The words of commands, and of texts that may name files, that lead through links, each with the end of it."""
    every = (word for item in scalars(args) if isinstance(item, str) for word in words_of_line(item))
    base, words = os.path.realpath(scene.base), list(islice(every, None if runs_commands else _MOST_WORDS))
    folders = folders_of_line(words, base) if runs_commands else [base]
    for word, end in sorted(through_links(words, folders, os.path.realpath)):
        yield f"{word} {end}"
