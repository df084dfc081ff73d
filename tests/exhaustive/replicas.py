"""One replica as a value: copied before anything happens to it, and known again when it comes back to where it was.

What a replica does depends on nothing but itself and the event, so each (replica, event) is tried once and remembered;
the search above then only combines numbers.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Hashable
from types import FunctionType
from typing import Any

import msgspec

from gramme.node.raft.messages import Message
from gramme.node.raft.settings import Settings
from tests.unit.node.raft.shell import Flush, Shell

# Time does not pass in the search; an election timeout is an event like any other. And counting is no state.
IGNORED = {"_elapsed", "_timeout", "heartbeat_elapsed", "ill_formed", "draw", "_draw", "settings"}
ATOMS = (int, str, bytes, type(None), tuple, enum.Enum, FunctionType, Settings)


def copy_of(shell: Shell) -> Shell:
    copied: Shell = _copy(shell, {})
    return copied


def _copy(value: Any, done: dict[int, Any]) -> Any:
    if isinstance(value, ATOMS) or (isinstance(value, msgspec.Struct) and _is_frozen(value)):
        return value
    fresh: Any
    known = done.get(id(value))
    if known is not None:
        return known
    if isinstance(value, list | deque):
        fresh = done[id(value)] = type(value)()
        fresh.extend(_copy(each, done) for each in value)
        return fresh
    if isinstance(value, dict):
        fresh = done[id(value)] = {}
        fresh.update((key, _copy(each, done)) for key, each in value.items())
        return fresh
    fresh = done[id(value)] = object.__new__(type(value))
    for name in _names(value):
        setattr(fresh, name, _copy(getattr(value, name), done))
    return fresh


def renumber(shell: Shell) -> None:
    """Give the Readys in flight the smallest numbers, so that equal replicas have equal ones."""
    raft = shell.raft
    numbers = {flush.number: at for at, flush in enumerate(shell.flushes, start=1)}
    shell.flushes = deque(
        Flush(numbers[flush.number], flush.stored, flush.messages) for flush in shell.flushes
    )
    raft._promises = deque((numbers[at], term, vote) for at, term, vote in raft._promises)
    raft.log._in_flight = deque([numbers[at], index] for at, index in raft.log._in_flight)
    raft._number = len(numbers)


def shape_of(value: Any) -> Hashable:
    """A value that is equal for replicas which cannot be told apart by what they will do."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, ATOMS):
        return value if not isinstance(value, tuple) else tuple(map(shape_of, value))
    if isinstance(value, list | deque):
        return tuple(map(shape_of, value))
    if isinstance(value, dict):
        return tuple((key, shape_of(value[key])) for key in sorted(value))
    if isinstance(value, msgspec.Struct):
        return (type(value).__name__, msgspec.msgpack.encode(value))
    return tuple(shape_of(getattr(value, name)) for name in _names(value) if name not in IGNORED)


def _names(value: Any) -> list[str]:
    slots = getattr(type(value), "__slots__", None)
    if slots and not isinstance(value, msgspec.Struct):
        return list(slots)
    if isinstance(value, msgspec.Struct):
        return list(value.__struct_fields__)
    return sorted(vars(value))


def _is_frozen(value: msgspec.Struct) -> bool:
    return value.__struct_config__.frozen


def happened(
    shell: Shell, event: tuple[str, Any], *, instant_flushes: bool
) -> tuple[Shell, list[Message]]:
    """Return the replica after an event, and what it sent. `shell` stays as it was."""
    after = copy_of(shell)
    name, detail = event
    sent: list[Message] = []
    match name:
        case "deliver":
            after.raft.step(detail)
        case "campaign":
            after.raft.campaign()
        case "propose":
            after.raft.propose(detail)
        case "change":
            after.raft.propose_configuration(detail)
        case "flush":
            sent += after.flush()
        case "crash":
            after.crash(detail)
    sent += after.work()
    while instant_flushes and after.flushes:
        sent += after.flush()
    renumber(after)
    return after, sent
