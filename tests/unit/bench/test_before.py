"""The server beside what it was: how its rows become promises."""

import pytest

from bench.before import BEFORE, NOW, report_of
from bench.compare import Comparison, Row
from bench.options import parse
from bench.report import markdown


def a_row(server: str, operation: str, per_second: float, void: str = "") -> Row:
    return Row(server, operation, 64, per_second, 1.0, 2.0, 30.0, 0.5, 0.1, void)


def test_what_is_slower_by_more_than_noise_is_told() -> None:
    rows = [
        *(a_row(NOW, "GetItem", 960), a_row(BEFORE, "GetItem", 1000)),
        *(a_row(NOW, "PutItem", 900), a_row(BEFORE, "PutItem", 1000)),
        *(a_row(NOW, "Query", 900), a_row(BEFORE, "Query", 1000, void="1 errors")),
    ]
    options = parse(["--only", "GetItem,PutItem,Query", "--connections", "64"])

    report = report_of(Comparison(rows, []), ["a", "b"], options, {})

    assert [each.holds for each in report.targets] == [True, False, None]
    assert "| 0.96x " in markdown(report)


def test_the_commit_to_compare_with_must_be_given() -> None:
    with pytest.raises(SystemExit):
        parse(["before"])
