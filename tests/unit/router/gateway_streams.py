"""A gateway with made-up operations, and its clients in raw messages, signed by botocore."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from gramme.clock import SystemClock
from gramme.links.gateway import Messages, dialled
from gramme.links.limits import Limits
from gramme.router.gateway import Gateway
from gramme.router.gateway_session import Terms
from gramme.router.http.credentials import Credential
from gramme.router.http.verifier import Verifier
from gramme.router.operations.context import Context, Operation
from gramme.signature import sign_next, signing_key
from gramme.v1.gateway_pb2 import Answer, ClientFrame, Hello, Request, Requests, RouterFrame
from tests.unit.router.http.gateway import Holding, echo, fail, grow, miss

PATIENCE_S = 10.0
REGION = "eu-north-1"
SECRET = "secret"
ACCOUNT = "111122223333"
# A client may send more than a router takes.
GENEROUS = Limits(frame_bytes_max=64 << 20)


class Router:
    def __init__(self, gateway: Gateway, holding: Holding) -> None:
        self.gateway = gateway
        self.holding = holding


@asynccontextmanager
async def a_router(
    verifier: Verifier | None = None, terms: Terms | None = None
) -> AsyncIterator[Router]:
    holding = Holding()
    operations: dict[str, Operation] = {
        "Echo": echo,
        "Fail": fail,
        "Miss": miss,
        "Grow": grow,
        "Hold": holding.hold,
        "Release": holding.release,
    }
    gateway = Gateway(cast(Context, None), operations, verifier, terms=terms)
    await gateway.start("127.0.0.1", 0)
    try:
        yield Router(gateway, holding)
    finally:
        await gateway.stop(0.5)


def a_verifier(clock: SystemClock | None = None) -> Verifier:
    known = {
        "AKID": Credential(ACCOUNT, SECRET),
        "TEMPORARY": Credential(ACCOUNT, SECRET, "token"),
    }
    return Verifier(known, clock or SystemClock())


def hello_for(
    challenge: bytes,
    access_key: str = "AKID",
    secret: str = SECRET,
    token: str | None = None,
    target: str = "Gramme_1.Exchange",
) -> Hello:
    headers = {"Host": "localhost:8001", "X-Amz-Target": target}
    request = AWSRequest("POST", "http://localhost:8001/", headers, challenge)
    SigV4Auth(Credentials(access_key, secret, token), "dynamodb", REGION).add_auth(request)
    return Hello(
        host="localhost:8001",
        date=request.headers["X-Amz-Date"],
        authorization=request.headers["Authorization"],
        security_token=token or "",
    )


class Stream:
    def __init__(self, messages: Messages) -> None:
        self.messages = messages
        self.hello = Hello()
        self.previous = b""

    async def challenge(self) -> bytes:
        return (await self.frame()).challenge

    async def greet(self, hello: Hello) -> RouterFrame:
        self.hello = hello
        self.previous = hello.authorization[-64:].encode()
        await self.messages.write(ClientFrame(hello=hello).SerializeToString())
        return await self.frame()

    async def frame(self) -> RouterFrame:
        async with asyncio.timeout(PATIENCE_S):
            message = await self.messages.read()
        assert message is not None, "the stream is over"
        return RouterFrame.FromString(message)

    async def is_over(self) -> bool:
        async with asyncio.timeout(PATIENCE_S):
            return await self.messages.read() is None

    def signed(self, content: bytes) -> bytes:
        """A message with the next signature."""
        date = self.hello.date[:8]
        key = signing_key(SECRET, date, REGION, "dynamodb")
        scope = f"{date}/{REGION}/dynamodb/aws4_request".encode()
        self.previous = sign_next(key, self.hello.date.encode(), scope, self.previous, content)
        return ClientFrame(requests=content, signature=self.previous).SerializeToString()

    async def send(self, *requests: Request) -> None:
        content = Requests(requests=requests).SerializeToString()
        await self.messages.write(self.signed(content))

    async def answers(self, count: int) -> dict[int, Answer]:
        found: dict[int, Answer] = {}
        while len(found) < count:
            frame = await self.frame()
            assert frame.HasField("answers"), frame
            found.update({answer.number: answer for answer in frame.answers.answers})
        return found

    async def ask(self, operation: str, body: bytes = b"{}", number: int = 1) -> Answer:
        await self.send(Request(number=number, operation=operation, body=body))
        return (await self.answers(1))[number]


@asynccontextmanager
async def a_stranger(router: Router) -> AsyncIterator[Stream]:
    """Has said nothing yet."""
    async with dialled(f"127.0.0.1:{router.gateway.port}", None, GENEROUS) as messages:
        yield Stream(messages)


@asynccontextmanager
async def a_client(router: Router) -> AsyncIterator[Stream]:
    async with a_stranger(router) as stream:
        frame = await stream.greet(hello_for(await stream.challenge()))
        assert frame.HasField("welcome"), frame
        yield stream
