"""Whose signatures are good: access keys with their secrets, of a cluster's principals or from a file.

The file is in the form of AWS's shared credentials. A section is a profile, so what is given to a server can be given to its
clients too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from configparser import ConfigParser
from configparser import Error as FormError
from dataclasses import dataclass, field
from pathlib import Path

from gramme.model.principal import DEFAULT_ACCOUNT, Principal

_ACCOUNT = re.compile(r"[0-9]{12}")

# An access key is an element of a credential scope, which stands in a list of name=value pairs.
_ACCESS_KEY = re.compile(r"[A-Za-z0-9_.:@+-]{1,128}")
# A value that goes on in a second line, or has a space in it, is a slip.
_SECRET = re.compile(r"[!-~]{1,8192}")

# The parser would copy the values of a section of this name into all others. No section can have it.
_NO_SECTION = "\n"


class CredentialsRefused(Exception):
    """The file cannot be used; the message is one line for a person and gives no secret away."""


@dataclass(frozen=True, slots=True)
class Credential:
    account: str
    secret: str = field(repr=False)
    # Who signs with a temporary access key must show this too.
    token: str | None = field(default=None, repr=False)


def account_of(access_key: str) -> str:
    """The account of an access key of which nobody has said whose it is.

    It is the key itself if that could be an account number, and one account for everybody else, so that dummy
    credentials share their tables.
    """
    return access_key if _ACCOUNT.fullmatch(access_key) else DEFAULT_ACCOUNT


def credentials_of(principals: Iterable[Principal]) -> dict[str, Credential]:
    return {
        principal.access_key: Credential(principal.account, principal.secret)
        for principal in principals
    }


def read_credentials(path: Path) -> dict[str, Credential]:
    """Access keys and what belongs to them. Raises CredentialsRefused."""
    try:
        return parse_credentials(path.read_text("utf-8-sig"))
    except OSError as error:
        raise CredentialsRefused(f"cannot read credentials {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CredentialsRefused(f"credentials {path} are not text") from error
    except CredentialsRefused as error:
        raise CredentialsRefused(f"credentials {path}: {error}") from error


def parse_credentials(text: str) -> dict[str, Credential]:
    # Neither % nor : nor # means anything inside a value: secrets may have all of them.
    parser = ConfigParser(interpolation=None, delimiters=("=",), default_section=_NO_SECTION)
    try:
        parser.read_string(text)
    except FormError as error:
        # The parser's own words may quote a line, and with it a secret.
        raise CredentialsRefused(f"not in AWS's form ({type(error).__name__})") from None
    credentials: dict[str, Credential] = {}
    for profile in parser.sections():
        access_key, credential = _parse_profile(profile, parser[profile])
        if access_key in credentials:
            raise CredentialsRefused(f"two profiles have the access key {access_key}")
        credentials[access_key] = credential
    if not credentials:
        raise CredentialsRefused("there is no profile")
    return credentials


def _parse_profile(profile: str, values: Mapping[str, str]) -> tuple[str, Credential]:
    access_key = values.get("aws_access_key_id", "")
    secret = values.get("aws_secret_access_key", "")
    token = values.get("aws_session_token")
    account = values.get("aws_account_id", account_of(access_key))
    for name, is_good in (
        ("aws_access_key_id", _ACCESS_KEY.fullmatch(access_key)),
        ("aws_secret_access_key", _SECRET.fullmatch(secret)),
        ("aws_session_token", token is None or _SECRET.fullmatch(token)),
        ("aws_account_id", _ACCOUNT.fullmatch(account)),
    ):
        if not is_good:
            raise CredentialsRefused(f"profile {profile} has no good {name}")
    return access_key, Credential(account, secret, token)
