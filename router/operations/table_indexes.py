"""GlobalSecondaryIndexes of a CreateTable, checked and read."""

from __future__ import annotations

from typing import Any, Final

from gramme.errors import ValidationError
from gramme.model.table import Index
from gramme.router.operations.elastic_throughput import read_elastic
from gramme.router.operations.table_key import INVALID, Definitions, read_index_key
from gramme.router.operations.throughput import read_throughput

INDEXES_MAX: Final = 20
# Of all indexes of a table together; DynamoDB counts an attribute again for each index that names it.
NON_KEY_ATTRIBUTES_MAX: Final = 100


def read_indexes(
    body: dict[str, Any], definitions: Definitions, is_provisioned: bool
) -> tuple[Index, ...]:
    requested = body.get("GlobalSecondaryIndexes")
    if requested is None:
        return ()
    if not requested:
        raise ValidationError(f"{INVALID}List of GlobalSecondaryIndexes is empty")
    indexes: dict[str, Index] = {}
    for request in requested:
        index = _read_index(request, definitions, is_provisioned)
        if index.name in indexes:
            raise ValidationError(f"{INVALID}Duplicate index name: {index.name}")
        indexes[index.name] = index
    _check_counts(indexes)
    return tuple(indexes.values())


def _read_index(request: dict[str, Any], definitions: Definitions, is_provisioned: bool) -> Index:
    name = request["IndexName"]
    key = read_index_key(request["KeySchema"], definitions)
    projection = request["Projection"]
    check_projection(projection)
    throughput = request.get("ProvisionedThroughput")
    if throughput is not None and not is_provisioned:
        raise ValidationError(
            f"{INVALID}ProvisionedThroughput should not be specified for index: {name} "
            "when BillingMode is PAY_PER_REQUEST"
        )
    if throughput is None and is_provisioned:
        raise ValidationError(f"{INVALID}ProvisionedThroughput is not specified for index: {name}")
    provisioned = None if throughput is None else read_throughput(throughput)
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


def _check_counts(indexes: dict[str, Index]) -> None:
    if len(indexes) > INDEXES_MAX:
        raise ValidationError(
            f"{INVALID}GlobalSecondaryIndex count exceeds the per-table limit of {INDEXES_MAX}"
        )
    if sum(len(index.non_key_attributes) for index in indexes.values()) > NON_KEY_ATTRIBUTES_MAX:
        raise ValidationError(
            f"{INVALID}Number of NonKeyAttributes across all indexes "
            f"exceeds the per-table limit of {NON_KEY_ATTRIBUTES_MAX}"
        )
