"""How a node with an empty directory becomes part of its cluster: as one of those that begin it, or in a lost one's place.

The nodes of a new cluster begin meta together, as its first voters. A node that has lost its disk has the same number and an
empty directory too, but it must not vote as if it were the one before. The two are told apart by asking: a node begins
meta only when *every* other node has written down, durably, that this number has this directory. So before anybody votes,
everybody knows everybody; and of a node that comes back with another directory any single one of the others knows that
it was somebody else. Then it is for meta to let it in, with a replica id of meta of its own, and until meta's leader
has sent it a snapshot it has no part in anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from gramme.codec.join import Welcome
from gramme.links.api import Refused
from gramme.node.engine.api import Engine, Family, Row
from gramme.node.engine.keyspace import incomplete_key
from gramme.node.founding import first_meta_rows
from gramme.node.group_log import Position, load_position
from gramme.node.members import MemberRecord, Members
from gramme.node.meta import META_GROUP
from gramme.node.raft.messages import Configuration, HardState, ReplicaId
from gramme.node.snapshots import Incomplete, load_incomplete

ASK_AGAIN_S = 0.2
# So often it is said what a node waits for; the first time after as long.
SAY_EVERY_S = 5.0
# A node that is killed and wiped may seem to run for a while, until its streams are found to be broken.
SEEMS_TO_RUN_S = 15.0


def replica_of_meta(engine: Engine) -> int:
    """The id of this node's replica of meta. To be asked when it has joined."""
    position = load_position(engine, META_GROUP)
    mark = load_incomplete(engine, META_GROUP)
    if position is None and mark is not None:
        position = mark.position
    assert position is not None, "the node has not joined"
    return position.replica


class Unanswered(Exception):
    """A node could not be asked; the message says why in a few words."""


# Asks a node whether it knows this one. Raises Unanswered, and Refused.
Ask = Callable[[int], Awaitable[Welcome]]


class MetaMembers(Protocol):
    """Meta, as this module sees it."""

    async def admit(self, number: int, directory: str) -> MemberRecord: ...


async def welcome(members: Members, number: int, directory: str) -> Welcome:
    """Answer a node that asks whether it is known, as far as that can be said without meta's leader. Raises Refused."""
    await members.meet(number, directory)
    record = members.record(number)
    known = members.directory_of(number) == directory
    return Welcome(known, record.replica if known and record is not None else 0)


class Joining:
    """`say` tells a person what is waited for."""

    def __init__(
        self, engine: Engine, members: Members, ask: Ask, say: Callable[[str], None]
    ) -> None:
        self._engine = engine
        self._members = members
        self._ask = ask
        self._say = say
        self._others = [number for number in members.addresses if number != members.number]

    async def run(self) -> None:
        """Return when this node has its first rows. Raises Refused if it is not wanted."""
        if load_position(self._engine, META_GROUP) or load_incomplete(self._engine, META_GROUP):
            return
        loop = asyncio.get_running_loop()
        began = said = loop.time()
        while True:
            answers = await asyncio.gather(*map(self._asked, self._others))
            if await self._decide([answer for answer in answers if isinstance(answer, Welcome)]):
                return
            now = loop.time()
            refusal = next((answer for answer in answers if isinstance(answer, Refused)), None)
            if refusal is not None and now - began >= SEEMS_TO_RUN_S:
                raise refusal
            if now - said >= SAY_EVERY_S:
                said = now
                self._say(self._waits_for(answers))
            await asyncio.sleep(ASK_AGAIN_S)

    async def _asked(self, number: int) -> Welcome | Unanswered | Refused:
        try:
            return await self._ask(number)
        except (Unanswered, Refused) as error:
            return error

    async def _decide(self, welcomes: list[Welcome]) -> bool:
        """Write what can be written after these answers. Returns whether that was all."""
        here = self._members.number
        for answer in welcomes:
            if answer.replica not in (0, here):
                await self._members.keep([_newcomer(answer.replica)])
                return True
        if len(welcomes) < len(self._others) or not all(answer.known for answer in welcomes):
            return False
        await self._members.keep(first_meta_rows(here, sorted(self._members.addresses)))
        return True

    def _waits_for(self, answers: list[Welcome | Unanswered | Refused]) -> str:
        by_node = dict(zip(self._others, answers, strict=True))
        reasons = [
            f"node {number}: {answer}" if isinstance(answer, Exception) else ""
            for number, answer in by_node.items()
        ]
        if any(isinstance(answer, Welcome) and not answer.known for answer in answers):
            why = "its number had another data directory, so the others must agree to let it in"
        else:
            why = "the nodes of a new cluster begin together, and not all have answered"
        return "; ".join([why, *filter(None, reasons)])


def _newcomer(replica: int) -> Row:
    """What makes a replica of meta that is to be given a snapshot."""
    nowhere = Position(ReplicaId(replica), 0, 0, Configuration(()), {})
    mark = Incomplete(nowhere, HardState())
    return Row(Family.RAFT, incomplete_key(META_GROUP), msgspec.msgpack.encode(mark))
