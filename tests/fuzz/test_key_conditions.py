"""Random key conditions: a Query finds what the slow and obvious reading of its condition finds, in order.

The whole server is asked, not only the compiler of conditions: what matters is the rows.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gramme.embedded import serving
from tests.fuzz.tables import Keys, TableSpec
from tests.support.client import Client, Json, Refused
from tests.support.examples import examples
from tests.support.expressions import meets
from tests.support.waiting import until

TEXTS = ("a", "a\x00", "a\x00b", "ab", "b", "A", "é", "e\u0301", "z", "\uffff", "\U0001f980")
RAWS = (
    b"\x00",
    b"\x00\xff",
    b"\x00\x00",
    b"a",
    b"a\xff",
    b"a\xff\xff",
    b"ab",
    b"\xff",
    b"\xff\xff",
)
NUMBERS = (
    *("0", "1", "-1", "10", "9", "-10", "-9", "0.5", "0.05", "1E-130", "-1E-130", "9.9E125"),
    *(
        "-9.9E125",
        "99999999999999999999999999999999999998",
        "99999999999999999999999999999999999999",
    ),
)
# As Python compares them, and as they are sent.
SORTS: dict[str, list[Any]] = {
    "S": [text.encode() for text in TEXTS],
    "B": list(RAWS),
    "N": [Decimal(number) for number in NUMBERS],
}
# An index whose partition key is the same for all, so that it sorts all items.
INDEX = "same"
INDEX_TIMEOUT_S = 10.0
MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
OPERATORS = (*MIRRORED, "BETWEEN", "begins_with")


class Question(NamedTuple):
    kind: str
    operator: str
    operands: tuple[Any, ...]
    forward: bool
    limit: int
    in_index: bool
    mirrored: bool
    range_first: bool


KINDS = st.sampled_from("SNB")
QUESTIONS = KINDS.flatmap(
    lambda kind: st.builds(
        Question,
        st.just(kind),
        st.sampled_from(OPERATORS[:-1] if kind == "N" else OPERATORS),
        st.tuples(st.sampled_from(SORTS[kind]), st.sampled_from(SORTS[kind])).map(
            lambda pair: tuple(sorted(pair))
        ),
        st.booleans(),
        st.sampled_from([1, 3, 100]),
        st.booleans(),
        st.booleans(),
        st.booleans(),
    )
)


def sent(kind: str, value: Any) -> Json:
    if kind == "N":
        return {"N": str(value)}
    return {"S": value.decode()} if kind == "S" else {"B": b64encode(value).decode()}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A table for each type of sort key, with every sort key under one partition key and a few under another."""
    with (
        serving(partitions=4) as server,
        Client(int(server.endpoint.rpartition(":")[2])) as client,
    ):
        for kind, sorts in SORTS.items():
            index = Keys(("all", "S"), ("sk", kind), INDEX)
            spec = TableSpec(f"by-{kind}", Keys(("pk", "S"), ("sk", kind)), (index,))
            client.call("CreateTable", spec.definition())
            for partition, members in (("full", sorts), ("other", sorts[::2])):
                for sort in members:
                    item = {"pk": {"S": partition}, "sk": sent(kind, sort), "all": {"S": partition}}
                    client.call("PutItem", {"TableName": spec.name, "Item": item})
            until(partial(is_level, client, kind), INDEX_TIMEOUT_S, f"{spec.name} is level")
        yield client


def is_level(client: Client, kind: str) -> bool:
    """Whether the index, which follows its table, has all of it."""
    rows = client.call("Scan", {"TableName": f"by-{kind}", "IndexName": INDEX})["Count"]
    return bool(rows == len(SORTS[kind]) + len(SORTS[kind][::2]))


def condition(question: Question) -> Json:
    operator, operands = question.operator, question.operands
    values = {":p": {"S": "full"}, ":a": sent(question.kind, operands[0])}
    if operator == "BETWEEN":
        values[":b"] = sent(question.kind, operands[1])
        text = "sk BETWEEN :a AND :b"
    elif operator == "begins_with":
        text = "begins_with(sk, :a)"
    else:
        text = f":a {MIRRORED[operator]} sk" if question.mirrored else f"sk {operator} :a"
    parts = ["#p = :p", text]
    if question.range_first:
        parts.reverse()
    return {
        "TableName": f"by-{question.kind}",
        "KeyConditionExpression": " AND ".join(parts),
        "ExpressionAttributeValues": values,
        "ExpressionAttributeNames": {"#p": "all" if question.in_index else "pk"},
        "ScanIndexForward": question.forward,
        "Limit": question.limit,
        **({"IndexName": INDEX} if question.in_index else {}),
    }


def found(client: Client, request: Json) -> list[Json]:
    """The sort keys of all pages."""
    sorts: list[Json] = []
    for _ in range(100):
        page = client.call("Query", request)
        sorts += [item["sk"] for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            return sorts
        request = request | {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    raise AssertionError("the pages do not end")


@given(QUESTIONS)
@settings(
    max_examples=examples(200),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_query_finds_the_keys_its_condition_names(client: Client, question: Question) -> None:
    wanted = sorted(
        (s for s in SORTS[question.kind] if meets(s, question.operator, question.operands)),
        reverse=not question.forward,
    )

    sorts = found(client, condition(question))

    assert [decoded(question.kind, sort) for sort in sorts] == wanted


def decoded(kind: str, sort: Json) -> Any:
    value = sort[kind]
    if kind == "N":
        return Decimal(value)
    return next(raw for raw in SORTS[kind] if sent(kind, raw) == sort)


@pytest.mark.parametrize("kind", SORTS)
def test_bounds_the_wrong_way_round_are_refused(client: Client, kind: str) -> None:
    high, low = max(SORTS[kind]), min(SORTS[kind])
    question = Question(kind, "BETWEEN", (high, low), True, 100, False, False, False)

    with pytest.raises(Refused, match="The BETWEEN operator requires upper bound"):
        client.call("Query", condition(question))
