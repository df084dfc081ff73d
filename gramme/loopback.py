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
    return all(is_loopback_address(str(address[0])) for _, _, _, _, address in found)


def is_loopback_address(text: str) -> bool:
    """Whether a numeric address, as a socket tells it, is this machine's own and nobody else's."""
    address = ipaddress.ip_address(text.partition("%")[0])
    # A socket for both kinds of addresses shows those of the older kind like this.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
