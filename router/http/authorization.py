"""What a request says of its own signature, in the Authorization header or in the query string.

Only the form is looked at here. The texts are DynamoDB's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, quote

from gramme.errors import IncompleteSignature, InvalidSignature, MissingAuthenticationToken
from gramme.router.http.exchange import Exchange

_ALGORITHM = "AWS4-HMAC-SHA256"

# In the order in which DynamoDB misses them.
_HEADER_PARAMETERS = ("Credential", "Signature", "SignedHeaders")
_QUERY_PARAMETERS = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Signature",
    "X-Amz-SignedHeaders",
    "X-Amz-Date",
)
_QUERY_PARAMETERS_MAX = 100

# Beside letters and digits, what a canonical query string does not escape.
_UNESCAPED = "-_.~"

# A region becomes part of names and ARNs. Any name will do, made-up ones included.
_REGION = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Claim(NamedTuple):
    """A signature that has all of its parts."""

    algorithm: str
    credential: str
    signed_headers: str
    signature: str
    # When it was made, and the session token shown with it.
    stamp: str
    token: str | None


class Scope(NamedTuple):
    """What a credential is good for."""

    access_key: str
    date: str
    region: str
    service: str
    terminator: str

    def complain_of_region(self) -> str:
        if _REGION.fullmatch(self.region):
            return ""
        return f"Credential should be scoped to a valid region, not '{self.region}'. "


def read_claim(exchange: Exchange, query: bytes) -> Claim:
    """Raises MissingAuthenticationToken, IncompleteSignature and InvalidSignature."""
    authorization = exchange.headers.get(exchange.names.authorization)
    try:
        parameters = dict(query_pairs(query))
    except ValueError:
        parameters = {}
    if "X-Amz-Algorithm" in parameters:
        if authorization is not None:
            raise InvalidSignature(
                "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
            )
        return _claim_of_query(parameters)
    if authorization is None or not authorization.strip().startswith(b"AWS4-"):
        raise MissingAuthenticationToken
    stamp = exchange.header(b"x-amz-date") or exchange.header(b"date")
    token = exchange.header(b"x-amz-security-token")
    return _claim_of_header(_text(authorization), _text(stamp), _text(token) or None)


def read_scope(claim: Claim) -> Scope:
    """Read `access key/date/region/service/aws4_request`. Raises IncompleteSignature."""
    if claim.algorithm != _ALGORITHM:
        raise IncompleteSignature(
            f"Unsupported AWS 'algorithm': '{claim.algorithm}' (only AWS4-HMAC-SHA256 for now). "
        )
    elements = claim.credential.rstrip("/").split("/")
    if len(elements) != 5:
        raise IncompleteSignature(
            "Credential must have exactly 5 slash-delimited elements, "
            f"e.g. keyid/date/region/service/term, got '{claim.credential}'"
        )
    return Scope(*elements)


def query_pairs(query: bytes) -> list[tuple[str, str]]:
    """The names and values of a query string, each character of them one byte.

    Raises ValueError if there are too many.
    """
    if not query:
        return []
    return parse_qsl(
        query.decode("latin-1"),
        keep_blank_values=True,
        encoding="latin-1",
        max_num_fields=_QUERY_PARAMETERS_MAX,
    )


def canonical_query(query: bytes) -> bytes:
    """The query string in the one way in which it is signed. Raises ValueError if it is too long."""
    escaped = (
        (_escape(name), _escape(value))
        for name, value in query_pairs(query)
        if name != "X-Amz-Signature"
    )
    return "&".join(f"{name}={value}" for name, value in sorted(escaped)).encode()


def _claim_of_header(authorization: str, stamp: str, token: str | None) -> Claim:
    algorithm, _, rest = authorization.partition(" ")
    parameters: dict[str, str] = {}
    for part in rest.replace(",", " ").split():
        name, sign, value = part.partition("=")
        if not sign:
            raise IncompleteSignature(
                f"'{part}' not a valid key=value pair (missing equal-sign) "
                f"in Authorization header: '{authorization}'."
            )
        parameters[name] = value
    complaints = [
        f"Authorization header requires '{name}' parameter. "
        for name in _HEADER_PARAMETERS
        # DynamoDB takes an empty list of headers here, and misses the Host in it later.
        if not (parameters.get(name) or (name == "SignedHeaders" and name in parameters))
    ]
    if not stamp:
        complaints.append(
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
        )
    if complaints:
        raise IncompleteSignature("".join(complaints) + f"Authorization={authorization}")
    credential, signature, signed_headers = (parameters[name] for name in _HEADER_PARAMETERS)
    return Claim(algorithm, credential, signed_headers, signature, stamp, token)


def _claim_of_query(parameters: Mapping[str, str]) -> Claim:
    complaints = [
        f"AWS query-string parameters must include '{name}'. "
        for name in _QUERY_PARAMETERS
        if not parameters.get(name)
    ]
    if complaints:
        raise IncompleteSignature("".join(complaints) + "Re-examine the query-string parameters.")
    algorithm, credential, signature, signed_headers, stamp = (
        parameters[name] for name in _QUERY_PARAMETERS
    )
    token = parameters.get("X-Amz-Security-Token") or None
    return Claim(algorithm, credential, signed_headers, signature, stamp, token)


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("latin-1").strip()


def _escape(text: str) -> str:
    return quote(text, safe=_UNESCAPED, encoding="latin-1")
