"""BillingMode and ProvisionedThroughput, which belong together."""

from __future__ import annotations

from typing import Any, Final

from gramme.errors import ValidationError
from gramme.router.operations.table_key import INVALID

UNITS_MAX: Final = 1_000_000_000_000


def read_billing(body: dict[str, Any]) -> tuple[int, int] | None:
    """Read and write units, or None for PAY_PER_REQUEST."""
    throughput = body.get("ProvisionedThroughput")
    if body.get("BillingMode") == "PAY_PER_REQUEST":
        if throughput is not None:
            raise ValidationError(
                f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
                "when BillingMode is PAY_PER_REQUEST"
            )
        return None
    if throughput is None:
        raise ValidationError(
            f"{INVALID}ReadCapacityUnits and WriteCapacityUnits must both be specified "
            "when BillingMode is PROVISIONED"
        )
    return read_throughput(throughput)


def read_throughput(throughput: dict[str, int]) -> tuple[int, int]:
    for name in ("ReadCapacityUnits", "WriteCapacityUnits"):
        if throughput[name] > UNITS_MAX:
            raise ValidationError(f"Given value {throughput[name]} for {name} is out of bounds")
    return throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]
