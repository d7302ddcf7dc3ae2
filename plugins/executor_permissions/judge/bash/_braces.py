"""What bash makes of braces that hold a list, before it looks at anything else in a word: ``src/{a,b}.py``."""

from __future__ import annotations

import re
from itertools import product

_PLAIN = "A-Za-z0-9_./*?@%+=:-"  # nothing that quotes, or that names a variable or a home
_LISTS = re.compile(rf"(?:[,{_PLAIN}]|\{{[{_PLAIN}]*(?:,[{_PLAIN}]*)+\}})+\Z")
_BRACE = re.compile(r"[{}]")
_MOST = 32  # words that one becomes, before they count as not known
_LONGEST = 4096  # characters that they have together, unless they are no more than twice as long as what is written


def listed(written: str) -> list[str] | None:
    """
    The words that *written*, a word without quotes and variables, becomes by its lists.

    Returns:
        None where it holds more than lists of plain texts (one in another, ``{1..9}``), where they make many words,
        or where one would be empty: bash leaves that out.
    """
    if _LISTS.match(written) is None:
        return None
    pieces = [text.split(",") if i % 2 else [text] for i, text in enumerate(_BRACE.split(written))]
    count = 1
    for piece in pieces:
        count *= len(piece)
        if count > _MOST or count * len(written) > max(_LONGEST, 2 * len(written)):
            return None
    words = ["".join(chosen) for chosen in product(*pieces)]
    return words if all(words) else None
