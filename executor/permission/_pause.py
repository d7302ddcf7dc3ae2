"""The pause until a person has answered."""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._scope import Resume
    from executor.values import Verdict


class Asking:
    """
    The pause until a person has answered; no thread waits for that.

    Args:
        put: Puts the question, ``put(answered)``, in the context of now: the call it is about is the current one.
        settle: What the answer means. Raises PermissionDeniedError.
    """

    __slots__ = ("_context", "_put", "_settle")
    quick = False

    def __init__(self, put: Callable[[Callable[[Any], object]], object], settle: Callable[[Any], Verdict]) -> None:
        self._put = put
        self._settle = settle
        self._context = contextvars.copy_context()

    def block(self) -> Verdict:
        raise RuntimeError("a call that a thread waits for asks in that thread")

    def then(self, resume: Resume) -> None:
        def answered(answer: object) -> None:
            try:
                verdict = self._settle(answer)
            except BaseException as error:  # noqa: BLE001 -- raised again where the call goes on
                resume(None, error)
            else:
                resume(verdict, None)

        try:
            self._context.run(self._put, answered)
        except BaseException as error:  # noqa: BLE001 -- as above
            answered(error)
