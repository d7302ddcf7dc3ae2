"""How long a refusal over HTTP asks to be waited, and whether what was sent may be sent again."""

from __future__ import annotations

import pytest

from executor.httpstatus import never_begun, retry_after


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        (" 1.5 ", 1.5),
        ("0", 0.0),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 0.0),
        ("Fri, 31 Dec 1999 23:59:59 -0000", 0.0),
        *((odd, None) for odd in ("", "soon", "-1", "nan", "inf", "1e400", "9" * 400, "1_000", "٣", "0x10", "5, 6")),
        ("Fri, 99 Dec 1999 23:59:59 GMT", None),
        ("Fri, 31 Dec 99999 23:59:59 GMT", None),
        (None, None),
    ],
)
def test_only_a_number_of_seconds_or_a_date_is_a_time_to_wait(value, seconds):
    assert retry_after(value) == seconds


def test_a_date_is_the_time_until_then():
    assert retry_after("Fri, 31 Dec 9998 23:59:59 GMT") > 1e10


@pytest.mark.parametrize(
    ("value", "date", "seconds"),
    [
        ("Fri, 31 Dec 1999 23:59:59 GMT", "Fri, 31 Dec 1999 23:59:52 GMT", 7.0),
        ("Fri, 31 Dec 9998 23:59:59 GMT", "Fri, 31 Dec 9998 23:59:58 GMT", 1.0),
        ("Fri, 31 Dec 1999 23:59:59 GMT", "Fri, 31 Dec 9998 23:59:59 GMT", 0.0),
        ("Fri, 31 Dec 1999 23:59:59 GMT", "now", 0.0),
        ("7", "Fri, 31 Dec 1999 23:59:59 GMT", 7.0),
        ("soon", "Fri, 31 Dec 1999 23:59:59 GMT", None),
    ],
)
def test_a_date_is_counted_from_the_clock_of_the_service(value, date, seconds):
    assert retry_after(value, date) == seconds


def test_a_status_is_no_proof_but_where_it_says_so():
    told = {status: (never_begun(status, None), never_begun(status, 1.0)) for status in (408, 425, 429, 500, 502, 503)}
    assert told == {
        408: (False, False),
        425: (True, True),
        429: (True, True),
        500: (False, False),
        502: (False, False),
        503: (False, True),
    }
