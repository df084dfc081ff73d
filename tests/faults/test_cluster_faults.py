"""The campaign on clusters, briefly: a kill, a nap and a cut, under its mixed load and before its judge."""

from __future__ import annotations

from pathlib import Path

from tests.faults.clusters import faults
from tests.faults.clusters.judging import totals_of
from tests.faults.clusters.trial import Trial

# Kinder than what is promised: other tests run beside this one.
ACCEPTED_AGAIN_S = 6.0


def test_nothing_is_lost_or_out_of_order_whatever_is_done(tmp_path: Path) -> None:
    with Trial(tmp_path / "trial", 1, can_cut=True) as trial:
        for fault in (faults.kill, faults.nap, faults.cut):
            gap = trial.round(fault)
            print(gap)
        trial.finish()
        totals = totals_of(trial.records.all)
        judgement = trial.judge()
        replicas = trial.replicas()

    print(totals)
    assert judgement.lost == []
    assert judgement.violations == []
    # Three replicas of each of the four partitions.
    assert replicas == (12, [])
    assert trial.gaps[0].writes_s < ACCEPTED_AGAIN_S
    assert totals.peeked > 0
