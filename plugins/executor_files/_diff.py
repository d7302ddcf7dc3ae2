"""What a person or a model is shown of a change, and of a text that was not found; all of it bounded."""

from __future__ import annotations

MAX_DIFF_LINES = 400
MAX_LINE = 300  # characters of a line that are shown
_CONTEXT = 3
_MAX_PAIRS = 500_000  # of lines that difflib may have to compare: half a second, if they are chosen to be hard
_MAX_CANDIDATES = 10_000  # lines among which a similar one is looked for: some tenths of a second


def unified_diff(old: str, new: str, name: str) -> str:
    """
    The change from *old* to *new* in unified format, at most `MAX_DIFF_LINES` lines, long lines cut.

    A change too large to be compared line by line is shown as one block removed and one added.
    """
    before, after = _lines(old), _lines(new)
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    low = max(start - _CONTEXT, 0)  # difflib sees the changed part and its context only: the rest would cost time
    before, after = (side[low : len(side) - max(end - _CONTEXT, 0)] for side in (before, after))
    shown = [f"--- {name}", f"+++ {name}"]
    for group in _groups(before, after):
        removed, added = _range(low + group[0][1], low + group[-1][2]), _range(low + group[0][3], low + group[-1][4])
        shown.append(f"@@ -{removed} +{added} @@")
        for tag, a1, a2, b1, b2 in group:
            if tag == "equal":
                shown += [" " + _cut(line) for line in before[a1:a2]]
            else:
                shown += ["-" + _cut(line) for line in before[a1:a2]]
                shown += ["+" + _cut(line) for line in after[b1:b2]]
        if len(shown) > MAX_DIFF_LINES:
            break
    if len(shown) > MAX_DIFF_LINES:
        shown[MAX_DIFF_LINES:] = ["… the rest of the diff is left out"]
    return "\n".join(shown) + "\n"


def _range(start: int, end: int) -> str:
    # An empty range is named by the line before it.
    return f"{start + (end > start)},{end - start}"


def _groups(before: list[str], after: list[str]) -> list[list[tuple[str, int, int, int, int]]]:
    if len(before) * len(after) > _MAX_PAIRS:
        return [[("replace", 0, len(before), 0, len(after))]]
    import difflib  # wanted by changes only

    matcher = difflib.SequenceMatcher(None, before, after)
    return list(matcher.get_grouped_opcodes(_CONTEXT))


def _common(before: list[str], after: list[str]) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        return lines[:-1]
    lines[-1] += "\n\\ No newline at end of file"
    return lines


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}… ({len(line)} characters)"


def line_numbers(text: str, part: str) -> list[int]:
    """The lines of *text*, from 1, on which *part* begins, each time it occurs without overlap."""
    numbers = []
    line, seen = 1, 0
    at = text.find(part)
    while at >= 0:
        line += text.count("\n", seen, at)
        numbers.append(line)
        seen = at
        at = text.find(part, at + len(part))
    return numbers


def nearest(text: str, wanted: str) -> str:
    """The lines of *text* most like the beginning of *wanted*, with their numbers, as a sentence; "" if none is."""
    import difflib  # as above

    first = next((line.strip() for line in wanted.splitlines() if line.strip()), "")
    lines = text.split("\n", _MAX_CANDIDATES)[:_MAX_CANDIDATES]
    candidates = {line.strip()[:MAX_LINE]: number for number, line in reversed(list(enumerate(lines, start=1)))}
    near = difflib.get_close_matches(first[:MAX_LINE], candidates, n=3)
    numbers = sorted(candidates[line] for line in near)
    if not numbers:
        return ""
    return "The nearest lines are: " + "; ".join(f"line {n}: {_cut(lines[n - 1])!r}" for n in numbers)
