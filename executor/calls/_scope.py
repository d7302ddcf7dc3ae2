"""
The way into a call, for every route, and the two ways of going on in it.

What a call does is written once, as a generator that yields a `Pause` wherever something has to be waited for. A thread
that waits for the call blocks at each pause (`block`). A call that was submitted is left at each pause, and goes on
when it is over, on a worker (`Submitted`): no thread waits for it.

No token of the ContextVar is held over a pause: whoever goes on sets the current call, and takes it back.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from executor.calls._token import source_of
from executor.errors import ExecutorUnavailableError

if TYPE_CHECKING:
    from executor.calls._state import CallState
    from executor.calls._token import CancelToken
    from executor.threads._workers import Workers

T = TypeVar("T")
Resume: TypeAlias = "Callable[[Any, BaseException | None], object]"
Steps: TypeAlias = Generator["Pause", Any, T]


class Pause(Protocol):
    """
    Something that a call waits for.

    Attributes:
        quick: Whether all that follows, when it has come, is to put the call where it runs: any thread may do that.
    """

    @property
    def quick(self) -> bool: ...

    def block(self) -> Any:
        """Wait for it in this thread. Returns what came, or raises."""
        ...

    def then(self, resume: Resume) -> None:
        """Call ``resume(value, error)`` once when it has come, from any thread; at once, if it has."""
        ...


class Blocking:
    """A function that may block: called where a thread waits anyway, else on a worker, in the context of now."""

    __slots__ = ("_context", "_fn", "_workers")
    quick = False

    def __init__(self, fn: Callable[[], Any], workers: Workers) -> None:
        self._fn = fn
        self._workers = workers
        self._context = contextvars.copy_context()

    def block(self) -> Any:
        return self._fn()

    def then(self, resume: Resume) -> None:
        if not self._workers.submit(lambda: self._call(resume)):
            resume(None, ExecutorUnavailableError(self._workers.refusal))

    def _call(self, resume: Resume) -> None:
        try:
            value = self._context.run(self._fn)
        except BaseException as error:  # noqa: BLE001 -- raised again where the call goes on
            resume(None, error)
        else:
            resume(value, None)


class UntilStopped:
    """*pause*, or a stop of *call*, whichever comes first: what is parked for long is over as soon as it is stopped."""

    __slots__ = ("_call", "_pause")
    quick = False

    def __init__(self, pause: Pause, call: CallState) -> None:
        self._pause = pause
        self._call = call

    def block(self) -> Any:
        return self._pause.block()

    def then(self, resume: Resume) -> None:
        once = [resume]  # popping is atomic: one of the two gets it
        forget: list[Callable[[], None]] = []

        def go_on(value: Any, error: BaseException | None) -> None:
            try:
                going = once.pop()
            except IndexError:
                return
            for fn in forget:
                fn()
            going(value, error)

        # The first that is told of a stop: a question that is taken back by it is answered by a no.
        forget.append(self._call.source.on_cancel(lambda: go_on(None, self._call.source.error)))
        if once:
            self._pause.then(go_on)


def link(call: CallState, cancel: CancelToken | None) -> None:
    """Stop *call* when the call around it is stopped, or *cancel* says so."""
    if call.parent is not None:
        call.parent_link = call.parent.source.propagate(call.source)
    if cancel is not None:
        call.cancel_link = source_of(cancel).propagate(call.source)


def unlink_parent(call: CallState) -> None:
    """The call around it is not what stops *call* any more."""
    if call.parent_link is not None:
        call.parent_link.end()
        call.parent_link = None


def unlink(call: CallState) -> None:
    """*call* is over: nothing holds on to it."""
    unlink_parent(call)
    if call.cancel_link is not None:  # a token may live as long as a session
        call.cancel_link.end()
        call.cancel_link = None


def leave_scope(call: CallState) -> None:
    """*call* leaves the context in which it came in, and with it what plugins have put around it."""
    left, call.leave = call.leave, None
    if left is not None:
        left()


def block(steps: Steps[T]) -> T:
    """Go through *steps* in this thread, which waits at each pause."""
    try:
        pause = next(steps)
        while True:
            try:
                value = pause.block()
            except BaseException as error:  # noqa: BLE001 -- the steps say what becomes of it
                pause = steps.throw(error)
            else:
                pause = steps.send(value)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # what the generator returned: typing cannot say so


class Submitted(Generic[T]):
    """
    Goes through *steps* without a thread that waits, in the context of now.

    Args:
        workers: Where it goes on after a pause.
        done: Given what the steps return. They must not raise.
    """

    def __init__(self, steps: Steps[T], workers: Workers, done: Callable[[T], object]) -> None:
        self._steps = steps
        self._workers = workers
        self._done = done
        self._context = contextvars.copy_context()

    def go(self, value: Any = None, error: BaseException | None = None) -> None:
        """The steps up to the next pause, in this thread."""
        try:
            if isinstance(error, GeneratorExit):
                error = RuntimeError("GeneratorExit was raised")  # itself it would close the steps, without an end
            if error is not None:
                pause = self._context.run(self._steps.throw, error)
            else:
                pause = self._context.run(self._steps.send, value)
        except StopIteration as end:
            self._done(end.value)
            return
        if pause.quick:
            pause.then(self._put)
        else:
            # Whoever is asked sees the call; in a copy, since what ends the pause at once enters the context again.
            self._context.copy().run(pause.then, self._resume)

    def _put(self, value: Any, error: BaseException | None) -> None:
        if error is None:
            self.go(value)
        else:
            self._resume(value, error)

    def _resume(self, value: Any, error: BaseException | None) -> None:
        # Whoever ends a pause (a person who answers, a timer, another call) does not do this call's work.
        if self._workers.here or not self._workers.spawn(lambda: self.go(value, error)):
            self.go(value, error)
