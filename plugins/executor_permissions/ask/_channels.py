"""Surfaces for questions beside the core's terminal and inbox: a function, a queue; and which one a policy names."""

from __future__ import annotations

import logging
import os
import queue
import threading
from typing import TYPE_CHECKING, Any

from executor.approval import Answer, TerminalChannel
from executor.errors import PermissionConfigError
from executor_permissions.ask._payload import give
from executor_permissions.store._channel import TYPES, folder_of, unfit_folder

_LOG = logging.getLogger("executor")

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from executor import Approval, Channel
    from executor_permissions.store._load import Policy


def make_channel(
    name: str, settings: Mapping[str, Any], *, project: str, home: str, state_dir: Path
) -> dict[str, Channel] | None:
    """
    The surfaces for a channel type of the policy file, by name; None for those of the executor's inbox.

    Args:
        project: What a relative folder starts from.
        home: What ``~`` stands for.
        state_dir: Where the secret of the file channel is kept.

    Raises:
        PermissionConfigError: It cannot be made with these settings.
    """
    if name == "auto":
        return None
    makers: dict[str, Callable[[], dict[str, Channel]]] = {
        "none": dict,
        "console": lambda: {"console": TerminalChannel()},
        "queue": lambda: {"queue": QueueChannel()},
        "file": lambda: {"file": _file_channel(settings, project, home, state_dir)},
        "webhook": lambda: {"webhook": _webhook(settings)},
    }
    if name in makers:
        return makers[name]()
    if name == "callback":
        raise _unusable("channel: a callback is given in code: PermissionPlugin(channel=function)")
    raise _unusable(f"channel.type: {name!r} is no channel: use one of {', '.join(TYPES)}")


def _file_channel(settings: Mapping[str, Any], project: str, home: str, state_dir: Path) -> Channel:
    from executor_permissions.ask._files import POLL_SECONDS, FileChannel

    folder = folder_of({**settings, "type": "file"}, project, home)
    if folder is None:
        raise _unusable('channel: the file channel needs a folder: add "base_path": "/folder"')
    problem = unfit_folder(folder, project, home)
    if problem is not None:
        raise _unusable(f"channel.base_path: {problem}")
    return FileChannel(folder, float(settings.get("poll_interval") or POLL_SECONDS), state_dir)


def _webhook(settings: Mapping[str, Any]) -> Channel:
    from executor_permissions.ask._webhook import WebhookChannel

    endpoint = settings.get("endpoint")
    token = settings.get("auth_token") or os.environ.get(str(settings.get("auth_token_env", "")), "")
    if not endpoint or not token:
        raise _unusable(
            'channel: a webhook needs "endpoint" and "auth_token" (or "auth_token_env"): replies are signed'
        )
    if not endpoint.startswith(("https://", "http://")):
        raise _unusable(f"channel.endpoint: {endpoint!r} is no http address")
    return WebhookChannel(endpoint, token, settings.get("headers") or {}, float(settings.get("timeout") or 300))


def _unusable(problem: str) -> PermissionConfigError:
    return PermissionConfigError(f"The permission policy's channel cannot be used: {problem}", problems=[problem])


class OneByOne:
    """
    Handles questions one after another, on a thread that lives as long as there are any. `_lock` guards the rest.

    Whatever happens to one question, those behind it are put: a failure of any kind is a no to that one alone, and one
    that is taken back while it is handled is left to its thread, which nobody waits for.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._waiting: list[tuple[Approval, Callable[[object], bool]]] = []
        self._withdrawn: dict[str, threading.Event] = {}
        self._worker: object | None = None  # stands for the thread that goes on with what waits
        self._handled: str | None = None  # the question that it handles

    def ask(self, approval: Approval, answer: Callable[[object], bool]) -> None:
        """Queue the question."""
        with self._lock:
            self._waiting.append((approval, answer))
            self._withdrawn[approval.id] = threading.Event()
            if self._worker is None:
                self._start()

    def withdraw(self, approval_id: str) -> None:
        """Take the question back."""
        with self._lock:
            self._waiting = [entry for entry in self._waiting if entry[0].id != approval_id]
            gone = self._withdrawn.pop(approval_id, None)
            if self._handled == approval_id:
                self._worker = self._handled = None
                if self._waiting:
                    self._start()
        if gone is not None:
            gone.set()

    def _start(self) -> None:
        """Go on with what waits, on another thread. `_lock` is held."""
        self._worker = worker = object()
        threading.Thread(target=self._serve, args=(worker,), name=f"executor-{self._name}", daemon=True).start()

    def _serve(self, worker: object) -> None:
        while True:
            with self._lock:
                if self._worker is not worker:
                    return
                if not self._waiting:
                    self._worker = None
                    return
                approval, answer = self._waiting.pop(0)
                self._handled = approval.id
                gone = self._withdrawn.setdefault(approval.id, threading.Event())
            said = self._tried(approval, gone)
            with self._lock:
                if self._worker is worker:
                    self._handled = None  # it may be taken back as it is answered
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


class CallbackChannel(OneByOne):
    """
    Asks a function of the host, one question at a time.

    Args:
        fn: Takes an `Approval` and returns the answer; it may block. What it raises is a no.
    """

    def __init__(self, fn: Callable[[Approval], object]) -> None:
        super().__init__("callback")
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


def choose_channel(
    channel: Channel | Callable[[Approval], object] | None,
    channel_type: str | None,
    policy: Policy,
    state_dir: Path,
    *,
    terminal: bool,
) -> dict[str, Channel] | None:
    """The surfaces to ask on, by name; None for those of the executor's inbox."""
    if channel is not None:
        return {"callback": channel if hasattr(channel, "ask") else CallbackChannel(channel)}  # type: ignore[dict-item]  # either form
    name = channel_type or policy.channel.get("type")
    if name is None or (name == "console" and not terminal):
        return None
    places = policy.places
    return make_channel(name, policy.channel, project=places.project, home=places.home, state_dir=state_dir)
