"""Who asks, of a server that was given no credentials: everybody may, whatever they have signed with.

The account and the region are taken from the credential scope. The form of a signature is still checked, so that a
client which does not sign at all finds out here and not in production.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gramme.errors import InvalidSignature
from gramme.router.http.authorization import read_claim, read_scope
from gramme.router.http.credentials import account_of
from gramme.router.http.exchange import Exchange
from gramme.router.operations.context import Caller

Known = TypeVar("Known")

# Given a request and its query string, tells who sent it, or raises MissingAuthenticationToken, IncompleteSignature,
# InvalidSignature or UnrecognizedClient.
Authenticate = Callable[[Exchange, bytes], Caller]

# A credential is good for a day, and few are in use at a time.
CALLERS_MAX = 1024
KEY_BYTES_MAX = 1024
# The length of a signature: 32 bytes in hexadecimal.
SIGNATURE_BYTES = 64


class Authenticator:
    """Tells callers apart, and remembers those seen before."""

    __slots__ = ("_callers",)

    def __init__(self) -> None:
        # A good Authorization header less its signature, which comes last -> who it is.
        self._callers: dict[bytes, Caller] = {}

    def caller(self, exchange: Exchange, query: bytes) -> Caller:
        names = exchange.names
        authorization = exchange.headers.get(names.authorization)
        if authorization is not None and names.has_date and not query:
            caller = self._callers.get(authorization[:-SIGNATURE_BYTES])
            if caller is not None:
                return caller
        return self._identify(exchange, query, authorization)

    def _identify(self, exchange: Exchange, query: bytes, authorization: bytes | None) -> Caller:
        scope = read_scope(read_claim(exchange, query))
        complaint = scope.complain_of_region()
        if complaint:
            raise InvalidSignature(complaint)
        caller = Caller(account_of(scope.access_key), scope.region)
        if authorization is not None:
            remember(self._callers, authorization, caller)
        return caller


def remember(known: dict[bytes, Known], authorization: bytes, value: Known) -> None:
    """Keep `value` for all headers that differ from this one in their signature only."""
    key = authorization[:-SIGNATURE_BYTES]
    if key.endswith(b"Signature=") and len(key) <= KEY_BYTES_MAX:
        if len(known) >= CALLERS_MAX:
            known.clear()
        known[key] = value
