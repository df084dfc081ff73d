"""Durations and moments, as people write them in JSON. Pure: which time it is does not matter here."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
# Longer than anybody writes, and soon read whatever is in it.
TEXT_CHARACTERS_MAX = 64

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_PARTS = re.compile(rf"({_NUMBER})({'|'.join(UNITS_MS)})")
_DURATION = re.compile(rf"(-?)((?:{_PARTS.pattern})+)")
_SECONDS = re.compile(rf"-?{_NUMBER}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def duration_ms(written: object) -> int:
    """Raises ValueError, in words for a person."""
    seconds = _seconds(written)
    if seconds is not None:
        return round(seconds * 1000)
    found = _DURATION.fullmatch(_text(written))
    if found is None:
        raise ValueError("a duration is 48h, 1d12h30m, 250ms or the like, or a number of seconds")
    parts = _PARTS.findall(found[2])
    total_ms = round(sum(Fraction(number) * UNITS_MS[unit] for number, unit in parts))
    return -total_ms if found[1] else total_ms


def moment_ms(written: object) -> int:
    """Raises ValueError, in words for a person."""
    seconds = _seconds(written)
    if seconds is not None:
        return round(seconds * 1000)
    try:
        moment = datetime.fromisoformat(_text(written))
    except ValueError:
        raise ValueError(
            "a time is 2030-01-01T00:00:00Z or the like, or a number of seconds since 1970"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MILLISECOND


def _seconds(written: object) -> Fraction | None:
    """Exact, because a thousand times a large number may be too large for anything else."""
    if isinstance(written, int | float) and not isinstance(written, bool):
        return Fraction(written)
    text = _text(written)
    return Fraction(text) if _SECONDS.fullmatch(text) else None


def _text(written: object) -> str:
    """Empty, which is no time of any kind, if it is no text or too long for one."""
    if isinstance(written, str) and len(written) <= TEXT_CHARACTERS_MAX:
        return written
    return ""
