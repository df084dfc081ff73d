"""UntagResource: takes tags off a table, if they are there."""

from __future__ import annotations

from typing import Any

from gramme.errors import ValidationError
from gramme.model.table import Table
from gramme.router.operations.alteration import alter
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.tagged_table import find_taggable, read_tagged_arn
from gramme.router.operations.tags import check_count, check_key, tags_of, with_tags
from gramme.router.validation.interpreter import validate


async def untag_resource(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    """Answers an empty body, as DynamoDB does."""
    validate("UntagResource", body)
    arn, keys = body["ResourceArn"], body["TagKeys"]
    read_tagged_arn(caller, arn)
    if not keys:
        raise ValidationError("Atleast one Tag Key needs to be provided as Input.")
    for key in keys:
        check_key(key)
    check_count(len(keys))

    def remove(table: Table) -> Table:
        tags = tags_of(table)
        kept = {key: value for key, value in tags.items() if key not in keys}
        return table if kept == tags else with_tags(table, kept)

    await alter(context, lambda: find_taggable(context, caller, arn), remove)
    return b""
