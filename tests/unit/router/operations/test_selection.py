"""Which reads of a local index have to fetch items: those that show what the index does not project."""

from __future__ import annotations

import pytest

from gramme.commands import LocalRead
from gramme.expressions.placeholders import Placeholders
from gramme.expressions.projection import Projection
from gramme.model.table import KeyAttribute, LocalIndex, ProjectionType, Table
from gramme.partitions import TOKEN_SPACE, GroupId, Partition, PartitionMap, TableId
from gramme.router.operations.selection import local_read
from gramme.router.operations.target import Target

PK, SK, N = KeyAttribute("pk", "S"), KeyAttribute("sk", "S"), KeyAttribute("n", "N")
INDEX = 7


def a_target(projection: ProjectionType, *names: str) -> Target:
    index = LocalIndex(INDEX, "local", N, projection, names)
    table = Table(1, "0" * 12, "local", "table", PK, SK, local_indexes=(index,))
    whole = Partition(GroupId(1), TableId(1), 0, TOKEN_SPACE - 1, epoch=1)
    partitions = PartitionMap([whole])
    return Target(table, index, partitions, (PK,), (N,), (SK,), ("pk", "sk", "n"))


def a_projection(text: str) -> Projection:
    return Placeholders(None, None).projection(text)


@pytest.mark.parametrize(
    ("target", "select", "projection", "fetches"),
    [
        (a_target("ALL"), "ALL_ATTRIBUTES", None, False),
        (a_target("ALL"), None, "x", False),
        (a_target("KEYS_ONLY"), None, None, False),
        (a_target("KEYS_ONLY"), "ALL_PROJECTED_ATTRIBUTES", None, False),
        (a_target("KEYS_ONLY"), "COUNT", None, False),
        (a_target("KEYS_ONLY"), "ALL_ATTRIBUTES", None, True),
        (a_target("KEYS_ONLY"), None, "pk, n, sk", False),
        (a_target("KEYS_ONLY"), "SPECIFIC_ATTRIBUTES", "n, x", True),
        (a_target("INCLUDE", "x"), None, "x.y, n", False),
        (a_target("INCLUDE", "x"), None, "z[0]", True),
    ],
)
def test_what_is_not_projected_is_fetched(
    target: Target, select: str | None, projection: str | None, fetches: bool
) -> None:
    wanted = None if projection is None else a_projection(projection)

    assert local_read(target, select, wanted) == LocalRead(INDEX, fetches)
