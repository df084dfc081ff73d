"""Compressed requests and answers, in raw bytes."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

import pytest

from tests.conformance.raw import JSON, Signer, Wire

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

REQUEST_BYTES_MAX = 16 * 1024 * 1024


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (gzip.compress(b"{}"), 200),
        (gzip.compress(b"{") + gzip.compress(b"}"), 200),
        (b"{}", 500),
        (gzip.compress(b"{}")[:-1], 500),
        (b"", 500),
    ],
    ids=["gzip", "two members", "plain", "truncated", "empty"],
)
def test_a_request_may_be_compressed(wire: Wire, signer: Signer, body: bytes, status: int) -> None:
    answer = wire.ask(body=body, Content_Encoding="gzip", **signer.sign("ListTables", body))

    assert answer.status == status


@pytest.mark.parametrize(
    ("encoding", "body", "status"),
    [
        ("deflate", zlib.compress(b"{}"), 200),
        ("deflate", zlib.compress(b"{}")[:-3], 500),
        ("deflate", b"", 500),
        ("gzip", gzip.compress(bytes(REQUEST_BYTES_MAX + 1)), 413),
        ("identity", b"{}", 200),
    ],
    ids=["deflate", "truncated", "empty", "too large", "identity"],
)
def test_a_request_may_be_compressed_in_other_ways(
    wire: Wire, signer: Signer, encoding: str, body: bytes, status: int
) -> None:
    answer = wire.ask(body=body, Content_Encoding=encoding, **signer.sign("ListTables", body))

    assert answer.status == status
    if status == 500:
        assert answer.json()["__type"].endswith("#InternalServerError")


@pytest.mark.parametrize(
    ("accept", "size_bytes", "encoding"),
    [
        ("gzip", 6000, "gzip"),
        ("deflate", 6000, "deflate"),
        ("identity", 6000, None),
        ("gzip", 3000, None),
        ("br, gzip;q=0.5", 6000, "gzip"),
        ("gzip;q=0", 6000, None),
        ("*", 6000, "gzip"),
        ("*, deflate", 6000, "deflate"),
        ("*, gzip;q=0.5", 6000, "deflate"),
        ("*;q=0.5, identity", 6000, "gzip"),
        # What is not written as it should be is read as DynamoDB reads it.
        ("gzip;q=31, deflate;q=51", 6000, "gzip"),
        ("deflate;q=0.5, gzip;q=1;q=0.2", 6000, "gzip"),
        ("deflate;q=0.5, gzip;q=0.x", 6000, "gzip"),
        ("deflate;q=-0.5, gzip;q=0.2", 6000, "gzip"),
        ("gzip;q= 0;q=1", 6000, None),
        ("gzip;q =0;q=1", 6000, "gzip"),
        ("gzip;nq=0;q=1", 6000, None),
        ("gzip;q=0, gzip;q=1, gzip;q=0", 6000, "gzip"),
        ('"gzip"', 6000, None),
    ],
)
def test_a_large_answer_is_compressed_if_the_client_wants_it(
    wire: Wire,
    signer: Signer,
    dynamodb: DynamoDBClient,
    table: str,
    pk: str,
    accept: str,
    size_bytes: int,
    encoding: str | None,
) -> None:
    text = "x" * size_bytes
    dynamodb.put_item(TableName=table, Item={"pk": {"S": pk}, "text": {"S": text}})
    body = b'{"TableName":"%b","Key":{"pk":{"S":"%b"}},"ConsistentRead":true}' % (
        table.encode(),
        pk.encode(),
    )

    answer = wire.ask(body=body, Accept_Encoding=accept, **signer.sign("GetItem", body))

    assert answer.status == 200
    assert answer.headers.get("content-encoding") == encoding
    assert answer.headers["content-type"] == JSON
    assert answer.headers["x-amz-crc32"] == str(zlib.crc32(answer.body))
    inflated = zlib.decompress(answer.body, 47) if encoding else answer.body
    assert len(inflated) > size_bytes


@pytest.mark.parametrize(("size_bytes", "encoding"), [(4096, None), (4097, "gzip")])
def test_an_answer_above_four_kilobytes_is_a_large_one(
    wire: Wire,
    signer: Signer,
    dynamodb: DynamoDBClient,
    table: str,
    pk: str,
    size_bytes: int,
    encoding: str | None,
) -> None:
    body = b'{"TableName":"%b","Key":{"pk":{"S":"%b"}},"ConsistentRead":true,' % (
        table.encode(),
        pk.encode(),
    )
    body += b'"ProjectionExpression":"v"}'
    # Of one attribute there is only one way to write the answer.
    text = "x" * (size_bytes - len('{"Item":{"v":{"S":""}}}'))
    dynamodb.put_item(TableName=table, Item={"pk": {"S": pk}, "v": {"S": text}})

    answer = wire.ask(body=body, Accept_Encoding="gzip", **signer.sign("GetItem", body))

    assert answer.headers.get("content-encoding") == encoding
    whole = gzip.decompress(answer.body) if encoding else answer.body
    assert len(whole) == size_bytes
