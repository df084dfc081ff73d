"""The targets, one after the other, each for some time under a fuzzer that is guided by coverage."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from tests.fuzz.targets import TARGETS
from tests.support.server import ROOT

SECONDS = 60.0
INPUT_BYTES_MAX = 4_096
# What a target may take, for one input and altogether, before it counts as a failure.
INPUT_SECONDS_MAX = 10
MEMORY_MAX_MB = 1_024
_STATUS = re.compile(r"#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+)")


def run(names: list[str], seconds: float | None, seed: int, kept: Path) -> int:
    """Run the targets named, or all. Inputs that fail are written to `kept`."""
    unknown = set(names) - TARGETS.keys()
    if unknown:
        print(f"no such target: {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
        return 2
    if find_spec("atheris") is None:
        print('atheris is not installed: make fuzz FUZZ="coverage" installs it')
        return 2
    print(f"seed {seed}", flush=True)
    kept.mkdir(exist_ok=True)
    failed = [
        name for name in names or TARGETS if not run_target(name, seconds or SECONDS, seed, kept)
    ]
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return 1 if failed else 0


def run_target(name: str, seconds: float, seed: int, kept: Path) -> bool:
    with tempfile.TemporaryDirectory(prefix="gramme-corpus-") as corpus:
        for data in TARGETS[name].seeds():
            Path(corpus, sha256(data).hexdigest()[:20]).write_bytes(data)
        command = [
            *(sys.executable, "-m", "tests.fuzz.guided", name, corpus),
            *(f"-max_total_time={seconds:.0f}", f"-seed={seed % 2**31 or 1}"),
            *(f"-max_len={INPUT_BYTES_MAX}", f"-timeout={INPUT_SECONDS_MAX}"),
            *(f"-rss_limit_mb={MEMORY_MAX_MB}", f"-artifact_prefix={kept / name}-"),
        ]
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert process.stdout is not None
        inputs, points, last = "0", "0", ["", *[""] * 40]
        for line in process.stdout:
            last = [*last[1:], line]
            found = _STATUS.match(line)
            if found is not None:
                inputs, points = found[1], found[2]
                if sys.stdout.isatty():
                    print(f"\r\033[K{name}: {inputs} inputs, coverage {points}", end="", flush=True)
    good = process.wait() == 0
    end = "\r\033[K" if sys.stdout.isatty() else ""
    print(f"{end}{name}: {inputs} inputs in {seconds:.0f} s, coverage {points}", flush=True)
    if not good:
        print("".join(last))
        print(f'{name} FAILED; to repeat: make fuzz FUZZ="replay <the file named above>"')
    return good
