"""What a call's metadata says: who speaks, and the secret that shows it is one of us.

Both ends introduce themselves, the one that dials with its call and the other when it accepts. Only the former presents
the secret.
"""

from __future__ import annotations

from collections.abc import Iterable

from gramme.links.api import Identity
from gramme.links.security import Secret

Pairs = tuple[tuple[str, str | bytes], ...]

CLUSTER = "gramme-cluster"
NODE = "gramme-node"
ROLE = "gramme-role"
PROTOCOL = "gramme-protocol"
# gRPC takes any bytes under names that end like this.
SECRET = "gramme-secret-bin"
PROTOCOL_DIGITS_MAX = 9


def introduction(identity: Identity, secret: Secret | None = None) -> Pairs:
    pairs: Pairs = (
        (CLUSTER, identity.cluster),
        (NODE, identity.node),
        (ROLE, identity.role),
        (PROTOCOL, str(identity.protocol)),
    )
    return pairs if secret is None else (*pairs, (SECRET, secret.reveal()))


def presented_identity(metadata: Iterable[tuple[str, str | bytes]] | None) -> Identity | None:
    """Who speaks; None if that is not said, or not by one of us."""
    said = {name: value for name, value in metadata or () if isinstance(value, str)}
    protocol = said.get(PROTOCOL, "")
    if not {CLUSTER, NODE, ROLE} <= said.keys() or not protocol.isdecimal():
        return None
    if len(protocol) > PROTOCOL_DIGITS_MAX:
        return None
    return Identity(said[CLUSTER], said[NODE], said[ROLE], int(protocol))


def presented_secret(metadata: Iterable[tuple[str, str | bytes]] | None) -> bytes:
    """Empty if none is presented, or several: nobody of ours does that."""
    found = [value for name, value in metadata or () if name == SECRET]
    return found[0] if len(found) == 1 and isinstance(found[0], bytes) else b""
