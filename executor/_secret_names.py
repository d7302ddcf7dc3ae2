"""Which names mean a secret: of a key, a header, a variable, an option. One rule for all of them."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Any

_LONGEST = 128  # characters of a name that are looked at; the names of secrets are shorter
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")  # the words of snake_case, camelCase, kebab-case

# fmt: off  -- word lists, read by the line
_SECRET = frozenset(
    {
        "password",
        "passwd",
        "passphrase",
        "pass",
        "secret",
        "token",
        "apikey",
        "credential",
        "cred",
        "authorization",
        "authorisation",
        "cookie",
        "bearer",
        "jwt",
        "otp",
        "cvv",
    }
)
# Words written together: PGPASSWORD, authtoken, dbsecret. Whole endings, so that secretary and tokenizer stay.
_ENDINGS = ("password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "privatekey", "secretkey")
_BEFORE_KEY = frozenset(
    {
        "api",
        "access",
        "private",
        "secret",
        "signing",
        "encryption",
        "auth",
        "account",
        "master",
        "shared",
        "ssh",
        "deploy",
        "license",
    }
)
# What a secret's name says beside it when the value is a number, a place or a description, and not the secret.
_ABOUT = frozenset(
    {
        "max",
        "min",
        "n",
        "num",
        "number",
        "count",
        "counter",
        "counts",
        "total",
        "limit",
        "budget",
        "used",
        "usage",
        "remaining",
        "per",
        "avg",
        "rate",
        "type",
        "kind",
        "length",
        "len",
        "size",
        "bytes",
        "expires",
        "expiry",
        "expiration",
        "expire",
        "expired",
        "ttl",
        "age",
        "policy",
        "name",
        "uri",
        "url",
        "endpoint",
        "path",
        "file",
        "filename",
        "dir",
        "stdin",
        "field",
        "label",
        "placeholder",
        "required",
        "enabled",
        "supported",
        "valid",
        "at",
        "format",
        "encoding",
        "algorithm",
        "scheme",
        "prefix",
        "has",
        "is",
        "no",
        "without",
        "stop",
        "special",
        "bos",
        "eos",
        "pad",
        "unk",
        "vocab",
        "through",
        "page",
        "continuation",
    }
)
# fmt: on
# A number under these is a count (tokens: 512); a number under a password is one.
_COUNTED = frozenset({"token", "pass", "cookie", "cred", "credential"})


@lru_cache(maxsize=4096)
def _secret_words(name: str) -> frozenset[str]:
    """The words of *name* that mean a secret; none when it is about one."""
    words = [word.lower() for word in _WORD.findall(name[:_LONGEST])]
    if any(word in _ABOUT for word in words):
        return frozenset()
    single = [word[:-1] if word.endswith("s") and word[:-1].endswith(tuple(_SECRET)) else word for word in words]
    found = {word for word in single if word in _SECRET or word.endswith(_ENDINGS)}
    if any(first in _BEFORE_KEY and second in ("key", "keys") for first, second in pairwise(words)):
        found.add("key")
    # PWD alone is the working directory, and "auth" among other words is a way (auth_method).
    if (len(words) > 1 and "pwd" in words and words[0] != "old") or words == ["auth"]:
        found.add("password")
    return frozenset(found)


def is_secret_name(name: str) -> bool:
    """
    Whether a value of this name is a secret: ``password``, ``X-Api-Key``, ``clientSecret``, ``PGPASSWORD``.

    Names that only speak of one are not: ``max_tokens``, ``token_count``, ``password_policy``, ``tokenizer``.
    """
    return bool(_secret_words(name))


def hides(name: str, value: Any) -> bool:
    """Whether *value* under *name* is to be hidden: flags, counts and what is empty are not."""
    if value is None or value == "" or isinstance(value, bool):
        return False
    if name == "pwd":  # a folder has a slash, and the variable is in capitals
        return not (isinstance(value, str) and ("/" in value or "\\" in value or value in (".", "~")))
    words = _secret_words(name)
    return bool(words) and not (isinstance(value, int | float) and words <= _COUNTED)
