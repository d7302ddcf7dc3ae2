"""
Rules about URLs, and the readings that clients may have of one.

Two libraries read every URL. `pydantic_core.Url` is a parser of the WHATWG standard, which browsers, Node and Rust
follow: for them ``https:evil.example``, a backslash in place of a slash and ``http://0x7f.1`` lead somewhere.
`urllib.parse` reads by RFC 3986, as Python's own clients do. A rule may allow what is plainly one host for all of them;
for denying, each of the readings counts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from executor_permissions.judge.paths import _lexical
from executor_permissions.judge.paths._globs import STAR, TreeWildcard, Wildcard, literal

if TYPE_CHECKING:
    from executor_permissions.judge.rules._fitting import Match

MAX_URL = 8192  # longer ones are refused by most servers and proxies; no rule allows one
_AUTHORITY = re.compile(
    r"([a-z][a-z0-9+.-]*)://([a-z0-9._-]+|\[[0-9a-f:]+\])(?::([1-9][0-9]{0,4}))?(?=[/?#]|\Z)", re.IGNORECASE
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_DROPPED = {ord(character): None for character in "\t\r\n"}  # what WHATWG parsers leave out wherever it stands
FETCHING = frozenset({"curl", "wget", "wget2", "http", "https", "xh", "aria2c"})
# They are given hosts, with names of users, ports and more around them; a number is one in another form.
_CONNECTING = frozenset(
    "nc ncat netcat socat telnet ssh scp sftp ftp lftp rsync ping ping6 traceroute tracepath mtr nmap dig host nslookup"  # noqa: SIM905 -- a line of words
    " openssl psql mysql mariadb redis-cli mongosh".split()
)
_OPENS = {**dict.fromkeys(FETCHING, True), **dict.fromkeys(_CONNECTING, False)}
_LETTERS = re.compile(r"-[A-Za-z]+(?=[0-9\[])|")  # options in front of a value
_NUMERIC = re.compile(
    r"(?<![\w.%-])(?:0x[0-9a-f]+|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+)){0,3}(?![\w.-])"
    r"|\[[0-9a-f:.]*:[0-9a-f:.]*\]|(?:(?<![\w.:])|(?<=[0-9]:))[0-9a-f]*:[0-9a-f:]*:[0-9a-f:.]*(?![\w.])",
    re.IGNORECASE,
)
_SHORT = 6  # digits of a number that is no address: a port
_BLANK = re.compile(r"[\s\\]")
_FURTHER = re.compile(r"[,;|][A-Za-z][A-Za-z0-9+.-]*://")  # in a list, as some tools take one
END_OF_HOST = re.compile(r"[/?#]")
_PORT = re.compile(r":[0-9]+\Z")
_PORTS = {"http": 80, "https": 443, "ftp": 21, "ws": 80, "wss": 443}


class Parsed(NamedTuple):
    """One reading of a URL: its scheme, host with port, and what follows, in their normal form."""

    scheme: str
    host: str
    rest: str

    @property
    def text(self) -> str:
        return f"{self.scheme}://{self.host}{self.rest}"


def spelled_out(words: list[str]) -> list[str] | None:
    """
    *words* with the addresses among them as a server is asked for them, or None if they are written so.

    ``EVIL.com``, ``ev%69l.com``, ``x@evil.com`` are one host; ``0x7f000001`` and ``[::ffff:7f00:1]`` are 127.0.0.1.
    What fetches takes a word without a scheme for an address too.
    """
    fetches = _OPENS.get(words[0].rpartition("/")[2])
    if fetches is None and "://" not in " ".join(words):
        return None
    found = [words[0], *(_spelled_out(word, fetches) for word in words[1:])]
    return found if found != words else None


def with_unknown_addresses(words: list[str]) -> list[str] | None:
    """*words* with what may be any address as an unknown word: of a program that reads some in its own way."""
    if words[0].rpartition("/")[2] not in FETCHING:
        return None
    from executor_permissions.judge.rules import _fetching

    return _fetching.with_unknown_addresses(words)


def _spelled_out(word: str, fetches: bool | None) -> str:  # noqa: FBT001 -- as the loop above has it
    if type(word) is not str:
        return word
    name, equals, value = word.partition("=") if word[:1] == "-" else ("", "", word)
    scheme = "" if "://" in value else "http://"
    if not scheme or (fetches and value and value[:1] != "-"):
        parsed = whatwg(scheme + value)
        if parsed is not None:
            host = (_as_ipv4(parsed) or parsed).host
            rest = "" if parsed.rest == "/" and value[-1:] != "/" else parsed.rest
            return f"{name}{equals}" + (f"{parsed.scheme}://" if not scheme else "") + host + rest
    return word if fetches is None else _with_plain_numbers(word)


def _with_plain_numbers(word: str) -> str:
    """*word* with each address that is written in numbers as four decimals: ``a:80:0x7f.1`` as ``a:80:127.0.0.1``."""
    letters = _LETTERS.match(word)
    at = letters.end() if letters is not None else 0
    return word[:at] + _NUMERIC.sub(lambda found: _plain_number(found[0]), word[at:])


def _plain_number(text: str) -> str:
    if text.isdigit() and len(text) < _SHORT:
        return text
    parsed = whatwg(f"http://[{text}]" if ":" in text and text[0] != "[" else f"http://{text}")
    if parsed is not None:
        return (_as_ipv4(parsed) or parsed).host
    # "a:80:::ffff:7f00:1" of "curl --resolve": a host, a port and an address.
    parts = text.split(":", 2) if text[0] != "[" else ()
    return f"{parts[0]}:{parts[1]}:{_plain_number(parts[2])}" if len(parts) > 2 and parts[0] and parts[2] else text


@lru_cache(maxsize=256)
def whatwg(text: str) -> Parsed | None:
    """*text* as WHATWG clients read it, without user and default port; None if they refuse it or it has no host."""
    from pydantic_core import Url, ValidationError

    try:
        url = Url(text)
    except ValidationError:
        return None
    host = (url.host or "").rstrip(".")
    if not host:
        return None
    rest = url.path or "/"
    rest += f"?{url.query}" if url.query is not None else ""
    rest += f"#{url.fragment}" if url.fragment is not None else ""
    return Parsed(url.scheme, _with_port(host, url.port, url.scheme), rest)


def _generic(text: str) -> Parsed | None:
    """*text* by RFC 3986: what is before the last ``@`` is the user."""
    try:
        parts = urlsplit(text)
        host, port = (unquote(parts.hostname or "")).rstrip("."), parts.port
    except ValueError:
        return None
    if not parts.scheme or not host:
        return None
    rest = parts.path or "/"
    rest += f"?{parts.query}" if parts.query else ""
    rest += f"#{parts.fragment}" if parts.fragment else ""
    return Parsed(parts.scheme, _with_port(f"[{host}]" if ":" in host else host, port, parts.scheme), rest)


def _with_port(host: str, port: int | None, scheme: str) -> str:
    return host if port is None or port == _PORTS.get(scheme) else f"{host}:{port}"


def plain(text: str) -> Parsed | None:
    """
    What *text* leads to, if nobody can read it in another way; None if somebody may.

    Not plain are: what does not parse, backslashes, blanks, a user, a host that has to be decoded, is not ASCII, ends
    in a dot or is a number in another form than four decimals, an IPv6 address that stands for an IPv4 one, ports out
    of range or with leading zeros, a path with ``..`` in any spelling, and a list, as some tools take it: a further
    address behind a ``,``, ``;`` or ``|``.
    """
    if _FURTHER.search(text):
        return None
    if len(text) > MAX_URL or _lexical.has_hidden_characters(text) or _BLANK.search(text):
        return None
    written = _AUTHORITY.match(text)
    read = whatwg(text)
    if written is None or read is None or written[2].endswith("."):
        return None
    host = _with_port(written[2].lower(), int(written[3]) if written[3] else None, written[1].lower())
    if (written[1].lower(), host) != (read.scheme, read.host) or _ipv4_in(written[2]) is not None:
        return None
    return None if _climbs(text[written.end() :]) else read


def _ipv4_in(host: str) -> str | None:
    """The IPv4 address that an IPv6 address in brackets stands for; None if it stands for none."""
    try:
        address = IPv6Address(host[1:-1])
    except ValueError:
        return None
    # The first 96 bits zero: "IPv4-compatible"; 64:ff9b::/96: NAT64.
    if int(address) >> 32 in (0, 0x64FF9B << 64) and int(address) > 1:
        return str(IPv4Address(int(address) & 0xFFFFFFFF))
    found = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
    return str(found) if found is not None else None


def _climbs(rest: str) -> bool:
    """Whether the path has ``.`` or ``..`` as a folder, at once or when it is decoded again."""
    path = re.split(r"[?#]", rest, maxsplit=1)[0]
    for _ in range(3):
        if any(part in (".", "..") for part in path.replace("\\", "/").split("/")):
            return True
        if "%" not in path:
            return False
        path = unquote(path)
    return False


class Spellings(NamedTuple):
    """All that an address may mean: with schemes, also without, and whether its host is plainly written."""

    texts: frozenset[str]
    bare: frozenset[str]
    is_plain: bool


def spellings_of(value: str) -> Spellings:
    """All that *value* may mean. What is `plain` needs a tenth of the time."""
    read, written = plain(value), _AUTHORITY.match(value)
    if read is not None and written is not None:
        rests = {read.rest, unquote(read.rest), rest := value[written.end() :] or "/", unquote(rest)}
        found = [read._replace(rest=rest) for rest in rests]
    else:
        found = readings(value)
    # A rule that names no port is about all of them.
    found = [*found, *(one._replace(host=host) for one in found if (host := _PORT.sub("", one.host)) != one.host)]
    texts = {value.strip().casefold(), *(one.text.casefold() for one in found)}
    bare = {*texts, *((one.host + one.rest).casefold() for one in found)}
    return Spellings(frozenset(texts), frozenset(bare), read is not None or _host_is_plain(value))


def readings(text: str) -> list[Parsed]:
    """Every URL that a client may make of *text*: for denying."""
    cleaned = text.strip().translate(_DROPPED)
    if not cleaned or len(cleaned) > 2 * MAX_URL:
        return []
    spelled = [cleaned]
    if not _SCHEME.match(cleaned) or "://" not in cleaned:
        below = cleaned.lstrip("/\\")
        spelled += [f"https://{below}", f"http://{below}"]  # what curl and browsers put in front
    found = []
    for one in spelled:
        for parsed in (whatwg(one), _generic(one), _generic(one.replace("\\", "/"))):
            if parsed is not None:
                found += [parsed, parsed._replace(rest=unquote(parsed.rest)), _as_ipv4(parsed) or parsed]
    return found


def _as_ipv4(parsed: Parsed) -> Parsed | None:
    """The same with the IPv4 address that its IPv6 address stands for; None if it has none that does."""
    host, bracket, port = parsed.host.partition("]")
    plain_host = _ipv4_in(host + bracket) if bracket else None
    return None if plain_host is None else parsed._replace(host=plain_host + port)


class UrlRule:
    """
    A rule about URLs. ``*`` stays within the host, or between two slashes; ``**`` crosses them; a ``/*`` at the end
    covers everything below. To allow, none goes on in the name of a host.

    Args:
        text: As written, with the placeholders replaced.
    """

    __slots__ = ("_bare", "_beginnings", "_exact", "_glob", "_glob_parts", "_text", "_whole_host")

    def __init__(self, text: str) -> None:
        self._text = text
        self._exact: str | None = None
        self._glob_parts: tuple[Wildcard, Wildcard, TreeWildcard] | None = None
        plain_text = literal(text)
        # "https://x.com*" is x.com, and not x.com.example.
        self._whole_host = whole_host(text) if plain_text is None else None
        if plain_text is not None:
            read = whatwg(plain_text)
            self._exact = read.text if read is not None else None
            self._glob = None
            normal = _beginning(plain_text)
            self._beginnings = tuple({plain_text.casefold(), normal.casefold()})
        else:
            self._glob_parts = _glob_parts(text)
            self._beginnings = ()
            self._glob = Wildcard.of(text.casefold() + STAR)
        self._bare = not _lexical.looks_like_url(text)

    def allows(self, value: str) -> bool:
        """Whether *value* is it. A URL that can be read in two ways is not."""
        read = plain(value)
        if read is None:
            return False
        if self._glob_parts is not None:
            scheme, host, rest = self._glob_parts
            is_host = host.fits(read.host) if self._whole_host is None else read.host == self._whole_host
            return scheme.fits(read.scheme) and is_host and rest.fits(read.rest)
        return read.text == self._exact

    def catches(self, value: Spellings) -> Match:
        """
        Whether *value* begins as the rule does, in any reading of it.

        Returns:
            2 if it does, 1 if nobody can tell where it leads, 0 if it leads elsewhere.
        """
        if any(map(self._begins, value.bare if self._bare else value.texts)):
            return 2
        return 0 if value.is_plain else 1

    def _begins(self, text: str) -> bool:
        if self._glob is not None:
            return self._glob.fits(text)
        return text.startswith(self._beginnings)


def whole_host(rule: str) -> str | None:
    """The host of an address of a rule whose ``*`` may go on in its name, without that; None if its host has an end."""
    _, separator, rest = rule.partition("://")
    end = END_OF_HOST.search(rest)
    host = rest[: end.start()] if end else rest
    return host.partition(STAR)[0].rstrip(".:").lower() if separator and host_kind(host) == "open" else None


def host_kind(host: str) -> str:
    """How a host of a rule is compared: as it is, any, those below a domain, any port, or no further than the ``*``."""
    if STAR not in host:
        return "whole"
    if not host.strip(STAR):
        return "any"
    before, _, after = host.rpartition(STAR)
    if after[:1] == "." and after.strip("."):
        return "below"
    return "port" if before[-1:] == ":" and not after and STAR not in before else "open"


def _beginning(text: str) -> str:
    """The beginning of a URL that a rule names, with its host in the form that the readings have."""
    read = whatwg(text)
    if read is None:
        return text
    # "https://a.example" is also the beginning of "https://a.example:8080/".
    has_path = END_OF_HOST.search(text.partition("://")[2]) is not None
    return read.text if has_path else f"{read.scheme}://{read.host}"


def _glob_parts(text: str) -> tuple[Wildcard, Wildcard, TreeWildcard] | None:
    scheme, separator, rest = text.partition("://")
    if not separator:
        return (Wildcard.of(STAR), Wildcard.of(STAR), TreeWildcard.of("**")) if text == "**" else None
    cut = END_OF_HOST.search(rest)
    host, path = (
        (rest[: cut.start()], rest[cut.start() :]) if cut else (rest, "/" if whole_host(text) is None else "/*")
    )
    if STAR not in host:
        read = whatwg(f"{scheme.replace(STAR, '')}://{host}/")
        host = read.host if read is not None else host
    if path.endswith("/*") and not path.endswith("\\/*"):
        path += STAR  # everything below
    if path[0] != "/":
        path = "/" + path
    return Wildcard.of(scheme.lower()), Wildcard.of(host.lower()), TreeWildcard.of(path)


def _host_is_plain(text: str) -> bool:
    """Whether the host that *text* leads to is plainly written, whatever its path."""
    written = _AUTHORITY.match(text)
    return written is not None and plain(written[0]) is not None
