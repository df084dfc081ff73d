"""AttributeUpdates: what an UpdateItem does to each attribute, from before there was UpdateExpression."""

from __future__ import annotations

from typing import Any

from gramme.errors import ValidationError
from gramme.expressions import tree
from gramme.expressions.relations import SETS
from gramme.expressions.update import UpdateExpression
from gramme.model.item import Values
from gramme.model.values import INVALID, normalise_item
from gramme.router.operations.legacy.values import GivenValues, compile_update

# Lists are for this ADD alone: that of an UpdateExpression refuses them.
_ADDED = SETS | {"N", "L"}


def attribute_updates(body: dict[str, Any]) -> tuple[UpdateExpression | None, Values]:
    """What AttributeUpdates do, and the values they do it with."""
    updates = body.get("AttributeUpdates")
    if not updates:
        return None, {}
    given = GivenValues("AttributeUpdates", updates)
    actions = tuple(_action(name, update, given) for name, update in updates.items())
    return compile_update(tree.Update(actions, older=True)), given.values


def _action(name: str, update: dict[str, Any], given: GivenValues) -> tree.Action:
    path = tree.Path((name,))
    action, value = update.get("Action") or "PUT", update.get("Value")
    if value is None:
        if action != "DELETE":
            raise ValidationError(
                f"{INVALID}Only DELETE action is allowed when no attribute value is specified"
            )
        return tree.Remove(path)
    # The name counts too: it is about to be an attribute's.
    normalise_item({name: value})
    (kind,) = value
    if action == "DELETE":
        if kind not in SETS:
            raise ValidationError(
                f"{INVALID}DELETE action with value is not supported for the type {kind}"
            )
        return tree.Delete(path, given.add(value))
    if action == "ADD":
        if kind not in _ADDED:
            raise ValidationError(f"{INVALID}ADD action is not supported for the type {kind}")
        return tree.Add(path, given.add(value))
    return tree.Set(path, given.add(value))
