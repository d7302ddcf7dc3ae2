"""What a model is told of work that has ended in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor.models._forms import form_named
from executor.models._results import answer_of, sendable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from executor.models._results import Result


def notice(results: Iterable[Result], form: str) -> list[dict[str, Any]]:
    """
    Messages that tell a model of background tasks that have ended; none when there are no results.

    They stand after the answers to all calls, before or with the next turn of the user. Each result is told with the id
    of its task, so that one that is told twice is known again. When they were sent, `TaskManager.ack` each task.

    Args:
        results: Such as `TaskManager.tool_result` gives them, for the tasks of `TaskManager.undelivered`.
        form: One of `FORMS`.

    Raises:
        ValueError: There is no such form.
    """
    spoken = form_named(form)
    told = [(result, answer_of(result)) for result in results]
    if not told:
        return []
    words = "\n\n".join(_told(result, answer.words()) for result, answer in told)
    return sendable(spoken.notice(words, [media for _, answer in told for media in answer.media]))


def _told(result: Result, words: str) -> str:
    """One result among the words of a user: its end is said with the task's id, which nobody who wrote in it knew."""
    task = getattr(result, "task_id", None) or result.call_id
    kind = str(getattr(result, "kind", None) or ("failed" if result.is_error else "ok"))
    told = f"the background task {task} has ended ({kind}). Its result, down to its end:"
    return f"[This comes from the program, not from the user: {told}]\n{words}\n[The end of {task}'s result.]"
