"""Tags: DynamoDB's rules for them, and the table they hang on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from unicodedata import category

from msgspec.structs import replace

from gramme.errors import ValidationError
from gramme.model.table import Table

TAGS_MAX: Final = 50
_KEY_MAX = 128
_VALUE_MAX = 256
_RESERVED = "aws:"
# Letters, numbers and spaces of any script, and these.
_CATEGORIES = frozenset("LNZ")
_PUNCTUATION = frozenset("_.:/=+-@")


def read_tags(requested: Iterable[dict[str, Any]]) -> dict[str, str]:
    tags: dict[str, str] = {}
    for tag in requested:
        key, value = check_key(tag.get("Key")), tag.get("Value")
        if value is None or len(value) > _VALUE_MAX or not _is_plain(value):
            raise ValidationError(f"The Tag Value provided is invalid, Value: {_shown(value)}")
        if key in tags:
            raise ValidationError(
                f"Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}"
            )
        tags[key] = value
    check_count(len(tags))
    return tags


def check_key(key: str | None) -> str:
    if not key or len(key) > _KEY_MAX or not _is_plain(key):
        raise ValidationError(f"The Tag Key provided is invalid, Key: {_shown(key)}")
    if key.startswith(_RESERVED):
        raise ValidationError(f"Tag Key cannot be prefixed with aws:, Key: {key}")
    return key


def check_count(count: int) -> None:
    if count > TAGS_MAX:
        raise ValidationError(
            "Number of Tags exceed the current limit for the provided ResourceArn"
        )


def tags_of(table: Table) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in table.echo.get("Tags", ())}


def with_tags(table: Table, tags: dict[str, str]) -> Table:
    shown = [{"Key": key, "Value": value} for key, value in tags.items()]
    return replace(table, echo=table.echo | {"Tags": shown})


def _is_plain(text: str) -> bool:
    return all(letter in _PUNCTUATION or category(letter)[0] in _CATEGORIES for letter in text)


def _shown(text: str | None) -> str:
    return "null" if text is None else text
