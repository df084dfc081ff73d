"""What UpdateTable may not do while an index of the table is being added or removed, or the table itself updated.

An index that is added is first given its resources, and the table is UPDATING; then it is filled, and the table is ACTIVE
again. Much that is refused in the first state is allowed in the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gramme.errors import STILL_IN_USE, LimitExceeded, ResourceInUse
from gramme.model.table import Index, Table
from gramme.router.operations.index_updates import IndexUpdate, one_at_a_time
from gramme.router.operations.table_indexes import INDEXES_MAX


def check_index_states(table: Table, body: dict[str, Any], updates: Sequence[IndexUpdate]) -> None:
    online = [update for update in updates if update.action != "Update"]
    unsettled = table.unsettled_index
    if unsettled is not None:
        _check_same_index(table, unsettled, updates)
        _check_throughput(table, unsettled, body)
    if online and table.status == "UPDATING":
        raise ResourceInUse(
            f"{STILL_IN_USE}Can't create or delete indexes while table IOPS are being updated. "
            f"Table: {table.name}"
        )
    if unsettled is not None and any(update.name != unsettled.name for update in online):
        raise one_at_a_time()
    if any(update.action == "Create" for update in online) and len(table.indexes) >= INDEXES_MAX:
        raise LimitExceeded(
            "Subscriber limit exceeded: Number of global secondary indexes "
            f"exceeds per-table limit of {INDEXES_MAX}"
        )


def _check_same_index(table: Table, index: Index, updates: Sequence[IndexUpdate]) -> None:
    update = next((update for update in updates if update.name == index.name), None)
    if update is None:
        return
    where = f"Table: {table.name} Index: {index.name}"
    if index.phase == "DELETING":
        raise ResourceInUse(f"{STILL_IN_USE}Index is being deleted. {where}")
    if update.action == "Create":
        raise ResourceInUse(f"{STILL_IN_USE}Index is being created.  {where}")
    if index.phase == "BACKFILLING":
        return
    if update.action == "Update":
        raise ResourceInUse(
            f"{STILL_IN_USE}Index is being created but is not backfilling yet.  {where}"
        )
    raise ResourceInUse(
        f"{STILL_IN_USE}Index creation is in resource allocation phase. Retry deletion "
        f"during backfilling phase or when the index is active. {where}"
    )


def _check_throughput(table: Table, index: Index, body: dict[str, Any]) -> None:
    """That of the table, which the indexes have a part in."""
    if index.phase == "BACKFILLING":
        return
    if body.get("ProvisionedThroughput") is not None or (
        body.get("BillingMode") == "PAY_PER_REQUEST" and table.provisioned is not None
    ):
        done = "deleted" if index.phase == "DELETING" else "created"
        raise ResourceInUse(
            f"{STILL_IN_USE}Can't change table IOPS when an index is being {done}. "
            f"Table: {table.name} Indexes: [{index.name}]"
        )
    if body.get("OnDemandThroughput") is not None:
        what = "deletion" if index.phase == "DELETING" else "creation"
        raise ResourceInUse(
            f"{STILL_IN_USE}OnDemandThroughput cannot be updated while index {what} is in progress "
            f"for indexes: [{index.name}]"
        )
