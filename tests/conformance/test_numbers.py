"""Numbers: 38 digits, exact, and one text for each value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.tables import Gsi, Item, TableFactory, eventually, invalid

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

OVERFLOW = (
    "Number overflow. Attempting to store a number with magnitude larger than supported range"
)
UNDERFLOW = (
    "Number underflow. Attempting to store a number with magnitude smaller than supported range"
)
TOO_PRECISE = "Attempting to store more than 38 significant digits in a Number"
NINES = "9" * 38


def stored(dynamodb: DynamoDBClient, table: str, pk: str, number: str) -> str:
    key: Item = {"pk": {"S": pk}}
    dynamodb.put_item(TableName=table, Item=key | {"n": {"N": number}})
    answer = dynamodb.get_item(TableName=table, Key=key, ConsistentRead=True)
    return answer["Item"]["n"]["N"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("+5", "5"),
        ("5.", "5"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("1e3", "1000"),
        ("1E+3", "1000"),
        ("1e-3", "0.001"),
        ("007", "7"),
        ("-0", "0"),
        ("0.00", "0"),
        ("0e0", "0"),
        ("00.10", "0.1"),
        ("1.20", "1.2"),
        ("-1.50E2", "-150"),
        (NINES, NINES),
        (f"0.{NINES}", f"0.{NINES}"),
        ("9" * 37 + ".9", "9" * 37 + ".9"),
        ("0" * 50 + NINES, NINES),
        (NINES + "0" * 20, NINES + "0" * 20),
        (NINES + "." + "0" * 50, NINES),
        ("9.9999999999999999999999999999999999999E+125", NINES + "0" * 88),
        ("-9.9999999999999999999999999999999999999E+125", "-" + NINES + "0" * 88),
        ("1E-130", "0." + "0" * 129 + "1"),
        ("-1E-130", "-0." + "0" * 129 + "1"),
        ("0.1e126", "1" + "0" * 125),
        ("10e-131", "0." + "0" * 129 + "1"),
        # A zero has the magnitude of its last digit as written.
        ("0.0e126", "0"),
        ("0e125", "0"),
        ("0e-130", "0"),
    ],
)
def test_number_has_one_text(
    dynamodb: DynamoDBClient, table: str, pk: str, given: str, expected: str
) -> None:
    assert stored(dynamodb, table, pk, given) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("1" * 39, TOO_PRECISE),
        ("1" + "0" * 37 + "1", TOO_PRECISE),
        ("0." + "1" * 39, TOO_PRECISE),
        ("1E126", OVERFLOW),
        ("-1E126", OVERFLOW),
        ("10E125", OVERFLOW),
        ("0e126", OVERFLOW),
        ("1E-131", UNDERFLOW),
        ("-1E-131", UNDERFLOW),
        ("0.1E-130", UNDERFLOW),
        ("0e-131", UNDERFLOW),
        *(
            (text, f"The parameter cannot be converted to a numeric value: {text}")
            for text in (
                "NaN",
                "Infinity",
                "-Infinity",
                "abc",
                "1 2",
                " 1",
                "1 ",
                "\t1",
                "1e",
                "e5",
                "1e5.5",
                "--1",
                "+-1",
                "0x10",
                "1,000",
                ".",
                "-",
                "1_000",
                "1f",
                "1d",
                "1e99999999999",
            )
        ),
        ("", "The parameter cannot be converted to a numeric value"),
    ],
)
def test_what_is_no_number_is_refused(
    dynamodb: DynamoDBClient, table: str, pk: str, given: str, message: str
) -> None:
    for value in ({"N": given}, {"NS": ["1", given]}, {"L": [{"M": {"n": {"N": given}}}]}):
        item = {"pk": {"S": pk}, "n": value}

        assert invalid(dynamodb.put_item, TableName=table, Item=item) == message


@pytest.mark.parametrize("type", ["hash", "range"])
def test_key_is_the_same_by_value(
    dynamodb: DynamoDBClient, tables: TableFactory, type: str
) -> None:
    name = tables.create("k:N" if type == "hash" else "pk:S k:N")
    rest: Item = {} if type == "hash" else {"pk": {"S": "a"}}
    dynamodb.put_item(TableName=name, Item=rest | {"k": {"N": "1000"}, "v": {"S": "old"}})

    dynamodb.put_item(TableName=name, Item=rest | {"k": {"N": "+1.0E3"}, "v": {"S": "new"}})

    items = dynamodb.scan(TableName=name, ConsistentRead=True)["Items"]
    assert items == [rest | {"k": {"N": "1000"}, "v": {"S": "new"}}]


def test_close_numbers_stay_apart(dynamodb: DynamoDBClient, composite: str, pk: str) -> None:
    # No two of them differ as floats.
    close = ["1000000000000000000", "1000000000000000001", "1000000000000000001.5"]
    for number in close:
        dynamodb.put_item(TableName=composite, Item={"pk": {"S": pk}, "sk": {"N": number}})

    answer = dynamodb.query(
        TableName=composite,
        KeyConditionExpression="pk = :pk AND sk > :first",
        ExpressionAttributeValues={":pk": {"S": pk}, ":first": {"N": close[0]}},
        ConsistentRead=True,
    )

    assert [item["sk"]["N"] for item in answer["Items"]] == close[1:]


ORDERED = [
    "-9.9999999999999999999999999999999999999E+125",
    "-1000",
    "-999.5",
    "-1",
    "-0.5",
    "-1E-130",
    "0",
    "1E-130",
    "0.5",
    "0.51",
    "1",
    "9",
    "10",
    "99.9",
    "100",
    "9.9999999999999999999999999999999999999E+125",
]


def test_keys_sort_as_numbers(dynamodb: DynamoDBClient, composite: str, pk: str) -> None:
    for number in sorted(ORDERED):
        item: Item = {"pk": {"S": pk}, "sk": {"N": number}, "given": {"S": number}}
        dynamodb.put_item(TableName=composite, Item=item)

    answer = dynamodb.query(
        TableName=composite,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": pk}},
        ConsistentRead=True,
    )

    assert [item["given"]["S"] for item in answer["Items"]] == ORDERED


def test_keys_of_an_index_sort_as_numbers(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create("pk:S", Gsi("by-n", "g:S n:N"))
    for number in ORDERED:
        item: Item = {"pk": {"S": number}, "g": {"S": "all"}, "n": {"N": number}}
        dynamodb.put_item(TableName=name, Item=item)

    def read() -> list[str]:
        answer = dynamodb.query(
            TableName=name,
            IndexName="by-n",
            KeyConditionExpression="g = :g",
            ExpressionAttributeValues={":g": {"S": "all"}},
        )
        return [item["pk"]["S"] for item in answer["Items"]]

    eventually(read, ORDERED)


@pytest.mark.parametrize(
    ("start", "step", "result"),
    [
        ("0.1", "0.2", "0.3"),
        (NINES, "-1", "9" * 37 + "8"),
        ("1000000000000000000", "0.000000000000000001", "1000000000000000000.000000000000000001"),
        ("1E125", "-1E125", "0"),
        ("-5", "5", "0"),
        ("1E-130", "1E-130", "0." + "0" * 129 + "2"),
        (NINES, "1", "1" + "0" * 38),
    ],
)
def test_sum_is_exact(
    dynamodb: DynamoDBClient, table: str, pk: str, start: str, step: str, result: str
) -> None:
    key: Item = {"pk": {"S": pk}}
    for expression in ("ADD n :step", "SET n = n + :step"):
        dynamodb.put_item(TableName=table, Item=key | {"n": {"N": start}})
        answer = dynamodb.update_item(
            TableName=table,
            Key=key,
            UpdateExpression=expression,
            ExpressionAttributeValues={":step": {"N": step}},
            ReturnValues="UPDATED_NEW",
        )

        assert answer["Attributes"] == {"n": {"N": result}}


@pytest.mark.parametrize(
    ("start", "step"),
    [
        (NINES, "0.1"),
        ("1E38", "1"),
        ("9.9999999999999999999999999999999999999E+125", "1E125"),
        ("1", "1E-130"),
    ],
)
def test_sum_that_cannot_be_exact_is_refused(
    dynamodb: DynamoDBClient, table: str, pk: str, start: str, step: str
) -> None:
    key: Item = {"pk": {"S": pk}}
    dynamodb.put_item(TableName=table, Item=key | {"n": {"N": start}})
    before = dynamodb.get_item(TableName=table, Key=key, ConsistentRead=True)["Item"]

    message = invalid(
        dynamodb.update_item,
        TableName=table,
        Key=key,
        UpdateExpression="SET n = n + :step",
        ExpressionAttributeValues={":step": {"N": step}},
    )

    assert message == OVERFLOW
    assert dynamodb.get_item(TableName=table, Key=key, ConsistentRead=True)["Item"] == before
