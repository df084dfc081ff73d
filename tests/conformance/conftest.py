"""The server that conformance tests talk to, and the tables they make.

With `--endpoint URL` it is any server, DynamoDB included. Otherwise each run starts a server of its own, once with one
partition per table and once with four, because no client may notice the difference.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config

from tests.conformance import evidence
from tests.conformance.evidence import Recorder
from tests.conformance.raw import Answer, Ask, Signer, Wire
from tests.conformance.tables import TableFactory, unique_name
from tests.support.server import Server

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

PARTITIONS = (1, 4)
START_TIMEOUT_S = 10.0
CALL_TIMEOUT_S = 10

RECORDER = Recorder()
PROMISED = evidence.promised()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "partitions" in metafunc.fixturenames:
        given = metafunc.config.getoption("--endpoint") is not None
        counts = (0,) if given else PARTITIONS
        names = ["given endpoint"] if given else [f"{count} partitions" for count in counts]
        metafunc.parametrize("partitions", counts, ids=names, scope="session")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Hold each test to what the page on compatibility says it shows."""
    RECORDER.begin()
    yield
    test = evidence.name_of(item.nodeid)
    met = RECORDER.end(test)
    if item.config.getoption("--endpoint") is None and not item.config.getoption("--evidence"):
        missing = PROMISED.get(test, set()) - met
        assert not missing, (
            f"docs/compatibility.json is out of date: run make compatibility {missing}"
        )


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    witnesses = RECORDER.witnesses
    if witnesses and session.config.getoption("--evidence") and not exitstatus:
        evidence.write(witnesses)


@pytest.fixture(scope="session")
def endpoint(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, partitions: int
) -> Iterator[str]:
    given: str | None = request.config.getoption("--endpoint")
    if given is not None:
        yield given
        return
    data: Path = tmp_path_factory.mktemp("data")
    server = Server(data, "--partitions", str(partitions))
    try:
        server.start(START_TIMEOUT_S)
        yield f"http://127.0.0.1:{server.port}"
    finally:
        if server.exit_code() is None:
            server.stop()


@pytest.fixture(scope="session")
def dynamodb(endpoint: str) -> DynamoDBClient:
    # DynamoDB itself wants credentials that are somebody's, and the region in its address.
    theirs = "amazonaws.com" in endpoint
    client = boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name=None if theirs else "us-east-1",
        aws_access_key_id=None if theirs else "test",
        aws_secret_access_key=None if theirs else "test",
        config=Config(
            retries={"total_max_attempts": 1},
            connect_timeout=CALL_TIMEOUT_S,
            read_timeout=CALL_TIMEOUT_S,
            # The tests send what the SDK's own checks would hold back.
            parameter_validation=False,
        ),
    )
    RECORDER.listen_to(client)
    return client


@pytest.fixture(scope="session")
def tables(dynamodb: DynamoDBClient) -> Iterator[TableFactory]:
    """Makes tables under names nobody else has, and takes them away at the end."""
    factory = TableFactory(dynamodb)
    yield factory
    factory.delete_all()


@pytest.fixture(scope="session")
def table(tables: TableFactory) -> str:
    """A table with the partition key `pk`, shared: a test keeps to its own `pk`."""
    return tables.create("pk:S")


@pytest.fixture(scope="session")
def composite(tables: TableFactory) -> str:
    """A shared table with the partition key `pk` and the numeric sort key `sk`."""
    return tables.create("pk:S sk:N")


@pytest.fixture
def pk() -> str:
    """A partition key nobody else uses."""
    return unique_name("key")


@pytest.fixture
def wire(endpoint: str) -> Iterator[Wire]:
    with Wire(endpoint) as wire:
        yield wire


@pytest.fixture
def signer(endpoint: str, dynamodb: DynamoDBClient) -> Signer:
    return Signer(endpoint, dynamodb.meta.region_name)


@pytest.fixture
def ask(wire: Wire, signer: Signer) -> Ask:
    def send(operation: str, **body: Any) -> Answer:
        raw = json.dumps(body).encode()
        return wire.ask(body=raw, **signer.sign(operation, raw))

    return send
