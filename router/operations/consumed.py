"""ConsumedCapacity, as a member of the response.

TOTAL tells the sum; INDEXES also tells who used it: the table, or for a read of an index that index alone. Names are
written as they are: what may stand in a table's name, an ARN or an index's name needs no escaping in JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gramme.capacity import write_units
from gramme.commands import Written


def consumed_by_table(body: dict[str, Any], units: float) -> bytes | None:
    """The member for a request that touched the table, or None if it was not asked for."""
    detail = body.get("ReturnConsumedCapacity")
    if detail is None or detail == "NONE":
        return None
    breakdown = f',"Table":{{"CapacityUnits":{units}}}' if detail == "INDEXES" else ""
    return _member(body, units, breakdown)


def consumed_by_index(body: dict[str, Any], units: float) -> bytes | None:
    """Likewise for a read of a global index."""
    detail = body.get("ReturnConsumedCapacity")
    if detail is None or detail == "NONE":
        return None
    breakdown = ""
    if detail == "INDEXES":
        index = f'{{"{body["IndexName"]}":{{"CapacityUnits":{units}}}}}'
        breakdown = f',"GlobalSecondaryIndexes":{index}'
    return _member(body, units, breakdown)


def consumed_by_tables(body: dict[str, Any], units_by_name: Mapping[str, float]) -> bytes | None:
    """Likewise for a batch, which may have touched several tables."""
    detail = body.get("ReturnConsumedCapacity")
    if detail is None or detail == "NONE":
        return None
    told = (
        _capacity(
            name, units, f',"Table":{{"CapacityUnits":{units}}}' if detail == "INDEXES" else ""
        )
        for name, units in units_by_name.items()
    )
    return f'"ConsumedCapacity":[{",".join(told)}]'.encode()


def answer_to_write(body: dict[str, Any], written: Written) -> bytes:
    """The whole response of PutItem, UpdateItem and DeleteItem."""
    attributes = written.attributes
    if body.get("ReturnConsumedCapacity") is None:
        return b"{}" if attributes is None else b'{"Attributes":' + attributes + b"}"
    members = [] if attributes is None else [b'"Attributes":' + attributes]
    # A write is charged for the larger of the two images.
    units = write_units(max(written.old_size, written.new_size))
    consumed = consumed_by_table(body, units)
    if consumed is not None:
        members.append(consumed)
    return b"{" + b",".join(members) + b"}"


def _member(body: dict[str, Any], units: float, breakdown: str) -> bytes:
    return f'"ConsumedCapacity":{_capacity(body["TableName"], units, breakdown)}'.encode()


def _capacity(name: str, units: float, breakdown: str) -> str:
    return f'{{"TableName":"{name}","CapacityUnits":{units}{breakdown}}}'
