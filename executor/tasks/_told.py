"""Tasks whose ids were told, and that are not among the others yet: for a moment, or because nothing can be written."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from executor.tasks._owners import notes, with_notes
from executor.tasks._rows import Row

if TYPE_CHECKING:
    from executor.tasks._place import Place


def just_told(place: Place, task_id: str) -> Row | None:
    """
    One of them; None too where its owner is gone, and was about to tell of it.

    Raises:
        ExecutorUnavailableError: Its owner is gone, and what that has left cannot be stored.
    """
    told = next((row for row in all_told(place) if row.id == task_id), None)
    about = [owner for _, owner, _ in place.store.speculative(task_id=task_id)]
    owner = told.owner if told is not None else next(iter(about), None)
    if owner is not None and place.lives(owner):
        return told
    if owner is not None:
        place.sweep({owner})
    return place.store.get(task_id)  # perhaps its row has come there in between


def all_told(place: Place) -> list[Row]:
    """
    All those of other processes, newest first, each as it was when it was told.

    Raises:
        ExecutorUnavailableError: The store cannot be read.
    """
    found: dict[str, Row] = {}
    noted = {owner: notes(place.owners, owner) for owner in with_notes(place.owners) - {place.own_id}}
    entered = [(owner, task_id, entry) for task_id, owner, entry in place.store.speculative()] if noted else []
    for owner, known in noted.items():
        values: list[Any] = [each.get("values") for each in known.tasks] if known is not None else []
        told = known.told if known is not None else ()
        values += [json.loads(entry) for by, task_id, entry in entered if by == owner and task_id in told]
        for each in values:
            with contextlib.suppress(KeyError, TypeError, AttributeError):  # damaged
                found[each["id"]] = _row_of(each)
    known_rows = place.store.known(list(found)) if found else set()  # last: whatever has been stored is there by now
    left = [row for task_id, row in found.items() if task_id not in known_rows]
    return sorted(left, key=lambda row: row.created, reverse=True)


def _row_of(values: dict[str, Any]) -> Row:
    return Row(
        id=values["id"],
        status=values["status"],
        tool=values["tool"],
        plugin=values["plugin"],
        call=values["call"],
        created=values["created"],
        started=values["started"],
        ended=None,
        duration=None,
        error=None,
        output_bytes=None,
        pid=values["pid"],
        abandoned=0,
        owner=values["owner"],
        output_cap=values["output_cap"],
        host=values["host"],
        conversation=values.get("name"),
        progress=values.get("progress"),
    )
