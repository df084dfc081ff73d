"""Ports of this machine for processes that are to have them again tomorrow."""

from __future__ import annotations

import socket
from random import SystemRandom

# Below what operating systems give to outgoing connections, which would take a port from its owner between two runs.
FIRST_PORT = 20_000
LAST_PORT = 31_999
ATTEMPTS_MAX = 1_000
LOOPBACK = "127.0.0.1"


class NoFreePort(Exception):
    """The message is one line for a person."""


def free_ports(count: int) -> list[int]:
    """Different ports that nobody listens on now. Raises NoFreePort."""
    random = SystemRandom()
    found: list[int] = []
    for _ in range(ATTEMPTS_MAX):
        if len(found) == count:
            return found
        port = random.randint(FIRST_PORT, LAST_PORT)
        if port not in found and is_free(port):
            found.append(port)
    raise NoFreePort(f"no {count} free ports from {FIRST_PORT} to {LAST_PORT}")


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As servers do: what is left of connections that have ended takes no port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen()
        except OSError:
            return False
        return True
