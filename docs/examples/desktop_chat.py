"""
A chat in a window, over Anthropic's Messages.

    ANTHROPIC_API_KEY=… python desktop_chat.py MODEL
"""

import contextlib
import json
import os
import queue
import signal
import sys
import threading
import tkinter as tk
from functools import partial

import httpx2

from executor import PluginRegistry, ToolExecutor, models
from executor_permissions import PermissionPlugin

URL = os.environ.get("ANTHROPIC_BASE_URL", "https://api.anthropic.com") + "/v1/messages"
HEADERS = {"x-api-key": os.environ.get("ANTHROPIC_API_KEY", ""), "anthropic-version": "2023-06-01"}


class Window:
    def __init__(self, executor: ToolExecutor, model: str) -> None:
        self.executor, self.model = executor, model
        self.messages: list[dict] = []
        self.turns: queue.SimpleQueue[str] = queue.SimpleQueue()  # what was typed; "" when a task has ended
        self.root = tk.Tk()
        self.log = tk.Text(self.root, wrap="word", height=16)
        self.log.tag_configure("you", background="#e8eef8")
        self.entry = tk.Entry(self.root)
        self.entry.pack(side="bottom", fill="x")
        self.question = tk.Frame(self.root)
        self.log.pack(fill="both", expand=True)
        self.entry.bind("<Return>", lambda _: self.say())
        self.todo: queue.SimpleQueue[partial] = queue.SimpleQueue()  # in Tk's thread, which a byte in the pipe wakes
        self.woken_by, self.waking = os.pipe()
        os.set_blocking(self.waking, False)
        self.root.createfilehandler(self.woken_by, tk.READABLE, self.catch_up)
        executor.approvals.subscribe(lambda event, question: self.later(self.ask))
        executor.tasks.subscribe(lambda task: self.turns.put(""))

    def later(self, *what: object) -> None:
        self.todo.put(partial(*what))
        with contextlib.suppress(BlockingIOError):  # it is full, and wakes Tk in any case
            os.write(self.waking, b".")

    def catch_up(self, *_: object) -> None:
        os.read(self.woken_by, 65536)
        with contextlib.suppress(tk.TclError):  # the window is closed
            while not self.todo.empty():
                self.todo.get()()
            self.log.see("end")

    def say(self) -> None:
        self.turns.put(said := self.entry.get())
        self.log.insert("end", f"\n{said}\n", "you")
        self.entry.delete(0, "end")

    def ask(self) -> None:  # the oldest open question, or none any more
        self.question.destroy()
        self.question = tk.Frame(self.root, background="#ffe9a8")
        if pending := self.executor.approvals.pending():
            for word in filter(pending[0].options.__contains__, ("no", "always", "yes")):
                answer = partial(self.executor.approvals.decide, pending[0].id, word)
                tk.Button(self.question, text=word, command=answer).pack(side="right", anchor="s")
            tk.Label(self.question, text=pending[0].text, justify="left", background="#ffe9a8").pack(side="left")
            self.question.pack(side="bottom", fill="x", before=self.log)  # if there is little room, it has it

    def run(self) -> None:  # what was said, and what has ended in the background, goes to the model
        tasks, said = self.executor.tasks, ""
        while True:
            ended = tasks.undelivered()
            self.messages += models.notice([tasks.tool_result(task.id) for task in ended], "anthropic")
            self.messages += [{"role": "user", "content": said}] if said else []
            try:
                while (said or ended) and self.reply():
                    pass
                for task in ended:
                    tasks.ack(task.id)
            except (httpx2.HTTPError, ValueError) as error:  # the next turn goes on from what has come
                self.later(self.log.insert, "end", f"[{error}]\n")
            said = self.turns.get()

    def reply(self) -> bool:
        """One reply of the model, each of its calls started while it goes on; whether there were any."""
        tools, names = models.tools(self.executor.list_tools(), "anthropic")
        body = {"model": self.model, "max_tokens": 4096, "messages": self.messages, "tools": tools, "stream": True}
        show, started = partial(self.later, self.log.insert, "end"), []
        stream = models.Stream("anthropic", names, on_text=show)
        try:
            with httpx2.stream("POST", URL, headers=HEADERS, json=body, timeout=None) as response:
                response.raise_for_status()
                lines = response.iter_lines()
                for call in stream.calls(json.loads(line[6:]) for line in lines if line[:6] == "data: "):
                    started.append(self.executor.submit(call, on_output=show))
        finally:
            show("\n")
            request = stream.end()
            self.messages += request.messages + request.answer(each.result() for each in started)
        return bool(started)


def main() -> None:
    with PluginRegistry() as registry, contextlib.ExitStack() as at_end:
        registry.expose_all({"shell": {"threshold": 1}})
        executor = ToolExecutor(registry=registry, permission_plugin=PermissionPlugin(terminal=False))
        at_end.callback(executor.shutdown, cancel=True)  # nobody could answer any more; what runs is told of later
        window = Window(executor, sys.argv[1])
        signal.set_wakeup_fd(window.waking)  # by itself Tk does not wake for Ctrl-C
        signal.signal(signal.SIGINT, lambda *_: window.later(window.root.destroy))
        threading.Thread(target=window.run, daemon=True).start()
        window.root.mainloop()


if __name__ == "__main__":
    main()
