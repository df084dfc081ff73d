"""What is given bytes of all kinds, by coverage or by chance: each target takes any bytes and raises if something is wrong.

Every target comes with seeds, bytes that get far, for whoever changes them to begin with.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterable
from contextlib import suppress
from copy import deepcopy
from decimal import Context, Decimal
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple, cast

from gramme.clock import VirtualClock
from gramme.codec.key import encode_component
from gramme.errors import (
    IncompleteSignature,
    InvalidSignature,
    MissingAuthenticationToken,
    UnrecognizedClient,
    ValidationError,
)
from gramme.expressions.placeholders import Placeholders
from gramme.model.item import Item, Values
from gramme.model.numbers import DIGITS_MAX, EXPONENT_MAX, EXPONENT_MIN, normalise_number
from gramme.model.table import KeyType
from gramme.model.values import normalise_item
from gramme.router.http.auth import Authenticator
from gramme.router.http.credentials import Credential
from gramme.router.http.dispatch import Dispatcher
from gramme.router.http.exchange import Exchange
from gramme.router.http.names import HeaderNames
from gramme.router.http.verifier import Verifier
from gramme.router.operations.all import OPERATIONS
from tests.fuzz import answers
from tests.fuzz.expressions import Expressions, bomb
from tests.fuzz.requests import KINDS, Requests
from tests.fuzz.tables import TABLES
from tests.fuzz.values import NO_NUMBERS, NUMBERS
from tests.fuzz.values import Values as RandomValues
from tests.support.client import Answer, authorization
from tests.support.keys import decode_component
from tests.unit.router.operations.router import Router


class Wrong(AssertionError):
    """What a target found."""


class Target(NamedTuple):
    run: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]


SEEDS = 40

# A whole request, from its bytes to the bytes of the answer. The first byte picks the operation.

ROUTER_INPUTS_MAX = 2_000
ANSWER_TIMEOUT_S = 10.0
_OPERATIONS = sorted(OPERATIONS)
_HEADERS = {
    b"Host": b"localhost",
    b"Content-Type": b"application/x-amz-json-1.0",
    b"X-Amz-Date": b"20260101T000000Z",
    b"Authorization": authorization("us-east-1").encode(),
}


class Line:
    """The connection of one exchange."""

    def __init__(self) -> None:
        self.done = asyncio.Event()

    def answered(self) -> None:
        self.done.set()

    def is_local(self) -> bool:
        return False


class Dispatch:
    """A router over fake nodes, replaced before it has seen too much."""

    def __init__(self) -> None:
        self._left = 0
        self._runner = asyncio.Runner()
        self._dispatcher: Dispatcher | None = None

    def __call__(self, data: bytes) -> None:
        if not self._left:
            router = Router.start()
            for table in TABLES:
                router.ask("CreateTable", table.definition())
            self._dispatcher = Dispatcher(router.context, OPERATIONS)
            self._left = ROUTER_INPUTS_MAX
        self._left -= 1
        operation = _OPERATIONS[data[0] % len(_OPERATIONS)] if data else _OPERATIONS[0]
        answer = self._runner.run(self._ask(operation, data[1:]))
        found = answers.problem(operation, answer)
        if found is not None:
            raise Wrong(f"{operation}: {found}: {answer.body[:200]!r}")

    async def _ask(self, operation: str, body: bytes) -> Answer:
        assert self._dispatcher is not None
        headers = _HEADERS | {b"X-Amz-Target": f"DynamoDB_20120810.{operation}".encode()}
        line = Line()
        names = HeaderNames(tuple(headers))
        exchange = Exchange(line, b"POST", b"/", names, headers, body)
        self._dispatcher.handle(exchange)
        await asyncio.wait_for(line.done.wait(), ANSWER_TIMEOUT_S)
        assert exchange.answer is not None
        return _parsed(exchange.answer)


def _parsed(answer: bytes) -> Answer:
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = [line.partition(":") for line in lines]
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    return Answer(int(first.split()[1]), headers, body)


def dispatch_seeds() -> Iterable[bytes]:
    for number, operation in enumerate(_OPERATIONS):
        for kind in KINDS:
            requests = Requests(Random(f"{operation} {kind}"), "us-east-1")
            yield bytes((number,)) + requests.of(operation, kind).body[:2_000]


# Expressions: the first byte picks what kind of expression the text is.

_VALUES: Values = {
    ":v0": {"N": "1"},
    ":v1": {"S": "S"},
    ":v2": {"SS": ["a"]},
    ":v3": {"L": [{"N": "1"}]},
    ":v4": {"M": {"a": {"B": "YQ=="}}},
}
_NAMES = {"#a": "a", "#b": "b c", "#status": "status", "#group": "group", "#blob": "blob"}
_ITEM: Item = {
    "a": {"N": "9" * 38},
    "b": {"M": {"c": {"S": "x"}, "a": {"L": [{"N": "1"}]}}},
    "c": {"M": {"a": {"N": "1"}, "b": {"M": {"x": {"NULL": True}}}}},
    "d": {"SS": ["a", "b"]},
    "e": {"L": [{"N": "1"}, {"M": {"a": {"S": ""}}}, {"BS": ["YQ=="]}]},
    "f": {"NS": ["1", "2"]},
}


def expression(data: bytes) -> None:
    text = data[1:].decode(errors="replace")
    placeholders = Placeholders(_NAMES, _VALUES)
    with suppress(ValidationError):
        match data[0] % 4 if data else 0:
            case 0:
                placeholders.condition(text).test(_ITEM, _VALUES)
            case 1:
                placeholders.key_condition(text)
            case 2:
                placeholders.projection(text).project(_ITEM)
            case _:
                _update(placeholders, text)


def _update(placeholders: Placeholders, text: str) -> None:
    before = deepcopy(_ITEM)
    update = placeholders.update(text)
    new = update.apply(_ITEM, _VALUES)
    if before != _ITEM:
        raise Wrong("the old item was changed")
    update.updated_old(_ITEM, new)
    update.updated_new(_ITEM, new)
    again = deepcopy(new)
    normalise_item(again)
    if again != new:
        raise Wrong("what an update makes is not in normal form")


def expression_seeds() -> Iterable[bytes]:
    random = Random("expressions")
    for _ in range(SEEDS):
        expressions = Expressions(RandomValues(random))
        yield b"\0" + expressions.condition().encode()
        yield b"\1" + expressions.key_condition(random.choice(TABLES).keys).encode()
        yield b"\2" + expressions.projection().encode()
        yield b"\3" + expressions.update().encode()
        yield bytes((random.randrange(4),)) + bomb(random).encode()[:500]


# Keys: the first byte picks a type, and the rest is two values of it.


def key(data: bytes) -> None:
    kind, first, second = _two_values(data)
    if kind == "":
        return
    one, other = (encode_component(kind, _stored(kind, raw)) for raw in (first, second))
    if (one < other) != (first < second) or (one == other) != (first == second):
        raise Wrong(f"{first!r} and {second!r} do not sort as {one!r} and {other!r}")
    if one != other and other.startswith(one):
        raise Wrong(f"{one!r} is the beginning of {other!r}")
    if (
        decode_component(kind, one) != (first, b"")
        or decode_component(kind, one + other)[1] != other
    ):
        raise Wrong(f"{first!r} does not come back")


def _two_values(data: bytes) -> tuple[Any, Any, Any]:
    """A type and two values that sort in Python as they do in DynamoDB; the type is "" if they are none."""
    kind = "SNB"[data[0] % 3] if data else ""
    half = 1 + len(data) // 2
    parts = data[1:half], data[half:]
    if kind == "B":
        return kind, *parts
    try:
        one, other = (part.decode() for part in parts)
        if kind == "S":
            return kind, one.encode(), other.encode()
        return kind, Decimal(normalise_number(one)), Decimal(normalise_number(other))
    except (UnicodeDecodeError, ValidationError):
        return "", b"", b""


def _stored(kind: KeyType, value: Any) -> dict[str, Any]:
    if kind == "N":
        return {"N": normalise_number(format(value, "f"))}
    return {"S": value.decode()} if kind == "S" else {"B": b64encode(value).decode()}


def key_seeds() -> Iterable[bytes]:
    for one, other in pairwise(NUMBERS):
        width = max(len(one), len(other))
        yield b"\1" + one.ljust(width, "0").encode() + other.ljust(width, "0").encode()
    yield from (b"\0aabb", b"\0a\0a\0b", b"\2\xff\xff\0\0", b"\2\0\xff\0", b"\1-1-2", b"\1.5.4")


# Numbers, against decimal arithmetic.

_EXACT = Context(prec=20_000, Emax=10**9, Emin=-(10**9))


def number(data: bytes) -> None:
    text = data.decode(errors="replace")[:5_000]
    try:
        normal = normalise_number(text)
    except ValidationError:
        if _fits(text):
            raise Wrong(f"{text!r} was refused") from None
        return
    if _EXACT.create_decimal(text) != Decimal(normal):
        raise Wrong(f"{text!r} became {normal!r}")
    if normalise_number(normal) != normal or normal != _plain(Decimal(normal)):
        raise Wrong(f"{normal!r} is no normal form")
    if not _fits(text) and Decimal(normal) != 0:
        raise Wrong(f"{text!r} was taken")


def _fits(text: str) -> bool:
    """Whether decimal arithmetic sees a number that DynamoDB holds. Zeros have odd rules, and count as not."""
    if not text.isascii() or set(text.lower()) - set("0123456789+-.e"):
        return False
    try:
        value = _EXACT.create_decimal(text)
    except ArithmeticError:
        return False
    if not value.is_finite() or not value:
        return False
    digits = "".join(map(str, value.as_tuple().digits)).strip("0")
    return len(digits) <= DIGITS_MAX and EXPONENT_MIN <= value.adjusted() <= EXPONENT_MAX


def _plain(value: Decimal) -> str:
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if not value else text


def number_seeds() -> Iterable[bytes]:
    return (text.encode()[:200] for text in (*NUMBERS, *NO_NUMBERS))


# Signatures. Lines of the input are the Authorization header, the date, the query string and a token.

_REFUSALS = (IncompleteSignature, InvalidSignature, MissingAuthenticationToken, UnrecognizedClient)
_VERIFIER = Verifier(
    {"test": Credential("111122223333", "secret")}, VirtualClock(1_767_225_600_000)
)


def signature(data: bytes) -> None:
    fields = [*data.split(b"\n", 3), b"", b"", b""]
    names = (b"Authorization", b"X-Amz-Date", b"", b"X-Amz-Security-Token")
    headers = {b"Host": b"a", b"X-Amz-Target": b"b"}
    headers |= {name: value for name, value in zip(names, fields, strict=False) if name and value}
    exchange = Exchange(
        cast(Any, None), b"POST", b"/?" + fields[2], HeaderNames(tuple(headers)), headers, b"{}"
    )
    with suppress(*_REFUSALS):
        Authenticator().caller(exchange, fields[2])
    with suppress(*_REFUSALS):
        _VERIFIER.caller(exchange, fields[2])
        raise Wrong("nobody knows the secret, and yet a signature is good")


def signature_seeds() -> Iterable[bytes]:
    header = authorization("us-east-1").encode().replace(b"=00", b"=" + b"0" * 64)
    signed = header.replace(b"SignedHeaders=host", b"SignedHeaders=host;x-amz-date;x-amz-target")
    query = (
        b"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=test%2F20260101%2Fus-east-1%2Fdynamodb"
        b"%2Faws4_request&X-Amz-Date=20260101T000000Z&X-Amz-Expires=900&X-Amz-SignedHeaders=host"
        b"%3Bx-amz-target&X-Amz-Signature=" + b"0" * 64
    )
    yield header + b"\n20260101T000000Z"
    yield signed + b"\n20260101T000000Z\n\ntoken"
    yield b"\n\n" + query
    yield b"\n\n" + query + b"&X-Amz-Security-Token=token"


TARGETS = {
    "dispatch": Target(Dispatch(), dispatch_seeds),
    "expression": Target(expression, expression_seeds),
    "key": Target(key, key_seeds),
    "number": Target(number, number_seeds),
    "signature": Target(signature, signature_seeds),
}
