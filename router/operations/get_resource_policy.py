"""GetResourcePolicy: no table has one."""

from __future__ import annotations

from typing import Any

from gramme.errors import PolicyNotFound, ValidationError
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.resource_arn import read_resource_arn
from gramme.router.operations.table_key import INVALID
from gramme.router.validation.interpreter import validate


async def get_resource_policy(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("GetResourcePolicy", body)
    arn = body["ResourceArn"]
    resource = read_resource_arn(arn)
    if resource.region != caller.region or resource.partition != "aws":
        raise ValidationError(f"{INVALID}Invalid resource Arn: {arn}")
    if resource.account != caller.account:
        raise ValidationError(
            "This action is only supported by accounts that match the resource owner’s account."
        )
    context.catalog.find_described(*caller, resource.table)
    raise PolicyNotFound(f"Resource-based policy not found for the provided ResourceArn: {arn}")
