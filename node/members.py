"""Which data directory each node of the cluster has: a node that has lost its disk is another node, under the same number.

A node with a new directory has forgotten its votes and its part of every log. Taken for the one it was it could vote twice,
and what was acknowledged could be lost. So a node is known by its directory's random id, and its replicas belong to that
directory: they are gone with it, and ids of replicas are never used again.

Two rows say who is known. Nodes that meet while the cluster begins write down what they met, each for itself, before any
of them votes (`joining.py`). From then on meta has a record of every node, and a node with a new directory is let in by
a new record, which puts new replicas in the place of the old ones (`membership.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from gramme.links.api import NotYet, Refused
from gramme.node.aside import Aside
from gramme.node.engine.api import Engine, Family, Row, WriteStall
from gramme.node.engine.keyspace import member_key, node_key


class MemberRecord(msgspec.Struct, frozen=True, array_like=True):
    """Meta's row for a node. Replicas on it whose ids are lower than `since` were on the directory before, and are gone."""

    directory: str
    # The id of its replica of meta.
    replica: int
    since: int


def encode_member(record: MemberRecord) -> bytes:
    return msgspec.msgpack.encode(record)


class Members:
    """The nodes of the cluster as this one knows them. `addresses` has its own number, too.

    `disk_failed` is told of a write or a flush that failed, and does not come back in a real process.
    """

    def __init__(
        self,
        engine: Engine,
        number: int,
        directory: str,
        addresses: Mapping[int, str],
        disk_failed: Callable[[Exception], None],
    ) -> None:
        self.number = number
        self.directory = directory
        self.addresses = addresses
        self._engine = engine
        self._aside = Aside(engine, disk_failed)

    def record(self, number: int) -> MemberRecord | None:
        """What meta says of a node. None if it does not say anything yet."""
        raw = self._engine.get(Family.SYS, member_key(number))
        return None if raw is None else msgspec.msgpack.decode(raw, type=MemberRecord)

    def records(self) -> dict[int, MemberRecord]:
        found = {number: self.record(number) for number in self.addresses}
        return {number: record for number, record in found.items() if record is not None}

    def directory_of(self, number: int) -> str | None:
        record = self.record(number)
        if record is not None:
            return record.directory
        if number == self.number:
            return self.directory
        met = self._engine.get(Family.SYS, node_key(number))
        return None if met is None else met.decode()

    def _replica_of(self, number: int) -> int:
        """A node's replica of meta, as far as it is known. Those that meta begins with have the numbers of their nodes."""
        record = self.record(number)
        return number if record is None else record.replica

    def is_gone(self, replica: int, number: int) -> bool:
        """Whether a replica on this node was lost with a directory it had before."""
        record = self.record(number)
        return record is not None and replica < record.since

    def recognise(self, number: int, directory: str, replica: int = 0) -> None:
        """Let another node speak if it is the one it was, or has taken its place. Raises Refused.

        `replica` is its replica of meta. Meta gives a later one with every directory, and to nobody else, so whoever has one that
        is later than all that is known here has been let in since. It may lead meta, and be the only one to tell of that.
        """
        known = self.directory_of(number)
        if known is None:
            try:
                self._aside.write_now([Row(Family.SYS, node_key(number), directory.encode())])
            except WriteStall:
                # It dials or asks again, and by then there is room.
                raise NotYet("the disk is behind: who this is cannot be written down now") from None
        elif known != directory and replica <= self._replica_of(number):
            raise Refused(
                f"node {number} is known with another data directory. One that has lost its data is let in "
                "when it is started with an empty directory and most of the others run"
            )

    async def meet(self, number: int, directory: str) -> None:
        """Write down who has this number, if nobody is known to. It is durable when this returns. Raises Refused."""
        if number not in self.addresses or number == self.number:
            raise Refused(
                f"node {number} is not among the other nodes of this cluster, as node {self.number} was "
                "told them: all are to be started with the same list"
            )
        if self.directory_of(number) is None:
            self.recognise(number, directory)
            await self._aside.flush()

    async def keep(self, rows: list[Row]) -> None:
        """Write rows down for good, however long the engine is behind."""
        await self._aside.write(rows)
        await self._aside.flush()
