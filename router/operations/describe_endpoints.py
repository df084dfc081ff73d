"""DescribeEndpoints: where to send requests, which is here."""

from __future__ import annotations

from typing import Any, Final

import orjson

from gramme.router.operations.context import Caller, Context
from gramme.router.validation.interpreter import validate

# As long as DynamoDB says.
CACHE_PERIOD_MINUTES: Final = 1440


async def describe_endpoints(context: Context, _caller: Caller, body: dict[str, Any]) -> bytes:
    validate("DescribeEndpoints", body)
    endpoint = {"Address": context.address(), "CachePeriodInMinutes": CACHE_PERIOD_MINUTES}
    return orjson.dumps({"Endpoints": [endpoint]})
