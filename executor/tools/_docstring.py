"""What a docstring says: about the function for the tool's description, about each parameter for its schema."""

from __future__ import annotations

import functools
import inspect
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from executor._signatures import signature_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# The beginning of parameters in the styles of Google, NumPy and Sphinx (or Epydoc).
_SECTION = re.compile(
    r"^[ \t]*(?:(?:Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters)[ \t]*:?[ \t]*$"
    r"|[:@](?:param|parameter|arg|argument|key|keyword)\b)",
    re.MULTILINE,
)
_LAYOUT = re.compile(r"^([ \t]+): |(?<=\n\n)\n+", re.MULTILINE)  # what compose leaves of a type or section not there
_OF_PARAMETERS = frozenset({"param", "parameter", "arg", "argument", "key", "keyword", "other_param"})


class Docs(NamedTuple):
    """
    A docstring, read.

    Attributes:
        description: Everything but the texts of the parameters.
        parameters: The text of each parameter that has one.
        whole: All of it.
    """

    description: str
    parameters: Mapping[str, str]
    whole: str


def read_docs(fn: Callable[..., Any]) -> Docs:
    """The docstring of *fn*; one whose parameters cannot be read, or are not those of *fn*, is all description."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    whole = inspect.getdoc(fn) or ""
    if _SECTION.search(whole) is None:
        return Docs(whole, {}, whole)
    import docstring_parser  # wanted by docstrings with parameters only

    try:
        parsed = docstring_parser.parse(whole)
        texts = {
            each.arg_name.lstrip("*"): " ".join(each.description.split())
            for each in parsed.params
            if each.args[0] in _OF_PARAMETERS and each.description
        }
        known = signature_of(fn).parameters
        if not texts or not texts.keys() <= known.keys():
            return Docs(whole, {}, whole)
        parsed.meta = [each for each in parsed.meta if each.args[0] not in _OF_PARAMETERS]
        rest = docstring_parser.compose(parsed)
        return Docs(_LAYOUT.sub(lambda match: match[1] or "", rest).strip(), texts, whole)
    except Exception:  # noqa: BLE001 -- a docstring may be anything; then it is told as it stands
        return Docs(whole, {}, whole)


def describe_parameters(schema: Mapping[str, Any], fn: Callable[..., Any]) -> None:
    """Put the texts of the parameters of *fn* into its *schema*, which was made for it; a `Field` of its own wins."""
    properties = schema.get("properties", {})
    for name, text in read_docs(fn).parameters.items():
        if name in properties:
            properties[name].setdefault("description", text)
