"""From requests to operations, and from what comes of them to answers."""

from __future__ import annotations

import gzip
import logging
import re
import zlib

import pytest

from tests.unit.router.http.gateway import Client, a_request

SERVICE = "com.amazon.coral.service#"
SERIALIZATION = b'{"__type":"com.amazon.coral.service#SerializationException"}'
UNKNOWN = b'{"__type":"com.amazon.coral.service#UnknownOperationException"}'
NOT_FOUND = b"<UnknownOperationException/>\n"


def test_an_operation_gets_its_caller_and_its_request(client: Client) -> None:
    answer = client.ask(a_request("Echo", b'{"TableName":"t"}'))

    assert answer.status == 200
    assert answer.json() == {
        "caller": ["000000000000", "eu-north-1"],
        "request": {"TableName": "t"},
    }


def test_an_answer_has_these_headers_and_no_others(client: Client) -> None:
    first, second = client.ask(a_request()), client.ask(a_request())

    assert first.headers.keys() == {
        "content-type",
        "content-length",
        "date",
        "server",
        "x-amzn-requestid",
        "x-amz-crc32",
    }
    assert first.headers["content-type"] == "application/x-amz-json-1.0"
    assert first.headers["x-amz-crc32"] == str(zlib.crc32(first.body))
    assert re.fullmatch("[0-9A-Z]{52}", first.headers["x-amzn-requestid"])
    assert first.headers["x-amzn-requestid"] != second.headers["x-amzn-requestid"]


def test_an_empty_answer_is_an_answer(client: Client) -> None:
    answer = client.ask(a_request("SayNothing"))

    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["x-amz-crc32"] == "0"


def test_streams_have_a_prefix_of_their_own(client: Client) -> None:
    right = client.ask(a_request(X_Amz_Target=b"DynamoDBStreams_20120810.ListStreams"))
    wrong = client.ask(a_request("ListStreams"))

    assert (right.status, wrong.status) == (200, 400)


@pytest.mark.parametrize(
    "body",
    [
        b"hi",
        b"{",
        b'{"a":1}}',
        b'{"a":"\xff"}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"a":NaN}',
        b"\xef\xbb\xbf{}",
        b"{" * 10_000 + b"}" * 10_000,
        b'{"":' * 200_000 + b"{}" + b"}" * 200_000,
        b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    ],
    ids=[
        "word",
        "open",
        "extra",
        "utf-8",
        "surrogate",
        "nan",
        "bom",
        "braces",
        "deep",
        "deep list",
    ],
)
def test_a_body_that_is_not_json_is_refused_before_its_target_is_looked_at(
    client: Client, body: bytes
) -> None:
    answer = client.ask(a_request("Nonsense", body, Authorization=None))

    assert (answer.status, answer.body) == (400, SERIALIZATION)


@pytest.mark.parametrize("body", [b"[]", b"1", b'"a"', b"null", b"true", b""])
def test_a_body_that_is_no_object_is_refused_after_its_caller_is_known(
    client: Client, body: bytes
) -> None:
    unauthenticated = client.ask(a_request("Echo", body, Authorization=None))
    answer = client.ask(a_request("Echo", body))

    assert unauthenticated.json()["__type"] == SERVICE + "MissingAuthenticationTokenException"
    assert (answer.status, answer.body) == (400, SERIALIZATION)


def test_of_a_repeated_key_the_last_one_counts(client: Client) -> None:
    answer = client.ask(a_request("Echo", b'{"a":1,"a":2}'))

    assert answer.json()["request"] == {"a": 2}


@pytest.mark.parametrize(
    "target",
    [
        None,
        b"",
        b"whatever",
        b"Echo",
        b"DynamoDB_20120810.",
        b"DynamoDB_20120810.Ech",
        b"dynamodb_20120810.Echo",
        b"DynamoDB_20111205.Echo",
        b"DynamoDBStreams_20120810.Echo",
    ],
)
def test_an_unknown_target_is_refused_before_the_caller_is_asked_for(
    client: Client, target: bytes | None
) -> None:
    answer = client.ask(a_request(Authorization=None, X_Amz_Target=target))

    assert (answer.status, answer.body) == (400, UNKNOWN)
    assert answer.headers["content-type"] == "application/x-amz-json-1.0"


def test_a_request_without_a_signature_is_refused(client: Client) -> None:
    answer = client.ask(a_request(Authorization=None))

    assert answer.status == 400
    assert answer.body == (
        b'{"__type":"com.amazon.coral.service#MissingAuthenticationTokenException",'
        b'"message":"Request is missing Authentication Token"}'
    )


def test_a_request_may_be_signed_in_its_query(client: Client) -> None:
    answer = client.ask(a_request(head=b"POST /?X-Amz-Algorithm HTTP/1.1", Authorization=None))

    assert answer.json()["__type"] == SERVICE + "IncompleteSignatureException"
    assert answer.json()["message"].startswith("AWS query-string parameters must include")


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        (b"application/x-amz-json-1.0", 200),
        (b"application/json", 200),
        (b"  application/json  ;   charset=utf-8", 200),
        (b"application/x-amz-json-1.0;anything", 200),
        (b"application/x-amz-json-1.1", 404),
        (b"application/jsonasdf", 404),
        (b"text/plain", 404),
        (b"", 404),
        (None, 404),
    ],
)
def test_the_content_type_says_json(
    client: Client, content_type: bytes | None, status: int
) -> None:
    answer = client.ask(a_request(Content_Type=content_type))

    assert answer.status == status


def test_without_a_body_the_content_type_does_not_matter(client: Client) -> None:
    answer = client.ask(a_request(body=b"", Content_Type=b"text/plain"))

    assert (answer.status, answer.body) == (400, SERIALIZATION)


@pytest.mark.parametrize("method", [b"PUT", b"DELETE", b"PATCH", b"OPTIONS", b"TRACE"])
def test_other_methods_find_nothing(client: Client, method: bytes) -> None:
    answer = client.ask(a_request(head=method + b" / HTTP/1.1"))

    assert (answer.status, answer.body) == (404, NOT_FOUND)


@pytest.mark.parametrize("path", [b"/shell", b"//", b"/_gramme", b"*"])
def test_other_paths_find_nothing(client: Client, path: bytes) -> None:
    answer = client.ask(a_request(head=b"POST " + path + b" HTTP/1.1"))

    assert (answer.status, answer.body) == (404, NOT_FOUND)


def test_the_target_of_a_request_may_be_a_whole_url(client: Client) -> None:
    answer = client.ask(a_request(head=b"POST http://localhost:8000 HTTP/1.1"))

    assert answer.status == 200


def test_get_says_that_the_server_is_healthy(client: Client) -> None:
    answer = client.ask(b"GET / HTTP/1.1\r\nHost: dynamodb.example.com\r\n\r\n")

    assert (answer.status, answer.body) == (200, b"healthy: dynamodb.example.com ")
    assert answer.headers["x-amz-crc32"] == str(zlib.crc32(answer.body))


def test_head_is_answered_without_a_body(client: Client) -> None:
    client.send(b"HEAD / HTTP/1.1\r\n\r\n")
    answer = client.answer(with_body=False)

    assert answer.status == 404
    assert client.ask(a_request()).status == 200


def test_an_error_of_an_operation_becomes_json(client: Client) -> None:
    answer = client.ask(a_request("Fail"))

    assert answer.status == 400
    assert answer.headers["content-type"] == "application/x-amz-json-1.0"
    assert answer.body == (
        b'{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException",'
        b'"message":"too much of \\"everything\\"\\n"}'
    )


def test_a_failed_condition_shows_the_item_it_met(client: Client) -> None:
    answer = client.ask(a_request("Miss"))

    assert answer.status == 400
    assert answer.json() == {
        "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
        "message": "The conditional request failed",
        "Item": {"id": {"S": "a"}},
    }


def test_a_bug_is_logged_but_not_shown(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        answer = client.ask(a_request("Break"))
        next_answer = client.ask(a_request())

    assert answer.status == 500
    assert answer.json()["__type"] == "com.amazonaws.dynamodb.v20120810#InternalServerError"
    assert b"secret" not in answer.body
    assert "secret detail" in caplog.text
    assert "break_down" in caplog.text
    assert next_answer.status == 200


def test_an_operation_that_answers_nonsense_is_a_bug(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    answer = client.ask(a_request("AnswerNonsense"))

    assert answer.status == 500
    assert "AnswerNonsense" in caplog.text


def test_white_space_around_a_target_does_not_matter(client: Client) -> None:
    answer = client.ask(a_request(X_Amz_Target=b"  DynamoDB_20120810.Echo \t"))

    assert answer.status == 200


@pytest.mark.parametrize(
    ("encoding", "body", "status"),
    [
        (b"gzip", gzip.compress(b'{"a":1}'), 200),
        (b"gzip", gzip.compress(b'{"a"') + gzip.compress(b":1}"), 200),
        (b"deflate", zlib.compress(b'{"a":1}'), 200),
        (b"gzip", b'{"a":1}', 500),
        (b"gzip", gzip.compress(b'{"a":1}')[:-1], 500),
        (b"gzip", b"", 500),
        (b"garbage", b'{"a":1}', 500),
        (b"gzip", gzip.compress(bytes(17 * 1024 * 1024)), 413),
        (b"gzip", gzip.compress(b"hi"), 400),
    ],
    ids=["gzip", "members", "deflate", "plain", "cut", "empty", "unknown", "bomb", "not json"],
)
def test_a_body_may_be_compressed(
    client: Client, encoding: bytes, body: bytes, status: int
) -> None:
    answer = client.ask(a_request("Echo", body, Content_Encoding=encoding))

    assert answer.status == status
    if status == 200:
        assert answer.json()["request"] == {"a": 1}


@pytest.mark.parametrize(
    ("size_bytes", "accept", "encoding"),
    [
        (4096, b"gzip", None),
        (4097, b"gzip", "gzip"),
        (4097, b"deflate", "deflate"),
        (4097, b"identity", None),
        (1_000_000, b"gzip, deflate", "gzip"),
    ],
)
def test_a_large_answer_is_compressed_for_who_asks(
    client: Client, size_bytes: int, accept: bytes, encoding: str | None
) -> None:
    body = b'{"Bytes":%d}' % size_bytes

    answer = client.ask(a_request("Grow", body, Accept_Encoding=accept))

    assert answer.headers.get("content-encoding") == encoding
    assert answer.headers["x-amz-crc32"] == str(zlib.crc32(answer.body))
    assert (len(answer.body) == size_bytes) == (encoding is None)


@pytest.mark.parametrize("operation", ["Echo", "Fail", "Nonsense"])
def test_another_origin_may_read_every_answer(client: Client, operation: str) -> None:
    answer = client.ask(a_request(operation, Origin=b"http://example.com"))
    without = client.ask(a_request(operation))

    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-expose-headers" in answer.headers
    assert not any(name.startswith("access-control") for name in without.headers)


def test_a_preflight_request_is_allowed_what_it_asks_for(client: Client) -> None:
    answer = client.ask(
        b"OPTIONS / HTTP/1.1\r\nOrigin: a\r\nAccess-Control-Request-Method: POST\r\n"
        b"Access-Control-Request-Headers: x-amz-target, authorization\r\n\r\n"
    )

    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-allow-methods"] == "POST"
    assert answer.headers["access-control-allow-headers"] == "x-amz-target, authorization"
    assert answer.headers["access-control-max-age"] == "172800"


def test_what_is_not_printable_is_not_echoed(client: Client) -> None:
    answer = client.ask(
        b"OPTIONS / HTTP/1.1\r\nOrigin: a\r\nAccess-Control-Request-Headers: a\tb\xff\r\n\r\n"
    )

    assert "access-control-allow-headers" not in answer.headers
