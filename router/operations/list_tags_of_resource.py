"""ListTagsOfResource: the tags of a table. All fit on one page, so that DynamoDB ignores a NextToken and so do we."""

from __future__ import annotations

from typing import Any

import orjson

from gramme.router.operations.context import Caller, Context
from gramme.router.operations.tagged_table import find_tagged
from gramme.router.validation.interpreter import validate


async def list_tags_of_resource(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("ListTagsOfResource", body)
    table = find_tagged(context, caller, body["ResourceArn"])
    return orjson.dumps({"Tags": table.echo.get("Tags", [])})
