"""Which writes were done under which request ids, and what was answered: so that none is done twice.

A router that hears nothing of a write asks again under the same id. The row of an id is in the batch of what the write did,
begins as the item's does, with the table and the token, and is kept longer than any router goes on asking. An id that has
no row did nothing: a write that changed nothing or was refused may be evaluated again, as long as its router asks. After that
the term it is meant for keeps it from being done; see `docs/replication.md`.
"""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import Protocol

import msgspec

from gramme.clock import Clock
from gramme.commands import Written
from gramme.node.engine.api import Engine, Family, Operation, Row
from gramme.node.engine.keyspace import ReplicaSettings, token_bound
from gramme.node.overlay import Overlay
from gramme.node.proposals import Round
from gramme.partitions import TOKEN_BYTES

KEPT_MS = 600_000
# Under a millisecond of looking at rows.
SLICE_ROWS = 500
# All ids of a group are looked at about as often as this.
SWEEP_S = 60.0
SLICE_PAUSE_S = 0.02


class _Done(msgspec.Struct, frozen=True, array_like=True, gc=False):
    at_ms: int
    written: Written


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Done)


class RequestIds:
    """The ids of one partition's writes: those on disk, and those under way."""

    def __init__(self, engine: Engine, clock: Clock, prefix: bytes) -> None:
        self._engine = engine
        self._clock = clock
        self._prefix = prefix
        # As with the rows of items.
        self._under_way: Overlay[tuple[Written, Round]] = Overlay()

    def find(self, id: bytes, key: bytes) -> tuple[Written, Round | None] | None:
        """What was answered to the write of this id, and the round that it is still waiting for."""
        under_way = self._under_way.get(id)
        if under_way is not None:
            return under_way
        raw = self._engine.get(Family.DEDUPE, self._prefix + key[:TOKEN_BYTES] + id)
        return None if raw is None else (_decoder.decode(raw).written, None)

    def row(self, id: bytes, key: bytes, written: Written) -> Row:
        done = _encoder.encode(_Done(self._clock.now_ms(), written))
        return Row(Family.DEDUPE, self._prefix + key[:TOKEN_BYTES] + id, done)

    def propose(self, id: bytes, written: Written, round: Round) -> None:
        self._under_way.proposed[id] = written, round

    def take(self) -> None:
        self._under_way.take()

    def settled(self) -> None:
        self._under_way.settled()

    def clear(self) -> None:
        self._under_way.clear()


class Proposer(Protocol):
    """The replica, as the sweeper sees it."""

    settings: ReplicaSettings
    table_id: int

    def propose_rows(self, operations: list[Operation]) -> Round: ...


class Sweeper:
    """Forgets ids that nobody will ask for any more. Runs while its replica leads."""

    def __init__(self, engine: Engine, clock: Clock, replica: Proposer) -> None:
        self._engine = engine
        self._clock = clock
        self._replica = replica

    async def run(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            await self.sweep()

    async def sweep(self) -> None:
        settings, table_id = self._replica.settings, self._replica.table_id
        position = token_bound(table_id, settings.start)
        upper = token_bound(table_id, settings.last + 1)
        expired_at_ms = self._clock.now_ms() - KEPT_MS
        while True:
            rows = list(islice(self._engine.scan(Family.DEDUPE, position, upper), SLICE_ROWS))
            expired: list[Operation] = [
                Row(Family.DEDUPE, key, None)
                for key, raw in rows
                if _decoder.decode(raw).at_ms < expired_at_ms
            ]
            if expired:
                await self._replica.propose_rows(expired).flushed
            if len(rows) < SLICE_ROWS:
                return
            position = rows[-1][0] + b"\0"
            await asyncio.sleep(SLICE_PAUSE_S)
