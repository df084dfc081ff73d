"""Which servers this machine has: Gramme, the constant handler, and peers by PATH or environment.

`DYNALITE`, `MOTO_SERVER` and `DYNOXIDE` may each hold a command (a path, or a path and arguments);
without them the programs are looked up on PATH. Peers keep their tables in memory, their fastest form;
Gramme is on disk and flushes every write.
"""

import importlib.metadata
import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

from bench.processes import output_of
from bench.servers import ROOT, Kind

GRAMME = "gramme"
CONSTANT = "constant"
DYNALITE = "dynalite"
MOTO = "moto"
DYNOXIDE = "dynoxide"
PEERS = (DYNALITE, MOTO, DYNOXIDE)

ENVIRONMENT = {DYNALITE: "DYNALITE", MOTO: "MOTO_SERVER", DYNOXIDE: "DYNOXIDE"}
PROGRAM = {DYNALITE: "dynalite", MOTO: "moto_server", DYNOXIDE: "dynoxide"}


def gramme() -> Kind:
    def command(port: int, data: Path) -> list[str]:
        serve = [sys.executable, "-m", "gramme.cli.main", "serve"]
        return [*serve, "--port", str(port), "--data", str(data)]

    return Kind(GRAMME, "on disk, every write flushed", gramme_version(), command)


def constant() -> Kind:
    def command(port: int, data: Path) -> list[str]:
        return [sys.executable, "-m", "bench.constant", "--port", str(port)]

    return Kind(CONSTANT, "no database: parses HTTP, answers constant bytes", "", command)


def peer(name: str) -> Kind | None:
    """How to start the peer `name`, or None where it is not installed."""
    found = os.environ.get(ENVIRONMENT[name]) or shutil.which(PROGRAM[name])
    if not found:
        return None
    program = shlex.split(found)

    def command(port: int, data: Path) -> list[str]:
        if name == DYNALITE:
            options = ["--host", "127.0.0.1", "--port", str(port), "--createTableMs", "0"]
        elif name == MOTO:
            options = ["-H", "127.0.0.1", "-p", str(port)]
        else:
            options = ["serve", "--host", "127.0.0.1", "--port", str(port)]
        return program + options

    return Kind(name, "in memory", peer_version(name, program), command)


def gramme_version() -> str:
    commit = output_of(["git", "rev-parse", "--short", "HEAD"], ROOT)
    try:
        version = importlib.metadata.version("grammedb")
    except importlib.metadata.PackageNotFoundError:
        version = ""
    return " ".join(part for part in (version, commit) if part)


def peer_version(name: str, program: list[str]) -> str:
    executable = Path(shutil.which(program[-1]) or program[-1]).resolve()
    if name == DYNALITE:
        return package_version(executable)
    if name == MOTO:
        # A console script names the interpreter that has the package in its first line.
        interpreter = executable.read_text().splitlines()[0].removeprefix("#!")
        ask = "import importlib.metadata as m; print(m.version('moto'))"
        answer = output_of([interpreter, "-c", ask])
    else:
        answer = output_of([*program, "--version"])
    found = re.search(r"\d+\.\d+\S*", answer)
    return found.group() if found else "unknown"


def package_version(executable: Path) -> str:
    """The version in the package.json nearest above `executable`."""
    for directory in executable.parents:
        manifest = directory / "package.json"
        if manifest.is_file():
            return str(json.loads(manifest.read_text()).get("version", "unknown"))
    return "unknown"
