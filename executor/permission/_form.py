"""A form that a person fills in: as a question on every surface, and from the answer to its fields."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from executor._json import parse
from executor.errors import ExecutionError, InvalidArgumentsError
from executor.permission._open import new_approval_id
from executor.permission._visible import indented, named, visible
from executor.tools._schema import compiled, explain, in_words
from executor.values._approval import Approval

if TYPE_CHECKING:
    from executor.calls._host import Approvals
    from executor.calls._token import CancelToken
    from executor.values._approval import Answer

MOST_TRIES = 3  # answers that do not fit the form before it counts as refused
ANY_TEXT: Mapping[str, Any] = {"type": "object", "properties": {"answer": {"type": "string"}}}
A_SECRET: Mapping[str, Any] = {**ANY_TEXT, "required": ["answer"]}


class NotAnsweredError(Exception):
    """There is no answer; the text says why."""


@dataclass(frozen=True, slots=True)
class Form:
    """
    What a tool wants to know.

    Attributes:
        tool: Which one asks.
        message: What it asks, for a person.
        schema: Of the answer, a JSON object.
        secret: Nobody but the tool is to see the answer.
    """

    tool: str
    message: str
    schema: Mapping[str, Any] = field(default_factory=lambda: ANY_TEXT)
    secret: bool = False


def ask_for_tool(
    tool: str,
    message: str,
    schema: Mapping[str, Any] | None,
    inbox: Approvals,
    *,
    secret: bool,
    timeout: float | None,
    cancel: CancelToken | None,
) -> dict[str, Any]:
    """See `Inbox.fill_in`."""
    form = Form(tool, message, schema if schema is not None else A_SECRET if secret else ANY_TEXT, secret)
    try:
        return fill_in(form, inbox, timeout, cancel)
    except NotAnsweredError as error:
        raise ExecutionError(f"{tool} asked a person, and has no answer: {error}", tool_id=tool) from None


def fill_in(form: Form, inbox: Approvals, timeout: float | None, cancel: CancelToken | None) -> dict[str, Any]:
    """
    The fields as a person has filled them in, who is asked again while they do not fit.

    Raises:
        NotAnsweredError: Nobody is there, nobody answered in time, or somebody said no.
        SchemaError: The form's schema is none.
    """
    validator = compiled(form.schema, form.tool)
    deadline = None if timeout is None else time.monotonic() + timeout
    problem = ""
    for _ in range(MOST_TRIES):
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        answer = inbox.ask(_question(form, problem, left), timeout=left, cancel=cancel)
        if answer.word not in ("comment", "edit") and not answer.allowed:
            raise NotAnsweredError(_refusal(answer))
        try:
            content = _filled_in(form.schema, answer)
        except (InvalidArgumentsError, ValueError) as error:
            problem = "it is not readable" if form.secret else str(error)
            continue
        if validator.is_valid(content):
            return content
        problem = "it does not fit" if form.secret else in_words(explain(form.schema, validator, content))
    raise NotAnsweredError(f"{MOST_TRIES} answers did not fit: {problem}")


def _question(form: Form, problem: str, left: float | None) -> Approval:
    number = new_approval_id()
    return Approval(
        number,
        form.tool,
        {"message": form.message, "form": form.schema},
        reason=problem or "it wants to know something from you",
        text=_text(form, problem),
        deadline=None if left is None else time.time() + left,
        options=("yes", "no", "comment", "edit"),
        asker=number,  # the answer is for the one call that asks
        draft={name: told.get("default") for name, told in _fields(form.schema).items()},
        secret=form.secret,
        form=form.schema,
    )


def _text(form: Form, problem: str) -> str:
    lines = [f"{form.tool} asks: {_said(form.message)}"]
    if problem:
        lines.append(f"(The last answer does not fit: {_said(problem)})")
    required = form.schema.get("required", ())
    for name, told in _fields(form.schema).items():
        mark = "" if name in required else ", optional"
        kind = " or ".join(map(str, told.get("enum", ()))) or str(told.get("type", "text"))
        about = str(told.get("description") or told.get("title") or "")
        lines.append(f"  {named(name)} ({_said(kind)}{mark}) {_said(about)}".rstrip())
    if form.secret:
        lines.append("What you type goes to the tool alone, and is not shown.")
    else:
        lines.append('Answer c:TEXT for one field, c:{"field": …} or e for more, yes for the defaults, or no.')
    return "\n".join(lines)


def _said(text: str) -> str:
    return indented(visible(text))


def _fields(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What a schema says of each field; of one that may be anything it may say no more than ``true``."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    return {name: told if isinstance(told, Mapping) else {} for name, told in properties.items()}


def _filled_in(schema: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    fields = _fields(schema)
    content = {name: told["default"] for name, told in fields.items() if "default" in told}
    if answer.word == "edit":
        return {**content, **{name: value for name, value in answer.value.items() if value is not None}}
    if answer.word != "comment":
        return content
    wanted, text = list(schema.get("required", ())) or list(fields), str(answer.value or "")
    kind = fields.get(wanted[0], {}).get("type", "string") if len(wanted) == 1 else "object"
    if kind == "string":  # a text may begin with a brace
        return {**content, wanted[0]: text}
    read = parse(text)
    if isinstance(read, dict) and kind != "object":
        return {**content, **read}
    if len(wanted) == 1:
        return {**content, wanted[0]: read}
    if not isinstance(read, dict):
        raise ValueError(  # noqa: TRY004 -- what a person typed, not what a program gave
            f"the form has the fields {', '.join(fields)}: give a JSON object"
        )
    return {**content, **read}


def _refusal(answer: Answer) -> str:
    said = f": {answer.value}" if isinstance(answer.value, str) else ""
    return {
        "no_channel": "there is nobody to ask; open 'toolexec console', or leave 'toolexec approvals watch' open",
        "timeout": "nobody answered in time",
        "cancelled": "the call was cancelled while a person was asked",
        "error": f"asking failed{said}",
    }.get(answer.word, f"the user said no{said}")
