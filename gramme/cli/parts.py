"""`gramme node` and `gramme router`: the parts of a cluster, each in the foreground until it is told to stop."""

from __future__ import annotations

import argparse
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from gramme.cli.cluster_directory import ClusterDirectory
from gramme.open_files import ask_for_more
from gramme.start import StartRefused, run_or_refuse

if TYPE_CHECKING:
    from gramme.links.security import Tls

PARTITIONS_MAX = 256
ROUTER_NAME_BYTES = 8


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    node = commands.add_parser(
        "node",
        help="run a storage node of a cluster",
        description="Run a storage node of a cluster. All nodes are given the same members and the same secret.",
    )
    add_cluster_options(node)
    option = node.add_argument
    option("--number", type=int, required=True, help="which of the members this node is, from 1 on")
    option("--data", metavar="DIR", required=True, help="where the data is kept")
    option("--replication", type=int, default=3, help="replicas of each partition: 1, 3 or 5")
    option("--durability", choices=("flush", "os"), default="flush", help="as in gramme serve")
    option("--cache-mb", type=int, default=0, metavar="MB", help="as in gramme serve")
    option("--index-delay-ms", type=int, default=0, metavar="MS", help="as in gramme serve")
    option(
        "--accept-data-loss",
        action="store_true",
        help="as in gramme serve, for a cluster of one node",
    )
    node.set_defaults(command=run_node)

    router = commands.add_parser(
        "router",
        help="run a router of a cluster",
        description="Run a router: the front of a cluster, which keeps nothing.",
    )
    add_cluster_options(router)
    option = router.add_argument
    option("--host", default="127.0.0.1", help="address to listen on, default 127.0.0.1")
    option("--port", type=int, default=8000, help="default 8000; 0 takes any free one")
    option("--partitions", type=int, default=1, metavar="N", help="of each new table, default 1")
    option("--credentials", default="", metavar="FILE", help="as in gramme serve")
    option(
        "--principals",
        action="store_true",
        help="answer only who signs with a key of the cluster: see gramme admin principals",
    )
    option("--insecure-bind", action="store_true", help="as in gramme serve")
    option("--gateway-port", type=int, default=-1, metavar="PORT", help="as in gramme serve")
    option("--gateway-certificate", default="", metavar="FILE", help="as in gramme serve")
    option("--gateway-key", default="", metavar="FILE", help="as in gramme serve")
    router.set_defaults(command=run_router)


def add_cluster_options(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    option = parser.add_argument
    option(
        "--members",
        required=required,
        metavar="HOST:PORT,...",
        help="the addresses of all nodes, in the order of their numbers",
    )
    add_secret_options(parser, required=required)


def add_running_cluster_options(parser: argparse.ArgumentParser) -> None:
    """Where the cluster is that somebody has a question to."""
    option = parser.add_argument
    option("--cluster", metavar="DIR", help="of gramme cluster, in place of the options below")
    add_cluster_options(parser, required=False)


def running_cluster(options: argparse.Namespace) -> list[str]:
    """The addresses of its nodes. From here on `options` name the file of its secret, too. Raises StartRefused."""
    if options.cluster:
        directory = ClusterDirectory.read(Path(options.cluster))
        options.members = ",".join(directory.members)
        options.secret_file = str(directory.secret_file)
    if not (options.members and options.secret_file):
        raise StartRefused("give --cluster, or --members and --secret-file")
    return members_of(options)


def add_secret_options(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """By what the processes of a cluster know each other."""
    option = parser.add_argument
    option("--secret-file", required=required, metavar="FILE", help="holds the cluster's secret")
    option("--tls-certificate", metavar="FILE", help="of this process, in PEM")
    option("--tls-key", metavar="FILE", help="of the certificate")
    option("--tls-authority", metavar="FILE", help="who signed the certificates of all processes")


def run_node(options: argparse.Namespace) -> int:
    # gRPC takes a while to load, and `gramme serve` does without it.
    from gramme.node import main

    async def run() -> None:
        ask_for_more()
        settings = main.NodeOptions(
            options.number,
            dict(enumerate(members_of(options), start=1)),
            options.data,
            secret_of(options),
            tls_of(options),
            options.replication,
            options.durability,
            options.cache_mb,
            options.index_delay_ms,
            options.accept_data_loss,
        )
        await main.run_node(settings)

    run_or_refuse(run)
    return 0


def run_router(options: argparse.Namespace) -> int:
    from gramme.links.cluster import identity_of
    from gramme.links.security import Secret, Security
    from gramme.router import main

    async def run() -> None:
        ask_for_more()
        if not 1 <= options.partitions <= PARTITIONS_MAX:
            raise StartRefused(f"partitions must be from 1 to {PARTITIONS_MAX}")
        secret = secret_of(options)
        settings = main.RouterOptions(
            members_of(options),
            # Nodes take two links of one name for the same router's, an old one and a new one.
            identity_of(secret, token_hex(ROUTER_NAME_BYTES), "router"),
            Security(Secret(secret), tls_of(options)),
            options.host,
            options.port,
            options.partitions,
            options.credentials,
            options.insecure_bind,
            options.gateway_port,
            options.gateway_certificate,
            options.gateway_key,
            options.principals,
        )
        await main.run_router(settings)

    run_or_refuse(run)
    return 0


def members_of(options: argparse.Namespace) -> list[str]:
    members = [member.strip() for member in options.members.split(",")]
    for member in members:
        if not is_address(member):
            raise StartRefused(f"a member is given as HOST:PORT, not {member!r}")
    if len(set(members)) != len(members):
        raise StartRefused("two members have one address")
    return members


def is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isdecimal() and int(port) <= 65535


def secret_of(options: argparse.Namespace) -> bytes:
    try:
        secret = Path(options.secret_file).read_bytes().strip()
    except OSError as error:
        raise StartRefused(f"cannot read {options.secret_file}: {error.strerror}") from error
    if not secret:
        raise StartRefused(f"{options.secret_file} is empty: it must hold the cluster's secret")
    return secret


def tls_of(options: argparse.Namespace) -> Tls | None:
    from gramme.links.security import SecurityRefused, Tls

    certificate, key, authority = (
        options.tls_certificate,
        options.tls_key,
        options.tls_authority,
    )
    if not (certificate or key or authority):
        return None
    if not (certificate and key and authority):
        raise StartRefused("TLS needs --tls-certificate, --tls-key and --tls-authority")
    try:
        return Tls.read(Path(certificate), Path(key), Path(authority))
    except SecurityRefused as error:
        raise StartRefused(str(error)) from error
