"""UpdateTable: changes what a table is said to be, and which global indexes it has. Its items stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from gramme.errors import STILL_IN_USE, ResourceInUse, ValidationError
from gramme.model.table import Table, TableStatus
from gramme.router.operations.alteration import alter
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.description import describe, measure
from gramme.router.operations.elastic_throughput import (
    change_limits,
    drop_limits,
    keep_warm,
    raise_warm,
    warm_units,
)
from gramme.router.operations.encryption import change_encryption, read_encryption
from gramme.router.operations.index_states import check_index_states
from gramme.router.operations.index_updates import (
    IndexUpdate,
    begin_online,
    check_index_updates,
    read_creations,
    read_index_updates,
    unchanged,
    update_indexes,
)
from gramme.router.operations.table_key import INVALID
from gramme.router.operations.tables import find_described_table
from gramme.router.operations.throughput import read_throughput
from gramme.router.operations.update_rules import check_update
from gramme.router.validation.interpreter import validate

# What makes a table UPDATING; everything else is done when it is answered.
_SLOW = ("ProvisionedThroughput", "BillingMode", "TableClass")


async def update_table(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("UpdateTable", body)
    check_update(body)
    updates = read_index_updates(body)
    if body.get("ProvisionedThroughput") is not None:
        read_throughput(body["ProvisionedThroughput"])
    read_encryption(body.get("SSESpecification"))
    now_ms = context.clock.now_ms()
    slow = any(body.get(name) is not None for name in _SLOW)
    delay_ms = context.table_delay_ms

    def change(table: Table) -> Table:
        _check_state(table, body)
        check_index_updates(table, updates)
        created = read_creations(table, body, updates)
        check_index_states(table, body, updates)
        changed = _change(table, body, updates, now_ms)
        if slow and delay_ms and changed != table:
            changed = replace(changed, status="UPDATING", settles_at_ms=now_ms + delay_ms)
        return begin_online(changed, updates, created, now_ms, delay_ms)

    def find() -> Table:
        return find_described_table(context, caller, body["TableName"]).table

    before, after = await alter(context, find, change)
    status: TableStatus = "UPDATING" if slow else after.status
    measured = await measure(context, find_described_table(context, caller, after.name))
    return describe(_shown(before, after), status, "TableDescription", measured)


def _shown(before: Table, after: Table) -> Table:
    """DynamoDB answers with the units and the class from before, unless the table is new to being provisioned."""
    if before.provisioned is None:
        return replace(after, echo=_with_class_of(before, after))
    old = {index.name: index for index in before.indexes}
    indexes = tuple(
        replace(index, provisioned=old[index.name].provisioned, history=old[index.name].history)
        if index.name in old
        else index
        for index in after.indexes
    )
    return replace(
        after,
        provisioned=before.provisioned,
        history=before.history,
        on_demand_at_ms=before.on_demand_at_ms,
        indexes=indexes,
        echo=_with_class_of(before, after),
    )


def _with_class_of(before: Table, after: Table) -> dict[str, Any]:
    names = ("TableClass", "TableClassSummary")
    kept = {name: value for name, value in after.echo.items() if name not in names}
    return kept | {name: before.echo[name] for name in names if name in before.echo}


def _check_state(table: Table, body: dict[str, Any]) -> None:
    match table.status:
        case "CREATING":
            raise ResourceInUse(f"{STILL_IN_USE}Table is being created: {table.name}")
        case "DELETING":
            raise ResourceInUse(f"{STILL_IN_USE}Table is being deleted: {table.name}")
        case "UPDATING" if body.get("TableClass") is not None:
            raise ResourceInUse(f"{STILL_IN_USE}Table is being updated: {table.name}")
        case "UPDATING" if body.get("ProvisionedThroughput") is not None or (
            body.get("BillingMode") == "PAY_PER_REQUEST" and table.provisioned is not None
        ):
            raise ResourceInUse(
                f"{STILL_IN_USE}Table IOPS are currently being updated. Table: {table.name}"
            )


def _change(
    table: Table, body: dict[str, Any], updates: Sequence[IndexUpdate], now_ms: int
) -> Table:
    """The table after the request. Raises what DynamoDB says of a request that does not go with the table."""
    mode, throughput = body.get("BillingMode"), body.get("ProvisionedThroughput")
    if throughput is not None:
        table = _change_units(table, read_throughput(throughput), mode, updates, now_ms)
    elif mode == "PAY_PER_REQUEST" or updates:
        indexes = update_indexes(table, updates, mode, now_ms)
        table = replace(table, indexes=indexes)
        if mode is not None and table.provisioned is not None:
            table = _switch(table, None, now_ms)
    is_provisioned = table.provisioned is not None
    if body.get("OnDemandThroughput") is not None:
        echo = change_limits(table.echo, is_provisioned, body["OnDemandThroughput"], None)
        table = replace(table, echo=echo)
    if body.get("WarmThroughput") is not None:
        echo = raise_warm(table.echo, table.provisioned, body["WarmThroughput"], None)
        table = replace(table, echo=echo)
    if body.get("SSESpecification") is not None:
        table = change_encryption(table, body["SSESpecification"])
    if body.get("TableClass") is not None:
        table = _change_class(table, body["TableClass"], now_ms)
    if body.get("DeletionProtectionEnabled") is not None:
        table = replace(table, deletion_protection=body["DeletionProtectionEnabled"])
    return table


def _change_units(
    table: Table,
    units: tuple[int, int],
    mode: str | None,
    updates: Sequence[IndexUpdate],
    now_ms: int,
) -> Table:
    if mode is None and table.provisioned is None:
        raise ValidationError(
            f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
            "when BillingMode is PAY_PER_REQUEST"
        )
    if units == table.provisioned:
        raise unchanged("the table", "the table", units)
    indexes = update_indexes(table, updates, mode, now_ms)
    return _switch(replace(table, indexes=indexes), units, now_ms)


def _switch(table: Table, units: tuple[int, int] | None, now_ms: int) -> Table:
    """Give a table other units, or none. What it was warm for it stays warm for."""
    old = table.provisioned
    echo = keep_warm(table.echo, warm_units(table.echo, old))
    history, on_demand_at_ms = table.history, table.on_demand_at_ms
    if units is None:
        on_demand_at_ms = now_ms
    elif old is None:
        echo = drop_limits(echo)
        on_demand_at_ms = on_demand_at_ms or table.created_at_ms
    else:
        history = history.after(old, units, now_ms)
    return replace(
        table, provisioned=units, history=history, on_demand_at_ms=on_demand_at_ms, echo=echo
    )


def _change_class(table: Table, wanted: str, now_ms: int) -> Table:
    echo = table.echo
    summary = echo.get("TableClassSummary") or {"TableClass": echo.get("TableClass", "STANDARD")}
    if summary["TableClass"] == wanted:
        return table
    changed = {"TableClass": wanted, "LastUpdateDateTime": now_ms / 1000}
    kept = {name: value for name, value in echo.items() if name != "TableClass"}
    return replace(table, echo=kept | {"TableClassSummary": changed})
