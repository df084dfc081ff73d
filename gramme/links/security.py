"""How processes of one cluster know each other: by a secret that all of them present, and by certificates if there are any.

The secret is presented to whoever listens at an address of the cluster, so without certificates it is as safe as the network.
"""

from __future__ import annotations

import hmac
import ssl
from dataclasses import dataclass, field
from pathlib import Path


class SecurityRefused(Exception):
    """The processes cannot know each other by this; the message is one line for a person."""


class Secret:
    """Bytes that do not get into a log by accident."""

    __slots__ = ("_content",)

    def __init__(self, content: bytes) -> None:
        if not content:
            raise SecurityRefused("the cluster's secret is empty")
        self._content = content

    def __repr__(self) -> str:
        return "Secret(...)"

    def reveal(self) -> bytes:
        return self._content

    def equals(self, presented: bytes) -> bool:
        """Takes as long for a good guess as for a bad one."""
        return hmac.compare_digest(self._content, presented)


@dataclass(frozen=True, slots=True)
class Tls:
    """This process's certificate and key, and the authority that signed everybody's; all in PEM.

    `name` is what the certificates of the others are made out to, where that is not the host that is dialled.
    """

    certificate: bytes
    key: bytes = field(repr=False)
    authority: bytes
    name: str = ""

    @classmethod
    def read(cls, certificate: Path, key: Path, authority: Path, name: str = "") -> Tls:
        """Raises SecurityRefused. gRPC would say little more than that no connection came about."""
        context = _context_of(certificate, key, authority)
        try:
            context.load_verify_locations(authority)
        except (ssl.SSLError, ValueError) as error:
            raise SecurityRefused(f"{authority} is not a certificate in PEM") from error
        return cls(certificate.read_bytes(), key.read_bytes(), authority.read_bytes(), name)


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a process shows to clients, who show none; both in PEM."""

    certificate: bytes
    key: bytes = field(repr=False)

    @classmethod
    def read(cls, certificate: Path, key: Path) -> Certificate:
        """Raises SecurityRefused."""
        _context_of(certificate, key)
        return cls(certificate.read_bytes(), key.read_bytes())


@dataclass(frozen=True, slots=True)
class Security:
    secret: Secret | None = None
    tls: Tls | None = None


def _context_of(certificate: Path, key: Path, *others: Path) -> ssl.SSLContext:
    """A context with the certificate in it, all files being there. Raises SecurityRefused."""
    for path in (certificate, key, *others):
        try:
            path.read_bytes()
        except OSError as error:
            raise SecurityRefused(f"cannot read {path}: {error.strerror}") from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # Without a password given, an encrypted key would ask for it at the terminal.
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (ssl.SSLError, ValueError) as error:
        raise SecurityRefused(
            f"{certificate} and {key} are not a certificate and its key, in PEM and without a password"
        ) from error
    return context
