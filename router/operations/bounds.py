"""From a key condition to the range of row keys it names."""

from __future__ import annotations

import msgspec

from gramme.codec.key import encode_component, encode_prefix, successor
from gramme.expressions.key_condition import KeyRange
from gramme.router.operations.target import Target, encode_values, partition_prefix


class Bounds(msgspec.Struct, frozen=True, gc=False):
    """Rows with `lower <= key < upper`. All their keys begin with `partition`: the token and the hash."""

    partition: bytes
    lower: bytes
    upper: bytes


def bounds_of(seed: bytes, target: Target, wanted: KeyRange) -> Bounds:
    partition = partition_prefix(seed, encode_values(target.hashes, wanted.hash))
    prefix = partition
    if wanted.equal:
        prefix += encode_values(target.ranges, wanted.equal)
    if wanted.operator is None:
        return Bounds(partition, prefix, successor(prefix))
    # The comparison is on the first range attribute that no equality fixes.
    type = target.ranges[len(wanted.equal)].type
    if wanted.operator == "begins_with":
        start = prefix + encode_prefix(type, wanted.operands[0])
        return Bounds(partition, start, successor(start))
    operands = [prefix + encode_component(type, operand) for operand in wanted.operands]
    lower, upper = _compare(wanted.operator, prefix, operands)
    return Bounds(partition, lower, upper)


def names_one_row(target: Target, wanted: KeyRange) -> bool:
    """Whether the condition fixes the table's whole key. Of an index it never does: rows may share its key."""
    return target.index is None and len(wanted.equal) == len(target.ranges)


def _compare(operator: str, prefix: bytes, operands: list[bytes]) -> tuple[bytes, bytes]:
    first = operands[0]
    # The keys of an index's rows go on after the compared component, so the rows greater
    # than a value begin after all the rows that the value's own bytes begin.
    match operator:
        case "<":
            return prefix, first
        case "<=":
            return prefix, successor(first)
        case ">":
            return successor(first), successor(prefix)
        case ">=":
            return first, successor(prefix)
        case "BETWEEN":
            return first, successor(operands[1])
        case _:
            raise AssertionError(f"no such operator in a key condition: {operator}")
