"""OnDemandThroughput and WarmThroughput of tables and of global indexes: kept and echoed, and never enforced.

DynamoDB words the same mistake a little differently for a table and for an index, and in CreateTable and UpdateTable.
"""

from __future__ import annotations

from typing import Any, Final

from gramme.errors import ValidationError
from gramme.router.operations.table_key import INVALID

Units = tuple[int, int]
Echo = dict[str, Any]

# What DynamoDB says a new on-demand table can take at once.
ON_DEMAND_WARM: Final[Units] = (12_000, 4_000)
# In an UpdateTable this takes a limit away.
NO_LIMIT: Final = -1

_ON_DEMAND = "OnDemandThroughput"
_WARM = "WarmThroughput"
_LIMITS = ("MaxReadRequestUnits", "MaxWriteRequestUnits")
_RATES = ("ReadUnitsPerSecond", "WriteUnitsPerSecond")
_CAPACITIES = ("ReadCapacityUnits", "WriteCapacityUnits")
_INITIAL = (
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
    "on-demand-capacity-mode.html#on-demand-capacity-mode-initial"
)


def read_elastic(request: dict[str, Any], provisioned: Units | None, index: str | None) -> Echo:
    """What CreateTable asks for, for the table or for the index of that name."""
    return _read_limits(request, provisioned, index) | _read_rates(request, provisioned, index)


def _read_limits(request: dict[str, Any], provisioned: Units | None, index: str | None) -> Echo:
    given = _given(request.get(_ON_DEMAND), _LIMITS)
    for name, limit in given.items():
        if provisioned is not None:
            of = "" if index is None else f" for index: {index}"
            raise ValidationError(
                f"{INVALID}{name} for OnDemandThroughput{of} cannot be specified "
                "when table BillingMode is PROVISIONED."
            )
        if limit < 1:
            raise _out_of_range(name, index)
    return {_ON_DEMAND: given} if given else {}


def _read_rates(request: dict[str, Any], provisioned: Units | None, index: str | None) -> Echo:
    given = _given(request.get(_WARM), _RATES)
    for position, name in enumerate(_RATES):
        rate = given.get(name)
        if rate is None or rate >= (provisioned or ON_DEMAND_WARM)[position]:
            continue
        low = f"{INVALID}Requested {name} for WarmThroughput for {_of(index)} is lower than"
        if provisioned is None:
            raise ValidationError(f"{low} initial throughput for OnDemand. See: {_INITIAL}")
        raise ValidationError(f"{low} {_CAPACITIES[position]} of ProvisionedThroughput")
    return {_WARM: given} if given else {}


def warm_units(echo: Echo, provisioned: Units | None) -> Units:
    """What a table or an index can take at once: what was asked for, and never less than what it has."""
    given = echo.get(_WARM, {})
    read, write = provisioned or ON_DEMAND_WARM
    return max(read, given.get(_RATES[0], 0)), max(write, given.get(_RATES[1], 0))


def describe_warm(units: Units, status: str) -> dict[str, Any]:
    return {_RATES[0]: units[0], _RATES[1]: units[1], "Status": status}


def keep_warm(echo: Echo, units: Units) -> Echo:
    """An echo from which `units` can be read whatever else becomes of the throughput: they never drop."""
    return echo | {_WARM: dict(zip(_RATES, units, strict=True))}


def raise_warm(echo: Echo, provisioned: Units | None, asked: Any, index: str | None) -> Echo:
    """What UpdateTable makes of an echo."""
    current = warm_units(echo, provisioned)
    given = _given(asked, _RATES)
    for position, name in enumerate(_RATES):
        if given.get(name, current[position]) < current[position]:
            raise ValidationError(
                f"{INVALID}Requested {name} for WarmThroughput for {_of(index)} is lower than "
                "current WarmThroughput, decreasing WarmThroughput is not supported"
            )
    read, write = (given.get(name, current[position]) for position, name in enumerate(_RATES))
    return keep_warm(echo, (read, write)) if given else echo


def change_limits(echo: Echo, is_provisioned: bool, asked: Any, index: str | None) -> Echo:
    """What UpdateTable makes of an echo: limits are set and taken away one by one."""
    limits = dict(echo.get(_ON_DEMAND, {}))
    for name, limit in _given(asked, _LIMITS).items():
        if is_provisioned:
            of = "" if index is None else f" for index : {index}"
            raise ValidationError(
                f"{INVALID}{name} for OnDemandThroughput{of} cannot be specified "
                "when the table BillingMode is PROVISIONED"
            )
        if limit < 1 and limit != NO_LIMIT:
            raise _out_of_range(name, index)
        if limit == NO_LIMIT:
            limits.pop(name, None)
        else:
            limits[name] = limit
    rest = drop_limits(echo)
    return rest | {_ON_DEMAND: limits} if limits else rest


def drop_limits(echo: Echo) -> Echo:
    return {name: value for name, value in echo.items() if name != _ON_DEMAND}


def _given(asked: Any, names: tuple[str, str]) -> dict[str, int]:
    return {name: asked[name] for name in names if asked and asked.get(name) is not None}


def _of(index: str | None) -> str:
    return "table" if index is None else f"index {index}"


def _out_of_range(name: str, index: str | None) -> ValidationError:
    of = "table" if index is None else f"index : {index}"
    return ValidationError(
        f"{INVALID}Requested {name} for OnDemandThroughput for {of} is outside of valid range"
    )
