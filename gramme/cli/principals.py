"""`gramme admin principals`: who may ask a cluster. Whoever leads meta is asked, over elections and the loss of nodes."""

from __future__ import annotations

import argparse
import asyncio
from base64 import b32encode, b64encode
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from secrets import token_bytes
from typing import Any

import msgspec

from gramme.cli.parts import add_running_cluster_options, running_cluster, secret_of, tls_of
from gramme.cli.status import aligned
from gramme.codec.frame import BadFrame
from gramme.codec.principals import (
    AddPrincipal,
    ListPrincipals,
    PrincipalsCommand,
    RemovePrincipal,
    decode_outcome,
    encode_command,
)
from gramme.errors import GrammeError, NotLeader
from gramme.model.principal import DEFAULT_ACCOUNT, Account, Holder, Name, Principal
from gramme.start import StartRefused, run_or_refuse

# An election takes one to two seconds, and a second one if it is split.
DEADLINE_S = 10.0
# A node that is stopped, or cut off, says nothing.
ATTEMPT_S = 3.0
PAUSE_S = 0.1

# Bytes that make sixteen characters of base32, and forty of base64.
ACCESS_KEY_BYTES = 10
SECRET_BYTES = 30

NAME_RULE = "a name is 1 to 64 of A-Z a-z 0-9 + = , . @ _ -"
ACCOUNT_RULE = "an account is a number of 12 digits"

# What a node says, by its number: all principals, what it refuses the command with, or why it says nothing.
Ask = Callable[[int, PrincipalsCommand, float], Awaitable[list[Holder] | Exception | str]]


class Unsettled(StartRefused):
    """Nobody could say what has become of a command."""


def add_to(questions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    principals = questions.add_parser(
        "principals",
        help="say who may ask, of routers that were started with --principals",
        description="Add, list and remove the access keys of a cluster.",
    )
    commands = principals.add_subparsers(required=True, metavar="command")
    add = commands.add_parser(
        "add",
        help="make an access key",
        description="Make an access key. It is shown as a profile of an AWS credentials file, this once.",
    )
    add.add_argument("name", metavar="NAME", help="whose it is, and the name of the profile")
    add.add_argument(
        "--account",
        default=DEFAULT_ACCOUNT,
        metavar="NUMBER",
        help="whose tables it reaches, 12 digits, default 000000000000",
    )
    show = commands.add_parser("list", help="show all access keys, without their secrets")
    show.add_argument("--json", action="store_true", help="for programs")
    remove = commands.add_parser("remove", help="take an access key away")
    remove.add_argument("access_key", metavar="ACCESS_KEY", help="as the list shows it")
    for parser, run in ((add, _add), (show, _list), (remove, _remove)):
        add_running_cluster_options(parser)
        parser.set_defaults(command=_command(run))


def _command(
    run: Callable[[argparse.Namespace], Coroutine[Any, Any, None]],
) -> Callable[[argparse.Namespace], int]:
    def command(options: argparse.Namespace) -> int:
        run_or_refuse(lambda: run(options))
        return 0

    return command


async def _add(options: argparse.Namespace) -> None:
    _check(options.name, Name, NAME_RULE)
    _check(options.account, Account, ACCOUNT_RULE)
    # Drawn here, so that who is asked again knows that it is the same.
    access_key = "AKIA" + b32encode(token_bytes(ACCESS_KEY_BYTES)).decode()
    secret = b64encode(token_bytes(SECRET_BYTES)).decode()
    principal = Principal(access_key, options.name, options.account, secret)
    try:
        await _ask_cluster(options, AddPrincipal(principal))
    except Unsettled as error:
        raise StartRefused(f"{error}; if {access_key} is listed later, remove it") from error
    print(as_profile(principal))


async def _list(options: argparse.Namespace) -> None:
    holders = await _ask_cluster(options, ListPrincipals())
    print(as_json(holders) if options.json else as_text(holders))


async def _remove(options: argparse.Namespace) -> None:
    # What is gone already can be removed again, so that asking again does no harm. A slip of the pen is found out here.
    holders = await _ask_cluster(options, ListPrincipals())
    found = next((one for one in holders if one.access_key == options.access_key), None)
    if found is None:
        raise StartRefused(f"there is no access key {options.access_key!r}")
    await _ask_cluster(options, RemovePrincipal(found.access_key))
    print(f"removed {found.access_key} of {found.name}, account {found.account}")


def _check(value: str, kind: Any, rule: str) -> None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        raise StartRefused(f"{rule}, not {value!r}") from None


# Who is asked


async def _ask_cluster(options: argparse.Namespace, command: PrincipalsCommand) -> list[Holder]:
    # gRPC takes a while to load, and the other commands do without it.
    from gramme.links.cluster import identity_of
    from gramme.links.inquiry import NoAnswer, inquire
    from gramme.links.security import Secret, Security
    from gramme.links.services import PRINCIPALS

    addresses = running_cluster(options)
    secret = secret_of(options)
    security = Security(Secret(secret), tls_of(options))
    identity = identity_of(secret, "", "admin")

    async def ask(
        number: int, command: PrincipalsCommand, timeout_s: float
    ) -> list[Holder] | Exception | str:
        address, question = addresses[number - 1], encode_command(command)
        try:
            return decode_outcome(
                await inquire(PRINCIPALS, address, identity, security, timeout_s, question)
            )
        except NoAnswer as error:
            return str(error)
        except BadFrame:
            return "its answer cannot be read"

    return await ask_leader(command, len(addresses), ask)


async def ask_leader(command: PrincipalsCommand, nodes: int, ask: Ask) -> list[Holder]:
    """Ask one node after the other, and whom they name, until it is done. Raises StartRefused and Unsettled."""
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + DEADLINE_S
    silent: dict[int, str] = {}
    turn = hint = 0
    while (left_s := give_up_at - loop.time()) > 0:
        number = hint or turn % nodes + 1
        answer = await ask(number, command, min(ATTEMPT_S, left_s))
        if isinstance(answer, list):
            return answer
        if isinstance(answer, GrammeError):
            raise StartRefused(str(answer.message))
        if isinstance(answer, str):
            silent[number] = answer
            if len(silent) == nodes:
                raise StartRefused(f"no node can be asked: {_reasons(silent)}")
        else:
            silent.pop(number, None)
        # While leaders change, two nodes may each take the other one for it.
        named = answer.hint if isinstance(answer, NotLeader) and not hint else 0
        hint = named if 1 <= named <= nodes else 0
        if not hint:
            turn += 1
            await asyncio.sleep(PAUSE_S)
    raise Unsettled(f"nobody who leads the cluster answered within {DEADLINE_S:g} s")


def _reasons(silent: dict[int, str]) -> str:
    if len(set(silent.values())) == 1:
        return silent[1]
    return "; ".join(f"node {number}: {silent[number]}" for number in sorted(silent))


# For a person, and for programs


def as_profile(principal: Principal) -> str:
    return (
        f"[{principal.name}]\n"
        f"aws_access_key_id = {principal.access_key}\n"
        f"aws_secret_access_key = {principal.secret}\n"
        f"aws_account_id = {principal.account}"
    )


def as_text(holders: Sequence[Holder]) -> str:
    if not holders:
        return "there are no access keys"
    rows = sorted((one.name, one.access_key, one.account) for one in holders)
    return aligned([("NAME", "ACCESS KEY", "ACCOUNT"), *rows])


def as_json(holders: Sequence[Holder]) -> str:
    return msgspec.json.encode({"principals": holders}).decode()
