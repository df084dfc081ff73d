"""DescribeTable: what a table is, and how much is in it."""

from __future__ import annotations

from typing import Any

from gramme.router.operations.context import Caller, Context
from gramme.router.operations.description import describe, measure
from gramme.router.operations.tables import find_described_table
from gramme.router.validation.interpreter import validate


async def describe_table(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("DescribeTable", body)
    entry = find_described_table(context, caller, body["TableName"])
    return describe(entry.table, entry.table.status, "Table", await measure(context, entry))
