"""What went wrong with plugins: recorded, said once, and raised where that was asked for."""

from __future__ import annotations

import threading
from typing import Any

from executor._log import warn
from executor.errors import PluginError, PluginLoadError
from executor.threads._fork import fork_safe
from executor.values._frozen import dataclass

MOST = 100  # failures that are kept; an observer that raises at every call must not fill the memory


@dataclass(frozen=True, slots=True)
class Origin:
    """
    Where a plugin comes from.

    Attributes:
        bundled: It is one of this package's own.
        distribution: The installed package that brought it, or None.
    """

    bundled: bool = False
    distribution: str | None = None
    version: str | None = None

    @property
    def by_hand(self) -> bool:
        """Whether it was given to `PluginRegistry.register`."""
        return not self.bundled and self.distribution is None and self.version is None

    def __str__(self) -> str:
        return "bundled" if self.bundled else self.distribution or "registered"


@dataclass(frozen=True, slots=True)
class PluginFailure:
    """
    What went wrong with one plugin.

    Attributes:
        plugin: Its name.
        stage: ``load``, ``configure``, ``register``, or the hook that raised.
        error: The exception's class and text; of this library's own errors the text.
        distribution: The package that brought it, or None for one that is bundled or was registered by hand.
    """

    plugin: str
    stage: str
    error: str
    distribution: str | None = None
    version: str | None = None
    traceback: str = ""


class Failures:
    """
    The failures of one registry's plugins. May be used from any thread.

    Args:
        strict: Whether `fail` raises.
    """

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict
        self._lock = fork_safe(self, "_lock", threading.Lock)
        self._failures: list[PluginFailure] = []
        self._warned: set[tuple[str, str]] = set()

    def all(self) -> list[PluginFailure]:
        """All of them, oldest first."""
        with self._lock:
            return self._failures.copy()

    def fail(self, plugin: str, stage: str, error: BaseException, origin: Origin) -> None:
        """A plugin cannot be used as it should be: record it, or raise a PluginError where that was asked for."""
        if self._strict:
            if isinstance(error, PluginError):
                raise error
            raise PluginLoadError(f"failed ({stage}): {_text(error)}", plugin=plugin) from error
        self.record(plugin, stage, error, origin)

    def record(self, plugin: str, stage: str, error: BaseException, origin: Origin) -> None:
        """Keep a failure; the first of a plugin in a stage is warned about."""
        import traceback  # wanted by failures only

        trace = "".join(traceback.format_exception(error))
        failure = PluginFailure(plugin, stage, _text(error), origin.distribution, origin.version, trace)
        with self._lock:
            first = (plugin, stage) not in self._warned
            self._warned.add((plugin, stage))
            self._failures = [*self._failures[1 - MOST :], failure]
        if first:
            whose = f" of {origin.distribution}" if origin.distribution else ""
            warn(f"The plugin {plugin!r}{whose} failed ({stage}): {failure.error.rstrip('.')}. Everything else works.")

    def forget(self, plugin: str) -> None:
        """Drop what went wrong with a plugin since it was loaded: it is tried again."""
        with self._lock:
            self._failures = [old for old in self._failures if old.plugin != plugin or old.stage == "load"]


def missing_row(failure: PluginFailure) -> dict[str, Any]:
    """The row of a plugin that could not be loaded."""
    return {
        "name": failure.plugin,
        "origin": failure.distribution or "registered",
        "version": failure.version,
        "status": "failed",
        "tools": [],
        "hooks": [],
        "load_seconds": None,
        "remarks": [],
    }


def _text(error: BaseException) -> str:
    if isinstance(error, PluginError):
        return error.message
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else repr(error)
