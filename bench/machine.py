"""The facts about this machine that a result needs beside it: no host names, no paths."""

import datetime
import os
import platform
import resource
from pathlib import Path

from bench.load import generator_name


def facts(data: Path) -> dict[str, str]:
    """What the results were measured on; `data` is where servers keep their files."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "file system": file_system(data),
        "python": platform.python_version(),
        "client": f"{generator_name()}, one thread",
        "load average before": f"{os.getloadavg()[0]:.2f}",
    }


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def file_system(path: Path) -> str:
    """The type of the file system that holds `path`: a flush to tmpfs would prove nothing."""
    best, kind = "", "unknown"
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mount, mount_kind, *_ = line.split()
        if path.resolve().is_relative_to(mount) and len(mount) >= len(best):
            best, kind = mount, mount_kind
    return kind


def raise_descriptor_limit() -> int:
    """Allow as many sockets as the system lets us, here and in what we start; return how many."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
