"""Changing what a table is said to be: working out the new definition, and putting it in the place of the old one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gramme.commands import AlterTable
from gramme.errors import TableChanged
from gramme.model.table import Table
from gramme.router.operations.context import Context

# Others may change the table between our reading and our writing it. After this many times the caller is told.
ATTEMPTS_MAX: Final = 20


async def alter(
    context: Context, find: Callable[[], Table], change: Callable[[Table], Table]
) -> tuple[Table, Table]:
    """The table before and after `change`, which may raise and must not have effects of its own."""
    for _ in range(ATTEMPTS_MAX - 1):
        try:
            return await _try(context, find(), change)
        except TableChanged:
            continue
    return await _try(context, find(), change)


async def _try(
    context: Context, before: Table, change: Callable[[Table], Table]
) -> tuple[Table, Table]:
    after = change(before)
    if after == before:
        return before, before
    command = AlterTable(before, after, context.partitions_per_table)
    return before, await context.nodes.administer(command)
