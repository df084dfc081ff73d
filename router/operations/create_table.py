"""CreateTable: the rules a definition must keep, and the table it makes."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final
from uuid import UUID

from gramme.commands import CreateTable
from gramme.errors import ValidationError
from gramme.model.table import Table
from gramme.router.operations.context import Caller, Context
from gramme.router.operations.description import Measured, describe
from gramme.router.operations.elastic_throughput import read_elastic
from gramme.router.operations.encryption import read_encryption
from gramme.router.operations.table_class import read_table_class
from gramme.router.operations.table_indexes import (
    check_projected_names,
    read_indexes,
    read_local_indexes,
)
from gramme.router.operations.table_key import (
    INVALID,
    check_all_used,
    read_definitions,
    read_table_key,
)
from gramme.router.operations.tags import read_tags
from gramme.router.operations.throughput import read_billing
from gramme.router.validation.interpreter import validate

# Better refused than ignored: a caller who asks for these relies on them.
NOT_BUILT: Final = (
    "GlobalTableSettingsReplicationMode",
    "GlobalTableSourceArn",
    "ResourcePolicy",
    "VectorIndexes",
)


async def create_table(context: Context, caller: Caller, body: dict[str, Any]) -> bytes:
    validate("CreateTable", body)
    table = read_table(context, caller, body)
    created = await context.nodes.administer(CreateTable(table, context.partitions_per_table))
    measured = Measured(table.created_at_ms)
    return describe(created, "CREATING", "TableDescription", measured)


def read_table(context: Context, caller: Caller, body: dict[str, Any]) -> Table:
    """The table that `body` asks for, its ids yet to be given. Checks are in DynamoDB's order."""
    provisioned = read_billing(body)
    schema = _required(body, "KeySchema")
    _required(body, "AttributeDefinitions")
    definitions = read_definitions(body)
    hash, range = read_table_key(schema, definitions)
    used = [element["AttributeName"] for element in schema]
    has_indexes = bool(body.get("GlobalSecondaryIndexes") or body.get("LocalSecondaryIndexes"))
    if not has_indexes:
        check_all_used(definitions, used, has_indexes)
    local_indexes = read_local_indexes(body, definitions, hash, range)
    indexes = read_indexes(body, definitions, provisioned is not None, local_indexes)
    check_projected_names((*local_indexes, *indexes))
    used += [attribute.name for local in local_indexes for attribute in local.keys]
    used += [attribute.name for index in indexes for attribute in index.keys]
    _check_built(body)
    check_all_used(definitions, used, has_indexes)
    _check_stream(body)
    echo = _read_echo(body, provisioned)
    name, now_ms = body["TableName"], context.clock.now_ms()
    delay_ms = context.table_delay_ms
    return Table(
        id=0,
        account=caller.account,
        region=caller.region,
        name=name,
        hash=hash,
        range=range,
        indexes=indexes,
        local_indexes=local_indexes,
        created_at_ms=now_ms,
        uuid=_uuid(context.catalog.seed, caller, name, now_ms),
        provisioned=provisioned,
        echo=echo,
        deletion_protection=body.get("DeletionProtectionEnabled") is True,
        status="CREATING" if delay_ms else "ACTIVE",
        settles_at_ms=now_ms + delay_ms if delay_ms else 0,
    )


def _read_echo(body: dict[str, Any], provisioned: tuple[int, int] | None) -> dict[str, Any]:
    """What DescribeTable gives back or ListTagsOfResource lists, and nothing here depends on."""
    echo = read_elastic(body, provisioned, None)
    encryption = read_encryption(body.get("SSESpecification"))
    if encryption is not None:
        echo["SSESpecification"] = encryption
    table_class = read_table_class(body)
    if table_class is not None:
        echo["TableClass"] = table_class
    tags = read_tags(body.get("Tags") or ())
    if tags:
        echo["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]
    return echo


def _required(body: dict[str, Any], name: str) -> Any:
    value = body.get(name)
    if value is None:
        field = name[0].lower() + name[1:]
        raise ValidationError(
            f"1 validation error detected: Value null at '{field}' "
            "failed to satisfy constraint: Member must not be null"
        )
    return value


def _check_built(body: dict[str, Any]) -> None:
    for name in NOT_BUILT:
        if body.get(name) is not None:
            raise ValidationError(f"{name} is not supported yet")


def _check_stream(body: dict[str, Any]) -> None:
    specification = body.get("StreamSpecification")
    if specification is None:
        return
    has_view = specification.get("StreamViewType") is not None
    if not specification["StreamEnabled"]:
        if has_view:
            raise ValidationError(
                f"{INVALID}Table is being created with a stream disabled, "
                "UpdateViewType should not be specified"
            )
        return
    if not has_view:
        raise ValidationError(
            f"{INVALID}Table is being created with a stream enabled, UpdateViewType is required"
        )
    raise ValidationError("StreamSpecification is not supported yet")


def _uuid(seed: bytes, caller: Caller, name: str, now_ms: int) -> str:
    """Like a random id to anyone without the seed, and the same again in a replayed simulation."""
    identity = "/".join((caller.account, caller.region, name, str(now_ms)))
    return str(UUID(bytes=blake2b(identity.encode(), digest_size=16, key=seed).digest(), version=4))
