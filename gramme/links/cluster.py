"""What all processes of one cluster have in common: who knows the cluster's secret can find it, and nobody else."""

from __future__ import annotations

from hashlib import blake2b

from gramme.links.api import Identity

# What processes put into frames. Two that differ refuse each other.
PROTOCOL = 2
SEED_BYTES = 16


def seed_of(secret: bytes) -> bytes:
    """The seed of the cluster's hash."""
    return blake2b(secret, digest_size=SEED_BYTES, person=b"gramme seed").digest()


def identity_of(secret: bytes, node: str, role: str) -> Identity:
    return Identity(_name_of(secret), node, role, PROTOCOL)


def _name_of(secret: bytes) -> str:
    return blake2b(secret, digest_size=SEED_BYTES, person=b"gramme name").hexdigest()
