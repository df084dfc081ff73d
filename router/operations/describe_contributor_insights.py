"""DescribeContributorInsights: nobody looks for the keys that are used most."""

from __future__ import annotations

from typing import Any

import orjson

from gramme.errors import ResourceNotFound
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.tables import find_described_table
from gramme.router.validation.interpreter import validate


async def describe_contributor_insights(
    context: Context, caller: Caller, body: dict[str, Any]
) -> bytes:
    validate("DescribeContributorInsights", body)
    table = find_described_table(context, caller, body["TableName"]).table
    answer = {"TableName": table.name}
    index = body.get("IndexName")
    if index is not None:
        if table.index(index) is None:
            raise ResourceNotFound(
                f"Requested resource not found: Index: {index} not found for table: {table.name}"
            )
        answer["IndexName"] = index
    return orjson.dumps(answer | {"ContributorInsightsStatus": "DISABLED"})
