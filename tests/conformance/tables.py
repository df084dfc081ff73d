"""Tables for the conformance tests, and what the tests say of them again and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.support.waiting import until

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

# A server of our own makes a table at once; DynamoDB takes its time.
ACTIVE_TIMEOUT_S = 60.0
INDEX_TIMEOUT_S = 30.0

Item = dict[str, Any]
Parameters = dict[str, Any]


def key_schema(key: str) -> list[Item]:
    """From "a:S b:N": the first attribute is the partition key, the second the sort key."""
    kinds = ("HASH", "RANGE")
    return [
        {"AttributeName": attribute.partition(":")[0], "KeyType": kind}
        for attribute, kind in zip(key.split(), kinds, strict=False)
    ]


def definitions(*keys: str) -> list[Item]:
    attributes = dict.fromkeys(attribute for key in keys for attribute in key.split())
    return [
        {"AttributeName": name, "AttributeType": type}
        for name, _, type in (attribute.partition(":") for attribute in attributes)
    ]


class Gsi(NamedTuple):
    """A global index, its key written as a table's is."""

    name: str
    key: str
    projection: str = "ALL"
    attributes: tuple[str, ...] = ()

    def definition(self) -> Item:
        return {
            "IndexName": self.name,
            "KeySchema": key_schema(self.key),
            "Projection": _projection(self),
        }


class Lsi(NamedTuple):
    """A local index. Its key is written whole too, with the table's partition key."""

    name: str
    key: str
    projection: str = "ALL"
    attributes: tuple[str, ...] = ()

    def definition(self) -> Item:
        return {
            "IndexName": self.name,
            "KeySchema": key_schema(self.key),
            "Projection": _projection(self),
        }


def _projection(index: Gsi | Lsi) -> Item:
    projection: Item = {"ProjectionType": index.projection}
    if index.attributes:
        projection["NonKeyAttributes"] = list(index.attributes)
    return projection


def unique_name(purpose: str) -> str:
    return f"gramme-{purpose}-{uuid4().hex[:12]}"


def a_table(key: str = "pk:S", *indexes: Gsi | Lsi, **changes: Any) -> Parameters:
    """What CreateTable takes for a table such as "pk:S sk:N"."""
    parameters: Parameters = {
        "TableName": unique_name("table"),
        "AttributeDefinitions": definitions(key, *(index.key for index in indexes)),
        "KeySchema": key_schema(key),
        "BillingMode": "PAY_PER_REQUEST",
    }
    kinds = (("GlobalSecondaryIndexes", Gsi), ("LocalSecondaryIndexes", Lsi))
    for member, kind in kinds:
        of_kind = [index.definition() for index in indexes if isinstance(index, kind)]
        if of_kind:
            parameters[member] = of_kind
    return parameters | changes


@dataclass
class TableFactory:
    dynamodb: DynamoDBClient
    names: list[str] = field(default_factory=list)

    def create(self, key: str = "pk:S", *indexes: Gsi | Lsi) -> str:
        """Make a table such as "pk:S sk:N" and wait until it is active."""
        return self.create_from(a_table(key, *indexes))

    def create_from(self, parameters: Parameters) -> str:
        name: str = parameters["TableName"]
        self.names.append(name)
        self.dynamodb.create_table(**parameters)
        until(lambda: self._is_active(name), ACTIVE_TIMEOUT_S, f"{name} is active")
        return name

    def _is_active(self, name: str) -> bool:
        table = self.dynamodb.describe_table(TableName=name)["Table"]
        return table["TableStatus"] == "ACTIVE"

    def delete_all(self) -> None:
        for name in self.names:
            try:
                self.dynamodb.delete_table(TableName=name)
            except ClientError as error:
                if error.response["Error"]["Code"] != "ResourceNotFoundException":
                    raise


def refusal(call: Callable[..., object], **parameters: Any) -> tuple[str, str]:
    """The code and the message of the error that a call ends in."""
    with pytest.raises(ClientError) as failure:
        call(**parameters)
    error = failure.value.response["Error"]
    return error["Code"], error["Message"]


def invalid(call: Callable[..., object], **parameters: Any) -> str:
    """The message of the ValidationException that a call ends in."""
    code, message = refusal(call, **parameters)
    assert code == "ValidationException", message
    return message


def eventually(read: Callable[[], Any], expected: Any) -> None:
    """Poll a read that is only eventually consistent until it answers `expected`."""
    seen: list[Any] = [None]

    def equal() -> bool:
        seen[0] = read()
        return bool(seen[0] == expected)

    try:
        until(equal, INDEX_TIMEOUT_S, "the index has caught up")
    except AssertionError:
        assert seen[0] == expected
