"""What DynamoDB counts a value as: seen in what a put costs, which goes up by one at each kilobyte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import Item

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient


def cost(dynamodb: DynamoDBClient, table: str, item: Item) -> float:
    answer = dynamodb.put_item(TableName=table, Item=item, ReturnConsumedCapacity="TOTAL")
    return answer["ConsumedCapacity"]["CapacityUnits"]


def counts_as(dynamodb: DynamoDBClient, table: str, pk: str, value: Any, size: int) -> bool:
    """Whether a kilobyte that is otherwise full has room for `value` if that has `size` bytes, and not one more."""
    item: Item = {"pk": {"S": pk}, "v": value}
    full = "x" * (1024 - len("pk") - len(pk) - len("v") - size - len("pad"))
    fits = cost(dynamodb, table, item | {"pad": {"S": full}}) == 1.0
    # The item before is larger than none, so what counts is the new one.
    dynamodb.delete_item(TableName=table, Key={"pk": {"S": pk}})
    overflows = cost(dynamodb, table, item | {"pad": {"S": full + "x"}}) == 2.0
    return fits and overflows


@pytest.mark.parametrize(
    ("number", "size"),
    [
        ("0", 1),
        ("1", 2),
        ("10", 2),
        ("11", 2),
        ("100", 2),
        ("101", 3),
        ("12345", 4),
        ("1" + "0" * 100, 2),
        ("0.1", 2),
        ("0.0000001", 2),
        ("0.12", 2),
        ("0.123", 3),
        ("1.5", 3),
        ("12.34", 3),
        ("123.456", 5),
        ("-1", 3),
        ("-12.5", 4),
        ("1E125", 2),
        ("1E-130", 2),
        ("9" * 38, 20),
        ("-0." + "9" * 38, 21),
    ],
)
def test_number_counts_its_significant_digits_in_pairs(
    dynamodb: DynamoDBClient, table: str, pk: str, number: str, size: int
) -> None:
    assert counts_as(dynamodb, table, pk, {"N": number}, size)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": ""}, 0),
        ({"S": "é\U0001f600"}, 6),
        ({"B": b"123"}, 3),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["a", "bc"]}, 3),
        ({"NS": ["1", "100"]}, 4),
        ({"BS": [b"a", b"bcd"]}, 4),
        ({"L": []}, 3),
        ({"L": [{"S": "abc"}, {"BOOL": True}]}, 3 + 1 + 3 + 1 + 1),
        ({"M": {}}, 3),
        ({"M": {"key": {"S": "abc"}}}, 3 + 1 + 3 + 3),
        ({"M": {"é": {"L": [{"M": {}}]}}}, 3 + 1 + 2 + 3 + 1 + 3),
    ],
)
def test_value_counts_its_bytes_and_what_holds_them(
    dynamodb: DynamoDBClient, table: str, pk: str, value: Item, size: int
) -> None:
    assert counts_as(dynamodb, table, pk, value, size)


def sized(pk: str, kilobytes: int) -> Item:
    return {"pk": {"S": pk}, "v": {"S": "x" * (kilobytes * 1024 - 100)}}


def test_write_costs_what_the_larger_image_does(
    dynamodb: DynamoDBClient, table: str, pk: str
) -> None:
    assert cost(dynamodb, table, sized(pk, 2)) == 2.0
    assert cost(dynamodb, table, sized(pk, 5)) == 5.0
    assert cost(dynamodb, table, {"pk": {"S": pk}}) == 5.0
    assert cost(dynamodb, table, {"pk": {"S": pk}}) == 1.0


@pytest.mark.parametrize(("size", "units"), [(4096, 1.0), (4097, 2.0), (8192, 2.0), (8193, 3.0)])
def test_read_costs_a_unit_for_each_four_kilobytes(
    dynamodb: DynamoDBClient, table: str, pk: str, size: int, units: float
) -> None:
    text = "x" * (size - len("pk") - len(pk) - len("v"))
    dynamodb.put_item(TableName=table, Item={"pk": {"S": pk}, "v": {"S": text}})

    answer = dynamodb.get_item(
        TableName=table,
        Key={"pk": {"S": pk}},
        ConsistentRead=True,
        # What is left out is read all the same.
        ProjectionExpression="pk",
        ReturnConsumedCapacity="INDEXES",
    )

    assert answer["ConsumedCapacity"] == {
        "TableName": table,
        "CapacityUnits": units,
        "Table": {"CapacityUnits": units},
    }


@pytest.mark.parametrize("detail", ["NONE", None])
def test_cost_is_told_only_if_asked_for(
    dynamodb: DynamoDBClient, table: str, pk: str, detail: Any
) -> None:
    wish: Any = {} if detail is None else {"ReturnConsumedCapacity": detail}

    answers: list[Any] = [
        dynamodb.put_item(TableName=table, Item={"pk": {"S": pk}}, **wish),
        dynamodb.get_item(TableName=table, Key={"pk": {"S": pk}}, **wish),
        dynamodb.scan(TableName=table, Limit=1, **wish),
    ]

    assert not any("ConsumedCapacity" in answer for answer in answers)


@pytest.mark.parametrize(("consistent", "units"), [(True, 4.0), (False, 2.0)])
def test_query_rounds_the_sum_of_what_it_reads(
    dynamodb: DynamoDBClient, composite: str, pk: str, consistent: bool, units: float
) -> None:
    for number in range(5):
        text = "x" * (3 * 1024 - 100)
        item: Item = {"pk": {"S": pk}, "sk": {"N": str(number)}, "v": {"S": text}}
        dynamodb.put_item(TableName=composite, Item=item)

    answer = dynamodb.query(
        TableName=composite,
        KeyConditionExpression="pk = :pk",
        # Read before it is filtered.
        FilterExpression="attribute_not_exists(v)",
        ExpressionAttributeValues={":pk": {"S": pk}},
        ConsistentRead=consistent,
        ReturnConsumedCapacity="TOTAL",
    )

    assert answer["Items"] == []
    assert answer["ConsumedCapacity"] == {"TableName": composite, "CapacityUnits": units}
