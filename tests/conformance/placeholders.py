"""The values that the conditions of the tests compare with, by the names they are given there."""

from __future__ import annotations

from tests.conformance.tables import Item

VALUES: Item = {
    ":s": {"S": "banana"},
    ":an": {"S": "an"},
    ":ba": {"S": "ba"},
    ":z": {"S": "z"},
    ":empty": {"S": ""},
    ":a": {"S": "a"},
    ":n": {"N": "10"},
    ":ten": {"N": "1e1"},
    ":nine": {"N": "9"},
    ":eleven": {"N": "11"},
    ":one": {"N": "1"},
    ":two": {"N": "2"},
    ":three": {"N": "3"},
    ":six": {"N": "6"},
    ":b": {"B": b"\x80\x01"},
    ":b7f": {"B": b"\x7f"},
    ":b80": {"B": b"\x80"},
    ":x": {"B": b"x"},
    ":true": {"BOOL": True},
    ":null": {"NULL": True},
    ":ba_set": {"SS": ["b", "a"]},
    ":ns": {"NS": ["2.50", "1.0"]},
    ":bs": {"BS": [b"y", b"x"]},
    ":ns_close": {"NS": ["1", "2.500000000000000001"]},
    ":l": {"L": [{"S": "a"}, {"N": "1"}, {"L": [{"N": "2.0"}]}]},
    ":l_reversed": {"L": [{"N": "1"}, {"S": "a"}, {"L": [{"N": "2.0"}]}]},
    ":inner": {"L": [{"N": "2"}]},
    ":m": {"M": {"inner": {"M": {"s": {"SS": ["q", "p"]}}}, "x": {"N": "1.0"}}},
    ":type_s": {"S": "S"},
    ":type_n": {"S": "N"},
    ":type_b": {"S": "B"},
    ":type_bool": {"S": "BOOL"},
    ":type_null": {"S": "NULL"},
    ":type_ss": {"S": "SS"},
    ":type_ns": {"S": "NS"},
    ":type_bs": {"S": "BS"},
    ":type_l": {"S": "L"},
    ":type_m": {"S": "M"},
    ":type_x": {"S": "X"},
}


def placeholders(expression: str) -> Item:
    """The values that an expression names."""
    words = expression
    for symbol in "()=<>,":
        words = words.replace(symbol, " ")
    used = {word: VALUES[word] for word in words.split() if word in VALUES}
    return {"ExpressionAttributeValues": used} if used else {}
