"""What every example needs: a connection, a table that goes away again, and patience with indexes.

Each example is `with temporary_table(...) as table:` and a few functions an application might have. Everything here is
plain boto3, and works against DynamoDB as it does against Gramme.

Reads are eventually consistent unless they ask for more. An application seldom needs to; the examples say
`ConsistentRead=True` wherever they claim something about what they wrote a moment ago.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import uuid4

import boto3
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError

# boto3 makes its classes when it runs, from the description of the service: there is none here to name.
Table = Any
Item = dict[str, Any]
T = TypeVar("T")

DEFAULT_ENDPOINT = "http://localhost:8000"
# A waiter's own choice is 20 seconds between two looks.
WAIT = {"Delay": 1, "MaxAttempts": 120}
INDEX_TIMEOUT_S = 30.0
INDEX_POLL_S = 0.05


@contextmanager
def temporary_table(
    purpose: str, key: str, indexes: Mapping[str, str] | None = None
) -> Iterator[Table]:
    """A table for the length of a `with`, under a name nobody else has, and removed even if the example fails.

    Keys are written "name:type name:type": the partition key, then the sort key if there is one. The types are S for
    text, N for numbers, B for bytes. `indexes` are global secondary indexes, by their names.
    """
    dynamodb = connect()
    name = f"example-{purpose}-{uuid4().hex[:8]}"
    table = dynamodb.create_table(TableName=name, **_definition(key, indexes or {}))
    try:
        table.meta.client.get_waiter("table_exists").wait(TableName=name, WaiterConfig=WAIT)
        print(f"Made the table {name}.")
        yield table
    finally:
        table.delete()
        table.meta.client.get_waiter("table_not_exists").wait(TableName=name, WaiterConfig=WAIT)
        print(f"\nRemoved the table {name}.")


def connect() -> Any:
    """The server of the first argument, else of AWS_ENDPOINT_URL, else a Gramme on this machine."""
    endpoint = next(iter(sys.argv[1:]), os.environ.get("AWS_ENDPOINT_URL", DEFAULT_ENDPOINT))
    # Do not look for the credentials of a machine in the cloud: elsewhere that takes seconds.
    os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")
    session = boto3.Session()
    if session.get_credentials() is None:
        # An SDK sends nothing unsigned. A local server takes any name, and any secret.
        session = boto3.Session("example", "example", region_name=session.region_name)
    dynamodb = session.resource(
        "dynamodb",
        endpoint_url=endpoint,
        region_name=session.region_name or "us-east-1",
        config=Config(retries={"mode": "standard"}, max_pool_connections=32),
    )
    try:
        dynamodb.meta.client.list_tables(Limit=1)
    except EndpointConnectionError:
        sys.exit(f"Nobody listens on {endpoint}. Start a server in another terminal: gramme serve")
    return dynamodb


def eventually(read: Callable[[], T], enough: Callable[[T], bool]) -> T:
    """Read from a global index again and again, until it has caught up.

    A write is answered when the table has it. Its indexes are told afterwards, because they live in other partitions,
    perhaps on other machines, and a write should not wait for those. So an index shows the past for a moment, and a query
    of one cannot ask for a consistent read. Applications live with that, and seldom wait as this does: an example has
    to, because it claims something about what it just wrote.
    """
    deadline = time.monotonic() + INDEX_TIMEOUT_S
    while not enough(found := read()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the index still shows {found}")
        time.sleep(INDEX_POLL_S)
    return found


def _definition(key: str, indexes: Mapping[str, str]) -> dict[str, Any]:
    """What CreateTable takes. Only key attributes are declared: an item may have any others."""
    attributes = dict(part.split(":") for text in (key, *indexes.values()) for part in text.split())
    definition: dict[str, Any] = {
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": _key_schema(key),
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": type} for name, type in attributes.items()
        ],
    }
    if indexes:
        definition["GlobalSecondaryIndexes"] = [
            {
                "IndexName": name,
                "KeySchema": _key_schema(index_key),
                # The whole item is copied into the index: a query need not go back to the table.
                "Projection": {"ProjectionType": "ALL"},
            }
            for name, index_key in indexes.items()
        ]
    return definition


def _key_schema(key: str) -> list[dict[str, str]]:
    names = [part.split(":")[0] for part in key.split()]
    return [
        {"AttributeName": name, "KeyType": kind}
        for name, kind in zip(names, ("HASH", "RANGE"), strict=False)
    ]
