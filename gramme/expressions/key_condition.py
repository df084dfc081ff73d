"""A KeyConditionExpression, ready to use: which range of keys a Query reads.

It is parsed as any condition is. What it may not say is found in two steps: what needs no table
here in the constructor, kept as `fault` because DynamoDB looks at the request's other expressions
first; what needs the table's keys in `bind`.
"""

from __future__ import annotations

from typing import Literal, cast

import msgspec

from gramme.errors import ValidationError
from gramme.expressions import tree
from gramme.model.item import AttributeValue, Values
from gramme.model.table import KeyAttribute

RangeOperator = Literal["<", "<=", ">", ">=", "BETWEEN", "begins_with"]

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

NOT_SUPPORTED = "Query key condition not supported"
WRONG_TYPE = (
    "One or more parameter values were invalid: Condition parameter type does not match schema type"
)


class KeyRange(msgspec.Struct, frozen=True):
    """Keys whose hash parts are `hash`, whose first range parts are `equal`, and whose next one
    obeys the operator.

    All in schema order. `operator` is None where nothing more is asked.
    """

    hash: tuple[AttributeValue, ...]
    equal: tuple[AttributeValue, ...] = ()
    operator: RangeOperator | None = None
    operands: tuple[AttributeValue, ...] = ()


class KeyCondition:
    """`attributes` are the attributes it has conditions on.

    `fault` is why no table can take it, or None.
    """

    __slots__ = ("_conditions", "attributes", "fault", "tree")

    def __init__(self, test: tree.Test) -> None:
        self.tree = test
        self.attributes = tree.top_level(test)
        # Attribute -> operator and the placeholders of its operands.
        self._conditions: dict[str, tuple[str, tuple[str, ...]]] = {}
        self.fault = self._read(test)

    def _read(self, test: tree.Test) -> str | None:
        """Note the conditions that AND joins; return what is wrong with the first that is."""
        if isinstance(test, tree.And):
            for part in test.parts:
                fault = self._read(part)
                if fault is not None:
                    return fault
            return None
        if isinstance(test, tree.Or | tree.Not):
            name = "OR" if isinstance(test, tree.Or) else "NOT"
            return f"Invalid operator used in KeyConditionExpression: {name}"
        return _operator_fault(test) or _operand_fault(test) or self._note(test)

    def _note(self, test: tree.Leaf) -> str | None:
        operator, operands = tree.operator(test), tree.operands(test)
        if isinstance(operands[0], tree.Value):
            operator, operands = _MIRRORED[operator], operands[::-1]
        path, *rest = operands
        if not isinstance(path, tree.Path):
            return "Invalid condition in KeyConditionExpression: No key attribute specified"
        attribute = str(path.parts[0])
        if attribute in self._conditions:
            return "KeyConditionExpressions must only contain one condition per key"
        placeholders = tuple(each.name for each in rest if isinstance(each, tree.Value))
        self._conditions[attribute] = (operator, placeholders)
        return None

    def bind(
        self,
        values: Values,
        hash_keys: tuple[KeyAttribute, ...],
        range_keys: tuple[KeyAttribute, ...],
        index: str | None = None,
    ) -> KeyRange:
        """Return the keys it describes in a table, or the index of this name, with these keys."""
        if len(self._conditions) > len(hash_keys) + len(range_keys):
            self._refuse_surplus(hash_keys, range_keys)
        hash_values = []
        for key in hash_keys:
            if key.name not in self._conditions:
                raise ValidationError(f"Query condition missed key schema element: {key.name}")
            operator, operands = self._operands(key, values, index)
            if operator != "=":
                raise ValidationError(NOT_SUPPORTED)
            hash_values.append(operands[0])
        if len(self._conditions) == len(hash_values):
            return KeyRange(tuple(hash_values))
        return self._bind_range(values, tuple(hash_values), range_keys, index)

    def _bind_range(
        self,
        values: Values,
        hash_values: tuple[AttributeValue, ...],
        range_keys: tuple[KeyAttribute, ...],
        index: str | None,
    ) -> KeyRange:
        equal: list[AttributeValue] = []
        waiting = len(self._conditions) - len(hash_values)
        for key in range_keys:
            if not waiting:
                break
            if key.name not in self._conditions:
                raise ValidationError(f"Query condition missed key schema element: {key.name}")
            waiting -= 1
            operator, operands = self._operands(key, values, index)
            if operator != "=":
                if waiting:
                    raise ValidationError(NOT_SUPPORTED)
                named = cast(RangeOperator, operator)
                return KeyRange(hash_values, tuple(equal), named, operands)
            equal.append(operands[0])
        return KeyRange(hash_values, tuple(equal))

    def _operands(
        self, key: KeyAttribute, values: Values, index: str | None
    ) -> tuple[str, tuple[AttributeValue, ...]]:
        operator, placeholders = self._conditions[key.name]
        operands = tuple([values[placeholder] for placeholder in placeholders])
        for operand in operands:
            if key.type not in operand:
                raise ValidationError(WRONG_TYPE)
            if not operand[key.type]:
                raise _empty(key, index)
        return operator, operands

    def _refuse_surplus(
        self, hash_keys: tuple[KeyAttribute, ...], range_keys: tuple[KeyAttribute, ...]
    ) -> None:
        if len(hash_keys) == 1 and len(range_keys) == 1:
            raise ValidationError("Conditions can be of length 1 or 2 only")
        raise ValidationError(NOT_SUPPORTED)


def _operator_fault(test: tree.Leaf) -> str | None:
    operator = tree.operator(test)
    is_other_function = isinstance(test, tree.Call) and operator != "begins_with"
    if is_other_function or operator in ("<>", "IN"):
        return f"Invalid operator used in KeyConditionExpression: {operator}"
    takes_key_first = operator in ("BETWEEN", "begins_with")
    if takes_key_first and not isinstance(tree.operands(test)[0], tree.Path):
        return (
            f"Invalid condition in KeyConditionExpression: {operator} operator must have the key "
            "attribute as its first operand"
        )
    return None


def _operand_fault(test: tree.Leaf) -> str | None:
    has_path = False
    for operand in tree.operands(test):
        if isinstance(operand, tree.Call):
            return "KeyConditionExpressions cannot contain nested operations"
        if isinstance(operand, tree.Path):
            if has_path:
                return (
                    "Invalid condition in KeyConditionExpression: Multiple attribute names used "
                    "in one condition"
                )
            if len(operand.parts) > 1:
                return "KeyConditionExpressions cannot have conditions on nested attributes"
            has_path = True
    return None


def _empty(key: KeyAttribute, index: str | None) -> ValidationError:
    kind = "string" if key.type == "S" else "binary"
    empty = f"The AttributeValue for a key attribute cannot contain an empty {kind} value."
    if index is None:
        fault = f"{empty} Key: {key.name}"
    else:
        fault = (
            "A value specified for a secondary index key is not supported. "
            f"{empty} IndexName: {index}, IndexKey: {key.name}"
        )
    return ValidationError(f"One or more parameter values are not valid. {fault}")
