"""Expressions as text with their placeholders: sensible ones, and ones made to hurt whoever reads them."""

from __future__ import annotations

from random import Random

from tests.fuzz.tables import ATTRIBUTES, Keys, key_value
from tests.fuzz.values import Json, Values

# These need a placeholder wherever they stand: they are DynamoDB's reserved words.
RESERVED = ("status", "group", "blob")
PATHS = ("a", "b", "c", "d", "e", "f", "n", "colour", "c.a", "c.b.x", "e[0]", "e[1].a", "c.a[2]")


class Expressions:
    """Writes the expressions of one request, and keeps the names and values they use."""

    def __init__(self, values: Values) -> None:
        self.random = values.random
        self._make = values
        self.names: dict[str, str] = {}
        self.values: Json = {}

    def placed_in(self, request: Json) -> Json:
        if self.names:
            request["ExpressionAttributeNames"] = self.names
        if self.values:
            request["ExpressionAttributeValues"] = self.values
        return request

    def name(self, attribute: str) -> str:
        if attribute not in RESERVED and self.random.random() < 0.7:
            return attribute
        placeholder = f"#{attribute}"
        self.names[placeholder] = attribute
        return placeholder

    def value(self, value: Json) -> str:
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def path(self) -> str:
        random = self.random
        if random.random() < 0.6:
            return self.name(random.choice(list(ATTRIBUTES)))
        return random.choice(PATHS)

    def condition(self, depth: int = 0) -> str:
        random = self.random
        if depth < 3 and random.random() < 0.4:
            if random.random() < 0.3:
                return f"NOT ({self.condition(depth + 1)})"
            word = random.choice((" AND ", " OR ", " and "))
            parts = [self.condition(depth + 1) for _ in range(random.randint(2, 3))]
            return word.join(f"({part})" if random.random() < 0.5 else part for part in parts)
        return self._test()

    def _test(self) -> str:
        random, path = self.random, self.path()
        match random.randrange(9):
            case 0:
                return f"attribute_exists({path})"
            case 1:
                return f"attribute_not_exists({path})"
            case 2:
                kind = {"S": random.choice(("S", "N", "B", "M", "L", "SS", "BOOL", "NULL"))}
                return f"attribute_type({path}, {self.value(kind)})"
            case 3:
                return f"begins_with({path}, {self.value(self._make.of(random.choice('SB')))})"
            case 4:
                return f"contains({path}, {self.value(self._make.value())})"
            case 5:
                operands = [self.value(self._make.value()) for _ in range(random.randint(1, 4))]
                return f"{path} IN ({', '.join(operands)})"
            case 6:
                return f"size({path}) {self._comparison()} {self.value({'N': '2'})}"
            case 7:
                return f"{path} BETWEEN {self.value({'N': '1'})} AND {self.value({'N': '5'})}"
            case _:
                return f"{path} {self._comparison()} {self.value(self._make.scalar())}"

    def _comparison(self) -> str:
        return self.random.choice(("=", "<>", "<", "<=", ">", ">="))

    def projection(self) -> str:
        chosen = self.random.sample(list(ATTRIBUTES), self.random.randint(1, 4))
        return ", ".join(self.name(attribute) for attribute in chosen)

    def update(self) -> str:
        """Clauses on different attributes, so that no two paths are in each other's way."""
        random = self.random
        free = random.sample(list(ATTRIBUTES), random.randint(1, 5))
        clauses: dict[str, list[str]] = {}
        for attribute in free:
            clause = random.choice(("SET", "SET", "SET", "REMOVE", "ADD", "DELETE"))
            name = self.name(attribute)
            if clause == "SET":
                name += f" = {self._right_side(attribute)}"
            elif clause != "REMOVE":
                kind = "N" if clause == "ADD" and ATTRIBUTES[attribute] == "N" else "SS"
                name += f" {self.value(self._make.of(kind))}"
            clauses.setdefault(clause, []).append(name)
        return " ".join(f"{clause} {', '.join(parts)}" for clause, parts in clauses.items())

    def _right_side(self, attribute: str) -> str:
        random = self.random
        kind = ATTRIBUTES[attribute]
        value = self.value(self._make.of(kind))
        match random.randrange(5):
            case 0 if kind == "N":
                default = self.value({"N": "0"})
                operator = random.choice("+-")
                return f"if_not_exists({self.name(attribute)}, {default}) {operator} {value}"
            case 1 if kind == "L":
                empty = self.value({"L": []})
                return f"list_append(if_not_exists({self.name(attribute)}, {empty}), {value})"
            case 2:
                return f"if_not_exists({self.name(random.choice(list(ATTRIBUTES)))}, {value})"
            case _:
                return value

    def key_condition(self, keys: Keys) -> str:
        random = self.random
        name, kind = keys.hash
        parts = [f"{self.name(name)} = {self.value(key_value(random, kind))}"]
        if keys.range is not None and random.random() < 0.7:
            parts.append(self._range_condition(*keys.range))
            if random.random() < 0.2:
                parts.reverse()
        return " AND ".join(parts)

    def _range_condition(self, name: str, kind: str) -> str:
        random = self.random
        path, low = self.name(name), key_value(random, kind)
        if random.random() < 0.2:
            ends = sorted((low, key_value(random, kind)), key=str)
            return f"{path} BETWEEN {self.value(ends[0])} AND {self.value(ends[1])}"
        if kind != "N" and random.random() < 0.3:
            return f"begins_with({path}, {self.value(low)})"
        return f"{path} {random.choice(('=', '<', '<=', '>', '>='))} {self.value(low)}"


def bomb(random: Random) -> str:
    """A text that asks for more than it is worth: of depth, of length, of numbers, of nonsense."""
    size = random.choice((10, 31, 33, 100, 101, 299, 300, 301, 340, 2_000))
    return random.choice(
        (
            "(" * size + "a = :v0" + ")" * size,
            "NOT " * size + "a = :v0",
            " AND ".join(["a = :v0"] * size),
            " OR ".join(["(NOT attribute_exists(a))"] * size),
            f"a IN ({', '.join([':v0'] * size)})",
            ".".join(["a"] * size) + " = :v0",
            "a" + "[0]" * size + " = :v0",
            f"a[{'9' * size}] = :v0",
            "size(" * size + "a" + ")" * size + " > :v0",
            "SET a = " + "if_not_exists(a, " * size + ":v0" + ")" * size,
            "SET a = " + "list_append(e, " * size + ":v0" + ")" * size,
            "SET " + ", ".join(f"a{number} = :v0" for number in range(size)),
            "REMOVE " + ", ".join(f"e[{number}]" for number in range(size)),
            "SET a = :v0 " * size,
            ", ".join(f"a{number}" for number in range(size)),
            "a" * size,
            "#" * size,
            ":" * size,
            "a = :v0 \u2028 AND\u00a0b = :v0",
            "a = :v0\x00",
            "ＡＮＤ ａ = :v0",
            "é" * size,
            '"' * size,
            " " * size,
            "",
        )
    )
