"""
A chat on a page (web_chat.html), over Gemini's generateContent, with asyncio and Starlette.

    GEMINI_API_KEY=… python web_chat.py MODEL

Only who knows the address can talk and answer: a part of it is a secret, made anew at each start.
"""

import asyncio
import contextlib
import itertools
import json
import os
import secrets
import socket
import sys
from pathlib import Path

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from executor import PluginRegistry, ToolExecutor, models
from executor_permissions import PermissionPlugin

URL = os.environ.get("GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com") + "/v1beta/models/"
PAGE = Path(__file__).with_suffix(".html")
HEADERS = {"x-goog-api-key": os.environ.get("GEMINI_API_KEY", "")}


class Chat:
    def __init__(self, executor: ToolExecutor, model: str) -> None:
        self.executor, self.url = executor, f"{URL}{model}:streamGenerateContent?alt=sse"
        self.messages, self.shown = [], []  # what the model is told; what each page shows
        self.news = asyncio.Event()
        self.turns: asyncio.Queue[str] = asyncio.Queue()  # what was typed; "" when a task has ended
        self.later = asyncio.get_running_loop().call_soon_threadsafe
        executor.approvals.subscribe(lambda event, each: self.show(**{event: {"id": each.id, "text": each.text}}))
        executor.tasks.subscribe(lambda task: self.later(self.turns.put_nowait, ""))

    def show(self, text: str = "", **event: object) -> None:  # from any thread
        self.shown.append({"text": text, **event})
        self.later(self.news.set)

    async def events(self, request: Request) -> Response:
        async def events():  # noqa: ANN202 -- of texts
            for place in itertools.count():
                while place == len(self.shown):
                    self.news.clear()
                    await self.news.wait()
                yield f"data: {json.dumps(self.shown[place])}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    async def said(self, request: Request) -> Response:
        said = await request.json()
        if "id" in said:
            self.executor.approvals.decide(said["id"], said["word"])
        else:
            self.show(f"\n> {said['text']}\n")
            self.turns.put_nowait(said["text"])
        return Response()

    async def run(self) -> None:
        """What was said, and what has ended in the background, goes to the model."""
        tasks, said = self.executor.tasks, ""
        while True:
            ended = tasks.undelivered()
            self.messages += models.notice([tasks.tool_result(task.id) for task in ended], "gemini")
            self.messages += [{"role": "user", "parts": [{"text": said}]}] if said else []
            try:
                while (said or ended) and await self.reply():
                    pass
                for task in ended:
                    tasks.ack(task.id)
            except (httpx2.HTTPError, ValueError) as error:  # the next turn goes on from what has come
                self.show(f"[{error}]\n")
            said = await self.turns.get()

    async def reply(self) -> bool:
        """One reply of the model, each of its calls started while it goes on; whether there were any."""
        tools, names = models.tools(self.executor.list_tools(), "gemini")
        stream, started = models.Stream("gemini", names, on_text=self.show), []
        try:
            client = httpx2.AsyncClient(timeout=None, headers=HEADERS)
            body = {"contents": self.messages, "tools": [{"functionDeclarations": tools}]}
            async with client, client.stream("POST", self.url, json=body) as response:
                response.raise_for_status()
                lines = response.aiter_lines()
                async for call in stream.acalls(json.loads(line[6:]) async for line in lines if line[:6] == "data: "):
                    started.append(asyncio.create_task(self.executor.acall(call, on_output=self.show)))
        finally:
            self.show("\n")
            request = stream.end()
            self.messages += request.messages + request.answer(await asyncio.gather(*started))
        return bool(started)


async def main() -> None:
    with PluginRegistry() as registry, contextlib.ExitStack() as at_end:
        registry.expose_all({"shell": {"threshold": 1}})
        executor = ToolExecutor(registry=registry, permission_plugin=PermissionPlugin(terminal=False))
        at_end.callback(executor.shutdown, cancel=True)  # nobody could answer any more; what runs is told of later
        chat, secret = Chat(executor, sys.argv[1]), secrets.token_urlsafe()
        page, said = Route("/", lambda _: FileResponse(PAGE)), Route("/said", chat.said, methods=["POST"])
        app = Starlette(routes=[Mount(f"/{secret}", routes=[page, said, Route("/events", chat.events)])])
        here = socket.create_server(("127.0.0.1", 0))
        print(f"http://127.0.0.1:{here.getsockname()[1]}/{secret}/", flush=True)
        config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=0)  # pages are cut off
        talking = asyncio.create_task(chat.run())
        await uvicorn.Server(config).serve([here])
        talking.cancel()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):  # which has ended everything
        asyncio.run(main())
