"""The gRPC services that links run on, and how their messages hold a frame."""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf.message import DecodeError

from gramme.v1 import peer_pb2, storage_pb2


class NotAFrame(Exception):
    """These bytes are no message of the service."""


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    message: type[storage_pb2.Batch | peer_pb2.Frame]
    method: str = "Exchange"

    def encode(self, frame: bytes) -> bytes:
        return self.message(content=frame).SerializeToString()

    def decode(self, message: bytes) -> bytes:
        try:
            return self.message.FromString(message).content
        except DecodeError as error:
            raise NotAFrame from error


STORAGE = Service(storage_pb2.DESCRIPTOR.services_by_name["Storage"].full_name, storage_pb2.Batch)
"""From a router to a node."""

PEER = Service(peer_pb2.DESCRIPTOR.services_by_name["Peer"].full_name, peer_pb2.Frame)
"""From a node to a node."""
