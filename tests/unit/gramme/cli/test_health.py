"""Whether one process serves, from what it says or does not say."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest

from gramme.cli.health import ask_over_http, fault_of
from gramme.cli.main import main
from gramme.codec.status import NodeStatus, ReplicaStatus
from gramme.embedded import serving

TIMEOUT_S = 5.0
NOT_AN_ADDRESS = "gramme: an address is HOST:PORT or http://HOST:PORT, not"


def node(*replicas: ReplicaStatus) -> NodeStatus:
    return NodeStatus(2, "0.1.0", 0, 5, [], list(replicas))


def replica(group: int, leader: int) -> ReplicaStatus:
    return ReplicaStatus(group, "follower", 2, leader, 5, 5, [1, 2, 3])


@asynccontextmanager
async def answering(answer: bytes | None) -> AsyncIterator[str]:
    """Who answers everything with this, in pieces, or never answers."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if answer is None:
            await reader.read()
        else:
            for byte in answer:
                writer.write(bytes((byte,)))
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@contextmanager
def free_port() -> Iterator[int]:
    """A port that is taken, so that nobody else takes it, and that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (node(replica(7, 0), replica(0, 3)), ""),
        (node(replica(7, 3), replica(0, 0)), "it knows of no leader"),
        (node(replica(7, 3)), "it is being given its copy of the tables"),
        ("this node is starting", "this node is starting"),
    ],
    ids=["a leader of meta is enough", "alone", "without the tables", "no answer"],
)
def test_a_node_serves_that_knows_the_tables_and_who_leads(
    status: NodeStatus | str, fault: str
) -> None:
    assert fault_of(status) == fault


def test_a_server_that_listens_serves(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as server:
        endpoint = server.endpoint
        code = main(["admin", "health", endpoint])

    assert (code, capsys.readouterr().out) == (0, f"{endpoint} serves\n")


def test_where_nobody_listens_nothing_serves(capsys: pytest.CaptureFixture[str]) -> None:
    with free_port() as port:
        code = main(["admin", "health", f"http://127.0.0.1:{port}"])

    shown = f"http://127.0.0.1:{port} does not serve: cannot be reached\n"
    assert (code, capsys.readouterr().out) == (1, shown)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhealthy: x", ""),
        (b"HTTP/1.1 200 OK\r\n\r\nWelcome to nginx", "what answers there is something else"),
        (b"HTTP/1.1 503 Busy\r\n\r\nhealthy: x", "what answers there is something else"),
        (b"x" * 10_000, "what answers there is something else"),
        (b"", "what answers there is something else"),
    ],
    ids=["ours", "another server", "not now", "endless", "nothing"],
)
async def test_what_answers_must_be_ours(answer: bytes, fault: str) -> None:
    async with answering(answer) as url:
        assert await ask_over_http(url, TIMEOUT_S) == fault


async def test_who_never_answers_is_given_up() -> None:
    async with answering(None) as url:
        assert await ask_over_http(url, 0.05) == "no answer within 0.05 s"


@pytest.mark.parametrize(
    "address",
    ["here", "https://h:1", "http://h:x", "http://h:1/x", "http://:1", "h:70000"],
)
def test_what_is_no_address_is_refused_in_one_line(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["admin", "health", address])

    assert (ended.value.code, capsys.readouterr().err) == (1, f"{NOT_AN_ADDRESS} {address!r}\n")


def test_a_node_is_not_asked_without_the_secret(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["admin", "health", "127.0.0.1:1"])

    assert capsys.readouterr().err == "gramme: a node is asked with --secret-file\n"
