"""HTTP itself, in raw bytes: what an SDK never shows.

Requests that are refused before anybody looks at their signature are sent without one. The others are signed as an SDK
would, so that all of this can run against DynamoDB.
"""

from __future__ import annotations

import re
import zlib

import pytest

from tests.conformance.raw import JSON, Signer, Wire

REQUEST_BYTES_MAX = 16 * 1024 * 1024


SERIALIZATION = {"__type": "com.amazon.coral.service#SerializationException"}
UNKNOWN_OPERATION = {"__type": "com.amazon.coral.service#UnknownOperationException"}
LIST_TABLES = "DynamoDB_20120810.ListTables"


def test_get_says_that_the_server_is_healthy(wire: Wire) -> None:
    answer = wire.ask("GET")

    assert answer.status == 200
    assert answer.body == f"healthy: {wire.host} ".encode()
    assert answer.headers["x-amz-crc32"] == str(zlib.crc32(answer.body))


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS"])
def test_other_methods_find_nothing(wire: Wire, method: str) -> None:
    assert wire.ask(method).status == 404


@pytest.mark.parametrize(
    "content_type", ["", "whatever", "application/x-amz-json-1.1", "application/jsonasdf"]
)
def test_a_body_that_is_not_said_to_be_json_finds_nothing(wire: Wire, content_type: str) -> None:
    assert wire.ask(body=b"hi", Content_Type=content_type).status == 404


@pytest.mark.parametrize(
    "content_type", [JSON, "application/json", "  application/json  ;   asfd", f"{JSON};blah"]
)
def test_a_body_that_is_not_json_is_refused_first_of_all(wire: Wire, content_type: str) -> None:
    answer = wire.ask(body=b"hi", Content_Type=content_type)

    assert (answer.status, answer.json()) == (400, SERIALIZATION)


@pytest.mark.parametrize(
    "target", ["", "whatever", "DynamoDB_20120810.ListTable", "DynamoDB_20111205.ListTables"]
)
def test_an_unknown_target_is_refused_before_a_missing_signature(wire: Wire, target: str) -> None:
    answer = wire.ask(body=b"{}", Content_Type=JSON, X_Amz_Target=target)

    assert (answer.status, answer.json()) == (400, UNKNOWN_OPERATION)
    assert answer.headers["content-type"] == JSON


def test_a_request_without_a_signature_is_refused(wire: Wire) -> None:
    answer = wire.ask(body=b"{}", Content_Type=JSON, X_Amz_Target=LIST_TABLES)

    assert answer.status == 400
    assert answer.json() == {
        "__type": "com.amazon.coral.service#MissingAuthenticationTokenException",
        "message": "Request is missing Authentication Token",
    }


def test_an_incomplete_signature_is_told_what_it_lacks(wire: Wire) -> None:
    answer = wire.ask(X_Amz_Target=LIST_TABLES, Authorization="AWS4-")

    assert answer.status == 400
    assert answer.json() == {
        "__type": "com.amazon.coral.service#IncompleteSignatureException",
        "message": "Authorization header requires 'Credential' parameter. "
        "Authorization header requires 'Signature' parameter. "
        "Authorization header requires 'SignedHeaders' parameter. "
        "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
        "Authorization=AWS4-",
    }


def test_a_signed_request_is_answered(wire: Wire, signer: Signer) -> None:
    answer = wire.ask(body=b"{}", **signer.sign("ListTables", b"{}"))

    assert answer.status == 200
    assert "TableNames" in answer.json()
    assert answer.headers["content-type"] == JSON
    assert answer.headers["x-amz-crc32"] == str(zlib.crc32(answer.body))
    assert re.fullmatch("[0-9A-Z]{52}", answer.headers["x-amzn-requestid"])


def test_a_signed_request_without_a_body_is_refused_at_last(wire: Wire, signer: Signer) -> None:
    answer = wire.ask(body=b"", **signer.sign("ListTables", b""))

    assert (answer.status, answer.json()) == (400, SERIALIZATION)


def test_an_error_has_a_checksum_and_a_request_id_too(wire: Wire, signer: Signer) -> None:
    body = b'{"TableName":"there-is-no-such-table"}'
    answer = wire.ask(body=body, **signer.sign("DescribeTable", body))

    assert answer.status == 400
    assert answer.json()["__type"].endswith("#ResourceNotFoundException")
    assert answer.headers["content-type"] == JSON
    assert answer.headers["x-amz-crc32"] == str(zlib.crc32(answer.body))
    assert "x-amzn-requestid" in answer.headers


def test_deep_nesting_does_not_bring_the_server_down(wire: Wire, signer: Signer) -> None:
    deep = b'{"":' * 200_000 + b"{}" + b"}" * 200_000
    body = b'{"TableName":"t","Item":' + deep + b"}"

    answer = wire.ask(body=body, **signer.sign("PutItem", body))

    assert answer.status == 400
    assert wire.ask(body=b"{}", **signer.sign("ListTables", b"{}")).status == 200


def test_a_connection_serves_many_requests(wire: Wire, signer: Signer) -> None:
    headers = signer.sign("ListTables", b"{}")

    assert [wire.ask(body=b"{}", **headers).status for _ in range(20)] == [200] * 20


@pytest.mark.parametrize("is_chunked", [False, True], ids=["content-length", "chunked"])
def test_a_request_that_is_too_large_is_refused_cleanly(wire: Wire, is_chunked: bool) -> None:
    body = b"x" * (REQUEST_BYTES_MAX + 1)
    if is_chunked:
        framed = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        answer = wire.ask(body=framed, Content_Type=JSON, Transfer_Encoding="chunked")
    else:
        answer = wire.ask(body=body, Content_Type=JSON)

    assert answer.status == 413


def test_the_size_is_checked_before_the_method(wire: Wire) -> None:
    wire.send(b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (REQUEST_BYTES_MAX + 1))

    assert wire.answer().status == 413


def test_a_chunked_request_is_answered(wire: Wire, signer: Signer) -> None:
    headers = signer.sign("ListTables", b"{}")
    framed = b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"

    assert wire.ask(body=framed, Transfer_Encoding="chunked", **headers).status == 200


def test_another_origin_may_read_the_answer(wire: Wire) -> None:
    with_origin = wire.ask(Origin="http://example.com")
    without = wire.ask()

    assert with_origin.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-origin" not in without.headers


def test_a_preflight_request_is_allowed_what_it_asks_for(wire: Wire) -> None:
    answer = wire.ask(
        "OPTIONS",
        Origin="http://example.com",
        Access_Control_Request_Method="dog",
        Access_Control_Request_Headers="cat, mouse",
    )

    assert answer.status == 200
    assert answer.headers["access-control-allow-methods"] == "dog"
    assert answer.headers["access-control-allow-headers"] == "cat, mouse"
    assert "access-control-max-age" in answer.headers


def test_any_host_will_do(wire: Wire, signer: Signer) -> None:
    wire.host = "search-123456789012.ddb.us-east-1.example.com"

    assert wire.ask("GET").body == f"healthy: {wire.host} ".encode()


def test_a_request_hidden_in_another_is_not_served(wire: Wire) -> None:
    hidden = wire.request("GET")
    wire.send(
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\n\r\n%b" % (len(hidden) + 5, hidden)
    )

    assert b"healthy" not in wire.rest()


def test_head_has_no_body_and_leaves_the_connection_usable(wire: Wire) -> None:
    assert wire.ask("HEAD").status == 404
    assert wire.ask("GET").status == 200


@pytest.mark.parametrize("path", ["/other", "//", "/index.html?a=b"])
def test_other_paths_find_nothing(wire: Wire, path: str) -> None:
    answer = wire.ask(path=path, body=b"{}", Content_Type=JSON, X_Amz_Target=LIST_TABLES)

    assert answer.status == 404


def test_nothing_is_found_in_these_words(wire: Wire) -> None:
    answer = wire.ask("PUT")

    assert answer.body == b"<UnknownOperationException/>\n"
    assert answer.headers["x-amz-crc32"] == "3552371480"
    assert re.fullmatch("[0-9A-Z]{52}", answer.headers["x-amzn-requestid"])


def test_the_content_type_is_checked_before_the_body_is_parsed(wire: Wire) -> None:
    answer = wire.ask(body=b"{", Content_Type="text/plain", X_Amz_Target="nonsense")

    assert answer.status == 404


def test_without_a_body_the_content_type_is_not_asked_for(wire: Wire) -> None:
    answer = wire.ask(Content_Type="text/plain", X_Amz_Target="nonsense")

    assert (answer.status, answer.json()) == (400, UNKNOWN_OPERATION)


def test_parameters_are_checked_after_the_signature(wire: Wire) -> None:
    answer = wire.ask(body=b'{"Limit":0}', Content_Type=JSON, X_Amz_Target=LIST_TABLES)

    assert answer.json()["__type"].endswith("#MissingAuthenticationTokenException")


def test_a_wrong_json_type_is_told_in_another_field(wire: Wire, signer: Signer) -> None:
    body = b'{"Limit":"many"}'
    answer = wire.ask(body=body, **signer.sign("ListTables", body))

    assert answer.status == 400
    assert answer.json().keys() == {"__type", "Message"}
    assert answer.json()["__type"] == SERIALIZATION["__type"]


def test_what_a_message_quotes_is_escaped(wire: Wire, signer: Signer) -> None:
    body = b'{"TableName":"say \\"no\\" \\\\ \\n"}'
    answer = wire.ask(body=body, **signer.sign("DescribeTable", body))

    assert answer.json()["__type"] == "com.amazon.coral.validate#ValidationException"
    assert 'say "no" \\' in answer.json()["message"]


def test_an_error_does_not_end_the_connection(wire: Wire, signer: Signer) -> None:
    good = signer.sign("ListTables", b"{}")

    statuses = [
        wire.ask("PUT").status,
        wire.ask(body=b"{", Content_Type=JSON).status,
        wire.ask(body=b"{}", Content_Type="text/plain").status,
        wire.ask(body=b"{}", Content_Type=JSON).status,
        wire.ask(body=b"{}", Content_Type=JSON, X_Amz_Target=LIST_TABLES).status,
        wire.ask(body=b"x", Content_Encoding="gzip", **good).status,
        wire.ask(body=b"{}", **good).status,
    ]

    assert statuses == [404, 400, 404, 400, 400, 500, 200]


def test_a_client_may_wait_to_be_told_to_go_on(wire: Wire, signer: Signer) -> None:
    request = wire.request(body=b"{}", Expect="100-continue", **signer.sign("ListTables", b"{}"))
    wire.send(request[:-2])

    assert wire.answer().status == 100

    wire.send(b"{}")
    assert wire.answer().status == 200


def test_a_client_that_says_it_will_close_is_answered_and_closed(
    wire: Wire, signer: Signer
) -> None:
    wire.send(wire.request(body=b"{}", Connection="close", **signer.sign("ListTables", b"{}")))

    assert wire.answer().status == 200
    assert wire.rest() == b""


def test_a_head_may_have_16_kb(wire: Wire) -> None:
    answers = [wire.ask("GET", path="/?" + "a" * 16_000), wire.ask("GET", A="a" * 16_000)]

    assert [answer.status for answer in answers] == [200, 200]


def test_answers_come_in_the_order_of_requests(wire: Wire, signer: Signer) -> None:
    listing = wire.request(body=b"{}", **signer.sign("ListTables", b"{}"))
    wire.send(wire.request("GET") + listing + wire.request("PUT") + listing)

    assert [wire.answer().status for _ in range(4)] == [200, 200, 404, 200]


@pytest.mark.parametrize(
    "request_",
    [
        b"not http\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\x00\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n{}",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    ],
    ids=[
        "no http",
        "space before colon",
        "null byte",
        "two lengths",
        "negative length",
        "no chunk",
    ],
)
def test_what_is_no_request_ends_the_connection(wire: Wire, request_: bytes) -> None:
    wire.send(request_)

    assert wire.answer().status == 400
    assert wire.rest() == b""


def test_an_old_client_is_answered_and_closed(wire: Wire) -> None:
    wire.send(b"GET / HTTP/1.0\r\nHost: a\r\n\r\n")

    assert wire.answer().status == 200
    assert wire.rest() == b""


@pytest.mark.parametrize(
    "head",
    [b"POST /?" + b"a" * 17_000 + b" HTTP/1.1\r\n", b"POST / HTTP/1.1\r\nA: " + b"a" * 17_000],
    ids=["request line", "headers"],
)
def test_a_head_of_more_than_16_kb_is_refused(wire: Wire, head: bytes) -> None:
    wire.send(head + b"\r\nHost: a\r\nContent-Length: 0\r\n\r\n")

    assert wire.answer().status == 400


@pytest.mark.parametrize("operation", ["ListTables", "DescribeTable", "Nonsense"])
def test_another_origin_may_read_errors_too(wire: Wire, signer: Signer, operation: str) -> None:
    headers = signer.sign(operation, b"{}")

    answer = wire.ask(body=b"{}", Origin="http://example.com", **headers)

    assert answer.headers["access-control-allow-origin"] == "*"


def test_a_preflight_request_that_asks_for_nothing_is_allowed_nothing(wire: Wire) -> None:
    answer = wire.ask("OPTIONS", Origin="http://example.com")

    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["access-control-max-age"] == "172800"
    assert "access-control-allow-methods" not in answer.headers
    assert "access-control-allow-headers" not in answer.headers
