"""ListContributorInsights: those that are on, which none is."""

from __future__ import annotations

from typing import Any, Final

import orjson

from gramme.router.operations.context import Caller, Context
from gramme.router.operations.tables import find_described_table
from gramme.router.validation.interpreter import validate

_ANSWER: Final = orjson.dumps({"ContributorInsightsSummaries": []})


async def list_contributor_insights(
    context: Context, caller: Caller, body: dict[str, Any]
) -> bytes:
    validate("ListContributorInsights", body)
    if body.get("TableName") is not None:
        find_described_table(context, caller, body["TableName"])
    return _ANSWER
