"""DeleteTable: a table and all its items."""

from __future__ import annotations

from typing import Any

from gramme.commands import DeleteTable
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.description import describe
from gramme.router.operations.tables import find_described_table
from gramme.router.validation.interpreter import validate


async def delete_table(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("DeleteTable", body)
    table = find_described_table(context, caller, body["TableName"]).table
    command = DeleteTable(table.account, table.region, table.name)
    deleted = await context.nodes.administer(command)
    return describe(deleted, "DELETING", "TableDescription")
