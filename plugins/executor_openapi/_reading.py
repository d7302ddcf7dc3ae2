"""Where descriptions come from: files, URLs, and what is kept on disk of those that were read before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from executor.errors import BackendUnavailableError, ExecutorUnavailableError, SchemaError
from executor.httpclient import http_client
from executor.threads import LoopThread
from executor.tools import check_schema
from executor_openapi._document import DocumentError, parse
from executor_openapi._kept import Kept, Made
from executor_openapi._operations import Operation, operations
from executor_openapi._schemes import schemes_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executor_openapi._document import Document
    from executor_openapi._kept import Described
    from executor_openapi._settings import Api

MAX_DOCUMENT = 64 * 1024 * 1024  # bytes; the largest that are published have about 35 MB
FETCH_SECONDS = 30.0  # for a description that is a URL, all of it


def described(api: Api, folder: Path | None) -> Described:
    """
    What a service offers: read anew only where the description has changed since it was read last.

    Args:
        folder: Where what was read is kept; None: nowhere.

    Raises:
        DocumentError: The description cannot be read or fetched, or is none.
    """
    kept = Kept(api, folder)
    if "://" not in api.document:
        return _of_file(api, kept)
    if kept.found is not None and kept.age < api.refresh:
        return kept.found
    try:
        fetched = _fetch(api.document, kept.tags if kept.found is not None else {})
    except DocumentError as error:
        if kept.found is None:
            raise
        told = {**kept.found.problems, "the description": f"{error}; the one that was fetched before is used"}
        return replace(kept.found, problems=told)
    if fetched is None:
        assert kept.found is not None, "only then it was asked whether it has changed"
        kept.touch()
        return kept.found
    body, tags = fetched
    return _read(api, parse(body, shown(api.document)), kept, {"tags": tags})


def _of_file(api: Api, kept: Kept) -> Described:
    path = Path(api.document).expanduser()
    try:
        status = path.stat()
        if kept.found is not None and kept.stamp.get("file") == [status.st_mtime_ns, status.st_size]:
            return kept.found
        document = parse(path.read_bytes(), str(path))
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror or error}") from error
    return _read(api, document, kept, {"file": [status.st_mtime_ns, status.st_size]})


def _read(api: Api, document: Document, kept: Kept, stamp: Mapping[str, object]) -> Described:
    """What a description offers; it is kept for the next time, and used in that form now."""
    wanted: dict[str, Operation] = {}
    problems: dict[str, str] = {}
    for found in operations(document, api):
        problem = _problem(found) if isinstance(found, Operation) else found[1]
        if isinstance(found, Operation) and problem is None:
            wanted[found.id] = found
        else:
            problems[found.id if isinstance(found, Operation) else found[0]] = str(problem)
    for name in api.include:
        if not any(character in name for character in "*?[") and name not in wanted:
            problems.setdefault(name, "the description has no operation of this id")
    made = Made(document.first_server(), list(wanted.values()), problems, schemes_of(document))
    return kept.write(made, stamp)


def _problem(operation: Operation) -> str | None:
    """What is wrong with its schemas, which are looked at here and never again."""
    try:
        check_schema(operation.input_schema, operation.id)
        if operation.output_schema is not None:
            check_schema(operation.output_schema, operation.id, what="output")
    except SchemaError as error:
        return error.message
    return None


def where(api: Api, found: Described) -> str:
    """
    Where the service is.

    Raises:
        DocumentError: The description does not say, or says another place than its own.
    """
    if api.server is not None:
        return api.server
    told = found.server
    if "://" in api.document:
        # What was fetched may not send us elsewhere.
        there = _joined(api.document, told or "/")
        if urlsplit(there)[:2] != urlsplit(api.document)[:2]:
            raise DocumentError(f"it says that the service is at {there}: configure that as `server` if it is meant")
        return there
    if told is None or "://" not in told:
        raise DocumentError(f"{api.document} does not say where the service is: configure its `server`")
    return _joined(told, "")


def where_of(api: Api, server: str, operation: Operation) -> str:
    """Where one operation is; see `_own_place`."""
    if operation.server is None or api.server is not None:
        return server
    return _own_place(api, server, operation.server, "this operation is", "`server`")


def where_tokens_are(api: Api, server: str, told: str) -> str:
    """Where client credentials are exchanged for a token, as a scheme of the description says; see `_own_place`."""
    return _own_place(api, server, told, "tokens are given", "`token_url`")


def _own_place(api: Api, server: str, told: str, what: str, setting: str) -> str:
    """
    A place that the description names beside the service's; one elsewhere counts only where the description, a file,
    may say where calls and secrets go.

    Raises:
        DocumentError: It may not.
    """
    there = _joined(f"{server.rstrip('/')}/", told)
    same = urlsplit(there)[:2] == urlsplit(server)[:2]
    if same or ("://" not in api.document and urlsplit(there).scheme == "https"):
        return there
    raise DocumentError(f"it says that {what} at {there}: configure that as {setting} if it is meant")


def _joined(base: str, told: str) -> str:
    """Where a description says that something is. Raises DocumentError: nothing can be there."""
    try:
        there = urljoin(base, told)
        parts = urlsplit(there)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or set("{}@\\") & set(parts.netloc):  # a variable without a value, a password, a trick
        raise DocumentError("where it says that the service is no request can go: configure its `server`")
    return there


def _fetch(url: str, tags: Mapping[str, str]) -> tuple[bytes, dict[str, str]] | None:
    """The description at a URL, and what tells whether it changed; None where *tags* say that it did not."""
    import httpx2

    loop = LoopThread("executor-openapi-fetch")  # the time-outs of a client without one are of each read
    try:
        return loop.run(_fetched(url, tags))
    except TimeoutError as error:
        raise DocumentError(f"{shown(url)} has not come within {FETCH_SECONDS:g} s") from error
    except (httpx2.HTTPError, BackendUnavailableError, ExecutorUnavailableError) as error:
        raise DocumentError(f"{shown(url)} cannot be fetched: {error or type(error).__name__}") from error
    finally:
        loop.close()


async def _fetched(url: str, tags: Mapping[str, str]) -> tuple[bytes, dict[str, str]] | None:
    import asyncio

    import httpx2

    found = bytearray()
    async with (
        asyncio.timeout(FETCH_SECONDS),
        http_client(httpx2.AsyncClient, timeout=None, follow_redirects=False) as client,
        client.stream("GET", url, headers=dict(tags)) as response,
    ):
        if response.status_code == 304 and tags:
            return None
        if response.status_code != 200:
            raise DocumentError(f"{shown(url)} answered with HTTP {response.status_code}")
        async for chunk in response.aiter_bytes():
            found += chunk
            if len(found) > MAX_DOCUMENT:
                raise DocumentError(f"{shown(url)} has more than {MAX_DOCUMENT} bytes")
    named = {"If-None-Match": response.headers.get("etag"), "If-Modified-Since": response.headers.get("last-modified")}
    return bytes(found), {name: value for name, value in named.items() if value}


def shown(url: str) -> str:
    """A URL as it may be shown: without query and fragment."""
    return urlsplit(url)._replace(query="", fragment="").geturl()
