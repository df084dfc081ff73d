"""DescribeKinesisStreamingDestination: changes go to no Kinesis stream."""

from __future__ import annotations

from typing import Any

import orjson

from gramme.router.operations.context import Caller, Context
from gramme.router.operations.tables import find_described_table
from gramme.router.validation.interpreter import validate


async def describe_kinesis_streaming_destination(
    context: Context, caller: Caller, body: dict[str, Any]
) -> bytes:
    validate("DescribeKinesisStreamingDestination", body)
    table = find_described_table(context, caller, body["TableName"]).table
    return orjson.dumps({"TableName": table.name, "KinesisDataStreamDestinations": []})
