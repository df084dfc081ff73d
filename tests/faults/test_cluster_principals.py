"""The principals of a real cluster: who was added may ask, who was removed may not, and no lost node changes that."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from types_boto3_dynamodb.client import DynamoDBClient

from gramme.router.http.credentials import Credential, parse_credentials
from tests.support.cluster_processes import Cluster, gramme
from tests.support.tables import key_schema
from tests.support.waiting import until

TABLE = "orders"
# What is pushed takes milliseconds, and the machine may be busy.
HEARD_S = 2.0
ELECTED_S = 10.0


def principals(cluster: Cluster, *arguments: str) -> str:
    """What a command about principals has printed."""
    done = gramme("admin", "principals", *arguments, "--cluster", str(cluster.path))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def refused(cluster: Cluster, *arguments: str) -> str:
    """The one line with which a command has failed."""
    done = gramme("admin", "principals", *arguments, "--cluster", str(cluster.path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done
    return done.stderr.strip()


def add(cluster: Cluster, *arguments: str) -> tuple[str, Credential]:
    ((access_key, credential),) = parse_credentials(principals(cluster, "add", *arguments)).items()
    return access_key, credential


def client(cluster: Cluster, access_key: str, secret: str) -> DynamoDBClient:
    found: DynamoDBClient = boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{cluster.port}",
        region_name="eu-north-1",
        aws_access_key_id=access_key,
        aws_secret_access_key=secret,
        config=Config(retries={"total_max_attempts": 1}),
    )
    return found


def error_of(ask: Callable[[], Any]) -> str:
    """The code of the error it is answered; empty if it is none."""
    try:
        ask()
    except ClientError as error:
        return error.response["Error"]["Code"]
    return ""


def await_error(ask: Callable[[], Any], code: str, within_s: float = HEARD_S) -> None:
    until(lambda: error_of(ask) == code, within_s, f"it is answered {code!r}")


def kill_leader_of_meta(cluster: Cluster) -> str:
    led = until(lambda: cluster.status()["partitions"][0]["leader"], ELECTED_S, "meta is led")
    cluster.kill(f"node-{led}")
    return f"node-{led}"


def test_principals_of_a_cluster_from_the_first_to_the_last(tmp_path: Path) -> None:
    with Cluster(tmp_path / "c", "--principals") as cluster:
        assert "gramme admin principals add NAME" in cluster.output
        stranger = client(cluster, "AKIA" + "A" * 16, "s" * 40)
        assert error_of(stranger.list_tables) == "UnrecognizedClientException"

        # Who was added may ask, in its account.
        access_key, credential = add(cluster, "shop", "--account", "111122223333")
        assert credential.account == "111122223333"
        shop = client(cluster, access_key, credential.secret)
        await_error(shop.list_tables, "")
        shop.create_table(
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=key_schema("id"),  # type: ignore[arg-type]
        )
        shop.put_item(TableName=TABLE, Item={"id": {"S": "a"}})
        arn = shop.describe_table(TableName=TABLE)["Table"]["TableArn"]
        assert arn == f"arn:aws:dynamodb:eu-north-1:111122223333:table/{TABLE}"
        forger = client(cluster, access_key, "s" * 40)
        assert error_of(forger.list_tables) == "InvalidSignatureException"
        assert error_of(stranger.list_tables) == "UnrecognizedClientException"

        # Another one has tables of its own.
        other_key, other_credential = add(cluster, "guest")
        guest = client(cluster, other_key, other_credential.secret)
        await_error(guest.list_tables, "")
        assert guest.list_tables()["TableNames"] == []

        # Everybody is listed, and nobody's secret.
        listed = principals(cluster, "list")
        assert [line.split() for line in listed.splitlines()] == [
            ["NAME", "ACCESS", "KEY", "ACCOUNT"],
            ["guest", other_key, "000000000000"],
            ["shop", access_key, "111122223333"],
        ]
        as_json = principals(cluster, "list", "--json")
        assert {one["access_key"] for one in json.loads(as_json)["principals"]} == {
            access_key,
            other_key,
        }
        said = [listed, as_json, json.dumps(cluster.status()), cluster.output]
        said += [log.read_text() for log in cluster.path.glob("*.log")]
        assert not [text for text in said if credential.secret in text]

        # All of it outlives the leader of meta.
        lost = kill_leader_of_meta(cluster)
        assert principals(cluster, "list") == listed
        await_error(lambda: shop.get_item(TableName=TABLE, Key={"id": {"S": "a"}}), "", ELECTED_S)
        third_key, third_credential = add(cluster, "third")
        third = client(cluster, third_key, third_credential.secret)
        await_error(third.list_tables, "")

        # Who is removed is refused at once, by the router and by one that starts later.
        removed = principals(cluster, "remove", access_key)
        assert removed == f"removed {access_key} of shop, account 111122223333\n"
        await_error(shop.list_tables, "UnrecognizedClientException")
        assert error_of(guest.list_tables) == ""
        assert refused(cluster, "remove", access_key) == (
            f"gramme: there is no access key '{access_key}'"
        )
        cluster.bring_back(lost)
        cluster.kill("router-1")
        cluster.bring_back("router-1")
        assert error_of(shop.list_tables) == "UnrecognizedClientException"
        assert error_of(third.list_tables) == ""


def test_command_waits_for_the_election_of_another_leader(tmp_path: Path) -> None:
    with Cluster(tmp_path / "c", "--principals") as cluster:
        kill_leader_of_meta(cluster)
        began = time.monotonic()

        access_key, _ = add(cluster, "shop")

        assert time.monotonic() - began < ELECTED_S
        listed = json.loads(principals(cluster, "list", "--json"))["principals"]
        assert [one["access_key"] for one in listed] == [access_key]


def test_command_says_so_if_nobody_can_lead(tmp_path: Path) -> None:
    with Cluster(tmp_path / "c", "--principals") as cluster:
        for name in ("node-1", "node-2"):
            cluster.kill(name)

        words = refused(cluster, "add", "shop")

        assert "nobody who leads the cluster answered within 10 s; if AKIA" in words
        cluster.kill("node-3")
        assert refused(cluster, "list") == "gramme: no node can be asked: cannot be reached"


@pytest.mark.parametrize("command", ["router", "cluster"])
def test_principals_and_a_file_of_credentials_are_refused_together(
    tmp_path: Path, command: str
) -> None:
    (tmp_path / "keys").write_text("")
    options = ["--principals", "--credentials", str(tmp_path / "keys")]
    if command == "router":
        (tmp_path / "secret").write_text("secret")
        options += ["--members", "127.0.0.1:1", "--secret-file", str(tmp_path / "secret")]
    else:
        options += ["--data", str(tmp_path / "c")]

    done = gramme(command, *options)

    words = "gramme: give --principals or --credentials, not both\n"
    assert (done.returncode, done.stderr.splitlines(keepends=True)[-1]) == (1, words)
