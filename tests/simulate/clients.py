"""Clients of a simulated cluster, and the router that they share.

A write whose outcome nobody knows is recorded as such and never sent again: what takes effect once only when it is repeated
is not built yet. What was certainly not done is tried again until its deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import orjson

from gramme.commands import Delete, Found, Get, Put, Update, Write, Written
from gramme.errors import ConditionalCheckFailed, NotLeader, OutcomeUnknown, Throttling
from gramme.expressions.placeholders import Placeholders
from tests.simulate.plan import OPERATIONS_MIN, Plan
from tests.support.cluster import Cluster
from tests.support.ledger import value_in
from tests.support.operations import Action, Done, Read, Recorder, Refused, Saw, Swap
from tests.support.operations import Write as Written_
from tests.support.simulated_node import SimulatedNode
from tests.unit.node.fixtures import key_of

# Some wait longer than an election takes: they hear what a leader says that was replaced meanwhile.
ATTEMPT_S = (0.5, 1.0, 5.0)
DEADLINE_S = 4.0
BACK_OFF_S = (0.02, 0.2)
DELAY_S = (0.0002, 0.003)
STORM_PERIOD_S = 15.0

Work = Callable[[SimulatedNode], Coroutine[Any, Any, object]]


class Unreached(Exception):
    """Nothing was done: there is no such process just now."""


class TimedOut(Exception):
    """No answer came."""


class Router:
    """Sends a request to the node that its client believes to lead the group, and follows what it is told."""

    def __init__(self, cluster: Cluster, random: Random, loss: float) -> None:
        self.loss = loss
        self._cluster = cluster
        self._random = random
        # By client, so that not all of them hear at once who leads now.
        self._leaders: dict[tuple[str, int], int] = {}

    async def ask(self, client: str, group: int, work: Work) -> object:
        """Return the answer, or the error that the last attempt ended with."""
        loop, known = self._cluster.loop, (client, group)
        deadline = loop.time() + DEADLINE_S
        while True:
            number = self._leaders.setdefault(known, self._any())
            result = await self._attempt(number, work)
            if isinstance(result, TimedOut):
                del self._leaders[known]
            if not isinstance(result, NotLeader | Unreached | Throttling):
                return result
            if not isinstance(result, Throttling):
                self._leaders[known] = getattr(result, "hint", 0) or self._any()
            back_off_s = self._random.uniform(*BACK_OFF_S)
            if loop.time() + back_off_s > deadline:
                return result
            await asyncio.sleep(back_off_s)

    async def ask_anybody(self, work: Work) -> object:
        return await self._attempt(self._any(), work)

    def _any(self) -> int:
        return self._random.choice(list(self._cluster.nodes))

    def _attempt(self, number: int, work: Work) -> asyncio.Future[object]:
        loop = self._cluster.loop
        reply: asyncio.Future[object] = loop.create_future()
        loop.call_later(self._random.uniform(*DELAY_S), self._arrive, number, work, reply)
        loop.call_later(self._random.choice(ATTEMPT_S), _settle, reply, TimedOut())
        return reply

    def _arrive(self, number: int, work: Work, reply: asyncio.Future[object]) -> None:
        node = self._cluster.nodes[number]
        if not node.up:
            self._leave(reply, Unreached())
        elif self._random.random() >= self.loss:
            node.serve(lambda: work(node), lambda result: self._leave(reply, result))

    def _leave(self, reply: asyncio.Future[object], result: object) -> None:
        if self._random.random() >= self.loss:
            delay_s = self._random.uniform(*DELAY_S)
            self._cluster.loop.call_later(delay_s, _settle, reply, result)


def _settle(reply: asyncio.Future[object], result: object) -> None:
    if not reply.done():
        reply.set_result(result)


class Clients:
    """Everything that is asked in a run, and the history that comes of it."""

    def __init__(self, cluster: Cluster, plan: Plan, random: Random) -> None:
        self.recorder = Recorder()
        self.router = Router(cluster, random, plan.loss)
        self._cluster = cluster
        self._plan = plan
        self._random = random
        self.asked = 0
        self._values = 0
        # What was last heard of a key: a condition that names it has a good chance to hold.
        self._heard: dict[tuple[int, str], str | None] = {}

    async def run(self, name: str, until: float) -> None:
        """Be one client until that time."""
        random, loop = self._random, self._cluster.loop
        await asyncio.sleep(random.uniform(0, 1))
        actions = [self._put, self._update, self._delete, self._create, self._swap, self._drop]
        weights = [20, 10, 8, 12, 18, 6]
        while loop.time() < until or self.asked < OPERATIONS_MIN:
            self.asked += 1
            group = random.choice(self._cluster.groups)
            id = f"k{random.randrange(self._plan.keys)}"
            if random.random() < 0.35:
                await self.read(name, group, id, strong=random.random() < 0.7)
            else:
                act = random.choices(actions, weights)[0]
                await self._write(name, group, id, *act(group, id))
            await asyncio.sleep(self._pause_s())

    def _pause_s(self) -> float:
        """Now and then everybody asks at once, without a pause."""
        into_period_s = self._cluster.loop.time() % STORM_PERIOD_S
        if into_period_s < self._plan.storm_s:
            return self._random.choice([0.0, 0.01])
        return self._random.uniform(0, 2) * self._plan.think_s

    # What they ask

    def _put(self, group: int, id: str) -> tuple[Action, Write]:
        value, body = self._body(id)
        return Written_(value), Put(key_of(id), body, len(body))

    def _update(self, group: int, id: str) -> tuple[Action, Write]:
        value = self._value()
        key_item = {"id": {"S": id}}
        update = Update(key_of(id), key_item, UPDATE, values={":v": {"S": value}})
        return Written_(value), update

    def _delete(self, group: int, id: str) -> tuple[Action, Write]:
        return Written_(None), Delete(key_of(id))

    def _create(self, group: int, id: str) -> tuple[Action, Write]:
        value, body = self._body(id)
        put = Put(key_of(id), body, len(body), ABSENT, show_item_on_failure=True)
        return Swap(None, value), put

    def _swap(self, group: int, id: str) -> tuple[Action, Write]:
        expected = self._heard.get((group, id))
        if expected is None:
            return self._create(group, id)
        value, body = self._body(id)
        values = {":v": {"S": expected}}
        put = Put(key_of(id), body, len(body), EQUAL, values, show_item_on_failure=True)
        return Swap(expected, value), put

    def _drop(self, group: int, id: str) -> tuple[Action, Write]:
        expected = self._heard.get((group, id))
        if expected is None:
            return self._delete(group, id)
        values = {":v": {"S": expected}}
        return Swap(expected, None), Delete(key_of(id), EQUAL, values, show_item_on_failure=True)

    def _value(self) -> str:
        self._values += 1
        return f"v{self._values}"

    def _body(self, id: str) -> tuple[str, bytes]:
        value = self._value()
        item = {"id": {"S": id}, "v": {"S": value}}
        if self._plan.padding_bytes:
            item["p"] = {"S": "p" * self._random.randrange(self._plan.padding_bytes)}
        return value, orjson.dumps(item)

    # What they are told

    async def read(self, name: str, group: int, id: str, *, strong: bool) -> bool:
        """Returns whether there was an answer."""
        counts, ledger = self._cluster.counts, self._cluster.ledger
        key = key_of(id)

        async def work(node: SimulatedNode) -> object:
            found = await _replica(node, group).get(Get(key, strong))
            ledger.showed(group, key, value_in(found.item))
            return found

        number = self.recorder.asked(name, (group, id), Read()) if strong else None
        ask = self.router.ask(name, group, work) if strong else self.router.ask_anybody(work)
        result = await ask
        if not isinstance(result, Found):
            self.asked -= 1
            _expect(result, NotLeader, Unreached, TimedOut, Throttling)
            counts["reads without answer"] += 1
            if number is not None:
                self.recorder.undone(number)
            return False
        value = value_in(result.item)
        if number is not None:
            self.recorder.answered(number, Saw(value))
            self._heard[group, id] = value
        counts["strong reads" if strong else "eventual reads"] += 1
        self._cluster.loop.trace(
            f"{name} {group} {id} {'strong' if strong else 'eventual'}: {value}"
        )
        return True

    async def _write(self, name: str, group: int, id: str, action: Action, write: Write) -> None:
        counts, ledger = self._cluster.counts, self._cluster.ledger
        assert not isinstance(action, Read)
        value = action.value
        assert value is None or isinstance(value, str)

        async def work(node: SimulatedNode) -> object:
            found = node.groups.get(group)
            if found is None:
                raise NotLeader
            try:
                written = await found.replica.write(write)
            except ConditionalCheckFailed as failure:
                ledger.showed(group, write.key, value_in(failure.item))
                raise
            effective = value is not None or written.old_size > 0
            ledger.wrote_and_answered(group, write.key, value, effective=effective)
            return written

        number = self.recorder.asked(name, (group, id), action)
        result = await self.router.ask(name, group, work)
        if isinstance(result, Written):
            self.recorder.answered(number, Done())
            self._heard[group, id] = value
            counts["writes"] += 1
        elif isinstance(result, ConditionalCheckFailed):
            met = value_in(result.item)
            self.recorder.answered(number, Refused(met))
            self._heard[group, id] = met
            counts["conditions that failed"] += 1
        elif isinstance(result, OutcomeUnknown | TimedOut):
            counts["unknown"] += 1
        else:
            _expect(result, NotLeader, Unreached, Throttling)
            self.recorder.undone(number)
            self.asked -= 1
            counts["writes refused"] += 1
        self._cluster.loop.trace(f"{name} {group} {id} {action}: {type(result).__name__}")


def _replica(node: SimulatedNode, group: int) -> Any:
    found = node.groups.get(group)
    if found is None:
        raise NotLeader
    return found.replica


def _expect(result: object, *kinds: type[Exception]) -> None:
    if not isinstance(result, kinds):
        assert isinstance(result, Exception)
        raise result


def _condition(text: str, values: dict[str, Any]) -> Any:
    return Placeholders(None, values or None).condition(text)


ABSENT = _condition("attribute_not_exists(id)", {})
EQUAL = _condition("v = :v", {":v": {"S": ""}})
UPDATE = Placeholders(None, {":v": {"S": ""}}).update("SET v = :v")
