"""One server in a container: `docker run grammedb`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest
from testcontainers.core.container import DockerContainer

from tests.cluster.containers import HTTP_PORT
from tests.cluster.engine import docker
from tests.cluster.music import TABLE, create_table, key_of, song
from tests.support.waiting import until

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

KEY_ID, SECRET = "GRAMME1CONTAINER", "of-the-container-test"
STARTED_S = 30.0
STOP_GRACE_S = 30


@pytest.fixture
def credentials(tmp_path: Path) -> Path:
    file = tmp_path / "credentials"
    file.write_text(f"[test]\naws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET}\n")
    # The container's user is nobody here.
    file.chmod(0o644)
    return file


@contextmanager
def serving(image: str, credentials: Path) -> Iterator[DockerContainer]:
    """A server whose port is open to everybody, and which knows one key. Its root is mounted read-only."""
    container = (
        DockerContainer(image)
        .with_command(["serve", "--credentials", "/credentials"])
        .with_volume_mapping(credentials, "/credentials", "ro")
        .with_exposed_ports(HTTP_PORT)
        .with_kwargs(read_only=True)
    )
    with container:
        await_health(container)
        yield container


def await_health(container: DockerContainer) -> None:
    question = ["gramme", "admin", "health", f"http://127.0.0.1:{HTTP_PORT}"]
    until(lambda: container.exec(question).exit_code == 0, STARTED_S, "the server serves")


def client(container: DockerContainer, secret: str = SECRET) -> DynamoDBClient:
    return boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{container.get_exposed_port(HTTP_PORT)}",
        region_name="us-east-1",
        aws_access_key_id=KEY_ID,
        aws_secret_access_key=secret,
    )


def test_it_is_no_open_door_unless_that_is_said(image: str) -> None:
    refused = docker("run", "--rm", image)

    assert refused.returncode == 1, refused
    assert refused.stderr.startswith("gramme: without credentials everybody who can reach 0.0.0.0")
    assert "--insecure-bind if that is meant" in refused.stderr


def test_it_answers_who_holds_a_key_and_keeps_the_data_when_it_is_stopped(
    image: str, credentials: Path
) -> None:
    item = song("to stay", 1)
    with serving(image, credentials) as container:
        dynamodb = client(container)
        create_table(dynamodb)
        dynamodb.put_item(TableName=TABLE, Item=item)
        with pytest.raises(dynamodb.exceptions.ClientError, match="InvalidSignature"):
            client(container, "another").list_tables()

        engine = container.get_wrapped_container()
        engine.stop(timeout=STOP_GRACE_S)
        engine.reload()
        code = engine.attrs["State"]["ExitCode"]
        last = container.get_logs()[1].decode().splitlines()[-1]
        engine.start()
        await_health(container)
        found = client(container).get_item(TableName=TABLE, Key=key_of(item))

    # It was not killed: it has heard the signal, and said so.
    assert (code, last) == (0, '{"event": "stopped", "data": "/data"}')
    assert found["Item"] == item


def test_it_does_not_run_as_root(image: str, credentials: Path) -> None:
    with serving(image, credentials) as container:
        said = container.exec(["id", "--user"]).output.decode().strip()

    assert said == "10001"
