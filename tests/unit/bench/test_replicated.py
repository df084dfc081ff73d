"""From cells of the replicated run to its promises."""

from pathlib import Path

import pytest

from bench import replicated_report as reported
from bench.cluster import Counts, counts_of, name_of
from bench.load import Cell, Sample
from bench.options import parse
from bench.replicated import EVENTUAL, PUT, STRONG, Part, Result, Row, row_of
from bench.report import markdown
from bench.workloads import Dataset, point_read

ONE, FOUR = name_of(1), name_of(4)


def a_part(answers: int = 1000, counts: Counts | None = None) -> Part:
    sample = Sample(answers, 0, 0, "", 2.0, 1.0, 3.0, 9.0, client_cpu_s=0.5)
    used = {"node-1": 0.2, "node-2": 0.1, "node-3": 0.1, "router-1": 0.3}
    return Part(Cell(sample, sum(used.values()), 0.0, 0), used, counts)


def a_row(
    contestant: str,
    operation: str,
    connections: int,
    per_second: float,
    rounds_per_read: float | None = None,
    void: str = "",
) -> Row:
    cpu_us = {"node-1": 90.0, "node-2": 40.0, "node-3": 50.0}
    if contestant != "etcd":
        cpu_us["router-1"] = 70.0
    return Row(
        contestant=contestant,
        operation=operation,
        connections=connections,
        per_second=per_second,
        per_second_least=per_second,
        per_second_most=per_second,
        p50_ms=1.0,
        p99_ms=2.0,
        cpu_us=cpu_us,
        rounds_per_read=rounds_per_read,
        puts_per_entry=None,
        client_busy=0.1,
        others_busy=0.0,
        void=void,
    )


def a_result(*rows: Row, etcd_missing: str = "") -> Result:
    return Result(rows, [ONE, FOUR, "etcd"], "versions", etcd_missing, leader_changes=0)


RESULT = a_result(
    a_row(ONE, PUT, 32, 9000),
    a_row(FOUR, PUT, 32, 7000),
    a_row("etcd", PUT, 32, 4000),
    a_row(ONE, PUT, 128, 10_000),
    a_row(FOUR, PUT, 128, 14_000),
    a_row("etcd", PUT, 128, 6000),
    a_row(ONE, STRONG, 128, 6500, rounds_per_read=0.05),
    a_row(ONE, EVENTUAL, 128, 10_000),
)


def test_a_row_has_the_median_of_each_process() -> None:
    row = row_of(ONE, PUT, 128, [a_part(1000), a_part(2000), a_part(4000)])

    assert (row.per_second_least, row.per_second, row.per_second_most) == (500, 1000, 2000)
    assert row.cpu_us["router-1"] == pytest.approx(150)


@pytest.mark.parametrize(
    ("operation", "rounds_per_read", "puts_per_entry"),
    [(PUT, None, 10.0), (STRONG, 0.05, None), (EVENTUAL, None, None)],
)
def test_what_is_counted_belongs_to_an_operation(
    operation: str, rounds_per_read: float | None, puts_per_entry: float | None
) -> None:
    row = row_of(ONE, operation, 128, [a_part(1000, Counts(read_rounds=50, entries=100))])

    assert (row.rounds_per_read, row.puts_per_entry) == (rounds_per_read, puts_per_entry)


def test_etcd_counts_nothing() -> None:
    row = row_of("etcd", PUT, 32, [a_part()])

    assert (row.rounds_per_read, row.puts_per_entry) == (None, None)


def test_the_promises_are_judged_on_one_number_of_partitions() -> None:
    assert reported.judged_name(RESULT) == ONE

    found = {each.promise: each for each in reported.targets(RESULT, ONE)}

    assert [(each.measured, each.holds) for each in found.values()] == [
        ("2.25x", True),
        ("1.67x", False),
        ("65 %", True),
        ("0.05", True),
    ]


def test_a_void_row_of_etcd_supports_no_verdict() -> None:
    void = a_result(a_row(ONE, PUT, 32, 9000), a_row("etcd", PUT, 32, 4000, void="1 errors"))

    assert reported.targets(void, ONE)[0].holds is None
    assert "1 errors" in markdown(reported.report_of(void, parse([]), {}))


def test_without_etcd_the_report_says_so() -> None:
    alone = Result([a_row(ONE, PUT, 32, 9000)], [ONE, FOUR], "versions", "etcd not installed", 0)

    text = markdown(reported.report_of(alone, parse([]), {}))

    assert "etcd not installed, so Gramme was measured alone." in text
    assert "not measured" in text


def test_the_cpu_of_a_row_is_told_by_kind_of_process() -> None:
    assert reported.cpu_cells(a_row(ONE, PUT, 32, 1.0)) == ["250", "70", "90", "45"]
    assert reported.cpu_cells(a_row("etcd", PUT, 32, 1.0)) == ["180", "", "90", "45"]


def test_counts_are_those_of_the_tables_replicas() -> None:
    def partition(table: str, *counted: tuple[int | None, int | None]) -> dict[str, object]:
        replicas = [{"read_rounds": rounds, "applied": applied} for rounds, applied in counted]
        return {"table": table, "replicas": replicas}

    status = {
        "partitions": [
            partition("", (9, 9)),
            partition("bench", (3, 100), (None, None), (1, 98)),
            partition("bench", (4, 10)),
        ]
    }

    assert counts_of(status) == Counts(read_rounds=8, entries=110)


def test_a_strong_read_asks_to_be_one() -> None:
    strong = point_read(Dataset(100, 10), consistent=True)

    assert '"ConsistentRead":true' in "".join(strong.pieces)


def test_the_run_has_a_name() -> None:
    assert parse(["replicated", "--results", "/somewhere"]).results == Path("/somewhere")
