"""The servers that clients are pointed at, and the keys they sign with.

With `--endpoint URL` it is any server, DynamoDB included. Otherwise each worker starts its own, which verifies every
signature, has four partitions per table, and holds its indexes back a little, as DynamoDB's would be.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest

from tests.clients.installed import Programs
from tests.conformance.tables import TableFactory, unique_name
from tests.support.server import Server

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

KEY_ID, SECRET, REGION = "GRAMME1CLIENTS", "a/secret+of=the/tests", "us-east-1"
OPTIONS = ("--partitions", "4", "--index-delay-ms", "20")
# Long enough that a waiter's first look at a table comes too early.
TABLE_DELAY_MS = 300


@pytest.fixture(scope="session")
def credentials(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the keys that our servers accept."""
    file = tmp_path_factory.mktemp("credentials") / "credentials"
    file.write_text(f"[clients]\naws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET}\n")
    return file


@pytest.fixture(scope="session")
def endpoint(request: pytest.FixtureRequest, credentials: Path) -> Iterator[str]:
    """A server whose tables are ready at once."""
    with _serving(request, credentials) as address:
        yield address


@pytest.fixture(scope="session")
def slow_endpoint(request: pytest.FixtureRequest, credentials: Path) -> Iterator[str]:
    """A server whose tables take their time, as DynamoDB's do: what waiters are for."""
    with _serving(request, credentials, "--table-delay-ms", str(TABLE_DELAY_MS)) as address:
        yield address


@contextmanager
def _serving(request: pytest.FixtureRequest, credentials: Path, *options: str) -> Iterator[str]:
    given: str | None = request.config.getoption("--endpoint")
    if given is not None:
        yield given
        return
    with Server(None, *OPTIONS, "--credentials", str(credentials), *options) as server:
        yield f"http://127.0.0.1:{server.port}"


@pytest.fixture(scope="session")
def session(request: pytest.FixtureRequest) -> boto3.Session:
    """DynamoDB itself wants credentials that are somebody's: those of the environment."""
    if "amazonaws.com" in (request.config.getoption("--endpoint") or ""):
        return boto3.Session()
    return boto3.Session(KEY_ID, SECRET, region_name=REGION)


@pytest.fixture(scope="session")
def programs(request: pytest.FixtureRequest) -> Programs:
    """Runs clients that are programs of their own, with the keys in their environment."""
    if "amazonaws.com" in (request.config.getoption("--endpoint") or ""):
        return Programs(dict(os.environ))
    theirs = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return Programs(
        {
            **theirs,
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }
    )


@pytest.fixture(scope="session")
def dynamodb(session: boto3.Session, endpoint: str) -> DynamoDBClient:
    return session.client("dynamodb", endpoint_url=endpoint)


@pytest.fixture(scope="session")
def tables(dynamodb: DynamoDBClient) -> Iterator[TableFactory]:
    """Makes tables under names nobody else has, and takes them away at the end."""
    factory = TableFactory(dynamodb)
    yield factory
    factory.delete_all()


@pytest.fixture
def new_name(tables: TableFactory) -> str:
    """A name for a table that a client will make itself; taken away at the end if it is still there."""
    name = unique_name("client")
    tables.names.append(name)
    return name
