"""The tools, in the words of a model API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executor._json import copy_json
from executor._log import warn
from executor.models._dialects import DIALECTS
from executor.models._forms import WireTool, form_named
from executor.models._mend import Mended, mend
from executor.models._names import Names, add_name
from executor.models._results import clean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from executor.models._forms import Form
    from executor.values import ToolDefinition

# Characters of a tool's description: a longer one is refused by the API, or by servers that speak like it.
_LONGEST = dict.fromkeys(("openai-chat", "openai", "langchain"), 1024)
_GOES_ON = " … (goes on in the description of the parameters)"
KEPT = 8192  # mended schemas

# Keyed by the schema's identity and the form; what it was like is kept too, so that a schema that was changed since, or
# another one with its id, is not taken for it. Filled and emptied with single dict operations, which are atomic.
_TREES = frozenset({dict, list})
_kept: dict[tuple[int, str], tuple[object, Mended]] = {}


def tools(definitions: Iterable[ToolDefinition], form: str) -> tuple[list[dict[str, Any]], Names]:
    """
    What the API is told of the tools, and the way back from the names it knows.

    A schema that the API would refuse is mended: what is sent may allow more than the schema does, never less, and says
    in words what it leaves out. A tool for which that cannot be done is left out with a warning.

    Args:
        definitions: Such as `ToolExecutor.list_tools` gives them.
        form: One of `FORMS`.

    Returns:
        (what goes into the request, the names for `read` and `Stream`). Both are the caller's own.

    Raises:
        ValueError: There is no such form, or two tools would have one name in it.
    """
    spoken, names = form_named(form), Names()
    told: list[dict[str, Any]] = []
    for definition in {each.name: each for each in definitions}.values():  # an API refuses two of one name
        try:
            mended = _mended(definition.input_schema, form)
        except Exception as error:  # noqa: BLE001 -- whatever a tool's author wrote there: the other tools are told of
            names.left_out[definition.name] = str(error)
            warn(f"the tool {definition.name!r} is left out of the tools for {form}: {error}")
        else:
            told.append(_define(spoken, definition, mended, names))
    return told, names


def tool_in(definition: ToolDefinition, form: str) -> dict[str, Any]:
    """What the API is told of one tool. Raises ValueError."""
    return _define(form_named(form), definition, _mended(definition.input_schema, form), Names())


def _define(spoken: Form, definition: ToolDefinition, mended: Mended, names: Names) -> dict[str, Any]:
    wire = add_name(names, definition.name, spoken.name)
    if mended.names:
        names.rename_arguments(wire, mended.names)
    words = [clean(definition.description or ""), mended.notes and f"({mended.notes})"]
    description, schema = "\n".join(each for each in words if each), _copy(mended.schema)
    if len(description) > _LONGEST.get(spoken.name, len(description)):
        description, schema = _shortened(description, _LONGEST[spoken.name], schema)
    return spoken.define(WireTool(wire, description, schema, definition))


def _shortened(description: str, longest: int, schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """What is too long goes on in the description of the arguments, for which there is no limit."""
    end = description.rfind(" ", longest // 2, longest - len(_GOES_ON))
    end = longest - len(_GOES_ON) if end < 0 else end
    rest = [f"… {description[end:].strip()}", schema.get("description")]
    told = {**schema, "description": "\n".join(each for each in rest if isinstance(each, str) and each)}
    return description[:end] + _GOES_ON, told


def _copy(tree: Any) -> Any:
    """A copy of a tree that is known to be JSON."""
    if type(tree) is dict:
        return {key: _copy(value) if type(value) in _TREES else value for key, value in tree.items()}
    return [_copy(value) if type(value) in _TREES else value for value in tree]


def _mended(schema: object, form: str) -> Mended:
    key = (id(schema), form)
    known = _kept.get(key)
    if known is not None and known[0] == schema:
        return known[1]
    made = mend(schema, DIALECTS[form])
    while len(_kept) >= KEPT:
        _kept.pop(next(iter(_kept)), None)
    _kept[key] = (made.schema if made.schema == schema else copy_json(schema), made)
    return made
