"""Conditions that are refused, and in which words. No item is read for it, and no table looked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.placeholders import placeholders
from tests.conformance.tables import invalid, unique_name

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

KINDS = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}"


def operand(operator: str, type: str) -> str:
    return (
        "Incorrect operand type for operator or function; operator or function: "
        f"{operator}, operand type: {type}"
    )


def misuse(function: str) -> str:
    return f"The function is not allowed to be used this way in an expression; function: {function}"


def syntax(token: str, near: str) -> str:
    return f'Syntax error; token: "{token}", near: "{near}"'


REDUNDANT = "The expression has redundant parentheses;"

REFUSED = [
    # A wrong type in a value is a mistake, which no item is read for.
    ("n < :true", operand("<", "BOOL")),
    ("n >= :ba_set", operand(">=", "SS")),
    (":null > n", operand(">", "NULL")),
    ("n BETWEEN :l AND :n", operand("BETWEEN", "L")),
    ("begins_with(s, :n)", operand("begins_with", "N")),
    ("begins_with(:ba_set, s)", operand("begins_with", "SS")),
    ("size(:n) = :n", operand("size", "N")),
    ("size(:true) = :n", operand("size", "BOOL")),
    ("size(size(s)) = :n", operand("size", "N")),
    ("contains(:n, :s)", operand("contains", "N")),
    ("begins_with(s, size(s))", operand("begins_with", "N")),
    # The type's name is a value, and one of those there are.
    ("attribute_type(s, n)", operand("attribute_type", KINDS)),
    ("attribute_type(s, :n)", operand("attribute_type", "N")),
    (
        "attribute_type(s, :type_x)",
        f"Invalid attribute type name found; type: X, valid types: {KINDS}",
    ),
    # Some functions want a path.
    (
        "attribute_exists(:s)",
        "Operator or function requires a document path; operator or function: attribute_exists",
    ),
    (
        "attribute_not_exists(size(s))",
        (
            "Operator or function requires a document path; "
            "operator or function: attribute_not_exists"
        ),
    ),
    # Bounds that are both known.
    (
        "n BETWEEN :eleven AND :nine",
        (
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
            "lower bound operand: AttributeValue: {N:11}, "
            "upper bound operand: AttributeValue: {N:9}"
        ),
    ),
    (
        "n BETWEEN :nine AND :s",
        (
            "The BETWEEN operator requires same data type for lower and upper bounds; "
            "lower bound operand: AttributeValue: {N:9}, "
            "upper bound operand: AttributeValue: {S:banana}"
        ),
    ),
    # A truth is not compared, and what is compared is no truth.
    ("size(s)", misuse("size")),
    ("NOT size(s)", misuse("size")),
    ("attribute_exists(s) = :true", misuse("attribute_exists")),
    ("n = contains(s, :s)", misuse("contains")),
    ("n BETWEEN contains(s, :s) AND :n", misuse("contains")),
    ("size(contains(s, :s)) = :n", misuse("contains")),
    (":s", syntax("<EOF>", ":s")),
    ("s", syntax("<EOF>", "s")),
    ("s AND n = :n", syntax("AND", "s AND n")),
    ("(s = :s) = :n", syntax("=", ") = :n")),
    ("s = :s = :n", syntax("=", ":s = :n")),
    # Function names have one case, and the right number of arguments.
    ("SIZE(s) = :n", "Invalid function name; function: SIZE"),
    ("Attribute_Exists(s)", "Invalid function name; function: Attribute_Exists"),
    ("nothing(s)", "Invalid function name; function: nothing"),
    (
        "if_not_exists(s, :s)",
        "The function is not allowed in a condition expression; function: if_not_exists",
    ),
    (
        "attribute_exists(s, n)",
        (
            "Incorrect number of operands for operator or function; "
            "operator or function: attribute_exists, number of operands: 2"
        ),
    ),
    (
        "begins_with(s)",
        (
            "Incorrect number of operands for operator or function; "
            "operator or function: begins_with, number of operands: 1"
        ),
    ),
    ("attribute_exists()", syntax(")", "()")),
    # One thing is not compared with itself.
    (
        "s = s",
        (
            "The first operand must be distinct from the remaining operands for this operator or "
            "function; operator: =, first operand: [s]"
        ),
    ),
    (
        "contains(l[0], l[0])",
        (
            "The first operand must be distinct from the remaining operands for this operator or "
            "function; operator: contains, first operand: [l, [0]]"
        ),
    ),
    # Parentheses around parentheses.
    ("((s = :s))", REDUNDANT),
    ("(((s = :s) AND n = :n))", REDUNDANT),
    ("((s)) = :s", REDUNDANT),
    # Placeholders.
    (
        "#missing = :s",
        (
            "An expression attribute name used in the document path is not defined; "
            "attribute name: #missing"
        ),
    ),
    (
        "s = :missing",
        (
            "An expression attribute value used in expression is not defined; "
            "attribute value: :missing"
        ),
    ),
    # Names.
    ("size = :s", "Attribute name is a reserved keyword; reserved keyword: size"),
    ("m.Name = :s", "Attribute name is a reserved keyword; reserved keyword: Name"),
    ("_s = :s", syntax("_", "_s")),
    ("1s = :s", syntax("1", "1s")),
    ("l[:n] = :n", syntax(":n", "[:n]")),
    ("l[-1] = :n", syntax("-", "[-1")),
    ("n + :n = :n", syntax("+", "n + :n")),
    ("", "The expression can not be empty;"),
    ("  ", "The expression can not be empty;"),
]


@pytest.mark.parametrize(("expression", "message"), REFUSED)
def test_condition_is_refused_before_the_table_is_looked_for(
    dynamodb: DynamoDBClient, expression: str, message: str
) -> None:
    refused = invalid(
        dynamodb.delete_item,
        TableName=unique_name("missing"),
        Key={"pk": {"S": "a"}},
        ConditionExpression=expression,
        **placeholders(expression),
    )

    assert refused == f"Invalid ConditionExpression: {message}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"ExpressionAttributeNames": {"#n": "n", "#m": "m"}},
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#m}",
        ),
        ({"ExpressionAttributeNames": {}}, "ExpressionAttributeNames must not be empty"),
        ({"ExpressionAttributeValues": {}}, "ExpressionAttributeValues must not be empty"),
        (
            {"ExpressionAttributeNames": {"n": "n"}},
            'ExpressionAttributeNames contains invalid key: Syntax error; key: "n"',
        ),
        (
            {"ExpressionAttributeNames": {"#a-b": "n"}},
            'ExpressionAttributeNames contains invalid key: Syntax error; key: "#a-b"',
        ),
        (
            {"ExpressionAttributeValues": {"v": {"N": "1"}}},
            'ExpressionAttributeValues contains invalid key: Syntax error; key: "v"',
        ),
        (
            {"ExpressionAttributeValues": {":v": {"N": "x"}}},
            (
                "ExpressionAttributeValues contains invalid value: "
                "The parameter cannot be converted to a numeric value: x for key :v"
            ),
        ),
        (
            {"ExpressionAttributeValues": {":v": {"SS": []}}},
            (
                "ExpressionAttributeValues contains invalid value: One or more parameter values "
                "were invalid: An string set  may not be empty for key :v"
            ),
        ),
        (
            {"ExpressionAttributeNames": {"#n": ""}},
            ("ExpressionAttributeNames contains invalid value: Empty attribute name for key #n"),
        ),
    ],
)
def test_placeholders_are_refused(
    dynamodb: DynamoDBClient, changes: dict[str, Any], message: str
) -> None:
    parameters = {
        "TableName": unique_name("missing"),
        "Key": {"pk": {"S": "a"}},
        "ConditionExpression": "#n = :v",
        "ExpressionAttributeNames": {"#n": "n"},
        "ExpressionAttributeValues": {":v": {"N": "1"}},
    } | changes

    assert invalid(dynamodb.delete_item, **parameters) == message
