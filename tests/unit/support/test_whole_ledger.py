"""The ledger of whole clusters, on disks that a test writes by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pytest

from gramme.node.engine.api import Operation
from gramme.node.founding import first_meta_rows
from gramme.node.group_log import first_log_rows, load_position
from gramme.node.meta import META_GROUP
from tests.support.ledger import Violation
from tests.support.simulated_disk import SimulatedDisk
from tests.support.whole_ledger import WholeLedger


@dataclass
class Member:
    ledger: WholeLedger | None = None
    number: int = 1
    name: str = "n1"
    disk: SimulatedDisk = field(default_factory=lambda: SimulatedDisk(Random(1)))

    def start(self) -> None:
        assert self.ledger is not None
        ledger = self.ledger
        self.disk.on_write = lambda batch: ledger.wrote_by(self, batch)
        ledger.resumed(self)

    def crash(self) -> None:
        self.disk = self.disk.crash()


def a_member() -> Member:
    member = Member()
    member.ledger = WholeLedger({1: member})
    return member


def first_rows() -> list[Operation]:
    return [*first_meta_rows(1, [1, 2, 3])]


def test_a_node_founds_a_group_again_whose_first_rows_a_crash_took() -> None:
    member = a_member()
    member.start()
    member.disk.write(first_rows())

    member.crash()
    member.start()
    member.disk.write(first_rows())

    position = load_position(member.disk, META_GROUP)
    assert position is not None and position.index == 1


def test_a_node_founds_no_group_whose_first_rows_it_has() -> None:
    member = a_member()
    member.start()
    member.disk.install(first_rows())

    member.crash()
    member.start()

    with pytest.raises(Violation, match="a snapshot of 1 replaces 1"):
        member.disk.write(first_rows())


def test_a_snapshot_takes_a_replica_forward_only() -> None:
    member = a_member()
    member.start()
    member.disk.install(first_rows())
    position = load_position(member.disk, META_GROUP)
    assert position is not None

    with pytest.raises(Violation, match="a snapshot of 1 replaces 1"):
        member.disk.write(list(first_log_rows(META_GROUP, position)))
