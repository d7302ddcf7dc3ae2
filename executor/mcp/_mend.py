"""What servers write that is no valid MCP, and can still be understood: it costs a word, not the tool or the answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import mcp.types as t
from mcp.types.methods import validate_server_result
from pydantic import TypeAdapter, ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_DEPTH = 60  # no schema that people write is nested so deeply
DEEPEST = 180  # levels of JSON; pydantic writes no more than 255, and each message has some around this
_MODERN, _BEFORE = "2026-07-28", "2025-11-25"
_PLAIN = ({"type", "text"}, {"type", "data", "mimeType"})  # blocks that need no closer look
_VALUES = frozenset({"default", "const", "examples", "example"})  # may be null
_SCHEMAS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_OPTIONAL = ("outputSchema", "annotations", "icons", "execution", "_meta", "title", "description")
_block: TypeAdapter[Any] = TypeAdapter(t.ContentBlock)


def mended_tool(tool: Any, rest: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """
    A tool of a list as valid MCP, or None; and why it is not, or what was left out of it.

    Args:
        rest: The answer around it.
    """
    if not isinstance(tool, dict):
        return None, f"it is {type(tool).__name__}, not an object"
    deep = [key for key, value in tool.items() if is_too_deep(value)]
    if not set(deep) <= set(_OPTIONAL):
        return None, f"its {deep[0]} is nested deeper than {DEEPEST} levels"
    if deep:
        kept, said = mended_tool({key: value for key, value in tool.items() if key not in deep}, rest)
        return kept, said or f"its {deep[0]} is left out: it is nested deeper than {DEEPEST} levels"
    version = _MODERN if "resultType" in rest or "ttlMs" in rest else _BEFORE
    mended = {**tool, "inputSchema": _input_schema(tool.get("inputSchema"))}
    if isinstance(tool.get("outputSchema"), dict):
        mended["outputSchema"] = without_nulls(tool["outputSchema"])
    problem = _problem(mended, rest, version)
    if problem is None:
        return mended, ""
    first = problem
    for key in _OPTIONAL:
        if key in mended:
            kept = {name: value for name, value in mended.items() if name != key}
            if _problem(kept, rest, version) is None:
                return kept, f"its {key} is left out: {first}"
    bare = {key: value for key, value in mended.items() if key not in _OPTIONAL}
    if _problem(bare, rest, version) is None:
        return bare, f"all but its name and arguments is left out: {first}"
    return None, first


def is_too_deep(value: Any) -> bool:
    """Whether it is nested deeper than what the SDK reads and writes."""
    level = [value]
    for _ in range(DEEPEST):
        held = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [inner for each in held for inner in each]
        if not level:
            return False
    return True


def _problem(tool: Mapping[str, Any], rest: Mapping[str, Any], version: str) -> str | None:
    try:
        validate_server_result("tools/list", version, {**rest, "tools": [tool]})
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)[0]
        if found["loc"][:1] != ("tools",):
            return None  # it is the answer around it that is wrong
        return f"{'.'.join(str(part) for part in found['loc'][2:])}: {found['msg']}"
    return None


def _input_schema(schema: Any) -> Any:
    if schema is None or schema is True:
        return {"type": "object"}
    if not isinstance(schema, dict):
        return schema
    mended = without_nulls(schema)
    kind = mended.get("type")
    if kind is None or (isinstance(kind, list) and "object" in kind):
        mended = {"type": "object", **{key: value for key, value in mended.items() if key != "type"}}
    return mended


def without_nulls(schema: Any, depth: int = 0) -> Any:
    """A schema without the keywords that are null, as serialisers of other languages write what is not set."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return schema
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if value is None and key not in _VALUES:
            continue
        if key in _SCHEMAS and isinstance(value, dict):
            made[key] = {name: {} if item is None else without_nulls(item, depth + 1) for name, item in value.items()}
        elif key in _VALUES or key == "enum":
            made[key] = value
        elif isinstance(value, list):
            made[key] = [without_nulls(item, depth + 1) for item in value]
        elif key == "required" and isinstance(value, bool):
            continue  # a mark of a single property, before JSON Schema's draft 4
        else:
            made[key] = without_nulls(value, depth + 1)
    return made


def mend_answer(result: dict[str, Any], warnings: list[str]) -> None:
    """Make the answer to a call valid MCP, in place; what had to be done is said in *warnings*."""
    if result.get("resultType", "complete") != "complete":
        return
    if result.get("isError", False) is None:
        del result["isError"]
    if not isinstance(result.get("_meta", {}), dict):
        warnings.append('the "_meta" of the answer is no object; it is left out')
        del result["_meta"]
    content = result.get("content")
    if not isinstance(content, list):
        if "structuredContent" not in result and "content" not in result:
            return  # nothing of an answer
        warnings.append('the answer has no list "content"')
        result["content"] = [] if content is None else [{"type": "text", "text": _text(content)}]
        content = result["content"]
    for index, block in enumerate(content):
        problem = _block_problem(block)
        if problem is not None:
            warnings.append(f"block {index} of the answer is no block of MCP ({problem}); it is given as text")
            content[index] = {"type": "text", "text": _text(block)}
    _mend_structured(result, content, warnings)


def _mend_structured(result: dict[str, Any], content: list[Any], warnings: list[str]) -> None:
    structured = result.get("structuredContent")
    if is_too_deep(structured):
        problem = f"nested deeper than {DEEPEST} levels"
    elif "resultType" not in result and "structuredContent" in result and not isinstance(structured, dict):
        problem = "no object"
    else:
        return
    del result["structuredContent"]
    if structured is not None:
        warnings.append(f"the structured content of the answer is {problem}; it is given as text")
        if not content:
            content.append({"type": "text", "text": _text(structured)})


def _block_problem(block: Any) -> str | None:
    if not isinstance(block, dict):
        return f"it is {type(block).__name__}"
    if block.keys() in _PLAIN and all(isinstance(value, str) for value in block.values()):
        known = {"text"} if "text" in block else {"image", "audio"}
        if block["type"] in known:
            return None
    if is_too_deep(block):
        return f"it is nested deeper than {DEEPEST} levels"
    try:
        _block.validate_python(block, by_name=False)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)[0]
        return f"its type is {block.get('type')!r}: {found['msg']}"
    return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
