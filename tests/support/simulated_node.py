"""One process of a simulated cluster: the real commit loop, logs and replicas, on a disk and a network that fail.

A node lives from `start` to `crash` and begins again on what its disk has kept. What runs in it and waits, waits through
`wait` and `Network.at`, so that a paused node does nothing until it is resumed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, cast

import msgspec

from gramme.clock import Clock
from gramme.commands import SnapshotRows
from gramme.errors import Unavailable
from gramme.node.commit import CommitLoop
from gramme.node.consensus import Consensus
from gramme.node.engine.api import Family
from gramme.node.engine.keyspace import (
    ReplicaSettings,
    decode_settings,
    decode_state,
    settings_key,
    state_key,
)
from gramme.node.group_log import Position, load_position
from gramme.node.raft.election import Draw
from gramme.node.raft.messages import Message, decode_message, encode_message
from gramme.node.raft.settings import Settings
from gramme.node.replica import Replica
from gramme.node.snapshot_exchange import SnapshotExchange
from gramme.node.snapshots import Range, table_ranges
from gramme.node.transport import Transport
from tests.support.network import Network
from tests.support.simulated_disk import Batch, DiskFailed, SimulatedDisk

# The messages of a frame, each with its group.
_frames = msgspec.msgpack.Decoder(list[tuple[int, bytes]])
_encoder = msgspec.msgpack.Encoder()
TICK_S = 0.1
# Enough turns of the loop for requests to get as far as they can without another node.
CATCH_UP_S = 0.000_1

# Sends a frame from one node to another. False if the link is full.
SendFrame = Callable[[str, str, bytes], bool]
Work = Callable[[], Coroutine[Any, Any, object]]
Answered = Callable[[object], None]


class Watcher(Protocol):
    """Who looks at everything that happens in a node."""

    def opened(self, node: SimulatedNode, replica: GroupReplica) -> None: ...

    def wrote(self, node: SimulatedNode, batch: Batch) -> None: ...

    def led(self, node: SimulatedNode, replica: GroupReplica) -> None: ...

    def settings_of(self, group: int) -> ReplicaSettings: ...

    def installed(self, node: SimulatedNode, group: int) -> None:
        """A snapshot has taken the place of this replica."""
        ...

    async def carry(self, source: int, target: int, group: int, portion: SnapshotRows) -> None:
        """Bring a portion of a snapshot to another node. Raises SeamError."""
        ...

    def failed_in(self, node: SimulatedNode, error: Exception) -> None: ...


def name_of(node: int) -> str:
    return f"n{node}"


def number_of(name: str) -> int:
    return int(name.removeprefix("n"))


class GroupReplica:
    """What a node has of one group."""

    def __init__(self, group: int, consensus: Consensus, replica: Replica) -> None:
        self.group = group
        self.consensus = consensus
        self.replica = replica

    @property
    def id(self) -> int:
        return self.consensus.position.replica


class SimulatedNode:
    """See the module's head."""

    def __init__(
        self,
        number: int,
        disk: SimulatedDisk,
        network: Network,
        send: SendFrame,
        clock: Clock,
        draw: Draw,
        settings: Settings,
        watcher: Watcher,
    ) -> None:
        self.number = number
        self.name = name_of(number)
        self.disk = disk
        self.groups: dict[int, GroupReplica] = {}
        self.up = False
        self.paused = False
        self.tick_s = TICK_S
        self._network = network
        self._send_frame = send
        self._clock = clock
        self._draw = draw
        self._settings = settings
        self._watcher = watcher
        self._life = 0
        # A dictionary, because it has an order.
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._leaving: dict[int, list[tuple[int, bytes]]] = {}
        self._held: list[tuple[Work, Answered]] = []
        self._commits: CommitLoop
        self._snapshots: SnapshotExchange

    # Its life

    def start(self, groups: list[int]) -> None:
        """Begin, or begin again, with those of the groups that its disk has a replica of."""
        assert not self.up
        self._life += 1
        self.up, self.paused = True, False
        self.disk.wait = self._waiting(self._life)
        self.disk.on_write = lambda batch: self._watcher.wrote(self, batch)
        self._commits = CommitLoop(self.disk, lambda problem: None)
        self._snapshots = SnapshotExchange(
            self.disk, self._commits, cast(Transport, Wires(self, self._life)), self
        )
        self._snapshots.tasks = cast(asyncio.TaskGroup, self)
        self.groups = {}
        for group in groups:
            self.open(group)
        self.create_task(self._commits.run())
        self._tick_later(self._life)

    def open(self, group: int) -> None:
        """Begin to work on the replica that the disk has of this group, if it has one."""
        position = load_position(self.disk, group)
        if position is not None and not self._snapshots.is_incomplete(group):
            found = self.groups[group] = self._opened(group, position)
            self._watcher.opened(self, found)

    def _opened(self, group: int, position: Position) -> GroupReplica:
        disk, commits = self.disk, self._commits
        consensus = Consensus(
            disk, commits, group, position, self._send, self._draw, self._settings
        )
        settings = disk.get(Family.RAFT, settings_key(group))
        state = disk.get(Family.RAFT, state_key(group))
        assert settings is not None and state is not None
        replica = Replica(
            disk,
            consensus,
            self._clock,
            decode_settings(settings),
            decode_state(state),
            replicated=True,
        )
        consensus.machine = replica
        opened = GroupReplica(group, consensus, replica)
        consensus.on_leader = lambda: self._watcher.led(self, opened)
        consensus.on_snapshot_due = lambda due: self._snapshots.ship(consensus, due.to)
        return opened

    def crash(self, kept: int = 0) -> None:
        """Die. The disk keeps what was flushed, and the first `kept` writes after that."""
        self.up = self.paused = False
        self._life += 1
        self._leaving, self._held = {}, []
        groups, self.groups = self.groups, {}
        self.disk = self.disk.crash(kept)
        for found in groups.values():
            let_go(found.consensus)
        tasks, self._tasks = self._tasks, {}
        for task in tasks:
            task.cancel()

    def create_task(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something as long as this life lasts."""
        life = self._life

        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.pop(task, None)
            error = None if task.cancelled() else task.exception()
            if isinstance(error, Exception) and life == self._life:
                self._watcher.failed_in(self, error)

        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(ended)

    def _waiting(self, life: int) -> Callable[[float], Awaitable[None]]:
        async def wait(seconds: float) -> None:
            loop = asyncio.get_running_loop()
            over: asyncio.Future[None] = loop.create_future()

            def end() -> None:
                if not over.done():
                    over.set_result(None)

            loop.call_later(seconds, self._at, life, end)
            await over

        return wait

    def _at(self, life: int, event: Callable[[], None]) -> None:
        """Let it happen in this life: now, or when the node is resumed."""

        def in_time() -> None:
            if life == self._life:
                event()

        if life == self._life:
            self._network.at(self.name, in_time)

    # What it is to its snapshots

    def log_of(self, group: int) -> Consensus | None:
        found = self.groups.get(group)
        return None if found is None else found.consensus

    def ranges_of(self, group: int) -> list[Range]:
        return table_ranges(self._watcher.settings_of(group))

    def set_aside(self, group: int) -> None:
        found = self.groups.pop(group, None)
        if found is not None:
            found.consensus.close(Unavailable("set aside"))

    def host(self, group: int) -> None:
        self.open(group)
        self._watcher.installed(self, group)

    async def take(self, group: int, portion: SnapshotRows) -> None:
        """Take a portion of a snapshot that another node sends."""
        await self._snapshots.take(group, portion)

    # What reaches it

    def _tick_later(self, life: int) -> None:
        asyncio.get_running_loop().call_later(self.tick_s, self._tick, life)

    def _tick(self, life: int) -> None:
        if life != self._life:
            return
        # The timers of a stopped process do not add up.
        if not self.paused:
            for found in list(self.groups.values()):
                found.consensus.tick()
        self._tick_later(life)

    def receive(self, source: str, frame: bytes) -> None:
        """Take a frame, as a node takes it: all its messages first, and then what comes of them."""
        stirred: dict[int, GroupReplica] = {}
        for group, raw in _frames.decode(frame):
            found, message = self.groups.get(group), decode_message(raw)
            # What was meant for a replica that was here before is nobody's.
            if found is not None and message.to == found.id:
                found.consensus.hear(number_of(source), message)
                stirred[group] = found
            elif found is None:
                self._snapshots.heard(number_of(source), group, message)
        for found in stirred.values():
            found.consensus.pump()

    def lost_peer(self, peer: str) -> None:
        """The stream to this node broke."""
        for found in list(self.groups.values()):
            consensus = found.consensus
            for replica, node in consensus.position.nodes.items():
                if name_of(node) == peer:
                    consensus.raft.unreachable(replica)  # type: ignore[arg-type]
                    consensus.raft.gone(replica)  # type: ignore[arg-type]
            consensus.pump()

    def _send(self, node: int, group: int, message: Message) -> None:
        """Everything for one node that comes up in a turn of the loop leaves in one frame."""
        if not self.up or node == self.number:
            # There is nobody here to speak to: a replica was here that was wiped.
            return
        leaving = self._leaving
        if not leaving:
            asyncio.get_running_loop().call_soon(self._leave, self._life)
        leaving.setdefault(node, []).append((group, encode_message(message)))

    def _leave(self, life: int) -> None:
        if life == self._life:
            leaving, self._leaving = self._leaving, {}
            for node, messages in leaving.items():
                self._send_frame(self.name, name_of(node), _encoder.encode(messages))

    def serve(self, work: Work, answered: Answered) -> None:
        """Do `work` in this process, and give its result or its error to `answered`, unless the node dies before."""
        if self.paused:
            self._held.append((work, answered))
        else:
            self.create_task(self._served(work, answered))

    def pause(self) -> None:
        self.paused = True
        self._network.pause(self.name)

    def resume(self, *, clients_first: bool) -> None:
        """Go on. What clients asked meanwhile came by other connections than what the other nodes said."""
        self.paused = False
        held, self._held = self._held, []
        for work, answered in held:
            self.serve(work, answered)
        if clients_first:
            asyncio.get_running_loop().call_later(CATCH_UP_S, self._at_once, self._life)
        else:
            self._network.resume(self.name)

    def _at_once(self, life: int) -> None:
        if life == self._life and not self.paused:
            self._network.resume(self.name)

    async def _served(self, work: Work, answered: Answered) -> None:
        life = self._life
        result: object
        try:
            result = await work()
        except DiskFailed as error:
            self._watcher.failed_in(self, error)
            return
        except Exception as error:  # noqa: BLE001 - handed on
            result = error
        self._at(life, lambda: answered(result))


class Wires:
    """The streams to other nodes, as far as snapshots use them; and those to one other node."""

    def __init__(self, node: SimulatedNode, life: int, target: int = 0) -> None:
        self._node = node
        self._life = life
        self._target = target

    def calls(self, target: int) -> Wires:
        return Wires(self._node, self._life, target)

    def send(self, target: int, group: int, message: Message) -> None:
        self._node._send(target, group, message)

    async def ask(self, group: int, epoch: int, last: bool, portion: SnapshotRows) -> None:
        await self._node._watcher.carry(self._node.number, self._target, group, portion)


def let_go(consensus: Consensus) -> None:
    """Nobody in a dead process waits for anything. Its tasks cannot be cancelled while they wait for a round."""
    consensus.rounds.abandon()
