"""Where a cluster is, and who may be trusted with the way there."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from executor.ownfiles import keep_own
from executor.run._limits import truth
from executor.sockets import stranger_at

FILES = ("ca", "cert", "key")
_SYSTEM = ("/etc/", "/usr/")  # whose authorities are everybody's to read


@dataclass(frozen=True, slots=True)
class Where:
    """
    The scheduler of a cluster.

    Attributes:
        address: ``tls://host:port`` or ``tcp://host:port``.
        ca, cert, key: Files of TLS: whom to believe, and who this is. None without TLS.
        insecure: Whether whoever answers there is believed.
    """

    address: str
    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    insecure: bool = False

    def __post_init__(self) -> None:
        files = (self.ca, self.cert, self.key)
        keep_own(*(file for file in files if file is not None and not file.startswith(_SYSTEM)))

    @property
    def plain_local(self) -> bool:
        """Whether it is on this machine, and without TLS: every user of the machine may run code there as its owner."""
        return not self.address.startswith("tls://") and is_loopback(self.address)

    @property
    def taken_by(self) -> int | None:
        """The other user who listens where this one's scheduler should, and whose answers would run as code here."""
        port = urlsplit(self.address).port
        return stranger_at(port) if self.plain_local and port and not self.insecure else None

    def connection(self) -> dict[str, Any]:
        """What connections are made with."""
        return dict(self.security().get_connection_args("client")) if self.ca else {}

    def security(self) -> Any:
        """As `distributed` has it."""
        from distributed import Security

        return Security(  # type: ignore[no-untyped-call]  # distributed is typed in parts
            tls_ca_file=self.ca, tls_client_cert=self.cert, tls_client_key=self.key, require_encryption=True
        )

    def ref(self, scheduler: str) -> str:
        """As the store has it; *scheduler* tells this one from one that is started anew at the same address."""
        return json.dumps({"scheduler": scheduler, **{k: v for k, v in asdict(self).items() if v}})


def read_ref(ref: str) -> tuple[Where, str]:
    """Where a task was left, and to which scheduler. Raises ValueError, KeyError, TypeError: it is damaged."""
    told = json.loads(ref)
    scheduler = str(told.pop("scheduler"))
    return Where(**told), scheduler


def checked(address: str, ca: object, cert: object, key: object, *, insecure: bool) -> Where:
    """
    A scheduler to which calls may be given.

    Raises:
        ValueError: The address cannot be meant, a file is missing, or anybody could listen on the way there.
    """
    parts = urlsplit(address if isinstance(address, str) else "")
    try:
        usable = parts.scheme in ("tcp", "tls") and parts.hostname and parts.port
    except ValueError:  # a port that is no number
        usable = False
    if not usable:
        raise ValueError(
            f"address is {address!r}, not the one that a scheduler prints: tls://HOST:PORT or tcp://HOST:PORT"
        )
    files = {name: _file(name, value) for name, value in zip(FILES, (ca, cert, key), strict=True)}
    given = [name for name, value in files.items() if value is not None]
    if parts.scheme == "tls" and len(given) < len(FILES):
        raise ValueError(f"{next(n for n in FILES if n not in given)} is missing: TLS needs the files ca, cert and key")
    if parts.scheme == "tcp" and given:
        raise ValueError(f"{given[0]} is given, but {address} is not reached by TLS: write tls://")
    believed = truth(insecure, "insecure")
    if parts.scheme == "tcp" and not believed and not is_loopback(address):
        raise ValueError(
            f"{address} is on another machine and without TLS: whoever can reach it may run code there. Use TLS "
            "(tls://, with ca, cert and key), or set 'insecure' to true for a network that nobody else is in"
        )
    return Where(address, **files, insecure=believed)


def _file(name: str, value: object) -> str | None:
    if value is None:
        return None
    path = Path(str(value)).expanduser().absolute()
    if not path.is_file():
        raise ValueError(f"{name} is {str(value)!r}, where no file is")
    return str(path)


def is_loopback(address: str) -> bool:
    """Whether an address is on this machine for sure."""
    host = urlsplit(address).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name: whose it is can change
        return False
