"""What came of a seed, and what a run needs whatever it simulates."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tests.support.ledger import Violation

# What was asked and answered, or may have been done.
OPERATIONS = ("writes", "conditions that failed", "unknown", "strong reads", "eventual reads")


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a seed. `violation` says what is wrong, if anything is; `plan` what was to happen."""

    seed: int
    kind: str
    plan: str
    digest: str
    seconds: float
    counts: Counter[str]
    violation: str | None
    trace: list[str]

    @property
    def operations(self) -> int:
        return sum(self.counts[kind] for kind in OPERATIONS)

    @property
    def faults(self) -> int:
        return sum(count for kind, count in self.counts.items() if kind.startswith("fault: "))


@contextmanager
def limited(limits: Mapping[str, object]) -> Iterator[None]:
    """Let these names of modules mean something smaller for a while."""
    kept = []
    for path, size in limits.items():
        module_name, _, name = path.rpartition(".")
        module = importlib.import_module(module_name)
        kept.append((module, name, getattr(module, name)))
        setattr(module, name, size)
    try:
        yield
    finally:
        for module, name, before in kept:
            setattr(module, name, before)


def told(error: BaseException) -> str:
    """What broke, innermost first: an exception in a group or behind another one is what matters."""
    while True:
        if isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        elif error.__cause__ is not None:
            error = error.__cause__
        else:
            break
    place = ""
    if not isinstance(error, Violation) and error.__traceback__ is not None:
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        code = trace.tb_frame.f_code
        place = f" (in {code.co_qualname}, {code.co_filename.rpartition('/')[2]}:{trace.tb_lineno})"
    return f"{type(error).__name__}: {error}{place}"
