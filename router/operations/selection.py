"""Select: which attributes a Query or Scan returns, and whether the index it reads has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from gramme.commands import LocalRead
from gramme.errors import ValidationError
from gramme.expressions.condition import Condition
from gramme.expressions.projection import Projection
from gramme.model.table import Index, LocalIndex
from gramme.router.operations.target import Target

# Query says this before its complaints about Select; Scan does not.
QUERY_ENVELOPE: Final = "1 validation error detected: "
SCAN_ENVELOPE: Final = ""
_INVALID = "One or more parameter values were invalid: "


def check_select(body: dict[str, Any], envelope: str = QUERY_ENVELOPE) -> None:
    """What can be said of Select without the table."""
    select = body.get("Select")
    if select is None:
        return
    names = ("ProjectionExpression", "AttributesToGet")
    given = next((name for name in names if body.get(name) is not None), None)
    if given is not None:
        if select != "SPECIFIC_ATTRIBUTES":
            chosen = "only the Count" if select == "COUNT" else select
            raise ValidationError(
                f"{envelope}Cannot specify the {given} when choosing to get {chosen}"
            )
    elif select == "SPECIFIC_ATTRIBUTES":
        raise ValidationError(
            f"{envelope}Must specify the AttributesToGet or ProjectionExpression "
            "when choosing to get SPECIFIC_ATTRIBUTES"
        )
    if select == "ALL_PROJECTED_ATTRIBUTES" and body.get("IndexName") is None:
        raise ValidationError(
            f"{envelope}ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"
        )


def check_filter(target: Target, filter: Condition | None, *, is_older: bool = False) -> None:
    """A filter is for what the key condition cannot say, so it may not name the queried key.

    `is_older` tells that it was written as a QueryFilter.
    """
    if filter is None:
        return
    parameter = "QueryFilter" if is_older else "Filter Expression"
    for attribute in target.hashes + target.ranges:
        if attribute.name in filter.attributes:
            raise ValidationError(
                f"{parameter} can only contain non-primary key attributes: "
                f"Primary key attribute: {attribute.name}"
            )


def check_projected(
    target: Target, select: str | None, projection: Projection | None, filter: Condition | None
) -> None:
    """A global index has only what is projected into it, and never asks its table for the rest.

    A local index does, but only for what it shows: the filter of a query too must do with what is projected.
    """
    index = target.index
    if index is None or index.projection == "ALL":
        return
    check_all_attributes(target, select)
    missing = _missing(target, index, () if projection is None else projection.attributes)
    if missing and isinstance(index, Index):
        raise ValidationError(
            f"{_INVALID}Global secondary index {index.name} does not project [{missing}]"
        )
    missing = _missing(target, index, () if filter is None else filter.attributes)
    if missing:
        raise ValidationError(
            f"{_INVALID}Secondary index {index.name} "
            f"does not project one or more filter attributes: [{missing}]"
        )


def check_all_attributes(target: Target, select: str | None) -> None:
    index = target.index
    if select == "ALL_ATTRIBUTES" and isinstance(index, Index) and index.projection != "ALL":
        raise ValidationError(
            f"{_INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index "
            f"{index.name} because its projection type is not ALL"
        )


def local_read(
    target: Target, select: str | None, projection: Projection | None
) -> LocalRead | None:
    """How to read the local index that is the target, or None if it is none."""
    index = target.index
    if not isinstance(index, LocalIndex):
        return None
    if index.projection == "ALL":
        return LocalRead(index.id)
    if projection is not None:
        return LocalRead(index.id, bool(_missing(target, index, projection.attributes)))
    return LocalRead(index.id, select == "ALL_ATTRIBUTES")


def _missing(target: Target, index: Index | LocalIndex, names: Iterable[str]) -> str:
    projected = {*target.key_names, *index.non_key_attributes}
    return ", ".join(sorted(name for name in names if name not in projected))
