"""A server for the tests: its tools work, say something, leave for the background, ask, fail, wait to be stopped."""

from __future__ import annotations

import sys
from pathlib import Path

from executor import Decision, Image, ToolExecutor, Verdict, current_call
from executor.errors import ToolFailedError
from executor.mcp import ServeOptions, serve


class Gate:
    """Asks about what is called ``guarded``, on the executor's inbox."""

    def decide(self, call, context):
        return Decision("ask" if call.name == "guarded" else "allow", "it is guarded", "test")

    def ask(self, call, decision, context):
        raise AssertionError("questions are put, nobody waits")

    def ask_later(self, call, decision, context, answered):
        from executor.approval import Approval, asker_of, new_approval_id

        approval = Approval(
            new_approval_id(), call.name, dict(call.arguments), decision.reason, asker=asker_of(context)
        )

        def told(answer):
            info = {"reason": f"said {answer.word}", "method": answer.yes_method if answer.allowed else "user_denied"}
            answered(Verdict(answer.allowed, None, info))

        current_call().host.approvals.put(approval, told, cancel=current_call().token)


def talk(args):
    for number in range(3):
        current_call().emit(f"line {number}\n")
        current_call().progress(number + 1, 3)
        current_call().wait(0.05)
    return {"lines": 3}


def hold(args):
    """Runs until it is stopped; says so in a file."""
    Path(args["path"]).write_text("started", "utf-8")
    current_call().emit("holding\n")
    current_call().wait()
    Path(args["path"]).write_text("stopped", "utf-8")
    return "stopped"


def finish_later(args):
    """Goes on until the file is there."""
    current_call().emit("waiting\n")
    while not Path(args["path"]).exists():
        if current_call().wait(0.02):
            return "stopped"
    Path(args["path"]).write_text("finished", "utf-8")
    return "finished"


def wonder(args):
    """Asks a person, for a secret if it is told to."""
    form = {"type": "object", "properties": {"to": {"type": "string", "title": "Where to"}}, "required": ["to"]}
    return current_call().ask("Where to?", form, secret=bool(args.get("secret")))


def fail(args):
    raise ToolFailedError("it did not work")


def made(conversation="test"):
    executor = ToolExecutor(permission_plugin=Gate(), conversation=conversation)
    executor.register("add", lambda args: args["a"] + args["b"], schema=NUMBERS, description="Adds.")
    executor.register(
        "sum", lambda args: {"sum": args["a"] + args["b"]}, schema=NUMBERS, output_schema=SUM, title="Sum of two"
    )
    executor.register("draw", lambda args: ["a dot", Image(b"PNG", "image/png")])
    executor.register("talk", talk)
    executor.register("hold", hold)
    executor.register("leave", hold, auto_background=0)
    executor.register("finishLater", finish_later, auto_background=0)
    executor.register("fail", fail)
    executor.register("wonder", wonder)
    executor.register("guarded", lambda args: "went in")
    executor.register("where:is.it", lambda args: "here")
    executor.register("print", lambda args: print("printed", flush=True))
    executor.register("grow", lambda args: executor.register("grown", lambda _: 1).name)
    return executor


NUMBERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
SUM = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}

if __name__ == "__main__":
    executor = made()
    ask = next((word.removeprefix("--ask=") for word in sys.argv if word.startswith("--ask=")), None)
    serve(executor, ServeOptions(wait="--wait" in sys.argv, ask=ask))
    executor.shutdown(cancel=True, timeout=20)
