"""LocalSecondaryIndexes and GlobalSecondaryIndexes of a CreateTable, checked and read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from gramme.errors import ValidationError
from gramme.model.table import Index, KeyAttribute, LocalIndex
from gramme.router.operations.elastic_throughput import read_elastic
from gramme.router.operations.table_key import (
    INVALID,
    Definitions,
    IndexKey,
    read_index_key,
    read_local_index_key,
)
from gramme.router.operations.throughput import read_throughput

INDEXES_MAX: Final = 20
LOCAL_INDEXES_MAX: Final = 5
# Of all indexes of a table together; DynamoDB counts an attribute again for each index that names it.
NON_KEY_ATTRIBUTES_MAX: Final = 100


def read_local_indexes(
    body: dict[str, Any],
    definitions: Definitions,
    table_hash: KeyAttribute,
    table_range: KeyAttribute | None,
) -> tuple[LocalIndex, ...]:
    requested = body.get("LocalSecondaryIndexes")
    if requested is None:
        return ()
    if not requested:
        raise ValidationError(f"{INVALID}List of LocalSecondaryIndexes is empty")
    if table_range is None:
        raise ValidationError(
            f"{INVALID}Table KeySchema does not have a range key, "
            "which is required when specifying a LocalSecondaryIndex"
        )
    indexes: list[LocalIndex] = []
    for request in requested:
        index = _read_local_index(request, definitions, table_hash)
        _check_name(index.name, indexes)
        indexes.append(index)
    if len(indexes) > LOCAL_INDEXES_MAX:
        raise ValidationError(
            f"{INVALID}Number of LocalSecondaryIndexes exceeds per-table limit of {LOCAL_INDEXES_MAX}"
        )
    return tuple(indexes)


def _read_local_index(
    request: dict[str, Any], definitions: Definitions, table_hash: KeyAttribute
) -> LocalIndex:
    name = request["IndexName"]
    hash, range = read_local_index_key(name, request["KeySchema"], definitions)
    if hash != table_hash:
        raise ValidationError(
            f"{INVALID}Index KeySchema does not have the same leading hash key as table KeySchema "
            f"for index: {name}. index hash key: {hash.name}, table hash key: {table_hash.name}"
        )
    projection = request["Projection"]
    check_projection(projection)
    non_key_attributes = tuple(projection.get("NonKeyAttributes") or ())
    return LocalIndex(0, name, range, projection["ProjectionType"], non_key_attributes)


def read_indexes(
    body: dict[str, Any],
    definitions: Definitions,
    is_provisioned: bool,
    local_indexes: Sequence[LocalIndex],
) -> tuple[Index, ...]:
    requested = body.get("GlobalSecondaryIndexes")
    if requested is None:
        return ()
    if not requested:
        raise ValidationError(f"{INVALID}List of GlobalSecondaryIndexes is empty")
    indexes: list[Index] = []
    for request in requested:
        index = _read_index(request, definitions, is_provisioned)
        _check_name(index.name, (*local_indexes, *indexes))
        indexes.append(index)
    if len(indexes) > INDEXES_MAX:
        raise ValidationError(
            f"{INVALID}GlobalSecondaryIndex count exceeds the per-table limit of {INDEXES_MAX}"
        )
    return tuple(indexes)


def check_projected_names(indexes: Sequence[Index | LocalIndex]) -> None:
    """Of all indexes of a table together."""
    if sum(len(index.non_key_attributes) for index in indexes) > NON_KEY_ATTRIBUTES_MAX:
        raise ValidationError(
            f"{INVALID}Number of NonKeyAttributes across all indexes "
            f"exceeds the per-table limit of {NON_KEY_ATTRIBUTES_MAX}"
        )


def _check_name(name: str, taken: Sequence[Index | LocalIndex]) -> None:
    """Indexes of both kinds share their names."""
    if any(index.name == name for index in taken):
        raise ValidationError(f"{INVALID}Duplicate index name: {name}")


def _read_index(request: dict[str, Any], definitions: Definitions, is_provisioned: bool) -> Index:
    name = request["IndexName"]
    key = read_index_key(request["KeySchema"], definitions)
    check_projection(request["Projection"])
    throughput = request.get("ProvisionedThroughput")
    if throughput is not None and not is_provisioned:
        raise ValidationError(
            f"{INVALID}ProvisionedThroughput should not be specified for index: {name} "
            "when BillingMode is PAY_PER_REQUEST"
        )
    if throughput is None and is_provisioned:
        raise ValidationError(f"{INVALID}ProvisionedThroughput is not specified for index: {name}")
    return make_index(request, key, None if throughput is None else read_throughput(throughput))


def make_index(
    request: dict[str, Any], key: IndexKey, provisioned: tuple[int, int] | None
) -> Index:
    """The index of a request that is right so far, its id yet to be given. Raises if its other throughput is not."""
    name, projection = request["IndexName"], request["Projection"]
    return Index(
        id=0,
        name=name,
        hash=key.hash,
        range=key.range,
        projection=projection["ProjectionType"],
        non_key_attributes=tuple(projection.get("NonKeyAttributes") or ()),
        provisioned=provisioned,
        echo=read_elastic(request, provisioned, name),
    )


def check_projection(projection: dict[str, Any]) -> None:
    type = projection.get("ProjectionType")
    if type is None:
        raise ValidationError(f"{INVALID}Unknown ProjectionType: null")
    names = projection.get("NonKeyAttributes")
    if type == "INCLUDE" and not names:
        raise ValidationError(
            f"{INVALID}ProjectionType is INCLUDE, but NonKeyAttributes is not specified"
        )
    if type != "INCLUDE" and names is not None:
        raise ValidationError(
            f"{INVALID}ProjectionType is {type}, but NonKeyAttributes is specified"
        )
    seen: set[str] = set()
    for name in names or ():
        if name in seen:
            raise ValidationError(f"{INVALID}Duplicate element in NonKeyAttributes: {name}")
        seen.add(name)
