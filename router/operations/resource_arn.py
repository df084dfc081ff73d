"""ResourceArn: what the operations on tags and policies take where others take a table's name or ARN."""

from __future__ import annotations

from typing import Final, NamedTuple

from gramme.errors import ValidationError
from gramme.router.operations.table_key import INVALID

_FIELDS: Final = 6
_TABLE: Final = "table/"


class ResourceArn(NamedTuple):
    partition: str
    region: str
    account: str
    table: str


def read_resource_arn(arn: str) -> ResourceArn:
    """Take the ARN of a table apart. Whose it is, and whether there is such a table, is the operation's affair."""
    if not arn.startswith("arn:"):
        raise ValidationError(f"{INVALID}ARNs must start with 'arn:': {arn}")
    fields = arn.split(":", _FIELDS - 1)
    if len(fields) != _FIELDS or fields[2] != "dynamodb":
        raise ValidationError(f"{INVALID}Provided Arn is not a DynamoDB resource arn: {arn}")
    _, partition, _, region, account, resource = fields
    name = resource.removeprefix(_TABLE)
    if name == resource or "/index/" in name:
        raise ValidationError(
            f"{INVALID}Invalid resource arn provided, only table or stream is accepted. "
            f"Provided resource arn: {arn}"
        )
    return ResourceArn(partition, region, account, name)
