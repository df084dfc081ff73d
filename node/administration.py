"""What meta is asked to do. Whoever leads it does that, one thing at a time."""

from __future__ import annotations

from gramme.commands import Administration, AlterTable, CreateTable, DeleteTable
from gramme.errors import GrammeError, NotLeader, ValidationError
from gramme.model.table import Table
from gramme.node.meta import Meta
from gramme.node.meta_copy import MetaCopy

# Of a new table: more than any router asks for.
PARTITIONS_MAX = 1_024


async def administer(copy: MetaCopy, command: Administration) -> Table:
    """Make, change or delete a table. Raises NotLeader where meta is not led from here."""
    async with copy.meta.lock:
        if not copy.leads:
            raise NotLeader(copy.leader_node)
        try:
            return await _administer(copy.meta, command)
        except GrammeError:
            # It tells of tables as they are known here. Whoever leads no more may not know of it.
            await copy.confirm()
            raise


async def _administer(meta: Meta, command: Administration) -> Table:
    match command:
        case CreateTable():
            if not 1 <= command.partitions <= PARTITIONS_MAX:
                raise ValidationError(f"partitions must be from 1 to {PARTITIONS_MAX}")
            return (await meta.create(command)).table
        case AlterTable():
            return (await meta.alter(command)).table
        case DeleteTable():
            record = meta.find(command)
            await meta.delete(record).flushed
            return record.table
