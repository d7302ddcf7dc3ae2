"""Surfaces for questions beside the core's terminal and inbox: a function, a queue."""

from __future__ import annotations

import logging
import queue
import threading
from typing import TYPE_CHECKING

from executor.approval import Answer
from executor_permissions._forked import of_this_process
from executor_permissions.ask._payload import give

_LOG = logging.getLogger("executor")
SIDE_BY_SIDE = 50  # questions that others than a function of the host are shown at once: each takes a thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor import Approval


class InTurn:
    """
    Handles questions as they come, each on a thread, so many at once; the threads live as long as there are any.

    Whatever happens to one question, the others are put: a failure of any kind is a no to that one alone, and one that
    is taken back while it is handled is left to its thread, which nobody waits for. `_lock` guards the rest.

    Args:
        name: Of the channel, for messages and threads.
        at_once: How many are handled side by side; what comes then waits for an end of one of them.
    """

    def __init__(self, name: str, at_once: int) -> None:
        self._name = name
        self._at_once = at_once
        self._begin()
        of_this_process.add(self)

    def _begin(self) -> None:
        """Nothing waits; in the child of a fork again, where the threads and the questions of the parent are not."""
        self._lock = threading.Lock()
        self._waiting: list[tuple[Approval, Callable[[object], bool]]] = []
        self._withdrawn: dict[str, threading.Event] = {}
        self._handled: dict[object, str | None] = {}  # by what stands for a thread: the question that it handles

    def ask(self, approval: Approval, answer: Callable[[object], bool]) -> None:
        """Queue the question."""
        with self._lock:
            self._waiting.append((approval, answer))
            self._withdrawn[approval.id] = threading.Event()
            if len(self._handled) < self._at_once:
                self._start()

    def withdraw(self, approval_id: str) -> None:
        """Take the question back."""
        with self._lock:
            self._waiting = [entry for entry in self._waiting if entry[0].id != approval_id]
            gone = self._withdrawn.pop(approval_id, None)
            left = [worker for worker, handled in self._handled.items() if handled == approval_id]
            for worker in left:
                del self._handled[worker]
            if left and self._waiting:
                self._start()
        if gone is not None:
            gone.set()

    def _start(self) -> None:
        """Go on with what waits, on another thread. `_lock` is held."""
        worker = object()
        self._handled[worker] = None
        threading.Thread(target=self._serve, args=(worker,), name=f"executor-{self._name}", daemon=True).start()

    def _serve(self, worker: object) -> None:
        while True:
            with self._lock:
                if worker not in self._handled:
                    return
                if not self._waiting:
                    del self._handled[worker]
                    return
                approval, answer = self._waiting.pop(0)
                self._handled[worker] = approval.id
                gone = self._withdrawn.setdefault(approval.id, threading.Event())
            said = self._tried(approval, gone)
            with self._lock:
                if worker in self._handled:
                    self._handled[worker] = None  # it may be taken back as it is answered
            if not gone.is_set():
                give(approval, said, answer)

    def _tried(self, approval: Approval, gone: threading.Event) -> object:
        try:
            return self.handle(approval, gone)
        except TimeoutError:
            return Answer("timeout")
        except BaseException as error:  # noqa: BLE001 -- SystemExit too: it was meant for the function, not for us
            _LOG.warning(f"The {self._name} channel failed: {error!r}", exc_info=error)
            return Answer("error", f"the {self._name} channel failed ({type(error).__name__})")

    def handle(self, approval: Approval, gone: threading.Event) -> object:
        """
        Put one question, and wait for what is said to it; what it raises is a no.

        Args:
            gone: Set when the question needs no answer any more.
        """
        raise NotImplementedError


class CallbackChannel(InTurn):
    """
    Asks a function of the host, one question at a time.

    Args:
        fn: Takes an `Approval` and returns the answer; it may block. What it raises is a no.
    """

    def __init__(self, fn: Callable[[Approval], object]) -> None:
        super().__init__("callback", at_once=1)
        self._fn = fn

    def handle(self, approval: Approval, gone: threading.Event) -> object:  # noqa: ARG002 -- the others wait for it
        """Call the function."""
        return self._fn(approval)


class QueueChannel:
    """
    Questions on a queue; whoever takes them answers by id.

    Attributes:
        questions: The approvals, oldest first.
    """

    def __init__(self) -> None:
        self._begin()
        of_this_process.add(self)

    def _begin(self) -> None:
        """Nothing is asked; in the child of a fork again, where nobody waits for the answers of the parent."""
        self.questions: queue.SimpleQueue[Approval] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._open: dict[str, tuple[Approval, Callable[[object], bool]]] = {}

    def ask(self, approval: Approval, answer: Callable[[object], bool]) -> None:
        """Put the question on the queue."""
        with self._lock:
            self._open[approval.id] = approval, answer
        self.questions.put(approval)

    def answer(self, approval_id: str, said: object) -> bool:
        """Answer a question. False if it is not open any more, or never was. What is no answer to it is a no."""
        with self._lock:
            found = self._open.get(approval_id)
        return found is not None and give(found[0], said, found[1])

    def withdraw(self, approval_id: str) -> None:
        """The question needs no answer any more; one that still lies on the queue is refused when it is answered."""
        with self._lock:
            self._open.pop(approval_id, None)
