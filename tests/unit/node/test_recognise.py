"""A node comes back with the data directory it was first met with, or not at all."""

from __future__ import annotations

import random

import pytest

from gramme.clock import VirtualClock
from gramme.links.api import Refused
from gramme.node.cluster import ClusterNode, ClusterSettings
from gramme.node.engine.memory import MemoryEngine

MEMBERS = {1: "127.0.0.1:1", 2: "127.0.0.1:2", 3: "127.0.0.1:3"}


def a_node(engine: MemoryEngine) -> ClusterNode:
    settings = ClusterSettings(1, MEMBERS, b"s" * 16)
    return ClusterNode(engine, VirtualClock(1), settings, random.Random(1).randint, print, print)


async def test_a_node_is_known_by_its_first_directory_from_then_on() -> None:
    engine = MemoryEngine()
    node = a_node(engine)

    node.recognise(2, "first")
    node.recognise(2, "first")
    node.recognise(3, "another")

    with pytest.raises(Refused, match="cannot come back under its number"):
        node.recognise(2, "wiped")


async def test_it_is_remembered_over_a_restart() -> None:
    engine = MemoryEngine()
    a_node(engine).recognise(2, "first")

    restarted = a_node(engine)

    with pytest.raises(Refused):
        restarted.recognise(2, "wiped")
