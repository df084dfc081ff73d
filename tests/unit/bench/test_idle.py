"""What an idle cluster's processes used, put together."""

from bench.idle import PARTITIONS, Watched, report_of
from bench.options import parse
from bench.report import markdown


def watched(partitions: int, *cpu_percent: float) -> Watched:
    names = ("node-1", "node-2", "router-1")
    return Watched(partitions, dict(zip(names, cpu_percent, strict=True)), 1_000_000)


def test_the_promise_is_about_all_processes_together() -> None:
    runs = [
        watched(0, 0.1, 0.1, 0.1),
        watched(PARTITIONS, 1.0, 1.5, 0.5),
        watched(PARTITIONS, 9.0, 9.0, 9.0),
        watched(PARTITIONS, 2.0, 2.5, 0.25),
    ]

    report = report_of(runs, parse([]), {})

    assert [(each.measured, each.holds) for each in report.targets] == [("4.75 %", True)]
    lines = [line.replace(" ", "") for line in markdown(report).splitlines()]
    assert "|node-1|0.10|2.00|" in lines
    assert "|all|0.30|4.75|" in lines
