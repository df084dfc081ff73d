"""`gramme clock`: what it shows, where it looks, and what it says when it cannot."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from gramme.cli.clock import ENDPOINT_VARIABLES
from gramme.cli.main import main
from gramme.embedded import Server, serving

NEVER = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """None that somebody's own environment names."""
    for name in ENDPOINT_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(clock="virtual") as server:
        yield server


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that it says instead of a time."""
    with pytest.raises(SystemExit) as ended:
        main(["clock", *arguments])
    said = capsys.readouterr()
    assert (ended.value.code, said.out, said.err.count("\n")) == (1, "", 1)
    return said.err.removesuffix("\n")


def test_the_time_is_shown_in_both_ways(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    server.clock.move_to(4_070_908_800_250)

    assert main(["clock", "--endpoint", server.endpoint]) == 0
    assert capsys.readouterr().out == "2099-01-01T00:00:00.250Z  4070908800.250\n"


@pytest.mark.parametrize(
    ("arguments", "by_ms"),
    [
        (("advance", "48h"), 172_800_000),
        (("advance", "1d12h30m"), 131_400_000),
        (("advance", "1.5"), 1_500),
    ],
    ids=str,
)
@pytest.mark.parametrize("endpoint_first", [True, False])
def test_the_clock_is_advanced(
    server: Server,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    by_ms: int,
    endpoint_first: bool,
) -> None:
    before_ms, endpoint = server.clock.now_ms(), ("--endpoint", server.endpoint)
    line = (*endpoint, *arguments) if endpoint_first else (*arguments, *endpoint)

    assert main(["clock", *line]) == 0

    assert server.clock.now_ms() == before_ms + by_ms
    assert capsys.readouterr().out.endswith(f"  {(before_ms + by_ms) / 1000:.3f}\n")


def test_the_clock_is_moved_to_a_moment(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clock", "to", "2199-01-01T00:00:00Z", "--endpoint", server.endpoint]) == 0

    assert capsys.readouterr().out == "2199-01-01T00:00:00.000Z  7226582400.000\n"


@pytest.mark.parametrize("name", ENDPOINT_VARIABLES)
def test_the_server_may_be_that_of_the_sdks(
    server: Server,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    # The one for DynamoDB alone comes first, and no other counts beside an option.
    monkeypatch.setenv("AWS_ENDPOINT_URL", NEVER)
    monkeypatch.setenv(name, server.endpoint + "/")
    assert main(["clock"]) == 0

    monkeypatch.setenv(name, NEVER)
    assert main(["clock", "--endpoint", server.endpoint]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("advance", "soon"),
            "a duration is 48h, 1d12h30m, 250ms or the like, or a number of seconds",
        ),
        (("advance", "\udcff"), "the body is not JSON: "),
        (("advance", "-1"), "time moves forward only, and it is "),
        (("to", "2001-01-01"), "time moves forward only, and it is "),
        (
            ("to", "later"),
            "a time is 2030-01-01T00:00:00Z or the like, or a number of seconds since 1970",
        ),
        (("to", "253402300800"), "time ends at 9999-12-31T23:59:59.999Z"),
    ],
    ids=ascii,
)
def test_what_a_server_refuses_is_said_in_its_words(
    server: Server, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    line = refusal(capsys, *arguments, "--endpoint", server.endpoint)

    assert line.startswith(f"gramme: {words}")


def test_a_server_without_such_a_clock_says_how_it_gets_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with serving() as server:
        line = refusal(capsys, "advance", "48h", "--endpoint", server.endpoint)

    assert line.endswith("start it with gramme serve --clock virtual")


@pytest.mark.parametrize(
    "endpoint", ["here", "127.0.0.1:8000", "https://h:1", "http://h:x", "http://h:1/x", "http://"]
)
def test_what_is_no_endpoint_is_named(capsys: pytest.CaptureFixture[str], endpoint: str) -> None:
    line = refusal(capsys, "--endpoint", endpoint)

    assert line == f"gramme: an endpoint is http://HOST:PORT, not {endpoint!r}"


@pytest.mark.parametrize("host", ["a..b", "no.such.host.invalid"])
def test_where_nobody_can_be_is_named(capsys: pytest.CaptureFixture[str], host: str) -> None:
    line = refusal(capsys, "--endpoint", f"http://{host}:1")

    assert line == f"gramme: http://{host}:1: cannot be reached"


def test_where_nobody_listens_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{taken.getsockname()[1]}"

        assert refusal(capsys, "--endpoint", endpoint) == f"gramme: {endpoint}: cannot be reached"


class Page(BaseHTTPRequestHandler):
    """Another server than ours."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<h1>Welcome</h1>")

    def log_message(self, format: str, *arguments: object) -> None: ...


def test_what_is_no_server_of_ours_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with HTTPServer(("127.0.0.1", 0), Page) as other:
        thread = Thread(target=other.handle_request)
        thread.start()
        endpoint = f"http://127.0.0.1:{other.server_port}"

        line = refusal(capsys, "--endpoint", endpoint)
        thread.join()

    assert line == f"gramme: {endpoint}: what answers there knows no clock"


@pytest.mark.parametrize("arguments", [("advance",), ("to",), ("back", "1h"), ("to", "1", "2")])
def test_a_command_line_that_cannot_be_read_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["clock", *arguments])

    said = capsys.readouterr().err
    assert (ended.value.code, said.count("\n")) == (2, 1)
    assert said.startswith("gramme")
