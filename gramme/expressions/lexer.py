"""Text to tokens, and the cursor a parser reads them with. Knows no grammar.

A token's place in the text is kept because DynamoDB's syntax error quotes the text from the token
before the wrong one to the token after it.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from gramme.errors import ValidationError

Kind = Literal["name", "#", ":", "number", "symbol", "end"]

_TOKEN = re.compile(
    r"[ \t\r\n]*(?:(?P<name>[A-Za-z][A-Za-z0-9_]*)|(?P<hash>#[A-Za-z0-9_]+)"
    r"|(?P<colon>:[A-Za-z0-9_]+)|(?P<number>[0-9]+)|(?P<symbol><>|<=|>=|[^ \t\r\n]))",
)
_KINDS: dict[str, Kind] = {
    "name": "name",
    "hash": "#",
    "colon": ":",
    "number": "number",
    "symbol": "symbol",
}


class Token(NamedTuple):
    kind: Kind
    text: str
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """The tokens of `text` and an end token. Any text has tokens: the rest are symbols."""
    found: list[Token] = []
    position = 0
    while match := _TOKEN.match(text, position):
        group = match.lastgroup
        assert group is not None
        position = match.end()
        found.append(Token(_KINDS[group], match[group], match.start(group), position))
    found.append(Token("end", "<EOF>", len(text), len(text)))
    return found


class Cursor:
    """Where a parser stands in a text. `parameter` is the request field the text came from."""

    def __init__(self, text: str, parameter: str) -> None:
        self.text = text
        self.parameter = parameter
        self.tokens = tokens(text)
        self.position = 0
        self.token = self.tokens[0]

    def take(self) -> Token:
        token = self.token
        if token.kind != "end":
            self.position += 1
            self.token = self.tokens[self.position]
        return token

    def following(self) -> Token:
        """The token after the one that comes next."""
        return self.tokens[min(self.position + 1, len(self.tokens) - 1)]

    def at(self, symbol: str) -> bool:
        return self.token.kind == "symbol" and self.token.text == symbol

    def at_keyword(self, keyword: str) -> bool:
        """Keywords are the same in any case, unlike names and functions."""
        return self.token.kind == "name" and self.token.text.upper() == keyword

    def skip(self, symbol: str) -> bool:
        if self.at(symbol):
            self.take()
            return True
        return False

    def skip_keyword(self, keyword: str) -> bool:
        if self.at_keyword(keyword):
            self.take()
            return True
        return False

    def expect(self, symbol: str) -> None:
        if not self.skip(symbol):
            raise self.syntax_error()

    def syntax_error(self, position: int | None = None) -> ValidationError:
        at = self.position if position is None else position
        token = self.tokens[at]
        before = self.tokens[at - 1] if at > 0 else token
        after = self.tokens[at + 1] if at + 1 < len(self.tokens) else token
        # At the end there is nothing to quote but the last token.
        last = before if token.kind == "end" else token if after.kind == "end" else after
        near = self.text[before.start : last.end]
        return self.error(f'Syntax error; token: "{token.text}", near: "{near}"')

    def error(self, message: str) -> ValidationError:
        return ValidationError(f"Invalid {self.parameter}: {message}")
