"""What a node answers who runs the cluster, over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gramme.codec.principals import (
    AddPrincipal,
    ListPrincipals,
    PrincipalsCommand,
    decode_outcome,
    encode_command,
)
from gramme.errors import NotLeader, ResourceInUse
from gramme.links.cluster import identity_of
from gramme.links.inquiry import NoAnswer, inquire
from gramme.links.security import Secret, Security
from gramme.links.services import PRINCIPALS
from gramme.model.principal import Holder, Principal
from gramme.node.main import NodeOptions, running_node
from tests.support.link_ends import free_port

SECRET = b"the cluster's secret"
SHOP = Principal("AKIA" + "SHOP" * 4, "shop", "111122223333", "s" * 40)
PATIENCE_S = 10.0


@asynccontextmanager
async def a_node(path: Path) -> AsyncIterator[str]:
    """A cluster of one, which leads itself. Its address."""
    options = NodeOptions(1, {1: f"127.0.0.1:{free_port()}"}, str(path), SECRET, replication=1)
    async with asyncio.timeout(PATIENCE_S), running_node(options) as address:
        while isinstance(await say(address, ListPrincipals()), NotLeader):
            await asyncio.sleep(0.05)
        yield address


async def ask(address: str, question: bytes, secret: bytes = SECRET) -> bytes:
    identity, security = identity_of(secret, "", "admin"), Security(Secret(SECRET))
    return await inquire(PRINCIPALS, address, identity, security, PATIENCE_S, question)


async def say(address: str, command: PrincipalsCommand) -> list[Holder] | Exception:
    return decode_outcome(await ask(address, encode_command(command)))


async def test_principals_are_administered_by_calls(tmp_path: Path) -> None:
    async with a_node(tmp_path) as address:
        assert await say(address, AddPrincipal(SHOP)) == [SHOP.holder]

        other = Principal(SHOP.access_key, "other", SHOP.account, SHOP.secret)
        refusal = await say(address, AddPrincipal(other))

        assert isinstance(refusal, ResourceInUse)
        assert await say(address, ListPrincipals()) == [SHOP.holder]


async def test_what_is_no_question_about_principals_is_refused(tmp_path: Path) -> None:
    async with a_node(tmp_path) as address:
        for question in (b"", b"\xc1", b"\x81\xa4type\xa3add"):
            with pytest.raises(NoAnswer, match="this is no question about principals") as refusal:
                await ask(address, question)
            assert refusal.value.refused

        assert await say(address, ListPrincipals()) == []


async def test_who_is_of_another_cluster_is_told_nothing(tmp_path: Path) -> None:
    async with a_node(tmp_path) as address:
        with pytest.raises(NoAnswer, match="this is a node of another cluster"):
            await ask(address, encode_command(ListPrincipals()), secret=b"another")
