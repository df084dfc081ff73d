"""Durations and moments as people write them."""

from __future__ import annotations

import pytest

from gramme.router.http.extensions.times import duration_ms, moment_ms

SECOND_MS = 1_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


@pytest.mark.parametrize(
    ("written", "expected_ms"),
    [
        ("48h", 48 * HOUR_MS),
        ("250ms", 250),
        ("90s", 90 * SECOND_MS),
        ("5m", 300 * SECOND_MS),
        ("7d", 7 * DAY_MS),
        ("1d12h30m", DAY_MS + 12 * HOUR_MS + 1800 * SECOND_MS),
        ("1m1ms", 60_001),
        ("1.5h", 90 * 60 * SECOND_MS),
        ("0.001s", 1),
        ("0s", 0),
        ("-1h30m", -5400 * SECOND_MS),
        ("90", 90 * SECOND_MS),
        ("0.5", 500),
        ("-3", -3 * SECOND_MS),
        (90, 90 * SECOND_MS),
        (1.25, 1250),
        (-1, -SECOND_MS),
        (1e308, round(1e308) * 1000),
    ],
    ids=str,
)
def test_a_duration_is_units_or_seconds(written: object, expected_ms: int) -> None:
    assert duration_ms(written) == expected_ms


@pytest.mark.parametrize(
    "written",
    [
        *("", " ", "h", "48 h", "1h-30m", "48hours", "1w", "1h30", "+1h", "1e3s", "1..5h"),
        *("٣h", "1h\n", "2030-01-01", "inf", "nan", "9" * 65, "9" * 5_000_000),
        *(None, True, False, [], ["48h"], {}, {"h": 48}),
    ],
    ids=lambda written: repr(written)[:20],
)
def test_what_is_no_duration_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match=r"^a duration is 48h, 1d12h30m, 250ms or the like"):
        duration_ms(written)


@pytest.mark.parametrize(
    ("written", "expected_ms"),
    [
        ("2030-01-01T00:00:00Z", 1_893_456_000_000),
        ("2030-01-01T00:00:00.250Z", 1_893_456_000_250),
        ("2030-01-01T02:00:00+02:00", 1_893_456_000_000),
        ("2030-01-01T00:00", 1_893_456_000_000),
        ("2030-01-01", 1_893_456_000_000),
        ("1969-12-31T23:59:59Z", -1_000),
        ("9999-12-31T23:59:59-23:59", 253_402_300_799_000 + 86_340_000),
        ("0001-01-01T00:00:00+23:59", -62_135_596_800_000 - 86_340_000),
        ("1893456000", 1_893_456_000_000),
        (1893456000, 1_893_456_000_000),
        (1893456000.25, 1_893_456_000_250),
    ],
    ids=str,
)
def test_a_moment_is_a_date_or_seconds_since_1970(written: object, expected_ms: int) -> None:
    assert moment_ms(written) == expected_ms


@pytest.mark.parametrize(
    "written",
    [
        *("", "tomorrow", "48h", "2030-13-01", "2030-02-30T00:00:00Z", "10000-01-01T00:00:00Z"),
        *("2030-01-01T00:00:00 UTC", "2030-01-01T25:00:00Z", "9" * 65, None, True, [], {}),
    ],
    ids=lambda written: repr(written)[:20],
)
def test_what_is_no_moment_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match=r"^a time is 2030-01-01T00:00:00Z or the like"):
        moment_ms(written)
