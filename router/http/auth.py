"""Who asks: the account and the region, from the credential scope of a Signature Version 4.

A signature is not verified yet, only its form. The account of a caller is its access key if that is an account
number, and one account for everybody else, so that dummy credentials share their tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl

from gramme.errors import IncompleteSignature, MissingAuthenticationToken
from gramme.router.operations.context import Caller

_ALGORITHM = "AWS4-HMAC-SHA256"
_DEFAULT_ACCOUNT = "000000000000"
_ACCOUNT = re.compile(r"[0-9]{12}")
# A region becomes part of names and ARNs. Any name will do, made-up ones included.
_REGION = re.compile(r"[A-Za-z0-9_-]{1,64}")

_HEADER_PARAMETERS = ("Credential", "Signature", "SignedHeaders")
_QUERY_PARAMETERS = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Signature",
    "X-Amz-SignedHeaders",
    "X-Amz-Date",
)
_QUERY_PARAMETERS_MAX = 100

# A credential is good for a day, and few are in use at a time.
_CALLERS_MAX = 1024
_KEY_BYTES_MAX = 1024
# The length of a signature: 32 bytes in hexadecimal.
_SIGNATURE_BYTES = 64


class Authenticator:
    """Tells callers apart, and remembers those seen before."""

    __slots__ = ("_callers",)

    def __init__(self) -> None:
        # A good Authorization header less its signature, which comes last -> who it is.
        self._callers: dict[bytes, Caller] = {}

    def caller(self, authorization: bytes | None, has_date: bool, query: bytes) -> Caller:
        """Return who sent a request. Raises MissingAuthenticationToken and IncompleteSignature.

        `has_date` tells whether there is an X-Amz-Date or a Date header.
        """
        if authorization is not None and has_date and not query:
            caller = self._callers.get(authorization[:-_SIGNATURE_BYTES])
            if caller is not None:
                return caller
        return self._identify(authorization, has_date, query)

    def _identify(self, authorization: bytes | None, has_date: bool, query: bytes) -> Caller:
        parameters = _query_parameters(query)
        if "X-Amz-Algorithm" in parameters:
            if authorization is not None:
                raise IncompleteSignature(
                    "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
                )
            _check_query(parameters)
            return _parse_credential(parameters["X-Amz-Algorithm"], parameters["X-Amz-Credential"])
        if authorization is None:
            raise MissingAuthenticationToken
        caller = _caller_of_header(authorization.decode("latin-1").strip(), has_date)
        self._remember(authorization[:-_SIGNATURE_BYTES], caller)
        return caller

    def _remember(self, key: bytes, caller: Caller) -> None:
        if key.endswith(b"Signature=") and len(key) <= _KEY_BYTES_MAX:
            if len(self._callers) >= _CALLERS_MAX:
                self._callers.clear()
            self._callers[key] = caller


def _caller_of_header(authorization: str, has_date: bool) -> Caller:
    if not authorization.startswith("AWS4-"):
        raise MissingAuthenticationToken
    algorithm, _, rest = authorization.partition(" ")
    pairs = (part.partition("=") for part in rest.replace(",", " ").split())
    parameters = {name: value for name, _, value in pairs}
    complaints = [
        f"Authorization header requires '{name}' parameter. "
        for name in _HEADER_PARAMETERS
        if not parameters.get(name)
    ]
    if not has_date:
        complaints.append(
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
        )
    if complaints:
        raise IncompleteSignature("".join(complaints) + f"Authorization={authorization}")
    return _parse_credential(algorithm, parameters["Credential"])


def _query_parameters(query: bytes) -> dict[str, str]:
    if not query:
        return {}
    try:
        pairs = parse_qsl(
            query.decode("latin-1"), keep_blank_values=True, max_num_fields=_QUERY_PARAMETERS_MAX
        )
    except ValueError:
        return {}
    return dict(pairs)


def _check_query(parameters: Mapping[str, str]) -> None:
    complaints = [
        f"AWS query-string parameters must include '{name}'. "
        for name in _QUERY_PARAMETERS
        if not parameters.get(name)
    ]
    if complaints:
        raise IncompleteSignature("".join(complaints) + "Re-examine the query-string parameters.")


def _parse_credential(algorithm: str, credential: str) -> Caller:
    """Read `access key/date/region/service/aws4_request`."""
    if algorithm != _ALGORITHM:
        raise IncompleteSignature(
            f"Unsupported AWS 'algorithm': '{algorithm}' (only AWS4-HMAC-SHA256 for now). "
        )
    elements = credential.rstrip("/").split("/")
    if len(elements) != 5:
        raise IncompleteSignature(
            "Credential must have exactly 5 slash-delimited elements, "
            f"e.g. keyid/date/region/service/term, got '{credential}'"
        )
    access_key, _, region, _, _ = elements
    if not _REGION.fullmatch(region):
        raise IncompleteSignature(
            f"Credential should be scoped to a valid region, not '{region}'. "
        )
    account = access_key if _ACCOUNT.fullmatch(access_key) else _DEFAULT_ACCOUNT
    return Caller(account, region)
