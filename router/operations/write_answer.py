"""The response of PutItem, UpdateItem and DeleteItem."""

from __future__ import annotations

from typing import Any

from gramme.commands import Written
from gramme.model.table import Table
from gramme.router.operations.consumed import consumed, is_asked_for, used_by_write


def asks_index_units(body: dict[str, Any], table: Table) -> bool:
    """Whether the node must find out what a write costs in the table's indexes."""
    return is_asked_for(body) and bool(table.indexes or table.local_indexes)


def answer_to_write(
    body: dict[str, Any], written: Written, collection_metrics: bytes | None = None
) -> bytes:
    """`collection_metrics` is the member of that name, if there is one."""
    attributes = written.attributes
    if body.get("ReturnConsumedCapacity") is None and collection_metrics is None:
        return b"{}" if attributes is None else b'{"Attributes":' + attributes + b"}"
    members = [] if attributes is None else [b'"Attributes":' + attributes]
    if collection_metrics is not None:
        members.append(collection_metrics)
    if is_asked_for(body):
        members.append(consumed(body, used_by_write(written)))
    return b"{" + b",".join(members) + b"}"
