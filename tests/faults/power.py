"""Power loss: a server is recorded under load, and then started on what a crash would have left.

A recording goes through several lives of the server, some ended by a kill and some in order, so that opening,
recovering and closing are in it as well as writing. Every crash image is given to a server of its own, which has
to start, to hold every write that had been answered by then, and to bring its indexes level. In each life an index is
removed or added, so some of the crashes come in the middle of that.
"""

from __future__ import annotations

import shutil
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.faults.images import Crash, crashes, moments, write_image
from tests.faults.recorder import Recorder
from tests.support import tables
from tests.support.client import Client, Refused
from tests.support.history import Key, item_of
from tests.support.load import Load
from tests.support.server import Server, StartFailed

# How each recorded life ends.
LIVES = (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL)


@dataclass(frozen=True)
class IndexChange:
    """Which indexes there are after a change, and when it was asked for and answered."""

    indexes: frozenset[str]
    sent: int
    answered: int


@dataclass(frozen=True)
class Recording:
    recorder: Recorder
    load: Load
    options: tuple[str, ...]
    # The first is that the table was created. From its answer on the table has to be there.
    changes: list[IndexChange]

    def indexes_allowed(self, position: int) -> list[frozenset[str]]:
        """What the indexes may be after a crash at `position`."""
        answered = [change.indexes for change in self.changes if change.answered <= position]
        sent = [
            change.indexes for change in self.changes if change.sent <= position < change.answered
        ]
        return answered[-1:] + sent


@dataclass
class Verdict:
    """What one image lacked: answered writes that are gone, and whatever else is not as it should be."""

    crash: Crash
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not self.lost and not self.wrong

    def __str__(self) -> str:
        return f"{self.crash}: " + "; ".join([*self.lost, *self.wrong][:3])


def record(
    scratch: Path,
    seed: int,
    *options: str,
    preload: tuple[str, ...] = (),
    clients: int = 8,
    writes_per_life: int = 250,
    lives: tuple[signal.Signals, ...] = LIVES,
    name: str = "client",
) -> Recording:
    """Run a server under load through its lives, recording what it does to its directory."""
    recorder = Recorder.build(scratch)
    load = Load(clients, seed, recorder.position, name)
    changes: list[IndexChange] = []
    for end in lives:
        data = recorder.root / "data"
        with (
            Server(data, *options, environment=recorder.environment(*preload)) as server,
            server.client() as client,
        ):
            if not changes:
                tables.create(client)
                changes.append(IndexChange(frozenset(tables.INDEXES), 0, recorder.position()))
            load.start(server.port)
            load.await_answers(writes_per_life // 2)
            changes.append(_change_indexes(client, recorder, changes[-1].indexes))
            load.await_answers(writes_per_life - writes_per_life // 2)
            server.signal(end)
            server.wait()
            load.stop()
    assert not load.errors, load.errors
    return Recording(recorder, load, options, changes)


def _change_indexes(client: Client, recorder: Recorder, there: frozenset[str]) -> IndexChange:
    """Remove an index, or add it again."""
    index = tables.BY_COLOUR
    tables.await_active(client)
    sent = recorder.position()
    request = tables.removal(index) if index in there else tables.addition(index)
    client.call("UpdateTable", request)
    return IndexChange(there ^ {index}, sent, recorder.position())


def judge(recording: Recording, crash: Crash, image: Path) -> Verdict:
    """Start a server on the image and compare what it holds with what had been answered."""
    verdict = Verdict(crash)
    try:
        with Server(image / "data", *recording.options) as server, server.client() as client:
            _compare(recording, client, verdict)
            if server.stop() != 0:
                verdict.wrong.append(f"it did not stop in order: {server.errors}")
    except StartFailed as failure:
        verdict.wrong.append(f"it does not start: {failure.errors.strip()}")
    return verdict


def _compare(recording: Recording, client: Client, verdict: Verdict) -> None:
    position = verdict.crash.position
    try:
        client.call("DescribeTable", {"TableName": tables.TABLE})
    except Refused as refusal:
        if refusal.type != "ResourceNotFoundException":
            raise
        if position >= recording.changes[0].answered:
            verdict.lost.append("the table is gone")
        return
    states = tables.index_states(client)
    indexes = frozenset(name for name, state in states.items() if state != "DELETING")
    if indexes not in recording.indexes_allowed(position):
        verdict.lost.append(f"the indexes are {sorted(indexes)}")
    tables.await_active(client)
    load = recording.load
    base = tables.read_base(client, load.partitions)
    verdict.lost.extend(load.history.problems(base, position))
    # Work goes on: a new write is taken and reaches the indexes along with all that was left to do.
    key = Key("after the crash", 0)
    base[key] = item_of(key, 1)
    client.call("PutItem", {"TableName": tables.TABLE, "Item": base[key]})
    if behind := tables.await_indexes(client, base, indexes=sorted(indexes)):
        verdict.wrong.append(behind)


def verdicts(
    recording: Recording,
    count: int,
    seed: int,
    scratch: Path,
    jobs: int = 2,
) -> Iterator[Verdict]:
    """Judge `count` crash images of the recording, `jobs` at a time; bad images are kept."""
    events = recording.recorder.events()
    plan = crashes(events, recording.load.history.answers(), count, Random(seed))
    room = threading.Semaphore(jobs * 2)

    def judged(crash: Crash, image: Path) -> Verdict:
        try:
            verdict = judge(recording, crash, image)
            if verdict.good:
                shutil.rmtree(image)
            return verdict
        finally:
            room.release()

    with ThreadPoolExecutor(jobs) as pool:
        futures: list[Future[Verdict]] = []
        root = str(recording.recorder.root)
        for number, (crash, disk) in enumerate(moments(events, root, plan)):
            room.acquire()
            image = scratch / f"image-{number}"
            write_image(disk, crash, image)
            futures.append(pool.submit(judged, crash, image))
            while futures and futures[0].done():
                yield futures.pop(0).result()
        yield from (future.result() for future in futures)
