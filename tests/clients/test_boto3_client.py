"""boto3's client, with the SDK's own checks and retries on: waiters, paginators, errors as classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, WaiterError

from tests.conformance.tables import Gsi, TableFactory, a_table, eventually

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

WAIT: Any = {"Delay": 0.05, "MaxAttempts": 600}


def test_waiters_see_a_slow_table_come_and_go(session: boto3.Session, slow_endpoint: str) -> None:
    dynamodb = session.client("dynamodb", endpoint_url=slow_endpoint)
    definition = a_table()
    name = definition["TableName"]

    status = dynamodb.create_table(**definition)["TableDescription"]["TableStatus"]
    assert status == "CREATING"
    dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig=WAIT)
    assert dynamodb.describe_table(TableName=name)["Table"]["TableStatus"] == "ACTIVE"

    status = dynamodb.delete_table(TableName=name)["TableDescription"]["TableStatus"]
    assert status == "DELETING"
    dynamodb.get_waiter("table_not_exists").wait(TableName=name, WaiterConfig=WAIT)
    with pytest.raises(dynamodb.exceptions.ResourceNotFoundException):
        dynamodb.describe_table(TableName=name)


def test_a_waiter_gives_up_on_a_table_that_never_comes(dynamodb: DynamoDBClient) -> None:
    impatient: Any = {"Delay": 0.01, "MaxAttempts": 3}

    with pytest.raises(WaiterError, match="Max attempts exceeded"):
        dynamodb.get_waiter("table_exists").wait(TableName="gramme-never", WaiterConfig=impatient)


def test_paginators_go_through_query_scan_and_list(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create("pk:S sk:N")
    for number in range(7):
        dynamodb.put_item(TableName=name, Item={"pk": {"S": "p"}, "sk": {"N": str(number)}})

    pages = list(
        dynamodb.get_paginator("query").paginate(
            TableName=name,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": "p"}},
            ScanIndexForward=False,
            PaginationConfig={"PageSize": 3},
        )
    )
    scanned = dynamodb.get_paginator("scan").paginate(
        TableName=name, PaginationConfig={"PageSize": 2}
    )
    listed = dynamodb.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 1})

    assert [[item["sk"]["N"] for item in page["Items"]] for page in pages[:3]] == [
        ["6", "5", "4"],
        ["3", "2", "1"],
        ["0"],
    ]
    assert sorted(item["sk"]["N"] for item in scanned.search("Items[]")) == list("0123456")
    assert name in [found for page in listed for found in page["TableNames"]]


def test_a_paginator_goes_on_from_where_another_stopped(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create("pk:S")
    for number in range(10):
        dynamodb.put_item(TableName=name, Item={"pk": {"S": f"p{number}"}})
    scan = dynamodb.get_paginator("scan")

    first = scan.paginate(TableName=name, PaginationConfig={"MaxItems": 4}).build_full_result()
    rest = scan.paginate(
        TableName=name, PaginationConfig={"StartingToken": first["NextToken"]}
    ).build_full_result()

    found = [item["pk"]["S"] for page in (first, rest) for item in page["Items"]]
    assert sorted(found) == [f"p{number}" for number in range(10)]


def test_a_failed_condition_brings_the_item_along(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create("pk:S")
    dynamodb.put_item(TableName=name, Item={"pk": {"S": "a"}, "owner": {"S": "ada"}})

    with pytest.raises(dynamodb.exceptions.ConditionalCheckFailedException) as failure:
        dynamodb.put_item(
            TableName=name,
            Item={"pk": {"S": "a"}, "owner": {"S": "bob"}},
            ConditionExpression="attribute_not_exists(pk)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )

    response: Any = failure.value.response
    assert response["Item"]["owner"] == {"S": "ada"}
    assert response["Error"]["Message"] == "The conditional request failed"


def test_answers_carry_what_the_sdk_reads_of_them(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create("pk:S")

    answer = dynamodb.put_item(
        TableName=name, Item={"pk": {"S": "a"}}, ReturnConsumedCapacity="TOTAL"
    )

    metadata = answer["ResponseMetadata"]
    assert metadata["HTTPStatusCode"] == 200
    assert metadata["RetryAttempts"] == 0
    assert metadata["RequestId"]
    assert metadata["HTTPHeaders"]["x-amz-crc32"].isdigit()
    assert answer["ConsumedCapacity"] == {"TableName": name, "CapacityUnits": 1.0}


def test_bytes_of_a_large_answer_survive_their_way(
    dynamodb: DynamoDBClient, tables: TableFactory
) -> None:
    name = tables.create("pk:B")
    blob = bytes(range(256)) * 1000

    dynamodb.put_item(TableName=name, Item={"pk": {"B": b"\x00\xff"}, "blob": {"B": blob}})

    answer = dynamodb.get_item(TableName=name, Key={"pk": {"B": b"\x00\xff"}})
    assert answer["Item"]["blob"]["B"] == blob
    assert answer["ResponseMetadata"]["RetryAttempts"] == 0


def test_batches_go_over_two_tables(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    one, other = tables.create("pk:S"), tables.create("pk:N")
    dynamodb.batch_write_item(
        RequestItems={
            one: [{"PutRequest": {"Item": {"pk": {"S": "a"}}}}],
            other: [{"PutRequest": {"Item": {"pk": {"N": "1"}}}}],
        }
    )

    answer = dynamodb.batch_get_item(
        RequestItems={
            one: {"Keys": [{"pk": {"S": "a"}}, {"pk": {"S": "nobody"}}]},
            other: {"Keys": [{"pk": {"N": "1.0"}}], "ConsistentRead": True},
        }
    )

    assert answer["Responses"] == {one: [{"pk": {"S": "a"}}], other: [{"pk": {"N": "1"}}]}
    assert answer["UnprocessedKeys"] == {}


def test_an_index_is_read_page_by_page(dynamodb: DynamoDBClient, tables: TableFactory) -> None:
    name = tables.create("pk:S", Gsi("by-group", "group:S", "KEYS_ONLY"))
    for number in range(5):
        item: Any = {"pk": {"S": f"p{number}"}, "group": {"S": "g"}, "more": {"S": "unseen"}}
        dynamodb.put_item(TableName=name, Item=item)

    def in_group() -> list[str]:
        pages = dynamodb.get_paginator("query").paginate(
            TableName=name,
            IndexName="by-group",
            KeyConditionExpression="#g = :g",
            ExpressionAttributeNames={"#g": "group"},
            ExpressionAttributeValues={":g": {"S": "g"}},
            PaginationConfig={"PageSize": 2},
        )
        items = [item for page in pages for item in page["Items"]]
        assert all(item.keys() == {"pk", "group"} for item in items)
        return sorted(item["pk"]["S"] for item in items)

    eventually(in_group, [f"p{number}" for number in range(5)])


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_a_refusal_is_final_in_every_retry_mode(
    session: boto3.Session, endpoint: str, mode: Any
) -> None:
    dynamodb = session.client(
        "dynamodb", endpoint_url=endpoint, config=Config(retries={"mode": mode})
    )

    with pytest.raises(ClientError) as failure:
        dynamodb.get_item(TableName="gramme-never", Key={"pk": {"S": "a"}})

    assert failure.value.response["Error"]["Code"] == "ResourceNotFoundException"
    assert failure.value.response["ResponseMetadata"]["RetryAttempts"] == 0
