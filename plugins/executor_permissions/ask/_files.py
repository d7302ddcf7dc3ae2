"""Questions as files, for another process to answer."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Any

from executor.approval import Answer, NoChannelError
from executor_permissions.ask._channels import SIDE_BY_SIDE, InTurn
from executor_permissions.ask._payload import told, understood
from executor_permissions.store._load import default_state_dir
from executor_permissions.store._private import private_folder, read_or_make_secret, write_private

if TYPE_CHECKING:
    import threading
    from pathlib import Path

    from executor import Approval

POLL_SECONDS = 0.2  # how often the channel looks for an answer of another process
_MAX_REPLY = 1 << 20


class FileChannel(InTurn):
    """
    Questions as files for another process: ``requests/ID.json``, answered by ``responses/ID.json``.

    The answer is ``{"digest": DIGEST, "secret": SECRET, "decision": "yes"}``, with ``comment`` or ``edited_arguments``
    where the decision needs them; `request_id` is that of the file's name, or said in it. The question names the file
    that holds the secret, which no tool can read. Both folders are the user's alone.

    Args:
        folder: Where they are. A policy that is asked through it keeps every tool out of it.
        poll_seconds: How often an answer is looked for.
        state_dir: Where the secret is kept; by default where grants are.
    """

    def __init__(self, folder: Path, poll_seconds: float = POLL_SECONDS, state_dir: Path | None = None) -> None:
        super().__init__("file-channel", at_once=SIDE_BY_SIDE)
        self.folder = folder.expanduser()
        self._secret_file = (state_dir or default_state_dir()) / "channel.secret"
        self._poll = max(0.1, poll_seconds)

    @property
    def protected(self) -> tuple[str, ...]:
        """What no tool may read or write, as it is written and as it is resolved."""
        paths = (self.folder, self._secret_file)
        return tuple(sorted({text for path in paths for text in (os.path.abspath(path), os.path.realpath(path))}))  # noqa: PTH100 -- the link itself as well

    def handle(self, approval: Approval, gone: threading.Event) -> object:
        """Write the question, and look for its answer until there is one or none is needed."""
        requests, responses = self.folder / "requests", self.folder / "responses"
        for folder in (self.folder, requests, responses):
            problem = private_folder(folder)
            if problem is not None:
                raise NoChannelError(problem)
        secret = read_or_make_secret(self._secret_file)
        request, response = requests / f"{approval.id}.json", responses / f"{approval.id}.json"
        response.unlink(missing_ok=True)  # nobody can have known the question yet
        write_private(request, {**told(approval), "secret_file": str(self._secret_file)})
        try:
            broken = None
            while not gone.wait(self._poll):
                text = _read(response)
                if text is None:
                    continue
                try:
                    value = json.loads(text)
                except ValueError as error:
                    if text != broken:  # it may not be written to its end yet
                        broken = text
                        continue
                    value = f"no JSON ({error})"
                return understood(_named(value, approval), approval, secret)
            return Answer("no")
        finally:
            request.unlink(missing_ok=True)
            response.unlink(missing_ok=True)


def _named(value: Any, approval: Approval) -> Any:
    """The reply, with the id that its file's name says."""
    return {"request_id": approval.id, **value} if isinstance(value, dict) else value


def _read(path: Path) -> str | None:
    """The text of a regular file of the user's own; None while there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
            raise NoChannelError(f"{path} is not a file of this user's")
        return stream.read(_MAX_REPLY).decode("utf-8", "replace")
