"""
The walk over a script: each simple command that it may run, with the words it becomes and the folders it may run in.

Nothing is run to find out. A branch may be taken or not, a loop may run any number of times, and any command may fail:
the folders and the values of variables are those of all the ways together.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from executor_permissions.judge.bash._expand import Expander, Folders, State, Values, bounded, joined, number_of
from executor_permissions.judge.bash._input import NO_INPUT, Input, piped, shared
from executor_permissions.judge.bash._moves import CHANGING, OWN_VARIABLE, Builtins, Ends, Surroundings
from executor_permissions.judge.bash._syntax import Simple
from executor_permissions.judge.bash._words import (
    NO_FILES,
    Command,
    PublicWord,
    PublicWords,
    Redirect,
    Unknown,
    program_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from executor_permissions.judge.bash._syntax import Compound, Item, Node, Script, Substitution, Word
    from executor_permissions.judge.bash._syntax import Redirect as Redirection
    from executor_permissions.judge.paths._links import Links

_MAX_LOOKS = 2000  # simple commands looked at again and again until a loop is understood
_MANY_STEPS = 250  # from here on a command that may come out in several ways is one step
_WRITES = attrgetter("writes")


class Step(NamedTuple):
    """
    One simple command that may run.

    Attributes:
        command: Its words; one that may come out in several ways is as many steps.
        folders: Where it may run.
        reached: Where the shell may be once it has succeeded.
    """

    command: Command
    folders: Folders
    reached: Folders


class Walked(NamedTuple):
    """
    Every simple command that a script may run, in the order in which bash comes to them, and whether (*lasting*) that
    is so whatever becomes of the links in the file system.
    """

    steps: list[Step]
    lasting: bool


def walk(script: Script, text: str, around: Surroundings, links: Links, folders: Folders, *, before: int = 0) -> Walked:
    """
    Every simple command that *script* may run.

    Args:
        script: What was read of *text*.
        around: What the shell is started with.
        links: Resolves folders.
        folders: Where it may be started.
        before: How many commands of the same line have been found already.
    """
    walker = _Walker(text, around, links, before)
    walker.script(script, State(folders, folders, {}), NO_INPUT)
    return Walked(walker.steps, not walker.has_moved)


class _Walker:
    """One walk. While `_looking`, a loop is gone round to see what it changes, and nothing is noted."""

    def __init__(self, text: str, around: Surroundings, links: Links, before: int) -> None:
        self.steps: list[Step] = []
        self._before = before
        self._text = text
        self._builtins = Builtins(around, links)
        self._expander = Expander(text, around.home, self._printed)
        self._looking, self._looks = False, 0
        self._loops: list[State | None] = []  # for each loop around: the shell where break or continue left it
        self._input = NO_INPUT
        self._own_input = NO_INPUT  # the shell's, once it has given itself another
        self._around: tuple[Redirect, ...] = ()  # what the compound commands around write to, and the shell itself

    @property
    def has_moved(self) -> bool:
        """Whether it has been to another folder."""
        return self._builtins.has_moved

    # Scripts.

    def script(self, script: Script, state: State, source: Input) -> Ends:
        """Walk *script*; what it leaves behind."""
        ends = Ends(state, None)
        begin = last = state  # the shell where the list began, and where it was last
        background = False
        for item in script.items:
            if item.operator in ("&&", "||"):
                ends = self._listed(item, ends, last, source)
            else:
                begin = last = begin if background else (joined(ends.ok, ends.failed) or last)
                ends = self._pipeline(item, begin, source)
            last = ends.ok or ends.failed or last
            background = item.background
        return Ends(begin, None) if background else ends

    def _listed(self, item: Item, before: Ends, last: State, source: Input) -> Ends:
        """A further pipeline of a list: what stands behind ``&&`` runs if the list succeeded so far."""
        if item.operator == "||":
            ends = self._pipeline(item, before.failed or last, source)
            return Ends(joined(before.ok, ends.ok), ends.failed)
        ends = self._pipeline(item, before.ok or last, source)
        return Ends(ends.ok, joined(before.failed, ends.failed))

    def _pipeline(self, item: Item, state: State, source: Input) -> Ends:
        if len(item.nodes) == 1:
            ends = self._node(item.nodes[0], state, source)
            return Ends(ends.failed, ends.ok) if item.negated else ends
        for node, pipe in zip(item.nodes, (*item.pipes, ""), strict=True):
            begin = len(self.steps)
            self._apart(node, state, source)
            source = piped(self.steps[begin:], pipe, simple=type(node) is Simple)
        return Ends(state, state)

    def _apart(self, node: Node, state: State, source: Input) -> None:
        """A command that runs in a subshell: nothing of it stays."""
        if not self._looking:
            with self._subshell():
                self._node(node, state, source)

    @contextmanager
    def _subshell(self) -> Iterator[None]:
        """What runs there leaves no loop around it, nor redirects what follows."""
        kept = self._loops, self._own_input, self._around
        self._loops = []
        yield
        self._loops, self._own_input, self._around = kept

    def _node(self, node: Node, state: State, source: Input) -> Ends:
        return self._simple(node, state, source) if type(node) is Simple else self._compound(node, state, source)  # type: ignore[arg-type]  # there are two

    # Compound commands.

    def _compound(self, node: Compound, state: State, source: Input) -> Ends:
        self._input = source = shared(source)
        around = self._around
        source = self._redirected(node.redirects, node.span, state, source)
        inside = len(self._around)
        ends = self._inside(node, state, source)
        self._around = (*around, *self._around[inside:])  # an `exec` in it redirects what follows
        return ends

    def _inside(self, node: Compound, state: State, source: Input) -> Ends:
        if node.kind == "subshell":
            if not self._looking:
                with self._subshell():
                    self.script(node.branches[0].body, state, source)
            return Ends(state, state)
        if node.kind == "group":
            return self.script(node.branches[0].body, state, source)
        if node.kind == "if":
            return self._if(node, state, source)
        return self._case(node, state, source) if node.kind == "case" else self._loop(node, state, source)

    def _redirected(
        self, redirects: tuple[Redirection, ...], span: tuple[int, int], state: State, source: Input
    ) -> Input:
        """The redirections of a whole compound command: a step without words."""
        if not redirects:
            return source
        command = Command([], self._text[slice(*span)], None, None, source.source, source.body, source.files)
        for redirect in redirects:
            self._redirect(redirect, command, state)
        if command.redirects:
            self._note(command, state.folders, state.folders)
            self._around += tuple(filter(_WRITES, command.redirects))
        return Input(command.stdin, None, command.files)

    def _if(self, node: Compound, state: State, source: Input) -> Ends:
        ok: State | None = None
        failed: State | None = None
        start: State | None = state
        last = state
        for branch in node.branches:
            if branch.condition is not None:
                condition = self.script(branch.condition, start or last, source)
                body = self.script(branch.body, condition.ok or last, source)
                start = condition.failed
            else:
                body = self.script(branch.body, start or last, source)
                start = None
            ok, failed = joined(ok, body.ok), joined(failed, body.failed)
        return Ends(joined(ok, start), failed)

    def _case(self, node: Compound, state: State, source: Input) -> Ends:
        self._compare(node.words or (), state)
        ok: State | None = state
        failed: State | None = None
        through: State | None = None
        for branch in node.branches:
            start = joined(state, through) or state
            self._compare(branch.patterns, start)
            body = self.script(branch.body, start, source)
            ok, failed = joined(ok, body.ok), joined(failed, body.failed)
            through = joined(body.ok, body.failed) if branch.end in (";&", ";;&") else None
        return Ends(ok, failed)

    def _compare(self, words: tuple[Word, ...], state: State) -> None:
        for private in filter(None, (self._private("case", word, state) for word in words)):
            self._note(Command([], private[0].target, redirects=private), state.folders, state.folders)

    # Loops.

    def _loop(self, node: Compound, state: State, source: Input) -> Ends:
        head = state
        values: Values | None = None
        if node.kind == "for":
            values = self._goes_over(node, state)
            if not OWN_VARIABLE.match(node.variable or ""):
                set_to = [(node.variable or "", value) for value in values[:1]]
                self._note(Command([], f"for {node.variable}", set_to), state.folders, state.folders)
            before = state.variables.get(node.variable or "")
            head = state.assign(node.variable or "", values if before is None else bounded([*before, *values]))
        head, ends, left = self._settled(node, head, values, source)
        if not self._looking:
            ends, left = self._round(node, head, values, source)
        after = joined(head, left) if node.kind == "for" else joined(ends.ok, left) or head
        return Ends(after, after)

    def _settled(
        self, node: Compound, head: State, values: Values | None, source: Input
    ) -> tuple[State, Ends, State | None]:
        """The shell at the head of a loop, however often it has gone round; with what the last round gave."""
        looking, self._looking = self._looking, True
        while self._looks <= _MAX_LOOKS:
            self._looks += 1
            ends, left = self._round(node, head, values, source)
            again = joined(head, joined(joined(ends.ok, ends.failed), left))
            if again is None or again == head:
                self._looking = looking
                return head, ends, left
            head = again
        self._looking = looking
        head = head.lost()
        return head, Ends(head, head), None

    def _round(self, node: Compound, head: State, values: Values | None, source: Input) -> tuple[Ends, State | None]:
        """Once round: the condition's ends for ``while``, the body's for ``for``, and where it was left early."""
        branch = node.branches[0]
        self._loops.append(None)
        if values is not None:
            start = head.assign(node.variable or "", values)
            ends = self.script(branch.body, start, source)
            return ends, self._loops.pop()
        condition = self.script(branch.condition, head, source) if branch.condition is not None else Ends(head, head)
        enters, leaves = condition if node.kind == "while" else (condition.failed, condition.ok)
        body = self.script(branch.body, enters or head, source)
        left = joined(self._loops.pop(), joined(body.ok, body.failed))
        return Ends(leaves, leaves), left

    def _goes_over(self, node: Compound, state: State) -> Values:
        """What the variable of ``for`` is set to, one by one."""
        if node.words is None:
            return (Unknown("$@"),)
        values: list[str] = []
        for word in node.words:
            if self._expander.is_counted(word):
                values.append(number_of(self._text[slice(*word.span)]))
                continue
            for form in self._expander.words(word, state):
                values.extend(PublicWord(value) if type(value) is PublicWords else value for value in form)
        return bounded(values) or ("",)

    # Simple commands.

    def _simple(self, node: Simple, state: State, source: Input) -> Ends:
        if self._looking:
            self._looks += 1
            if node.words and (node.words[0].literal or "cd") not in CHANGING:
                return Ends(state, state)  # what its other words are is nothing to the loop
        self._input = shared(source)
        source = source if source.source else self._own_input
        command = Command([], self._written(node), None, None, source.source, source.body, source.files)
        command.around, command.sender = self._around, source.sender
        forms = self._expander.commands(node.words, state, few=self._before + len(self.steps) > _MANY_STEPS)
        for redirect in node.redirects:
            self._redirect(redirect, command, state)
        assigned = [(item.name, self._expander.values(item.value, state)) for item in node.assignments]
        after = self._formed(forms[0], command, assigned, state)
        for words in forms[1:]:
            ends = self._formed(words, replace(command), assigned, state)
            after = Ends(joined(after.ok, ends.ok), joined(after.failed, ends.failed))
        return after

    def _written(self, node: Simple) -> str:
        """The command as written, as far as can be without its redirections."""
        start, end = node.span
        if node.redirects and (node.assignments or node.words):
            start = (node.assignments or node.words)[0].span[0]
            end = (node.words or node.assignments)[-1].span[1]
        return self._text[start:end]

    def _formed(self, words: list[str], command: Command, assigned: Sequence[tuple[str, Values]], state: State) -> Ends:
        """One way in which *command* may come out; its words are filled in."""
        command.words, command.program = words, program_of(words)
        command.assignments = [(name, value) for name, values in assigned for value in values or (PublicWord("…"),)]
        if state.traced and Unknown in {*map(type, words), *(type(value) for _, all_ in assigned for value in all_)}:
            command.redirects = [*command.redirects, Redirect("set -x", Unknown(command.text))]
        if words:
            if self._loops:
                self._leaves_loop(words, state)
            if words == ["exec"] and command.redirects:
                self._redirect_itself(command)
            ends = self._builtins.ends(command, state)
            self._note(command, state.folders, state.folders if ends.ok is None else ends.ok.folders)
            return ends
        if assigned or command.redirects:
            self._note(command, state.folders, state.folders)
        for name, values in assigned:
            if name == "IFS":
                self._expander.splits = False
            state = state.assign(name, values)
        return Ends(state, state)

    def _redirect_itself(self, command: Command) -> None:
        """``exec < a > b``: what follows reads and writes these."""
        if command.files:
            self._own_input = Input(command.stdin, None, command.files)
        self._around += tuple(filter(_WRITES, command.redirects))

    def _leaves_loop(self, words: list[str], state: State) -> None:
        if any(word in ("break", "continue") for word in words[:3]):
            self._loops = [joined(left, state) for left in self._loops]

    def _redirect(self, redirect: Redirection, command: Command, state: State) -> None:
        operator = redirect.operator
        if operator in ("<<", "<<-", "<<<"):
            command.stdin, command.body, command.files = "text", redirect.body, ()
            if operator == "<<<" and redirect.body is None:
                command.redirects.extend(self._private(operator, redirect.target, state))
            return
        if operator in ("<", "<>", "<&"):
            # What `3<` opens is kept, and `<&3` may have it for the input.
            kept = command.files if operator == "<&" or redirect.descriptor else ()
            further = self._own_input.files if operator == "<&" else ()
            command.stdin, command.body, command.files = "file", None, tuple(dict.fromkeys((*kept, *further)))
        for form in self._expander.words(redirect.target, state):
            target = form[0] if len(form) == 1 else Unknown(self._text[slice(*redirect.target.span)])
            known = type(target) is str
            if operator in ("<&", ">&") and known and (target.isdigit() or target in ("", "-")):
                continue
            if not (known and target in NO_FILES):
                command.redirects.append(Redirect("<" if operator == "<&" else operator, target))
                if command.redirects[-1].operator in ("<", "<>"):
                    command.files = (*command.files, target)

    def _private(self, operator: str, word: Word, state: State) -> list[Redirect]:
        """A text that something is given, or compares, and so may show, where the environment may be in it."""
        private = any(type(value) is Unknown for value in self._expander.values(word, state))
        return [Redirect(operator, Unknown(self._text[slice(*word.span)]))] if private else []

    # Substitutions.

    def _printed(self, piece: Substitution, state: State) -> Values | None:
        """Walk what a substitution runs; what it prints, where that is plain."""
        script = piece.script
        if not self._looking:
            source = self._input
            with self._subshell():
                self.script(script, state, source)
            self._input = source
        if len(script.items) != 1 or len(script.items[0].nodes) != 1:
            return None
        node = script.items[0].nodes[0]
        if type(node) is not Simple or node.assignments or [word.literal for word in node.words] not in _PRINTERS:
            return None
        if not node.redirects and node.words[0].literal == "pwd":
            return state.printed_folders()
        here = node.redirects[0] if len(node.redirects) == 1 and node.words[0].literal == "cat" else None
        known = here is not None and here.operator in ("<<", "<<-") and here.body is not None and piece.quoted
        return (here.body.rstrip("\n"),) if known else None  # type: ignore[union-attr]  # as has been seen

    def _note(self, command: Command, folders: Folders, reached: Folders) -> None:
        if not self._looking:
            self.steps.append(Step(command, folders, reached))


_PRINTERS: tuple[list[str | None], ...] = (["pwd"], ["cat"])
