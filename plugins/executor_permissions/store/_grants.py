"""What people have allowed and forbidden: grants with a scope and an end, the lasting ones in a file."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from executor.errors import PermissionConfigError
from executor.ownfolders import make_private
from executor.terminalsession import is_open
from executor.wholefiles import locked
from executor_permissions._forked import of_this_process
from executor_permissions.judge._verdicts import BY_GRANT
from executor_permissions.judge.rules._rules import Placeholders, shell_rule
from executor_permissions.store._private import first_missing, is_forgotten, read_private, stamp_of, write_private

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from executor import Decision
    from executor.approval import Scope
    from executor.confine import ProfileName
    from executor_permissions.judge._verdicts import Granted, Meaning
    from executor_permissions.judge.rules._tool_rules import ShellRule

GrantKind = Literal["shell", "call", "tool"]
_ROOT = "${project}"


@dataclass(frozen=True, slots=True)
class Grant:
    """
    One answer that holds for later calls.

    Attributes:
        verdict: ``allow`` (always) or ``deny`` (never).
        kind: ``shell``: a pattern for commands; ``call``: the tool with these very arguments; ``tool``: the whole tool.
        rule: What was shown: the pattern, or the call.
        digest: For ``call``: SHA-256 of the arguments; to allow also of the files that they mean.
        project: For the scope ``project``: its root, or the folder that the program was started in where there is none.
        definition_hash: Of the tool when it was granted; another definition is not covered.
        definition: What the model was told about the tool then, to show what has changed.
        expires: When it ends, in seconds since the epoch, or None.
        uses_left: How many calls it still covers, or None.
        agent: Who asked; other agents are not covered.
        session: For the scope ``session``, where it outlives the process: of which session; "" is this process's.
        folders: Of a rule for one command, to allow: where that may run, resolved, or None for anywhere. The project's
            root is ``${project}``.
        links: Of such a rule: its words that led through links, each with the end of it, or None for any.
        confine: The profile of the box that its question showed; None where none was, as in grants of older versions.
    """

    id: str
    tool: str
    verdict: Literal["allow", "deny"]
    kind: GrantKind
    rule: str
    scope: Scope = "session"
    digest: str = ""
    project: str = ""
    definition_hash: str | None = None
    definition: str = ""
    created: float = 0.0
    expires: float | None = None
    uses_left: int | None = None
    agent: str | None = None
    session: str = ""
    confine: ProfileName | None = None
    folders: Sequence[str] | None = None
    links: Sequence[Sequence[str]] | None = None

    @property
    def kept(self) -> bool:
        """Whether it is in the file, and outlives the process."""
        return self.scope != "session" or bool(self.session)

    @property
    def about(self) -> tuple[object, ...]:
        """What it is about: another one about the same says nothing else of it."""
        links = None if self.links is None else tuple(map(tuple, self.links))
        return self.kind, self.rule, self.digest, None if self.folders is None else tuple(self.folders), links

    def to_dict(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)


def new_grant_id() -> str:
    """An id that no other grant has."""
    return f"grant_{os.urandom(6).hex()}"


def arguments_digest(args: Mapping[str, Any], bound: Iterable[str] = ()) -> str:
    """SHA-256 of arguments, whatever the order of their keys, and of what they mean besides their text."""
    also = list(bound)
    value = [args, also] if also else args
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)
    import hashlib  # with OpenSSL 3 ms, for those who have grants

    return hashlib.sha256(text.encode()).hexdigest()


class GrantBook:
    """
    The grants in force. `_lock` guards the tuple of them; it is replaced, never changed.

    Args:
        folder: Where the lasting ones are kept.
        places: The project, and what placeholders in shell rules stand for.
        clock: Seconds since the epoch.
        session: The session that several processes share (a terminal's); "" is this process's own.
    """

    def __init__(
        self, folder: Path, places: Placeholders, clock: Callable[[], float] = time.time, session: str = ""
    ) -> None:
        self.session = session
        self._path = folder / "grants.json"
        self._file_name = str(self._path)
        self._missing = first_missing(self._path)
        self._places = places
        self._clock = clock
        self._grants: tuple[Grant, ...] = ()
        self._compiled: dict[str, ShellRule] = {}
        self._stamp: tuple[int, int, int] | None = None
        self._begin()
        of_this_process.add(self)
        self.refresh()

    def _begin(self) -> None:
        self._lock = threading.RLock()  # in the child of a fork a new one: whoever held it is in the parent

    # Looking.

    def all(self) -> list[Grant]:
        """Those in force: this process's own, then those in the file, each oldest first."""
        now, session = self._clock(), self.open_session
        with self._lock:
            return [grant for grant in self._grants if self._in_force(grant, now, session)]

    def kept(self) -> list[Grant]:
        """Those in the file that are not over, of every project and session, as another process may have written it."""
        self.refresh()
        now = self._clock()
        with self._lock:
            return [grant for grant in self._grants if grant.kept and not _is_over(grant, now)]

    def concerns(self, tool: str) -> bool:
        """Whether any grant is about *tool*."""
        return bool(self._grants) and any(grant.tool == tool for grant in self._grants)  # at most times there are none

    def about(self, tool: str, agent: str | None) -> Iterator[Grant]:
        """The grants for *tool* and *agent* that are in force here."""
        now, session = self._clock(), self.open_session
        for grant in self._grants:
            here = grant.scope != "project" or grant.project == self._places.base
            if here and grant.tool == tool and grant.agent == agent and self._in_force(grant, now, session):
                yield grant

    @property
    def open_session(self) -> str:
        """The session as long as its terminal is open; "" once nobody can revoke there what it allows."""
        return self.session if self.session and is_open(self.session) is not False else ""

    def _in_force(self, grant: Grant, now: float, session: str) -> bool:
        if grant.expires is not None and grant.verdict == "allow" and grant.created > now:
            return False  # the clock was set back since: it would hold for longer than was said
        alive = (grant.expires is None or grant.expires > now) and grant.uses_left != 0
        return alive and grant.session in ("", session if grant.verdict == "allow" else self.session)

    def compiled(self, grant: Grant) -> ShellRule | None:
        """The shell rule of a grant."""
        rule = self._compiled.get(grant.rule)
        if rule is None:
            try:
                rule = shell_rule(grant.rule, self._places)
            except ValueError:
                return None
            if rule is not None:
                if len(self._compiled) > 2 * len(self._grants):  # most are of grants that have ended
                    found = {each.rule: self._compiled.get(each.rule) for each in self._grants}
                    self._compiled = {text: each for text, each in found.items() if each is not None}
                self._compiled[grant.rule] = rule
        return self._bound(rule, grant) if rule is not None and grant.verdict == "allow" else rule

    def _bound(self, rule: ShellRule, grant: Grant) -> ShellRule:
        """*rule* where *grant* holds, and by the links that led from there when it was given."""
        root = self._places.project
        if grant.folders is not None:
            folders = [_moved(folder, _ROOT, root) for folder in grant.folders]
            rule = rule._replace(holds_in=frozenset(folders).issuperset)
        if grant.links is not None:
            links = [(word, _moved(end, _ROOT, root)) for word, end in grant.links]
            rule = rule._replace(leads=frozenset(links).issuperset)
        return rule

    # Changing.

    def add(self, *grants: Grant) -> None:
        """Put grants in force; lasting ones are in the file before this returns."""
        with self._lock:
            held, now = (*self._grants, *(grant for grant in grants if not grant.kept)), self._clock()
            self._grants = tuple(grant for grant in held if grant.kept or not _is_over(grant, now))
            if any(grant.kept for grant in grants):
                with self._file() as stored:
                    stored.extend(grant for grant in grants if grant.kept)

    def revoke(self, grant_id: str) -> bool:
        """End a grant. Returns whether there was one of this id."""
        with self._lock:
            found = [grant for grant in self._grants if grant.id == grant_id]
            self._grants = tuple(grant for grant in self._grants if grant.id != grant_id)
            if any(grant.kept for grant in found):
                with self._file() as stored:
                    stored[:] = [grant for grant in stored if grant.id != grant_id]
        return bool(found)

    def end_session(self) -> None:
        """End the grants of the session."""
        with self._lock:
            ended = [grant for grant in self._grants if self._of_session(grant)]
            self._grants = tuple(grant for grant in self._grants if not self._of_session(grant))
            if any(grant.kept for grant in ended):
                with self._file() as stored:
                    stored[:] = [grant for grant in stored if not self._of_session(grant)]

    def _of_session(self, grant: Grant) -> bool:
        return grant.scope == "session" and grant.session in ("", self.session)

    def use(self, grant_ids: Collection[str], counts_too: Callable[[], bool] = lambda: True) -> bool:
        """
        Count one use of each. Returns False, and counts nothing, when one of them is not in force any more, or where
        *counts_too* says so, which counts the call elsewhere once these are known to hold.
        """
        if not grant_ids:
            return counts_too()
        with self._lock:
            self.refresh()
            if not any(grant.id in grant_ids and grant.kept for grant in self._grants):
                return self._count(grant_ids, counts_too)
            with self._file() as stored:  # held while it is looked up and counted: no other process counts meanwhile
                self._take(stored, self._stamp)
                holds = self._count(grant_ids, counts_too)
                stored[:] = [grant for grant in self._grants if grant.kept]
            return holds

    def _count(self, grant_ids: Collection[str], counts_too: Callable[[], bool]) -> bool:
        if not {grant.id for grant in self.all()}.issuperset(grant_ids) or not counts_too():
            return False
        self._grants = tuple(_used(grant) if grant.id in grant_ids else grant for grant in self._grants)
        return True

    def refresh(self) -> None:
        """
        Take over what another process has written.

        Raises:
            PermissionConfigError: The file is there, and is none of ours.
        """
        if self._stamp is None and self._missing is not None:
            # Most people have no such file, and an exception costs as much as a decision. Whoever could hide the first
            # thing that is missing on the way to it could as well take the file away.
            if not os.access(self._missing, os.F_OK):
                return
            self._missing = first_missing(self._path)
        stamp = stamp_of(self._file_name)
        if stamp != self._stamp:
            with self._lock:
                self._take(self._read(), stamp)

    def _take(self, stored: Iterable[Grant], stamp: tuple[int, int, int] | None) -> None:
        """What is in the file is what holds, whoever wrote it."""
        self._grants = (*(grant for grant in self._grants if not grant.kept), *stored)
        self._stamp = stamp

    def _read(self) -> list[Grant]:
        try:
            content = read_private(self._path)
            from executor_permissions.store._stored import entries  # few people have grants

            return [Grant(**entry) for entry in entries(content)]
        except FileNotFoundError:
            return []
        except (ValueError, TypeError) as error:
            problem = f"{self._path}: the file of grants is damaged ({error}): delete it, and answer again"
            raise PermissionConfigError(problem, path=str(self._path), problems=[problem]) from error

    @contextmanager
    def _file(self) -> Iterator[list[Grant]]:
        """The stored grants, to be changed; written at the end as a whole, one process at a time."""
        make_private(self._path.parent)
        with locked(self._path.with_suffix(".lock")):
            now = self._clock()
            stored = [grant for grant in self._read() if not _is_over(grant, now)]
            yield stored
            write_private(self._path, {"version": 1, "grants": [grant.to_dict() for grant in stored]})
            self._take(stored, stamp_of(self._file_name))


def portable(folders: Iterable[str], project: str) -> tuple[str, ...]:
    """The *folders* as a `Grant` has them: of another project they are those that have the same place in it."""
    return tuple(sorted(_moved(folder, project, _ROOT) for folder in folders))


def portable_links(links: Iterable[tuple[str, str]], project: str) -> tuple[tuple[str, str], ...]:
    """The *links* as a `Grant` has them, likewise."""
    return tuple(sorted((word, _moved(end, project, _ROOT)) for word, end in links))


def _moved(folder: str, old: str, new: str) -> str:
    """A folder, and if it is *old* or below it that of *new* instead."""
    return new + folder[len(old) :] if folder == old or folder.startswith(f"{old}/") else folder


def _is_over(grant: Grant, now: float) -> bool:
    """Whether it will never be in force again."""
    if grant.session and is_forgotten(grant.session, grant.created, now):
        return True
    return (grant.expires is not None and grant.expires <= now) or grant.uses_left == 0


def _used(grant: Grant) -> Grant:
    return replace(grant, uses_left=max(0, (grant.uses_left or 0) - 1))


class GrantView:
    """
    The grants as `Judge.decide` asks for them, for one call.

    Args:
        agent: Who calls.
        definition_hash: Of a tool, by its name; None where it is not known.
    """

    __slots__ = ("_agent", "_book", "_call", "_hash")

    def __init__(self, book: GrantBook, agent: str | None, definition_hash: Callable[[str], str | None]) -> None:
        self._book = book
        self._agent = agent
        self._hash = definition_hash
        self._call: tuple[str, Mapping[str, Any], Meaning] | None = None

    def _fitting(self, tool: str) -> Iterator[Grant]:
        for grant in self._book.about(tool, self._agent):
            # Never widens: a "never" holds for every definition, an "always" for the one that was shown.
            if grant.verdict == "deny" or grant.definition_hash == self._hash(tool):
                yield grant

    def shell_rules(self, tool: str) -> dict[str, list[tuple[ShellRule, str]]]:
        """The remembered shell rules for *tool*, ``allow`` and ``deny``, each with its scope."""
        found: dict[str, list[tuple[ShellRule, str]]] = {"allow": [], "deny": []}
        for grant in self._fitting(tool):
            rule = self._book.compiled(grant) if grant.kind == "shell" else None
            if rule is not None and len(rule.patterns) == 1:
                found[grant.verdict].append((rule, grant.scope))
        return found

    def find(self, tool: str, args: Mapping[str, Any], bound: Meaning) -> Granted:
        """The grant about the call as a whole; a ``never`` comes before an ``always``."""
        self._call = tool, args, bound
        allowed: Granted = None
        for grant in self._about_call(tool, args, bound):
            if grant.verdict == "deny":
                return ("deny", grant.rule, grant.scope)
            allowed = allowed or ("allow", grant.rule, grant.scope)
        return allowed

    def _about_call(self, tool: str, args: Mapping[str, Any], bound: Meaning) -> Iterator[Grant]:
        digests: dict[str, str] = {}
        for grant in self._fitting(tool):
            if grant.kind == "call" and grant.verdict not in digests:
                # A "never" is about this text, whatever file it means by now; an "always" about the file it meant.
                digests[grant.verdict] = arguments_digest(args, bound() if grant.verdict == "allow" else ())
            if grant.kind == "tool" or (grant.kind == "call" and grant.digest == digests[grant.verdict]):
                yield grant

    def counted(self, decision: Decision) -> tuple[str, ...]:
        """The ids of the grants with a number of uses that *decision*, which was made with this view, rests on."""
        if decision.verdict != "allow":
            return ()
        return tuple(grant.id for grant in self._behind(decision) if grant.uses_left is not None)

    def profiles(self, decision: Decision) -> dict[str, ProfileName | None]:
        """By rule, the box of each grant that *decision*, which was made with this view, rests on."""
        return {grant.rule: grant.confine for grant in self._behind(decision)}

    def _behind(self, decision: Decision) -> list[Grant]:
        """The grants that *decision* rests on."""
        if self._call is None or decision.verdict == "deny":
            return []
        tool = self._call[0]
        rules = {part.rule for part in (decision, *decision.parts) if part.method in BY_GRANT}
        about = [*self._about_call(*self._call), *(grant for grant in self._fitting(tool) if grant.kind == "shell")]
        return [grant for grant in about if grant.verdict == "allow" and grant.rule in rules]
