"""The ledger of whole clusters: groups come and go as meta says, and answers are seen where nodes give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from gramme.codec.frame import Answer, Request
from gramme.commands import Delete, Found, Get, Put, Update, Written
from gramme.errors import ConditionalCheckFailed
from gramme.node.engine.api import Family
from gramme.node.engine.keyspace import decode_settings, log_position_key, settings_key, token_bound
from gramme.node.group_log import GroupLog, Position, load_position
from gramme.node.meta import META_GROUP
from gramme.node.raft.messages import AppendEntries, Heartbeat, Message
from tests.support.ledger import GroupLedger, Ledger, Violation, value_in
from tests.support.simulated_disk import Batch, SimulatedDisk

_GROUP_BYTES = 8


class Member(Protocol):
    """A node, as this module sees it."""

    number: int
    name: str
    disk: SimulatedDisk


class WholeLedger(Ledger):
    def __init__(self, members: Mapping[int, Member]) -> None:
        super().__init__(self._disk)
        self._members = members
        # Where each replica is, or was; and the disks that were taken away.
        self.homes: dict[tuple[int, int], int] = {}
        self.wiped: dict[tuple[int, int], SimulatedDisk] = {}
        # Requests whose deletes were answered: an answer may be given again.
        self._deleted: set[bytes] = set()

    def wrote_by(self, member: Member, batch: Batch) -> None:
        """A node has written."""
        dropped: dict[int, None] = {}
        for family, key, value in batch:
            if family is not Family.RAFT or len(key) < _GROUP_BYTES:
                continue
            group = int.from_bytes(key[:_GROUP_BYTES])
            if key == log_position_key(group):
                if value is None:
                    dropped[group] = None
                else:
                    dropped.pop(group, None)
                    self._place(member, group, value)
        for group in dropped:
            if group in self.groups:
                self.groups[group].gone = True
        self.wrote(member, batch)

    def _place(self, member: Member, group: int, raw: bytes) -> None:
        position = msgspec.msgpack.decode(raw, type=Position)
        if group not in self.groups:
            founded = self.groups[group] = self._founded(member, group, position)
            founded.last_committed = position.index
        home = self.homes.setdefault((group, position.replica), member.number)
        if home != member.number or (group, position.replica) in self.wiped:
            raise Violation(f"{member.name} has replica {position.replica} of group {group} again")

    def _founded(self, member: Member, group: int, position: Position) -> GroupLedger:
        self.counts["groups"] += 1
        if group == META_GROUP:
            return GroupLedger(position.configuration, None)
        raw = member.disk.get(Family.RAFT, settings_key(group))
        assert raw is not None
        settings = decode_settings(raw)
        index = None if settings.index is None else settings.table.index(settings.index)
        table = settings.table.id if index is None else index.id
        bounds = token_bound(table, settings.start), token_bound(table, settings.last + 1)
        return GroupLedger(position.configuration, bounds, has_items=index is None)

    def wipe(self, member: Member) -> None:
        """A disk is taken away."""
        for (group, replica), home in self.homes.items():
            if home == member.number:
                self.wiped.setdefault((group, replica), member.disk)

    def resumed(self, member: Member) -> None:
        """A node begins with what its disk has."""
        for (number, replica), home in self.homes.items():
            if home == member.number:
                # It may have lost its first rows, too, before it had flushed them, and be founded again.
                self.groups[number].applied.pop(replica, None)
        for number, group in self.groups.items():
            position = load_position(member.disk, number)
            if position is None or group.gone:
                continue
            group.applied[position.replica] = position.index
            committed = GroupLog(member.disk, number).hard_state().commit
            if committed > group.last_committed:
                raise Violation(
                    f"group {number} restarts at {committed}, ahead of what is committed"
                )

    def heard(self, messages: list[tuple[int, Message]]) -> None:
        for number, message in messages:
            if isinstance(message, AppendEntries | Heartbeat) and number in self.groups:
                self.claimed(number, message.term, message.sender)

    def answering(
        self, request: Request, answer: Callable[[Answer], None]
    ) -> Callable[[Answer], None]:
        """Look at the answer to a request before it is given."""
        group, command = self.groups.get(request.group), request.command
        if (
            group is None
            or not group.has_items
            or not isinstance(command, Get | Put | Update | Delete)
        ):
            return answer
        key = command.key

        def checked(given: Answer) -> None:
            if isinstance(given.error, ConditionalCheckFailed):
                self.showed(request.group, key, value_in(given.error.item))
            elif isinstance(given.result, Found):
                self.showed(request.group, key, value_in(given.result.item))
            elif isinstance(given.result, Written) and not isinstance(command, Get):
                self._answered(request, command, given.result)
            answer(given)

        return checked

    def _answered(self, request: Request, command: Put | Update | Delete, written: Written) -> None:
        value = None
        effective = True
        match command:
            case Put():
                value = value_in(command.item)
            case Update():
                value = command.values[":v"]["S"]
            case Delete():
                effective = written.old_size > 0 and request.id not in self._deleted
                self._deleted.add(request.id)
        self.wrote_and_answered(request.group, command.key, value, effective=effective)

    def _disk(self, group: int, replica: int) -> SimulatedDisk | None:
        wiped = self.wiped.get((group, replica))
        if wiped is not None:
            return wiped
        home = self.homes.get((group, replica))
        return None if home is None else self._members[home].disk
