"""ListTables: the names of the caller's tables, in order, a page at a time."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Final

import orjson

from gramme.router.operations.context import Caller, Context
from gramme.router.validation.interpreter import validate

PAGE_MAX: Final = 100


async def list_tables(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("ListTables", body)
    names = context.catalog.names(caller.account, caller.region)
    after = body.get("ExclusiveStartTableName")
    # The table to start after need not exist, or not any more.
    first = 0 if after is None else bisect_right(names, after)
    page = names[first : first + (body.get("Limit") or PAGE_MAX)]
    answer: dict[str, Any] = {"TableNames": page}
    if first + len(page) < len(names):
        answer["LastEvaluatedTableName"] = page[-1]
    return orjson.dumps(answer)
