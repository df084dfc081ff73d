"""What nodes say to each other: one stream for each pair, with the messages of all groups in its frames.

The node with the lower number dials. A message to a node that cannot be reached is dropped, and its group is told: Raft sends
again what matters. What is said while a frame is being written makes the next frame, so frames grow with the load.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import msgspec

from gramme.calls import Answers, Calls
from gramme.codec.frame import (
    FRAME_BYTES,
    Answer,
    BadFrame,
    Request,
    decode_answers,
    decode_requests,
)
from gramme.codec.untrusted import UNREADABLE, decode_untrusted
from gramme.errors import Unavailable
from gramme.links.api import Dial, Down, Identity, Link, Refused
from gramme.node.raft.messages import Message

# What may wait for one node. Beyond it messages are dropped, as if its stream had broken.
QUEUE_BYTES_MAX = 32 << 20
# A request that another node has not answered by now is asked again, perhaps of another one.
REQUEST_TIMEOUT_S = 10.0
NUMBER_DIGITS_MAX = 9
ID_DIGITS_MAX = 20
# What a message costs beside its entries.
MESSAGE_BYTES = 64


class PeerFrame(msgspec.Struct, array_like=True):
    """Messages of Raft by their groups; requests and answers are as between a router and a node."""

    messages: list[tuple[int, Message]] = []
    requests: bytes = b""
    answers: bytes = b""
    # The node had rather not lead.
    unfit: bool = False


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(PeerFrame)


class Who(NamedTuple):
    """What a node says of itself: its number, the id of its data directory, and its replica of meta, or 0 before it has one."""

    number: int
    directory: str
    replica: int = 0

    def __str__(self) -> str:
        return f"{self.number}.{self.directory}.{self.replica}"


# Whether a node is the one it was, or has been let in in its place. Is given what `Who` has, and raises Refused.
Recognise = Callable[[int, str, int], None]


class Listener(Protocol):
    """The node behind a transport."""

    def heard(self, node: int, messages: list[tuple[int, Message]]) -> None:
        """Messages of Raft have come from another node. Nothing of them has been checked but their form."""
        ...

    def asked(self, request: Request, answer: Callable[[Answer], None]) -> None:
        """Another node asks for something."""
        ...

    def reached(self, node: int) -> None:
        """The stream to another node has come up."""
        ...

    def lost(self, node: int, broken: bool) -> None:
        """What was said to this node may not have arrived; `broken` is its stream, if that is why."""
        ...


class Transport:
    def __init__(self, number: int, listener: Listener, log: Callable[[str], None]) -> None:
        self.number = number
        self._listener = listener
        self._log = log
        self._peers: dict[int, Peer] = {}
        # Raises Refused if a node is not the one it was.
        self.recognise: Recognise = lambda number, directory, replica: None
        # Whether this node may lead: the others are told.
        self.may_lead: Callable[[], bool] = lambda: True

    def dial(self, addresses: Mapping[int, str], dial: Dial) -> None:
        """Bring up the streams that this node dials. Those of lower numbers dial us."""
        for number, address in addresses.items():
            if number > self.number:
                peer = self._peer(number)
                peer.link = dial.dial(address, peer)

    def accept(self, link: Link, identity: Identity) -> Peer:
        """Take the stream of a node that dialled. Raises Refused."""
        who = who_is(identity)
        if not 0 < who.number < self.number:
            raise Refused(f"node {self.number} is dialled by nodes of lower numbers only")
        self.recognise(*who)
        peer = self._peer(who.number)
        peer.replace_link(link)
        peer.who = who
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

    def is_fit(self, node: int, up_for_s: float, heard_within_s: float) -> bool:
        """Whether a node has been reachable for as long, spoke as lately, and says that it may lead."""
        peer = self._peers.get(node)
        if peer is None or peer.unfit or not self.reaches(node):
            return False
        now = asyncio.get_running_loop().time()
        return peer.up_at <= now - up_for_s and peer.heard_at >= now - heard_within_s

    def recognise_again(self) -> None:
        """It may have become known that a node has another directory than the one that speaks."""
        for peer in self._peers.values():
            peer.recognise_again()

    def _peer(self, number: int) -> Peer:
        peer = self._peers.get(number)
        if peer is None:
            peer = self._peers[number] = Peer(
                number,
                self._listener,
                self._log,
                lambda number, directory, replica: self.recognise(number, directory, replica),
                lambda: self.may_lead(),
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
        may_lead: Callable[[], bool],
    ) -> None:
        self.number = number
        self._may_lead = may_lead
        self._recognise = recognise
        self.link: Link | None = None
        # The node behind the link, while that is up.
        self.who: Who | None = None
        self.unfit = False
        self.up_at = self.heard_at = 0.0
        self._listener = listener
        self._log = log
        self.calls = Calls(self._stir, self._stir, REQUEST_TIMEOUT_S)
        # Messages with their groups and sizes.
        self._messages: deque[tuple[int, Message, int]] = deque()
        self._message_bytes = 0
        self._answers = Answers()
        self._answer = self._answerer(self._answers)
        self._scheduled = False
        self._losing = False

    def say(self, group: int, message: Message, size: int) -> None:
        if self._message_bytes > QUEUE_BYTES_MAX or self.link is None or not self.link.up:
            self._lose()
            return
        self._messages.append((group, message, size))
        self._message_bytes += size
        self._stir()

    def replace_link(self, link: Link) -> None:
        """The node has dialled again: what was on its way by the link before is lost."""
        old, self.link = self.link, link
        if old is not None:
            was_up = old.up
            old.close("the node has dialled again")
            if was_up:
                self.on_down(Down("the node has dialled again"))

    def _lose(self) -> None:
        """Tell of messages that do not arrive, but not now: whoever says them is in the middle of something."""
        if not self._losing:
            # Once for all of them: to a node that is down every group says something.
            self._losing = True
            asyncio.get_running_loop().call_soon(self._lost)

    def _lost(self) -> None:
        self._losing = False
        self._listener.lost(self.number, broken=False)

    def _answerer(self, answers: Answers) -> Callable[[Answer], None]:
        """What answers the requests of one link. An answer that is late must not be taken for one to a later request
        of the same number: the node may have been started again, and count from 1.
        """

        def answer(answer: Answer) -> None:
            if answers is self._answers:
                answers.add(answer)
                if answers.overfull and self.link is not None:
                    self.link.reset("too much waits to be read")
                self._stir()

        return answer

    def _stir(self) -> None:
        link = self.link
        # What cannot be sent is said to be so at once.
        if not self._scheduled and (link is None or not link.up or link.idle):
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._scheduled = False
        requests, asking = self.calls.take()
        unfit = not self._may_lead()
        frame = PeerFrame(self._take_messages(), asking, self._answers.take(), unfit)
        parts = [frame]
        if len(frame.requests) > FRAME_BYTES or len(frame.answers) > FRAME_BYTES:
            # One of them is as large as a frame may be.
            parts = [
                PeerFrame(frame.messages, b"", b"", unfit),
                PeerFrame([], asking, b"", unfit),
                PeerFrame([], b"", frame.answers, unfit),
            ]
        for part in parts:
            if part.messages or part.requests or part.answers:
                self._send(part, requests if part.requests else [])
        if self._messages or self.calls.has_unsent or self._answers:
            self._stir()

    def _send(self, frame: PeerFrame, requests: list[Request]) -> None:
        if self.link is None or not self.link.send(_encoder.encode(frame)):
            self.calls.unsent(requests, Unavailable("the node cannot be reached"))
            self._lose()

    def _take_messages(self) -> list[tuple[int, Message]]:
        """The first ones, as many as a frame should hold, one at least if there is any."""
        taken: list[tuple[int, Message]] = []
        left = FRAME_BYTES
        while self._messages:
            group, message, size = self._messages[0]
            if taken and size > left:
                break
            left -= size
            self._message_bytes -= size
            self._messages.popleft()
            taken.append((group, message))
        return taken

    # Events of the link

    def on_up(self, peer: Identity) -> None:
        self.up_at = self.heard_at = asyncio.get_running_loop().time()
        self.unfit = False
        try:
            who = who_is(peer)
            if who.number != self.number:
                raise Refused(f"the address of node {self.number} is that of node {peer.node}")
            self._recognise(*who)
        except Refused as refusal:
            self._log(str(refusal))
            if self.link is not None:
                # Dialled again, it may be somebody else's.
                self.link.reset(str(refusal))
        else:
            self.who = who
            self._listener.reached(self.number)

    def recognise_again(self) -> None:
        if self.link is not None and self.link.up and self.who is not None:
            try:
                self._recognise(*self.who)
            except Refused as refusal:
                self.who = None
                self._log(str(refusal))
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
        self.heard_at = asyncio.get_running_loop().time()
        self.unfit = decoded.unfit
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
        self._messages.clear()
        self._message_bytes = 0
        self._answers = Answers()
        self._answer = self._answerer(self._answers)
        self.calls.broken(down.reason)
        if down.refused:
            self._log(f"node {self.number} refuses this one: {down.reason}")
        self._listener.lost(self.number, broken=True)


def who_is(identity: Identity) -> Who:
    """Read what a node says of itself. Its number is 0 if that is none."""
    number, _, rest = identity.node.partition(".")
    directory, _, replica = rest.partition(".")
    return Who(_number(number, NUMBER_DIGITS_MAX), directory, _number(replica, ID_DIGITS_MAX))


def _number(text: str, digits_max: int) -> int:
    return int(text) if text.isdecimal() and len(text) < digits_max else 0
