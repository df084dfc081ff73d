"""GlobalSecondaryIndexUpdates of an UpdateTable: indexes added, removed, and given other throughput."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from gramme.errors import LimitExceeded, ResourceNotFound, ValidationError
from gramme.model.table import Index, IndexPhase, Table
from gramme.router.operations.elastic_throughput import (
    change_limits,
    drop_limits,
    keep_warm,
    raise_warm,
    warm_units,
)
from gramme.router.operations.index_creation import read_creation
from gramme.router.operations.table_key import INVALID
from gramme.router.operations.throughput import read_throughput

_ACTIONS = ("Update", "Create", "Delete")


class IndexUpdate(NamedTuple):
    action: str
    name: str
    request: dict[str, Any]


def read_index_updates(body: dict[str, Any]) -> list[IndexUpdate]:
    """What can be checked without the table."""
    updates: list[IndexUpdate] = []
    for member in body.get("GlobalSecondaryIndexUpdates") or ():
        given = [action for action in _ACTIONS if member.get(action) is not None]
        if not given:
            raise ValidationError(
                f"{INVALID}One of GlobalSecondaryIndexUpdate.Update, "
                "GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        if len(given) > 1:
            raise ValidationError(
                f"{INVALID}Only one global secondary index action is allowed "
                "per GlobalSecondaryIndexUpdate object"
            )
        request = member[given[0]]
        updates.append(IndexUpdate(given[0], request["IndexName"], request))
    _check_once_each(updates)
    return updates


def _check_once_each(updates: Sequence[IndexUpdate]) -> None:
    seen: set[str] = set()
    for update in updates:
        if update.name in seen:
            raise ValidationError(
                f"{INVALID}Only one global secondary index update per index "
                f"is allowed simultaneously. Index: {update.name}"
            )
        seen.add(update.name)


def check_index_updates(table: Table, updates: Sequence[IndexUpdate]) -> None:
    """Refuse what cannot be done to the indexes that this table has."""
    if sum(update.action != "Update" for update in updates) > 1:
        raise one_at_a_time()
    for update in updates:
        index = table.index(update.name)
        if update.action == "Create":
            # For one that is not ACTIVE, DynamoDB has other words: those of `index_states`.
            is_there = index is not None and index.phase == "ACTIVE"
            if is_there or table.local_index(update.name) is not None:
                raise ValidationError("Attempting to create an index which already exists")
        elif table.local_index(update.name) is not None:
            verb = update.action.lower()
            raise ValidationError(
                f"Cannot {verb} an index that is not a GlobalSecondaryIndex: {update.name}"
            )
        elif index is None:
            raise ResourceNotFound(
                f"Requested resource not found: Index {update.name} for table {table.name}"
            )


def one_at_a_time() -> LimitExceeded:
    return LimitExceeded(
        "Subscriber limit exceeded: Only 1 online index can be created or deleted "
        "simultaneously per table"
    )


def read_creations(
    table: Table, body: dict[str, Any], updates: Sequence[IndexUpdate]
) -> list[Index]:
    is_provisioned = _will_be_provisioned(table, body.get("BillingMode"))
    return [
        read_creation(table, body, update.request, is_provisioned)
        for update in updates
        if update.action == "Create"
    ]


def begin_online(
    table: Table,
    updates: Sequence[IndexUpdate],
    created: Sequence[Index],
    now_ms: int,
    delay_ms: int,
) -> Table:
    """The table with new indexes, and with those that will go, in the first phase of that."""
    settles_at_ms = now_ms + delay_ms if delay_ms else 0
    phases: dict[str, IndexPhase] = {
        update.name: "DELETING" for update in updates if update.action == "Delete"
    }
    phases |= {index.name: "ALLOCATING" for index in created}
    indexes = tuple(
        replace(
            index,
            phase=phases[index.name],
            settles_at_ms=settles_at_ms,
            phase_lasts_ms=delay_ms,
        )
        if index.name in phases
        else index
        for index in (*table.indexes, *created)
    )
    return replace(table, indexes=indexes)


def update_indexes(
    table: Table, updates: Sequence[IndexUpdate], mode: str | None, now_ms: int
) -> tuple[Index, ...]:
    """The indexes after the updates. `mode` is the BillingMode that the request asks for, if any."""
    requests = {update.name: update.request for update in updates}
    is_provisioned = _will_be_provisioned(table, mode)
    return tuple(
        _update(index, requests.get(index.name, {}), mode, is_provisioned, now_ms)
        for index in table.indexes
    )


def _will_be_provisioned(table: Table, mode: str | None) -> bool:
    return mode == "PROVISIONED" or (mode is None and table.provisioned is not None)


def _update(
    index: Index, request: dict[str, Any], mode: str | None, is_provisioned: bool, now_ms: int
) -> Index:
    index = _change_units(index, request.get("ProvisionedThroughput"), mode, is_provisioned, now_ms)
    name, units = index.name, index.provisioned
    echo = change_limits(index.echo, is_provisioned, request.get("OnDemandThroughput"), name)
    return replace(index, echo=raise_warm(echo, units, request.get("WarmThroughput"), name))


def _change_units(
    index: Index,
    throughput: dict[str, int] | None,
    mode: str | None,
    is_provisioned: bool,
    now_ms: int,
) -> Index:
    if throughput is not None and not is_provisioned:
        raise _not_provisioned(index.name, mode)
    if throughput is None:
        if is_provisioned and index.provisioned is None:
            raise ValidationError(
                f"{INVALID}ProvisionedThroughput must be specified for index: {index.name}"
            )
        return index if is_provisioned else switch_index(index, None, now_ms)
    return switch_index(index, read_throughput(throughput), now_ms)


def switch_index(index: Index, units: tuple[int, int] | None, now_ms: int) -> Index:
    """Give an index other units, or none. What it was warm for it stays warm for."""
    old = index.provisioned
    if units is not None and units == old:
        raise unchanged(f"the index {index.name}", f"index {index.name}", units)
    if units is None and old is None:
        return index
    history = index.history
    if units is not None and old is not None:
        history = history.after(old, units, now_ms)
    echo = keep_warm(index.echo, warm_units(index.echo, old))
    if (units is None) != (old is None):
        echo = drop_limits(echo)
    return replace(index, provisioned=units, history=history, echo=echo)


def unchanged(of: str, provisioned_for: str, units: tuple[int, int]) -> ValidationError:
    shown = " ".join(
        f"Current {name} provisioned for {provisioned_for}: {number}. Requested {name}: {number}."
        for name, number in zip(("ReadCapacityUnits", "WriteCapacityUnits"), units, strict=True)
    )
    return ValidationError(
        f"The provisioned throughput for {of} will not change. "
        f"The requested value equals the current value. {shown} Refer to the Amazon DynamoDB "
        "Developer Guide for current limits and how to request higher limits."
    )


def _not_provisioned(index: str, mode: str | None) -> ValidationError:
    if mode is not None:
        return ValidationError(
            f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
            f"for index: {index} when BillingMode is PAY_PER_REQUEST"
        )
    return ValidationError(
        f"{INVALID}The only Updates for index: {index} when TableThroughputMode is "
        "PAY_PER_REQUEST can be to OnDemandThroughput, WarmThroughput"
    )
