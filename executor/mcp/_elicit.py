"""What a server wants to know from a person: asked through the approval inbox, or by a function of the host's."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import mcp.types as t

from executor._json import parse
from executor._log import warn
from executor.calls._token import CancelToken
from executor.errors import InvalidArgumentsError, SchemaError
from executor.mcp._values import Elicitation
from executor.permission._open import new_approval_id
from executor.permission._visible import indented, named, visible
from executor.tools._schema import compiled, explain, in_words
from executor.values._approval import Approval

if TYPE_CHECKING:
    from collections.abc import Callable

    from executor.calls._host import Approvals
    from executor.values._approval import Answer

ANSWER_SECONDS = 300.0  # how long a question waits for a person before it counts as dismissed
MOST_FIELDS = 40  # that are told; who fills in the form sees all
MOST_TEXT = 500  # characters of what is said of one
MOST_TRIES = 3  # answers that do not fit the form before it counts as declined

Reply: TypeAlias = "tuple[str, dict[str, Any] | None]"  # accept, decline or cancel; the form as filled in


def question_of(server: str, params: t.ElicitRequestParams) -> Elicitation:
    """The SDK's question as ours."""
    if isinstance(params, t.ElicitRequestURLParams):
        return Elicitation(server, params.message, url=params.url)
    schema = params.requested_schema
    return Elicitation(server, params.message, schema=dict(schema))


async def ask(
    question: Elicitation, inbox: Approvals | None, on_elicit: Callable[[Elicitation], object] | None
) -> t.ElicitResult:
    """The person's answer. It is waited for on a thread of its own; when this task is cancelled, it is withdrawn."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Reply] = loop.create_future()
    withdrawn = CancelToken()

    def settle(reply: Reply) -> None:
        if not answered.done():
            answered.set_result(reply)

    def work() -> None:
        reply: Reply = "decline", None
        try:
            if on_elicit is not None:
                reply = _of_callback(on_elicit(question))
            elif inbox is not None:
                reply = _by_inbox(question, inbox, withdrawn)
        except Exception as error:  # noqa: BLE001 -- a surface that fails is a no, and is said
            warn(f"A question of the MCP server {question.server!r} could not be asked: {error!r}", error=error)
        try:
            loop.call_soon_threadsafe(settle, reply)
        except RuntimeError:
            return  # the bridge was closed meanwhile

    threading.Thread(target=work, name="executor-mcp-question", daemon=True).start()
    try:
        action, content = await answered
    finally:
        withdrawn.cancel()
    return t.ElicitResult.model_validate({"action": action, "content": content})


def _of_callback(said: object) -> Reply:
    if isinstance(said, Mapping):
        return "accept", dict(said)
    return ("accept", {}) if said is True else ("decline", None)


def _by_inbox(question: Elicitation, inbox: Approvals, withdrawn: CancelToken) -> Reply:
    problem = ""
    for _ in range(MOST_TRIES):
        number = new_approval_id()
        approval = Approval(
            number,
            f"mcp__{question.server}",
            {"message": question.message, "form": question.schema, "url": question.url},
            reason=problem or f"the MCP server {question.server} asks",
            text=_text(question, problem),
            deadline=time.time() + ANSWER_SECONDS,
            options=("yes", "no") if question.schema is None else ("yes", "no", "comment", "edit"),
            asker=number,  # what is filled in goes to the one call that it was asked for
            draft=None if question.schema is None else _draft(question.schema),
            form=question.schema,
        )
        answer = inbox.ask(approval, timeout=ANSWER_SECONDS, cancel=withdrawn)
        if answer.word in ("timeout", "cancelled"):
            return "cancel", None
        if answer.word not in ("comment", "edit") and not answer.allowed:
            return "decline", None
        if question.schema is None:
            return "accept", None
        try:
            content = _filled_in(question.schema, answer)
            errors = _misfits(question.schema, content)
        except (InvalidArgumentsError, ValueError) as error:
            problem = str(error)
        else:
            if not errors:
                return "accept", content
            problem = in_words(errors)
    return "decline", None


def _text(question: Elicitation, problem: str) -> str:
    """The question for a person; what the server says is a part of each line, and takes nothing else's place."""
    lines = [f"The MCP server {question.server} asks: {_said(question.message)}"]
    if problem:
        lines.append(f"(The last answer does not fit: {_said(problem)})")
    if question.url is not None:
        # Whole, whatever its length: who is behind it stands at its beginning.
        lines.append(f"It wants you to open {indented(visible(question.url, len(question.url)))} .")
        lines.append("Yes: you will; no: you will not.")
    elif question.schema is not None:
        required = question.schema.get("required", ())
        fields = question.schema.get("properties", {})
        for name, field in islice(fields.items(), MOST_FIELDS):
            told = field.get("description") or field.get("title") or ""
            mark = "" if name in required else ", optional"
            kind = " or ".join(_choices(field)) or str(field.get("type", "text"))
            lines.append(f"  {named(name)} ({_said(kind, MOST_TEXT)}{mark}) {_said(str(told), MOST_TEXT)}".rstrip())
        if len(fields) > MOST_FIELDS:
            lines.append(f"  … and {len(fields) - MOST_FIELDS} more")
        lines.append(
            'Answer e to fill it in, yes for its defaults, c:value for one field, c:{"field": …} for more, or no.'
        )
    return "\n".join(lines)


def _said(text: str, limit: int = 2000) -> str:
    return indented(visible(text, limit))


def _choices(field: Mapping[str, Any]) -> list[str]:
    """The values that may be chosen, each with its title where it has one (SEP-1330); of a list: of its items."""
    items = field.get("items")
    if field.get("type") == "array" and isinstance(items, Mapping):
        return [" and/or ".join(_choices({**items, "type": items.get("type", "string")}))] if _choices(items) else []
    titled = field.get("oneOf") or field.get("anyOf")
    if isinstance(titled, list) and all(isinstance(one, Mapping) and "const" in one for one in titled):
        return [_titled(one["const"], one.get("title")) for one in titled]
    names = field.get("enumNames")
    values = field.get("enum")
    if not isinstance(values, list):
        return []
    titles = names if isinstance(names, list) and len(names) == len(values) else [None] * len(values)
    return [_titled(value, title) for value, title in zip(values, titles, strict=True)]


def _titled(value: Any, title: Any) -> str:
    return f"{value} ({title})" if title and title != value else str(value)


def _draft(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The form as it is before anybody has filled it in; None for what may be left out."""
    return {name: field.get("default") for name, field in schema.get("properties", {}).items()}


def _filled_in(schema: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    fields: Mapping[str, Any] = schema.get("properties", {})
    content = {name: field["default"] for name, field in fields.items() if "default" in field}
    if answer.word == "edit":
        return {**content, **{name: value for name, value in answer.value.items() if value is not None}}
    if answer.word != "comment":
        return content
    text = str(answer.value)
    if text.startswith("{"):
        return {**content, **parse(text)}
    wanted = list(schema.get("required", ())) or list(fields)
    if len(wanted) != 1:
        raise ValueError(f"the form has the fields {', '.join(fields)}: give a JSON object")
    kind = fields.get(wanted[0], {}).get("type", "string")
    if kind == "array" and not text.startswith("["):
        return {**content, wanted[0]: [part.strip() for part in text.split(",")]}
    return {**content, wanted[0]: text if kind == "string" else parse(text)}


def _misfits(schema: Mapping[str, Any], content: dict[str, Any]) -> list[dict[str, str]]:
    try:
        validator = compiled(schema, "elicitation")
    except SchemaError:
        return []  # the server's own form is not a schema; what it makes of the answer is its business
    return [] if validator.is_valid(content) else explain(schema, validator, content)
