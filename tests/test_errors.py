"""The error tree: every class is made from a message, pickles and copies with its cause, and is matched by class."""

from __future__ import annotations

import copy
import copyreg
import pickle
import re
import sys

import pytest

from executor import Decision, errors
from executor.run import ToolBackend

CLASSES = [getattr(errors, name) for name in errors.__all__]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_is_made_from_a_text_and_survives_pickling_with_its_cause(kind):
    error = kind("what happened")
    error.__cause__ = ValueError("why")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind
        assert str(again) == str(error)
        assert again.message == error.message
        assert isinstance(again.__cause__, ValueError)
    assert "what happened" in str(error)


def test_what_an_error_carries_survives_too():
    error = errors.PermissionDeniedError(
        "no", decision=Decision("deny", "no", "blacklist"), info={"method": "blacklist"}, tool_id="a:b"
    )
    again = pickle.loads(pickle.dumps(error))
    assert again.decision == Decision("deny", "no", "blacklist")
    assert again.info == {"method": "blacklist"}
    assert again.tool_id == "a:b"
    missing = pickle.loads(pickle.dumps(errors.TaskNotFoundError("shell_1")))
    assert missing.task_id == "shell_1"
    assert "shell_1" in str(missing)


def test_a_cause_that_cannot_be_pickled_survives_as_text(monkeypatch):
    class Local(Exception):
        pass

    error = errors.ToolFailedError("x")
    error.__cause__ = Local("deep")
    # distributed, once imported, tells pickle how to copy every class of errors that there is.
    monkeypatch.delitem(copyreg.dispatch_table, errors.ToolFailedError, raising=False)
    assert str(pickle.loads(pickle.dumps(error)).__cause__) == "Local: deep"


def test_an_error_names_stage_tool_and_backend():
    error = errors.ToolFailedError("boom", tool_id="fs:read", backend=ToolBackend.local("read"))
    assert str(error) == "execute fs:read [local]: boom"
    assert error.message == "boom"
    assert str(errors.ToolNotFoundError("gone")) == "gone"


def test_a_cause_is_found_by_its_class():
    error = errors.RetriesExhaustedError("3 attempts", attempts=3)
    error.__cause__ = errors.BackendUnavailableError("down")
    error.__cause__.__cause__ = ConnectionError()
    assert error.caused_by(errors.ExecutionError)
    assert error.caused_by(ConnectionError)
    assert not error.caused_by(errors.ToolTimeoutError)
    error.__cause__.__cause__ = error  # a circle ends
    assert not error.caused_by(KeyError)


def test_the_tree_is_drawn_in_the_docstring():
    for kind in CLASSES:
        assert re.search(rf"\b{kind.__name__}\b", errors.__doc__) or kind is errors.ToolExecutorError
    own = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert {name for name in own if not name.startswith("_")} == set(errors.__all__)
    assert sys.modules["executor.errors"] is errors
