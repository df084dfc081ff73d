"""Cells become rows, rows become verdicts, and an error voids what it touches."""

from xml.etree import ElementTree

import pytest

from bench.chart import Group, Panel, bars
from bench.compare import Comparison, Row, row_of
from bench.load import Cell, Sample, percentile
from bench.options import parse
from bench.report import Table, markdown_table
from bench.verdict import speed_ratio


def a_cell(answers: int = 1000, failures: int = 0, broken: int = 0) -> Cell:
    sample = Sample(answers, failures, broken, "because", 2.0, 1.0, 3.0, 9.0, client_cpu_s=0.5)
    return Cell(sample, server_cpu_s=0.1, others_cpu_s=0.0, resident_bytes=1 << 20)


def a_row(server: str, per_second: float, void: str = "") -> Row:
    return Row(server, "GetItem", 64, per_second, 1.0, 2.0, 30.0, 0.5, 0.0, void)


def test_a_row_is_the_median_of_its_rounds() -> None:
    row = row_of("gramme", "GetItem", 64, [a_cell(1000), a_cell(4000), a_cell(2000)])

    assert row.per_second == 1000
    assert row.cpu_us == pytest.approx(50)
    assert not row.void


@pytest.mark.parametrize(
    "bad",
    [a_cell(failures=1), a_cell(broken=1), a_cell(answers=0)],
    ids=["error answer", "broken connection", "no answer"],
)
def test_one_bad_round_voids_the_row(bad: Cell) -> None:
    row = row_of("gramme", "GetItem", 64, [a_cell(), bad, a_cell()])

    assert row.void


def test_a_void_row_supports_no_verdict() -> None:
    good = Comparison([a_row("gramme", 300), a_row("dynalite", 100)], [])
    void = Comparison([a_row("gramme", 300, "1 errors"), a_row("dynalite", 100)], [])

    assert speed_ratio(good, "GetItem") == 3
    assert speed_ratio(void, "GetItem") is None


def test_percentile_of_few_values_is_the_largest() -> None:
    assert percentile([1.0, 2.0, 3.0], 99) == 3.0
    assert percentile([float(number) for number in range(100)], 50) == 50.0


def test_table_columns_are_padded_and_cells_cannot_break_them() -> None:
    text = markdown_table(Table("", ("a", "b"), [("long", "x|y")]))

    assert text.splitlines() == ["| a    | b   |", "| ---- | --- |", "| long | x/y |"]


def test_a_chart_is_well_formed_and_marks_what_is_void() -> None:
    chart = bars("a & b", ["one", "two"], [Panel("p", [Group("g", [10.0, None])])])

    assert ElementTree.fromstring(chart).tag.endswith("svg")
    assert "void" in chart


def test_a_quick_run_does_not_touch_committed_results() -> None:
    assert parse(["--quick"]).results.name == "raw"
    assert parse([]).results.name == "results"


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(SystemExit):
        parse(["--only", "Frobnicate"])
