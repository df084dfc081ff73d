"""Which error a request over HTTP is answered with: its body may be compressed."""

from __future__ import annotations

from gramme.errors import GrammeError
from gramme.router.http.compression import Corrupt, TooLarge, decompress
from gramme.router.http.exchange import Exchange
from gramme.router.refusals import JUDGEMENTS, LOOKED_THROUGH_BYTES_MAX
from gramme.router.refusals import first_fault as first_fault_of


def first_fault(exchange: Exchange, found: GrammeError) -> GrammeError:
    """The error to answer with, if `found` is what came of a request."""
    if not isinstance(found, JUDGEMENTS):
        return found
    target = exchange.headers.get(exchange.names.target, b"").strip()
    try:
        body = _body(exchange)
    except (Corrupt, TooLarge):
        return found
    return first_fault_of(target.rpartition(b".")[2].decode("latin-1"), body, found)


def _body(exchange: Exchange) -> bytes | bytearray:
    encoding = exchange.header(b"content-encoding")
    if encoding is None:
        return exchange.body
    return decompress(encoding, exchange.body, LOOKED_THROUGH_BYTES_MAX)
