"""The seam by streams: commands to the nodes of a cluster, with deadlines and retries.

Who leads a group is guessed, from what nodes have said and by trying, and a wrong guess costs one round trip. A write has a
request id, under which it takes effect once, so it is asked for again until somebody knows what became of it, or the
deadline has come. Then its caller is told that we failed, which is what DynamoDB would say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Any, Protocol

from msgspec.structs import replace

from gramme.codec.frame import REQUEST_ID_BYTES
from gramme.codec.news import News
from gramme.commands import (
    Administration,
    AlterTable,
    Command,
    CreateTable,
    Delete,
    DeleteTable,
    Found,
    Get,
    GetTotals,
    Page,
    Put,
    Query,
    Scan,
    Totals,
    Write,
    WriteAll,
    Written,
)
from gramme.errors import (
    InternalServerError,
    NotLeader,
    OutcomeUnknown,
    ResourceNotFound,
    StalePartition,
    Throttling,
    Unavailable,
)
from gramme.links.api import Dial
from gramme.model.table import Table, TableRecord
from gramme.partitions import Partition
from gramme.router.node_link import ANSWER_S, NodeLink
from gramme.router.refresh import Refresh

# As long as an SDK waits before it gives a request up, or a little less.
DEADLINE_S = 10.0
ID_COUNTER_BYTES = 6
# Between two rounds of asking everybody who might lead.
PAUSE_S = 0.03
PAUSE_S_MAX = 0.25
# Followed one after the other before somebody else is asked.
HINTS_MAX = 2


class Learner(Protocol):
    """Whoever keeps the tables that the nodes tell of."""

    def learn(self, news: News) -> None:
        """Take what has changed. All tables that are gone are named."""
        ...


class RemoteNodes:
    """`Nodes` over links. `learner` is given every piece of news that is not older than the last.

    News of changes suit whatever is known here: of all that was before, who tells them has told the same router, by news that
    were taken or older than what was known, or has heard from it that it knows.
    """

    def __init__(self, random: Random, learner: Learner) -> None:
        self._random = random
        self._learner = learner
        self._news: asyncio.Event = asyncio.Event()
        self._records: dict[int, TableRecord] = {}
        self._links: dict[int, NodeLink] = {}
        self._refresh: Refresh | None = None
        self._news_index = -1
        self._placement: dict[int, list[int]] = {}
        # Request ids are those of this process, numbered.
        self._id_prefix = random.randbytes(REQUEST_ID_BYTES - ID_COUNTER_BYTES)
        self._requests = 0
        self._leaders: dict[int, int] = {}
        # The newest term of each group that a node has told of. Writes are meant for it.
        self._terms: dict[int, int] = {}
        # Told why, if nobody can be reached and somebody does not want this router.
        self.on_refused: Callable[[str], None] = lambda why: None

    def dial(self, addresses: Sequence[str], dial: Dial) -> None:
        """Nodes are numbered by their place in `addresses`, from 1 on, in the whole cluster alike."""
        for number, address in enumerate(addresses, start=1):
            link = self._links[number] = NodeLink(number, self._learn, self._look_for_refusals)
            link.link = dial.dial(address, link)
        self._refresh = Refresh(self._random, list(self._links.values()), lambda: self._news_index)
        self._refresh.begin()

    def close(self) -> None:
        """Ask for no more news. The links are their dialler's to close."""
        if self._refresh is not None:
            self._refresh.close()

    def _look_for_refusals(self) -> None:
        links = self._links.values()
        downs = [(link.number, link.down) for link in links if link.down is not None]
        if len(downs) == len(links):
            for number, down in downs:
                if down.refused:
                    self.on_refused(f"node {number} refuses this router: {down.reason}")
                    return

    def _learn(self, news: News) -> None:
        if news.index < self._news_index:
            return
        self._news_index = news.index
        gone = news.gone
        if news.is_all:
            there = {record.table.id for record in news.records}
            gone = [id for id in self._records if id not in there]
        for id in gone:
            self._place(self._records.pop(id, None), None)
        for record in news.records:
            self._place(self._records.get(record.table.id), record)
            self._records[record.table.id] = record
        self._learner.learn(replace(news, gone=gone, is_all=False))
        self._news.set()
        self._news = asyncio.Event()

    def _place(self, before: TableRecord | None, now: TableRecord | None) -> None:
        placement = {} if now is None else now.placement
        for group in () if before is None else before.placement:
            if group not in placement:
                for known in (self._placement, self._leaders, self._terms):
                    known.pop(group, None)
        for group, placed in placement.items():
            self._placement[group] = list(placed.values())

    # Nodes

    async def get(self, partition: Partition, get: Get) -> Found:
        found: Found = await self._ask(partition, get.consistent, get)
        return found

    async def write(self, partition: Partition, write: Write) -> Written:
        written: Written = await self._ask(partition, True, write, self._new_id())
        return written

    async def query(self, partition: Partition, query: Query) -> Page:
        page: Page = await self._ask(partition, query.consistent, query)
        return page

    async def scan(self, partition: Partition, scan: Scan) -> Page:
        page: Page = await self._ask(partition, scan.consistent, scan)
        return page

    async def write_all(
        self, writes: Sequence[tuple[Partition, Put | Delete]]
    ) -> list[Written | Throttling]:
        places: dict[int, tuple[Partition, list[int]]] = {}
        for position, (partition, _) in enumerate(writes):
            places.setdefault(partition.group, (partition, []))[1].append(position)
        answers: dict[int, Written | Throttling] = {}

        async def of_partition(partition: Partition, positions: list[int]) -> None:
            command = WriteAll([writes[position][1] for position in positions])
            try:
                done = await self._ask(partition, True, command, self._new_id())
            except Throttling as refusal:
                answers.update(dict.fromkeys(positions, refusal))
            else:
                answers.update(zip(positions, done.answers(), strict=True))

        await self._side_by_side([of_partition(*place) for place in places.values()])
        return [answers[position] for position in range(len(writes))]

    async def totals(self, partitions: Sequence[Partition]) -> Totals:
        found: list[Totals] = []

        async def of_partition(partition: Partition) -> None:
            # An index that has just been removed has nothing any more.
            with suppress(ResourceNotFound):
                found.append(await self._ask(partition, False, GetTotals()))

        await self._side_by_side([of_partition(partition) for partition in partitions])
        return _sum(found)

    async def administer(self, command: Administration) -> Table:
        give_up_at = asyncio.get_running_loop().time() + DEADLINE_S
        table: Table = await self._try(
            list(self._links),
            META,
            lambda link: link.administer(command),
            once=True,
        )
        await asyncio.get_running_loop().create_task(self._heard_of(command, table, give_up_at))
        return table

    async def _heard_of(self, command: Administration, table: Table, give_up_at: float) -> None:
        """Wait until this router knows of what it has done: its caller will ask it next."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(give_up_at):
                while not self._shows(command, table):
                    await self._news.wait()

    def _shows(self, command: Administration, table: Table) -> bool:
        record = self._records.get(table.id)
        known = None if record is None else record.table
        match command:
            case CreateTable():
                return known is not None
            case AlterTable():
                # An index may have gone on to its next phase already.
                return known != command.expected
            case DeleteTable():
                return known is None

    # How it is asked

    def _new_id(self) -> bytes:
        self._requests += 1
        return self._id_prefix + self._requests.to_bytes(ID_COUNTER_BYTES)

    async def _ask(
        self, partition: Partition, strong: bool, command: Command, id: bytes = b""
    ) -> Any:
        group = partition.group
        nodes = self._placement.get(group)
        if nodes is None:
            raise ResourceNotFound
        if not strong and len(nodes) > 1:
            nodes = self._random.sample(nodes, len(nodes))

        first = bool(id)

        def ask(link: NodeLink) -> asyncio.Future[Any]:
            nonlocal first
            term = self._terms.get(group, 0) if id else 0
            is_first, first = first, False
            return link.calls.ask(group, partition.epoch, strong, command, id, term, first=is_first)

        return await self._try(nodes, group, ask, strong=strong, writes=bool(id))

    async def _try(
        self,
        nodes: Sequence[int],
        group: int,
        ask: Callable[[NodeLink], asyncio.Future[Any]],
        *,
        strong: bool = True,
        writes: bool = False,
        once: bool = False,
    ) -> Any:
        """Ask one after the other until one answers; if it must be the group's leader, who that was last time first.

        `writes` tells that it may have been done, by somebody who did not say so, when another one refuses it for now.
        """
        loop = asyncio.get_running_loop()
        give_up_at, pause_s = loop.time() + DEADLINE_S, PAUSE_S
        turn = hints = 0
        unknown = False
        hint = self._leaders.get(group, 0) if strong else 0
        while True:
            number = hint or nodes[turn % len(nodes)]
            hint = 0
            link = self._links.get(number)
            if link is not None and link.serves:
                term = self._terms.get(group, 0)
                try:
                    asked = ask(link)
                    if (turn or hints) and give_up_at - loop.time() < ANSWER_S:
                        loop.call_at(give_up_at, _no_answer, asked)
                    answer = await asked
                except NotLeader as refusal:
                    hints += 1
                    self._terms[group] = max(refusal.term, self._terms.get(group, 0))
                    # While leaders change, two nodes may each take the other one for it.
                    if hints <= HINTS_MAX and (refusal.hint != number or refusal.term > term):
                        hint = refusal.hint
                except (Unavailable, StalePartition):
                    pass
                except Throttling:
                    if not unknown:
                        raise
                except OutcomeUnknown:
                    if once:
                        raise InternalServerError from None
                    unknown = writes
                else:
                    if strong:
                        self._leaders[group] = number
                    return answer
            if self._leaders.get(group) == number:
                del self._leaders[group]
            if group != META and group not in self._placement:
                # The table, or the index, was deleted meanwhile.
                raise ResourceNotFound
            if loop.time() >= give_up_at:
                raise InternalServerError
            if not hint:
                turn += 1
                hints = 0
                if not turn % len(nodes):
                    await asyncio.sleep(pause_s)
                    pause_s = min(2 * pause_s, PAUSE_S_MAX)

    async def _side_by_side(self, asking: Sequence[Any]) -> None:
        if len(asking) == 1:
            await asking[0]
            return

        async def all_of_them() -> None:
            try:
                async with asyncio.TaskGroup() as tasks:
                    for one in asking:
                        tasks.create_task(one)
            except BaseExceptionGroup as errors:
                # All of them failed for one reason: the first one's is as good as any.
                raise errors.exceptions[0] from None

        # Whoever calls may be no task, which a TaskGroup needs.
        await asyncio.get_running_loop().create_task(all_of_them())


META = 0


def _no_answer(asked: asyncio.Future[Any]) -> None:
    """The deadline of a request has come."""
    if not asked.done():
        asked.set_exception(OutcomeUnknown("no answer came before the deadline"))


def _sum(found: Sequence[Totals]) -> Totals:
    local: list[Totals] = []
    for totals in found:
        for position, of_index in enumerate(totals.local):
            if position == len(local):
                local.append(Totals(0, 0))
            known = local[position]
            local[position] = Totals(
                known.item_count + of_index.item_count, known.item_bytes + of_index.item_bytes
            )
    return Totals(
        sum(totals.item_count for totals in found),
        sum(totals.item_bytes for totals in found),
        tuple(local),
    )
