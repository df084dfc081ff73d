"""`gramme admin`: what somebody who runs a cluster, or watches over it, asks of it."""

from __future__ import annotations

import argparse
import asyncio

import msgspec

from gramme.cli import principals
from gramme.cli.health import ask_over_http, fault_of
from gramme.cli.parts import (
    add_running_cluster_options,
    add_secret_options,
    is_address,
    running_cluster,
    secret_of,
    tls_of,
)
from gramme.cli.status import as_text, put_together
from gramme.codec.frame import BadFrame
from gramme.codec.status import NodeStatus, decode_status
from gramme.start import StartRefused, run_or_refuse

# A node that says nothing for so long is as good as gone to who waits for it.
TIMEOUT_S = 1.2
# Nobody waits for a health check, and a machine that is busy for a moment is not to be taken for one that is ill.
HEALTH_TIMEOUT_S = 5.0


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    admin = commands.add_parser("admin", help="ask a cluster how it is, and say who may use it")
    questions = admin.add_subparsers(required=True, metavar="question")
    status = questions.add_parser(
        "status",
        help="show nodes, partitions and replicas",
        description="Show nodes, partitions and replicas. The exit code is 1 if a partition has no leader.",
    )
    add_running_cluster_options(status)
    status.add_argument("--json", action="store_true", help="for programs")
    status.set_defaults(command=run_status)

    health = questions.add_parser(
        "health",
        help="say whether one process serves",
        description="Say whether a node, a router or a server serves. The exit code is 1 if it does not.",
    )
    health.add_argument(
        "address",
        metavar="ADDRESS",
        help="HOST:PORT of a node, or http://HOST:PORT of a router or of gramme serve",
    )
    add_secret_options(health, required=False)
    health.set_defaults(command=run_health)

    principals.add_to(questions)


def run_status(options: argparse.Namespace) -> int:
    return run_or_refuse(lambda: _show_status(options))


async def _show_status(options: argparse.Namespace) -> int:
    addresses = running_cluster(options)
    numbers = range(1, len(addresses) + 1)
    asking = (_ask(number, addresses[number - 1], options) for number in numbers)
    answers = dict(zip(numbers, await asyncio.gather(*asking), strict=True))
    status = put_together(addresses, answers)
    print(msgspec.json.encode(status).decode() if options.json else as_text(status))
    return 0 if status.is_led else 1


async def _ask(number: int, address: str, options: argparse.Namespace) -> NodeStatus | str:
    """What node `number` says of itself, or why it says nothing."""
    status = await _ask_at(address, options, TIMEOUT_S)
    if isinstance(status, NodeStatus) and status.number != number:
        return f"this is node {status.number}"
    return status


def run_health(options: argparse.Namespace) -> int:
    return run_or_refuse(lambda: _show_health(options))


async def _show_health(options: argparse.Namespace) -> int:
    address: str = options.address
    if "://" in address:
        fault = await ask_over_http(address, HEALTH_TIMEOUT_S)
    elif not is_address(address):
        raise StartRefused(f"an address is HOST:PORT or http://HOST:PORT, not {address!r}")
    elif not options.secret_file:
        raise StartRefused("a node is asked with --secret-file")
    else:
        fault = fault_of(await _ask_at(address, options, HEALTH_TIMEOUT_S))
    print(f"{address} does not serve: {fault}" if fault else f"{address} serves")
    return 1 if fault else 0


async def _ask_at(address: str, options: argparse.Namespace, timeout_s: float) -> NodeStatus | str:
    # gRPC takes a while to load, and `gramme serve` does without it.
    from gramme.links.cluster import identity_of
    from gramme.links.inquiry import NoAnswer, inquire
    from gramme.links.security import Secret, Security
    from gramme.links.services import STATUS

    secret = secret_of(options)
    security = Security(Secret(secret), tls_of(options))
    try:
        answer = await inquire(
            STATUS, address, identity_of(secret, "", "admin"), security, timeout_s
        )
        return decode_status(answer)
    except NoAnswer as error:
        return str(error)
    except BadFrame:
        return "its answer cannot be read"
