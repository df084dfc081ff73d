"""Who asks, of a server that was given credentials: only who can sign with them.

The checks come in DynamoDB's order: the form of the signature, its time, the headers that must be signed, the
algorithm, the credential's scope, the access key, the signature itself, and last the session token.

A client that has been let in once is known by its Authorization header less the signature. All that is left to check of
its further requests, unless they carry a session token, is what changes: the time and the signature. When credentials change
all that is forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from hmac import compare_digest
from typing import NamedTuple

from gramme.clock import Clock
from gramme.errors import IncompleteSignature, InvalidSignature, UnrecognizedClient
from gramme.router.http.auth import SIGNATURE_BYTES, remember
from gramme.router.http.authorization import (
    Claim,
    Scope,
    canonical_query,
    read_claim,
    read_scope,
)
from gramme.router.http.credentials import Credential
from gramme.router.http.exchange import Exchange
from gramme.router.operations.context import Caller
from gramme.signature import (
    SERVICE,
    STAMP_FORMAT,
    TERMINATOR,
    canonical_headers,
    sign,
    sign_next,
    signing_key,
)

# How far a client's clock may be from ours, either way. (X-Amz-Expires makes it neither longer nor shorter.)
SKEW_MINUTES = 15

_STAMP = re.compile(r"[0-9]{8}T[0-9]{6}Z")
_DATE_CHARACTERS = 8

# A header that changes what a request means must be signed: with another X-Amz-Target the body of a DescribeTable is that of
# a DeleteTable. Each with the name that DynamoDB gives it.
_MUST_BE_SIGNED = (("host", "'Host' or ':authority'"), ("x-amz-target", "'X-Amz-Target'"))

_UNRECOGNIZED = "The security token included in the request is invalid."

# One for each access key, day and region in use.
_KEYS_MAX = 1024


class _Grant(NamedTuple):
    """What there is to know of a signature before the request itself is looked at."""

    caller: Caller
    key: bytes
    date: bytes
    scope: bytes
    signed: tuple[bytes, ...]
    signed_headers: bytes
    access_key: str
    credential: Credential


class Chain:
    """The signatures of a stream's pieces, each of which holds those before.

    `is_known` tells whether the credential that the stream began with is still good.
    """

    __slots__ = ("_is_known", "_key", "_previous", "_scope", "_stamp")

    def __init__(
        self, key: bytes, stamp: bytes, scope: bytes, first: bytes, is_known: Callable[[], bool]
    ) -> None:
        self._key = key
        self._stamp = stamp
        self._scope = scope
        self._previous = first
        self._is_known = is_known

    def check(self, content: bytes, signature: bytes) -> None:
        """Raises InvalidSignature if this is not the next piece, or somebody else's, and UnrecognizedClient."""
        if not self._is_known():
            raise UnrecognizedClient(_UNRECOGNIZED)
        ours = sign_next(self._key, self._stamp, self._scope, self._previous, content)
        if not compare_digest(ours, signature):
            raise InvalidSignature
        self._previous = ours


class Verifier:
    __slots__ = ("_clock", "_credentials", "_grants", "_keys", "_window")

    def __init__(self, credentials: Mapping[str, Credential], clock: Clock) -> None:
        self._credentials = credentials
        self._clock = clock
        self._keys: dict[tuple[str, str, str], bytes] = {}
        # An Authorization header that was good, less its signature -> what came of it.
        self._grants: dict[bytes, _Grant] = {}
        # The second it is now, and the first and last stamp that are good in it.
        self._window = (-1, b"", b"")

    def replace_credentials(self, credentials: Mapping[str, Credential]) -> None:
        """From now on these are good, and no others."""
        self._credentials = credentials
        self._keys.clear()
        self._grants.clear()

    def caller(self, exchange: Exchange, query: bytes) -> Caller:
        authorization = exchange.headers.get(exchange.names.authorization)
        if authorization is not None and not query:
            grant = self._grants.get(authorization[:-SIGNATURE_BYTES])
            if grant is not None and self._is_plain(exchange, grant):
                stamp = exchange.headers[exchange.names.spelling[b"x-amz-date"]]
                _verify(grant, exchange, b"", stamp, authorization[-SIGNATURE_BYTES:], None)
                return grant.caller
        grant, _ = self._verified(exchange, query)
        if authorization is not None:
            remember(self._grants, authorization, grant)
        return grant.caller

    def begin(self, exchange: Exchange) -> tuple[Caller, Chain]:
        """Who begins a stream with this, and how its pieces are to be signed."""
        grant, claim = self._verified(exchange, b"")
        stamp, signature = claim.stamp.encode("latin-1"), claim.signature.encode("latin-1")

        def is_known() -> bool:
            return self._credentials.get(grant.access_key) == grant.credential

        return grant.caller, Chain(grant.key, stamp, grant.scope, signature, is_known)

    def _verified(self, exchange: Exchange, query: bytes) -> tuple[_Grant, Claim]:
        claim = read_claim(exchange, query)
        grant = self._examine(claim)
        signature, stamp = claim.signature.encode("latin-1"), claim.stamp.encode("latin-1")
        _verify(grant, exchange, query, stamp, signature, claim.token)
        return grant, claim

    def _is_plain(self, exchange: Exchange, grant: _Grant) -> bool:
        """Whether only the signature is left to check. If not, there is more to be said than No."""
        stamp = exchange.header(b"x-amz-date")
        if stamp is None or grant.credential.token is not None:
            return False
        if b"x-amz-security-token" in exchange.names.spelling:
            return False
        second = self._clock.now_ms() // 1000
        if second != self._window[0]:
            now = datetime.fromtimestamp(second, UTC)
            skew = timedelta(minutes=SKEW_MINUTES)
            self._window = (second, _stamp(now - skew).encode(), _stamp(now + skew).encode())
        _, first, last = self._window
        return (
            first <= stamp <= last
            and stamp.startswith(grant.date)
            and _STAMP.fullmatch(stamp.decode("latin-1")) is not None
        )

    def _examine(self, claim: Claim) -> _Grant:
        self._check_time(claim.stamp)
        names = claim.signed_headers.lower().split(";")
        for name, shown in _MUST_BE_SIGNED:
            if name not in names:
                raise InvalidSignature(
                    f"{shown} must be a 'SignedHeader' in the AWS Authorization."
                )
        scope = read_scope(claim)
        _check_scope(scope, claim.stamp)
        credential = self._credentials.get(scope.access_key)
        if credential is None or (credential.token is not None and claim.token is None):
            raise UnrecognizedClient(_UNRECOGNIZED)
        if claim.signed_headers != ";".join(sorted(set(names))):
            # Signed it may be, but not in the one order in which headers are signed.
            raise InvalidSignature
        return _Grant(
            Caller(credential.account, scope.region),
            self._key(scope, credential),
            scope.date.encode("latin-1"),
            "/".join(scope[1:]).encode("latin-1"),
            tuple(name.encode("latin-1") for name in names),
            claim.signed_headers.encode("latin-1"),
            scope.access_key,
            credential,
        )

    def _check_time(self, stamp: str) -> None:
        try:
            if not _STAMP.fullmatch(stamp):
                raise ValueError
            signed_at = datetime.strptime(stamp, STAMP_FORMAT).replace(tzinfo=UTC)
        except ValueError:
            raise IncompleteSignature(
                f"Date must be in ISO-8601 'basic format'. Got '{stamp}'. "
                "See http://en.wikipedia.org/wiki/ISO_8601"
            ) from None
        now = datetime.fromtimestamp(self._clock.now_ms() // 1000, UTC)
        skew = timedelta(minutes=SKEW_MINUTES)
        if signed_at < now - skew:
            raise InvalidSignature(
                f"Signature expired: {stamp} is now earlier than {_stamp(now - skew)} "
                f"({_stamp(now)} - {SKEW_MINUTES} min.)"
            )
        if signed_at > now + skew:
            raise InvalidSignature(
                f"Signature not yet current: {stamp} is still later than {_stamp(now + skew)} "
                f"({_stamp(now)} + {SKEW_MINUTES} min.)"
            )

    def _key(self, scope: Scope, credential: Credential) -> bytes:
        kept = (scope.access_key, scope.date, scope.region)
        key = self._keys.get(kept)
        if key is None:
            key = signing_key(credential.secret, scope.date, scope.region, SERVICE)
            if len(self._keys) >= _KEYS_MAX:
                self._keys.clear()
            self._keys[kept] = key
        return key


def _check_scope(scope: Scope, stamp: str) -> None:
    """Complain of everything at once, as DynamoDB does."""
    complaints = scope.complain_of_region()
    if scope.service != SERVICE:
        complaints += f"Credential should be scoped to correct service: '{SERVICE}'. "
    if scope.terminator != TERMINATOR:
        complaints += (
            f"Credential should be scoped with a valid terminator: '{TERMINATOR}', "
            f"not '{scope.terminator}'. "
        )
    date = stamp[:_DATE_CHARACTERS]
    if scope.date != date:
        complaints += (
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
            f"'{scope.date}' != '{date}', from '{stamp}'."
        )
    if complaints:
        raise InvalidSignature(complaints)


def _verify(
    grant: _Grant,
    exchange: Exchange,
    query: bytes,
    stamp: bytes,
    signature: bytes,
    token: str | None,
) -> None:
    try:
        headers = canonical_headers(grant.signed, exchange.names.spelling, exchange.headers)
        signed_query = canonical_query(query) if query else b""
    except (KeyError, ValueError):
        raise InvalidSignature from None
    body = exchange.body
    ours = sign(grant.key, stamp, grant.scope, signed_query, headers, grant.signed_headers, body)
    if not compare_digest(ours, signature):
        raise InvalidSignature
    expected = grant.credential.token
    if token is None and expected is None:
        return
    # DynamoDB says it without the full stop here.
    if not compare_digest((token or "").encode(), (expected or "").encode()):
        raise UnrecognizedClient("The security token included in the request is invalid")


def _stamp(moment: datetime) -> str:
    return moment.strftime(STAMP_FORMAT)
