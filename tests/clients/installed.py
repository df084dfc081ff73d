"""Clients that are programs with an environment of their own, which `make setup` makes: where they are, and running them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

RUN_TIMEOUT_S = 120.0


def installed(client: str) -> Path:
    """The directory of a client. One that is not there fails the test: nothing is passed over in silence."""
    directory = Path(sys.prefix, "clients", client)
    if not (directory / ".installed").exists():
        pytest.fail(f"the client {client} is not in {directory}: `make setup` puts it there")
    return directory


@dataclass(frozen=True, slots=True)
class Programs:
    """Runs programs with these environment variables."""

    environment: Mapping[str, str]

    def run(self, *command: str | Path, **changes: str) -> str:
        """What a program printed. It has to succeed."""
        done = self.attempt(*command, **changes)
        words = f"{command[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        assert done.returncode == 0, words
        return done.stdout

    def attempt(self, *command: str | Path, **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_TIMEOUT_S,
            check=False,
            env={**self.environment, **changes},
        )
