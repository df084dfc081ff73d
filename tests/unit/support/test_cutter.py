"""What is cut says nothing and stays open, and what was said meanwhile arrives when it is whole again."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.support.cutter import Cutter

TIMEOUT_S = 10.0
SILENCE_S = 0.1


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def cutter(stack: ExitStack) -> Cutter:
    return stack.enter_context(Cutter())


@pytest.fixture
def listener(stack: ExitStack) -> socket.socket:
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    listener.settimeout(TIMEOUT_S)
    return listener


def connect(cutter: Cutter, listener: socket.socket, stack: ExitStack) -> socket.socket:
    address = cutter.way("router-1", 2, f"127.0.0.1:{listener.getsockname()[1]}")
    host, _, port = address.rpartition(":")
    return stack.enter_context(socket.create_connection((host, int(port)), TIMEOUT_S))


def accepted(listener: socket.socket, stack: ExitStack) -> socket.socket:
    near, _ = listener.accept()
    near.settimeout(TIMEOUT_S)
    return stack.enter_context(near)


def hears_nothing(end: socket.socket) -> bool:
    end.settimeout(SILENCE_S)
    try:
        end.recv(1)
    except TimeoutError:
        return True
    finally:
        end.settimeout(TIMEOUT_S)
    return False


def test_each_direction_is_cut_by_itself(
    cutter: Cutter, listener: socket.socket, stack: ExitStack
) -> None:
    router = connect(cutter, listener, stack)
    node = accepted(listener, stack)
    router.sendall(b"before")
    assert node.recv(100) == b"before"

    cutter.cut(("router-1", "node-2"))
    router.sendall(b"meanwhile")
    node.sendall(b"back")

    assert router.recv(100) == b"back"
    assert hears_nothing(node)
    cutter.heal()
    assert node.recv(100) == b"meanwhile"


def test_a_connection_begun_while_one_direction_is_cut_waits(
    cutter: Cutter, listener: socket.socket, stack: ExitStack
) -> None:
    cutter.cut(("node-2", "router-1"))
    router = connect(cutter, listener, stack)
    router.sendall(b"early")
    listener.settimeout(SILENCE_S)
    with pytest.raises(TimeoutError):
        listener.accept()

    listener.settimeout(TIMEOUT_S)
    cutter.heal()

    assert accepted(listener, stack).recv(100) == b"early"


def test_an_end_is_told_of_when_it_can_be(
    cutter: Cutter, listener: socket.socket, stack: ExitStack
) -> None:
    router = connect(cutter, listener, stack)
    node = accepted(listener, stack)
    cutter.cut(("router-1", "node-2"))
    router.close()

    assert hears_nothing(node)
    cutter.heal()

    assert node.recv(1) == b""
