"""
What is settled about a command by its characters alone, in front of the parser and in place of it.

The parser misreads some inputs that bash understands (nested backticks, a continuation inside a word, carriage
returns). Each of them is refused here, so that a command is never allowed on a wrong reading of it.
"""

from __future__ import annotations

import re
from functools import lru_cache

MAX_BYTES = 32 * 1024  # nobody reviews more; the parser and the walk over its tree stay under 50 ms

# Control characters but TAB and LF, blanks that are none to bash, and what a person cannot see: zero-width, bidi, tags.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u2800\u3000\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_HIDDEN_ASCII = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_CONTINUATION = re.compile(r"(?<![ \t])\\\n")
# A here-document that expands nothing, behind words in which nothing is quoted: only then it surely is one.
_QUOTED_HEREDOC = re.compile(r"\A([\w ./:=@%+,>&|;\n-]*)<<(['\"])(\w+)\2 *\n(?:[^\n]*\n)*?\3(?=\n|\Z)")
_QUOTED = re.compile(r"""'[^']*'|"[^"\\`$]*"|\\[^\n]""")
_SEPARATORS = re.compile(r"\|\||&&|[;&|\n(){}]|\$\(|`")
_WORD = re.compile(r"""(?:[^\s"'\\]+|"(?:[^"\\]|\\.)*"|'[^']*'|\\.)+""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)|[\"']", re.DOTALL)
_BRACKETS = re.compile(r"[(){}\[\]]")
_LINE_ENDS = re.compile(r"[;&\n]")
_MAX_PIPES = 250  # in one pipeline: the parser's time for a broken one grows with the square
_MAX_HEREDOCS = 40
_PLAIN_LIMIT = 2000  # words looked at without a parser; what is beyond is never allowed either way


def refused(text: str) -> str | None:
    """Why the parser's reading of *text* must not be trusted, or None."""
    if (_HIDDEN_ASCII if text.isascii() else _HIDDEN).search(text):
        return "it has control or invisible characters"
    if "`" in text and not _only_quoted(_QUOTED_HEREDOC.sub(r"\1", text), "`"):
        return "it has backticks"
    if "\\\n" in text and (_CONTINUATION.search(text) or "#" in text or "<<" in text):
        return "a line continues inside a word"
    return None


def _only_quoted(text: str, mark: str) -> bool:
    """Whether *mark* stands inside plain single quotes, or behind a backslash, only."""
    if "$'" in text or "#" in text or "<<" in text:
        return False
    rest = _QUOTED.sub("", text)
    return not any(character in rest for character in (mark, "'", '"'))


def is_tangled(text: str, limit: int) -> bool:
    """Whether the parser could take long over *text*: brackets deeper than *limit*, or a pipeline beyond all use."""
    if text.count("|") > _MAX_PIPES and any(part.count("|") > _MAX_PIPES for part in _LINE_ENDS.split(text)):
        return True
    if any(text.count(closing) - text.count(opening) > limit for opening, closing in ("()", "{}", "[]")):
        return True
    return text.count("<<") > _MAX_HEREDOCS or _depth(text) > limit


def _depth(text: str) -> int:
    """How deep the brackets of *text* are nested, quoted ones counted too."""
    deepest = level = 0
    for bracket in _BRACKETS.findall(text):
        if bracket in "({[":
            level += 1
            deepest = max(deepest, level)
        else:
            level = max(0, level - 1)
    return deepest


def has_hidden_characters(text: str) -> bool:
    """Whether *text* has characters that a person cannot see, or a terminal would obey."""
    return (_HIDDEN_ASCII if text.isascii() else _HIDDEN).search(text) is not None


def plain_commands(text: str) -> list[list[str]]:
    """
    The commands of *text* as far as they can be told without a parser: a list of words for each.

    For denying only. It errs on the side of finding commands that are none.
    """
    commands: list[list[str]] = []
    count = 0
    for piece in _SEPARATORS.split(text[:MAX_BYTES]):
        words = [_ESCAPE.sub(lambda match: match[1] or "", word) for word in _WORD.findall(piece)]
        count += len(words)
        if words:
            commands.append(words)
        if count > _PLAIN_LIMIT:
            break
    return commands


@lru_cache(maxsize=64)
def _words_pattern(words: frozenset[str]) -> re.Pattern[str]:
    return re.compile(r"(?<![\w.-])(?:" + "|".join(map(re.escape, sorted(words))) + r")(?![\w-])")


def mentions(text: str, words: frozenset[str]) -> str | None:
    """The first of *words* that occurs in *text* as a word of its own, or None."""
    if not words:
        return None
    found = _words_pattern(words).search(text)
    return found[0] if found else None
