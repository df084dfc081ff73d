"""What meta is asked to do. Whoever leads it does that, one thing at a time."""

from __future__ import annotations

from gramme.codec.principals import (
    AddPrincipal,
    ListPrincipals,
    PrincipalsCommand,
    RemovePrincipal,
)
from gramme.commands import Administration, CreateTable
from gramme.errors import GrammeError, NotLeader, ValidationError
from gramme.model.principal import Holder
from gramme.model.table import Table
from gramme.node.meta_copy import MetaCopy

# Of a new table: more than any router asks for.
PARTITIONS_MAX = 1_024


async def administer(copy: MetaCopy, command: Administration) -> Table:
    """Make, change or delete a table. Raises NotLeader where meta is not led from here."""
    async with copy.meta.lock:
        if not copy.leads:
            raise NotLeader(copy.leader_node)
        try:
            _check(command)
            return await copy.meta.administer(command)
        except GrammeError:
            # It tells of tables as they are known here. Whoever leads no more may not know of it.
            await copy.confirm()
            raise


def _check(command: Administration) -> None:
    """Raises ValidationError for what no router asks for."""
    if isinstance(command, CreateTable) and not 1 <= command.partitions <= PARTITIONS_MAX:
        raise ValidationError(f"partitions must be from 1 to {PARTITIONS_MAX}")


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
