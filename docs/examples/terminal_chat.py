"""
A chat in a terminal, over OpenAI's chat completions and servers that speak like them.

    OPENAI_API_KEY=… python terminal_chat.py MODEL

The main thread talks to the model, so that Ctrl-C stops it wherever it is; another thread reads what the person types:
the answer to an open question, or the next turn.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
from collections.abc import Iterator

import httpx2

from executor import Approval, PluginRegistry, ToolExecutor, models
from executor.approval import read_answer
from executor_permissions import PermissionPlugin

FORM = "openai-chat"
URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1") + "/chat/completions"
HEADERS = {"Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}"}


def show(text: str) -> None:
    """What the model and its tools say is text, and none of it moves the cursor."""
    print("".join(each for each in text if each.isprintable() or each in "\n\t"), end="", flush=True)


class Chat:
    def __init__(self, executor: ToolExecutor, permission: PermissionPlugin, model: str) -> None:
        self.executor, self.permission, self.model = executor, permission, model
        self.messages: list[dict] = []
        self.turns: queue.SimpleQueue[str | None] = queue.SimpleQueue()  # what was typed; "" when a task has ended
        executor.approvals.subscribe(self.ask)
        executor.tasks.subscribe(lambda task: self.turns.put(""))

    def ask(self, event: str, question: Approval) -> None:
        """A call waits for permission: the next line is the answer."""
        if event == "asked":
            show(f"\n{question.text}\n{'/'.join(question.options)}? ")

    def read(self) -> None:
        """What is typed."""
        for line in open(0, encoding="utf-8", closefd=False):
            questions = self.executor.approvals.pending()
            if not questions:
                self.turns.put(line.strip())
            elif (answer := read_answer(line)) is None or not self.executor.approvals.decide(questions[0].id, answer):
                show(f"{'/'.join(questions[0].options)}? ")
        self.turns.put(None)

    def run(self) -> None:
        """Until there is nothing more to be said. What ended since this program last ran is told first."""
        tasks, said = self.executor.tasks, ""
        while said is not None:
            ended = tasks.undelivered()
            self.messages += models.notice([tasks.tool_result(task.id) for task in ended], FORM)
            self.messages += [{"role": "user", "content": said}] if said else []
            try:
                while (said or ended) and self.reply():
                    pass
                for task in ended:
                    tasks.ack(task.id)
            except (httpx2.HTTPError, ValueError) as error:
                show(f"[{error}]\n")  # the next turn goes on from what has come
            self.permission.became_idle()  # an answer such as "turn" holds no longer
            show("> ")
            said = self.turns.get()

    def reply(self) -> bool:
        """One reply of the model, and the answers to its calls; whether there were any."""
        tools, names = models.tools(self.executor.list_tools(), FORM)
        stream, started = models.Stream(FORM, names, on_text=show), []
        try:
            for call in stream.calls(self.post(tools)):
                started.append(self.executor.submit(call, on_output=show))
        finally:
            show("\n")
            request = stream.end()
            self.messages += request.messages + request.answer(each.result() for each in started)
        return bool(started)

    def post(self, tools: list[dict]) -> Iterator[dict]:
        """The events of the model's reply, as they come."""
        body = {"model": self.model, "messages": self.messages, "tools": tools, "stream": True}
        with httpx2.stream("POST", URL, headers=HEADERS, json=body, timeout=None) as response:
            response.raise_for_status()
            yield from (json.loads(line[6:]) for line in response.iter_lines() if line.startswith("data: {"))


def main() -> None:
    with PluginRegistry() as registry, contextlib.ExitStack() as at_end:
        registry.expose_all({"shell": {"threshold": 1}})
        permission = PermissionPlugin(terminal=False)
        executor = ToolExecutor(registry=registry, permission_plugin=permission)
        at_end.callback(executor.shutdown, cancel=True)  # nobody could answer any more; what runs is told of later
        chat = Chat(executor, permission, sys.argv[1])
        threading.Thread(target=chat.read, daemon=True).start()
        chat.run()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):  # which has ended everything
        main()
