"""Scan: all items of a table or an index, or of one segment of it, in the order of their tokens."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from gramme.commands import PAGE_SIZE_MAX, PAGE_STORED_BYTES_MAX, Page, Scan
from gramme.errors import ValidationError
from gramme.expressions.condition import Condition
from gramme.expressions.placeholders import Placeholders
from gramme.expressions.projection import Projection
from gramme.model.item import Item, Values
from gramme.partitions import TOKEN_BYTES, segment_range
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.expressions import ExpressionReader, check_scalar_keys
from gramme.router.operations.legacy.filters import read_older
from gramme.router.operations.page_answer import answer_with_page
from gramme.router.operations.parameters import Parameters
from gramme.router.operations.selection import (
    SCAN_ENVELOPE,
    check_all_attributes,
    check_projected,
    check_select,
    local_read,
)
from gramme.router.operations.start_key import (
    check_queried_part,
    check_segment,
    check_table_part,
    normalise_start_key,
    start_row_of_scan,
)
from gramme.router.operations.target import Target, find_target
from gramme.router.validation.interpreter import validate

PARAMETERS = Parameters(
    ("ProjectionExpression", "FilterExpression"),
    ("AttributesToGet", "ScanFilter", "ConditionalOperator"),
)
# Partitions to look into, most of them empty then, before others get a turn of the loop.
PARTITIONS_PER_TURN = 16


class Segment(NamedTuple):
    """The part of the token space that is scanned: number `segment` of `total`."""

    segment: int = 0
    total: int = 1


class Expressions(NamedTuple):
    filter: Condition | None
    projection: Projection | None


async def scan(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("Scan", body)
    has_older = PARAMETERS.check(body)
    check_select(body, SCAN_ENVELOPE)
    older = read_older(body, "ScanFilter") if has_older else None
    start_key = normalise_start_key(body)
    segment = _read_segment(body)
    expressions = EXPRESSIONS.read(body)
    values = body.get("ExpressionAttributeValues") or {}
    if older is not None:
        expressions, values = Expressions(older.filter, older.projection), older.values
    target = find_target(context, caller, body)
    start = None
    if start_key is not None:
        start = _start(context.catalog.seed, target, body, start_key, segment)
    filter, projection = expressions
    check_scalar_keys(target.table, projection)
    # Unlike that of a Query, the filter may name what the index does not project, and finds it missing.
    check_projected(target, body.get("Select"), projection, None)
    check_scalar_keys(target.table, filter)
    page = await _read_page(context, target, body, expressions, values, segment, start)
    return answer_with_page(body, target, page)


def _read_segment(body: dict[str, Any]) -> Segment:
    segment, total = body.get("Segment"), body.get("TotalSegments")
    if total is None:
        if segment is None:
            return Segment()
        raise ValidationError(
            "The TotalSegments parameter is required but was not present in the request "
            "when Segment parameter is present"
        )
    if segment is None:
        raise ValidationError(
            "The Segment parameter is required but was not present in the request "
            "when parameter TotalSegments is present"
        )
    if segment >= total:
        raise ValidationError(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {segment} is not less than TotalSegments: {total}"
        )
    return Segment(segment, total)


def _read_expressions(placeholders: Placeholders, body: dict[str, Any]) -> Expressions:
    filter = projection = None
    if (text := body.get("FilterExpression")) is not None:
        filter = placeholders.condition(text, "FilterExpression")
    if (text := body.get("ProjectionExpression")) is not None:
        projection = placeholders.projection(text)
    return Expressions(filter, projection)


EXPRESSIONS = ExpressionReader(("FilterExpression", "ProjectionExpression"), _read_expressions)


def _start(seed: bytes, target: Target, body: dict[str, Any], key: Item, segment: Segment) -> bytes:
    """The row after which to go on, checked in the order in which DynamoDB finds fault with it."""
    if target.index is not None:
        check_queried_part(target, key)
        check_all_attributes(target, body.get("Select"))
    check_table_part(target, key)
    row = start_row_of_scan(seed, target, key)
    check_segment(row, *segment)
    return row


async def _read_page(
    context: Context,
    target: Target,
    body: dict[str, Any],
    expressions: Expressions,
    values: Values,
    segment: Segment,
    start: bytes | None,
) -> Page:
    """One page, from as many partitions as it takes to fill it: no client may notice where one ends."""
    first, last = segment_range(*segment)
    if start is not None:
        first = int.from_bytes(start[:TOKEN_BYTES])
    limit = body.get("Limit")
    local = local_read(target, body.get("Select"), expressions.projection)
    items: list[bytes] = []
    count = scanned = size = stored_bytes = fetched_size = fetched_blocks = 0
    last_key = None
    for number, partition in enumerate(target.partitions.between(first, last), 1):
        if not number % PARTITIONS_PER_TURN:
            await asyncio.sleep(0)
        command = Scan(
            max(first, partition.start),
            min(last, partition.last),
            target.key_names,
            PAGE_SIZE_MAX - size - fetched_size,
            PAGE_STORED_BYTES_MAX - stored_bytes,
            start,
            None if limit is None else limit - scanned,
            body.get("ConsistentRead") is True,
            expressions.filter,
            values,
            expressions.projection,
            body.get("Select") == "COUNT",
            local,
        )
        page = await context.nodes.scan(partition, command)
        items += page.items
        count += page.count
        scanned += page.scanned
        size += page.size
        stored_bytes += page.stored_bytes
        fetched_size += page.fetched_size
        fetched_blocks += page.fetched_blocks
        last_key = page.last_key
        if last_key is not None:
            break
    return Page(items, count, scanned, size, last_key, stored_bytes, fetched_size, fetched_blocks)
