"""The processes that a foreground process has started: each with a log of its own, and none left behind."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

POLL_S = 0.05
# A router lets what it was asked be answered for up to ten seconds.
STOP_GRACE_S = 15.0
# Of a log, to find the last words in: a node that runs for long may say much.
WORDS_BYTES_MAX = 64 << 10
# What begins a line that is for a person.
TO_A_PERSON = "gramme: "
# prctl's PR_SET_PDEATHSIG.
_SIGNAL_AT_DEATH_OF_PARENT = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


class EndedEarly(Exception):
    """A process ended, or was told to, before it served. The message is its own last word."""


class Child:
    """A process that writes a JSON line with the event "started" to its log once it serves."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name = name
        self.command = list(command)
        self.log = log
        self._log_begins = 0
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """0 if it does not run."""
        return self._process.pid if self._process is not None and self.running else 0

    @property
    def began(self) -> bool:
        return self._process is not None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        with self.log.open("ab") as log:
            self._log_begins = log.tell()
            self._process = await asyncio.create_subprocess_exec(
                *self.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C in a terminal goes to a whole group of processes, and who started these stops them in order.
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    async def serves(self) -> None:
        """Return once it has started. Raises EndedEarly."""
        while not any(_is_started(line) for line in self._words()):
            if not self.running:
                raise EndedEarly(self._last_words())
            await asyncio.sleep(POLL_S)

    async def ended(self) -> str:
        """Wait for the end; how it came."""
        assert self._process is not None
        code = await self._process.wait()
        if code < 0:
            return signal.Signals(-code).name
        return f"exit code {code}: {self._last_words()}" if code else "exit code 0"

    def signal(self, number: signal.Signals) -> None:
        if self._process is not None and self.running:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    def _words(self) -> list[str]:
        """The newest of what it has said since it was started."""
        with self.log.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_begins, end - WORDS_BYTES_MAX))
            return log.read().decode(errors="replace").splitlines()

    def _last_words(self) -> str:
        words = [line for line in self._words() if line.strip()]
        said = [line for line in words if line.startswith(TO_A_PERSON)]
        return (said or words or [f"see {self.log}"])[-1].removeprefix(TO_A_PERSON)


async def stop_all(children: Sequence[Child], grace_s: float = STOP_GRACE_S) -> None:
    """Ask processes to end, and end those that have not within the grace."""
    running = [child for child in children if child.running]
    for child in running:
        child.signal(signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(grace_s):
            await asyncio.gather(*(child.ended() for child in running))
            return
    for child in running:
        child.signal(signal.SIGKILL)
    await asyncio.gather(*(child.ended() for child in running))


def _is_started(line: str) -> bool:
    try:
        said = json.loads(line)
    except ValueError:
        return False
    return isinstance(said, dict) and said.get("event") == "started"


def _end_with_parent() -> None:
    """Be asked to stop when the parent is gone, however that came; only Linux offers this."""
    if _libc is not None:
        _libc.prctl(_SIGNAL_AT_DEATH_OF_PARENT, signal.SIGTERM)
