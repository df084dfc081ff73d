"""What meta is asked to do. Whoever leads it does that, one thing at a time."""

from __future__ import annotations

from gramme.codec.principals import (
    AddPrincipal,
    ListPrincipals,
    PrincipalsCommand,
    RemovePrincipal,
)
from gramme.commands import Administration, AlterTable, CreateTable, DeleteTable
from gramme.errors import GrammeError, NotLeader, ValidationError
from gramme.model.principal import Holder
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


async def administer_principals(copy: MetaCopy, command: PrincipalsCommand) -> list[Holder]:
    """All principals there are once the command is done. Raises NotLeader where meta is not led from here."""
    async with copy.meta.lock:
        # Who leads no more may not know of the newest ones.
        await copy.confirm()
        principals = copy.meta.principals
        match command:
            case AddPrincipal():
                await principals.add(command.principal)
            case RemovePrincipal():
                await principals.remove(command.access_key)
            case ListPrincipals():
                pass
        return [principal.holder for principal in principals.all()]
