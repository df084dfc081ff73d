"""TagResource: puts tags on a table."""

from __future__ import annotations

from typing import Any

from gramme.errors import ValidationError
from gramme.model.table import Table
from gramme.router.operations.alteration import alter
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.tagged_table import find_taggable, read_tagged_arn
from gramme.router.operations.tags import check_count, read_tags, tags_of, with_tags
from gramme.router.validation.interpreter import validate


async def tag_resource(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    """Answers an empty body, as DynamoDB does."""
    validate("TagResource", body)
    arn = body["ResourceArn"]
    read_tagged_arn(caller, arn)
    if not body["Tags"]:
        raise ValidationError("Atleast one Tag needs to be provided as Input.")
    tags = read_tags(body["Tags"])

    def add(table: Table) -> Table:
        merged = tags_of(table) | tags
        check_count(len(merged))
        return with_tags(table, merged)

    await alter(context, lambda: find_taggable(context, caller, arn), add)
    return b""
