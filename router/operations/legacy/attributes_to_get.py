"""AttributesToGet: which attributes to return, from before there was ProjectionExpression."""

from __future__ import annotations

from gramme.errors import ValidationError
from gramme.expressions import tree
from gramme.expressions.projection import Projection
from gramme.model.values import INVALID, NO_NAME
from gramme.router.operations.legacy.values import check_count, compile_projection


def attributes_to_get(names: list[str]) -> Projection:
    check_count("AttributesToGet", len(names))
    seen: set[str] = set()
    for name in names:
        if not name:
            raise ValidationError(NO_NAME)
        if name in seen:
            raise ValidationError(f"{INVALID}Duplicate value in attribute name: {name}")
        seen.add(name)
    # A dot or a bracket in one of these is a part of the name.
    return compile_projection(tree.Paths(tuple(tree.Path((name,)) for name in names)))
