"""gramme.client against a server and against a cluster, beside HTTP: what is asked is the same, and so is the answer."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import orjson
import pytest
from botocore.exceptions import ClientError as BotoError

import gramme.client
from gramme.client import (
    Client,
    ConditionalCheckFailed,
    Disconnected,
    InvalidSignature,
    ResourceNotFound,
    UnrecognizedClient,
    ValidationError,
)
from tests.clients.conftest import KEY_ID, REGION, SECRET
from tests.support.certificates import Authority
from tests.support.client import Client as HttpClient
from tests.support.cluster_processes import Cluster
from tests.support.server import Server

Json = dict[str, Any]

OTHER_REGION = "eu-north-1"
MUSIC: Json = {
    "TableName": "Music",
    "AttributeDefinitions": [
        {"AttributeName": "Artist", "AttributeType": "S"},
        {"AttributeName": "Song", "AttributeType": "S"},
    ],
    "KeySchema": [
        {"AttributeName": "Artist", "KeyType": "HASH"},
        {"AttributeName": "Song", "KeyType": "RANGE"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
ENGINE = {"Artist": "Ada", "Song": "Engine"}


def client_of(
    address: str,
    region: str = REGION,
    access_key: str = "any",
    secret_key: str = "any",
    authority: Path | None = None,
) -> Client:
    return gramme.client.connect(
        address,
        region=region,
        access_key=access_key,
        secret_key=secret_key,
        authority=authority,
        timeout_s=20.0,
    )


@pytest.fixture(scope="module", params=["serve", "cluster"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server | Cluster]:
    if request.config.getoption("--endpoint") is not None:
        pytest.skip("any endpoint speaks HTTP, and this is about gRPC")
    if request.param == "serve":
        with Server(None, "--partitions", "4", "--gateway-port", "0") as server:
            yield server
        return
    path = tmp_path_factory.mktemp("cluster") / "data"
    with Cluster(path, "--partitions", "2", "--gateway-port", "0") as cluster:
        yield cluster


ITEM = {"Artist": {"S": "Ada"}, "Song": {"S": "Engine"}, "Plays": {"N": "1"}}
KEY = {"Artist": {"S": "Ada"}, "Song": {"S": "Engine"}}
UPDATE = {"TableName": "Music", "Key": KEY, "ReturnValues": "ALL_NEW"}
QUERY = {
    "TableName": "Music",
    "KeyConditionExpression": "Artist = :a",
    "ExpressionAttributeValues": {":a": {"S": "Ada"}},
}
SEQUENCE: list[tuple[str, Any]] = [
    ("PutItem", {"TableName": "Music", "Item": ITEM, "ReturnConsumedCapacity": "TOTAL"}),
    ("PutItem", {"TableName": "Music", "Item": ITEM, "ReturnValues": "ALL_OLD"}),
    ("PutItem", {"TableName": "Music", "Item": {"Artist": {"S": "Ada"}}}),
    ("PutItem", {"TableName": "Music", "Item": {**ITEM, "Plays": {"N": "one"}}}),
    ("PutItem", {"TableName": "Music", "Item": {**ITEM, "Plays": {"N": 1}}}),
    ("PutItem", {"TableName": "Music", "Item": {**ITEM, "Sound": {"S": "x" * 410_000}}}),
    ("PutItem", {"TableName": "Missing", "Item": ITEM}),
    ("PutItem", {"TableName": "Music", "Item": ITEM, "ConditionExpression": "Plays ="}),
    (
        "PutItem",
        {
            "TableName": "Music",
            "Item": ITEM,
            "ConditionExpression": "attribute_not_exists(Artist)",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        },
    ),
    ("GetItem", {"TableName": "Music", "Key": KEY, "ConsistentRead": True}),
    ("GetItem", {"TableName": "Music", "Key": {**KEY, "Song": {"S": "none"}}}),
    ("GetItem", {"TableName": "Music", "Key": {"Artist": {"S": "Ada"}}}),
    ("UpdateItem", {**UPDATE, "UpdateExpression": "SET Plays = Nothing + Plays"}),
    ("UpdateItem", {**UPDATE, "UpdateExpression": "REMOVE Plays SET Words = Artist"}),
    ("UpdateItem", {**UPDATE, "UpdateExpression": "SET Artist = Song"}),
    ("Query", {**QUERY, "ConsistentRead": True, "ReturnConsumedCapacity": "INDEXES"}),
    ("Query", {**QUERY, "KeyConditionExpression": "Artist > :a"}),
    ("DeleteItem", {"TableName": "Music", "Key": KEY, "ReturnValues": "ALL_OLD"}),
    ("DeleteItem", {"TableName": "Music", "Key": KEY, "ConditionExpression": "Plays = Plays"}),
    ("GetItem", []),
    ("Dance", {}),
]


def test_an_operation_and_its_answer_are_those_of_http(served: Server | Cluster) -> None:
    def over_http() -> list[tuple[int, bytes]]:
        with HttpClient(served.port, region=REGION) as client:
            client.call("CreateTable", MUSIC)
            answers = [client.ask(name, orjson.dumps(body)) for name, body in SEQUENCE]
            return [(answer.status, answer.body) for answer in answers]

    async def over_grpc() -> list[tuple[int, bytes]]:
        # A region is a namespace.
        async with client_of(served.gateway, OTHER_REGION) as client:
            await client.call("CreateTable", MUSIC)
            deadline = asyncio.get_running_loop().time() + 20.0
            ask = client._connection.ask
            return [await ask(name, orjson.dumps(body), deadline) for name, body in SEQUENCE]

    http, grpc = over_http(), asyncio.run(over_grpc())

    for (name, body), of_http, of_grpc in zip(SEQUENCE, http, grpc, strict=True):
        assert of_grpc == of_http, (name, body)
    assert {status for status, _ in grpc} == {200, 400}


def test_items_are_plain_python(served: Server | Cluster) -> None:
    async def run() -> None:
        async with client_of(served.gateway, "plain") as client:
            await client.call("CreateTable", MUSIC)
            item = {
                **ENGINE,
                "Plays": 1,
                "Price": Decimal("0.99"),
                "Live": False,
                "Label": None,
                "Tags": {"old", "loud"},
                "Sound": b"\x00\xff",
                "Credits": [{"Name": "Ada"}, 2],
            }

            assert await client.put("Music", item, condition="attribute_not_exists(Artist)") is None
            assert await client.get("Music", ENGINE, consistent=True) == item
            assert await client.get("Music", {**ENGINE, "Song": "none"}) is None
            assert await client.get(
                "Music", ENGINE, consistent=True, projection="#p", names={"#p": "Plays"}
            ) == {"Plays": 1}

            with pytest.raises(ConditionalCheckFailed) as failure:
                await client.put(
                    "Music",
                    ENGINE,
                    condition="attribute_not_exists(Artist)",
                    returning_on_failure="ALL_OLD",
                )
            assert failure.value.current == item

            assert await client.update(
                "Music",
                ENGINE,
                "SET Plays = Plays + :n",
                values={":n": 1},
                condition="attribute_exists(Artist)",
                returning="UPDATED_NEW",
            ) == {"Plays": 2}
            old = await client.delete("Music", ENGINE, returning="ALL_OLD")
            assert old == {**item, "Plays": 2}
            assert await client.delete("Music", ENGINE, returning="ALL_OLD") is None

            with pytest.raises(ResourceNotFound):
                await client.get("Nothing", ENGINE)
            with pytest.raises(ValidationError, match="key element"):
                await client.get("Music", {"Artist": "Ada"})
            with pytest.raises(TypeError, match="Decimal"):
                await client.put("Music", {**ENGINE, "Price": 0.99})

    asyncio.run(run())


def test_a_query_is_read_page_by_page(served: Server | Cluster) -> None:
    async def run() -> None:
        async with client_of(served.gateway, "pages") as client:
            await client.call("CreateTable", MUSIC)
            songs = [f"Song {number:02}" for number in range(25)]
            await asyncio.gather(
                *(client.put("Music", {"Artist": "Ada", "Song": song}) for song in songs)
            )
            ada = {":a": "Ada"}

            found = client.query("Music", "Artist = :a", values=ada, consistent=True, page_size=10)
            assert [item["Song"] async for item in found] == songs
            assert [item["Song"] async for item in found] == songs
            pages = [page async for page in found.pages()]
            assert [len(page.items) for page in pages] == [10, 10, 5]
            assert pages[0].last_key == {"Artist": "Ada", "Song": "Song 09"}
            assert pages[2].last_key is None

            rest = client.query(
                "Music",
                "Artist = :a",
                values=ada,
                consistent=True,
                forward=False,
                start={"Artist": "Ada", "Song": "Song 02"},
            )
            assert [item["Song"] async for item in rest] == ["Song 01", "Song 00"]
            kept = client.query(
                "Music",
                "Artist = :a",
                values={**ada, ":s": "Song 20"},
                filter="#s >= :s",
                names={"#s": "Song"},
                consistent=True,
                page_size=10,
            )
            with pytest.raises(ValidationError, match="primary key"):
                _ = [item async for item in kept]

    asyncio.run(run())


@pytest.fixture(scope="module")
def guarded(credentials: Path) -> Iterator[Server]:
    with Server(None, "--credentials", str(credentials), "--gateway-port", "0") as server:
        yield server


def test_a_key_of_the_file_is_let_in_with_its_tables(guarded: Server) -> None:
    over_http = boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{guarded.port}",
        region_name=REGION,
        aws_access_key_id=KEY_ID,
        aws_secret_access_key=SECRET,
    )
    over_http.create_table(**MUSIC)

    async def run() -> Json:
        async with client_of(guarded.gateway, access_key=KEY_ID, secret_key=SECRET) as client:
            await client.put("Music", {**ENGINE, "Plays": 1})
            return await client.call("ListTables", {})

    assert asyncio.run(run()) == {"TableNames": ["Music"]}
    key = {"Artist": {"S": "Ada"}, "Song": {"S": "Engine"}}
    assert over_http.get_item(TableName="Music", Key=key)["Item"]["Plays"] == {"N": "1"}


@pytest.mark.parametrize(
    ("access_key", "secret", "error"),
    [
        (KEY_ID, "guess", InvalidSignature),
        ("NOBODY", SECRET, UnrecognizedClient),
    ],
    ids=["a wrong secret", "an unknown key"],
)
def test_who_is_not_let_in_hears_the_same_as_over_http(
    guarded: Server, access_key: str, secret: str, error: type[Exception]
) -> None:
    over_http = boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{guarded.port}",
        region_name=REGION,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret,
    )
    with pytest.raises(BotoError) as of_http:
        over_http.list_tables()

    async def run() -> None:
        async with client_of(guarded.gateway, access_key=access_key, secret_key=secret):
            pass

    with pytest.raises(error) as of_grpc:
        asyncio.run(run())
    told = of_http.value.response["Error"]
    assert told["Message"] == str(of_grpc.value)
    assert told["Code"].startswith(error.__name__)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")
def test_a_gateway_with_a_certificate_is_spoken_to_in_private(tmp_path: Path) -> None:
    authority, stranger = Authority(tmp_path, "authority"), Authority(tmp_path, "stranger")
    certificate, key = authority.files("gateway")
    options = ("--gateway-certificate", str(certificate), "--gateway-key", str(key))

    async def ask(server: Server, trusted: Path | None) -> Json:
        async with client_of(server.gateway, authority=trusted) as client:
            return await client.call("ListTables", {})

    with Server(None, "--gateway-port", "0", *options) as server:
        assert asyncio.run(ask(server, authority.certificate)) == {"TableNames": []}
        for wrong in (stranger.certificate, None):
            with pytest.raises(Disconnected):
                asyncio.run(ask(server, wrong))
