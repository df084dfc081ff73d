"""Who may ask the cluster, in rows of meta: one for each access key, its secret in it.

A signature can only be verified by who has the secret, so that is kept as it is. It leaves a node for other nodes, in meta's
log and snapshots, and for routers, in news.
"""

from __future__ import annotations

from collections.abc import Callable

from gramme.codec.key import successor
from gramme.errors import LimitExceeded, ResourceInUse
from gramme.model.principal import Principal
from gramme.node.engine.api import Engine, Family, Operation, Row
from gramme.node.engine.keyspace import (
    SYS_PRINCIPALS,
    decode_principal,
    encode_principal,
    principal_key,
)
from gramme.node.proposals import Round

# Every router is told of all of them whenever one changes: 200 KB, which take it some milliseconds.
PRINCIPALS_MAX = 1_000


class Principals:
    """Those that are applied here. `propose` puts rows into meta's log; whoever calls what does holds meta's lock."""

    def __init__(self, engine: Engine, propose: Callable[[list[Operation]], Round]) -> None:
        self._engine = engine
        self._propose = propose
        # By their rows' keys, each beside what it was read from.
        self._rows: dict[bytes, tuple[bytes, Principal]] = {}

    def load(self) -> None:
        """The rows may have changed."""
        before, self._rows = self._rows, {}
        for key, raw in self._engine.scan(Family.SYS, SYS_PRINCIPALS, successor(SYS_PRINCIPALS)):
            known = before.get(key)
            if known is None or known[0] != raw:
                known = raw, decode_principal(raw)
            self._rows[key] = known

    def all(self) -> list[Principal]:
        return [principal for _, principal in self._rows.values()]

    async def add(self, principal: Principal) -> None:
        """Raises ResourceInUse if the access key is somebody else's, and LimitExceeded."""
        key = principal_key(principal.access_key)
        if key in self._rows:
            if self._rows[key][1] != principal:
                raise ResourceInUse(f"{principal.access_key} is another principal's")
            # Whoever asks did not hear that it was done.
            return
        if len(self._rows) >= PRINCIPALS_MAX:
            raise LimitExceeded(
                f"there are {len(self._rows)} access keys, which is as many as there may be"
            )
        await self._propose([Row(Family.SYS, key, encode_principal(principal))]).flushed

    async def remove(self, access_key: str) -> None:
        key = principal_key(access_key)
        if key in self._rows:
            await self._propose([Row(Family.SYS, key, None)]).flushed


class PrincipalNews:
    """All principals, and since which index of meta's log they have been seen as they are."""

    def __init__(self) -> None:
        self._principals: list[Principal] | None = None
        self._changed_at = 0

    def update(self, index: int, principals: list[Principal]) -> None:
        if principals != self._principals:
            self._principals, self._changed_at = principals, index

    def since(self, index: int) -> list[Principal] | None:
        """All of them, or None if they have not changed since."""
        return self._principals if index < self._changed_at else None
