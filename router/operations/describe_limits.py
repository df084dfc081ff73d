"""DescribeLimits: the quotas of a new AWS account. None of them holds here."""

from __future__ import annotations

from typing import Any, Final

import orjson

from gramme.router.operations.context import Caller, Context
from gramme.router.validation.interpreter import validate

_ACCOUNT_UNITS: Final = 80_000
_TABLE_UNITS: Final = 40_000

_ANSWER: Final = orjson.dumps(
    {
        "AccountMaxReadCapacityUnits": _ACCOUNT_UNITS,
        "AccountMaxWriteCapacityUnits": _ACCOUNT_UNITS,
        "TableMaxReadCapacityUnits": _TABLE_UNITS,
        "TableMaxWriteCapacityUnits": _TABLE_UNITS,
    }
)


async def describe_limits(_context: Context, _caller: Caller, body: dict[str, Any]) -> bytes:
    validate("DescribeLimits", body)
    return _ANSWER
