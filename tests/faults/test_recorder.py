"""The recorder and the crash images, proven on RocksDB alone: a sync that is missing must be noticed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.faults.disk import Disk, files
from tests.faults.images import crashes, moments, write_image
from tests.faults.recorder import Recorder, compiler, eatmydata
from tests.faults.rocks_writer import FAMILY, KEYS, open_database
from tests.support.server import ROOT

WRITES = 200
IMAGES = 60

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")


def run_writer(recorder: Recorder, mode: str, *before: str) -> list[tuple[int, int]]:
    """Each counter that was acknowledged, with the position at which it was."""
    path = recorder.root / "database"
    written = subprocess.run(
        [sys.executable, "-m", "tests.faults.rocks_writer", str(path), str(WRITES), mode],
        env={**os.environ, **recorder.environment(*before)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = (line.split() for line in written.stdout.splitlines())
    return [(int(counter), int(position)) for counter, position in lines]


def lost_writes(recorder: Recorder, acknowledged: list[tuple[int, int]], scratch: Path) -> int:
    """How many crash images do not open with every acknowledged write."""
    random = Random(seed := 20260101)
    print(f"seed {seed}")
    events = recorder.events()
    bad = 0
    answers = [position for _, position in acknowledged]
    plan = crashes(events, answers, IMAGES, random)
    for crash, disk in moments(events, str(recorder.root), plan):
        image = scratch / f"image-{crash.position}-{crash.seed}"
        write_image(disk, crash, image)
        bad += not holds_all(image / "database", acknowledged, crash.position)
    return bad


def holds_all(path: Path, acknowledged: list[tuple[int, int]], position: int) -> bool:
    expected = {counter % KEYS: counter for counter, at in acknowledged if at <= position}
    if not expected:
        return True
    try:
        database = open_database(str(path))
    except Exception as error:  # noqa: BLE001 - rocksdict raises nothing narrower
        print(f"{path.parent.name} does not open: {error}")
        return False
    family = database.get_column_family(FAMILY)
    found = {key: family.get(b"%d" % key) for key in expected}
    database.close()
    for key, counter in expected.items():
        value = found[key]
        if value is None or int(value.partition(b":")[0]) < counter:
            print(f"{path.parent.name}: key {key} should be at {counter}, is {value!r:.20}")
            return False
    return True


def test_replay_of_everything_is_the_directory_itself(tmp_path: Path) -> None:
    recorder = Recorder.build(tmp_path)
    run_writer(recorder, "flush")

    disk = Disk(str(recorder.root))
    for event in recorder.events():
        disk.follow(event)

    replayed = {path: file.content(file.pending) for path, file in files(disk.root)}
    unseen = {Path(path) for path in disk.unseen}
    real = {
        str(path.relative_to(recorder.root)): path.read_bytes()
        for path in recorder.root.rglob("*")
        if path.is_file() and path not in unseen
    }
    assert replayed == real
    assert all(path.name.startswith("LOG") for path in unseen)


def test_flushed_writes_survive_every_crash(tmp_path: Path) -> None:
    recorder = Recorder.build(tmp_path)

    acknowledged = run_writer(recorder, "flush")

    assert len(acknowledged) == WRITES
    assert lost_writes(recorder, acknowledged, tmp_path) == 0


def test_writes_without_a_flush_are_found_missing(tmp_path: Path) -> None:
    recorder = Recorder.build(tmp_path)

    acknowledged = run_writer(recorder, "os")

    assert lost_writes(recorder, acknowledged, tmp_path) > 0


@pytest.mark.skipif(eatmydata() is None, reason="libeatmydata is not installed")
def test_syncs_that_do_nothing_are_found_missing(tmp_path: Path) -> None:
    library = eatmydata()
    assert library is not None
    recorder = Recorder.build(tmp_path)

    acknowledged = run_writer(recorder, "flush", library)

    assert lost_writes(recorder, acknowledged, tmp_path) > 0
