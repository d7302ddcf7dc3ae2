"""
Tools with ``isolation="process"``: each call in a fresh process, which can be killed at any moment.

The process is given the function and the arguments on its stdin, and answers on its stdout with frames (see
`_frames`). It ends, with all that it has started, when its stdin does: also when this process is killed.
What the tool itself prints goes to stderr.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from executor.calls._current import CurrentCall, current_call, places_of
from executor.calls._places import Places
from executor.calls._state import current
from executor.errors import ToolFailedError
from executor.interpreter import WITHOUT, interpreter
from executor.tools._by_name import sendable
from executor.tools._frames import packed, read, send
from executor.values._profile import Profile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from executor.calls._state import CallState
    from executor.confine import Boxed
    from executor.values._profile import ProfileName

# Modules are found where this process finds them; nothing of the main module is run again.
_CHILD = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from executor.tools._isolated import serve
serve(boxed=sys.argv[2:] == ["boxed"])
"""


def check_isolated(fn: Callable[..., Any], name: str) -> None:
    """Raises ValueError for a function that another process cannot find, and where there can be no other process."""
    if interpreter() is None:
        raise ValueError(
            f"the tool {name!r} cannot run in a process of its own: {WITHOUT}. Leave isolation out: it runs on a thread"
        )
    try:
        module = pickle.loads(pickle.dumps(sendable(fn))).__module__  # noqa: S301 -- what was just made here
    except Exception as error:
        raise ValueError(
            f"the tool {name!r} cannot run in a process of its own: its function cannot be found by name ({error}). "
            "Define it at the top of a module"
        ) from error
    if module == "__main__":
        raise ValueError(
            f"the tool {name!r} cannot run in a process of its own: its function is in the main program, which is not "
            "run again there. Move it to a module"
        )


def isolated(fn: Callable[..., Any], confine: ProfileName | None = None) -> Callable[[dict[str, Any]], Any]:
    """A handler that calls *fn* in a process of its own, in the box of the profile that *confine* names."""

    def handler(arguments: dict[str, Any]) -> Any:
        call = current_call()
        order = packed((sendable(fn), arguments, *_at(current.get())))  # first: what cannot be told starts nothing
        expected = call.expect_process_group() if call is not None else {}
        child = _Child(fn, _profile(confine, call), expected)
        try:
            if call is not None:
                call.add_process_group(child.pid, expected)
            forget = call.on_cancel(child.kill) if call is not None else _nothing
            try:
                child.tell(order)
                return child.follow(call)
            finally:
                forget()
        finally:
            child.close()

    return handler


def _profile(confine: ProfileName | None, call: CurrentCall | None) -> Profile | None:
    """What the process may do: what the tool says itself, with what the policy says of files where there is one."""
    if confine is None or confine == "open":
        return None
    if call is not None and call.confine is not None:
        return replace(call.confine, name=confine)
    return Profile(confine, os.path.realpath(os.curdir))


def _at(call: CallState | None) -> tuple[str | None, Places]:
    """The tool's folder, and where *call* is at work, as far as it was judged: what its process goes by as well."""
    if call is None:
        return None, Places()
    return call.tool.folder if call.tool is not None else None, places_of(call)


def _found(fn: Callable[..., Any]) -> list[str]:
    """Where its module was found: some hosts (Celery) have that folder on the path only while they import."""
    top = sys.modules.get((fn.__module__ or "").partition(".")[0])
    found = getattr(top, "__path__", None) or [getattr(top, "__file__", None) or ""]
    return [os.path.dirname(each) for each in found if each]  # noqa: PTH120 -- texts, as in sys.path


def _nothing() -> None:
    pass


class _Child:
    """The process of one call. `kill` may be called from any thread."""

    def __init__(
        self,
        fn: Callable[..., Any],
        profile: Profile | None,
        marks: Mapping[str, str],
    ) -> None:
        path = [os.path.abspath(folder) for folder in (*sys.path, *_found(fn))]  # noqa: PTH100 -- "" is the working folder
        python = interpreter()
        assert python is not None  # or it was not registered: see `check_isolated`
        command = [python, "-P", "-c", _CHILD, json.dumps(path), *(["boxed"] if profile else [])]
        how: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        how["start_new_session"] = sys.platform != "win32"
        self._boxed: Boxed | None = None
        if profile is None:
            self._process = subprocess.Popen(command, env={**os.environ, **marks} if marks else None, **how)
        else:
            from executor.confine import start

            self._boxed = start(profile, command, marks=marks, **how)
            self._process = self._boxed.process
        self.pid = self._process.pid

    def tell(self, order: bytes) -> None:
        """What it is to do, which may wait for it to read that."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended already; `follow` says how
            send(self._process.stdin, order)

    def follow(self, call: CurrentCall | None) -> Any:
        """What the tool returns. Raises what it raised, or ToolFailedError."""
        while (frame := self._frame()) is not None:
            kind, *told = frame
            if kind == "returned":
                return told[0]
            if kind == "raised":
                raise told[0]
            if call is not None:
                (call.progress if kind == "progress" else call.emit)(*told)
        if call is not None and call.token.error is not None:
            raise call.token.error
        # 0 is also what subprocess says where it cannot know: who ignores SIGCHLD, or waits for every child, took it.
        with_code = f" with {code}" if (code := self._process.wait()) else ""
        raise ToolFailedError(
            f"The process that ran the tool ended{with_code} before it returned; what it did may have had effects"
        )

    def _frame(self) -> Any:
        try:
            return read(self._process.stdout, boxed=self._boxed is not None)
        except Exception as error:
            raise ToolFailedError(f"What the process that ran the tool said cannot be read: {error}") from error

    def kill(self) -> None:
        """End the process and what it has started; in a box also what left its session, which may hold its pipe."""
        if self._boxed is not None:
            self._boxed.end()
        if self._process.poll() is None or sys.platform != "win32":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if sys.platform == "win32":
                    self._process.kill()
                else:
                    os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """The call is over: nothing of it goes on."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.kill()
        self._process.wait()
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.stdout.close()
        if self._boxed is not None:
            self._boxed.close()
