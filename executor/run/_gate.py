"""The stage that asks whether a call may run: every gate is asked, one that says no ends it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from executor._json import copy_checked, to_text
from executor.calls._outcome import describe
from executor.calls._scope import Blocking, UntilStopped
from executor.errors import PermissionDeniedError, ToolError
from executor.values import Decision, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor.calls._scope import Pause, Steps
    from executor.run._backends import Gate, Prepared
    from executor.threads._workers import Workers
    from executor.values._profile import Profile

    Validate = Callable[[Prepared, Mapping[str, Any]], dict[str, Any]]

MAX_EDITS = 5  # a person may correct a correction; a plugin that edits for ever is refused


def asked_on(gate: Gate | None, workers: Workers) -> tuple[Gate, ...]:
    """*gate*, which may take its time, as one that lets a call without a thread go: asked on *workers*. Or none."""
    if gate is None:
        return ()

    def ask(prepared: Prepared) -> Any:
        # What it does to the arguments is not what runs: it can only say that others are to run.
        return gate(replace(prepared, arguments=copy_checked(prepared.arguments)))

    return (lambda prepared: Blocking(partial(ask, prepared), workers),)


def pass_gates(prepared: Prepared, validate: Validate) -> Steps[None] | None:
    """
    Ask the call's gates; edited arguments are validated, and judged again, until they come back as they were given.
    The gate that a person has answered with arguments of their own judges these for what is denied only.

    Args:
        validate: The stage before, for edited arguments.

    Returns:
        None when the call may run; what has to be waited for, where a gate takes its time.

    Raises:
        PermissionDeniedError: It may not run, or it is not clear whether it may.
        InvalidArgumentsError: The edited arguments do not fit.
    """
    info: Mapping[str, Any] | None = None
    confine: Profile | None = None
    for place, gate in enumerate(prepared.setup.gates):
        verdict = _asked(prepared, gate)
        if verdict is None:
            continue
        if type(verdict) is not Verdict or verdict.arguments is not None:
            return _go_on(_Round(prepared, validate, info, confine), place, verdict)
        info = verdict.info or info
        if verdict.confine is not None:
            confine = verdict.confine if confine is None else confine.or_narrower(verdict.confine)
    prepared.call.permission = info
    prepared.call.confine = confine
    return None


class _Round:
    """One asking of all gates, about the same arguments."""

    __slots__ = ("_answered", "_changed", "_confine", "_edited", "_info", "_validate", "prepared")

    def __init__(
        self,
        prepared: Prepared,
        validate: Validate,
        info: Mapping[str, Any] | None = None,
        confine: Profile | None = None,
        *,
        edited: bool = False,
        answered: Gate | None = None,
    ) -> None:
        self.prepared = prepared
        self._answered = answered
        self._validate = validate
        self._edited = edited
        self._info = info
        self._confine = confine
        self._changed: dict[str, Any] | None = None

    def take(self, gate: Gate, verdict: Verdict) -> bool:
        """Take in what *gate* said. Returns whether it changed the arguments: then nobody else is asked now."""
        self._info = verdict.info or self._info
        if verdict.confine is not None:
            self._confine = verdict.confine if self._confine is None else self._confine.or_narrower(verdict.confine)
        if verdict.arguments is None:
            return False
        changed = self._validate(self.prepared, verdict.arguments)
        # A person's own are judged in any case: something may have been forbidden while the question was open.
        same = not verdict.by_person and to_text(changed) == to_text(self.prepared.arguments)  # to ``==`` true is 1
        if same:
            return False
        self._changed = changed
        self._answered = gate if verdict.by_person else None
        return True

    def close(self) -> _Round | None:
        """The next round, about the changed arguments; None when the call may run."""
        if self._changed is not None:
            self.prepared.arguments = self.prepared.call.changed = self._changed
            return _Round(self.prepared, self._validate, edited=True, answered=self._answered)
        if self._info is not None:
            self.prepared.call.permission = {**self._info, "was_edited": True} if self._edited else self._info
        self.prepared.call.confine = self._confine
        self.prepared.edited = False  # what asks later, about another backend, is not answered by that
        return None

    def ask(self, first: int = 0, given: Verdict | Pause | None = None) -> Steps[None]:
        """Ask the gates from the place *first* on; *given* is what that one has said already."""
        for gate in self.prepared.setup.gates[first:]:
            self.prepared.edited = gate is self._answered
            verdict = given if given is not None else _asked(self.prepared, gate)
            given = None
            if verdict is not None and not isinstance(verdict, Verdict):
                verdict = yield from _waited(self.prepared, verdict)
            if verdict is not None and self.take(gate, verdict):
                return


def _go_on(round_: _Round, place: int, given: Verdict | Pause) -> Steps[None]:
    """The rest of the judging, from the gate at *place* on, which has edited the arguments or takes its time."""
    prepared = round_.prepared
    yield from round_.ask(place, given)
    following = round_.close()
    for _ in range(MAX_EDITS):
        if following is None:
            return
        yield from following.ask()
        following = following.close()
    if following is not None:
        _refuse(prepared, f"the arguments were edited {MAX_EDITS} times without being accepted as they are", "invalid")


def _asked(prepared: Prepared, gate: Gate) -> Verdict | Pause | None:
    """What *gate* says: an allowing verdict, None for no opinion, or a pause."""
    try:
        verdict = gate(prepared)
    except ToolError as error:
        raise prepared.call.source.error or error from error.__cause__  # stopped while a person was asked: no denial
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 -- a gate that fails must not let a call through
        _refuse(prepared, f"the gate raised {describe(error)}", "error", error)
    if verdict is None or (type(verdict) is Verdict and verdict.allowed is True) or hasattr(verdict, "then"):
        return verdict
    return _checked(prepared, verdict)


def _waited(prepared: Prepared, pause: Pause) -> Steps[Verdict | None]:
    try:
        verdict = yield UntilStopped(pause, prepared.call)
    except ToolError as error:
        raise prepared.call.source.error or error from error.__cause__  # stopped while a person was asked: no denial
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 -- as above
        _refuse(prepared, f"the gate raised {describe(error)}", "error", error)
    return _checked(prepared, verdict)


def _checked(prepared: Prepared, verdict: Any) -> Verdict | None:
    """An allowing verdict, or None; everything else is a no."""
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
