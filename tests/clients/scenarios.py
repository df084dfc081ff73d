"""Scenarios that a client plays in its own language or environment: found in their file, and played one per test.

A scenario asserts for itself. It is a public function at the top level of its file, so one that is written is one that runs.
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
PUBLIC_FUNCTION = {
    ".py": re.compile(r"^async def ([a-z]\w*)\(", re.MULTILINE),
    ".mjs": re.compile(r"^export async function (\w+)\(", re.MULTILINE),
}


def scenarios(file: Path) -> list[str]:
    found: list[str] = PUBLIC_FUNCTION[file.suffix].findall(file.read_text())
    assert found, f"{file} has no scenarios"
    return found
