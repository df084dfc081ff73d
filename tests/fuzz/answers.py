"""What every answer must be, whatever was asked: judged by the SDK's own description of the service.

Which errors an operation may end in and what its answer may hold is read from botocore, and not from Gramme.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final
from zlib import crc32

import botocore.session
import orjson
from botocore.model import OperationModel

from tests.support.client import OF_STREAMS, Answer

# What the protocol and the front of the service say, of any operation.
OF_THE_PROTOCOL: Final = frozenset(
    {
        "com.amazon.coral.service#SerializationException",
        "com.amazon.coral.service#UnknownOperationException",
        "com.amazon.coral.service#AccessDeniedException",
        "com.amazon.coral.validate#ValidationException",
    }
)
OF_THE_SERVICE: Final = "com.amazonaws.dynamodb.v20120810#"
JSON_TYPE: Final = "application/x-amz-json-1.0"
# DynamoDB answers these with no body at all.
SAY_NOTHING: Final = frozenset({"TagResource", "UntagResource"})

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "structure": (dict,),
    "map": (dict,),
    "list": (list,),
    "string": (str,),
    "blob": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "long": (int,),
    "double": (int, float),
    "timestamp": (int, float),
}


def problem(operation: str, answer: Answer) -> str | None:
    """What is wrong with an answer, or None."""
    if answer.headers.get("x-amz-crc32") != str(crc32(answer.body)):
        return "the checksum is not that of the body"
    if answer.status not in (200, 400):
        return f"the status is {answer.status}"
    if answer.headers.get("content-type") != JSON_TYPE:
        return f"the content type is {answer.headers.get('content-type')}"
    if len(answer.headers.get("x-amzn-requestid", "")) != 52:
        return "there is no request id"
    if answer.status == 200 and operation in SAY_NOTHING and not answer.body:
        return None
    try:
        body = orjson.loads(answer.body)
    except orjson.JSONDecodeError as error:
        return f"the body is not JSON: {error}"
    return _refusal_problem(operation, body) if answer.status == 400 else _misfit(operation, body)


def error_type(answer: Answer) -> str:
    """The short name of the error that an answer is, or "" if it is none."""
    if answer.status == 200:
        return ""
    try:
        return str(orjson.loads(answer.body)["__type"]).rpartition("#")[2]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return str(answer.status)


def _refusal_problem(operation: str, body: Any) -> str | None:
    kind = body.get("__type") if isinstance(body, dict) else None
    if not isinstance(kind, str):
        return "a refusal without a type"
    if kind not in OF_THE_PROTOCOL and kind not in _errors(operation):
        return f"{kind} is no error of {operation}"
    text = body.get("message", body.get("Message", ""))
    return None if isinstance(text, str) else "the message is no text"


@cache
def _errors(operation: str) -> frozenset[str]:
    shapes = _model(operation).error_shapes
    return frozenset(OF_THE_SERVICE + shape.name for shape in shapes)


def _misfit(operation: str, body: Any) -> str | None:
    shape = _model(operation).output_shape
    return None if shape is None else _inside(shape, body, operation)


def _inside(shape: Any, value: Any, where: str) -> str | None:
    """Where a value does not fit the shape that the SDK will read it by."""
    kind: str = shape.type_name
    if type(value) not in _TYPES[kind]:
        return f"{where} is no {kind}"
    parts: list[tuple[Any, Any, str]] = []
    if kind == "structure":
        unknown = value.keys() - shape.members.keys()
        if unknown:
            return f"{where} has {sorted(unknown)}"
        parts = [(shape.members[name], value[name], f"{where}.{name}") for name in value]
    elif kind == "map":
        parts = [(shape.value, value[name], f"{where}[{name}]") for name in value]
    elif kind == "list":
        parts = [(shape.member, member, f"{where}[]") for member in value]
    elif getattr(shape, "enum", None) and value not in shape.enum:
        return f"{where} is {value}"
    for inner, part, place in parts:
        found = _inside(inner, part, place)
        if found is not None:
            return found
    return None


@cache
def _model(operation: str) -> OperationModel:
    service = "dynamodbstreams" if operation in OF_STREAMS else "dynamodb"
    return botocore.session.get_session().get_service_model(service).operation_model(operation)
