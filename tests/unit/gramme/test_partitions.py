"""Segments of the token space, and the partitions they cut."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gramme.partitions import (
    TOKEN_SPACE,
    GroupId,
    Partition,
    PartitionMap,
    TableId,
    even_ranges,
    segment_range,
)

FOUR = PartitionMap(
    [
        Partition(GroupId(number), TableId(1), start, last, 1)
        for number, (start, last) in enumerate(even_ranges(4))
    ]
)
QUARTER = TOKEN_SPACE // 4


@pytest.mark.parametrize("total", [1, 2, 3, 7, 1_000])
def test_segments_tile_the_token_space(total: int) -> None:
    ranges = [segment_range(segment, total) for segment in range(total)]

    assert ranges[0][0] == 0
    assert ranges[-1][1] == TOKEN_SPACE - 1
    assert all(start == last + 1 for (_, last), (start, _) in pairwise(ranges))


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (0, TOKEN_SPACE - 1, [0, 1, 2, 3]),
        (0, QUARTER - 1, [0]),
        (0, QUARTER, [0, 1]),
        (QUARTER, QUARTER, [1]),
        (QUARTER + 1, 3 * QUARTER - 1, [1, 2]),
        (TOKEN_SPACE - 1, TOKEN_SPACE - 1, [3]),
    ],
)
def test_partitions_between_two_tokens(first: int, last: int, expected: list[int]) -> None:
    assert [partition.group for partition in FOUR.between(first, last)] == expected
