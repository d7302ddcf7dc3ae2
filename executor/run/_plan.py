"""What is found out about a chain before any of it runs: every name, id and reference is checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from executor._json import MAX_DEPTH
from executor.errors import ChainError, InvalidToolIdError
from executor.run._batch import check_bound
from executor.run._limits import seconds
from executor.run._values import ChainStep, Parallel, Ref, Step, StepResult, to_step
from executor.tools._names import check_name

if TYPE_CHECKING:
    from collections.abc import Iterable

PREVIOUS = "previous"
_ATOMS = frozenset({str, int, float, bool, type(None)})
_STEP_NAME = re.compile(r"[A-Za-z0-9_-]+")


class Planned(NamedTuple):
    """
    A step with what was found out about it before anything runs.

    Attributes:
        place: Which of all steps it is, from 0.
        refers: Whether it has references.
        wanted: Whether a later step refers to its value.
    """

    step: ChainStep
    place: int
    refers: bool
    wanted: bool


class PlannedGroup(NamedTuple):
    """Steps that run side by side."""

    steps: tuple[Planned, ...]
    max_concurrency: int | None


Plan: TypeAlias = "list[Planned | PlannedGroup]"


def plan(steps: Iterable[object]) -> Plan:
    """
    Check a whole chain before any of it runs.

    Raises:
        ChainError: Something is not a step, an id is malformed, a name is taken, a reference leads to no earlier step.
            `ChainError.steps` is the record of the refused step alone, since nothing has run.
    """
    chain = _read(steps)
    flat = [step for each in chain for step in _each(each)]
    refs = [_refs_of(step) if step.args or step.when is not None else () for step in flat]
    names = [step.name for step in flat]
    asked = any(step.when is not None and not isinstance(step.when, Ref) for step in flat)  # a function may look at any
    wanted = set(names) if asked else {ref.step for some in refs for ref in some}
    known: set[str] = set()
    made: Plan = []
    place = 0
    for each in chain:
        planned = []
        for step in _each(each):
            _check(step, place, refs[place], known, names)
            planned.append(Planned(step, place, bool(refs[place]), step.name in wanted))
            place += 1
        known.update(step.name for step in _each(each) if step.name is not None)
        made.append(PlannedGroup(tuple(planned), each.max_concurrency) if isinstance(each, Parallel) else planned[0])
    return made


def check_chain(steps: Iterable[object]) -> list[ChainStep]:
    """
    Check a chain as `Runner.run_chain` would before its first step, and run nothing.

    Returns:
        Its steps in their order, those of groups one after another.

    Raises:
        ChainError: It would not run; see `Runner.run_chain`.
    """
    groups = [each.steps if isinstance(each, PlannedGroup) else (each,) for each in plan(steps)]
    return [planned.step for group in groups for planned in group]


def _read(steps: Iterable[object]) -> list[Step]:
    chain: list[Step] = []
    place = 0
    for given in steps:
        try:
            step = given if type(given) is ChainStep else to_step(given)
            check_bound(step.max_concurrency if isinstance(step, Parallel) else None)
        except (ValueError, TypeError) as error:
            tool_id = given.get("toolId") if isinstance(given, Mapping) else None
            raise _refused(f"step {place}: {error}", place, tool_id, error) from error
        chain.append(step)
        place += len(_each(step))
    return chain


def _check(step: ChainStep, place: int, refs: Sequence[Ref], known: set[str], names: Sequence[str | None]) -> None:
    try:
        check_name(step.tool_id)
        problem = _problem(step, refs, known, names)
    except (InvalidToolIdError, ValueError) as error:
        reason = error.message if isinstance(error, InvalidToolIdError) else error
        raise _refused(f"step {place}: {reason}", place, step.tool_id, error, step.name) from error
    if problem is not None:
        raise _refused(f"step {place}, {step.label}: {problem}", place, step.tool_id, ValueError(problem), step.name)


def _refused(message: str, place: int, tool_id: object, reason: BaseException, name: str | None = None) -> ChainError:
    """The error of a step that is refused in planning, with its record."""
    tool = tool_id if isinstance(tool_id, str) else None
    record = StepResult(tool or "", error=reason, name=name, place=place)
    return ChainError(message, index=place, steps=(record,), tool_id=tool)


def _each(step: Step) -> Sequence[ChainStep]:
    return step.steps if isinstance(step, Parallel) else (step,)


def _problem(step: ChainStep, refs: Sequence[Ref], known: set[str], names: Sequence[str | None]) -> str | None:
    """What is wrong with a step, or None. Raises ValueError for a time limit or retries that cannot be meant."""
    if step.timeout is not None:
        seconds(step.timeout)
    step.retries()
    if step.args is not None and type(step.args) is not dict and not isinstance(step.args, Mapping):
        return "the arguments are no object of named arguments"
    if step.on_error not in ("stop", "continue"):
        return f"on_error is {step.on_error!r}: use 'stop' or 'continue'"
    if step.when is not None and not isinstance(step.when, Ref) and not callable(step.when):
        return "the condition is neither a reference nor a function"
    found = _name_problem(step.name, names) if step.name is not None else None
    for ref in refs:
        found = found or _leads_nowhere(ref, step, known, names)
    return found


def _name_problem(name: str, names: Sequence[str | None]) -> str | None:
    if name == PREVIOUS or _STEP_NAME.fullmatch(name) is None:
        return f"the name {name!r} is not of letters, digits, '_' and '-', or it is {PREVIOUS!r}"
    if names.count(name) > 1:
        return f"two steps are named {name!r}: give each a name of its own"
    return None


def _leads_nowhere(ref: Ref, step: ChainStep, known: set[str], names: Sequence[str | None]) -> str | None:
    if ref.step == PREVIOUS or ref.step in known:
        return None
    if ref.step == step.name:
        return f"the reference {ref.path!r} leads back to the step itself: a circle"
    if ref.step in names:
        return f"the reference {ref.path!r} leads to a step that has not ended when this one begins"
    there = ", ".join(sorted(known)) or "none"
    return f"the reference {ref.path!r} leads to no step; the steps named before this one: {there}"


def _refs_of(step: ChainStep) -> list[Ref]:
    found = references(step.args) if step.args else []
    return [*found, step.when] if isinstance(step.when, Ref) else found


def references(value: Any, depth: int = 0) -> list[Ref]:
    """Every reference in a JSON tree."""
    if isinstance(value, Ref):
        return [value]
    if depth > MAX_DEPTH:  # the pipeline says what is wrong with arguments of this depth
        return []
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return [ref for item in items if type(item) not in _ATOMS for ref in references(item, depth + 1)]
