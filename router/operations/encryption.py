"""SSESpecification. Nothing is encrypted with anybody's key here: what is asked for is kept and echoed."""

from __future__ import annotations

from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from msgspec.structs import replace

from gramme.errors import ValidationError
from gramme.model.table import Table
from gramme.router.operations.table_key import INVALID

# What the key service takes for a name.
KEY_LENGTH_MAX: Final = 2048

_KEY = "KMSMasterKeyId"


def read_encryption(specification: dict[str, Any] | None) -> dict[str, Any] | None:
    """The specification, checked; None if the table is to be encrypted as tables are by default."""
    if specification is None:
        return None
    enabled, type, key = (specification.get(name) for name in ("Enabled", "SSEType", _KEY))
    if enabled is False:
        for name, value in (("SSEType", type), (_KEY, key)):
            if value is not None:
                raise ValidationError(f"{INVALID}{name} can not be specified if Enabled is false")
        return None
    if key is not None and len(key) > KEY_LENGTH_MAX:
        raise ValidationError(
            f"{INVALID}KMSMasterKeyId must be at most {KEY_LENGTH_MAX} characters long"
        )
    if type == "AES256":
        raise ValidationError(f"{INVALID}SSEType AES256 is not supported")
    if key is not None and type is None:
        raise ValidationError(f"{INVALID}SSEType KMS is required if KMSMasterKeyId is specified")
    # A type alone is enough to enable.
    if enabled is None and type is None:
        return None
    return {"Enabled": True, "SSEType": "KMS"} | ({} if key is None else {_KEY: key})


def change_encryption(table: Table, specification: dict[str, Any]) -> Table:
    """What UpdateTable makes of a table's encryption."""
    wanted = read_encryption(specification)
    current = describe_encryption(table)
    if wanted is None and current is None:
        raise ValidationError(f"{INVALID}Table is already encrypted by default")
    key = specification.get(_KEY)
    if current is not None and key is not None and key == current["KMSMasterKeyArn"]:
        raise ValidationError(
            f"{INVALID}Table is already encrypted with given KMSMasterKeyId. "
            "Use KMSMasterKeyId parameter if you want to change Master Key"
        )
    echo = {name: value for name, value in table.echo.items() if name != "SSESpecification"}
    if wanted is not None:
        echo["SSESpecification"] = wanted
    return replace(table, echo=echo)


def describe_encryption(table: Table) -> dict[str, str] | None:
    specification = table.echo.get("SSESpecification", {})
    if not specification.get("Enabled"):
        return None
    return {
        "Status": "ENABLED",
        "SSEType": "KMS",
        "KMSMasterKeyArn": _key_arn(table, specification.get(_KEY)),
    }


def _key_arn(table: Table, key: str | None) -> str:
    """DynamoDB shows the key's ARN, however the key was named."""
    if key is not None and key.startswith("arn:"):
        return key
    if key is None or key == "alias/aws/dynamodb":
        # The key that AWS would keep for DynamoDB in this account and region.
        key = str(uuid5(NAMESPACE_URL, f"{table.account}/{table.region}/alias/aws/dynamodb"))
    resource = key if key.startswith("alias/") else f"key/{key}"
    return f"arn:aws:kms:{table.region}:{table.account}:{resource}"
