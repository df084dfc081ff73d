"""Random conditions against an evaluator that shares nothing with the compiled one but the
grammar's meaning.

Here a condition is made as data, evaluated the slow and obvious way over Python values, and also
written out as text for the real parser.
"""

from __future__ import annotations

from base64 import b64encode
from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gramme.expressions.placeholders import Placeholders
from gramme.model.item import AttributeValue, Values
from tests.support.examples import examples

# A value as Python sees it: a type's name and content that compares as DynamoDB's does.
Plain = tuple[str, Any]
MISSING: Plain = ("missing", None)

ATTRIBUTES = ["a", "b", "c"]

SCALARS = st.one_of(
    st.tuples(
        st.just("N"), st.sampled_from([Decimal(-2), Decimal("0.5"), Decimal(1), Decimal(10)])
    ),
    st.tuples(st.just("S"), st.sampled_from(["", "a", "ab", "b", "é", "\U00010000"])),
    st.tuples(st.just("B"), st.sampled_from([b"", b"a", b"ab", b"\xff"])),
    st.tuples(st.just("BOOL"), st.booleans()),
)
SETS = st.tuples(st.just("SS"), st.frozensets(st.sampled_from(["a", "ab", "b"]), min_size=1))
LISTS = st.tuples(st.just("L"), st.lists(st.one_of(SCALARS, SETS), max_size=2).map(tuple))
PLAIN = st.one_of(SCALARS, SETS, LISTS)
ITEMS = st.dictionaries(st.sampled_from(ATTRIBUTES), PLAIN)

ORDER = {
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}

# An operand is ("attribute", name), ("value", plain) or ("size", name).
ATTRIBUTE = st.tuples(st.just("attribute"), st.sampled_from(ATTRIBUTES))
VALUE = st.tuples(st.just("value"), PLAIN)
SIZE = st.tuples(st.just("size"), st.sampled_from(ATTRIBUTES))
OPERAND = st.one_of(ATTRIBUTE, VALUE, SIZE)
ORDERED = st.one_of(
    ATTRIBUTE, st.tuples(st.just("value"), SCALARS.filter(lambda v: v[0] != "BOOL")), SIZE
)

LEAVES = st.one_of(
    st.tuples(st.sampled_from(["=", "<>"]), OPERAND, OPERAND),
    st.tuples(st.sampled_from(sorted(ORDER)), ORDERED, ORDERED),
    st.tuples(st.just("IN"), OPERAND, OPERAND, OPERAND),
    st.tuples(st.just("BETWEEN"), ORDERED, ORDERED, ATTRIBUTE),
    st.tuples(st.just("contains"), ATTRIBUTE, OPERAND),
    st.tuples(st.just("attribute_exists"), ATTRIBUTE),
    st.tuples(st.just("attribute_not_exists"), ATTRIBUTE),
).filter(lambda leaf: leaf[1] not in leaf[2:] or leaf[1][0] == "value")
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.just("NOT"), inner),
        st.tuples(st.sampled_from(["AND", "OR"]), inner, inner),
    ),
    max_leaves=6,
)


def encoded(plain: Plain) -> AttributeValue:
    kind, content = plain
    match kind:
        case "N":
            return {"N": format(content, "f")}
        case "B":
            return {"B": b64encode(content).decode()}
        case "SS":
            return {"SS": sorted(content, reverse=len(content) % 2 == 0)}
        case "L":
            return {"L": [encoded(member) for member in content]}
        case _:
            return {kind: content}


def look(operand: Any, item: dict[str, Plain]) -> Plain:
    kind, what = operand
    if kind == "value":
        value: Plain = what
        return value
    found = item.get(what, MISSING)
    if kind == "attribute":
        return found
    if found[0] in ("N", "BOOL", "missing"):
        return MISSING
    length = len(found[1])
    if found[0] == "S":
        length = sum(2 if ord(character) > 0xFFFF else 1 for character in found[1])
    return ("N", Decimal(length))


def key(plain: Plain) -> Any:
    return plain[1].encode() if plain[0] == "S" else plain[1]


def ordered(operator: str, left: Plain, right: Plain) -> bool:
    if left[0] != right[0] or left[0] not in ("N", "S", "B"):
        return False
    return bool(ORDER[operator](key(left), key(right)))


def contained(container: Plain, wanted: Plain) -> bool:
    kind, content = container
    if kind in ("S", "B"):
        return wanted[0] == kind and wanted[1] in content
    if kind == "SS":
        return wanted[0] == "S" and wanted[1] in content
    return kind == "L" and wanted in content


def evaluate(condition: Any, item: dict[str, Plain]) -> bool:
    operator, *rest = condition
    if operator == "NOT":
        return not evaluate(rest[0], item)
    if operator == "AND":
        return all(evaluate(part, item) for part in rest)
    if operator == "OR":
        return any(evaluate(part, item) for part in rest)
    first, *others = [look(operand, item) for operand in rest]
    if operator == "attribute_exists":
        return first != MISSING
    if operator == "attribute_not_exists":
        return first == MISSING
    if operator == "contains":
        return MISSING not in (first, others[0]) and contained(first, others[0])
    if operator == "BETWEEN":
        return ordered(">=", first, others[0]) and ordered("<=", first, others[1])
    if operator in ORDER:
        return ordered(operator, first, others[0])
    among = first != MISSING and first in others
    return not among if operator == "<>" else among


def written(condition: Any, values: Values) -> str:
    """The condition as text, with its values put aside."""
    operator, *rest = condition
    if operator == "NOT":
        return f"NOT ({written(rest[0], values)})"
    if operator in ("AND", "OR"):
        return f" {operator} ".join(f"({written(part, values)})" for part in rest)
    operands = []
    for kind, what in rest:
        if kind == "value":
            name = f":v{len(values)}"
            values[name] = encoded(what)
            operands.append(name)
        else:
            operands.append(what if kind == "attribute" else f"size({what})")
    first, *others = operands
    if operator == "IN":
        return f"{first} IN ({', '.join(others)})"
    if operator == "BETWEEN":
        return f"{first} BETWEEN {others[0]} AND {others[1]}"
    if operator.isidentifier():
        return f"{operator}({', '.join(operands)})"
    return f"{first} {operator} {others[0]}"


@given(CONDITIONS, ITEMS)
@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_compiled_conditions_mean_what_they_say(condition: Any, item: dict[str, Plain]) -> None:
    values: Values = {}
    text = written(condition, values)
    placeholders = Placeholders(None, values or None)
    compiled = placeholders.condition(text)
    placeholders.finish()

    stored = {name: encoded(plain) for name, plain in item.items()}

    assert compiled.test(stored, values) is evaluate(condition, item), text
