"""Power loss, the short form: few images in one go. `make faults` does the same with hundreds.

The two controls take the flush away, in two ways; the same test then has to find writes that are gone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.power import Verdict, record, verdicts
from tests.faults.recorder import compiler, eatmydata

SEED = 20260701
IMAGES = 10
IMAGES_OF_A_CONTROL = 10
WRITES_PER_LIFE = 120

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")


def judged(
    scratch: Path, images: int, *options: str, preload: tuple[str, ...] = ()
) -> list[Verdict]:
    print(f"seed {SEED}")
    recording = record(
        scratch, SEED, *options, preload=preload, clients=4, writes_per_life=WRITES_PER_LIFE
    )
    return list(verdicts(recording, images, SEED, scratch))


@pytest.mark.parametrize("partitions", [1, 4])
def test_every_answered_write_survives_a_power_loss(tmp_path: Path, partitions: int) -> None:
    found = judged(tmp_path, IMAGES, "--partitions", str(partitions))

    assert len(found) == IMAGES
    assert [str(verdict) for verdict in found if not verdict.good] == []


def test_writes_are_lost_when_only_the_operating_system_has_them(tmp_path: Path) -> None:
    found = judged(tmp_path, IMAGES_OF_A_CONTROL, "--durability=os")

    assert any(verdict.lost for verdict in found)


@pytest.mark.skipif(eatmydata() is None, reason="libeatmydata is not installed")
def test_writes_are_lost_when_syncs_do_nothing(tmp_path: Path) -> None:
    library = eatmydata()
    assert library is not None

    found = judged(tmp_path, IMAGES_OF_A_CONTROL, preload=(library,))

    assert any(verdict.lost for verdict in found)
