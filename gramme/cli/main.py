"""The `gramme` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NoReturn

from gramme.cli import admin, clock, cluster, parts, serve


class OneLineParser(argparse.ArgumentParser):
    """Says what is wrong and where to read more, in one line; a page of usage would hide it."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


class ShowVersion(argparse.Action):
    """Asks for the version only when it is wanted: finding it takes a look at what is installed."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"gramme {version('grammedb')}")
        parser.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    parser: argparse.ArgumentParser = OneLineParser(
        prog="gramme", description="A DynamoDB-compatible database that anyone can run."
    )
    parser.add_argument("--version", action=ShowVersion, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(required=True, metavar="command")
    serve.add_to(commands)
    cluster.add_to(commands)
    parts.add_to(commands)
    admin.add_to(commands)
    clock.add_to(commands)
    options = parser.parse_args(arguments)
    return int(options.command(options))


if __name__ == "__main__":
    sys.exit(main())
