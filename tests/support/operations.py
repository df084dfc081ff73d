"""What clients did to one item, and what they were told: the histories that `linearizability.py` judges.

Times are positions in the run, not seconds: in virtual time an answer and the next request share a moment, and would
pass for concurrent. A `Recorder` counts positions; any other numbers will do if they rise.

Histories convict best when every written value is unique, and when refused conditions tell the item they met.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from enum import Enum

Value = Hashable | None
"""An item, or whatever stands for it. None is no item."""


class Untold(Enum):
    """The answer did not say what the condition met."""

    UNTOLD = "something else"


UNTOLD = Untold.UNTOLD


@dataclass(frozen=True, slots=True)
class Read:
    def __str__(self) -> str:
        return "read"


@dataclass(frozen=True, slots=True)
class Write:
    """A delete writes None."""

    value: Value

    def __str__(self) -> str:
        return "delete" if self.value is None else f"write {self.value!r}"


@dataclass(frozen=True, slots=True)
class Swap:
    """A conditional write: it takes effect only on `expected`, where None means that there is no item."""

    expected: Value
    value: Value

    def __str__(self) -> str:
        return f"{Write(self.value)} if {shown(self.expected)}"


@dataclass(frozen=True, slots=True)
class Done:
    """A write, or a conditional write whose condition held."""

    def __str__(self) -> str:
        return "done"


@dataclass(frozen=True, slots=True)
class Saw:
    value: Value

    def __str__(self) -> str:
        return shown(self.value)


@dataclass(frozen=True, slots=True)
class Refused:
    """A conditional write whose condition failed, on the item `met`."""

    met: Value | Untold = UNTOLD

    def __str__(self) -> str:
        return "refused" if self.met is UNTOLD else f"refused, met {shown(self.met)}"


Action = Read | Write | Swap
Answer = Done | Saw | Refused


def shown(value: Value) -> str:
    return "no item" if value is None else repr(value)


@dataclass(frozen=True, slots=True)
class Operation:
    """Without an answer nobody knows whether it took effect: at any time since `invoked`, or never."""

    client: str
    action: Action
    invoked: float
    responded: float | None = None
    answer: Answer | None = None

    def __post_init__(self) -> None:
        assert (self.responded is None) == (self.answer is None), "answers come with their time"
        assert self.responded is None or self.responded >= self.invoked, "answered before asked"
        fitting = {Read: (Saw,), Write: (Done,), Swap: (Done, Refused)}[type(self.action)]
        assert self.answer is None or isinstance(self.answer, fitting), (
            f"{self.answer} to {self.action}"
        )

    def forgotten(self) -> Operation:
        """The same operation as if its answer had been lost: any history allows it where it allowed the answer."""
        return replace(self, responded=None, answer=None)

    def __str__(self) -> str:
        until = "?" if self.responded is None else f"{self.responded:g}"
        answer = "no answer" if self.answer is None else str(self.answer)
        return f"{self.client} [{self.invoked:g}, {until}] {self.action} -> {answer}"


class Recorder:
    """Takes down histories, one for each key, in the order in which things happen.

    An operation stays as one without an answer until it gets one. A client whose request was lost goes on as it likes:
    what was lost may take effect beside everything the client does later.
    """

    def __init__(self) -> None:
        self._histories: dict[Hashable, dict[int, Operation]] = {}
        self._keys: list[Hashable] = []
        self._position = 0

    def asked(self, client: str, key: Hashable, action: Action) -> int:
        """Return the number by which the answer names this operation."""
        number = len(self._keys)
        self._keys.append(key)
        history = self._histories.setdefault(key, {})
        history[number] = Operation(client, action, self._next())
        return number

    def answered(self, number: int, answer: Answer) -> None:
        history = self._histories[self._keys[number]]
        operation = history[number]
        assert operation.answer is None, f"answered twice: {operation}"
        history[number] = replace(operation, responded=self._next(), answer=answer)

    def undone(self, number: int) -> None:
        """The answer was an error which says that nothing was done, nor ever will be."""
        del self._histories[self._keys[number]][number]

    @property
    def histories(self) -> dict[Hashable, list[Operation]]:
        return {key: list(history.values()) for key, history in self._histories.items()}

    def _next(self) -> int:
        self._position += 1
        return self._position
