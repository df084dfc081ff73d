"""The AWS SDK for JavaScript, version 3, with its document client: its scenarios are played by Node.js.

This is the one client whose language a machine may lack. Then these tests are skipped, and say so.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.clients.installed import Programs, installed
from tests.clients.scenarios import HERE, scenarios

SOURCES = HERE / "javascript"
# What the SDK says it needs.
NODE_VERSION_MIN = 20


def _lack() -> str | None:
    """Why the scenarios cannot be played here, or None."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
    major = re.match(r"v(\d+)", version.stdout)
    if major is None or int(major[1]) < NODE_VERSION_MIN:
        return f"Node.js is {version.stdout.strip()}, and the SDK needs {NODE_VERSION_MIN}"
    return None


LACK = _lack()
pytestmark = pytest.mark.skipif(
    LACK is not None, reason=f"the JavaScript SDK is not tested: {LACK}"
)


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scenarios beside the SDK: Node.js looks for packages from where a program lies."""
    directory = tmp_path_factory.mktemp("javascript")
    for source in SOURCES.glob("*.mjs"):
        shutil.copy(source, directory)
    (directory / "node_modules").symlink_to(installed("javascript") / "node_modules")
    return directory / "play.mjs"


@pytest.mark.parametrize("scenario", scenarios(SOURCES / "scenarios.mjs"))
def test_the_sdk_for_javascript(
    programs: Programs, program: Path, endpoint: str, slow_endpoint: str, scenario: str
) -> None:
    programs.run("node", program, endpoint, slow_endpoint, scenario)
