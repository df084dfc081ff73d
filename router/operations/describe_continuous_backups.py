"""DescribeContinuousBackups: DynamoDB has them of every table, but point-in-time recovery only where it was asked for."""

from __future__ import annotations

from typing import Any, Final

import orjson

from gramme.errors import ResourceNotFound, TableNotFound
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.tables import bare_name
from gramme.router.validation.interpreter import validate

_ANSWER: Final = orjson.dumps(
    {
        "ContinuousBackupsDescription": {
            "ContinuousBackupsStatus": "ENABLED",
            "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
        }
    }
)


async def describe_continuous_backups(
    context: Context, caller: Caller, body: dict[str, Any]
) -> bytes:
    validate("DescribeContinuousBackups", body)
    name = bare_name(caller, body["TableName"])
    try:
        # The backups know a table only once it can be used.
        context.catalog.find(*caller, name)
    except ResourceNotFound:
        raise TableNotFound(f"Table not found: {name}") from None
    return _ANSWER
