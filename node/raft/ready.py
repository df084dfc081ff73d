"""What the core asks of its shell. The shell does it in the order of the fields, and Readys in the order of their numbers.

1. Install `snapshot`, then call `installed`.
2. Write `hard_state` and `entries`. Writing entries from some index on removes all stored entries from that index on.
3. Send `messages`, at any time.
4. Apply `committed`, never in an earlier engine write than the entries; then call `applied`.
5. Once a flush has finished that began after 1 and 2 of this Ready and of all before it: call `persisted(number)`, and
   send `messages_after_persist`. These promise what was written. They are void if the process dies before that.
6. `read_states` may be answered from any state applied up to their index. `reads_refused` must be answered with a refusal.

A further Ready may be asked for at any time, also while flushes of earlier ones run; with a snapshot, after `installed`.
"""

from __future__ import annotations

import enum

import msgspec

from gramme.node.raft.messages import Entry, HardState, Message, ReplicaId, Snapshot


class Role(enum.Enum):
    # A learner is a follower that no configuration in force names as a voter.
    FOLLOWER = enum.auto()
    PRE_CANDIDATE = enum.auto()
    CANDIDATE = enum.auto()
    LEADER = enum.auto()


class SoftState(msgspec.Struct, frozen=True, gc=False):
    """What need not be remembered. A proposal of a leader that is none any more may still commit."""

    role: Role
    leader: ReplicaId
    term: int


class ReadState(msgspec.Struct, frozen=True, gc=False):
    """The read of this context may be answered once everything up to `index` is applied."""

    context: int
    index: int


class Ready(msgspec.Struct, gc=False):
    number: int
    snapshot: Snapshot | None
    # Changed since the last one. When only `commit` changed it need not be flushed.
    hard_state: HardState | None
    entries: list[Entry]
    messages: list[Message]
    messages_after_persist: list[Message]
    committed: list[Entry]
    read_states: list[ReadState]
    reads_refused: list[int]
    soft_state: SoftState | None
    # Whether anything waits for `persisted(number)`. If not, no flush is needed and no call.
    must_flush: bool
