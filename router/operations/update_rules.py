"""What an UpdateTable may ask for at once. DynamoDB takes one change at a time, and says so in many ways.

All of this is checked before anybody looks whether there is such a table.
"""

from __future__ import annotations

from typing import Any, Final

from gramme.errors import ValidationError
from gramme.router.operations.table_class import read_table_class
from gramme.router.operations.table_key import INVALID

# In DynamoDB's order and words, which include two members that are in no SDK.
_REQUIRED: Final = (
    "ProvisionedThroughput",
    "BillingMode",
    "UpdateStreamEnabled",
    "GlobalSecondaryIndexUpdates",
    "SSESpecification",
    "ReplicaUpdates",
    "MultiAccountReplicaReady",
    "ReplicaTransitRoleArn",
    "MultiRegionConsistency",
    "DeletionProtectionEnabled",
    "OnDemandThroughput",
    "WarmThroughput",
    "TableClass",
)
# Of several that want to be alone the first is named.
_ALONE: Final = {
    "SSESpecification": "Server-Side Encryption modification",
    "TableClass": "TableClass modification",
    "DeletionProtectionEnabled": "DeletionProtection modification",
    "ReplicaUpdates": "Replica modification",
    "WarmThroughput": "WarmThroughput",
}
# Better refused than ignored: a caller who asks for these relies on them.
_NOT_BUILT: Final = (
    "DisassociationProtectionEnabled",
    "GlobalTableSettingsReplicationMode",
    "GlobalTableWitnessUpdates",
    "ReplicaUpdates",
    "StreamSpecification",
    "VectorIndexUpdates",
)
# They change nothing by themselves.
_ACCOMPANYING: Final = frozenset({"TableName", "AttributeDefinitions", "MultiRegionConsistency"})
_IN_NO_SDK: Final = frozenset({"MultiAccountReplicaReady", "ReplicaTransitRoleArn"})
_CHANGES: Final = frozenset((*_REQUIRED, *_NOT_BUILT)) - _ACCOMPANYING - _IN_NO_SDK


def check_update(body: dict[str, Any]) -> None:
    asked = {name for name in _CHANGES if body.get(name) is not None}
    updates = body.get("GlobalSecondaryIndexUpdates")
    if not updates:
        asked.discard("GlobalSecondaryIndexUpdates")
    if not asked:
        raise _nothing_asked(body)
    if updates == []:
        raise ValidationError(f"{INVALID}List of GlobalSecondaryIndexUpdates is empty")
    _check_alone(asked, updates or ())
    _check_together(body, asked, updates or ())
    _check_billing(body)
    read_table_class(body)
    for name in _NOT_BUILT:
        if name in asked:
            raise ValidationError(f"{name} is not supported yet")


def _nothing_asked(body: dict[str, Any]) -> ValidationError:
    # What the request has is left out, and this is the only one that can be there.
    names = [
        name
        for name in _REQUIRED
        if name != "MultiRegionConsistency" or body.get("MultiRegionConsistency") is None
    ]
    return ValidationError(f"At least one of {', '.join(names[:-1])} or {names[-1]} is required")


def _check_alone(asked: set[str], updates: Any) -> None:
    if "WarmThroughput" in asked and any(update.get("Create") for update in updates):
        raise ValidationError(
            f"{INVALID}Create global secondary index cannot be specified "
            "when updating WarmThroughput"
        )
    if len(asked) > 1:
        for name, words in _ALONE.items():
            if name in asked:
                raise ValidationError(f"{INVALID}{words} must be the only operation in the request")
    if "OnDemandThroughput" in asked and asked - {"OnDemandThroughput", "BillingMode"}:
        raise ValidationError(
            f"{INVALID}OnDemandThroughput can only be combined with BillingMode "
            "in an UpdateTable request"
        )


def _check_together(body: dict[str, Any], asked: set[str], updates: Any) -> None:
    units = "ProvisionedThroughput" in asked or body.get("BillingMode") == "PROVISIONED"
    stream = "StreamSpecification" in asked
    if stream and units:
        raise ValidationError(f"{INVALID}You cannot modify stream status while updating table IOPS")
    if any(update.get("Create") or update.get("Delete") for update in updates):
        if "ProvisionedThroughput" in asked:
            raise ValidationError(
                f"{INVALID}You cannot create or delete index while updating table IOPS"
            )
        if stream:
            raise ValidationError(
                f"{INVALID}You cannot create or delete index while changing stream status"
            )


def _check_billing(body: dict[str, Any]) -> None:
    mode, throughput = body.get("BillingMode"), body.get("ProvisionedThroughput")
    if mode == "PAY_PER_REQUEST" and throughput is not None:
        raise ValidationError(
            f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
            "when BillingMode is PAY_PER_REQUEST"
        )
    if mode == "PROVISIONED" and throughput is None:
        raise ValidationError(
            f"{INVALID}ProvisionedThroughput must be specified when BillingMode is PROVISIONED"
        )
