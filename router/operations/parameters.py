"""Which parameters of a request go together: expressions, their placeholders, and the older style.

DynamoDB refuses a request that mixes expressions with the parameters they replaced. The older parameters alone it
still takes: `legacy` makes of them what expressions are made into.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gramme.errors import ValidationError

# A projection has names only, so values given for it alone are a mistake.
_WITHOUT_VALUES = "ProjectionExpression"
# The older parameters that ConditionalOperator joins the members of.
_JOINED = ("Expected", "QueryFilter", "ScanFilter")


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

    def check(self, body: dict[str, Any]) -> bool:
        """Refuse what does not go together. Returns whether the request has any of the older parameters."""
        if self._older_any.isdisjoint(body):
            for name in self._sufficient:
                if body.get(name) is not None:
                    return False
        expressions = _present(body, self._expressions)
        older = _present(body, self._older)
        has_older = bool(older)
        if "KeyConditions" in older and "KeyConditionExpression" not in expressions:
            # The one older parameter that goes with other expressions than its own.
            older.remove("KeyConditions")
        if expressions and older:
            raise ValidationError(
                "Can not use both expression and non-expression parameters in the same request: "
                f"Non-expression parameters: {{{', '.join(older)}}} "
                f"Expression parameters: {{{', '.join(expressions)}}}"
            )
        if "ConditionalOperator" in older:
            _check_joined(body)
        if body.get("ExpressionAttributeNames") is not None and not expressions:
            raise ValidationError(
                "ExpressionAttributeNames can only be specified when using expressions"
            )
        if body.get("ExpressionAttributeValues") is not None and self._values_need:
            self._check_values_are_used(body)
        return has_older

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


def _check_joined(body: dict[str, Any]) -> None:
    count = max(len(body.get(name) or ()) for name in _JOINED)
    if count == 0:
        raise ValidationError("ConditionalOperator cannot be used without Filter or Expected")
    if count == 1:
        raise ValidationError(
            "ConditionalOperator can only be used when Filter or Expected has two or more elements"
        )
