"""Ids that nobody else has."""

from __future__ import annotations

import os


def token_hex(size: int) -> str:
    """*size* random bytes as digits: as that of `secrets`, which imports hashlib and with it OpenSSL for this: 4 ms."""
    return os.urandom(size).hex()
