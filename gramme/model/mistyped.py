"""What DynamoDB's parser says of a JSON value that has the wrong type.

The words depend on what was expected and on what came, and they show the parser's Java insides. They are kept
as they are, because clients' test suites compare them.
"""

from __future__ import annotations

from typing import Any

MODEL = "com.amazonaws.dynamodb.v20120810"

STRUCTURE_FOUND = "Start of structure or map found where not expected"


def wrong_scalar(value: Any, expected: str) -> str:
    """`expected` is a Java type: String, Boolean, Integer, Long or Double."""
    if type(value) is list:
        return f"Unrecognized collection type class java.lang.{expected}"
    if type(value) is dict:
        return STRUCTURE_FOUND
    if type(value) is str and expected == "Boolean":
        return "Unexpected token received from parser"
    return f"{_token(value)} cannot be converted to {expected}"


def wrong_blob(value: Any) -> str:
    if type(value) is list:
        return "Unrecognized collection type class java.nio.ByteBuffer"
    if type(value) is dict:
        return STRUCTURE_FOUND
    return "only base-64-encoded strings are convertible to bytes"


def wrong_list(value: Any) -> str:
    return STRUCTURE_FOUND if type(value) is dict else "Unexpected field type"


def wrong_map(value: Any, member: str) -> str:
    """`member` is the Java type of the map's values."""
    if type(value) is list:
        return f"Unrecognized collection type java.util.Map<java.lang.String, {member}>"
    return "Unexpected field type"


def wrong_structure(value: Any, shape: str, *, is_member: bool) -> str:
    """`is_member` tells whether the structure stands in a list or map, rather than in a field."""
    if type(value) is list:
        return f"Unrecognized collection type class {MODEL}.{shape}"
    return "Unexpected value type in payload" if is_member else "Unexpected field type"


def _token(value: Any) -> str:
    if value is True:
        return "TRUE_VALUE"
    if value is False:
        return "FALSE_VALUE"
    if type(value) is int:
        return "NUMBER_VALUE"
    return "DECIMAL_VALUE" if type(value) is float else "STRING_VALUE"
