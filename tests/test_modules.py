"""What holds for whole modules, whoever calls them: values cannot be changed, and numbers that were chosen stay."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil

import pytest

import executor
import executor_permissions

CHANGING = {  # the dataclasses that grow or are filled in: everything else is a value
    "executor.models._mend._Mender",
    "executor.models._openai_chat._Piece",
    "executor.registry._plugin.Loaded",
    "executor.registry._plugin.Registrations",
    "executor.run._backends.Prepared",
    "executor.run._backends.RunResult",
    "executor.values._retry.RetryConfig",
    "executor_permissions.ask._question.Question",
    "executor_permissions.judge.rules._file_rules.FileRules",
    "executor_permissions.judge._judge_call.Plan",
    "executor_permissions.judge.rules._own_commands.OwnCommands",
    "executor_permissions.judge.rules._tool_rules.Arguments",
    "executor_permissions.judge.rules._tool_rules.ShellIndex",
    "executor_permissions.judge.rules._tool_rules.ToolRules",
    "executor_permissions.judge._shell_rules.Judged",
    "executor_permissions.judge._shell_scope.Outcome",
    "executor_permissions.judge.rules._tokens.TokenPattern",
    "executor_permissions.judge.bash._words.Inner",
    "executor_permissions.judge.bash._words.Inside",
    "executor_permissions.judge.bash._words.Command",
    "executor_permissions.judge.bash._words.Reading",
    "executor_permissions.judge.bash._words.Redirect",
    "executor_permissions.store._lines.Lines",
    "executor_permissions.store._source.Source",
    "executor.run._values.StepResult",
    "executor.run._values.StreamEvent",
}
DAY = 24 * 3600.0
NUMBERS = {
    "executor._json.MAX_DEPTH": 100,
    "executor._secret_names._LONGEST": 128,
    "executor._secret_shapes._CHANGES": 0.36,
    "executor._secret_shapes._FEW": 2,
    "executor.background._detached.START": 30.0,
    "executor.background._detached.SHOWN": 800,
    "executor.calls._content.LEAST_CONTENT": 1024,
    "executor.calls._content._MARK": 512,
    "executor.calls._locks.DEEPEST": 16,
    "executor.calls._state.BESIDE": 0.1,
    "executor.calls._content.MAX_CONTENT": 64 * 1024,
    "executor.calls._work.GRACE": 0.3,
    "executor.calls._limits._SECONDS": {"s": 1.0, "min": 60.0, "h": 3600.0, "day": DAY},
    "executor.models._mend._MOST": 3000,
    "executor.models._names._LONGEST": 64,
    "executor.models._problems.MAX_DEPTH": 60,
    "executor.models._tools.KEPT": 8192,
    "executor.paths._MAX_LINKS": 40,
    "executor.permission._dialogue.TRIES": 3,
    "executor.permission._gate.ASK_SECONDS": 300.0,
    "executor.permission._gate._MAX_SETTLING": 5,
    "executor.records._report.UNTOLD": 100,
    "executor.registry._failures.MOST": 100,
    "executor.registry._plugin.SLOW_SECONDS": 0.2,
    "executor.run._channel.BUFFER": 64,
    "executor.run._gate.MAX_EDITS": 5,
    "executor.run._resolve.CACHED": 4096,
    "executor.run._runner.WORKERS": 256,
    "executor.run._way.MAX_DEPTH": 100,
    "executor.tasks._durable.FIRST_LEAD": 0.05,
    "executor.tasks._durable.FORK_WAIT": 1.0,
    "executor.tasks._elsewhere.CANCEL_WAIT": 3.0,
    "executor.tasks._elsewhere.POLL": 0.1,
    "executor.tasks._elsewhere.UNTOLD": 100,
    "executor.tasks._files.IN_MEMORY": 1024**2,
    "executor.tasks._files.MOST_HELD": 4096,
    "executor.tasks._files.SMALL": 4096,
    "executor.tasks._manager.AWAY": 10.0,
    "executor.tasks._manager.POLL": 0.1,
    "executor.tasks._place.CLOSE": 5.0,
    "executor.tasks._processes.GRACE": 0.2,
    "executor.tasks._recovery.BATCH": 250,
    "executor.tasks._recovery.BATCH_SECONDS": 0.1,
    "executor.tasks._recovery.DAY": DAY,
    "executor.tasks._recovery.FREE_PAGES": 64,
    "executor.tasks._recovery.VACUUM_PAGES": 128,
    "executor.tasks._recovery.KEEP": 30 * DAY,
    "executor.tasks._recovery.KEEP_UNREAD": 90 * DAY,
    "executor.tasks._recovery.CLEAN_EVERY": DAY,
    "executor.tasks._recovery.MOST_OUTPUT": 1024**3,
    "executor.tasks._results.CLEAN_EVERY": 50,
    "executor.tasks._results.DAYS": 30,
    "executor.tasks._results.MOST": 256 * 1024**2,
    "executor.tasks._results.MOST_IN_MEMORY": 64 * 1024**2,
    "executor.tasks._schema.SMALL": 2048,
    "executor.tasks._spool.CAP": 16 * 1024**2,
    "executor.tasks._spool._FOLD": 64 * 1024,
    "executor.tasks._own.IN_STORE": 64 * 1024,
    "executor.tasks._own.MOST_KEPT": 10_000,
    "executor.tasks._store.PATIENCE": 0.25,
    "executor.tasks._connection.AGAIN": 0.002,
    "executor.tasks._store.PAGE": 500,
    "executor.tasks._store.REST": 1.0,
    "executor.tasks._thread.FIRST_LEAD": 0.05,
    "executor.tasks._thread.LEAD": 0.01,
    "executor.tasks._thread.MOST_AT_ONCE": 500,
    "executor.tasks._thread.MOST_LEAD": 0.25,
    "executor.tasks._thread.READERS": 0.2,
    "executor.tasks._thread.RETRY": 0.1,
    "executor.tasks._thread.WAIT": 0.3,
    "executor.tasks._delivery.KEPT": 1000,
    "executor.tasks._delivery.KEPT_STORED": 100,
    "executor.tasks._watch.EVERY": 0.2,
    "executor.tasks._writer.MOST_OPEN": 64,
    "executor.tasks._writer.PIECES": 4,
    "executor.tasks._writer.SMALLEST_PIECE": 4096,
    "executor.tasks._writer.TRY_AGAIN": 1.0,
    "executor.threads._serving.FINAL_SECONDS": 1.0,
    "executor.threads._workers.IDLE_SECONDS": 10.0,
    "executor.tools._names.MAX_NAME": 128,
    "executor.tools._schema.CACHED": 4096,
    "executor.tools._schema.MAX_ERRORS": 20,
}  # fmt: skip
DEFAULTS = {
    "executor.ToolExecutor": {
        "auto_background_enabled": True, "auto_background_pool_size": 4, "max_workers": 256,
        "max_background_tasks": 64, "default_timeout": None, "max_content": 64 * 1024,
    },
    "executor.JsonLinesLedger": {"max_bytes": 16 * 1024**2, "backups": 3, "required": False},
    "executor.TokenLedger": {"limit": 10_000, "required": False},
    "executor.run.Runner": {"validate_input": True, "validate_output": True},
    "executor.threads.LoopThread": {"name": "executor-loop"},
}  # fmt: skip


def modules():
    for package in (executor, executor_permissions):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def named(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_values_are_frozen():
    made = {
        f"{each.__module__}.{each.__qualname__}": each
        for module in modules()
        for each in vars(module).values()
        if isinstance(each, type) and dataclasses.is_dataclass(each) and each.__module__ == module.__name__
    }
    assert len(made) > 40
    changing = {name for name, each in made.items() if not each.__dataclass_params__.frozen}
    assert changing == CHANGING


def test_what_is_compared_by_identity_or_not_at_all_stays_so():
    assert named("executor.run._backends.Prepared").__eq__ is object.__eq__
    apart = {
        "executor.Tool": {"fn", "retry", "resources", "schemas"},
        "executor.ToolDefinition": {"schemas"},
        "executor.Decision": {"details"},
    }
    for name, fields in apart.items():
        assert {field.name for field in dataclasses.fields(named(name)) if not field.compare} == fields


@pytest.mark.parametrize("path", NUMBERS)
def test_a_number_that_was_chosen_is_changed_on_purpose_only(path):
    assert named(path) == NUMBERS[path]


@pytest.mark.parametrize("path", DEFAULTS)
def test_what_is_left_out_is_what_people_were_told(path):
    found = {name: parameter.default for name, parameter in inspect.signature(named(path)).parameters.items()}
    assert {name: found[name] for name in DEFAULTS[path]} == DEFAULTS[path]
