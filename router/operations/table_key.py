"""KeySchema and AttributeDefinitions of a CreateTable: DynamoDB's rules for keys, and its words for breaking them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from gramme.errors import ValidationError
from gramme.model.table import KeyAttribute, KeyType

INVALID: Final = "One or more parameter values were invalid: "
# A global index's key may be made of several attributes of each kind.
INDEX_KEYS_MAX: Final = 4

Definitions = dict[str, KeyType]
Schema = Sequence[dict[str, str]]


class IndexKey(NamedTuple):
    hash: tuple[KeyAttribute, ...]
    range: tuple[KeyAttribute, ...]


def read_definitions(body: dict[str, Any]) -> Definitions:
    definitions: Definitions = {}
    for definition in body.get("AttributeDefinitions") or ():
        name = definition["AttributeName"]
        if name in definitions:
            raise ValidationError(f"Attribute Name is duplicated: {name}")
        definitions[name] = definition["AttributeType"]
    return definitions


def read_table_key(
    schema: Schema, definitions: Definitions
) -> tuple[KeyAttribute, KeyAttribute | None]:
    if len(schema) > len(definitions):
        raise ValidationError("Invalid KeySchema: Some index key attribute have no definition")
    keys = _attributes(schema, definitions)
    _check_kinds(schema)
    return keys[0], keys[1] if len(keys) > 1 else None


def read_index_key(schema: Schema, definitions: Definitions) -> IndexKey:
    keys = _attributes(schema, definitions)
    kinds = [element["KeyType"] for element in schema]
    if kinds[0] != "HASH":
        raise ValidationError(
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
        )
    hashes = kinds.count("HASH")
    if "HASH" in kinds[hashes:]:
        raise ValidationError(
            f"{INVALID}All HASH key attributes must precede RANGE key attributes in the KeySchema"
        )
    for kind, count in (("HASH", hashes), ("RANGE", len(kinds) - hashes)):
        if count > INDEX_KEYS_MAX:
            raise ValidationError(
                f"{INVALID}The KeySchema exceeds the maximum allowed number of {kind} key attributes"
            )
    return IndexKey(keys[:hashes], keys[hashes:])


def read_local_index_key(
    name: str, schema: Schema, definitions: Definitions
) -> tuple[KeyAttribute, KeyAttribute]:
    keys = _attributes(schema, definitions)
    _check_kinds(schema)
    if len(keys) == 1:
        raise ValidationError(
            f"{INVALID}Index KeySchema does not have a range key for index: {name}"
        )
    return keys[0], keys[1]


def check_all_used(definitions: Definitions, used: Sequence[str], has_indexes: bool) -> None:
    """Every definition must be for a key: attributes that are not keys are not declared."""
    unused = [name for name in definitions if name not in used]
    if not unused:
        return
    if not has_indexes:
        raise ValidationError(
            f"{INVALID}Number of attributes in KeySchema does not exactly match "
            "number of attributes defined in AttributeDefinitions"
        )
    raise ValidationError(
        f"{INVALID}Some AttributeDefinitions are not used. "
        f"AttributeDefinitions: [{', '.join(definitions)}], "
        f"keys used: [{', '.join(dict.fromkeys(used))}]"
    )


def _attributes(schema: Schema, definitions: Definitions) -> tuple[KeyAttribute, ...]:
    names = [element["AttributeName"] for element in schema]
    if any(name not in definitions for name in names):
        raise ValidationError(
            f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. "
            f"Keys: [{', '.join(names)}], AttributeDefinitions: [{', '.join(definitions)}]"
        )
    if len(set(names)) != len(names):
        raise ValidationError(
            "Both the Hash Key and the Range Key element in the KeySchema have the same name"
            if len(names) == 2
            else "The KeySchema contains multiple key attributes with the same name"
        )
    return tuple(KeyAttribute(name, definitions[name]) for name in names)


def _check_kinds(schema: Schema) -> None:
    if schema[0]["KeyType"] != "HASH":
        raise ValidationError(
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
        )
    if len(schema) > 1 and schema[1]["KeyType"] != "RANGE":
        raise ValidationError(
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"
        )
