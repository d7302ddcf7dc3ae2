"""What the result of a command says."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from executor.confine import Box
    from executor_shell._pipes import Source
    from executor_shell._start import Request


def told(request: Request, exit_code: int | None, sources: Sequence[Source], box: Box | None) -> dict[str, Any]:
    """
    The result of a command, but for how long it took.

    Args:
        exit_code: Negative for a signal; None when it is stuck in the system, or how it ended is lost.
        sources: What it wrote to.
        box: What it ran in.
    """
    result: dict[str, Any] = {"exit_code": exit_code}
    if exit_code is not None and exit_code < 0:
        result["signal"] = _signal_name(-exit_code)
    for source in sources:
        result |= source.capture.entries()
    result.setdefault("stderr", "")  # a terminal has one stream
    if any(source.undecodable for source in sources):
        result["undecodable"] = True
    if box is not None:
        result["confined"] = _confined(request, box, result)
    return result


def _confined(request: Request, box: Box, result: dict[str, Any]) -> dict[str, Any]:
    """Which box it ran in, and what that refused if it failed."""
    told = box.to_dict()
    if result["exit_code"] and request.confine is not None:
        from executor.confine import refusal

        said = f"{result['stdout']}\n{result['stderr']}"
        refused = refusal(request.confine, box, request.told, request.cwd or ".", said)
        if refused is not None:
            told["refused"] = refused
    return told


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no names of their own
        return f"signal {number}"
