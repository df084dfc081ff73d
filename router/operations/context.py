"""What an operation is given: who asks, and the parts of the router it may use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from gramme.clock import Clock
from gramme.router.catalog import Catalog
from gramme.router.nodes import Nodes


class Caller(NamedTuple):
    """The namespace a request belongs to."""

    account: str
    region: str


@dataclass(frozen=True, slots=True)
class Context:
    catalog: Catalog
    nodes: Nodes
    clock: Clock
    # How many partitions a new table, and each of its indexes, begins with.
    partitions_per_table: int
    # How long a table is CREATING, UPDATING or DELETING.
    table_delay_ms: int = 0
    # Where clients find this server, as host:port.
    address: Callable[[], str] = lambda: "localhost:8000"


# Takes the parsed body, answers the response's JSON bytes, raises GrammeError.
Operation = Callable[[Context, Caller, dict[str, Any]], Awaitable[bytes]]
