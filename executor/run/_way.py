"""
The way of a call: into it, through the stages, to its one end. Every route to a tool is this one.

::

    admit → prepare (resolve, select, validate) → gates → its turn → finish (run, normalise, validate) → end

A call that nothing has to wait for goes this way in its caller's thread, without a detour. For all others the rest of
the way after `prepare` is a generator (`calls._scope`): `block` waits at its pauses, `submit` holds no thread.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from executor.calls._above import caller_mark
from executor.calls._scope import Blocking, Submitted, block, leave_scope, link, unlink, unlink_parent
from executor.calls._state import current, nothing
from executor.calls._work import HEEDING, Work, wait, waited
from executor.errors import CapacityError, ExecutionError, ExecutorUnavailableError, ToolError
from executor.run._backends import Prepared
from executor.run._ended import HandedOver
from executor.run._on_loop import BLOCKED, OnLoop, only_runs_on_loop, start_on_loop
from executor.run._options import ORDINARY, Options
from executor.run._promises import Promises, is_unwanted
from executor.run._turns import Turns, give_back, taken
from executor.threads._condition import Condition
from executor.threads._fork import of_this_process

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._scope import Steps
    from executor.calls._state import CallState
    from executor.calls._token import CancelToken
    from executor.calls._work import Threads
    from executor.run._backends import Setup
    from executor.run._ended import Ended
    from executor.run._options import Background, Done, Observer
    from executor.run._pipeline import Pipeline

T = TypeVar("T")
MAX_DEPTH = 100  # calls within calls; an endless recursion is found long before threads or memory run out


class Way:
    """
    Makes calls, for a runner or for a host of one.

    Args:
        pipeline: Has the stages.
        setup: What calls are made with.
        threads: What they run on.
        observer: Told of them, or None.
        background: Takes over those that last, or None.

    `_lock` guards nothing but the wait of `close`; the set of calls is changed by single operations, which are atomic.

    Attributes:
        calls: Those that run.
        promises: Those that were submitted, until their end was told.
        turns: Theirs, where other calls keep them from running.
        closed: Whether no more are taken.
        default_timeout: Seconds, for tools that have no limit of their own.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        setup: Setup,
        threads: Threads,
        *,
        observer: Observer | None = None,
        background: Background | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.setup = setup
        self.threads = threads
        self.closed = False
        self.default_timeout: float | None = None
        self.thresholds = background is not None
        self._observer = observer
        self._background = background
        self._begin()
        of_this_process.add(self)

    def _begin(self) -> None:
        """Without any call; in the child of a fork again, where nothing runs."""
        for call in getattr(self, "calls", ()):
            call.sink = None  # what a tool says in the child must not be in the parent's output
        self.calls: set[CallState] = set()
        self.promises = Promises(self.threads.spawn, self._changed)
        self._lock = threading.RLock()  # also for a signal handler that comes in between
        self._idle = Condition(self._lock)
        self._free: Callable[[], object] = nothing
        self.turns = Turns(self.threads)

    # The two ways of going it ------------------------------------------------------------------------------------

    def block(self, call: CallState, options: Options = ORDINARY, cancel: CancelToken | None = None) -> Ended:
        """What *call* comes to. This thread waits for it, and does what need not be done elsewhere."""
        observer, before = self._observer, current.get()
        began = time.monotonic() if observer is not None and observer.wanted else 0.0
        ended: Ended | None = None
        try:  # whatever is begun in here is ended below, wherever a Ctrl-C comes
            if call.parent is not None or cancel is not None:
                link(call, cancel)
            self.calls.add(call)
            current.set(call)
            prepared = self.admit(call)
            if type(prepared) is not Prepared:
                ended = prepared  # type: ignore[assignment]  # the error that kept it from being one
            elif prepared.judging is None and prepared.entry.plain and options.plain and self.default_timeout is None:
                ended = self.pipeline.finished(prepared)  # nothing has to be waited for: this thread does it all
            elif prepared.judging is None and prepared.entry.only_timed and not options.background:
                limit = options.limit(prepared, self.default_timeout)
                ended = wait(Work(call, partial(self.pipeline.finished, prepared), limit, self.threads))
            else:
                ended = block(self._rest(prepared, options))
            if began:
                observer.call_ended(call, ended, began)  # type: ignore[union-attr, arg-type]  # began is set with it
        except BaseException:  # the caller's own Ctrl-C: nobody learns of this call any more, or has the id of its task
            call.source.interrupted()
            raise
        finally:
            over = unlink_parent if ended.__class__ is HandedOver else self.over
            try:
                if call.leave is not None:
                    leave_scope(call)
                over(call)
            except BaseException:  # a Ctrl-C that comes just now
                call.source.interrupted()
                over(call)
                raise
            finally:
                current.set(before)
        return ended  # type: ignore[return-value]  # as above

    def submit(self, call: CallState, options: Options, cancel: CancelToken | None, done: Done) -> None:
        """Make *call* without a thread that waits for it; *done* is given what it comes to."""
        call.blocking = False
        before, began = current.get(), time.monotonic()
        try:
            link(call, cancel)
            self.calls.add(call)
            self.promises.make(call)
            current.set(call)
            # What plugins put around a call, they put into the context in which all of it runs.
            prepared = None if self._observer is not None and self._observer.wanted else self.admit(call)
            if only_runs_on_loop(prepared, self.pipeline) and self.only_tools_wait(options):
                OnLoop(self, prepared, done).begin()
            else:
                keep = self.promises.keep_beside if self.setup.loop.here else self.promises.keep
                steps = self._submitted(call, prepared, options, began)
                Submitted(steps, self.threads.workers, partial(keep, call, done)).go()
        except BaseException:  # the caller's own Ctrl-C: nobody learns of this call any more
            call.source.interrupted()
            self.over(call)
            self.promises.kept(call)
            raise
        finally:
            current.set(before)

    def only_tools_wait(self, options: Options) -> bool:
        """Whether nothing has to be waited for in a call but its gates, and what its tool asks for."""
        observer = self._observer
        return options.plain and self.default_timeout is None and (observer is None or not observer.wanted)

    def _submitted(
        self, call: CallState, made: Prepared | BaseException | None, options: Options, began: float
    ) -> Steps[Ended]:
        ended: Ended | None = None
        try:
            made = self.admit(call) if made is None else made
            ended = (yield from self._rest(made, options)) if isinstance(made, Prepared) else made
            if self._observer is not None and self._observer.wanted:
                self._observer.call_ended(call, ended, began)
        finally:
            leave_scope(call)
            (unlink_parent if type(ended) is HandedOver else self.over)(call)
        return ended

    # The stages --------------------------------------------------------------------------------------------------

    def admit(self, call: CallState) -> Prepared | BaseException:
        """A call that may run, unless its gates have to be waited for, or the error that keeps it from running."""
        if caller_mark.missing:
            caller_mark.make()
        try:
            if self.closed:
                raise ExecutorUnavailableError("The executor has been shut down")  # noqa: TRY301 -- one end for all
            if call.depth > MAX_DEPTH:
                raise CapacityError(  # noqa: TRY301 -- as above
                    f"Calls are nested deeper than {MAX_DEPTH}: does a tool call itself without end?"
                )
            observer = self._observer
            if observer is not None and observer.wanted:
                observer.call_starts(call)
            if call.source.fate:
                raise call.source.fate[None]  # noqa: TRY301 -- as above
            prepared = self.pipeline.prepare(call, self.setup)
            if observer is not None and observer.wanted:
                observer.call_prepared(prepared)
            if self.setup.gates:
                prepared.judging = self.pipeline.judge(prepared)
        except BaseException as error:  # noqa: BLE001 -- a resolver's or validator's SystemExit ends its call only
            return error
        return prepared

    def _rest(self, prepared: Prepared, options: Options) -> Steps[Ended]:
        """The way from the gates on. Its steps raise only when the waiting thread itself is interrupted."""
        if prepared.judging is not None:
            return self._behind_gates(prepared, prepared.judging, options)
        limit = options.limit(prepared, self.default_timeout)
        threshold = options.threshold(prepared, limit) if self.thresholds or options.background else None
        here = prepared.call.blocking and threshold is None and limit is None
        if here and not (prepared.entry.is_async or options.away):
            return self._here(prepared)
        return self._away(prepared, limit, threshold, options)

    def _behind_gates(self, prepared: Prepared, judging: Steps[None], options: Options) -> Steps[Ended]:
        try:
            yield from judging
        except BaseException as error:  # noqa: BLE001 -- as in admit
            return error
        prepared.judging = None
        return (yield from self._rest(prepared, options))

    def _here(self, prepared: Prepared) -> Steps[Ended]:
        """Run it in the thread that waits for it. What was submitted has none, and can be given up: it runs away."""
        call = prepared.call
        try:
            turn = self.turns.of(prepared)
        except BaseException as error:  # noqa: BLE001 -- as in admit
            return error
        try:
            if turn is not None:
                yield from taken(prepared, turn, self.threads.workers)
        except ToolError as error:  # why its turn never came
            return error
        except BaseException:  # the caller's own Ctrl-C: nobody waits for this call any more
            call.source.interrupted()
            raise
        try:
            return self.pipeline.finished(prepared)
        finally:
            give_back(call)

    def _away(self, prepared: Prepared, limit: float | None, threshold: float | None, options: Options) -> Steps[Ended]:
        """Run it on a worker, and wait until its threshold, its limit or its end."""
        start = None
        try:
            turn = self.turns.of(prepared)
        except BaseException as error:  # noqa: BLE001 -- as in admit
            return error
        if self.pipeline.finishes_on_loop(prepared):
            start = partial(start_on_loop, prepared, self.pipeline, self.threads)
            if prepared.call.blocking and prepared.setup.loop.would_deadlock:
                return ExecutionError(BLOCKED, tool_id=prepared.entry.name)
        work = Work(prepared.call, partial(self.pipeline.finished, prepared), limit, self.threads, turn, start)
        background = self._background
        if threshold is None or background is None:
            alone: Ended = yield from waited(work, None, lambda _: None)
            work.close()
            return alone
        try:
            return (yield from self._watched(work, prepared, threshold, options))
        except BaseException:  # the caller's own Ctrl-C: nobody waits for this call any more, or has the id of its task
            background.withdraw(work)
            work.call.source.interrupted()
            raise

    def _watched(self, work: Work, prepared: Prepared, threshold: float, options: Options) -> Steps[Ended]:
        """Run it, and hand it over at its *threshold*, or at once."""
        background = self._background
        assert background is not None
        try:
            background.watch(work)
            if not (prepared.call.blocking or background.ready) and (options.background or threshold == 0):
                yield Blocking(nothing, self.threads.workers)  # who has submitted it does not wait for that
            handed = background.start(work, prepared, options) if options.background else None
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 -- no room, no store, or no file that could be opened: it does not begin
            prepared.call.source.end()
            work.job.end(error)
            background.unwatch(work)
            return error
        if handed is not None:
            work.submit()
            return handed
        ended = yield from waited(
            work,
            threshold,
            lambda work: background.hand_over(work, prepared, threshold, options),
            lambda work: background.prepare(work, prepared),
            background.lead if threshold else None,
        )
        if type(ended) is not HandedOver:
            work.close()
            background.unwatch(work)
        return ended  # type: ignore[no-any-return]  # a job's end is as untyped as what it does

    # The end -----------------------------------------------------------------------------------------------------

    def let_go(self, call: CallState, began: float, ended: Ended | None) -> None:
        """This process has no more to do with *call*, whose end is told if it is known."""
        if ended is not None and self._observer is not None and self._observer.wanted:
            reset = current.set(call)
            try:
                self._observer.call_ended(call, ended, began)
            finally:
                current.reset(reset)
        self.over(call)

    def over(self, call: CallState) -> None:
        """Nothing of this call runs any more, or is waited for."""
        self.calls.discard(call)  # first: a shutdown would wait for it, should a Ctrl-C come
        if call.turn is not None:
            give_back(call)
        if call.parent_link is not None or call.cancel_link is not None:
            unlink(call)
        call.listener = call.on_progress = call.sink = None
        call.view = None  # it has the call: a circle, which the garbage collector would have to find
        if self.closed:
            self._changed()
            self._free_if_idle()

    def _free_if_idle(self) -> None:
        if all(map(is_unwanted, list(self.calls))):
            self._free()

    def _changed(self) -> None:
        """Somebody may wait for it, in `close`."""
        if self.closed:
            with self._lock:
                self._idle.notify_all()

    def close(self, timeout: float | None, free: Callable[[], object], *, cancel: bool, wait: bool) -> bool:
        """
        Take no more calls. Those that were taken go their way to the end, also where they still wait for their turn.

        Args:
            free: Called once none is left; maybe more than once.
            cancel: Stop those that run.
            wait: Wait for their end, at most *timeout* seconds; tools that were stopped have `HEEDING` to come back.

        Returns:
            Whether all have ended.
        """
        self._free = free
        self.closed = True
        end = None if timeout is None else time.monotonic() + timeout
        if cancel:
            for call in list(self.calls):
                call.source.drop("The executor is shutting down")  # no function holds this up
        if wait:
            with self._lock:
                limit = threading.TIMEOUT_MAX if timeout is None else min(timeout, threading.TIMEOUT_MAX)
                self._idle.wait_for(lambda: self.promises.all_kept(self.calls), limit)
            self.threads.wait_for_heeding(HEEDING if end is None else max(0.0, end - time.monotonic()))
        self._free_if_idle()
        return self.promises.all_kept(self.calls)
