"""A real server whose clock is moved, by its command and by anybody's HTTP, and the SDK that notices nothing."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import boto3
import pytest

from tests.conformance.tables import a_table
from tests.support.cluster_processes import gramme
from tests.support.server import Server
from tests.support.waiting import until

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

KEY = "AKIDTEST"
SECRET = "secret-of-a-test"
MINUTE_MS = 60_000
TIMEOUT_S = 10.0
# Reserved for documentation: nothing is sent there.
SOMEWHERE_ELSE = ("192.0.2.1", 9)


@pytest.fixture
def credentials(tmp_path: Path) -> Path:
    file = tmp_path / "credentials"
    file.write_text(f"[test]\naws_access_key_id={KEY}\naws_secret_access_key={SECRET}\n")
    return file


def client_of(server: Server) -> DynamoDBClient:
    return boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{server.port}",
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
    )


def curl(server: Server, request: object = None, host: str = "127.0.0.1") -> dict[str, Any]:
    """What anybody without an SDK does."""
    body = None if request is None else json.dumps(request).encode()
    answer = urlopen(Request(f"http://{host}:{server.port}/_gramme/clock", body))
    told: dict[str, Any] = json.loads(answer.read())
    return told


def clock(server: Server, *arguments: str) -> tuple[int, str, str]:
    done = gramme("clock", "--endpoint", f"http://127.0.0.1:{server.port}", *arguments)
    return done.returncode, done.stdout, done.stderr


def test_a_server_in_use_is_taken_two_days_ahead(tmp_path: Path, credentials: Path) -> None:
    options = ("--clock", "virtual", "--credentials", str(credentials), "--table-delay-ms", "60000")
    with Server(tmp_path / "data", *options) as server:
        before = curl(server)
        dynamodb = client_of(server)
        name = dynamodb.create_table(**a_table())["TableDescription"]["TableName"]

        code, shown, errors = clock(server, "advance", "48h")

        assert (code, errors) == (0, "")
        after = curl(server)
        assert shown == f"{after['iso']}  {after['now']:.3f}\n"
        assert round(after["now"] - before["now"], 3) == 48 * 3600

        def is_active() -> bool:
            return dynamodb.describe_table(TableName=name)["Table"]["TableStatus"] == "ACTIVE"

        # Those who waited by the clock have noticed, and signatures are as good as before.
        until(is_active, TIMEOUT_S, f"{name} is ACTIVE")
        dynamodb.put_item(TableName=name, Item={"pk": {"S": "a"}})
        assert dynamodb.get_item(TableName=name, Key={"pk": {"S": "a"}})["Item"]

        created = dynamodb.create_table(**a_table())["TableDescription"]["CreationDateTime"]
        assert created.timestamp() == pytest.approx(after["now"], abs=0.001)


def test_time_goes_on_from_there_after_a_kill(tmp_path: Path) -> None:
    moment = (datetime.now(UTC) + timedelta(days=7)).replace(microsecond=250_000)
    with Server(tmp_path / "data", "--clock", "virtual") as server:
        moved = curl(server, {"to": moment.isoformat()})
        server.kill()
        server.start()

        assert curl(server) == moved
        assert moved["now"] == moment.timestamp()
        assert clock(server, "to", "2001-01-01T00:00:00Z") == (
            1,
            "",
            f"gramme: time moves forward only, and it is {moved['iso']}\n",
        )


def test_only_this_machine_moves_the_clock_of_a_server_for_all(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(SOMEWHERE_ELSE)
        except OSError:
            pytest.skip("this machine has no address but loopback")
        address = probe.getsockname()[0]
    options = ("--clock", "virtual", "--host", "0.0.0.0", "--insecure-bind")
    with Server(tmp_path / "data", *options) as server:
        with pytest.raises(HTTPError) as refused:
            curl(server, {"advance": "48h"}, address)

        assert refused.value.code == 403
        assert json.loads(refused.value.read())["message"].startswith("extensions answer callers")
        assert curl(server, {"advance": 1.5})["clock"] == "virtual"
