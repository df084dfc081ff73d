"""The client that applications see: DynamoDB's operations on items, with plain Python values."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from random import Random, SystemRandom
from types import TracebackType
from typing import Any, Self

import orjson

from gramme.client.connection import Connection
from gramme.client.hello import Credentials
from gramme.client.pages import Pages
from gramme.client.retries import Retrying
from gramme.client.values import Item, attributes_of, item_of
from gramme.clock import Clock, SystemClock

TIMEOUT_S = 10.0
# Four times what a router takes of one stream, so that there is always something to send.
IN_FLIGHT_MAX = 1024


def connect(
    address: str,
    *,
    region: str,
    access_key: str,
    secret_key: str,
    session_token: str | None = None,
    authority: Path | None = None,
    timeout_s: float = TIMEOUT_S,
    in_flight_max: int = IN_FLIGHT_MAX,
) -> Client:
    """A client of the gateway at `address`, HOST:PORT, to be entered with `async with`.

    `authority` is the PEM file of who signed the gateway's certificate; without it there is no TLS. `timeout_s` is for
    each call that does not say otherwise, retries included. Beyond `in_flight_max` calls at once the next ones wait.
    """
    credentials = Credentials(region, access_key, secret_key, session_token)
    signer = None if authority is None else authority.read_bytes()
    return Client(
        address, credentials, signer, timeout_s, in_flight_max, SystemClock(), SystemRandom()
    )


class Client:
    """Made by `connect`. Calls may be made at the same time, as many as you like, from the loop that entered it.

    Every call may raise DynamoDB's errors by their names, and Disconnected, DeadlineExceeded and, if it writes,
    OutcomeUnknown.
    """

    def __init__(
        self,
        address: str,
        credentials: Credentials,
        authority: bytes | None,
        timeout_s: float,
        in_flight_max: int,
        clock: Clock,
        random: Random,
    ) -> None:
        self._connection = Connection(address, credentials, authority, clock, random)
        self._retrying = Retrying(self._connection, random, in_flight_max)
        self._timeout_s = timeout_s
        self._running: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Raises Disconnected if nobody answers, and DynamoDB's errors if the credentials are not good."""
        assert self._running is None, "a client is entered once"
        loop = asyncio.get_running_loop()
        up: asyncio.Future[None] = loop.create_future()
        self._running = loop.create_task(self._connection.run(up))
        try:
            await up
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Calls that are still waiting end as if the connection had broken."""
        await self._close()

    async def _close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    async def call(
        self, operation: str, request: Mapping[str, Any], *, timeout_s: float | None = None
    ) -> dict[str, Any]:
        """Any operation of DynamoDB's, with its own parameters and typed values, as in its API."""
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        answer = await self._retrying.ask(operation, orjson.dumps(request), timeout_s)
        decoded: dict[str, Any] = orjson.loads(answer)
        return decoded

    async def get(
        self,
        table: str,
        key: Mapping[str, object],
        *,
        consistent: bool = False,
        projection: str | None = None,
        names: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> Item | None:
        """The item, or None. `consistent` sees every write that was answered before."""
        request: dict[str, Any] = {"TableName": table, "Key": attributes_of(key)}
        if consistent:
            request["ConsistentRead"] = True
        _add(request, ProjectionExpression=projection, ExpressionAttributeNames=names)
        answer = await self.call("GetItem", request, timeout_s=timeout_s)
        return _item(answer, "Item")

    async def put(
        self,
        table: str,
        item: Mapping[str, object],
        *,
        condition: str | None = None,
        names: Mapping[str, str] | None = None,
        values: Mapping[str, object] | None = None,
        returning: str | None = None,
        returning_on_failure: str | None = None,
        timeout_s: float | None = None,
    ) -> Item | None:
        """Write a whole item. The old one, if `returning` is ALL_OLD and there was one."""
        request: dict[str, Any] = {"TableName": table, "Item": attributes_of(item)}
        _add_condition(request, condition, names, values, returning, returning_on_failure)
        return _item(await self.call("PutItem", request, timeout_s=timeout_s), "Attributes")

    async def update(
        self,
        table: str,
        key: Mapping[str, object],
        expression: str,
        *,
        condition: str | None = None,
        names: Mapping[str, str] | None = None,
        values: Mapping[str, object] | None = None,
        returning: str | None = None,
        returning_on_failure: str | None = None,
        timeout_s: float | None = None,
    ) -> Item | None:
        """Change an item, or make it. What `returning` asks for: ALL_OLD, UPDATED_OLD, ALL_NEW or UPDATED_NEW."""
        request: dict[str, Any] = {
            "TableName": table,
            "Key": attributes_of(key),
            "UpdateExpression": expression,
        }
        _add_condition(request, condition, names, values, returning, returning_on_failure)
        return _item(await self.call("UpdateItem", request, timeout_s=timeout_s), "Attributes")

    async def delete(
        self,
        table: str,
        key: Mapping[str, object],
        *,
        condition: str | None = None,
        names: Mapping[str, str] | None = None,
        values: Mapping[str, object] | None = None,
        returning: str | None = None,
        returning_on_failure: str | None = None,
        timeout_s: float | None = None,
    ) -> Item | None:
        """The old item, if `returning` is ALL_OLD and there was one."""
        request: dict[str, Any] = {"TableName": table, "Key": attributes_of(key)}
        _add_condition(request, condition, names, values, returning, returning_on_failure)
        return _item(await self.call("DeleteItem", request, timeout_s=timeout_s), "Attributes")

    def query(
        self,
        table: str,
        key_condition: str,
        *,
        index: str | None = None,
        values: Mapping[str, object] | None = None,
        names: Mapping[str, str] | None = None,
        filter: str | None = None,
        projection: str | None = None,
        consistent: bool = False,
        forward: bool = True,
        page_size: int | None = None,
        start: Mapping[str, object] | None = None,
        timeout_s: float | None = None,
    ) -> Pages:
        """`async for` over it gives items, and over its `pages()` pages. Each page has `timeout_s` for itself.

        `page_size` is how many items are read for a page, before `filter`. `start` is the `last_key` of an earlier page.
        """
        request: dict[str, Any] = {"TableName": table, "KeyConditionExpression": key_condition}
        if consistent:
            request["ConsistentRead"] = True
        if not forward:
            request["ScanIndexForward"] = False
        _add(
            request,
            IndexName=index,
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=None if values is None else attributes_of(values),
            FilterExpression=filter,
            ProjectionExpression=projection,
            Limit=page_size,
        )

        async def fetch(request: dict[str, Any]) -> dict[str, Any]:
            return await self.call("Query", request, timeout_s=timeout_s)

        return Pages(fetch, request, start)


def _add(request: dict[str, Any], **parameters: object) -> None:
    """Those that are given."""
    request.update({name: value for name, value in parameters.items() if value is not None})


def _add_condition(
    request: dict[str, Any],
    condition: str | None,
    names: Mapping[str, str] | None,
    values: Mapping[str, object] | None,
    returning: str | None,
    returning_on_failure: str | None,
) -> None:
    _add(
        request,
        ConditionExpression=condition,
        ExpressionAttributeNames=names,
        ExpressionAttributeValues=None if values is None else attributes_of(values),
        ReturnValues=returning,
        ReturnValuesOnConditionCheckFailure=returning_on_failure,
    )


def _item(answer: dict[str, Any], name: str) -> Item | None:
    found = answer.get(name)
    return None if found is None else item_of(found)
