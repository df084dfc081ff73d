"""ConsumedCapacity, as a member of the response.

TOTAL tells the sum; INDEXES also tells who used it: the table, and each index that was read or changed. Names are
written as they are: what may stand in a table's name, an ARN or an index's name needs no escaping in JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gramme.capacity import write_units
from gramme.commands import Written


@dataclass(slots=True)
class Used:
    """Units by who used them. The table is told of even if an index did all the work."""

    table: float = 0.0
    in_global: dict[str, float] = field(default_factory=dict)
    in_local: dict[str, float] = field(default_factory=dict)

    @property
    def total(self) -> float:
        return self.table + sum(self.in_global.values()) + sum(self.in_local.values())

    def add(self, written: Written) -> None:
        """A write is charged for the larger of the two images, and in each index that it changes."""
        self.table += write_units(max(written.old_size, written.new_size))
        units = written.index_units
        if units is not None:
            _add(self.in_global, units.in_global)
            _add(self.in_local, units.in_local)


def used_by_write(written: Written) -> Used:
    used = Used()
    used.add(written)
    return used


def is_asked_for(body: dict[str, Any]) -> bool:
    detail = body.get("ReturnConsumedCapacity")
    return detail is not None and detail != "NONE"


def consumed_by_table(body: dict[str, Any], units: float) -> bytes | None:
    """The member for a request that touched the table alone, or None if it was not asked for."""
    return consumed(body, Used(units)) if is_asked_for(body) else None


def consumed(body: dict[str, Any], used: Used) -> bytes:
    """The member, for a request that asks for it."""
    return f'"ConsumedCapacity":{_capacity(body, body["TableName"], used)}'.encode()


def consumed_by_tables(body: dict[str, Any], used_by_name: Mapping[str, Used]) -> bytes:
    """Likewise for a batch, which may have touched several tables."""
    told = (_capacity(body, name, used) for name, used in used_by_name.items())
    return f'"ConsumedCapacity":[{",".join(told)}]'.encode()


def _capacity(body: dict[str, Any], name: str, used: Used) -> str:
    breakdown = _breakdown(used) if body["ReturnConsumedCapacity"] == "INDEXES" else ""
    return f'{{"TableName":"{name}","CapacityUnits":{used.total}{breakdown}}}'


def _breakdown(used: Used) -> str:
    told = f',"Table":{{"CapacityUnits":{used.table}}}'
    for member, units in (
        ("LocalSecondaryIndexes", used.in_local),
        ("GlobalSecondaryIndexes", used.in_global),
    ):
        if units:
            each = ",".join(f'"{name}":{{"CapacityUnits":{units[name]}}}' for name in units)
            told += f',"{member}":{{{each}}}'
    return told


def _add(sums: dict[str, float], units: Mapping[str, float]) -> None:
    for name, used in units.items():
        sums[name] = sums.get(name, 0.0) + used
