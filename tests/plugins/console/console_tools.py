"""A plugin for the tests of the console: tools that ask, that take their time, and that say odd things."""

from __future__ import annotations

from pathlib import Path

from executor import current_call, hookimpl

PLACES = {
    "type": "object",
    "properties": {
        "to": {"enum": ["staging", "live"], "title": "Where to", "description": "The servers that get it."},
        "replicas": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
        "note": {"type": "string"},
        "notify": {"type": "boolean", "default": True},
    },
    "required": ["to"],
}


def deploy(args):
    """Asks where to."""
    return current_call().ask("Deploy where?", PLACES, timeout=args.get("seconds", 120))


def fill_in(args):
    """Asks for whatever it is told to."""
    return current_call().ask("Fill in:", args["schema"], timeout=120)


def login(args):
    """Asks for a secret."""
    said = current_call().ask("Password for registry.example.org?", secret=True, timeout=120)
    return f"{len(said['answer'])} characters"


def build(args):
    """Says how far it is until it is stopped, or there is a file."""
    call = current_call()
    call.emit("\x1b[1mCompiling\x1b[0m 34 crates\n")
    call.emit(args.get("say", ""))
    for number in range(args.get("from", 1), 10_000):
        call.progress(min(number, 34), 34, args.get("say", "compiling"))
        call.emit(f"\x1b[32m   Compiling\x1b[0m part {number}\n")
        if call.wait(args.get("pause", 0.05)) or (args.get("until") and Path(args["until"]).exists()):
            return "stopped"
    return "done"


@hookimpl
def executor_register_tools(register):
    """All of them."""
    register("deploy", deploy, schema={"type": "object"})
    register("fillIn", fill_in, schema={"type": "object"})
    register("login", login, schema={"type": "object"})
    register("build", build, schema={"type": "object"}, auto_background=0)
    register("act", lambda args: "acted", schema={"type": "object"})
    register("tell", lambda args: args, schema={"type": "object"})
