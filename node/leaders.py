"""Asking the leader of a group, whichever node that is on."""

from __future__ import annotations

import asyncio

from gramme.commands import GetFeed, IndexWrite, Result
from gramme.errors import GrammeError, SeamError, StaleSource
from gramme.node.hosting import Hosting
from gramme.node.table_records import FIRST_EPOCH
from gramme.node.transport import Transport

# How often a group whose leader is not known is asked again.
RETRY_S = 0.05


class Leaders:
    """`number` is that of this node."""

    def __init__(self, number: int, transport: Transport, hosting: Hosting) -> None:
        self._number = number
        self._transport = transport
        self._hosting = hosting

    async def send(self, group: int, write: IndexWrite) -> None:
        """Give rows to a group of an index. Returns when they are durable, or the index is gone. Raises StaleSource."""
        await self.ask(group, write)

    async def ask(self, group: int, command: IndexWrite | GetFeed) -> Result:
        """Ask whoever leads, whenever somebody does. Returns None if the group is gone.

        Raises StaleSource. Whatever else is refused may be granted later, or by another node.
        """
        while (placed := self._hosting.placement(group)) is not None:
            hosted = self._hosting.hosted.get(group)
            here = self._number
            nodes = (
                [here] if hosted is not None and hosted.consensus.serving else [*placed.values()]
            )
            for node in nodes:
                try:
                    if node != here:
                        return await self._ask_node(node, group, command)
                    if hosted is not None:
                        return await hosted.answer_node(command)
                except StaleSource:
                    raise
                except (GrammeError, SeamError):
                    continue
            await asyncio.sleep(RETRY_S)
        return None

    async def _ask_node(self, node: int, group: int, command: IndexWrite | GetFeed) -> Result:
        answer: Result = await self._transport.calls(node).ask(group, FIRST_EPOCH, True, command)
        return answer
