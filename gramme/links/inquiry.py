"""Asking a node something by a call of its own, beside the streams of the cluster's own talk."""

from __future__ import annotations

import grpc
from grpc import aio

from gramme.links import channels
from gramme.links.api import Identity
from gramme.links.limits import Limits
from gramme.links.metadata import introduction
from gramme.links.security import Security
from gramme.links.services import ADMINISTRATION, Call, NotAFrame


class NoAnswer(Exception):
    """The message is a few words for a person. `refused` if the node has answered that it does not want to answer."""

    def __init__(self, words: str, refused: bool = False) -> None:
        super().__init__(words)
        self.refused = refused


async def inquire(
    call: Call,
    address: str,
    identity: Identity,
    security: Security,
    timeout_s: float,
    question: bytes = b"",
) -> bytes:
    """What the node at `address` answers. Raises NoAnswer, after which a node may have done what it was asked all the same."""
    channel = channels.channel(address, security.tls, Limits())
    try:
        ask: aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            f"/{ADMINISTRATION}/{call.method}"
        )
        request = call.request(content=question).SerializeToString()
        metadata = introduction(identity, security.secret)
        answer = await ask(request, metadata=metadata, timeout=timeout_s)
        return call.decode_response(answer)
    except NotAFrame as error:
        raise NoAnswer("its answer cannot be read") from error
    except aio.AioRpcError as error:
        refused = error.code() is grpc.StatusCode.FAILED_PRECONDITION
        raise NoAnswer(_words(error, timeout_s), refused) from error
    finally:
        await channel.close()


def _words(error: aio.AioRpcError, timeout_s: float) -> str:
    match error.code():
        case grpc.StatusCode.UNAVAILABLE:
            return "cannot be reached"
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return f"no answer within {timeout_s:g} s"
    return error.details() or error.code().name
