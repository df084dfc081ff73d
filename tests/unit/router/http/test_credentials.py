"""The file that says whose signatures are good."""

from __future__ import annotations

from pathlib import Path

import pytest

from gramme.router.http.credentials import (
    Credential,
    CredentialsRefused,
    parse_credentials,
    read_credentials,
)

TWO_PROFILES = """
# Whoever runs the shop.
[default]
aws_access_key_id = AKIDSHOP
aws_secret_access_key = a/b+c=%d:#e

[DEFAULT]
AWS_Access_Key_Id=AKIDGUEST
aws_secret_access_key=guest
aws_session_token=token
aws_account_id=123456789012
region=eu-north-1
"""


def test_a_profile_is_an_access_key_with_its_secret() -> None:
    assert parse_credentials(TWO_PROFILES) == {
        "AKIDSHOP": Credential("000000000000", "a/b+c=%d:#e"),
        "AKIDGUEST": Credential("123456789012", "guest", "token"),
    }


def test_an_access_key_that_looks_like_an_account_is_one() -> None:
    text = "[a]\naws_access_key_id=111122223333\naws_secret_access_key=s\n"

    assert parse_credentials(text)["111122223333"].account == "111122223333"


A_KEY = "aws_access_key_id=AKID\n"
A_SECRET = "aws_secret_access_key=hush\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no profile"),
        (A_KEY + A_SECRET, "not in AWS's form"),
        ("[a]\nhush hush\n", "not in AWS's form"),
        (f"[a]\n{A_KEY}{A_SECRET}[a]\n{A_KEY}", "not in AWS's form"),
        (f"[a]\n{A_SECRET}", "profile a has no good aws_access_key_id"),
        (f"[a]\n{A_KEY}", "profile a has no good aws_secret_access_key"),
        (f"[a]\n{A_KEY}aws_secret_access_key=\n", "no good aws_secret_access_key"),
        (f"[a]\n{A_KEY}{A_SECRET}  hush\n", "no good aws_secret_access_key"),
        (f"[a]\naws_access_key_id=a/b\n{A_SECRET}", "no good aws_access_key_id"),
        (f"[a]\n{A_KEY}{A_SECRET}aws_session_token=\n", "no good aws_session_token"),
        (f"[a]\n{A_KEY}{A_SECRET}aws_account_id=12\n", "no good aws_account_id"),
        (f"[a]\n{A_KEY}{A_SECRET}[b]\n{A_KEY}{A_SECRET}", "two profiles have the access key AKID"),
    ],
)
def test_a_file_that_is_not_clear_is_refused_and_no_secret_shown(text: str, reason: str) -> None:
    with pytest.raises(CredentialsRefused, match=reason) as refused:
        parse_credentials(text)

    assert "hush" not in str(refused.value)


def test_a_secret_does_not_show_in_a_log() -> None:
    assert "hush" not in repr(Credential("000000000000", "hush", "hush too"))


def test_why_a_file_cannot_be_read_is_said_with_its_name(tmp_path: Path) -> None:
    empty, bytes_ = tmp_path / "empty", tmp_path / "bytes"
    empty.write_text("")
    bytes_.write_bytes(b"\xff\xfe\x00")

    for path, reason in (
        (tmp_path / "none", "cannot read credentials .*/none: No such file"),
        (empty, "credentials .*/empty: there is no profile"),
        (bytes_, "credentials .*/bytes are not text"),
    ):
        with pytest.raises(CredentialsRefused, match=reason):
            read_credentials(path)
