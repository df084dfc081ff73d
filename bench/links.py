"""What a frame on a stream between two processes costs, and what gathering saves.

One process sends frames to another, which sends each back at once. So a round trip is one frame written and one read at
either end; what is shown of the CPU is for both.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from statistics import median

from bench.options import Options
from bench.processes import cpu_seconds
from bench.progress import Progress
from bench.report import Report, Table
from gramme.links.api import Down, Identity, Link
from gramme.links.dialler import Dialler
from gramme.links.security import Security
from gramme.links.services import PEER
from gramme.start import run as run_loop

DRIVER = Identity("bench", "driver", "node", 1)
WARM_UP_S = 0.5
OPERATION_BYTES = 1000


@dataclass(frozen=True, slots=True)
class Traffic:
    """`in_flight` frames of so many operations; or so many operations, gathered into frames.

    Gathering goes on while a frame is written, and while `unanswered_max` frames have not come back.
    """

    name: str
    operations: int
    in_flight: int
    unanswered_max: int | None = None


TRAFFIC = (
    Traffic("1 operation in a frame, 1 out", 1, 1),
    Traffic("1 operation in a frame, 8 out", 1, 8),
    Traffic("1 operation in a frame, 64 out", 1, 64),
    Traffic("32 operations in a frame, 1 out", 32, 1),
    Traffic("32 operations in a frame, 8 out", 32, 8),
    Traffic("1,000 operations in a frame, 4 out", 1000, 4),
    Traffic("64 operations out, gathered while writing", 1, 64, unanswered_max=64),
    Traffic("256 operations out, gathered while writing", 1, 256, unanswered_max=256),
    Traffic("64 operations out, in at most 2 frames", 1, 64, unanswered_max=2),
    Traffic("256 operations out, in at most 2 frames", 1, 256, unanswered_max=2),
)


@dataclass(frozen=True, slots=True)
class Measured:
    traffic: Traffic
    frames_per_second: float
    operations_per_second: float
    p50_us: float
    near_us: float
    far_us: float


class Driver:
    """Keeps frames on their way, and counts those that came back."""

    def __init__(self, traffic: Traffic) -> None:
        self.link: Link | None = None
        self.up = asyncio.Event()
        self.frames = 0
        self.operations = 0
        self.latencies_s: list[float] = []
        self._traffic = traffic
        self._gathered: list[bytes] = []
        self._sent: deque[float] = deque()

    def on_up(self, _: Identity) -> None:
        self.up.set()
        for _frame in range(self._traffic.in_flight):
            self._send(bytes(self._traffic.operations * OPERATION_BYTES))

    def on_frame(self, frame: bytes) -> None:
        self.frames += 1
        self.operations += len(frame) // OPERATION_BYTES
        self.latencies_s.append(time.perf_counter() - self._sent.popleft())
        if self._traffic.unanswered_max is None:
            self._send(frame)
        else:
            self._gathered.append(frame)
            self.on_idle()

    def on_idle(self) -> None:
        assert self.link is not None
        unanswered_max = self._traffic.unanswered_max or 0
        if self._gathered and self.link.idle and len(self._sent) < unanswered_max:
            self._send(b"".join(self._gathered))
            self._gathered.clear()

    def on_down(self, down: Down) -> None:
        raise AssertionError(f"the link went down: {down.reason}")

    def _send(self, frame: bytes) -> None:
        assert self.link is not None
        self._sent.append(time.perf_counter())
        assert self.link.send(frame), "the queue is full"


async def drive(traffic: Traffic, port: int, far: int, seconds: float) -> Measured:
    driver = Driver(traffic)
    dialler = Dialler(PEER, DRIVER, Security(), Random(1))
    driver.link = dialler.dial(f"127.0.0.1:{port}", driver)
    await driver.up.wait()
    await asyncio.sleep(WARM_UP_S)
    driver.frames = driver.operations = 0
    driver.latencies_s.clear()
    near_s, far_s, began = cpu_seconds(os.getpid()), cpu_seconds(far), time.perf_counter()
    # Both ends are in one process tree.
    near_s -= far_s
    await asyncio.sleep(seconds)
    elapsed_s, frames, operations = time.perf_counter() - began, driver.frames, driver.operations
    far_used_s = cpu_seconds(far) - far_s
    near_used_s = cpu_seconds(os.getpid()) - cpu_seconds(far) - near_s
    await dialler.close()
    return Measured(
        traffic,
        frames / elapsed_s,
        operations / elapsed_s,
        1e6 * median(driver.latencies_s),
        1e6 * near_used_s / frames,
        1e6 * far_used_s / frames,
    )


async def measure(traffic: Traffic, seconds: float) -> Measured:
    """One run between this process and a fresh one."""
    echo = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.link_echo", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert echo.stdin is not None
    assert echo.stdout is not None
    try:
        return await drive(traffic, int(await echo.stdout.readline()), echo.pid, seconds)
    finally:
        echo.stdin.close()
        await echo.wait()


def run(options: Options, _: Path, machine: dict[str, str]) -> Report:
    progress = Progress("links", options.rounds * len(TRAFFIC))
    runs: dict[str, list[Measured]] = {traffic.name: [] for traffic in TRAFFIC}

    async def main() -> None:
        # gRPC wants one event loop for the life of a process.
        for _round in range(options.rounds):
            for traffic in TRAFFIC:
                runs[traffic.name].append(await measure(traffic, options.seconds))
                progress.advance(note=traffic.name)

    run_loop(main)
    rows = [_row(name, found) for name, found in runs.items()]
    columns = (
        *("traffic", "round trips per second", "operations per second", "p50 us"),
        *("us of CPU per round trip, sender", "echo"),
    )
    return Report(
        name="links",
        title="Streams between processes",
        about=" ".join((__doc__ or "").split()),
        machine=machine,
        settings={
            "seconds": options.seconds,
            "rounds": options.rounds,
            "operation bytes": OPERATION_BYTES,
        },
        targets=[],
        tables=[Table("Frames there and back", columns, rows)],
        data=[asdict(each) for found in runs.values() for each in found],
    )


def _row(name: str, found: list[Measured]) -> tuple[str, ...]:
    return (
        name,
        f"{median(each.frames_per_second for each in found):,.0f}",
        f"{median(each.operations_per_second for each in found):,.0f}",
        f"{median(each.p50_us for each in found):,.0f}",
        f"{median(each.near_us for each in found):,.0f}",
        f"{median(each.far_us for each in found):,.0f}",
    )
