"""Where DynamoDB, as measured, differs from its own service model, and what the model does not say.

The interpreter reads the model through `shape_of` and `members_of`. All that is here was observed on the service:
the order in which it lists enum values and checks members, and the few checks that have words of their own.
"""

from __future__ import annotations

from typing import Any, Final

from gramme.errors import ValidationError
from gramme.router.validation.generated import SHAPES
from gramme.router.validation.shapes import Shape

# A table is named or given by its ARN. What begins as an ARN does may be longer than a name.
TABLE_SHAPE: Final = "TableArn"
ARN_PREFIX: Final = "arn:"
ARN_LENGTH_MAX: Final = 1024
_NAME_PATTERN = "[a-zA-Z0-9_.-]+"

_SHAPES: Final[dict[str, Shape]] = {
    TABLE_SHAPE: {"type": "string", "min": 1, "max": 255, "pattern": _NAME_PATTERN},
    # The model leaves room for the longer keys of global indexes.
    "TableKeySchema": {"type": "list", "member": "KeySchemaElement", "min": 1, "max": 2},
    # Its values have words of their own, in `operations/table_class.py`.
    "TableClass": {"type": "string"},
    # Tags have rules and words of their own, in `operations/tags.py`.
    "Tag": {"type": "structure", "members": {"Key": "TagKeyString", "Value": "TagValueString"}},
    "TagKeyString": {"type": "string"},
    "TagValueString": {"type": "string"},
}

_MEMBERS: Final[dict[str, dict[str, str]]] = {
    "CreateTableInput": {"TableName": "TableName", "KeySchema": "TableKeySchema"},
    "LocalSecondaryIndex": {"KeySchema": "TableKeySchema"},
}

# The service shows a set in the order of its hash table; a shape that is not here is in the model's order.
_ENUMS: Final[dict[str, str]] = {
    "BillingMode": "PROVISIONED, PAY_PER_REQUEST",
    "ComparisonOperator": "IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, "
    "BEGINS_WITH, GE, CONTAINS",
    "ConditionalOperator": "OR, AND",
    "KeyType": "HASH, RANGE",
    "ProjectionType": "ALL, INCLUDE, KEYS_ONLY",
    "ReturnConsumedCapacity": "INDEXES, TOTAL, NONE",
    "ReturnItemCollectionMetrics": "SIZE, NONE",
    "ReturnValue": "ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW",
    "ScalarAttributeType": "B, N, S",
    "Select": "SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES",
}

# The members that are checked first, in this order; the others follow in the model's order.
_ORDERS: Final[dict[str, tuple[str, ...]]] = {
    "BatchGetItemInput": ("ReturnConsumedCapacity",),
    "BatchWriteItemInput": ("ReturnConsumedCapacity", "ReturnItemCollectionMetrics"),
    "DeleteItemInput": (
        "ReturnConsumedCapacity",
        "TableName",
        "ReturnValues",
        "ReturnItemCollectionMetrics",
        "Key",
    ),
    "GetItemInput": ("AttributesToGet", "ReturnConsumedCapacity", "Key", "TableName"),
    "ProvisionedThroughput": ("WriteCapacityUnits", "ReadCapacityUnits"),
    "PutItemInput": (
        "ReturnConsumedCapacity",
        "TableName",
        "Item",
        "ConditionalOperator",
        "Expected",
        "ReturnValues",
        "ReturnItemCollectionMetrics",
    ),
    "QueryInput": (
        "Select",
        "IndexName",
        "ReturnConsumedCapacity",
        "QueryFilter",
        "TableName",
        "ConditionalOperator",
        "AttributesToGet",
        "Limit",
    ),
    "ScanInput": (
        "Select",
        "IndexName",
        "TotalSegments",
        "ReturnConsumedCapacity",
        "TableName",
        "ConditionalOperator",
        "ScanFilter",
        "Segment",
        "Limit",
        "AttributesToGet",
    ),
    "UpdateItemInput": (
        "ReturnConsumedCapacity",
        "TableName",
        "ReturnItemCollectionMetrics",
        "ReturnValues",
        "Key",
    ),
    "WriteRequest": ("DeleteRequest", "PutRequest"),
}

# These say of a length or a range only where it is, and spell members as the request does.
TERSE: Final = frozenset({"BatchGetItem", "Query"})

_NAME_REQUIRED: Final = frozenset(
    {
        "CreateTable",
        "DeleteTable",
        "DescribeTable",
        "DescribeTimeToLive",
        "UpdateTable",
        "UpdateTimeToLive",
    }
)
_ITEMS_REQUIRED: Final = frozenset({"BatchGetItem", "BatchWriteItem"})


def shape_of(name: str) -> Shape:
    return _SHAPES.get(name) or SHAPES[name]


def members_of(name: str) -> dict[str, str]:
    """A structure's members and their shapes, in the order in which they are checked."""
    members = shape_of(name)["members"] | _MEMBERS.get(name, {})
    first = _ORDERS.get(name, ())
    return {member: members[member] for member in first} | members


def enum_text(name: str) -> str:
    return _ENUMS.get(name) or ", ".join(shape_of(name)["enum"])


def check_first(operation: str, body: dict[str, Any]) -> None:
    """The checks that have words of their own, and are made before those of the model."""
    if operation in _NAME_REQUIRED and body.get("TableName") is None:
        raise ValidationError(
            "The parameter 'TableName' is required but was not present in the request"
        )
    if operation in _ITEMS_REQUIRED and body.get("RequestItems") == {}:
        raise ValidationError(f"The requestItems parameter is required for {operation}")
