"""The language of UpdateExpression: where it writes, what it reads, and what it refuses.

`test_update_item.py` has the everyday cases; here are the corners.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.tables import Item, invalid, unique_name

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

BEFORE: Item = {
    "n": {"N": "5"},
    "s": {"S": "old"},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1"]},
    "l": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}]},
    "m": {"M": {"x": {"N": "1"}, "l": {"L": [{"S": "p"}]}}},
}
VALUES: Item = {
    ":zero": {"N": "0"},
    ":one": {"N": "1"},
    ":two": {"N": "2"},
    ":big": {"N": "9.9999999999999999999999999999999999999E+125"},
    ":tiny": {"N": "1E-130"},
    ":s": {"S": "new"},
    ":a": {"SS": ["a"]},
    ":ab": {"SS": ["a", "b"]},
    ":c": {"SS": ["c"]},
    ":ns": {"NS": ["1.0", "2"]},
    ":l": {"L": [{"S": "z"}]},
    ":m": {"M": {"y": {"N": "2"}}},
    ":true": {"BOOL": True},
    ":null": {"NULL": True},
}
BAD_PATH = "The document path provided in the update expression is invalid for update"
MISSING = "The provided expression refers to an attribute that does not exist in the item"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"
OVERFLOW = (
    "Number overflow. Attempting to store a number with magnitude larger than supported range"
)


def placeholders(expression: str) -> Item:
    words = expression
    for symbol in "(),=+-":
        words = words.replace(symbol, " ")
    used = {word: VALUES[word] for word in words.split() if word in VALUES}
    return {"ExpressionAttributeValues": used} if used else {}


def update(
    dynamodb: DynamoDBClient, table: str, pk: str, expression: str, **changes: Any
) -> Item | None:
    """The Attributes of the answer."""
    answer: Item = dict(
        dynamodb.update_item(
            TableName=table,
            Key={"pk": {"S": pk}},
            UpdateExpression=expression,
            **placeholders(expression),
            **changes,
        )
    )
    return answer.get("Attributes")


def get(dynamodb: DynamoDBClient, table: str, pk: str) -> Item | None:
    item: Item | None = dynamodb.get_item(
        TableName=table, Key={"pk": {"S": pk}}, ConsistentRead=True
    ).get("Item")
    return item


def put_before(dynamodb: DynamoDBClient, table: str, pk: str) -> None:
    dynamodb.put_item(TableName=table, Item={"pk": {"S": pk}} | BEFORE)


def ordered(item: Item | None) -> Item | None:
    """Sets in the order of their members."""
    if item is None:
        return None
    return {
        name: {tag: sorted(payload) if tag in ("SS", "NS") else payload}
        for name, value in item.items()
        for tag, payload in value.items()
    }


def numbers(*members: int) -> Item:
    return {"L": [{"N": str(member)} for member in members]}


@pytest.mark.parametrize(
    ("expression", "changed"),
    [
        # Past the end of a list is its end, and several are appended in the order of their indexes.
        ("SET l[3] = :one", {"l": numbers(0, 1, 2, 1)}),
        ("SET l[9] = :one, l[7] = :two", {"l": numbers(0, 1, 2, 2, 1)}),
        ("SET l[2147483647] = :one", {"l": numbers(0, 1, 2, 1)}),
        ("REMOVE l[9]", {}),
        ("REMOVE m.l[9]", {}),
        # Every index is one of the list as it was, in whatever order the clauses come.
        ("REMOVE l[0], l[1]", {"l": numbers(2)}),
        ("REMOVE l[0] SET l[2] = :zero", {"l": numbers(1, 0)}),
        ("SET l[2] = :zero REMOVE l[0]", {"l": numbers(1, 0)}),
        ("REMOVE l[1] SET l[8] = :two", {"l": numbers(0, 2, 2)}),
        ("SET l[0] = l[2], l[2] = l[0]", {"l": numbers(2, 1, 0)}),
        # What stands on the right is as it was before the update.
        ("SET n = :one, s = n", {"n": {"N": "1"}, "s": {"N": "5"}}),
        ("ADD n :one SET s = n", {"n": {"N": "6"}, "s": {"N": "5"}}),
        ("REMOVE n SET s = n", {"n": None, "s": {"N": "5"}}),
        ("SET fresh = :one, s = if_not_exists(fresh, :two)", {"fresh": {"N": "1"}, "s": {"N": "2"}}),
        # Emptied sets go, emptied lists and maps stay.
        ("DELETE ss :ab", {"ss": None}),
        ("DELETE ss :c", {}),
        ("DELETE gone :a", {}),
        ("REMOVE l[0], l[1], l[2]", {"l": numbers()}),
        ("REMOVE m.x, m.l", {"m": {"M": {}}}),
        # ADD begins at nothing; a set of numbers is one by value.
        ("ADD gone :two", {"gone": {"N": "2"}}),
        ("ADD gone :ab", {"gone": {"SS": ["a", "b"]}}),
        ("ADD ns :ns", {"ns": {"NS": ["1", "2"]}}),
        ("ADD m.x :one", {"m": {"M": {"x": {"N": "2"}, "l": BEFORE["m"]["M"]["l"]}}}),
        # Functions in functions and in sums.
        ("SET n = if_not_exists(gone, :zero) + :one", {"n": {"N": "1"}}),
        ("SET n = if_not_exists(n, :zero) - :one", {"n": {"N": "4"}}),
        ("SET l = list_append(if_not_exists(gone, :l), :l)", {"l": {"L": [{"S": "z"}, {"S": "z"}]}}),
        ("SET gone = if_not_exists(gone, if_not_exists(lost, n))", {"gone": {"N": "5"}}),
        ("SET n = (n + :one)", {"n": {"N": "6"}}),
        ("SET n = :one - n", {"n": {"N": "-4"}}),
        ("set n = :one remove s", {"n": {"N": "1"}, "s": None}),
        # A missing leaf is nothing to remove.
        ("REMOVE m.gone, gone", {}),
    ],
)  # fmt: skip
def test_update_makes_the_item(
    dynamodb: DynamoDBClient, table: str, pk: str, expression: str, changed: Item
) -> None:
    put_before(dynamodb, table, pk)

    update(dynamodb, table, pk, expression)

    after = {"pk": {"S": pk}} | BEFORE | changed
    expected = {name: value for name, value in after.items() if value is not None}
    assert ordered(get(dynamodb, table, pk)) == ordered(expected)


@pytest.mark.parametrize(
    ("expression", "item"),
    [
        ("SET a = :one", {"a": {"N": "1"}}),
        ("ADD a :c", {"a": {"SS": ["c"]}}),
        ("SET a = if_not_exists(a, :zero) + :one REMOVE b", {"a": {"N": "1"}}),
        ("REMOVE a", None),
        ("REMOVE a.b", None),
        ("REMOVE a[0]", None),
        ("DELETE a :c", None),
        ("REMOVE a DELETE b :c", None),
    ],
)
def test_only_what_sets_or_adds_makes_an_item(
    dynamodb: DynamoDBClient, table: str, pk: str, expression: str, item: Item | None
) -> None:
    update(dynamodb, table, pk, expression)

    assert get(dynamodb, table, pk) == (None if item is None else {"pk": {"S": pk}} | item)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("SET gone.x = :one", BAD_PATH),
        ("SET gone[0] = :one", BAD_PATH),
        ("SET m.gone.x = :one", BAD_PATH),
        ("SET s.x = :one", BAD_PATH),
        ("SET m[0] = :one", BAD_PATH),
        ("SET l.x = :one", BAD_PATH),
        ("SET l[3].x = :one", BAD_PATH),
        ("REMOVE gone.x", BAD_PATH),
        ("REMOVE s.x", BAD_PATH),
        ("REMOVE l.x", BAD_PATH),
        ("REMOVE m[0]", BAD_PATH),
        ("REMOVE m.gone.x", BAD_PATH),
        ("ADD gone.x :one", BAD_PATH),
        ("DELETE gone.x :a", BAD_PATH),
        ("SET n = gone", MISSING),
        ("SET n = gone + :one", MISSING),
        ("SET n = n + m.gone", MISSING),
        ("SET n = l[3]", MISSING),
        ("SET l = list_append(gone, :l)", MISSING),
        ("SET n = if_not_exists(gone, lost)", MISSING),
        ("SET n = s + :one", WRONG_TYPE),
        ("SET n = n - ss", WRONG_TYPE),
        ("SET l = list_append(l, n)", WRONG_TYPE),
        ("ADD s :one", WRONG_TYPE),
        ("ADD n :a", WRONG_TYPE),
        ("ADD ss :ns", WRONG_TYPE),
        ("DELETE n :a", WRONG_TYPE),
        ("DELETE ss :ns", WRONG_TYPE),
        ("SET n = :big + :big", OVERFLOW),
        ("SET n = n + :tiny", OVERFLOW),
        ("ADD n :tiny", OVERFLOW),
        ("SET n = n - :tiny", OVERFLOW),
    ],
)
def test_update_that_does_not_fit_the_item_changes_nothing(
    dynamodb: DynamoDBClient, table: str, pk: str, expression: str, message: str
) -> None:
    put_before(dynamodb, table, pk)

    refused = invalid(update, dynamodb=dynamodb, table=table, pk=pk, expression=expression)

    assert refused == message
    assert ordered(get(dynamodb, table, pk)) == ordered({"pk": {"S": pk}} | BEFORE)


@pytest.mark.parametrize(
    ("expression", "old", "new"),
    [
        ("SET n = :one", {"n": {"N": "5"}}, {"n": {"N": "1"}}),
        ("SET m.x = :two", {"m": {"M": {"x": {"N": "1"}}}}, {"m": {"M": {"x": {"N": "2"}}}}),
        ("SET l[1] = :two", {"l": numbers(1)}, {"l": numbers(2)}),
        ("SET m.l[0] = :two", {"m": {"M": {"l": {"L": [{"S": "p"}]}}}}, {"m": {"M": {"l": numbers(2)}}}),
        # Nothing is at an index past the end, neither before nor after.
        ("SET l[9] = :two", None, None),
        # What moved up to the place of an element that is gone is there now.
        ("REMOVE l[1]", {"l": numbers(1)}, {"l": numbers(2)}),
        ("REMOVE l[2]", {"l": numbers(2)}, None),
        ("SET fresh = :one", None, {"fresh": {"N": "1"}}),
        ("SET fresh = :one, n = :one", {"n": {"N": "5"}}, {"fresh": {"N": "1"}, "n": {"N": "1"}}),
        ("REMOVE s", {"s": {"S": "old"}}, None),
        ("REMOVE gone", None, None),
        ("DELETE ss :ab", {"ss": {"SS": ["a", "b"]}}, None),
        ("DELETE ss :a", {"ss": {"SS": ["a", "b"]}}, {"ss": {"SS": ["b"]}}),
        ("ADD n :one", {"n": {"N": "5"}}, {"n": {"N": "6"}}),
    ],
)  # fmt: skip
def test_updated_values_are_those_of_the_touched_paths(
    dynamodb: DynamoDBClient,
    table: str,
    pk: str,
    expression: str,
    old: Item | None,
    new: Item | None,
) -> None:
    put_before(dynamodb, table, pk)
    was = update(dynamodb, table, pk, expression, ReturnValues="UPDATED_OLD")
    put_before(dynamodb, table, pk)
    now = update(dynamodb, table, pk, expression, ReturnValues="UPDATED_NEW")

    assert ordered(was) == ordered(old)
    assert ordered(now) == ordered(new)


@pytest.mark.parametrize("wanted", ["UPDATED_OLD", "UPDATED_NEW", "ALL_OLD"])
def test_nothing_is_returned_of_an_item_that_was_and_is_not(
    dynamodb: DynamoDBClient, table: str, pk: str, wanted: str
) -> None:
    assert update(dynamodb, table, pk, "REMOVE s", ReturnValues=wanted) is None
    assert get(dynamodb, table, pk) is None


def test_new_item_is_returned_with_its_key_only_as_a_whole(
    dynamodb: DynamoDBClient, table: str, pk: str
) -> None:
    touched = update(dynamodb, table, pk, "SET n = :one", ReturnValues="UPDATED_NEW")
    whole = update(dynamodb, table, pk, "SET n = :two", ReturnValues="ALL_NEW")

    assert touched == {"n": {"N": "1"}}
    assert whole == {"pk": {"S": pk}, "n": {"N": "2"}}


def overlap(one: str, two: str) -> str:
    return (
        "Two document paths overlap with each other; must remove or rewrite one of these paths; "
        f"path one: {one}, path two: {two}"
    )


def conflict(one: str, two: str) -> str:
    return overlap(one, two).replace("overlap", "conflict")


def operand(operator: str, type: str) -> str:
    return f"Incorrect operand type for operator or function; operator: {operator}, operand type: {type}"


def argument(function: str, type: str) -> str:
    return (
        "Incorrect operand type for operator or function; operator or function: "
        f"{function}, operand type: {type}"
    )


def misuse(function: str) -> str:
    return f"The function is not allowed to be used this way in an expression; function: {function}"


def syntax(token: str, near: str) -> str:
    return f'Syntax error; token: "{token}", near: "{near}"'


def twice(section: str) -> str:
    return f'The "{section}" section can only be used once in an update expression;'


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        # Paths that lead through one another, whatever they are called.
        ("SET a = :one, a = :two", overlap("[a]", "[a]")),
        ("SET a = :one REMOVE a", overlap("[a]", "[a]")),
        ("SET a = :one, a.b = :two", overlap("[a]", "[a, b]")),
        ("SET a.b = :one, a = :two", overlap("[a, b]", "[a]")),
        ("REMOVE a[1], a[1].b", overlap("[a, [1]]", "[a, [1], b]")),
        # One thing cannot be both a map and a list.
        ("SET a.b = :one, a[1] = :two", conflict("[a, b]", "[a, [1]]")),
        # One sum of two.
        ("SET a = n + :one + :two", syntax("+", ":one + :two")),
        ("SET a = n + (n + :one)", syntax("(", "+ (n")),
        ("SET a = n * :one", syntax("*", "n * :one")),
        ("SET a = -:one", syntax("-", "= -:one")),
        ("SET a = ((:one))", "The expression has redundant parentheses;"),
        # Each clause once, each with what belongs to it.
        ("SET a = :one SET b = :one", twice("SET")),
        ("ADD a :one SET c = :one ADD b :one", twice("ADD")),
        ("REMOVE a REMOVE b", twice("REMOVE")),
        ("SET a", syntax("<EOF>", "a")),
        ("SET a = :one,", syntax("<EOF>", ",")),
        ("ADD a b", syntax("b", "a b")),
        ("REMOVE a = :one", syntax("=", "a = :one")),
        ("FROB a", syntax("FROB", "FROB a")),
        ("a = :one", syntax("a", "a =")),
        # An index is a number that stands there.
        ("SET a[:one] = :one", syntax(":one", "[:one]")),
        ("SET a[b] = :one", syntax("b", "[b]")),
        ("SET a[1.5] = :one", syntax(".", "1.5")),
        # Functions.
        ("SET a = if_not_exists(:one, :two)", "Operator or function requires a document path; operator or function: if_not_exists"),
        ("SET a = list_append(:l, list_append(l, :l))", misuse("list_append")),
        ("SET a = if_not_exists(a, list_append(l, :l))", misuse("list_append")),
        ("SET a = list_append(l, n + :one)", syntax("+", "n + :one")),
        ("SET a = list_append(l)", "Incorrect number of operands for operator or function; operator or function: list_append, number of operands: 1"),
        ("SET a = size(l)", "The function is not allowed in an update expression; function: size"),
        ("SET a = IF_NOT_EXISTS(l, :l)", "Invalid function name; function: IF_NOT_EXISTS"),
        ("SET a = list_append(l, :s)", argument("list_append", "S")),
        ("SET a = n + :s", argument("+", "S")),
        ("SET a = n - :l", argument("-", "L")),
        ("SET a = list_append(l, :l) + :one", argument("+", "L")),
        # ADD takes numbers and sets, DELETE sets.
        ("ADD a :s", operand("ADD", "STRING")),
        ("ADD a :l", operand("ADD", "LIST")),
        ("ADD a :m", operand("ADD", "MAP")),
        ("ADD a :true", operand("ADD", "BOOLEAN")),
        ("ADD a :null", operand("ADD", "NULL")),
        ("DELETE a :one", operand("DELETE", "NUMBER")),
        ("DELETE a :l", operand("DELETE", "LIST")),
        # Names.
        ("SET name = :one", "Attribute name is a reserved keyword; reserved keyword: name"),
        ("REMOVE a.b.Size", "Attribute name is a reserved keyword; reserved keyword: Size"),
        ("SET #a = :one", "An expression attribute name used in the document path is not defined; attribute name: #a"),
        ("ADD a :b", "An expression attribute value used in expression is not defined; attribute value: :b"),
    ],
)  # fmt: skip
def test_update_is_refused_before_the_table_is_looked_for(
    dynamodb: DynamoDBClient, expression: str, message: str
) -> None:
    refused = invalid(
        update,
        dynamodb=dynamodb,
        table=unique_name("missing"),
        pk="a",
        expression=expression,
    )

    assert refused == f"Invalid UpdateExpression: {message}"


def test_names_that_stand_for_one_attribute_overlap(dynamodb: DynamoDBClient) -> None:
    message = invalid(
        dynamodb.update_item,
        TableName=unique_name("missing"),
        Key={"pk": {"S": "a"}},
        UpdateExpression="REMOVE #a, #b.c",
        ExpressionAttributeNames={"#a": "x", "#b": "x"},
    )

    assert message == f"Invalid UpdateExpression: {overlap('[x]', '[x, c]')}"


@pytest.mark.parametrize(
    "expression", ["SET pk = :pk", "REMOVE pk", "ADD pk :one", "SET pk.a = :pk"]
)
def test_key_is_not_touched_even_by_its_own_value(
    dynamodb: DynamoDBClient, table: str, pk: str, expression: str
) -> None:
    values: Item = {":pk": {"S": pk}, ":one": {"N": "1"}}
    used = {name: value for name, value in values.items() if name in expression}

    message = invalid(
        dynamodb.update_item,
        TableName=table,
        Key={"pk": {"S": pk}},
        UpdateExpression=expression,
        **({"ExpressionAttributeValues": used} if used else {}),
    )

    assert message == (
        "One or more parameter values were invalid: "
        "Cannot update attribute pk. This attribute is part of the key"
    )
