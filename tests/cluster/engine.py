"""What the tests of containers need of this machine, and the image they are about."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from tests.support.server import ROOT

IMAGE = "grammedb:test"
DEPLOY = ROOT / "deploy"
COMPOSE_FILE = "compose.yaml"

ANSWER_TIMEOUT_S = 20.0
PULL_TIMEOUT_S = 300.0
BUILD_TIMEOUT_S = 600.0


def lack() -> str | None:
    """Why containers cannot be tested here, or None. Pulls the base of the image if it is not here."""
    if shutil.which("docker") is None:
        return "docker is not installed"
    try:
        engine = docker("version", "--format", "{{.Server.Version}}")
        if engine.returncode:
            return f"no engine answers ({_last_line(engine.stderr)})"
        compose = docker("compose", "version")
        if compose.returncode:
            return "docker has no compose command"
        base = base_image()
        if docker("image", "inspect", base).returncode == 0:
            return None
        pulled = docker("pull", "--quiet", base, timeout_s=PULL_TIMEOUT_S)
        if pulled.returncode:
            return f"{base} cannot be pulled, and GRAMME_BASE names no other base ({_last_line(pulled.stderr)})"
    except subprocess.TimeoutExpired as error:
        return f"no answer within {error.timeout:g} s: {' '.join(error.cmd)}"
    return None


def base_image() -> str:
    """What the image is built on: the Dockerfile's choice, unless there is another."""
    given = os.environ.get("GRAMME_BASE")
    if given:
        return given
    found = re.search(r"^ARG GRAMME_BASE=(\S+)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    assert found is not None, "deploy/Dockerfile has no base"
    return found[1]


def build_image() -> str:
    """Build the image as compose does; its name."""
    built = docker(
        *("compose", "-f", COMPOSE_FILE, "build"),
        timeout_s=BUILD_TIMEOUT_S,
        variables={"GRAMME_IMAGE": IMAGE},
    )
    assert built.returncode == 0, f"the image cannot be built:\n{built.stdout}{built.stderr}"
    return IMAGE


def docker(
    *arguments: str,
    timeout_s: float = ANSWER_TIMEOUT_S,
    variables: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["docker", *arguments],
        cwd=DEPLOY,
        env={**os.environ, **(variables or {})},
        check=False,
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it says nothing"])[-1]
