"""DeleteTable: a table and all its items."""

from __future__ import annotations

from typing import Any

from gramme.commands import DeleteTable
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.description import Measured, describe
from gramme.router.operations.tables import bare_name
from gramme.router.validation.interpreter import validate


async def delete_table(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("DeleteTable", body)
    now_ms, delay_ms = context.clock.now_ms(), context.table_delay_ms
    settles_at_ms = now_ms + delay_ms if delay_ms else 0
    command = DeleteTable(*caller, bare_name(caller, body["TableName"]), settles_at_ms)
    deleted = await context.nodes.administer(command)
    return describe(deleted, "DELETING", "TableDescription", Measured(now_ms))
