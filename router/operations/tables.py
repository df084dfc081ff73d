"""Finding the table a request names, by its name or its ARN."""

from __future__ import annotations

from gramme.errors import AccessDenied, ValidationError
from gramme.router.catalog import CatalogEntry
from gramme.router.operations.context import Caller, Context

_ARN = "arn:"
_FIELDS = 6
_TABLE = "table/"
# Not ours: AWS divides its regions so.
_PARTITIONS = frozenset(("aws", "aws-cn", "aws-us-gov"))


def find_table(context: Context, caller: Caller, name: str) -> CatalogEntry:
    """Raises ResourceNotFound, in the words the data operations use."""
    if name.startswith(_ARN):
        name = bare_name(caller, name)
    return context.catalog.find(caller.account, caller.region, name)


def find_described_table(context: Context, caller: Caller, name: str) -> CatalogEntry:
    """A table that may still be in creation. Raises ResourceNotFound, in the words DescribeTable uses."""
    return context.catalog.find_described(*caller, bare_name(caller, name))


def bare_name(caller: Caller, arn: str) -> str:
    """The table's name, out of an ARN such as arn:aws:dynamodb:us-east-1:000000000000:table/Music."""
    if not arn.startswith(_ARN):
        return arn
    fields = arn.split(":", _FIELDS - 1)
    if len(fields) != _FIELDS or fields[2] != "dynamodb":
        raise ValidationError(f"1 validation error detected: Invalid table ARN: '{arn}'")
    _, partition, _, region, account, resource = fields
    if partition not in _PARTITIONS:
        raise ValidationError(f"1 validation error detected: Invalid AWS partition in '{arn}'")
    name = resource.removeprefix(_TABLE)
    if name == resource or "/" in name:
        raise ValidationError(f"1 validation error detected: Invalid resource type in '{arn}'")
    if region != caller.region:
        raise ValidationError(f"1 validation error detected: Invalid AWS region in '{arn}'")
    if account != caller.account:
        raise AccessDenied
    return name
