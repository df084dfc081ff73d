"""What every process of Gramme has in common when it starts and ends in the foreground."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")

# Requests leave next to no cycles, so looking for them every few hundred objects is wasted.
COLLECT_AFTER_OBJECTS = 20_000
# A flush ends in another thread, which must then get the interpreter from a busy event loop. Python's own 5 ms
# would be several flushes long.
SWITCH_INTERVAL_S = 0.0005


class StartRefused(Exception):
    """The process cannot start; the message is one line for a person."""


def run(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine function on the event loop a server needs."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


def run_or_refuse(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run in the foreground. Ends the process with one line for a person if it cannot start."""
    try:
        return run(main)
    except* StartRefused as group:
        refusal: BaseException = group
        while isinstance(refusal, BaseExceptionGroup):
            refusal = refusal.exceptions[0]
        print(f"gramme: {refusal}", file=sys.stderr)
        sys.exit(1)


def stop_on_signal() -> asyncio.Event:
    """Set when the process is asked to stop."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


def end_process(data: str) -> Callable[[str], None]:
    """What a node calls when writing to its data directory has failed, with what went wrong."""

    def end(what: str) -> None:
        """End at once: nobody knows what the disk holds, so nothing more may be answered."""
        print(f"gramme: {what}; data directory: {data}. Stopping.", file=sys.stderr, flush=True)
        os._exit(1)

    return end


def quiet_collector() -> None:
    """Keep Python's cycle collector off the hot path: what is loaded by now lives until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER_OBJECTS)


def log_event(event: str, **facts: Any) -> None:
    print(json.dumps({"event": event, **facts}), file=sys.stderr, flush=True)
