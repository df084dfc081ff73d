"""What can be wrong with a request: one thing off, by the service model, or something meant to hurt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

import orjson

from gramme.router.validation.generated import SHAPES
from tests.fuzz.expressions import bomb
from tests.fuzz.values import NO_NUMBERS, ODD_TEXTS, Json, Values

OF_ANY_TYPE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, "", "x", [], {}, [None], [[]], {"a": None}, {"": {}}, "true"),
    *(2**31, 2**63, -(2**63), 1e300, ["a"], [{}], {"S": "a"}, {"NULL": True}),
)
INTEGERS = (-1, 0, 101, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 1_000_001)
# JSON that an encoder would not write.
NUMBERS_AS_TEXT = (b"1e400", b"-0", b"1E5", b"1.0", b"9" * 400, b"1e-400", b"18446744073709551616")
ESCAPES = (rb'"\ud800"', rb'"\udc00\ud800"', rb'"\u0000"', rb'"\u00e9\uD83D\uDE00"')
NOT_JSON = (
    b"",
    b"{",
    b"nul",
    b"{}{}",
    b"\xff\xfe",
    b"{'a': 1}",
    b'{"a": NaN}',
    b"[]",
    b'"x"',
    b"0",
)
DEPTHS = (8, 30, 31, 32, 33, 40, 250, 1_000, 1_100, 5_000)
# Costly to send, so seldom: a deep body, and a text beyond the 400 KB of an item.
HUGE_SHARE = 0.02
DEPTH_HUGE = 200_000
TEXT_HUGE = 410_000
# Stands for JSON that orjson would not write, until the body is bytes.
MARK = "\ue000mark\ue000"


class Place(NamedTuple):
    """Where a value stands in a body: in which object or list, under what, and what the model calls it."""

    container: Any
    key: Any
    shape: str


def places(shape: str, value: Any) -> Iterator[Place]:
    model = SHAPES[shape]
    if isinstance(value, dict):
        members = model.get("members", {})
        for name in value:
            inner = members.get(name) or model.get("value")
            if inner is not None:
                yield Place(value, name, inner)
                yield from places(inner, value[name])
    elif isinstance(value, list) and "member" in model:
        for number, member in enumerate(value):
            yield Place(value, number, model["member"])
            yield from places(model["member"], member)


def one_thing_off(random: Random, shape: str, body: Json, values: Values) -> None:
    """Make one mistake in `body`, somewhere."""
    found = list(places(shape, body))
    if not found:
        body[random.choice(("Extra", "TableName"))] = random.choice(OF_ANY_TYPE)
        return
    place = random.choice(found)
    random.choice(MISTAKES)(random, place, values)


def _wrong_type(random: Random, place: Place, values: Values) -> None:
    place.container[place.key] = random.choice(OF_ANY_TYPE)


def _wrong_size(random: Random, place: Place, values: Values) -> None:
    """A length or a number just beyond what the model allows, or far beyond."""
    model = SHAPES[place.shape]
    least, most = model.get("min", 0), model.get("max")
    match model["type"]:
        case "string" | "blob":
            length = random.choice((least - 1, (most or 300) + 1, 0, 256, 1_025))
            place.container[place.key] = "a" * length
        case "integer" | "long" | "double" | "timestamp":
            beyond = (least - 1, (most or 0) + 1)
            place.container[place.key] = random.choice((*beyond, *INTEGERS))
        case "list":
            inside = place.container[place.key] or [random.choice(OF_ANY_TYPE)]
            count = min((most or 30) + 1, 120)
            place.container[place.key] = random.choice(([], [inside[0]] * count))
        case "map" | "structure":
            place.container[place.key] = {}
        case _:
            place.container[place.key] = None


def _wrong_enum(random: Random, place: Place, values: Values) -> None:
    known = SHAPES[place.shape].get("enum", ["X"])
    place.container[place.key] = random.choice((known[0].lower(), known[0] + " ", "", "NO_SUCH"))


def _missing(random: Random, place: Place, values: Values) -> None:
    del place.container[place.key]


def _extra(random: Random, place: Place, values: Values) -> None:
    """A member that is not in the model, or one of the model's that does not belong with the others."""
    inside = place.container[place.key]
    holder = inside if isinstance(inside, dict) else place.container
    if isinstance(holder, dict):
        members = [*SHAPES[place.shape].get("members", {}), "Extra", "tableName", ""]
        holder.setdefault(random.choice(members), random.choice(OF_ANY_TYPE))
    else:
        holder.append(random.choice(OF_ANY_TYPE))


def _wrong_nesting(random: Random, place: Place, values: Values) -> None:
    inside = place.container[place.key]
    wrapped: list[Any] = [[inside], {"a": inside}, {"M": inside}, {"L": [inside]}]
    if isinstance(inside, dict) and inside:
        wrapped.append(next(iter(inside.values())))
    if isinstance(inside, list) and inside:
        wrapped.append(inside[0])
    place.container[place.key] = random.choice(wrapped)


def _odd_value(random: Random, place: Place, values: Values) -> None:
    is_value = place.shape == "AttributeValue"
    place.container[place.key] = values.odd() if is_value else random.choice(ODD_TEXTS)


def _other_name(random: Random, place: Place, values: Values) -> None:
    if isinstance(place.container, dict):
        inside = place.container.pop(place.key)
        place.container[random.choice(ODD_TEXTS[:18])] = inside


MISTAKES: tuple[Callable[[Random, Place, Values], None], ...] = (
    *(_wrong_type, _wrong_size, _wrong_enum, _missing, _extra, _wrong_nesting),
    *(_odd_value, _odd_value, _other_name),
)


def hostile(random: Random, body: Json, values: Values) -> bytes:
    """A body that is meant to cost more than it should, or to be read as what it is not."""
    match random.randrange(8):
        case 0:
            return _spoiled(random, orjson.dumps(body))
        case 1:
            return _with(random, body, deep(random))
        case 2:
            return _with(random, body, random.choice((*NUMBERS_AS_TEXT, *ESCAPES)))
        case 3 | 4:
            for name in ("ConditionExpression", "FilterExpression", "UpdateExpression"):
                if name in body or random.random() < 0.3:
                    body[name] = bomb(random)
            for name in ("KeyConditionExpression", "ProjectionExpression"):
                if name in body:
                    body[name] = bomb(random)
            body.setdefault("ExpressionAttributeValues", {})[":v0"] = values.value()
        case 5:
            is_huge = random.random() < HUGE_SHARE
            size = TEXT_HUGE if is_huge else random.choice((300, 3_000, 20_000))
            _anywhere(random, body, random.choice(("x", "é", "\x00", "🦀")) * size)
        case 6:
            _anywhere(random, body, {"N": random.choice(NO_NUMBERS)})
        case _:
            crowd = random.choice((26, 101, 400))
            _anywhere(random, body, {f"a{number}": values.value() for number in range(crowd)})
    return orjson.dumps(body)


def _anywhere(random: Random, body: Json, value: Any) -> None:
    """Put `value` somewhere in `body`, at any depth."""
    spots: list[tuple[Any, Any]] = [(body, random.choice(("Item", "Key", "TableName", "Tags")))]
    waiting: list[Any] = [body]
    while waiting:
        inside = waiting.pop()
        keys: list[Any] = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        for key in keys:
            spots.append((inside, key))
            if isinstance(inside[key], dict | list):
                waiting.append(inside[key])
    container, key = random.choice(spots)
    container[key] = value


def _with(random: Random, body: Json, raw: bytes) -> bytes:
    """The body as bytes, with `raw` for one of its values."""
    _anywhere(random, body, MARK)
    return orjson.dumps(body).replace(orjson.dumps(MARK), raw, 1)


def deep(random: Random) -> bytes:
    """Levels within levels: of attribute values, of plain JSON, or never closed."""
    depth = DEPTH_HUGE if random.random() < HUGE_SHARE else random.choice(DEPTHS)
    opening, inside, closing = random.choice(
        (
            (b'{"M":{"a":', b'{"S":"x"}', b"}}"),
            (b'{"L":[', b'{"N":"1"}', b"]}"),
            (b"[", b"", b"]"),
            (b'{"a":', b"1", b"}"),
            (b'{"L":[', b"", b""),
        )
    )
    return opening * depth + inside + closing * depth


def _spoiled(random: Random, body: bytes) -> bytes:
    """Bytes cut off, doubled or changed; or no JSON at all."""
    match random.randrange(5):
        case 0:
            return random.choice(NOT_JSON)
        case 1:
            return body[: random.randrange(len(body))]
        case 2:
            return body + random.choice((b" ", b"\n\n", b"}", b"\x00", b",", body))
        case 3:
            spot = random.randrange(len(body))
            return body[:spot] + bytes((random.randrange(256),)) + body[spot + 1 :]
        case _:
            spot = random.randrange(len(body))
            return body[:spot] + random.choice((b"\xff", b"\\u", b'"', b"\xc3")) + body[spot:]
