"""What nodes say to each other: one stream for each pair, with the messages of all groups in its frames.

The node with the lower number dials. A message to a node that cannot be reached is dropped, and its group is told: Raft sends
again what matters. What is said while a frame is being written makes the next frame, so frames grow with the load.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from gramme.links.api import Dial, Down, Identity, Link, Refused
from gramme.node.raft.messages import Message
from gramme.node.tail.indexes import IndexWrite

# What may wait for one node. Beyond it messages are dropped, as if its stream had broken.
QUEUE_BYTES_MAX = 32 << 20
# A frame is decoded and handled in one go.
FRAME_BYTES = 1 << 20
# What a message costs beside its entries.
MESSAGE_BYTES = 64


class IndexRequest(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Rows for a group of an index that the other node leads."""

    number: int
    group: int
    write: IndexWrite


class IndexAnswer(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`done`, or the node that may lead the group instead; `stale` if the source was replaced."""

    number: int
    done: bool
    leader: int = 0
    stale: bool = False


class PeerFrame(msgspec.Struct, array_like=True):
    messages: list[tuple[int, Message]] = []
    requests: list[IndexRequest] = []
    answers: list[IndexAnswer] = []


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(PeerFrame)


class Listener(Protocol):
    """The node behind a transport."""

    def heard(self, node: int, frame: PeerFrame) -> None:
        """A frame has come from another node. Nothing of it has been checked but its form."""
        ...

    def lost(self, node: int) -> None:
        """What was said to this node may not have arrived."""
        ...


class Transport:
    def __init__(self, number: int, listener: Listener, log: Callable[[str], None]) -> None:
        self.number = number
        self._listener = listener
        self._log = log
        self._peers: dict[int, Peer] = {}

    def dial(self, addresses: Mapping[int, str], dial: Dial) -> None:
        """Bring up the streams that this node dials. Those of lower numbers dial us."""
        for number, address in addresses.items():
            if number > self.number:
                peer = self._peer(number)
                peer.link = dial.dial(address, peer)

    def accept(self, link: Link, identity: Identity) -> Peer:
        """Take the stream of a node that dialled. Raises Refused."""
        if not identity.node.isdecimal() or not 0 < int(identity.node) < self.number:
            raise Refused(f"node {self.number} is dialled by nodes of lower numbers only")
        peer = self._peer(int(identity.node))
        if peer.link is not None:
            peer.link.close("the node has dialled again")
        peer.link = link
        return peer

    def send(self, node: int, group: int, message: Message) -> None:
        size = MESSAGE_BYTES
        for entry in getattr(message, "entries", ()):
            size += len(entry.data) + MESSAGE_BYTES
        self._peer(node).say(size).messages.append((group, message))

    def request(self, node: int, request: IndexRequest) -> None:
        size = sum(len(row.body or b"") + MESSAGE_BYTES for row in request.write.rows)
        self._peer(node).say(size).requests.append(request)

    def answer(self, node: int, answer: IndexAnswer) -> None:
        self._peer(node).say(MESSAGE_BYTES).answers.append(answer)

    def reaches(self, node: int) -> bool:
        peer = self._peers.get(node)
        return peer is not None and peer.link is not None and peer.link.up

    def _peer(self, number: int) -> Peer:
        peer = self._peers.get(number)
        if peer is None:
            peer = self._peers[number] = Peer(number, self._listener, self._log)
        return peer


class Peer:
    """One other node: the events of its link, and what is to be said to it."""

    def __init__(self, number: int, listener: Listener, log: Callable[[str], None]) -> None:
        self.number = number
        self.link: Link | None = None
        self._listener = listener
        self._log = log
        self._next = PeerFrame([], [], [])
        self._bytes = 0
        self._scheduled = False

    def say(self, size: int) -> PeerFrame:
        """The frame to put something of this size into."""
        if self._bytes > QUEUE_BYTES_MAX or self.link is None or not self.link.up:
            # Not now: whoever says this is in the middle of something.
            asyncio.get_running_loop().call_soon(self._listener.lost, self.number)
            return PeerFrame([], [], [])
        self._bytes += size
        if not self._scheduled and (self.link.idle or self._bytes > FRAME_BYTES):
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)
        return self._next

    def _flush(self) -> None:
        self._scheduled = False
        link, frame = self.link, self._next
        if not self._bytes:
            return
        self._next, self._bytes = PeerFrame([], [], []), 0
        if link is None or not link.send(_encoder.encode(frame)):
            self._listener.lost(self.number)

    # Events of the link

    def on_up(self, peer: Identity) -> None:
        if peer.node != str(self.number) and self.link is not None:
            self._log(f"the address of node {self.number} is that of node {peer.node}")
            self.link.close()

    def on_frame(self, frame: bytes) -> None:
        try:
            decoded = _decoder.decode(frame)
        except (msgspec.DecodeError, RecursionError):
            self._log(f"node {self.number} sent what is no frame; its stream is closed")
            if self.link is not None:
                self.link.close("that was no frame")
            return
        self._listener.heard(self.number, decoded)

    def on_idle(self) -> None:
        if self._bytes and not self._scheduled:
            self._flush()

    def on_down(self, down: Down) -> None:
        self._next, self._bytes = PeerFrame([], [], []), 0
        if down.refused:
            self._log(f"node {self.number} refuses this one: {down.reason}")
        self._listener.lost(self.number)
