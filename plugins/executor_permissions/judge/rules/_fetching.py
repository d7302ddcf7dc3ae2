"""Which addresses curl, wget and the like are given in ways that only they read. For denying."""

from __future__ import annotations

import re
from operator import is_not

from executor_permissions.judge.bash._words import REST, Unknown
from executor_permissions.judge.options._tables import grammar_of

# Files, and the input, with further addresses and options.
_LISTS = {
    "curl": re.compile(r"-[sSLIivfgGkq4601NZlaOJnjR#]*K|--con(?!nect)\w*"),
    "wget": re.compile(r"-[qvdS46cNrkKpmHLxEFb]*[ei]|--(?:inp|exe|conf|bas)\w*"),
    "wget2": re.compile(r"-[qvdS46cNrkKpmHLxEFb]*[ei]|--(?:inp|exe|conf|bas)\w*"),
    "aria2c": re.compile(r"-[^-]*[iTM]|--(?:inp|conf|tor|met)\w*"),
}
_SEVERAL = re.compile(r"[{\[]")  # curl's: one address of each
_IPV6 = re.compile(r"\[[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%\w+)?\]")


def with_unknown_addresses(words: list[str]) -> list[str] | None:
    """*words* with what may be any address as `Unknown`, or None if every address is there to be read."""
    program = words[0].rpartition("/")[2]
    found = [*words[:1], *(_address(words, i) if program == "curl" else words[i] for i in range(1, len(words)))]
    lists = _LISTS.get(program)
    if lists is not None and any(type(word) is str and lists.match(word) for word in words[1:]):
        found.append(REST)
    return found if len(found) != len(words) or any(map(is_not, found, words)) else None


def _address(words: list[str], at: int) -> str:
    """The word at *at*, as `Unknown` if curl makes several addresses of it."""
    word = words[at]
    if type(word) is not str or not _SEVERAL.search(_IPV6.sub("", word)) or _is_value(words[at - 1]):
        return word
    return Unknown(word)


def _is_value(before: str) -> bool:
    """Whether what stands behind *before* is the value of an option of curl, and no address."""
    grammar = grammar_of("curl")
    if before[:1] != "-" or before == "--url" or grammar is None:
        return False
    option = grammar.options.get(before if before[:2] == "--" else f"-{before[-1]}")
    return option is not None and option.arity > 0
