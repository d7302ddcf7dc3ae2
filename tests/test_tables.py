"""The tables at the head of modules and classes, written down a second time."""

from __future__ import annotations

from tests.known_tables import FILE, lines


def test_no_table_default_or_pattern_changes_unseen():
    told = FILE.read_text(encoding="utf-8").splitlines()
    assert list(lines()) == told, "read what differs; python -m tests.known_tables writes it down"
