"""The table that loads write to: its global and local indexes, and reading all of it back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from tests.support.client import Client, Json
from tests.support.history import COLOURS, GROUPS, Key
from tests.support.waiting import until

TABLE = "load"
INDEX_TIMEOUT_S = 5.0
# Every base item with the attribute is here as a whole.
BY_GROUP = "by-group"
# Here only with its keys: the base's and the index's own.
BY_COLOUR = "by-colour"
# The same two ways for local indexes, which are read strongly.
LOCAL_BY_NUMBER = "local-by-number"
LOCAL_BY_COLOUR = "local-by-colour"
INDEXES = (BY_GROUP, BY_COLOUR)


def definition(name: str = TABLE) -> Json:
    types = {"pk": "S", "sk": "N", "group": "S", "n": "N", "colour": "N"}
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind} for name, kind in types.items()
        ],
        "KeySchema": key_schema("pk", "sk"),
        "GlobalSecondaryIndexes": [
            {
                "IndexName": BY_GROUP,
                "KeySchema": key_schema("group", "n"),
                "Projection": {"ProjectionType": "ALL"},
            },
            {
                "IndexName": BY_COLOUR,
                "KeySchema": key_schema("colour"),
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            },
        ],
        "LocalSecondaryIndexes": [
            {
                "IndexName": LOCAL_BY_NUMBER,
                "KeySchema": key_schema("pk", "n"),
                "Projection": {"ProjectionType": "ALL"},
            },
            {
                "IndexName": LOCAL_BY_COLOUR,
                "KeySchema": key_schema("pk", "colour"),
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            },
        ],
    }


def without_global_indexes(name: str = TABLE) -> Json:
    """The same table, to which indexes are added later."""
    table = definition(name)
    del table["GlobalSecondaryIndexes"]
    schemas = [table, *table.get("LocalSecondaryIndexes", ())]
    used = {element["AttributeName"] for one in schemas for element in one["KeySchema"]}
    definitions = table["AttributeDefinitions"]
    table["AttributeDefinitions"] = [one for one in definitions if one["AttributeName"] in used]
    return table


def key_schema(*names: str) -> list[Json]:
    kinds = ("HASH", "RANGE")
    return [
        {"AttributeName": name, "KeyType": kind} for name, kind in zip(names, kinds, strict=False)
    ]


def create(client: Client, table: Json | None = None, timeout_s: float = 10.0) -> None:
    """Create the table and wait until it and its indexes are active."""
    table = table or definition()
    client.call("CreateTable", table)
    await_active(client, table["TableName"], timeout_s)


def await_active(client: Client, name: str = TABLE, timeout_s: float = 10.0) -> None:
    """Wait until a table is active, and no index of it is being added or removed."""

    def active() -> bool:
        described = client.call("DescribeTable", {"TableName": name})["Table"]
        indexes = described.get("GlobalSecondaryIndexes", [])
        return described["TableStatus"] == "ACTIVE" and all(
            index["IndexStatus"] == "ACTIVE" for index in indexes
        )

    until(active, timeout_s, "the table and its indexes are active")


def index_states(client: Client, name: str = TABLE) -> dict[str, str]:
    table = client.call("DescribeTable", {"TableName": name})["Table"]
    indexes = table.get("GlobalSecondaryIndexes", [])
    return {index["IndexName"]: index["IndexStatus"] for index in indexes}


def addition(index: str, name: str = TABLE) -> Json:
    """An UpdateTable that adds one of the two indexes."""
    whole = definition()
    create = next(one for one in whole["GlobalSecondaryIndexes"] if one["IndexName"] == index)
    keys = {element["AttributeName"] for element in create["KeySchema"]}
    return {
        "TableName": name,
        "AttributeDefinitions": [
            one for one in whole["AttributeDefinitions"] if one["AttributeName"] in keys
        ],
        "GlobalSecondaryIndexUpdates": [{"Create": create}],
    }


def removal(index: str, name: str = TABLE) -> Json:
    """An UpdateTable that removes an index."""
    delete = {"Delete": {"IndexName": index}}
    return {"TableName": name, "GlobalSecondaryIndexUpdates": [delete]}


def query(client: Client, request: Json) -> Iterator[Json]:
    """Every item of all pages."""
    start: Json | None = None
    while True:
        page = client.call("Query", {**request, **({"ExclusiveStartKey": start} if start else {})})
        yield from page["Items"]
        start = page.get("LastEvaluatedKey")
        if start is None:
            return


def key_of(item: Json) -> Key:
    return Key(item["pk"]["S"], Decimal(item["sk"]["N"]))


def read_base(client: Client, partitions: Iterable[str], table: str = TABLE) -> dict[Key, Json]:
    """Every item under the partition keys, read strongly."""
    found: dict[Key, Json] = {}
    for partition in partitions:
        request = {
            "TableName": table,
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": {"S": partition}},
            "ConsistentRead": True,
        }
        for item in query(client, request):
            assert key_of(item) not in found, f"{key_of(item)} came twice"
            found[key_of(item)] = item
    return found


def read_index(client: Client, index: str, table: str = TABLE) -> list[Json]:
    attribute, values = {
        BY_GROUP: ("group", [{"S": f"g{number}"} for number in range(GROUPS)]),
        BY_COLOUR: ("colour", [{"N": str(number)} for number in range(COLOURS)]),
    }[index]
    request = {
        "TableName": table,
        "IndexName": index,
        "KeyConditionExpression": "#hash = :hash",
        "ExpressionAttributeNames": {"#hash": attribute},
    }
    return [
        item
        for value in values
        for item in query(client, {**request, "ExpressionAttributeValues": {":hash": value}})
    ]


def read_local_index(client: Client, index: str, table: str, **options: str) -> list[Json]:
    """Every row, read strongly."""
    request: Json = {"TableName": table, "IndexName": index, "ConsistentRead": True, **options}
    found: list[Json] = []
    while True:
        page = client.call("Scan", request)
        found += page["Items"]
        if "LastEvaluatedKey" not in page:
            return found
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def projection(base: Iterable[Json], index: str) -> list[Json]:
    if index == BY_GROUP:
        return [item for item in base if "group" in item and "n" in item]
    if index == LOCAL_BY_NUMBER:
        return [item for item in base if "n" in item]
    names = ("pk", "sk", "colour")
    return [{name: item[name] for name in names} for item in base if "colour" in item]


def index_problem(
    client: Client, base: Mapping[Key, Json], index: str, table: str = TABLE
) -> str | None:
    """How the index differs from the projection of its base, or None."""
    rows = read_index(client, index, table)
    return difference(index, projection(base.values(), index), rows)


def local_index_problem(client: Client, base: Mapping[Key, Json], table: str = TABLE) -> str | None:
    """Likewise for the local indexes, which must be right at once, also in what they fetch from the base."""
    for index in (LOCAL_BY_NUMBER, LOCAL_BY_COLOUR):
        rows = read_local_index(client, index, table)
        if problem := difference(index, projection(base.values(), index), rows):
            return problem
    whole = [item for item in base.values() if "colour" in item]
    rows = read_local_index(client, LOCAL_BY_COLOUR, table, Select="ALL_ATTRIBUTES")
    return difference(f"{LOCAL_BY_COLOUR} with its items", whole, rows)


def difference(index: str, wanted: Iterable[Json], rows: list[Json]) -> str | None:
    expected = {key_of(item): item for item in wanted}
    actual = {key_of(item): item for item in rows}
    if len(actual) != len(rows):
        return f"{index} shows an item twice"
    for key in expected.keys() | actual.keys():
        if expected.get(key) != actual.get(key):
            return f"{index} shows {actual.get(key)} where the base has {expected.get(key)}"
    return None


def await_indexes(
    client: Client,
    base: Mapping[Key, Json],
    table: str = TABLE,
    timeout_s: float = INDEX_TIMEOUT_S,
    indexes: Iterable[str] = INDEXES,
) -> str | None:
    """Wait until each index equals the projection of its base; return what still differs in the end.

    For local indexes nobody waits.
    """
    if problem := local_index_problem(client, base, table):
        return problem
    for index in indexes:
        last: list[str] = []

        def equal(index: str = index, last: list[str] = last) -> bool:
            problem = index_problem(client, base, index, table)
            last[:] = [problem] if problem else []
            return problem is None

        try:
            until(equal, timeout_s, f"{index} equals its base")
        except AssertionError:
            return last[0]
    return None
