"""A server whose tables and indexes take their time, by a clock that the test moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from gramme.embedded import Server
from tests.conformance.tables import Gsi, a_table
from tests.support.waiting import until

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

DELAY_MS = 60_000
TIMEOUT_S = 10.0
IN_USE = "Attempt to change a resource which is still in use: "


def client_of(server: Server) -> DynamoDBClient:
    return boto3.client(
        "dynamodb",
        endpoint_url=server.endpoint,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"total_max_attempts": 1}, parameter_validation=False),
    )


class Slow:
    """A server whose tables change states when the test says so."""

    def __init__(self, server: Server) -> None:
        self.dynamodb = client_of(server)
        self.clock = server.clock

    def create(self, *indexes: Gsi, **changes: Any) -> str:
        parameters = a_table("pk:S", *indexes, **changes)
        self.dynamodb.create_table(**parameters)
        return str(parameters["TableName"])

    def create_active(self, *indexes: Gsi, **changes: Any) -> str:
        name = self.create(*indexes, **changes)
        self.pass_time(name, "ACTIVE")
        return name

    def status(self, name: str) -> str:
        return self.dynamodb.describe_table(TableName=name)["Table"]["TableStatus"]

    def pass_time(self, name: str, status: str) -> None:
        self.clock.advance(DELAY_MS)
        until(lambda: self.status(name) == status, TIMEOUT_S, f"{name} is {status}")
