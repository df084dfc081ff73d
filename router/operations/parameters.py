"""Which parameters of a request go together: expressions, their placeholders, and the older style.

DynamoDB refuses a request that mixes expressions with the parameters they replaced. The older parameters alone it
still takes; we do not yet, and say so rather than ignore them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gramme.errors import ValidationError

# A projection has names only, so values given for it alone are a mistake.
_WITHOUT_VALUES = "ProjectionExpression"


class Parameters:
    """The expressions an operation takes and the older parameters they stand for, each in DynamoDB's order."""

    __slots__ = ("_expressions", "_older", "_older_any", "_sufficient", "_values_need", "all")

    def __init__(self, expressions: tuple[str, ...], older: tuple[str, ...]) -> None:
        self._expressions = expressions
        self._older = older
        self._values_need = tuple(name for name in expressions if name != _WITHOUT_VALUES)
        # Any of these justifies both names and values, so that only older parameters could be wrong beside it.
        self._sufficient = self._values_need or expressions
        self._older_any = frozenset(older)
        # A request with none of these has nothing here to check.
        self.all = frozenset(
            (*expressions, *older, "ExpressionAttributeNames", "ExpressionAttributeValues")
        )

    def check(self, body: dict[str, Any]) -> None:
        if self._older_any.isdisjoint(body):
            for name in self._sufficient:
                if body.get(name) is not None:
                    return
        expressions = _present(body, self._expressions)
        older = _present(body, self._older)
        if expressions and older:
            raise ValidationError(
                "Can not use both expression and non-expression parameters in the same request: "
                f"Non-expression parameters: {{{', '.join(older)}}} "
                f"Expression parameters: {{{', '.join(expressions)}}}"
            )
        if older:
            raise ValidationError(
                f"{older[0]} is not supported yet: use {_replacement(older[0])} instead"
            )
        if body.get("ExpressionAttributeNames") is not None and not expressions:
            raise ValidationError(
                "ExpressionAttributeNames can only be specified when using expressions"
            )
        if body.get("ExpressionAttributeValues") is not None and self._values_need:
            self._check_values_are_used(body)

    def _check_values_are_used(self, body: dict[str, Any]) -> None:
        if not _present(body, self._values_need):
            verb = "are" if len(self._values_need) > 1 else "is"
            raise ValidationError(
                "ExpressionAttributeValues can only be specified when using expressions: "
                f"{' and '.join(self._values_need)} {verb} null"
            )


def wants_old(body: dict[str, Any]) -> bool:
    """Whether a PutItem or DeleteItem asks for what it replaces."""
    wanted = body.get("ReturnValues")
    if wanted is None or wanted == "NONE":
        return False
    if wanted != "ALL_OLD":
        raise ValidationError("ReturnValues can only be ALL_OLD or NONE")
    return True


def _present(body: dict[str, Any], names: Iterable[str]) -> list[str]:
    return [name for name in names if body.get(name) is not None]


def _replacement(older: str) -> str:
    return {
        "AttributesToGet": "ProjectionExpression",
        "AttributeUpdates": "UpdateExpression",
        "KeyConditions": "KeyConditionExpression",
        "QueryFilter": "FilterExpression",
    }.get(older, "ConditionExpression")
