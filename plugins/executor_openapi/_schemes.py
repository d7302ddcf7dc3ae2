"""The ways in which a description says that a request has to say who calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from executor_openapi._document import DocumentError

if TYPE_CHECKING:
    from executor_openapi._document import Document

SchemeKind: TypeAlias = Literal["bearer", "basic", "header", "query", "cookie", "oauth2"]


@dataclass(frozen=True, slots=True)
class Scheme:
    """
    One way.

    Attributes:
        name: Of the header, query parameter or cookie.
        token_url: Where client credentials are exchanged for a token; empty where that is not offered.
        scopes: What is then asked for.
    """

    kind: SchemeKind
    name: str = ""
    token_url: str = ""
    scopes: tuple[str, ...] = ()


def requirements(told: Any) -> tuple[tuple[str, ...], ...] | None:
    """The alternatives of a ``security`` list; None where there is none."""
    if not isinstance(told, list):
        return None
    return tuple(tuple(str(name) for name in one) for one in told if isinstance(one, Mapping))


def schemes_of(document: Document) -> dict[str, Scheme]:
    """The schemes that a request can be made with, by name; others are left out."""
    components = document.told.get("components")
    told = components.get("securitySchemes") if isinstance(components, Mapping) else None
    found = {}
    for name, value in told.items() if isinstance(told, Mapping) else ():
        try:
            scheme = _scheme(document.resolve(value))
        except DocumentError:
            continue
        if scheme is not None:
            found[str(name)] = scheme
    return found


def _scheme(told: Any) -> Scheme | None:
    if not isinstance(told, Mapping):
        return None
    kind = told.get("type")
    if kind == "apiKey" and told.get("in") in ("header", "query", "cookie") and isinstance(told.get("name"), str):
        return Scheme(told["in"], told["name"])
    if kind == "http":
        words = str(told.get("scheme", "")).lower()
        return Scheme("basic") if words == "basic" else Scheme("bearer") if words == "bearer" else None
    if kind == "openIdConnect":
        return Scheme("bearer")
    if kind == "oauth2":
        flows = told.get("flows")
        flow = flows.get("clientCredentials") if isinstance(flows, Mapping) else None
        if isinstance(flow, Mapping) and isinstance(flow.get("tokenUrl"), str):
            scopes = flow.get("scopes")
            return Scheme("oauth2", "", flow["tokenUrl"], tuple(scopes) if isinstance(scopes, Mapping) else ())
        return Scheme("bearer")
    return None
