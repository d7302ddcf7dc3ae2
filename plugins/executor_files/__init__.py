"""
Tools for files: readFile, writeFile, editFile, listFiles, searchFiles, deleteFile, undoFileChange.

Calls that change the same file run one after another, in their order; readers of it run side by side.

Configuration (``executor_configure``): ``root``, the only folder the tools may use, ``max_read_bytes``, how much one
readFile gives at most, and ``undo``, whether what a change replaces is kept for a while. It holds for the tools that
are registered after it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor import Shared, hookimpl, paths
from executor_files._common import DEFAULT_READ_BYTES, MAX_READ_BYTES, Options
from executor_files._read import read_file
from executor_files._search import LIST_LIMIT, SEARCH_LIMIT, list_files, search_files
from executor_files._write import delete_file, edit_file, write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import click

    from executor.hookspecs import RegisterTool

__all__ = ["FilesPlugin"]

# A tool that waits for a dead network drive is given up; those that write are not: their effect would be unknown.
_READ_SECONDS = 60.0
_SEARCH_SECONDS = 120.0

_READS = {"read_only": True, "destructive": False, "idempotent": True, "open_world": False}
_WRITES = {"read_only": False, "destructive": True, "idempotent": True, "open_world": False}
_EDITS = {"read_only": False, "destructive": True, "idempotent": False, "open_world": False}


class FilesPlugin:
    """Works on files. Holds its options."""

    def __init__(self) -> None:
        self._options = Options()

    @hookimpl
    def executor_configure(self, config: Mapping[str, Any]) -> None:
        """
        Take ``root``, ``max_read_bytes`` and ``undo``.

        Raises:
            ValueError: A key is unknown, or a value cannot be meant.
        """
        unknown = sorted(set(config) - {"root", "max_read_bytes", "undo"})
        if unknown:
            raise ValueError(f"executor_files: unknown key {unknown[0]!r}: use root, max_read_bytes and undo")
        most, undo = _read_bytes(config.get("max_read_bytes", DEFAULT_READ_BYTES)), config.get("undo", True)
        if not isinstance(undo, bool):
            raise ValueError(f"executor_files: undo is {undo!r}: give true or false")  # noqa: TRY004 -- as in _root
        self._options = Options(_root(config.get("root")), most, undo)

    @hookimpl
    def executor_register_tools(self, register: RegisterTool) -> None:
        """Register the tools with the options of now."""
        _register_all(register, self._options)

    @hookimpl
    def executor_register_commands(self, cli: click.Group) -> None:
        """``toolexec files``."""
        from executor_files._commands import group

        cli.add_command(group)


executor_plugin = FilesPlugin  # one for each registry


def _root(root: object) -> Path | None:
    if root is None:
        return None
    if not isinstance(root, str | Path):
        raise ValueError(f"executor_files: root is {root!r}: give the path of a folder")  # noqa: TRY004 -- one class for all that configuration gets wrong
    resolved = paths.resolve(str(root))
    if not resolved.is_dir():
        raise ValueError(f"executor_files: root {str(resolved)!r} is not a folder: make it first, or give another")
    return resolved


def _read_bytes(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_READ_BYTES:
        raise ValueError(f"executor_files: max_read_bytes is {value!r}: give a number from 1 to {MAX_READ_BYTES}")
    return value


def _register_all(register: RegisterTool, options: Options) -> None:
    where = "the working folder" if options.root is None else "the root folder"
    path = {
        "type": "string",
        "minLength": 1,
        "description": f"Absolute, or relative to {where}; ~ is the home folder.",
    }
    add = partial(_add, register, options)
    reads: dict[str, Any] = {"annotations": _READS, "timeout": _READ_SECONDS}
    reads["resources"] = lambda arguments: [Shared(f"file:{options.resolve(arguments.get('path', '.'))}")]
    writes: dict[str, Any] = {"annotations": _WRITES}
    writes["resources"] = lambda arguments: [f"file:{options.resolve(arguments['path'])}"]
    add("readFile", read_file, description=_READ_TEXT, schema=_read_schema(path, options), **reads)
    add("listFiles", list_files, description=_LIST_TEXT, schema=_list_schema(path), **reads)
    searches = reads | {"timeout": _SEARCH_SECONDS}
    add("searchFiles", search_files, description=_SEARCH_TEXT, schema=_search_schema(path), **searches)
    add("writeFile", write_file, description=_WRITE_TEXT, schema=_write_schema(path), **writes)
    add("editFile", edit_file, description=_EDIT_TEXT, schema=_edit_schema(path), **writes | {"annotations": _EDITS})
    writes["resources"] = lambda arguments: [f"file:{options.resolve_entry(arguments['path'])}"]
    add("deleteFile", delete_file, description=_DELETE_TEXT, schema=_schema({"path": path}, "path"), **writes)
    if options.undo:
        undoes = writes | {"annotations": _EDITS}
        add("undoFileChange", _take_back, description=_UNDO_TEXT, schema=_schema({"path": path}, "path"), **undoes)


def _take_back(options: Options, arguments: dict[str, Any]) -> dict[str, Any]:
    from executor_files._undo import undo_file_change  # with the database 4 ms

    return undo_file_change(options, arguments)


def _add(
    register: RegisterTool,
    options: Options,
    name: str,
    tool: Callable[[Options, dict[str, Any]], dict[str, Any]],
    **settings: Any,
) -> None:
    def run(args: dict[str, Any]) -> dict[str, Any]:
        return tool(options, args)

    folder = None if options.root is None else str(options.root)  # as `Options.resolve`, for who judges
    register(name, run, argument_kinds={"path": "path"}, folder=folder, **settings)


def _schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


_READ_TEXT = (
    "Read a UTF-8 text file, or a range of its lines. The content is given exactly, line ends included. If has_more is "
    "true, read on with start_line; total_lines is given once the end was reached. Images (PNG, JPEG, GIF, WebP) and "
    "PDFs are shown as they are. Other binary files are refused."
)


def _read_schema(path: dict[str, Any], options: Options) -> dict[str, Any]:
    return _schema(
        {
            "path": path,
            "start_line": {"type": "integer", "minimum": 1, "default": 1, "description": "The first line, from 1."},
            "end_line": {
                "type": ["integer", "null"],
                "minimum": 1,
                "default": None,
                "description": "The last line, which is included; null reads on to the end, or to max_bytes.",
            },
            "max_bytes": {
                "type": "integer",
                "minimum": 1,
                "maximum": options.max_read_bytes,
                "default": options.max_read_bytes,
                "description": "Stop before the line that would make it more bytes than this.",
            },
        },
        "path",
    )


_WRITE_TEXT = (
    "Create a text file, or replace the whole content of one. To change a part of a file use editFile. The change is "
    "made at once or not at all; an existing file keeps its permissions; if path is a symbolic link, the file it leads "
    "to is written. Gives a diff when it replaced a text file."
)


def _write_schema(path: dict[str, Any]) -> dict[str, Any]:
    return _schema(
        {
            "path": path,
            "content": {"type": "string", "description": "The whole content, written exactly as UTF-8."},
            "create_parents": {
                "type": "boolean",
                "default": False,
                "description": "Make the folders of path that do not exist.",
            },
        },
        "path",
        "content",
    )


_EDIT_TEXT = (
    "Replace a piece of a text file by another. old_text must be the file's text exactly, blanks and line ends "
    "included, and long enough to occur only at the place that is meant. If the file's line ends are CRLF, LF in "
    "old_text and new_text is taken for CRLF. Gives a diff."
)


def _edit_schema(path: dict[str, Any]) -> dict[str, Any]:
    return _schema(
        {
            "path": path,
            "old_text": {"type": "string", "minLength": 1, "description": "The text to replace, exactly."},
            "new_text": {"type": "string", "description": "What to put in its place; empty deletes it."},
            "expected_replacements": {
                "type": "integer",
                "minimum": 1,
                "default": 1,
                "description": "How often old_text occurs; all are replaced, or nothing if the number differs.",
            },
        },
        "path",
        "old_text",
        "new_text",
    )


_LIST_TEXT = (
    "List a folder: name, type, size in bytes and time of change (UTC) of each entry, in order of name. Symbolic links "
    "are listed and not followed. truncated says whether there is more. What the permission policy keeps from readFile "
    "is left out."
)
_GLOB = "* and ? match within a name, [a-z] and {a,b} are understood, ** matches any number of folders"


def _list_schema(path: dict[str, Any]) -> dict[str, Any]:
    return _schema(
        {
            "path": path | {"default": ".", "description": "The folder. " + path["description"]},
            "pattern": {
                "type": ["string", "null"],
                "minLength": 1,
                "default": None,
                "description": f"Only entries whose name matches this glob: {_GLOB}. A pattern with a / is matched "
                "against the path below the folder, and looks into the folders below.",
            },
            "recursive": {"type": "boolean", "default": False, "description": "List the folders below as well."},
            "include_hidden": {
                "type": "boolean",
                "default": False,
                "description": "List entries whose name begins with a dot as well.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 10_000,
                "default": LIST_LIMIT,
                "description": "How many entries to give at most.",
            },
        }
    )


_SEARCH_TEXT = (
    "Find the lines that match a regular expression, in all text files below a folder or in one file. Hidden files are "
    "searched too; .git, what .gitignore leaves out, symbolic links, binary files and files over 10 MiB are not "
    "(skipped counts them), and what the permission policy keeps from readFile is not told of. Only the first 2000 "
    "characters of a line are looked at."
)


def _search_schema(path: dict[str, Any]) -> dict[str, Any]:
    return _schema(
        {
            "path": path | {"default": ".", "description": "The folder, or one file. " + path["description"]},
            "pattern": {
                "type": "string",
                "minLength": 1,
                "maxLength": 1000,
                "description": "A regular expression of Python, matched line by line; put a backslash before ( . [ and "
                "the like if they are meant as they are. Avoid repeats inside repeats, as in (a+)+: a file that takes "
                "longer than 20 seconds ends the search.",
            },
            "glob": {
                "type": ["string", "null"],
                "minLength": 1,
                "default": None,
                "description": f"Only files whose name matches this glob: {_GLOB}. With a / it is matched against the "
                "path below the folder.",
            },
            "include_ignored": {
                "type": "boolean",
                "default": False,
                "description": "Search what .gitignore leaves out as well.",
            },
            "ignore_case": {"type": "boolean", "default": False, "description": "Take a and A for the same."},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 2000,
                "default": SEARCH_LIMIT,
                "description": "How many lines to give at most.",
            },
            "context_lines": {
                "type": "integer",
                "minimum": 0,
                "maximum": 20,
                "default": 0,
                "description": "How many lines before and after each to give as well.",
            },
        },
        "pattern",
    )


_DELETE_TEXT = (
    "Delete a file, a symbolic link (the link, not what it leads to) or an empty folder, for good. A folder with "
    "content is not deleted: delete what is in it first."
)

_UNDO_TEXT = (
    "Take back the last change that writeFile, editFile or deleteFile made to a file, in this session or another one "
    "of the last 14 days; called again, the one before that. It is refused when somebody else has changed the file "
    "since. Gives a diff."
)
