"""Short ways to put an expression through a request, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from gramme.errors import ValidationError
from gramme.expressions.placeholders import Placeholders
from gramme.model.item import AttributeValue, Item, Values


def n(number: int | str) -> AttributeValue:
    return {"N": str(number)}


def s(text: str) -> AttributeValue:
    return {"S": text}


def holds(
    text: str,
    item: Item | None = None,
    values: Values | None = None,
    names: Mapping[str, str] | None = None,
) -> bool:
    """Whether a ConditionExpression holds for an item."""
    placeholders = Placeholders(names, values)
    condition = placeholders.condition(text)
    placeholders.finish()
    return condition.test(item, values or {})


def updated(
    text: str,
    item: Item,
    values: Values | None = None,
    names: Mapping[str, str] | None = None,
) -> Item:
    """What an UpdateExpression makes of an item."""
    placeholders = Placeholders(names, values)
    update = placeholders.update(text)
    placeholders.finish()
    return update.apply(item, values or {})


def projected(text: str, item: Item, names: Mapping[str, str] | None = None) -> Item:
    """What a ProjectionExpression shows of an item."""
    placeholders = Placeholders(names, None)
    projection = placeholders.projection(text)
    placeholders.finish()
    return projection.project(item)


def complaint(action: Callable[[], object]) -> str | None:
    """The message of the ValidationException that `action` ends in."""
    with pytest.raises(ValidationError) as raised:
        action()
    return raised.value.message
