"""How much room a disk must have, and how it is counted between two looks."""

from __future__ import annotations

import pytest

from gramme.node.space import RESERVE_BYTES, RESERVE_BYTES_MIN, Room

MB = 1 << 20


def room_of(free_mb: int, total_mb: int) -> Room:
    room = Room()
    room.look(free_mb * MB, total_mb * MB)
    return room


@pytest.mark.parametrize(
    ("free_mb", "total_mb", "low"),
    [
        (255, 100_000, True),
        (257, 100_000, False),
        (49, 1_000, True),
        (51, 1_000, False),
        (3, 20, True),
        (5, 20, False),
    ],
)
def test_the_reserve_is_a_share_within_bounds(free_mb: int, total_mb: int, low: bool) -> None:
    assert room_of(free_mb, total_mb).is_low is low


def test_a_little_more_than_the_reserve_ends_nothing() -> None:
    room = room_of(49, 1_000)

    room.look(61 * MB, 1_000 * MB)
    assert room.is_low

    room.look(63 * MB, 1_000 * MB)
    assert not room.is_low


def test_what_is_written_counts_before_anybody_looks() -> None:
    room = room_of(60, 1_000)
    # In the log, and in memory.
    assert room.holds(5 * MB)
    assert not room.holds(6 * MB)

    room.take(4 * MB)
    assert not room.is_low
    assert not room.holds(2 * MB)

    room.take(2 * MB)
    assert room.is_low
    assert not room.holds(0)


def test_the_last_quarter_of_the_reserve_is_for_what_cannot_wait() -> None:
    assert not room_of(40, 1_000).is_out
    assert not room_of(13, 1_000).is_out
    assert room_of(12, 1_000).is_out
    assert not Room().is_out


def test_nobody_is_refused_before_somebody_has_looked() -> None:
    room = Room()

    assert room.holds(RESERVE_BYTES_MIN)
    assert not room.is_low
    assert room.left_bytes == RESERVE_BYTES
