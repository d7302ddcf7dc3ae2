"""The box that goes with a decision: for what nobody has looked at, made from the same policy."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from executor.errors import ConfinementError
from executor_permissions.ask._caller import folder_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from executor import CurrentCall, Decision, Tool, ToolCall
    from executor.confine import Profile, ProfileName
    from executor_permissions.store._grants import GrantView
    from executor_permissions.store._load import Policy

BOXLESS = "confine"  # the method of what is asked about because there is no one box for it
_MIXED = (
    "some of its commands would run as you and others in a box: run them in calls of their own (their folder is `cwd`)"
)
_UNHELD = "the rule {!r} may be about more files than can be looked for, and a box would not hold it: make it narrower"


def boxed_call(
    decision: Decision,
    policy: Policy,
    call: ToolCall,
    current: CurrentCall | None,
    tool: Tool | None,
    view: GrantView | None,
) -> Decision:
    """`boxed` for a *call* of *tool*, as far as it is known, which was judged with *view*, and is made by *current*."""
    name = call.name
    if tool is not None and not (tool.argument_kinds or tool.confine or policy.is_shell_tool(name)):
        return decision  # by far the most tools; the same as below, for a part of the time
    return boxed(
        decision,
        policy,
        name,
        kinds=tool.argument_kinds if tool is not None else None,
        own=tool.confine if tool is not None else None,
        granted=view.profiles(decision) if view is not None else None,
        arguments=call.arguments,
        start=folder_of(current, tool),
    )


def boxed(
    decision: Decision,
    policy: Policy,
    name: str,
    *,
    kinds: Mapping[str, str] | None = None,
    own: ProfileName | None = None,
    granted: Mapping[str, ProfileName | None] | None = None,
    arguments: object = None,
    start: str = "",
) -> Decision:
    """
    *decision* with the profile of the box that its call is to run in, unless a person allows it.

    It is asked about where its commands do not go into one box, and where a box is required and none can be had.

    Args:
        name: What is called.
        kinds: What its arguments mean, as far as the tool says.
        own: The box that the tool itself names.
        granted: By rule, the boxes of the grants that it rests on.
        arguments: Of the call: they may name the folder that it starts in …
        start: … from this one on.
    """
    if decision.verdict == "deny":
        return decision
    if own is not None:
        choice = policy.boxes.named(own)
    elif policy.is_shell_tool(name, kinds):
        choice = policy.boxes.choose(decision.parts, granted or {}, _folder(arguments, start))
    else:
        return decision
    profile = choice.profile
    kept = [box for box in (granted or {}).values() if box is not None]
    if profile is not None and kept:
        from executor.confine import PROFILE_NAMES

        profile = replace(profile, answered=min(kept, key=PROFILE_NAMES.index))
    if choice.mixed and decision.verdict == "allow":
        return replace(decision, verdict="ask", reason=_MIXED, method=BOXLESS, confine=profile)
    problem = None
    if profile is not None and decision.verdict == "allow":
        problem = _problem(profile) if choice.unheld is None else _UNHELD.format(choice.unheld)
    if problem is not None:
        return replace(decision, verdict="ask", reason=problem, method=BOXLESS, confine=profile)
    return decision if profile is None else replace(decision, confine=profile)


def kept_boxes(
    decision: Decision, policy: Policy, rules: Sequence[str], again: Decision | None
) -> dict[str, ProfileName | None]:
    """
    By rule, the box that a grant of it keeps: each of *rules* its own, a wider one is for what stands beside it.

    Args:
        decision: The one that was asked about.
        rules: For its commands; or one for the call as a whole, which keeps the box of all of it.
        again: What the decision is once the rules for its commands are granted.
    """
    boxes = {}
    for rule in rules:
        own = [part for part in again.parts if part.rule == rule] if again is not None else []
        boxes[rule] = policy.boxes.kept(own or decision.parts)
    return boxes


def _folder(arguments: object, start: str) -> str | None:
    """Where a call with these arguments starts, which paths begin at *start*; None if it has none."""
    told = arguments if isinstance(arguments, dict) else {}
    from executor_permissions.judge._shell_calls import is_folder  # with what judges commands

    named = [value for name, value in told.items() if isinstance(value, str) and is_folder(name)]
    return os.path.join(os.getcwd(), start, *named) if arguments is not None else None  # noqa: PTH109, PTH118 -- as judged


def _problem(profile: Profile) -> str | None:
    """Why the box that is required cannot be had here."""
    if not profile.required:
        return None
    from executor.confine import box_of

    try:
        box_of(profile)
    except ConfinementError as error:
        return str(error)
    return None


def every_box(project: str) -> bool:
    """Whether this machine holds every profile whole."""
    from executor.confine import Profile, box_of

    names: tuple[ProfileName, ...] = ("read", "project", "network")
    try:
        return not any(box_of(Profile(name, project)).open for name in names)
    except ConfinementError:  # that could not be tried now
        return False
