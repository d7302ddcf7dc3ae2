"""A tool: what a model is told about it, where it runs, and what the engine needs of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from executor.values._frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from executor.values._profile import ProfileName
    from executor.values._retry import RetryConfig

    Schema: TypeAlias = Mapping[str, Any] | bool
    Schemas: TypeAlias = Callable[[], tuple[Schema | None, Schema | None]]

ArgumentKind: TypeAlias = Literal["shell", "argv", "path", "url"]


class BackendKind(StrEnum):
    """Where a tool runs."""

    LOCAL = "local"
    PROVIDER = "provider"
    MCP = "mcp"


LOCAL = BackendKind.LOCAL  # every call asks for it, and to find it in its class takes 0.1 µs


@dataclass(frozen=True, slots=True)
class ToolBackend:
    """
    One place where a tool can run; made by `local`, `mcp` or `provider`.

    Attributes:
        kind: Which of the three; says which of the other fields are set.
    """

    kind: BackendKind
    name: str | None = None
    server_name: str | None = None
    tool_name: str | None = None
    provider_id: str | None = None
    tool_id: str | None = None

    @classmethod
    def local(cls, name: str) -> ToolBackend:
        """A function of this process, by the name its registry knows."""
        return cls(BackendKind.LOCAL, name=name)

    @classmethod
    def mcp(cls, server_name: str, tool_name: str | None = None) -> ToolBackend:
        """A tool of an MCP server; without *tool_name* the tool's bare name is used."""
        return cls(BackendKind.MCP, server_name=server_name, tool_name=tool_name)

    @classmethod
    def provider(cls, provider_id: str, tool_id: str) -> ToolBackend:
        """A tool of a registered provider."""
        return cls(BackendKind.PROVIDER, provider_id=provider_id, tool_id=tool_id)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: ``{"kind": "mcp", "mcp": {"serverName": …}}``."""
        parts = {wire: getattr(self, name) for wire, name in _BACKEND_KEYS.get(self.kind, {}).items()}
        details = {wire: value for wire, value in parts.items() if value is not None}
        return {"kind": str(self.kind), str(self.kind): details} if details else {"kind": str(self.kind)}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> ToolBackend:
        """
        The backend that `to_dict` described.

        Raises:
            ValueError: The kind is unknown, or a part has another name.
        """
        kind = BackendKind(str(value.get("kind")))
        names, details = _BACKEND_KEYS[kind], value.get(kind, {})
        unknown = sorted(set(details) - set(names))
        if unknown:
            raise ValueError(f"unknown key {unknown[0]!r} in a backend of kind {kind}: use {', '.join(names)}")
        return cls(kind, **{names[wire]: part for wire, part in details.items()})


_BACKEND_KEYS = {
    BackendKind.LOCAL: {"name": "name"},
    BackendKind.MCP: {"serverName": "server_name", "toolName": "tool_name"},
    BackendKind.PROVIDER: {"providerId": "provider_id", "toolId": "tool_id"},
}


@dataclass(frozen=True, slots=True)
class ToolAnnotations:
    """
    MCP's four hints about a tool; None means that nobody said.

    Attributes:
        read_only: It changes nothing.
        destructive: What it changes may be lost.
        idempotent: A second call with the same arguments changes nothing more.
        open_world: It reaches things outside this machine.
    """

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    @classmethod
    def of(cls, value: ToolAnnotations | Mapping[str, Any] | None) -> ToolAnnotations | None:
        """
        The annotations, from themselves or from a mapping.

        Raises:
            ValueError: It is neither, a key is not one of the four hints (MCP's spelling ``readOnlyHint`` is
                understood), or a hint is not true, false or None.
        """
        if value is None or isinstance(value, ToolAnnotations):
            return value
        if not isinstance(value, Mapping):
            told = "give ToolAnnotations, or a mapping such as {'read_only': True}"
            raise ValueError(f"annotations is {value!r}: {told}")  # noqa: TRY004 -- as other options of tools
        known = {f.name: f.name for f in fields(cls)} | _MCP_HINTS
        for key, hint in value.items():
            if key not in known:
                raise ValueError(f"unknown annotation {key!r}: use {', '.join(f.name for f in fields(cls))}")
            if not isinstance(hint, bool | None):
                told = "not true or false, or None for what nobody knows"
                raise ValueError(f"the annotation {key} is {hint!r}, {told}")  # noqa: TRY004 -- as above
        return cls(**{known[key]: hint for key, hint in value.items()})

    def to_dict(self) -> dict[str, bool]:
        """The hints that somebody gave, in MCP's spelling."""
        return {wire: getattr(self, name) for wire, name in _MCP_HINTS.items() if getattr(self, name) is not None}


_MCP_HINTS = {
    "readOnlyHint": "read_only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open_world",
}


_SCHEMAS = ("input_schema", "output_schema")


class _LateSchemas:
    """Its two schemas are read when one of them is first looked at, where it has a function `schemas` that does so."""

    __slots__ = ()

    def __post_init__(self) -> None:
        if getattr(self, "schemas") is None:  # noqa: B009 -- a field of the dataclasses
            return
        if any(getattr(self, name) is not None for name in _SCHEMAS):
            object.__setattr__(self, "schemas", None)  # what is given stands, as in a copy with another schema
            return
        for name in _SCHEMAS:
            object.__delattr__(self, name)

    if not TYPE_CHECKING:  # to a checker they are fields, and other names are mistakes

        def __getattr__(self, name: str) -> Any:
            read = self.schemas if name in _SCHEMAS else None
            if read is not None:
                for key, schema in zip(_SCHEMAS, read(), strict=True):
                    object.__setattr__(self, key, schema)
                object.__setattr__(self, "schemas", None)  # last: whoever sees it finds the schemas
            return object.__getattribute__(self, name)


@dataclass(frozen=True, slots=True)
class ToolDefinition(_LateSchemas):
    """
    What a model is told about a tool.

    Attributes:
        name: The id by which it is called.
        schemas: As of a `Tool`.
    """

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] | bool | None = None
    output_schema: Mapping[str, Any] | bool | None = None
    title: str | None = None
    annotations: ToolAnnotations | None = None
    schemas: Schemas | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Tool(_LateSchemas):
    """
    A tool: what is told about it, and for local tools the function behind it.

    Schemas are kept by reference and compiled once: do not change one that is registered.

    Attributes:
        name: The bare name; with `namespace` and `version` it makes the `id`.
        argument_kinds: What an argument means to the permission plugin: ``{"command": "shell"}``.
        folder: Where relative paths of its arguments start; None for this process's working folder.
        fn: The function of a local tool; None for a tool that lives elsewhere.
        auto_background: Seconds after which a call of it goes to the background; None never.
        timeout: Seconds after which a call of it is given up; None never.
        retry: Whether, how often and after how long a failed call of it is tried again; None never.
        isolation: ``process``: each call in a process of its own, which a stop kills; the function is found by name.
        confine: The profile of the box that such a process runs in; None for no box of the tool's own.
        resources: From the arguments to the names of what a call needs for itself (`Shared` ones: together with other
            readers); calls with a common name run one after another.
        max_concurrent: How many calls of it run at once, at most; None any number.
        rate: How often it may be called, ``20/min``; None any time.
        schemas: Gives the input schema and the output schema, in place of these two, when one of them is first looked
            at; None afterwards. Of hundreds of tools few are called. That they are valid is its word: they are not
            looked at when the tool is registered.
    """

    name: str
    input_schema: Mapping[str, Any] | bool | None = None
    output_schema: Mapping[str, Any] | bool | None = None
    namespace: str | None = None
    version: str | None = None
    description: str = ""
    title: str | None = None
    annotations: ToolAnnotations | None = None
    argument_kinds: Mapping[str, ArgumentKind] | None = None
    tags: tuple[str, ...] = ()
    fn: Callable[..., Any] | None = field(default=None, compare=False)
    auto_background: float | None = None
    timeout: float | None = None
    retry: RetryConfig | None = field(default=None, compare=False)
    isolation: Literal["thread", "process"] = "thread"
    confine: ProfileName | None = None
    resources: Callable[[Mapping[str, Any]], Iterable[Any]] | None = field(default=None, compare=False)
    max_concurrent: int | None = None
    rate: str | None = None
    schemas: Schemas | None = field(default=None, compare=False, repr=False)
    folder: str | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, as if it had never been decorated: no executor, no gate."""
        if self.fn is None:
            raise TypeError(f"the tool {self.id!r} has no function of its own: call it through an executor")
        return self.fn(*args, **kwargs)

    @property
    def id(self) -> str:
        if self.namespace is None:
            return self.name
        return f"{self.namespace}:{self.name}" + ("" if self.version is None else f":{self.version}")

    def portable(self) -> Tool:
        """This tool without what cannot cross to another process: its functions and its retries."""
        return replace(self, fn=None, retry=None, resources=None)

    @property
    def repeatable(self) -> bool:
        """Whether a second call of it does no more than the first."""
        hints = self.annotations
        return hints is not None and (hints.idempotent is True or hints.read_only is True)

    @property
    def definition(self) -> ToolDefinition:
        """What a model is told about this tool."""
        if self.schemas is not None:
            return ToolDefinition(
                self.id, self.description, title=self.title, annotations=self.annotations, schemas=self._both
            )
        return ToolDefinition(
            self.id, self.description, self.input_schema, self.output_schema, self.title, self.annotations
        )

    def _both(self) -> tuple[Schema | None, Schema | None]:
        return self.input_schema, self.output_schema

    @property
    def definition_hash(self) -> str:
        """SHA-256, in hex, of everything a model is told: it changes when the tool's meaning may have."""
        import hashlib  # 4 ms, wanted by grants and MCP only
        import json

        hints = self.annotations.to_dict() if self.annotations else None
        told = [self.id, self.description, self.title, self.input_schema, self.output_schema, hints]
        return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()
