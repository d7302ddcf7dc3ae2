"""What the page asks for, and what it gets."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from executor.errors import PermissionConfigError, TaskNotFoundError, ToolExecutorError
from executor_console import _history
from executor_console._guard import MAX_BODY
from executor_console._question import answer_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

    from executor.tasks import TaskManager
    from executor_console._hub import Hub
    from executor_console._sessions import Sessions
    from executor_console._watch import Watch

    Handler = Callable[[dict[str, Any]], Awaitable[Any]]

T = TypeVar("T")
STATIC = Path(__file__).parent / "static"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
MOST_ROWS = 300
_TASK_CANCELLED = "The task was cancelled on the page"


class Api:
    """
    The requests of the page, each a method that takes the body of the request, and gives that of the answer.

    Args:
        desk: What the permission plugin shows of the policy; see its ``Desk``.
        ledger: The file of the ledger, or None.
    """

    def __init__(
        self, hub: Hub, watch: Watch, tasks: TaskManager, sessions: Sessions, desk: Any, ledger: Path | None
    ) -> None:
        self._hub = hub
        self._watch = watch
        self._tasks = tasks
        self._sessions = sessions
        self._desk = desk
        self._ledger = ledger

    def app(self) -> Starlette:
        """All of it, and the files of the page."""
        posts = (
            self.session, self.answer, self.rule, self.grants, self.revoke, self.cancel, self.follow, self.presence,
            self.history, self.why, self.replay,
        )  # fmt: skip
        routes = [Route(f"/api/{each.__name__}", _posted(each), methods=["POST"]) for each in posts]
        routes.append(Route("/api/events", self.events, methods=["GET"]))
        for path in STATIC.iterdir():
            name = "/" if path.name == "index.html" else f"/{path.name}"
            routes.append(Route(name, _file(path), methods=["GET"]))
        return Starlette(routes=routes, exception_handlers={HTTPException: _refused})

    async def session(self, body: dict[str, Any]) -> Any:
        """A session, for a code that was not used yet."""
        session = self._sessions.redeem(_given(body, "code", str))
        if session is None:
            raise HTTPException(403, "this link has been used, or is older than a minute")
        return {"session": session}

    async def events(self, _: Request) -> Response:
        """What happens, as server-sent events, until the page leaves."""

        async def written() -> AsyncIterator[str]:
            async for event in self._hub.events():
                yield f"event: {event[0]}\ndata: {_json(event[1])}\n\n" if event is not None else ":\n\n"

        return StreamingResponse(written(), media_type="text/event-stream")

    # Questions ---------------------------------------------------------------------------------------------------

    async def answer(self, body: dict[str, Any]) -> Any:
        """Answer a question: ``won`` says whether this answer is what decided it, ``open`` whether it still waits."""
        approval = self._hub.question(_given(body, "id", str))
        if approval is None:
            return {"won": False, "open": False}
        try:
            said = answer_in(body, approval)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error
        won = await self._hub.answer(approval.id, said, _given(body, "digest", str))
        return {"won": won, "open": not won and self._hub.question(approval.id) is not None}

    async def rule(self, body: dict[str, Any]) -> Any:
        """How a rule is read, and whether it is about a question's call."""
        approval = self._hub.question(str(body.get("question")))
        call = None
        if approval is not None:
            call = approval.tool, dict(approval.arguments), approval.details.get("folder") or str(Path.cwd())
        return await asyncio.to_thread(self._desk.read_rule, _given(body, "rule", str), call)

    # Grants ------------------------------------------------------------------------------------------------------

    async def grants(self, _: dict[str, Any]) -> Any:
        """The lasting grants."""
        return await asyncio.to_thread(self._desk.grants)

    async def revoke(self, body: dict[str, Any]) -> Any:
        """End a grant."""
        revoked = await asyncio.to_thread(self._desk.revoke, _given(body, "id", str))
        self._watch.hurry()
        return {"revoked": revoked}

    # Tasks -------------------------------------------------------------------------------------------------------

    async def cancel(self, body: dict[str, Any]) -> Any:
        """Stop a task."""
        try:
            cancelled = await asyncio.to_thread(self._tasks.cancel, _given(body, "id", str), _TASK_CANCELLED)
        except TaskNotFoundError as error:
            raise HTTPException(404, error.message) from error
        self._watch.hurry()
        return {"cancelled": cancelled}

    async def follow(self, body: dict[str, Any]) -> Any:
        """Send a page the output of a task from an offset on, or no more of it."""
        page, task_id = self._hub.page(_given(body, "page", str)), _given(body, "id", str)
        if page is not None and body.get("on") is True:
            page.follows[task_id] = max(0, _given(body, "offset", int))
            self._watch.hurry()
        elif page is not None:
            page.follows.pop(task_id, None)
        return {}

    async def presence(self, body: dict[str, Any]) -> Any:
        """Whether a page is seen, and tells its user of questions by itself."""
        page = self._hub.page(_given(body, "page", str))
        if page is not None:
            page.hidden, page.notifies = body.get("hidden") is True, body.get("notifies") is True
        return {}

    # History -----------------------------------------------------------------------------------------------------

    def _records(self) -> list[dict[str, Any]]:
        try:
            return _history.records(self._ledger) if self._ledger is not None else []
        except OSError as error:
            raise HTTPException(503, f"{self._ledger}: {error.strerror}") from error

    async def history(self, _: dict[str, Any]) -> Any:
        """The newest decisions, and what came of the calls."""
        found = await asyncio.to_thread(self._records)
        return {"ledger": str(self._ledger) if self._ledger else None, "rows": _history.rows(found, MOST_ROWS)}

    async def why(self, body: dict[str, Any]) -> Any:
        """Why a call would be decided as it would, now."""
        return await asyncio.to_thread(self._desk.explain, _given(body, "tool", str), _given(body, "arguments", dict))

    async def replay(self, body: dict[str, Any]) -> Any:
        """How a rule is read, and which rows of the history (by their places) it would have let run unasked."""
        rule = _given(body, "rule", str)

        def tried() -> Any:
            told = self._desk.read_rule(rule)
            rows = _history.rows(self._records(), MOST_ROWS)
            asked = [{"stage": "permission-check", "tool": row["tool"], "args": row["arguments"]} for row in rows]
            fits = self._desk.would_allow(rule, asked) if told["means"] else []
            return {**told, "rows": rows, "fits": [place for place, fit in enumerate(fits) if fit]}

        return await asyncio.to_thread(tried)


def _given(body: dict[str, Any], name: str, kind: type[T]) -> T:
    """A field of a request. Raises HTTPException for one that is missing, or of another kind."""
    value = body.get(name)
    if type(value) is not kind:
        raise HTTPException(422, f"/{name} is {value!r}, not a {kind.__name__}")
    return value


def _posted(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            body = json.loads(await _body_of(request) or b"{}")
        except ValueError as error:
            raise HTTPException(422, f"the body is not JSON: {error}") from error
        if not isinstance(body, dict):
            raise HTTPException(422, "the body is not an object")
        try:
            return Response(_json(await handler(body)), media_type="application/json")
        except (PermissionConfigError, ToolExecutorError) as error:
            raise HTTPException(409, error.message) from error

    return answer


async def _body_of(request: Request) -> bytes:
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > MAX_BODY:
            raise HTTPException(413, f"the body is longer than {MAX_BODY} bytes")
    return data


def _file(path: Path) -> Callable[[Request], Awaitable[Response]]:
    content = path.read_bytes()

    async def answer(_: Request) -> Response:
        return Response(content, media_type=KINDS[path.suffix])

    return answer


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)


def _json(value: Any) -> str:
    return json.dumps(value, default=str)
