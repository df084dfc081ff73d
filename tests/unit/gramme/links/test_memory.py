"""Frames do not fetch their memory from the kernel each time."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# Prints how many pages the kernel gave for a hundred frames that come and go.
FRAMES_COME_AND_GO = """
import resource
from gramme.links.memory import keep_memory
keep_memory()
faults = []
for _ in range(101):
    frames = [b"x" * 200_000 for _ in range(3)]
    del frames
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
print(faults[-1] - faults[0])
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's allocator is told")
def test_the_memory_of_frames_is_kept() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FRAMES_COME_AND_GO], check=True, capture_output=True, text=True
    )

    # Each frame is 50 pages.
    assert int(ran.stdout) < 100
