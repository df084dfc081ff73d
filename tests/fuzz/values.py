"""Attribute values: ones that DynamoDB takes, and ones that look at its limits from the other side."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from random import Random
from typing import Any

Json = dict[str, Any]

FLAT = ("S", "N", "N", "B", "BOOL", "NULL", "SS", "NS", "BS")
DEPTH_MAX = 3

TEXTS = ("a", "b", "ab", "abc", "z", "é", "日本", "\U0001f980", "a b", "0", "a.b", "\x00", "\x7f")
NUMBERS = (
    *("0", "1", "2", "3", "10", "-1", "-2.5", "0.5", "100", "1e3", "+7", "007", ".5", "5."),
    *("1E-130", "9.9999999999999999999999999999999999999E125", "-1E-130"),
    *("12345678901234567890123456789012345678", "-0", "0e5", "3.14159265358979323846"),
)
BINARIES = (b"a", b"b", b"ab", b"\x00", b"\xff\xff", b"abc" * 7)

# What is written as a number, or nearly so, and is none that DynamoDB could keep.
NO_NUMBERS = (
    *("", " 1", "1 ", "NaN", "Infinity", "-Infinity", "1e", "e5", "--1", "0x10", "1_000", "1,5"),
    *(
        "٣",
        "１２",
        "1e126",
        "1e-131",
        "0e126",
        "1e999999999999999999999",
        "1" * 39,
        "0." + "1" * 39,
    ),
    *(
        "9" * 5_000,
        "0" * 5_000 + "1",
        "1e+-5",
        "½",
        "²",
        "1\u0000",
        "\ud7ff",
        "1e" + "0" * 300 + "1",
    ),
)
ODD_TEXTS = (
    *("", "\u0000", "\u202e\u2066abc", "\ufeff", "\ufffe\uffff", "e\u0301" * 9, "🏳️‍🌈", "İıſK"),
    *("'; --", '"\\"', "\r\n\r\nHTTP/1.1 200 OK", "%s%n{0}{{", "../../etc", "__proto__", "None"),
    *("a" * 256, "a" * 1_025, "é" * 1_024, "a" * 2_049, "🦀" * 600, "x" * 65_536),
)


class Values:
    def __init__(self, random: Random) -> None:
        self.random = random
        self._makers: dict[str, Callable[[int], Any]] = {
            "S": lambda depth: self.text(),
            "N": lambda depth: self.number(),
            "B": lambda depth: self.binary(),
            "BOOL": lambda depth: random.random() < 0.5,
            "NULL": lambda depth: True,
            "SS": lambda depth: random.sample(TEXTS, random.randint(1, 3)),
            "NS": lambda depth: [str(n) for n in random.sample(range(-3, 9), random.randint(1, 3))],
            "BS": lambda depth: [encoded(b) for b in random.sample(BINARIES, random.randint(1, 3))],
            "L": lambda depth: [self.value(depth + 1) for _ in range(random.randint(0, 3))],
            "M": lambda depth: {
                random.choice("abcdx"): self.value(depth + 1) for _ in range(random.randint(0, 3))
            },
        }

    def text(self) -> str:
        return self.random.choice(TEXTS)

    def number(self) -> str:
        if self.random.random() < 0.5:
            return str(self.random.randint(-20, 20))
        return self.random.choice(NUMBERS)

    def binary(self) -> str:
        return encoded(self.random.choice(BINARIES))

    def of(self, kind: str, depth: int = 0) -> Json:
        return {kind: self._makers[kind](depth)}

    def value(self, depth: int = 0) -> Json:
        kinds = FLAT if depth > DEPTH_MAX else (*FLAT, "L", "M")
        return self.of(self.random.choice(kinds), depth)

    def scalar(self) -> Json:
        return self.of(self.random.choice("SNB"))

    def odd(self) -> Any:
        """No value, or one at a limit, or one beyond it."""
        random = self.random
        odd = random.choice(ODD_TEXTS)
        number = random.choice(NO_NUMBERS)
        return random.choice(
            (
                *(
                    {"S": odd},
                    {"SS": [odd, ""]},
                    {"M": {odd: {"S": odd}}},
                    {"L": [{"S": odd}, {"S": odd}]},
                ),
                *({"N": number}, {"NS": ["1", number]}, {"NS": ["1", "1.0"]}, {"SS": ["a", "a"]}),
                *({"B": odd}, {"B": "YQ"}, {"B": "Y Q="}, {"BS": ["YQ==", "YQ=="]}, {"B": "-_=="}),
                *({"SS": []}, {"NS": []}, {"BS": []}, {"NULL": False}, {"NULL": "true"}),
                *({"BOOL": "true"}, {"BOOL": 1}, {"N": 1}, {"N": 1.5}, {"S": 1}, {"S": None}),
                *({}, {"S": "a", "N": "1"}, {"X": "a"}, {"s": "a"}, {"L": [{}]}, {"M": {"a": 1}}),
                *(None, [], "S", 7, {"L": {"S": "a"}}, {"M": []}, {"SS": "a"}, {"SS": [["a"]]}),
            )
        )


def encoded(raw: bytes) -> str:
    return b64encode(raw).decode()
