"""`python -m bench`: runs what is asked for and writes results; see docs/performance.md."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench import (
    before,
    client,
    compare,
    idle,
    links,
    machine,
    options,
    overload,
    paging,
    replicated_report,
    report,
    scale,
    verdict,
)
from bench.progress import say


def main() -> int:
    asked = options.parse()
    if not Path("/proc/self/stat").exists():
        say("The bench reads CPU time and memory from /proc, so it runs on Linux only.")
        return 1
    machine.raise_descriptor_limit()
    for name in asked.runs:
        with tempfile.TemporaryDirectory(prefix="gramme-bench-", dir=asked.data) as directory:
            facts = machine.facts(Path(directory))
            if facts["file system"] == "tmpfs":
                say("Servers' files are in memory: writes are not flushed anywhere. Use --data.")
            done = RUNS[name](asked, Path(directory), facts)
        path = report.write(done, asked.results)
        print(report.markdown(done))
        say(f"written: {path}")
    return 0


def run_compare(asked: options.Options, directory: Path, facts: dict[str, str]) -> report.Report:
    return verdict.report_of(compare.compare(asked, directory), asked, facts)


RUNS: dict[str, Callable[[options.Options, Path, dict[str, str]], report.Report]] = {
    "compare": run_compare,
    "scale": scale.run,
    "paging": paging.run,
    "overload": overload.run,
    "links": links.run,
    "client": client.run,
    "replicated": replicated_report.run,
    "idle": idle.run,
    "before": before.run,
}

if __name__ == "__main__":
    sys.exit(main())
