"""Who may ask for an extension, and how one is found."""

from __future__ import annotations

import logging

import orjson
import pytest

from gramme.router.http.dispatch import Dispatcher
from gramme.router.http.exchange import Exchange
from gramme.router.http.names import HeaderNames
from gramme.router.operations.context import Context
from tests.unit.router.http.gateway import Client, a_request


class Elsewhere:
    """The connection of a client on another machine."""

    def answered(self) -> None: ...

    def is_local(self) -> bool:
        return False


def test_an_extension_is_found_by_its_path(client: Client) -> None:
    answer = client.ask(a_request(head=b"PUT /_gramme/repeat?a=b HTTP/1.1", body=b'{"a":1}'))

    assert (answer.status, answer.json()) == (200, {"request": {"a": 1}})
    assert answer.headers["content-type"] == "application/json"


def test_an_extension_needs_no_signature_no_type_and_no_body(client: Client) -> None:
    answer = client.ask(b"GET /_gramme/repeat HTTP/1.1\r\n\r\n")

    assert (answer.status, answer.json()) == (200, {"request": None})


@pytest.mark.parametrize(
    "path", [b"/_gramme/", b"/_gramme/other", b"/_gramme/clock/", b"/_gramme/%63lock"]
)
def test_there_is_no_other_extension(client: Client, path: bytes) -> None:
    answer = client.ask(a_request(head=b"POST " + path + b" HTTP/1.1"))

    assert answer.status == 404
    assert answer.json() == {
        "message": "there is no such extension; there is: broken, clock, repeat"
    }


@pytest.mark.parametrize("method", [b"POST", b"DELETE", b"OPTIONS"])
def test_an_extension_says_which_methods_it_takes(client: Client, method: bytes) -> None:
    answer = client.ask(a_request(head=method + b" /_gramme/repeat HTTP/1.1"))

    assert (answer.status, answer.json()) == (405, {"message": "it takes GET, PUT"})
    assert answer.headers["allow"] == "GET, PUT"


@pytest.mark.parametrize("body", [b"{", b"48h", b'{"a":NaN}', b'{"a":"\xff"}', b"[" * 5000])
def test_a_body_that_is_not_json_is_refused(client: Client, body: bytes) -> None:
    answer = client.ask(a_request(head=b"PUT /_gramme/repeat HTTP/1.1", body=body))

    assert answer.status == 400
    assert answer.json()["message"].startswith("the body is not JSON: ")


def test_a_web_page_is_refused(client: Client) -> None:
    answer = client.ask(
        a_request(head=b"PUT /_gramme/repeat HTTP/1.1", Origin=b"http://example.com")
    )

    assert (answer.status, answer.json()) == (
        403,
        {"message": "extensions do not answer web pages"},
    )


@pytest.mark.parametrize("path", [b"/_gramme/clock", b"/_gramme/other", b"http://h/_gramme/clock"])
def test_other_machines_are_refused_whatever_they_say_of_themselves(path: bytes) -> None:
    headers = {b"Host": b"127.0.0.1", b"X-Forwarded-For": b"127.0.0.1"}
    exchange = Exchange(Elsewhere(), b"GET", path, HeaderNames(tuple(headers)), headers, b"")

    Dispatcher(Context.__new__(Context), {}).handle(exchange)

    head, _, body = (exchange.answer or b"").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert orjson.loads(body) == {
        "message": "extensions answer callers on the server's own machine only"
    }


def test_a_bug_in_an_extension_is_logged_but_not_shown(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        answer = client.ask(a_request(head=b"GET /_gramme/broken HTTP/1.1"))

    assert answer.status == 500
    assert b"secret" not in answer.body
    assert "secret detail" in caplog.text
