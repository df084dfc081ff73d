"""DescribeTimeToLive: items do not expire."""

from __future__ import annotations

from typing import Any, Final

import orjson

from gramme.errors import ValidationError
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.tables import find_described_table
from gramme.router.validation.interpreter import validate

_ANSWER: Final = orjson.dumps({"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}})


async def describe_time_to_live(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("DescribeTimeToLive", body)
    status = find_described_table(context, caller, body["TableName"]).table.status
    if status in ("CREATING", "DELETING"):
        raise ValidationError(
            f"Cannot describe time to live while table is in {status} state: "
            f"Current table state is {status}"
        )
    return _ANSWER
