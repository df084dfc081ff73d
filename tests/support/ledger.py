"""What a simulated cluster must never do, checked whenever something is written, led or answered.

The ledger sees every write to every disk, and asks the disks what of it is durable. From the first replica that applies
an entry it knows what is committed, and holds all others to it.

    order           the terms of a log never fall
    one leader      a group and a term have one leader
    committed       an entry is applied only when a majority of the voters has it durably
    agreement       at one index all replicas apply the same entry
    once            no write takes effect twice
    succession      the state after an entry follows from the state after the one before
    sums            the rows of a replica have the checksum and the totals that its state says
    answers         a write is answered when it is applied and a majority has it durably; a read shows what was committed
    neighbours      a configuration and the next one differ by one member
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import NamedTuple, Protocol
from zlib import crc32

import msgspec
import orjson

from gramme.codec.item import body_of
from gramme.node.apply import Sums
from gramme.node.consensus import Consensus
from gramme.node.engine.api import Family, Row
from gramme.node.engine.keyspace import (
    ReplicaState,
    decode_state,
    log_base_key,
    log_entry_key,
    state_key,
    table_prefix,
)
from gramme.node.group_log import Position, decode_operations
from gramme.node.raft.messages import Configuration, EntryKind, decode_membership
from gramme.node.raft.quorum import majority
from gramme.node.raft.ready import Role
from gramme.node.table_records import EMPTY_STATE
from tests.support.simulated_disk import Batch, SimulatedDisk

_HEAD_BYTES = 9
# What the id of a table takes of an item's key.
TABLE_BYTES = len(table_prefix(1))
_GROUP_BYTES = 8
_STATE, _POSITION, _BASE, _ENTRY = 0, 5, 7, 8

# Index and term of an entry of the log.
Place = tuple[int, int]


# The key of an item, without its table's, and its value.
Item = tuple[bytes, str | None]


class Node(Protocol):
    """What has a disk, as this module sees it."""

    name: str
    disk: SimulatedDisk


class Opened(Protocol):
    """A replica at work, as this module sees it."""

    group: int
    consensus: Consensus

    @property
    def id(self) -> int: ...


class Violation(AssertionError):
    """An invariant does not hold."""


class Seen(NamedTuple):
    """An entry: a hash of all of it, and what it does."""

    mark: int
    items: list[Item]
    state: ReplicaState | None
    configuration: Configuration | None


class GroupLedger:
    """What is known of one group. Its rows are in `bounds`; whether these are items of clients says `has_items`."""

    def __init__(
        self,
        configuration: Configuration,
        bounds: tuple[bytes, bytes] | None,
        *,
        has_items: bool = True,
    ) -> None:
        self.bounds = bounds
        self.has_items = has_items and bounds is not None
        # Its table was deleted: replicas that lag may go on for a while, and nobody keeps their log.
        self.gone = False
        self.leaders: dict[int, int] = {}
        # Of every committed entry its term, and a hash of all of it.
        self.committed: dict[int, tuple[int, int]] = {}
        self.last_committed = 0
        self.state = EMPTY_STATE
        # Committed ones, and those that are or were in some log.
        self.configurations: list[tuple[int, Configuration]] = [(0, configuration)]
        self.proposed: dict[int, Configuration] = {}
        # Every entry that is or was in some log, and where those are that write an item.
        self.seen: dict[Place, Seen] = {}
        self.places: dict[Item, list[Place]] = {}
        # What each key has had, by what was committed.
        self.past: defaultdict[bytes, set[str | None]] = defaultdict(lambda: {None})
        self.deletes: Counter[bytes] = Counter()
        self.deletes_answered: Counter[bytes] = Counter()
        # How far each replica has applied the log, in its present life.
        self.applied: dict[int, int] = {}
        # What state the rows are in, by its own index.
        self.states: dict[int, int] = {}


class Ledger:
    """`disk_of` gives the disk with the replica of this id, as it last was if it is gone."""

    def __init__(self, disk_of: Callable[[int, int], SimulatedDisk | None]) -> None:
        self.groups: dict[int, GroupLedger] = {}
        self.counts: Counter[str] = Counter()
        self._disk_of = disk_of

    # What nodes tell

    def opened(self, replica: Opened) -> None:
        group = self.groups[replica.group]
        position = replica.consensus.position
        group.applied[replica.id] = position.index
        raft = replica.consensus.raft
        held = raft.log.committed
        if held > group.last_committed:
            raise Violation(
                f"group {replica.group} restarts at {held}, ahead of all that is committed"
            )
        terms = [
            raft.log.term(index) for index in range(raft.log.first_index, raft.log.last_index + 1)
        ]
        if terms != sorted(terms):
            raise Violation(f"group {replica.group}: the terms fall in the log of {replica.id}")

    def led(self, replica: Opened) -> None:
        raft = replica.consensus.raft
        if raft.role is Role.LEADER:
            self.claimed(replica.group, raft.term, replica.id)

    def claimed(self, number: int, term: int, replica: int) -> None:
        """A replica says that it leads this term."""
        leaders = self.groups[number].leaders
        if term not in leaders:
            self.counts["leaders"] += 1
        leader = leaders.setdefault(term, replica)
        if leader != replica:
            raise Violation(f"group {number}: {leader} and {replica} both lead term {term}")

    def wrote(self, node: Node, batch: Batch) -> None:
        positions: dict[int, bytes] = {}
        bases: dict[int, int] = {}
        for family, key, value in batch:
            if family is not Family.RAFT or value is None:
                continue
            kind = key[_GROUP_BYTES]
            if kind == _ENTRY:
                self._in_log(int.from_bytes(key[:8]), int.from_bytes(key[9:]), value)
            elif kind == _POSITION:
                positions[int.from_bytes(key[:8])] = value
            elif kind == _BASE:
                bases[int.from_bytes(key[:8])] = int.from_bytes(value[:8])
                self.counts["compactions"] += 1
        for number, raw in positions.items():
            if self.groups[number].gone:
                continue
            position = msgspec.msgpack.decode(raw, type=Position)
            if bases.get(number) == position.index > 0:
                self._installed(node, number, position)
            else:
                self._moved(node, number, position)

    def _in_log(self, number: int, index: int, raw: bytes) -> None:
        """An entry stands in somebody's log."""
        group = self.groups[number]
        term, mark = int.from_bytes(raw[:8]), crc32(raw)
        known = group.seen.get((index, term))
        if known is None:
            seen = group.seen[index, term] = _read(number, group, raw, mark)
            if seen.configuration is not None:
                group.proposed[index] = seen.configuration
            for written in seen.items:
                group.places.setdefault(written, []).append((index, term))
        elif known.mark != mark:
            raise Violation(f"group {number} has two entries {index} of term {term}")

    def _moved(self, node: Node, number: int, position: Position) -> None:
        """A replica has applied its log up to `position`."""
        group = self.groups[number]
        before = group.applied.get(position.replica, 0)
        if position.index < before:
            raise Violation(
                f"replica {position.replica} of group {number} went from {before} to {position.index}"
            )
        group.applied[position.replica] = position.index
        for index in range(before + 1, position.index + 1):
            raw = node.disk.get(Family.RAFT, log_entry_key(number, index))
            if raw is None:
                raise Violation(f"{node.name} applied entry {index}, which its log has not got")
            self._applied(number, index, raw)
        self._check_state(node, number)

    def _installed(self, node: Node, number: int, position: Position) -> None:
        """A snapshot has taken the place of all that a replica had."""
        group = self.groups[number]
        before = group.applied.get(position.replica, 0)
        if not before < position.index <= group.last_committed:
            raise Violation(f"group {number}: a snapshot of {position.index} replaces {before}")
        group.applied[position.replica] = position.index
        self._check_state(node, number)

    def _applied(self, number: int, index: int, raw: bytes) -> None:
        group = self.groups[number]
        entry = int.from_bytes(raw[:8]), crc32(raw)
        if index > group.last_committed:
            if index != group.last_committed + 1:
                raise Violation(f"group {number}: entry {index} is applied before those before it")
            if not self._durable(number, index, entry[0]):
                raise Violation(
                    f"group {number}: entry {index} of term {entry[0]} is applied, "
                    "and no majority has it durably"
                )
            group.committed[index] = entry
            group.last_committed = index
            self._commit(number, index, group.seen[index, entry[0]])
        elif group.committed[index] != entry:
            raise Violation(
                f"group {number}: entry {index} is of term {group.committed[index][0]} on one "
                f"replica and of term {entry[0]} on another"
            )

    def _commit(self, number: int, index: int, entry: Seen) -> None:
        group = self.groups[number]
        self.counts["entries"] += 1
        if entry.configuration is not None:
            _check_neighbours(number, group.configurations[-1][1], entry.configuration)
            group.configurations.append((index, entry.configuration))
            self.counts["configurations"] += 1
        for key, value in entry.items:
            if value is not None and value in group.past[key]:
                raise Violation(f"group {number}: {value} is written twice")
            group.past[key].add(value)
            group.deletes[key] += value is None
        before, state = group.state, entry.state
        if state is None:
            return
        if (
            state.index != before.index + 1
            or state.term < before.term
            or state.clock < before.clock
        ):
            raise Violation(f"group {number}: at {index} {state} follows {before}")
        group.state = state

    # What clients are told

    def wrote_and_answered(
        self, number: int, key: bytes, value: str | None, *, effective: bool
    ) -> None:
        """A write of `value` is being answered."""
        group = self.groups[number]
        if not effective:
            return
        if value is None:
            group.deletes_answered[key] += 1
            if group.deletes_answered[key] > group.deletes[key]:
                raise Violation(f"group {number}: a delete of {key!r} is answered, not applied")
            return
        for index, term in group.places.get((key, value), ()):
            entry = group.committed.get(index)
            if entry is not None and entry[0] == term:
                if not self._durable(number, index, term):
                    raise Violation(f"group {number}: {value} is answered, and not durable")
                return
        raise Violation(f"group {number}: {value} is answered, and not committed")

    def showed(self, number: int, key: bytes, value: str | None) -> None:
        """A read, or a condition that failed, shows `value`."""
        if value not in self.groups[number].past[key]:
            raise Violation(f"group {number}: a reader is shown {value}, which is not committed")

    # What the disks say

    def _durable(self, number: int, index: int, term: int) -> bool:
        """Whether a majority has this entry, by the configuration it was proposed under or by a later one."""
        group = self.groups[number]
        in_force = next(c for at, c in reversed(group.configurations) if at <= index)
        later = [c for at, c in group.proposed.items() if at >= index]
        return any(
            sum(self._holds(number, voter, index, term) for voter in configuration.voters)
            >= majority(len(configuration.voters))
            for configuration in [in_force, *later]
        )

    def _holds(self, number: int, replica: int, index: int, term: int) -> bool:
        disk = self._disk_of(number, replica)
        if disk is None:
            return False
        raw = disk.durable(Family.RAFT, log_entry_key(number, index))
        if raw is not None:
            return int.from_bytes(raw[:8]) == term
        base = disk.durable(Family.RAFT, log_base_key(number))
        return base is not None and int.from_bytes(base[:8]) >= index

    def _check_state(self, node: Node, number: int) -> None:
        """The state that stands beside the rows is the one that everybody has after as many entries."""
        raw = node.disk.get(Family.RAFT, state_key(number))
        assert raw is not None
        state = decode_state(raw)
        group = self.groups[number]
        known = group.states.setdefault(state.index, crc32(raw))
        if known != crc32(raw):
            raise Violation(
                f"group {number}: {node.name} has another state at {state.index}: {state}"
            )

    def check_rows(self, node: Node, number: int) -> None:
        """The rows are those that the state sums up."""
        bounds = self.groups[number].bounds
        if bounds is None:
            return
        raw = node.disk.get(Family.RAFT, state_key(number))
        assert raw is not None
        state = decode_state(raw)
        sums = Sums(EMPTY_STATE)
        for key, value in node.disk.scan(Family.ITEM, *bounds):
            sums.replace(None, Row(Family.ITEM, key, value))
        found = sums.checksum, sums.item_count, sums.item_bytes
        if found != (state.checksum, state.item_count, state.item_bytes):
            raise Violation(
                f"group {number}: the rows of {node.name} sum up to {found}, not {state}"
            )


def _read(number: int, group: GroupLedger, raw: bytes, mark: int) -> Seen:
    if raw[8] == EntryKind.CONFIGURATION:
        return Seen(mark, [], None, decode_membership(raw[_HEAD_BYTES:]).configuration)
    items: list[Item] = []
    state = None
    for operation in decode_operations(raw[_HEAD_BYTES:]):
        if isinstance(operation, Row):
            if operation.family is Family.ITEM and group.has_items:
                items.append((operation.key[TABLE_BYTES:], value_of(operation.value)))
            elif operation.key == state_key(number) and operation.value is not None:
                state = decode_state(operation.value)
    return Seen(mark, items, state, None)


def value_of(stored: bytes | None) -> str | None:
    return None if stored is None else value_in(body_of(stored))


def value_in(body: bytes | None) -> str | None:
    """The value in an item's JSON."""
    return None if body is None else str(orjson.loads(body)["v"]["S"])


def _check_neighbours(number: int, old: Configuration, new: Configuration) -> None:
    voters = set(old.voters) ^ set(new.voters)
    if len(voters) > 1:
        raise Violation(f"group {number}: {new} follows {old}")
