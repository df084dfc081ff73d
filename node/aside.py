"""Writes beside the commit loop, by its rule: a stall is waited for, and any other error ends the process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from gramme.node.commit import STALL_RETRY_S
from gramme.node.engine.api import Engine, Operation, WriteStall


class Aside:
    """`disk_failed` is told of a write or a flush that failed, and does not come back in a real process."""

    def __init__(self, engine: Engine, disk_failed: Callable[[Exception], None]) -> None:
        self._engine = engine
        self._disk_failed = disk_failed

    def write_now(self, operations: Sequence[Operation]) -> None:
        """Raises WriteStall, having written nothing."""
        try:
            self._engine.write(operations)
        except WriteStall:
            raise
        except Exception as error:
            self._disk_failed(error)
            raise

    async def write(self, operations: Sequence[Operation]) -> None:
        while True:
            try:
                self.write_now(operations)
            except WriteStall:
                await asyncio.sleep(STALL_RETRY_S)
            else:
                return

    async def flush(self) -> None:
        try:
            await self._engine.flush()
        except Exception as error:
            self._disk_failed(error)
            raise
