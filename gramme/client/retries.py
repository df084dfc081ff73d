"""Asking until there is an answer, where asking again can do no harm.

A request that the router refused, or that was never sent, was not done, and may be sent again. A read may be sent again
in any case. A write that was sent and not answered is never sent again: it may have happened, and the caller is told so.
"""

from __future__ import annotations

import asyncio
from random import Random

from gramme.client.connection import Connection, Lost
from gramme.client.errors import DeadlineExceeded, OutcomeUnknown, RequestTooLarge, error_of
from gramme.errors import InternalServerError, Throttling

ATTEMPTS_MAX = 10
PAUSE_S = 0.025
PAUSE_S_MAX = 1.0
BODY_BYTES_MAX = 16 << 20

_READS = ("BatchGet", "Describe", "Get", "List", "Query", "Scan", "TransactGet")


class Retrying:
    def __init__(self, connection: Connection, random: Random, in_flight_max: int) -> None:
        self._connection = connection
        self._random = random
        # Beyond it callers wait, and so feel how fast the router is.
        self._in_flight = asyncio.Semaphore(in_flight_max)

    async def ask(self, operation: str, body: bytes, timeout_s: float) -> bytes:
        """The answer's JSON. Raises what `gramme.client.errors` has, and DynamoDB's errors."""
        if len(body) > BODY_BYTES_MAX:
            raise RequestTooLarge(f"the request is of {len(body)} bytes, and 16 MB is the most")
        deadline = asyncio.get_running_loop().time() + timeout_s
        if self._in_flight.locked():
            try:
                async with asyncio.timeout_at(deadline):
                    await self._in_flight.acquire()
            except TimeoutError:
                raise DeadlineExceeded("too many calls of this client wait") from None
        else:
            await self._in_flight.acquire()
        try:
            return await self._ask(operation, body, deadline)
        finally:
            self._in_flight.release()

    async def _ask(self, operation: str, body: bytes, deadline: float) -> bytes:
        is_read = operation.startswith(_READS)
        pause_s = PAUSE_S
        attempts = 0
        while True:
            attempts += 1
            try:
                status, answer = await self._connection.ask(operation, body, deadline)
            except Lost as lost:
                if not is_read:
                    raise OutcomeUnknown(f"{operation} may have been done: {lost}") from None
                error: Exception = DeadlineExceeded(f"{operation}: {lost}")
            else:
                if status == 200:
                    return answer
                error = error_of(status, answer)
                if isinstance(error, InternalServerError) and not is_read:
                    raise OutcomeUnknown(f"{operation} may have been done: {error}") from error
                if not isinstance(error, (Throttling, InternalServerError)):
                    raise error
            wait_s = pause_s * self._random.uniform(0.5, 1.0)
            if attempts == ATTEMPTS_MAX or asyncio.get_running_loop().time() + wait_s >= deadline:
                raise error
            await asyncio.sleep(wait_s)
            pause_s = min(2 * pause_s, PAUSE_S_MAX)
