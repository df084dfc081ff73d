"""Finding the table that an operation on tags names."""

from __future__ import annotations

from gramme.errors import (
    STILL_IN_USE,
    AccessDenied,
    ResourceInUse,
    ResourceNotFound,
    ValidationError,
)
from gramme.model.table import Table
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.resource_arn import ResourceArn, read_resource_arn


def read_tagged_arn(caller: Caller, arn: str) -> ResourceArn:
    resource = read_resource_arn(arn)
    if resource.region != caller.region or resource.partition != "aws":
        raise ValidationError(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    if resource.account != caller.account:
        raise AccessDenied
    return resource


def find_tagged(context: Context, caller: Caller, arn: str) -> Table:
    """DynamoDB knows no tags of a table before the table can be used."""
    try:
        return context.catalog.find(*caller, read_tagged_arn(caller, arn).table).table
    except ResourceNotFound:
        raise ResourceNotFound(
            f"Requested resource not found: ResourceArn: {arn} not found"
        ) from None


def find_taggable(context: Context, caller: Caller, arn: str) -> Table:
    table = find_tagged(context, caller, arn)
    if table.status == "DELETING":
        raise ResourceInUse(f"{STILL_IN_USE}Table is being deleted: {table.name}")
    return table
