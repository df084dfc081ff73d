"""Pure, but for writing them out: crash images, what a disk held when the power failed at one moment.

A crash image is a moment (a position in the recorder's log), a way of losing what was not synced, and a seed. The
ways go from kind to cruel: everything may survive, as after `kill -9`; nothing; of each file and directory the
first changes, the last of them torn; single sectors; or any writes in any combination.

The names in one directory survive in the order they changed, as every journalling file system has it. RocksDB relies on
that: it makes a manifest, then points CURRENT at it, and syncs the directory once for both. Between directories, and
between a file's data and its name, no order is assumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from random import Random
from typing import TypeVar

from tests.faults.disk import Directory, Disk, File, Renaming, Resize, Write
from tests.faults.recorder import Event, Kind

SECTOR_BYTES = 512

T = TypeVar("T")


class Loss(Enum):
    NOTHING = "nothing"
    EVERYTHING = "everything"
    TAIL = "tail"
    SECTORS = "sectors"
    ANYTHING = "anything"


# Losing everything that was not synced is the sharpest test of a missing sync, so it comes twice.
ROTATION = (
    *(Loss.EVERYTHING, Loss.TAIL, Loss.SECTORS),
    *(Loss.EVERYTHING, Loss.ANYTHING, Loss.NOTHING),
)


@dataclass(frozen=True, slots=True)
class Crash:
    position: int
    loss: Loss
    seed: int

    def __str__(self) -> str:
        return f"crash at {self.position}, losing {self.loss.value}, seed {self.seed}"


def crashes(events: list[Event], answers: list[int], count: int, random: Random) -> list[Crash]:
    """`count` crashes in order of time: at answers, around syncs and changes of names, and anywhere.

    The first are where a promise is youngest, the second where the disk is between two states; both are rare among
    the many writes.
    """
    quiet = {Kind.WRITE, Kind.OPEN, Kind.CLOSE, Kind.DUP}
    marked = [event.end for event in events if event.kind not in quiet]
    anywhere = [event.end for event in events]
    choices = (answers, marked, anywhere)
    chosen = [random.choice(choices[number % len(choices)]) for number in range(count)]
    losses = [ROTATION[number % len(ROTATION)] for number in range(count)]
    random.shuffle(losses)
    return [
        Crash(position, loss, random.getrandbits(32))
        for position, loss in zip(sorted(chosen), losses, strict=True)
    ]


def moments(events: list[Event], root: str, plan: list[Crash]) -> Iterator[tuple[Crash, Disk]]:
    """Each crash with the disk as it was then; the disk moves on with the next one."""
    disk = Disk(root)
    remaining = iter(events)
    event = next(remaining, None)
    for crash in plan:
        while event is not None and event.end <= crash.position:
            disk.follow(event)
            event = next(remaining, None)
        yield crash, disk


def write_image(disk: Disk, crash: Crash, target: Path) -> None:
    """Write what survives the crash of everything below the recorder's root into `target`."""
    target.mkdir(parents=True, exist_ok=True)
    _write_directory(disk.root, crash.loss, Random(crash.seed), target)


def _write_directory(directory: Directory, loss: Loss, random: Random, target: Path) -> None:
    for name, node in directory.entries(surviving_names(directory.pending, loss, random)).items():
        path = target / name
        if isinstance(node, Directory):
            path.mkdir()
            _write_directory(node, loss, random, path)
        else:
            path.write_bytes(surviving_content(node, loss, random))


def surviving_names(pending: list[Renaming], loss: Loss, random: Random) -> list[Renaming]:
    if loss is Loss.NOTHING:
        return pending
    if loss is Loss.EVERYTHING:
        return []
    return pending[: random.randint(0, len(pending))]


def surviving_content(file: File, loss: Loss, random: Random) -> bytes:
    pending = file.pending
    if loss is Loss.NOTHING:
        return file.content(pending)
    if loss is Loss.EVERYTHING:
        return file.content([])
    if loss is Loss.ANYTHING:
        return file.content(some(pending, random))
    if loss is Loss.SECTORS:
        return file.content([part for change in pending for part in sectors(change, random)])
    kept = pending[: random.randint(0, len(pending))]
    return file.content([*kept[:-1], *(torn(change, random) for change in kept[-1:])])


def some(changes: list[T], random: Random) -> list[T]:
    return [change for change in changes if random.random() < 0.5]


def torn(change: Write | Resize, random: Random) -> Write | Resize:
    if isinstance(change, Resize):
        return change
    return Write(change.position, change.offset, change.data[: random.randint(0, len(change.data))])


def sectors(change: Write | Resize, random: Random) -> list[Write | Resize]:
    """Half of the sectors that a write touches. A sector is written wholly or not at all."""
    if isinstance(change, Resize):
        return some([change], random)
    kept: list[Write | Resize] = []
    at = 0
    while at < len(change.data):
        step = SECTOR_BYTES - (change.offset + at) % SECTOR_BYTES
        if random.random() < 0.5:
            piece = change.data[at : at + step]
            kept.append(Write(change.position, change.offset + at, piece))
        at += step
    return kept
