"""`gramme clock`: the time of a server that was started with a virtual clock, shown or moved."""

from __future__ import annotations

import argparse
import json
import os

import msgspec

from gramme.cli.over_http import Answer, Unanswered, ask, host_and_port
from gramme.start import StartRefused, run_or_refuse

DEFAULT_ENDPOINT = "http://127.0.0.1:8000"
# As SDKs look for an endpoint.
ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL")
PATH = "/_gramme/clock"
TIMEOUT_S = 5.0


class Said(msgspec.Struct):
    """What the server answers: the time, or why not."""

    now: float = 0.0
    iso: str = ""
    message: str = ""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "clock",
        help="show or move the time of a server with a virtual clock",
        description="Show the time of a server that was started with --clock virtual, or move it.",
    )
    parser.set_defaults(command=run_clock, endpoint=None, way=None)
    ways = parser.add_subparsers(metavar="[way]", help="without it the time is shown")
    advance = ways.add_parser("advance", help="move the time forward by a duration")
    advance.add_argument("written", metavar="DURATION", help="48h, 1d12h30m, 250ms, or seconds")
    to = ways.add_parser("to", help="move the time forward to a moment")
    to.add_argument("written", metavar="TIME", help="2030-01-01T00:00:00Z, or seconds since 1970")
    for name, way in (("advance", advance), ("to", to)):
        way.set_defaults(way=name)
    for one in (parser, advance, to):
        one.add_argument(
            "--endpoint",
            metavar="URL",
            # One that was given before the way stays.
            default=argparse.SUPPRESS,
            help=f"default {' or '.join(ENDPOINT_VARIABLES)}, else {DEFAULT_ENDPOINT}",
        )


def run_clock(options: argparse.Namespace) -> int:
    return run_or_refuse(lambda: _clock(options))


async def _clock(options: argparse.Namespace) -> int:
    endpoint = options.endpoint or _usual_endpoint()
    server = host_and_port(endpoint)
    if server is None:
        raise StartRefused(f"an endpoint is http://HOST:PORT, not {endpoint!r}")
    # A command line may hold what is no text, which must be the server's to refuse.
    body = json.dumps({options.way: options.written}).encode() if options.way else None
    try:
        answer = await ask(server, TIMEOUT_S, PATH, body)
    except Unanswered as error:
        raise StartRefused(f"{endpoint}: {error}") from None
    said = _read(endpoint, answer)
    print(f"{said.iso}  {said.now:.3f}")
    return 0


def _usual_endpoint() -> str:
    found = (os.environ.get(name) for name in ENDPOINT_VARIABLES)
    return next((endpoint for endpoint in found if endpoint), DEFAULT_ENDPOINT)


def _read(endpoint: str, answer: Answer) -> Said:
    """Raises StartRefused."""
    try:
        said = msgspec.json.decode(answer.body, type=Said)
    except msgspec.DecodeError:
        said = Said()
    if said.message:
        raise StartRefused(said.message)
    if answer.status != 200 or not said.iso:
        raise StartRefused(f"{endpoint}: what answers there knows no clock")
    return said
