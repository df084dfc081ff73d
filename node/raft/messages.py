"""What travels between replicas of a group, and what they keep on disk: plain values, no behaviour.

The shell decodes what comes from the network with `decode_message`, which checks types and ranges, and before `step`
makes sure of two things the core cannot know: that the sender's replica lives on the node the frame came from, and
that the frame's group is this one. Everything else that may be wrong with a message the core checks itself.

Names are those of the Raft paper. A message's `term` is its sender's, except for a pre-vote: the question, and the
answer that grants it, carry the term the election would have.
"""

from __future__ import annotations

import enum
from typing import Annotated, NewType

import msgspec

# Terms, indexes and ids fit in a signed 64-bit integer with room for sums.
NUMBER_MAX = 2**62

# Bounds on what one message may make a replica allocate. The shell's frames have a bound in bytes, too.
MEMBERS_MAX = 64
ENTRIES_MAX = 65_536

ReplicaId = NewType("ReplicaId", int)
# Never a replica's id.
NOBODY = ReplicaId(0)

Number = Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX)]
Id = Annotated[ReplicaId, msgspec.Meta(ge=1, le=NUMBER_MAX)]
Members = Annotated[tuple[Id, ...], msgspec.Meta(max_length=MEMBERS_MAX)]


class EntryKind(enum.IntEnum):
    NORMAL = 0
    # The data is what `encode_membership` makes.
    CONFIGURATION = 1


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One entry of the log. An empty NORMAL entry is what a new leader appends; apply ignores it."""

    term: Number
    index: Number
    kind: EntryKind
    data: bytes


Entries = Annotated[list[Entry], msgspec.Meta(max_length=ENTRIES_MAX)]


class Configuration(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Who is in the group. Learners receive everything and are counted in nothing."""

    voters: Members
    learners: Members = ()

    def well_formed(self) -> bool:
        members = (*self.voters, *self.learners)
        distinct = len(set(members)) == len(members) <= MEMBERS_MAX
        return len(self.voters) > 0 and distinct and min(members) > NOBODY


class Membership(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The data of a CONFIGURATION entry: the whole new configuration, and whatever the shell wants to go with it."""

    configuration: Configuration
    context: bytes


class HardState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a replica must remember. A lost `commit` is learned again; a lost term or vote breaks the promise made."""

    term: Number = 0
    vote: ReplicaId = NOBODY
    commit: Number = 0


class Snapshot(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Says what a snapshot holds: the state after `index`. The data travels by other means."""

    index: Number
    term: Number
    configuration: Configuration


class RequestVote(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=1):
    sender: Id
    to: Id
    term: Number
    last_index: Number
    last_term: Number
    pre: bool
    # The leader asked for this election, so nobody need protect it.
    transfer: bool


class VoteResponse(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=2):
    sender: Id
    to: Id
    term: Number
    pre: bool
    granted: bool


class AppendEntries(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=3):
    """`entries` may be shared between messages: nobody changes the list."""

    sender: Id
    to: Id
    term: Number
    previous_index: Number
    previous_term: Number
    commit: Number
    entries: Entries


class AppendResponse(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=4):
    """Accepted: everything up to `index` is durable. Rejected: `index` is the previous index that did not match,
    and the hint is the last place where the two logs may still agree.
    """

    sender: Id
    to: Id
    term: Number
    index: Number
    rejected: bool = False
    hint_index: Number = 0
    hint_term: Number = 0


class Heartbeat(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=5):
    """`commit` is never beyond what the receiver is known to hold. `round` is the newest round of reads."""

    sender: Id
    to: Id
    term: Number
    commit: Number
    round: Number


class HeartbeatResponse(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=6):
    sender: Id
    to: Id
    term: Number
    round: Number


class InstallSnapshot(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=7):
    """Going out: ship a snapshot at least this new. Coming in: the data described is here, complete and staged."""

    sender: Id
    to: Id
    term: Number
    snapshot: Snapshot


class TimeoutNow(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=8):
    sender: Id
    to: Id
    term: Number


Message = (
    RequestVote
    | VoteResponse
    | AppendEntries
    | AppendResponse
    | Heartbeat
    | HeartbeatResponse
    | InstallSnapshot
    | TimeoutNow
)

_encoder = msgspec.msgpack.Encoder()
_message_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)
_membership_decoder = msgspec.msgpack.Decoder(Membership)


def encode_message(message: Message) -> bytes:
    return _encoder.encode(message)


def decode_message(data: bytes) -> Message:
    """Raises msgspec.DecodeError when it is no message."""
    return _message_decoder.decode(data)


def encode_membership(configuration: Configuration, context: bytes) -> bytes:
    return _encoder.encode(Membership(configuration, context))


def decode_membership(data: bytes) -> Membership:
    """Raises msgspec.DecodeError when it is no membership; the configuration may still be ill-formed."""
    return _membership_decoder.decode(data)
