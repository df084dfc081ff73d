"""The seam between a router and the storage nodes.

`Nodes` is what the rest of the router sees. A cluster will put batches on gRPC streams behind it; embedded, it is
a function call into the node of the same process. Above and below the seam the code is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gramme.commands import (
    Administration,
    Delete,
    Found,
    Get,
    Page,
    Put,
    Query,
    Scan,
    Totals,
    Write,
    Written,
)
from gramme.errors import Throttling
from gramme.model.table import Table
from gramme.partitions import Partition


class Nodes(Protocol):
    """Every method may answer without suspending; callers on the hot path rely on it for speed only."""

    async def get(self, partition: Partition, get: Get) -> Found: ...

    async def write(self, partition: Partition, write: Write) -> Written: ...

    async def query(self, partition: Partition, query: Query) -> Page: ...

    async def scan(self, partition: Partition, scan: Scan) -> Page: ...

    async def write_all(
        self, writes: Sequence[tuple[Partition, Put | Delete]]
    ) -> list[Written | Throttling]:
        """Do writes that have no conditions, side by side. Each has its answer: written, or refused for now."""
        ...

    async def totals(self, partitions: Sequence[Partition]) -> Totals:
        """What the partitions hold together."""
        ...

    async def administer(self, command: Administration) -> Table:
        """Change the catalog; returns the table as created or altered, or as it was before it was deleted.

        Raises TableChanged if an alteration expected another table than there is.
        """
        ...
