"""`gramme serve`: one server in the foreground, until it is told to stop."""

from __future__ import annotations

import argparse
import os
import tomllib
from pathlib import Path
from typing import Any

from gramme.cli.greeting import greet
from gramme.cli.parts import PARTITIONS_MAX
from gramme.open_files import ask_for_more
from gramme.start import (
    StartRefused,
    log_event,
    quiet_collector,
    run_or_refuse,
    stop_on_signal,
)


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "serve",
        help="run a server in this process",
        description="Run a server. Every option is also a variable GRAMME_<OPTION> and a key of the settings file.",
    )
    option = parser.add_argument
    option("--port", type=int, help="default 8000; 0 takes any free one")
    option("--host", help="address to listen on, default 127.0.0.1")
    option("--data", metavar="DIR", help="where the data is kept, default ./data")
    option(
        "--in-memory", action="store_const", const=True, help="keep the data until the server stops"
    )
    option(
        "--durability",
        choices=("flush", "os"),
        help="flush (default): an answered write survives power loss; os: it survives the process, not the machine",
    )
    option(
        "--partitions",
        type=int,
        metavar="N",
        help=f"of each new table, 1 to {PARTITIONS_MAX}, default 1",
    )
    option(
        "--clock",
        choices=("system", "virtual"),
        help="system (default); virtual: time stands still until gramme clock moves it",
    )
    option("--index-delay-ms", type=int, metavar="MS", help="hold global indexes back by this much")
    option(
        "--cache-mb",
        type=int,
        metavar="MB",
        help="memory for rows read from disk, default a sixteenth of the machine's",
    )
    option(
        "--table-delay-ms",
        type=int,
        metavar="MS",
        help="let tables and indexes be in each of their states for this long",
    )
    option(
        "--accept-data-loss",
        action="store_const",
        const=True,
        help="start on a damaged log with what is left of it",
    )
    option(
        "--credentials",
        metavar="FILE",
        help="answer only who signs with one of these keys; a file as of the AWS CLI",
    )
    option(
        "--insecure-bind",
        action="store_const",
        const=True,
        help="listen beyond this machine without credentials: everybody may do everything",
    )
    option(
        "--gateway-port",
        type=int,
        metavar="PORT",
        help="listen there for gramme.client too, which speaks gRPC; 0 takes any free one",
    )
    option("--gateway-certificate", metavar="FILE", help="shown to gramme.client, in PEM: use TLS")
    option("--gateway-key", metavar="FILE", help="of that certificate")
    option("--config", metavar="FILE", help="settings file in TOML")
    parser.set_defaults(command=serve)


def serve(options: argparse.Namespace) -> int:
    run_or_refuse(lambda: _serve(options))
    return 0


async def _serve(options: argparse.Namespace) -> None:
    # A whole server takes a while to load, and the other commands do without it.
    from gramme.embedded import Settings, running

    file = _read_file(options.config or os.environ.get("GRAMME_CONFIG"))
    settings = Settings.load(vars(options), os.environ, file)
    ask_for_more()
    stop = stop_on_signal()
    async with running(settings) as server:
        kept = "in memory" if settings.in_memory else settings.data
        durability = "none" if settings.in_memory else settings.durability
        facts = {"gateway": server.gateway} if server.gateway else {}
        log_event("started", endpoint=server.endpoint, data=kept, durability=durability, **facts)
        greet(server.endpoint, kept, settings.credentials, server.gateway)
        quiet_collector()
        await stop.wait()
        log_event("stopping", endpoint=server.endpoint)
    log_event("stopped", data=kept)


def _read_file(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        return tomllib.loads(Path(path).read_text())
    except OSError as error:
        raise StartRefused(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StartRefused(f"{path} is not TOML: {error}") from error
