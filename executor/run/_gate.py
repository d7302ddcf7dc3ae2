"""The stage that asks whether a call may run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from executor.calls._outcome import describe
from executor.errors import PermissionDeniedError, ToolError
from executor.values import Decision, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor.run._backends import Gate, Prepared

MAX_EDITS = 5  # a person may correct a correction; a plugin that edits for ever is refused


def pass_gate(
    prepared: Prepared, gate: Gate, validate: Callable[[Prepared, Mapping[str, Any]], dict[str, Any]]
) -> None:
    """
    Ask *gate*; edited arguments are validated, and judged again, until they come back as they were given.

    Args:
        validate: The stage before, for edited arguments.

    Raises:
        PermissionDeniedError: It may not run, or it is not clear whether it may.
        InvalidArgumentsError: The edited arguments do not fit.
    """
    verdict = _ask(prepared, gate)
    if verdict is None:
        return
    if verdict.arguments is None:
        prepared.call.permission = verdict.info
        return
    edited = False
    for _ in range(MAX_EDITS):
        if verdict is None or verdict.arguments is None:
            break
        changed = validate(prepared, verdict.arguments)
        if changed == prepared.arguments:
            break
        edited = True
        prepared.arguments = changed
        verdict = _ask(prepared, gate)
    else:
        _refuse(prepared, f"the arguments were edited {MAX_EDITS} times without being accepted as they are", "invalid")
    if verdict is not None and verdict.info is not None:
        prepared.call.permission = {**verdict.info, "was_edited": True} if edited else verdict.info


def _ask(prepared: Prepared, gate: Gate) -> Verdict | None:
    try:
        verdict = gate(prepared)
    except ToolError:
        raise
    except Exception as error:  # noqa: BLE001 -- a gate that fails must not let a call through
        _refuse(prepared, f"the gate raised {describe(error)}", "error", error)
    if verdict is None or (type(verdict) is Verdict and verdict.allowed is True):
        return verdict
    if type(verdict) is not Verdict:
        _refuse(prepared, f"the gate gave {verdict!r} instead of a Verdict", "error")
    info = verdict.info or {}
    return _refuse(prepared, str(info.get("reason") or "no reason was given"), str(info.get("method") or "gate"))


def _refuse(prepared: Prepared, reason: str, method: str, error: BaseException | None = None) -> NoReturn:
    raise PermissionDeniedError(
        f"Permission denied: {reason}",
        decision=Decision("deny", reason, method),
        info={"decision": "denied", "reason": reason, "method": method},
        tool_id=prepared.entry.name,
        backend=prepared.backend,
    ) from error
