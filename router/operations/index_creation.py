"""Create of GlobalSecondaryIndexUpdates: the rules that an index added to a table must keep, and the index it makes."""

from __future__ import annotations

from typing import Any

from gramme.errors import ValidationError
from gramme.model.table import Index, KeyAttribute, Table
from gramme.router.operations.table_indexes import (
    check_projected_names,
    check_projection,
    make_index,
)
from gramme.router.operations.table_key import (
    INVALID,
    Definitions,
    IndexKey,
    read_definitions,
    read_index_key,
)
from gramme.router.operations.throughput import read_throughput


def read_creation(
    table: Table, body: dict[str, Any], request: dict[str, Any], is_provisioned: bool
) -> Index:
    """The index that `request` asks for, its id yet to be given.

    Its key must be defined again though the table may know the attributes; other definitions are not looked at.
    """
    key = _read_key(body, request)
    _check_types(table, key)
    check_projection(request["Projection"])
    index = make_index(request, key, _read_units(request, is_provisioned))
    check_projected_names((*table.all_indexes, index))
    return index


def _read_key(body: dict[str, Any], request: dict[str, Any]) -> IndexKey:
    definitions: Definitions = read_definitions(body)
    schema = request["KeySchema"]
    if not definitions:
        raise ValidationError(
            f"{INVALID}AttributeDefinitions is not specified for index: {request['IndexName']}"
        )
    if len(schema) > len(definitions):
        raise ValidationError("Invalid KeySchema: Some index key attribute have no definition")
    return read_index_key(schema, definitions)


def _check_types(table: Table, key: IndexKey) -> None:
    """An attribute has one type in all keys of a table."""
    new = {attribute.name: attribute.type for attribute in key.hash + key.range}
    known = [IndexKey(table.keys[:1], table.keys[1:])]
    known += [IndexKey(index.hash, index.range) for index in table.indexes]
    known += [IndexKey(table.keys[:1], local.keys) for local in table.local_indexes]
    for other in known:
        if any(new.get(old.name, old.type) != old.type for old in other.hash + other.range):
            raise ValidationError(
                f"{INVALID}Attributes cannot be redefined. Please check that your attribute has "
                f"the same type as previously defined. Existing schema: {_shown(other)} "
                f"New schema: {_shown(key)}"
            )


def _shown(key: IndexKey) -> str:
    elements = [*_elements(key.hash, "HASH"), *_elements(key.range, "RANGE")]
    return f"Schema:[{', '.join(elements)}]"


def _elements(attributes: tuple[KeyAttribute, ...], kind: str) -> list[str]:
    return [f"SchemaElement: key{{{one.name}:{one.type}:{kind}}}" for one in attributes]


def _read_units(request: dict[str, Any], is_provisioned: bool) -> tuple[int, int] | None:
    throughput, name = request.get("ProvisionedThroughput"), request["IndexName"]
    if throughput is None:
        if is_provisioned:
            raise ValidationError(
                f"{INVALID}Both ReadCapacityUnits and WriteCapacityUnits must be specified "
                f"for index: {name}"
            )
        return None
    if not is_provisioned:
        raise ValidationError(
            f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
            f"for index: {name} when BillingMode is PAY_PER_REQUEST"
        )
    return read_throughput(throughput)
