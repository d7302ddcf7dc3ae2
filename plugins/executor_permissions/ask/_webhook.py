"""Questions to a web service."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from executor.approval import Answer
from executor_permissions.ask._channels import SIDE_BY_SIDE, InTurn
from executor_permissions.ask._payload import told, understood

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from executor import Approval

SIGNATURE = "X-Toolexec-Signature"
_LOG = logging.getLogger("executor")
_MAX_REPLY = 1 << 20


class WebhookChannel(InTurn):
    """
    Posts each question to a service, which answers in its reply.

    Request and reply carry ``X-Toolexec-Signature: sha256=HEX``, the HMAC of the body under the shared token; a reply
    without it, or without the id and the digest of the question, is a no. Redirects are not followed.

    Args:
        endpoint: An http address.
        token: What both sides know.
        headers: Sent along.
        timeout: Seconds that the service has to answer.
    """

    def __init__(self, endpoint: str, token: str, headers: Mapping[str, str], timeout: float) -> None:
        super().__init__("webhook", at_once=SIDE_BY_SIDE)
        self._endpoint = endpoint
        self._token = token.encode()
        self._headers = dict(headers)
        self._timeout = timeout

    def _sign(self, body: bytes) -> str:
        return "sha256=" + hmac.new(self._token, body, hashlib.sha256).hexdigest()

    def handle(self, approval: Approval, gone: threading.Event) -> object:  # noqa: ARG002 -- the request has a timeout
        """Post the question, and read the reply."""
        import urllib.error
        import urllib.request

        body = json.dumps(told(approval, self._timeout)).encode()
        headers = {**self._headers, "Content-Type": "application/json", SIGNATURE: self._sign(body)}
        request = urllib.request.Request(self._endpoint, body, headers)  # noqa: S310 -- http only, see make_channel
        try:
            reply = _opener(self._endpoint).open(request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            error.close()  # it holds the connection
            raise
        with reply:
            data = reply.read(_MAX_REPLY)
            signature = reply.headers.get(SIGNATURE, "")
        if not hmac.compare_digest(signature.encode(), self._sign(data).encode()):
            host = urlsplit(self._endpoint).hostname  # who has the whole address may often post there
            _LOG.warning(f"The webhook at {host} sent a reply that is not signed with its token: taken for a no")
            return Answer("error", "the webhook's reply is not signed with its token")
        return understood(json.loads(data), approval)


def _opener(endpoint: str) -> Any:
    import urllib.request

    class _NoRedirect(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_args: Any) -> None:
            return None

    # A proxy would be told what is for a service on this machine, and could not reach it.
    here = urlsplit(endpoint).hostname in ("localhost", "127.0.0.1", "::1")
    return urllib.request.build_opener(_NoRedirect, *([urllib.request.ProxyHandler({})] if here else []))
