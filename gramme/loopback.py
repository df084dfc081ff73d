"""Whether an address can be reached from this machine only."""

from __future__ import annotations

import ipaddress
import socket


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach who listens on `host`. Raises OSError if there is no such host."""
    if not host:
        # Every address of the machine.
        return False
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except ValueError as error:
        # What cannot even be the name of a host.
        raise OSError(str(error)) from error
    addresses = (str(address[0]).partition("%")[0] for _, _, _, _, address in found)
    return all(ipaddress.ip_address(address).is_loopback for address in addresses)
