"""The `gramme` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from gramme.cli import serve


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="gramme", description="A DynamoDB-compatible database that anyone can run."
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    serve.add_to(commands)
    options = parser.parse_args(arguments)
    return int(options.command(options))


if __name__ == "__main__":
    sys.exit(main())
