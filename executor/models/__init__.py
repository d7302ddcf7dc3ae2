"""
The tool calls of every model API: what it is told of tools, the calls in its reply, the answers it is given.

For the loop of an assistant. Nothing here sends anything, and no SDK is imported: replies are taken as dicts and as the
objects of the vendors' SDKs, and what is made are dicts that all of them take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor._lazy import lazy_names

# Twice each, and both are needed: type checkers read the imports, Python the table. A test compares them.
if TYPE_CHECKING:
    from executor.models._forms import FORMS as FORMS
    from executor.models._names import Names as Names
    from executor.models._notice import notice as notice
    from executor.models._problems import Problem as Problem
    from executor.models._problems import problems as problems
    from executor.models._request import Request as Request
    from executor.models._request import read as read
    from executor.models._results import Result as Result
    from executor.models._stream import Stream as Stream
    from executor.models._tools import tools as tools

__all__, __getattr__ = lazy_names(
    __name__,
    {
        "executor.models._forms": "FORMS",
        "executor.models._names": "Names",
        "executor.models._notice": "notice",
        "executor.models._problems": "Problem problems",
        "executor.models._request": "Request read",
        "executor.models._results": "Result",
        "executor.models._stream": "Stream",
        "executor.models._tools": "tools",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
