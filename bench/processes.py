"""What the kernel says about a process and all that it started: CPU time and memory. Linux only."""

import os
import subprocess
from pathlib import Path

PROC = Path("/proc")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def tree_of(root: int) -> list[int]:
    """`root` and its living descendants."""
    parents: dict[int, int] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (fields := stat_fields(int(entry.name))):
            parents[int(entry.name)] = int(fields[1])
    found = [root]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def cpu_seconds(root: int) -> float:
    """User and system time of the tree so far, with that of children already gone."""
    ticks = 0
    for process in tree_of(root):
        if fields := stat_fields(process):
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / TICKS_PER_SECOND


def machine_cpu_seconds() -> float:
    """User, system and stolen time of the whole machine so far; interrupts belong to nobody."""
    user, nice, system, _, _, _, _, steal, *_ = (
        (PROC / "stat").read_text().split("\n")[0].split()[1:]
    )
    return sum(int(ticks) for ticks in (user, nice, system, steal)) / TICKS_PER_SECOND


def resident_bytes(root: int) -> int:
    return sum(status_bytes(process, "VmRSS") for process in tree_of(root))


def resident_bytes_peak(root: int) -> int:
    """The sum of each process's own peak: an upper bound on the tree's."""
    return sum(status_bytes(process, "VmHWM") for process in tree_of(root))


def stat_fields(process: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; empty when the process is gone."""
    try:
        text = (PROC / str(process) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text[text.rindex(")") + 2 :].split()


def status_bytes(process: int, field: str) -> int:
    try:
        lines = (PROC / str(process) / "status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    for line in lines:
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return 0


def output_of(command: list[str], directory: Path | None = None) -> str:
    """What a short command prints; empty when it fails."""
    ended = subprocess.run(
        command, cwd=directory, capture_output=True, text=True, timeout=30, check=False
    )
    return ended.stdout.strip()
