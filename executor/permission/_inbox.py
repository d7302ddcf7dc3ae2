"""
The open questions to a person: any number of surfaces show them, in any process of the user; the first answer wins.

`Inbox._lock` guards the open questions and the surfaces. Nothing of somebody else's is called under it.
"""

from __future__ import annotations

import queue
import threading
import time
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from executor._log import warn
from executor.calls._token import CancelToken, source_of
from executor.errors import ExecutorUnavailableError
from executor.permission._open import Question, Waiter, end_wait, same, show_on, tell, withdraw_from
from executor.threads._beside import beside
from executor.threads._deadlines import Deadlines
from executor.threads._fork import of_this_process
from executor.values._approval import Answer, Approval, Channel, parse_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from executor.permission._elsewhere import Elsewhere
    from executor.permission._meeting import Meeting
    from executor.permission._surface import Surface


class Inbox:
    """
    The open questions, and the surfaces that show them: those of this process alone, unless it is made by `shared`.

    Args:
        at: ``at(when, fn)`` calls *fn* at the monotonic time *when*, and returns a function that takes it back.
            Default: a thread that exists only while a question with a time limit is open.
    """

    def __init__(self, at: Callable[[float, Callable[[], object]], Callable[[], None]] | None = None) -> None:
        self._at = at or Deadlines().at
        self._channels: dict[str, Channel] = {}
        self._spare: set[str] = set()
        self._only: frozenset[str] | None = None
        self._subscribers: list[Callable[[str, Approval], object]] = []
        self._elsewhere: Elsewhere | None = None
        self._meeting: Meeting | None = None
        self._surface: Surface | None = None
        self._begin()
        of_this_process.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()  # in the child of a fork a new one, and no question: they are the parent's
        self._open: dict[str, Question] = {}

    @classmethod
    def shared(cls, meeting: Meeting | None = None) -> Self:
        """
        One whose questions are shown on the surfaces of every process of this user, and answered there as well.

        Args:
            meeting: Where processes meet; by default in the user's state.
        """
        from executor.permission._elsewhere import Elsewhere
        from executor.permission._meeting import Meeting

        made, place = cls(), meeting or Meeting()
        made._meeting, made._elsewhere = place, Elsewhere(place)
        return made

    def pending(self) -> list[Approval]:
        """The questions that wait for an answer, oldest first; with a subscriber also those of other processes."""
        with self._lock:
            own, surface = [question.approval for question in self._open.values()], self._surface
        return own if surface is None else own + surface.pending()

    @property
    def attended(self) -> bool:
        """Whether anybody in this process shows questions."""
        with self._lock:
            return bool(self._channels or self._subscribers)

    def decide(self, approval_id: str, answer: object, *, digest: str | None = None, by: str = "") -> bool:
        """
        Answer a question.

        Args:
            answer: See `parse_answer`.
            digest: The `Approval.digest` that the person saw, where the surface may show an older state.

        Returns:
            False when it is no longer open, was about something else, or the answer is none of its options.
        """
        with self._lock:
            surface = self._surface if self._find(approval_id) is None else None
        if surface is not None:
            return surface.answer(approval_id, answer, digest=digest)
        return self._decide(approval_id, answer, digest=digest, by=by)

    def _decide(
        self,
        approval_id: str,
        answer: object,
        *,
        digest: str | None,
        by: str,
        claimed: Callable[[], object] | None = None,
    ) -> bool:
        said = parse_answer(answer, by)
        with self._lock:
            question = self._find(approval_id)
        if question is None or digest not in (None, question.approval.digest) or not question.fits(said):
            return False
        with self._lock:
            if self._find(approval_id) is not question:
                return False
            del self._open[question.approval.id]
            said = question.given(said, approval_id)
            waiting = question.close(said)
        if claimed is not None:
            claimed()
        end = partial(self._end, question, waiting, said)
        end() if claimed is None else beside(end)  # who has answered in another process waits for nobody here
        return True

    def _end(self, question: Question, waiting: list[Waiter], answer: Answer) -> None:
        end_wait(waiting, answer)
        self._take_back(question)

    def _find(self, approval_id: str) -> Question | None:
        joined = (question for question in self._open.values() if question.is_asked_by(approval_id))
        return self._open.get(approval_id) or next(joined, None)

    def subscribe(self, fn: Callable[[str, Approval], object]) -> Callable[[], None]:
        """
        Be told of each question: ``fn("asked", approval)`` and ``fn("closed", approval)``. A subscriber counts as a
        surface: it is expected to see to it that somebody decides.

        With a shared inbox it is told of those of the user's other processes as well, which have an `Approval.origin`.

        Returns:
            A function that ends it.
        """
        with self._lock:
            self._subscribers.append(fn)
        self._open_surface()

        def end() -> None:
            with self._lock:
                if fn in self._subscribers:
                    self._subscribers.remove(fn)
                left = bool(self._subscribers)
            if not left:
                self.close()

        return end

    def close(self) -> None:
        """Subscribers are told no more of other processes' questions; those of this one are asked as before."""
        with self._lock:
            surface, self._surface = self._surface, None
        if surface is not None:
            surface.retire()

    def _open_surface(self) -> None:
        """Show the subscribers what other processes ask."""
        if self._elsewhere is None:
            return
        from executor.permission._surface import Surface

        told = weakref.WeakMethod(self._tell_of_others)
        surface = Surface(
            "subscriber",
            lambda event, approval: (tell := told()) and tell(event, approval),
            meeting=self._meeting,
            name=self._elsewhere.id,
        )
        with self._lock:
            if self._surface is not None:
                return
            self._surface = surface
        surface.end_with(self)
        try:
            surface.open()
        except ExecutorUnavailableError as error:
            warn(str(error))

    def _tell_of_others(self, event: str, approval: Approval) -> None:
        with self._lock:
            subscribers = list(self._subscribers)
        tell(subscribers, event, approval)

    def add_channel(self, name: str, channel: Channel, *, spare: bool = False) -> None:
        """Show questions on *channel* too, for one of its name; on a *spare* one what nobody else can be asked."""
        with self._lock:
            self._channels[name] = channel
            (self._spare.add if spare else self._spare.discard)(name)

    def channels(self) -> dict[str, Channel]:
        """The surfaces that show questions now, by name."""
        with self._lock:
            return dict(self._channels)

    def remove_channel(self, name: str) -> None:
        """Show no more questions there."""
        with self._lock:
            self._channels.pop(name, None)
            self._spare.discard(name)

    def restrict(self, names: Collection[str] | None) -> None:
        """
        From now on ask on the channels of these names alone, whoever names others: neither subscribers nor other
        processes are shown a question. With no name nobody is asked; None: everybody again.
        """
        with self._lock:
            self._only = frozenset(names) if names is not None else None

    def ask(
        self,
        approval: Approval,
        *,
        channels: Mapping[str, Channel] | None = None,
        elsewhere: bool | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Answer:
        """
        Put a question, and wait for its answer: `put`, for those who have a thread to wait in.

        Returns:
            The answer; ``timeout``, ``cancelled`` or ``no_channel`` without a person's.
        """
        answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        undo = self.put(approval, answers.put, channels=channels, elsewhere=elsewhere, timeout=timeout, cancel=cancel)
        try:
            return answers.get()
        finally:
            undo()

    def fill_in(
        self,
        tool: str,
        message: str,
        schema: Mapping[str, Any] | None = None,
        *,
        secret: bool = False,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> dict[str, Any]:
        """
        Ask a person something for *tool*, and wait for the answer; see `CurrentCall.ask`.

        Raises:
            ExecutionError: There is no answer; the text says why.
            SchemaError: *schema* is none.
        """
        from executor.permission._form import ask_for_tool

        return ask_for_tool(tool, message, schema, self, secret=secret, timeout=timeout, cancel=cancel)

    def put(
        self,
        approval: Approval,
        on_answer: Callable[[Answer], object],
        *,
        channels: Mapping[str, Channel] | None = None,
        elsewhere: bool | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        takes: Callable[[Answer], bool] | None = None,
    ) -> Callable[[], None]:
        """
        Put a question, and return at once. Where its asker has an identical one open, it is joined, not put again.

        Args:
            on_answer: Called once with the answer, in whatever thread it comes from: of a surface, of whoever cancels,
                of the time limits, or this one where nobody can be reached. It must not block.
            channels: Where to ask in this process; by default on every channel of the inbox.
            elsewhere: Whether to ask in other processes, too; by default where no *channels* are named.
            timeout: Seconds after which the answer is ``timeout``; None waits as long as it takes.
            cancel: Makes the answer ``cancelled``.
            takes: Whether an answer of a person can be acted upon. If not, the question stays open.

        Returns:
            A function that takes the question back, after which *on_answer* is called no more.
        """
        waiter = Waiter(approval.id, on_answer)
        question, joined = self._open_or_join(approval, waiter, takes)
        undo = []  # before anything is shown: a surface may take its time for that, which the question does not have
        if timeout is not None:
            timed_out = partial(self._leave, question, waiter, Answer("timeout"))
            undo.append(self._at(time.monotonic() + timeout, timed_out))
        if cancel is not None:
            undo.append(source_of(cancel).on_cancel(partial(self._leave, question, waiter, Answer("cancelled"))))
        with self._lock:
            if waiter in question.waiting:
                waiter.undo, undo = undo, []
            wanted = bool(question.waiting)
        for fn in undo:  # it has ended meanwhile
            fn()
        if wanted and not joined:
            if elsewhere or (elsewhere is None and channels is None):
                question.elsewhere = self._elsewhere if self._only is None else None
            self._show(question, channels)
        return partial(self._leave, question, waiter, None)

    def _open_or_join(
        self, approval: Approval, waiter: Waiter, takes: Callable[[Answer], bool] | None
    ) -> tuple[Question, bool]:
        with self._lock:
            for question in self._open.values():
                if same(question.approval, approval):
                    question.waiting.append(waiter)
                    return question, True
            question = Question(approval, takes)
            question.waiting.append(waiter)
            self._open[approval.id] = question
            return question, False

    def _show(self, question: Question, channels: Mapping[str, Channel] | None) -> None:
        with self._lock:
            question.place(self._channels if channels is None else channels, self._spare, self._only)
            question.subscribers = list(self._subscribers) if self._only is None else []
        self._show_on(question, tuple(question.shown_on.items()))
        self._show_elsewhere(question)
        self._lost(question, "")
        tell(question.subscribers, "asked", question.approval)
        self._has_shown(question)

    def _show_on(self, question: Question, channels: Iterable[tuple[str, Channel]]) -> None:
        def answer(name: str, said: object) -> bool:
            if isinstance(said, Answer) and said.word == "no_channel":
                self._lost(question, name)
                return True
            return self.decide(question.approval.id, said, digest=question.approval.digest, by=name)

        show_on(question, channels, answer, partial(self._lost, question))

    def _has_shown(self, question: Question) -> None:
        with self._lock:
            question.showing -= 1
            over = not question.waiting
        if over:
            self._take_back(question)

    def _show_elsewhere(self, question: Question) -> None:
        approval, there = question.approval, question.elsewhere
        if there is not None and (question.shown_on or question.subscribers or there.anyone()):
            there.offer(approval, partial(self._decide, approval.id), partial(beside, self._lost, question, ""))

    def _lost(self, question: Question, name: str) -> None:
        """Nobody can be reached on this surface; without any surface left the question has no answer."""
        there, answer = question.elsewhere, Answer("no_channel")
        held = there is not None and there.holds(question.approval.id)
        with self._lock:
            question.shown_on.pop(name, None)
            if question.showing and name:
                return  # there are others to be tried
            if held or question.shown_on or question.subscribers or question.answer is not None:
                return
            spare, question.spare = question.spare, {}
            if spare:
                question.shown_on.update(spare)
                question.showing += 1
            else:
                self._open.pop(question.approval.id, None)
                waiting = question.close(answer)
        if not spare:
            self._take_back(question)  # first: who asks may put it elsewhere, under the same id
            end_wait(waiting, answer)
            return
        self._show_on(question, spare.items())
        self._lost(question, "")
        self._has_shown(question)

    def _leave(self, question: Question, waiter: Waiter, answer: Answer | None) -> None:
        """One of those who wait gives up, and is told *answer*; with the last one the question ends."""
        with self._lock:
            if waiter not in question.waiting:
                return
            question.waiting.remove(waiter)
            over = not question.waiting
            if over:
                self._open.pop(question.approval.id, None)
        end_wait([waiter], answer)
        if over:  # no surface holds up the clock, or a stop
            self._take_back(question) if answer is None else beside(self._take_back, question)

    def _take_back(self, question: Question) -> None:
        """Take it from its surfaces."""
        with self._lock:
            if question.showing:  # whoever shows it takes it back when it has been shown everywhere
                return
            shown_on, question.shown_on = list(question.shown_on.values()), {}
        withdraw_from(shown_on, question.approval.id)
        if question.elsewhere is not None:
            question.elsewhere.withdraw(question.approval.id)
        tell(question.subscribers, "closed", question.approval)
