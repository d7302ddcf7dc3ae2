"""Surfaces for questions beside the core's terminal and inbox: a function, a queue, files, a webhook."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import queue
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor.approval import NoChannelError, TerminalChannel, to_text
from executor.errors import PermissionConfigError
from executor_permissions.ask._answers import Choice
from executor_permissions.store._private import write_private

_LOG = logging.getLogger("executor")

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor import Approval, Channel

POLL_SECONDS = 0.2  # how often the file channel looks for an answer of another process
SIGNATURE = "X-Toolexec-Signature"
_MAX_REPLY = 1 << 20


def make_channel(name: str, settings: Mapping[str, Any]) -> dict[str, Channel] | None:
    """
    The surfaces for a channel type of the policy file, by name; None for one that a plugin has registered.

    Raises:
        PermissionConfigError: It cannot be made with these settings.
    """
    if name == "none":
        return {}
    if name == "console":
        return {"console": TerminalChannel()}
    if name == "queue":
        return {"queue": QueueChannel()}
    if name == "file":
        if not settings.get("base_path"):
            raise _unusable('channel: the file channel needs a folder: add "base_path": "/folder"')
        return {"file": FileChannel(Path(settings["base_path"]), float(settings.get("poll_interval", POLL_SECONDS)))}
    if name == "webhook":
        token = settings.get("auth_token") or os.environ.get(str(settings.get("auth_token_env", "")), "")
        if not settings.get("endpoint") or not token:
            raise _unusable(
                'channel: a webhook needs "endpoint" and "auth_token" (or "auth_token_env"): replies are signed'
            )
        headers = settings.get("headers", {})
        return {"webhook": WebhookChannel(settings["endpoint"], token, headers, float(settings.get("timeout", 300)))}
    if name == "callback":
        raise _unusable("channel: a callback is given in code: PermissionPlugin(channel=function)")
    return None


def _unusable(problem: str) -> PermissionConfigError:
    return PermissionConfigError(f"The permission policy's channel cannot be used: {problem}", problems=[problem])


class _OneByOne:
    """Handles questions one after another, on a thread that lives as long as there are any. `_lock` guards the list."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._waiting: list[tuple[Approval, Callable[[object], bool]]] = []
        self._busy = False
        self._withdrawn: dict[str, threading.Event] = {}

    def ask(self, approval: Approval, answer: Callable[[object], bool]) -> None:
        """Queue the question."""
        with self._lock:
            self._waiting.append((approval, answer))
            self._withdrawn[approval.id] = threading.Event()
            if self._busy:
                return
            self._busy = True
        threading.Thread(target=self._serve, name=f"executor-{self._name}", daemon=True).start()

    def withdraw(self, approval_id: str) -> None:
        """Take the question back."""
        with self._lock:
            self._waiting = [entry for entry in self._waiting if entry[0].id != approval_id]
            gone = self._withdrawn.pop(approval_id, None)
        if gone is not None:
            gone.set()

    def _serve(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._busy = False
                    return
                approval, answer = self._waiting.pop(0)
                gone = self._withdrawn.setdefault(approval.id, threading.Event())
            try:
                said = self._handle(approval, gone)
            except TimeoutError:
                said = Choice("timeout")
            except Exception as error:  # noqa: BLE001 -- a surface that fails says no
                _LOG.warning(f"The {self._name} channel failed: {error!r}", exc_info=error)
                said = Choice("error")
            if not gone.is_set():
                answer(said)

    def _handle(self, approval: Approval, gone: threading.Event) -> object:
        raise NoChannelError(f"the channel {self._name} handles no {approval.id} ({gone})")


class CallbackChannel(_OneByOne):
    """
    Asks a function of the host, one question at a time.

    Args:
        fn: Takes an `Approval` and returns the answer; it may block. What it raises is a no.
    """

    def __init__(self, fn: Callable[[Approval], object]) -> None:
        super().__init__("callback")
        self._fn = fn

    def _handle(self, approval: Approval, gone: threading.Event) -> object:  # noqa: ARG002 -- the others wait for it
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
        self._open: dict[str, Callable[[object], bool]] = {}

    def ask(self, approval: Approval, answer: Callable[[object], bool]) -> None:
        """Put the question on the queue."""
        with self._lock:
            self._open[approval.id] = answer
        self.questions.put(approval)

    def answer(self, approval_id: str, said: object) -> bool:
        """Answer a question. False if it is not open any more, or never was."""
        with self._lock:
            answer = self._open.get(approval_id)
        return answer is not None and answer(said)

    def withdraw(self, approval_id: str) -> None:
        """The question needs no answer any more; one that still lies on the queue is refused when it is answered."""
        with self._lock:
            self._open.pop(approval_id, None)


class FileChannel(_OneByOne):
    """
    Questions as files for another process: ``requests/ID.json``, answered by ``responses/ID.json``.

    The answer is ``{"request_id": ID, "digest": DIGEST, "decision": "yes"}``, with ``comment`` or ``arguments`` where
    the decision needs them. Both folders are the user's alone.
    """

    def __init__(self, folder: Path, poll_seconds: float = POLL_SECONDS) -> None:
        super().__init__("file-channel")
        self._requests = folder.expanduser() / "requests"
        self._responses = folder.expanduser() / "responses"
        self._poll = max(0.1, poll_seconds)

    def _handle(self, approval: Approval, gone: threading.Event) -> object:
        for folder in (self._requests, self._responses):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        request = self._requests / f"{approval.id}.json"
        response = self._responses / f"{approval.id}.json"
        write_private(request, told(approval))
        try:
            while not gone.wait(self._poll):
                said = self._look(response, approval)
                if said is not None:
                    return said
            return Choice("no")
        finally:
            request.unlink(missing_ok=True)
            response.unlink(missing_ok=True)

    def _look(self, response: Path, approval: Approval) -> object | None:
        try:
            value = json.loads(response.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None  # not there yet, or not written to its end
        return understood(value, approval)


class WebhookChannel(_OneByOne):
    """
    Posts each question to a service, which answers in its reply.

    Request and reply carry ``X-Toolexec-Signature: sha256=HEX``, the HMAC of the body under the shared token; a reply
    without it, or about another question, is a no. Redirects are not followed.
    """

    def __init__(self, endpoint: str, token: str, headers: Mapping[str, str], timeout: float) -> None:
        super().__init__("webhook")
        if not endpoint.startswith(("https://", "http://")):
            raise _unusable(f"channel.endpoint: {endpoint!r} is no http address")
        self._endpoint = endpoint
        self._token = token.encode()
        self._headers = dict(headers)
        self._timeout = timeout

    def _sign(self, body: bytes) -> str:
        return "sha256=" + hmac.new(self._token, body, hashlib.sha256).hexdigest()

    def _handle(self, approval: Approval, gone: threading.Event) -> object:  # noqa: ARG002 -- the request has a timeout
        import urllib.error
        import urllib.request

        body = json.dumps(told(approval)).encode()
        headers = {**self._headers, "Content-Type": "application/json", SIGNATURE: self._sign(body)}
        request = urllib.request.Request(self._endpoint, body, headers)  # noqa: S310 -- http only, see __init__
        try:
            reply = _opener().open(request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            error.close()  # it holds the connection
            raise
        with reply:
            data = reply.read(_MAX_REPLY)
            signature = reply.headers.get(SIGNATURE, "")
        if not hmac.compare_digest(signature, self._sign(data)):
            _LOG.warning(f"The webhook {self._endpoint} sent a reply that is not signed with its token: taken for a no")
            return Choice("error")
        return understood(json.loads(data), approval)


def _opener() -> Any:
    import urllib.request

    class _NoRedirect(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_args: Any) -> None:
            return None

    return urllib.request.build_opener(_NoRedirect)


def told(approval: Approval) -> dict[str, Any]:
    """The question as JSON."""
    return {
        "request_id": approval.id,
        "digest": approval.digest,
        "tool": approval.tool,
        "arguments": json.loads(to_text(dict(approval.arguments))),
        "reason": approval.reason,
        "parts": [list(part) if isinstance(part, tuple) else str(part) for part in approval.parts],
        "text": approval.text,
        "offered_rule": approval.offered_rule,
        "deadline": approval.deadline,
        "options": list(approval.options),
    }


def understood(value: Any, approval: Approval) -> object:
    """The answer in a reply; a no, unless it is about this very question."""
    if not isinstance(value, dict) or value.get("request_id") != approval.id:
        return Choice("no")
    if value.get("digest", approval.digest) != approval.digest:
        return Choice("no")
    decision = value.get("decision")
    if decision == "comment":
        return ("comment", value.get("comment", ""))
    if decision == "edit":
        return ("edit", value.get("arguments"))
    return decision
