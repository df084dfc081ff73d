"""What nodes say to each other: one stream for each pair, with the messages of all groups in its frames.

The node with the lower number dials. A message to a node that cannot be reached is dropped, and its group is told: Raft sends
again what matters. What is said while a frame is being written makes the next frame, so frames grow with the load.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from gramme.calls import Calls
from gramme.codec.frame import (
    OPERATIONS_MAX,
    Answer,
    BadFrame,
    Request,
    decode_answers,
    decode_requests,
    encode_answers,
    encode_requests,
)
from gramme.codec.untrusted import UNREADABLE, decode_untrusted
from gramme.errors import Unavailable
from gramme.links.api import Dial, Down, Identity, Link, Refused
from gramme.node.raft.messages import Message

# What may wait for one node. Beyond it messages are dropped, as if its stream had broken.
QUEUE_BYTES_MAX = 32 << 20
# A frame is decoded and handled in one go.
FRAME_BYTES = 1 << 20
# A request that another node has not answered by now is asked again, perhaps of another one.
REQUEST_TIMEOUT_S = 10.0
NUMBER_DIGITS_MAX = 9
# What a message costs beside its entries.
MESSAGE_BYTES = 64


class PeerFrame(msgspec.Struct, array_like=True):
    """Messages of Raft by their groups; requests and answers are as between a router and a node."""

    messages: list[tuple[int, Message]] = []
    requests: bytes = b""
    answers: bytes = b""


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(PeerFrame)


# Whether the node of this number, with this data directory, is the one it was. Raises Refused.
Recognise = Callable[[int, str], None]


class Listener(Protocol):
    """The node behind a transport."""

    def heard(self, node: int, messages: list[tuple[int, Message]]) -> None:
        """Messages of Raft have come from another node. Nothing of them has been checked but their form."""
        ...

    def asked(self, request: Request, answer: Callable[[Answer], None]) -> None:
        """Another node asks for something."""
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
        # Raises Refused if a node is not the one it was.
        self.recognise: Recognise = lambda number, directory: None

    def dial(self, addresses: Mapping[int, str], dial: Dial) -> None:
        """Bring up the streams that this node dials. Those of lower numbers dial us."""
        for number, address in addresses.items():
            if number > self.number:
                peer = self._peer(number)
                peer.link = dial.dial(address, peer)

    def accept(self, link: Link, identity: Identity) -> Peer:
        """Take the stream of a node that dialled. Raises Refused."""
        number, directory = _number_and_directory(identity)
        if not 0 < number < self.number:
            raise Refused(f"node {self.number} is dialled by nodes of lower numbers only")
        self.recognise(number, directory)
        peer = self._peer(number)
        if peer.link is not None:
            peer.link.close("the node has dialled again")
            peer.on_down(Down("the node has dialled again"))
        peer.link = link
        return peer

    def send(self, node: int, group: int, message: Message) -> None:
        size = MESSAGE_BYTES
        for entry in getattr(message, "entries", ()):
            size += len(entry.data) + MESSAGE_BYTES
        self._peer(node).say(group, message, size)

    def calls(self, node: int) -> Calls:
        """Requests to another node."""
        return self._peer(node).calls

    def reaches(self, node: int) -> bool:
        peer = self._peers.get(node)
        return peer is not None and peer.link is not None and peer.link.up

    def _peer(self, number: int) -> Peer:
        peer = self._peers.get(number)
        if peer is None:
            peer = self._peers[number] = Peer(
                number,
                self._listener,
                self._log,
                lambda number, directory: self.recognise(number, directory),
            )
        return peer


class Peer:
    """One other node: the events of its link, and what is to be said to it."""

    def __init__(
        self,
        number: int,
        listener: Listener,
        log: Callable[[str], None],
        recognise: Recognise,
    ) -> None:
        self.number = number
        self._recognise = recognise
        self.link: Link | None = None
        self._listener = listener
        self._log = log
        self.calls = Calls(self._stir, REQUEST_TIMEOUT_S)
        self._messages: list[tuple[int, Message]] = []
        self._message_bytes = 0
        self._answers: list[Answer] = []
        self._scheduled = False

    def say(self, group: int, message: Message, size: int) -> None:
        if self._message_bytes > QUEUE_BYTES_MAX or self.link is None or not self.link.up:
            # Not now: whoever says this is in the middle of something.
            asyncio.get_running_loop().call_soon(self._listener.lost, self.number)
            return
        self._messages.append((group, message))
        self._message_bytes += size
        self._stir()

    def _stir(self) -> None:
        link = self.link
        if self._scheduled:
            return
        # What cannot be sent is said to be so at once.
        if link is None or not link.up or link.idle or self._message_bytes > FRAME_BYTES:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._scheduled = False
        link, requests = self.link, self.calls.take()
        if not (self._messages or requests or self._answers):
            return
        answers = self._answers[:OPERATIONS_MAX]
        frame = PeerFrame(
            self._messages,
            encode_requests(requests) if requests else b"",
            encode_answers(answers) if answers else b"",
        )
        self._messages, self._message_bytes = [], 0
        self._answers = self._answers[OPERATIONS_MAX:]
        if link is None or not link.send(_encoder.encode(frame)):
            self.calls.unsent(requests, Unavailable("the node cannot be reached"))
            self._listener.lost(self.number)
        if self.calls.has_unsent or self._answers:
            self._stir()

    def _answer(self, answer: Answer) -> None:
        self._answers.append(answer)
        self._stir()

    # Events of the link

    def on_up(self, peer: Identity) -> None:
        try:
            number, directory = _number_and_directory(peer)
            if number != self.number:
                raise Refused(f"the address of node {self.number} is that of node {peer.node}")
            self._recognise(number, directory)
        except Refused as refusal:
            self._log(str(refusal))
            if self.link is not None:
                self.link.reset(str(refusal))

    def on_frame(self, frame: bytes) -> None:
        try:
            decoded = decode_untrusted(_decoder, frame)
            requests = decode_requests(decoded.requests) if decoded.requests else []
            answers = decode_answers(decoded.answers) if decoded.answers else []
        except (*UNREADABLE, BadFrame):
            self._log(f"node {self.number} sent what is no frame; its stream is closed")
            if self.link is not None:
                self.link.reset("that was no frame")
            return
        self._listener.heard(self.number, decoded.messages)
        for request in requests:
            if isinstance(request, Answer):
                self._answer(request)
            else:
                self._listener.asked(request, self._answer)
        self.calls.answered(answers)

    def on_idle(self) -> None:
        if not self._scheduled:
            self._flush()

    def on_down(self, down: Down) -> None:
        self._messages, self._message_bytes, self._answers = [], 0, []
        self.calls.broken(down.reason)
        if down.refused:
            self._log(f"node {self.number} refuses this one: {down.reason}")
        self._listener.lost(self.number)


def _number_and_directory(identity: Identity) -> tuple[int, str]:
    """A node says its number and the id of its data directory, with a dot between them."""
    number, _, directory = identity.node.partition(".")
    is_number = number.isdecimal() and len(number) < NUMBER_DIGITS_MAX
    return (int(number) if is_number else 0), directory
