"""What is recorded of a plugin that fails, and said."""

from __future__ import annotations

import pytest

from executor import hookimpl
from executor.errors import PluginConflictError, PluginLoadError
from executor.registry import PluginFailure
from executor.registry._failures import MOST, Failures, Origin


def test_a_failure_names_the_exceptions_class(registry):
    class Broken:
        @hookimpl
        def executor_configure(self, config):
            raise RuntimeError("boom")

    registry.register(Broken(), "broken")
    assert registry.expose("broken") is False
    (failure,) = registry.failures()
    assert isinstance(failure, PluginFailure)
    assert (failure.stage, failure.error) == ("configure", "RuntimeError: boom")


@pytest.mark.parametrize(
    ("origin", "told", "by_hand"),
    [
        (Origin(), "registered", True),
        (Origin(bundled=True), "bundled", False),
        (Origin(distribution="toolexec-x", version="1"), "toolexec-x", False),
        (Origin(version="1"), "registered", False),
    ],
)
def test_where_a_plugin_comes_from(origin, told, by_hand):
    assert (str(origin), origin.by_hand) == (told, by_hand)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("x"), "ValueError: x"),
        (ValueError(), "ValueError()"),
        (PluginConflictError("the name is taken"), "the name is taken"),
        (SystemExit(3), "SystemExit: 3"),
    ],
)
def test_the_text_of_a_failure(error, text):
    failures = Failures(strict=False)
    failures.record("p", "configure", error, Origin())
    assert failures.all()[0].error == text


def test_the_warning_has_one_full_stop_and_comes_once_a_stage(caplog):
    failures = Failures(strict=False)
    for stage in ("load", "load", "configure"):
        failures.record("p", stage, ValueError("It is broken."), Origin())
    assert [record.message for record in caplog.records] == [
        "The plugin 'p' failed (load): ValueError: It is broken. Everything else works.",
        "The plugin 'p' failed (configure): ValueError: It is broken. Everything else works.",
    ]


def test_where_failures_are_errors_each_is_one_of_the_plugin(caplog):
    failures, told = Failures(strict=True), ValueError("unknown key")
    with pytest.raises(PluginLoadError, match=r"^failed \(configure\): ValueError: unknown key$") as raised:
        failures.fail("p", "configure", told, Origin())
    assert (raised.value.plugin, raised.value.__cause__) == ("p", told)
    conflict = PluginConflictError("taken", plugin="p")
    with pytest.raises(PluginConflictError) as raised:
        failures.fail("p", "register", conflict, Origin())
    assert (raised.value, failures.all(), caplog.records) == (conflict, [], [])


def test_only_the_newest_failures_are_kept():
    failures = Failures(strict=False)
    for number in range(MOST + 5):
        failures.record("p", "executor_before_call", ValueError(str(number)), Origin())
    kept = failures.all()
    assert (len(kept), kept[0].error, kept[-1].error) == (MOST, "ValueError: 5", f"ValueError: {MOST + 4}")
