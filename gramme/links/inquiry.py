"""Asking a node about itself: a call of its own, for who runs the cluster and not for the cluster's own talk."""

from __future__ import annotations

import grpc
from google.protobuf.message import DecodeError
from grpc import aio

from gramme.links import channels
from gramme.links.api import Identity
from gramme.links.limits import Limits
from gramme.links.metadata import introduction
from gramme.links.security import Security
from gramme.links.services import ADMINISTRATION, STATUS
from gramme.v1 import peer_pb2


class NoAnswer(Exception):
    """The message is a few words for a person."""


async def ask_status(
    address: str, identity: Identity, security: Security, timeout_s: float
) -> bytes:
    """What the node at `address` says of itself. Raises NoAnswer."""
    channel = channels.channel(address, security.tls, Limits())
    try:
        ask: aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            f"/{ADMINISTRATION}/{STATUS}"
        )
        request = peer_pb2.StatusRequest().SerializeToString()
        metadata = introduction(identity, security.secret)
        answer = await ask(request, metadata=metadata, timeout=timeout_s)
        return peer_pb2.StatusResponse.FromString(answer).content
    except DecodeError as error:
        raise NoAnswer("its answer cannot be read") from error
    except aio.AioRpcError as error:
        raise NoAnswer(_words(error, timeout_s)) from error
    finally:
        await channel.close()


def _words(error: aio.AioRpcError, timeout_s: float) -> str:
    match error.code():
        case grpc.StatusCode.UNAVAILABLE:
            return "cannot be reached"
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return f"no answer within {timeout_s:g} s"
    return error.details() or error.code().name
