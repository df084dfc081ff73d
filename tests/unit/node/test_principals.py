"""Principals are the cluster's: added and removed where meta is led from, known everywhere, and lost with nobody."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from gramme.codec.principals import (
    AddPrincipal,
    ListPrincipals,
    PrincipalsCommand,
    RemovePrincipal,
)
from gramme.errors import GrammeError, LimitExceeded, NotLeader, ResourceInUse, SeamError
from gramme.model.principal import Holder, Principal
from gramme.node import principals
from gramme.node.engine.api import Family
from gramme.node.engine.keyspace import principal_key
from gramme.node.principals import PrincipalNews
from gramme.router.main import Tables
from gramme.router.remote_nodes import RemoteNodes
from tests.support.in_process import Cluster, on_cluster
from tests.unit.node.fixtures import PLAIN

SHOP = Principal("AKIA" + "SHOP" * 4, "shop", "111122223333", "s" * 40)
GUEST = Principal("AKIA" + "GUEST" * 3 + "G", "guest", "0" * 12, "g" * 40)


async def administer(cluster: Cluster, command: PrincipalsCommand) -> list[Holder]:
    """Have it done by whoever leads meta."""
    while True:
        await cluster.until(lambda: cluster.meta_leader() is not None, "meta has a leader")
        try:
            return await cluster.node(cluster.meta_leader() or 0).administer_principals(command)
        except SeamError:
            continue


def known(cluster: Cluster, number: int) -> list[Principal]:
    return cluster.node(number)._meta.principals.all()


async def until_all_know(cluster: Cluster, *expected: Principal) -> None:
    def know() -> bool:
        running = cluster.processes.values()
        return all(
            made.joined and known(cluster, made.number) == list(expected) for made in running
        )

    await cluster.until(know, f"all know {expected}")


def learning(cluster: Cluster) -> list[Sequence[Principal]]:
    """What the router is told from now on."""
    told: list[Sequence[Principal]] = []
    cluster.tables.on_principals = told.append
    return told


def test_principal_is_known_on_every_node_and_survives_the_loss_of_power() -> None:
    async def scenario(cluster: Cluster) -> None:
        assert await administer(cluster, AddPrincipal(SHOP)) == [SHOP.holder]
        await until_all_know(cluster, SHOP)

        for number in cluster.members:
            await cluster.crash(number)
        for number in cluster.members:
            cluster.start(number)

        assert await administer(cluster, ListPrincipals()) == [SHOP.holder]
        await until_all_know(cluster, SHOP)

    on_cluster(scenario)


def test_removed_principal_is_gone_on_every_node() -> None:
    async def scenario(cluster: Cluster) -> None:
        await administer(cluster, AddPrincipal(SHOP))
        await administer(cluster, AddPrincipal(GUEST))

        assert await administer(cluster, RemovePrincipal(SHOP.access_key)) == [GUEST.holder]

        await until_all_know(cluster, GUEST)
        # Who did not hear the answer asks again.
        assert await administer(cluster, RemovePrincipal(SHOP.access_key)) == [GUEST.holder]
        for number in cluster.members:
            key = principal_key(SHOP.access_key)
            assert cluster.disks[number].get(Family.SYS, key) is None

    on_cluster(scenario)


def test_adding_the_same_again_changes_nothing() -> None:
    async def scenario(cluster: Cluster) -> None:
        await administer(cluster, AddPrincipal(SHOP))
        leader = cluster.node(cluster.meta_leader() or 0)
        index = leader._meta.index

        assert await administer(cluster, AddPrincipal(SHOP)) == [SHOP.holder]
        with pytest.raises(ResourceInUse) as failure:
            await administer(cluster, AddPrincipal(replace(SHOP, secret="t" * 40)))

        assert leader._meta.index == index
        assert "t" * 40 not in str(failure.value)
        assert known(cluster, cluster.meta_leader() or 0) == [SHOP]

    on_cluster(scenario)


def test_there_are_only_so_many_principals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(principals, "PRINCIPALS_MAX", 1)

    async def scenario(cluster: Cluster) -> None:
        await administer(cluster, AddPrincipal(SHOP))

        with pytest.raises(LimitExceeded, match="as many as there may be"):
            await administer(cluster, AddPrincipal(GUEST))

        await administer(cluster, AddPrincipal(SHOP))
        await administer(cluster, RemovePrincipal(SHOP.access_key))
        assert await administer(cluster, AddPrincipal(GUEST)) == [GUEST.holder]

    on_cluster(scenario)


def test_who_does_not_lead_meta_says_who_does() -> None:
    async def scenario(cluster: Cluster) -> None:
        leader = cluster.meta_leader() or 0
        follower = cluster.node(leader % 3 + 1)
        await cluster.until(lambda: follower._copy.leader_node == leader, "it knows who leads")

        for command in (AddPrincipal(SHOP), ListPrincipals(), RemovePrincipal(SHOP.access_key)):
            with pytest.raises(NotLeader) as refusal:
                await follower.administer_principals(command)
            assert refusal.value.hint == leader

    on_cluster(scenario)


def test_leader_that_was_deposed_does_not_tell_what_it_knows() -> None:
    async def scenario(cluster: Cluster) -> None:
        old = cluster.meta_leader() or 0
        cluster.isolate(old)

        for command in (ListPrincipals(), AddPrincipal(SHOP), RemovePrincipal(SHOP.access_key)):
            with pytest.raises((SeamError, GrammeError)):
                await cluster.node(old).administer_principals(command)

        cluster.heal()
        assert await administer(cluster, ListPrincipals()) == []

    on_cluster(scenario)


def test_node_that_lost_its_disk_is_given_the_principals() -> None:
    async def scenario(cluster: Cluster) -> None:
        await administer(cluster, AddPrincipal(SHOP))
        number = (cluster.meta_leader() or 0) % 3 + 1
        await cluster.stop(number)
        cluster.wipe(number)
        await administer(cluster, AddPrincipal(GUEST))
        await administer(cluster, RemovePrincipal(SHOP.access_key))

        cluster.start(number)

        await until_all_know(cluster, GUEST)

    on_cluster(scenario)


# What routers are told


def test_router_is_told_of_all_principals_whenever_they_change_and_of_nothing_else() -> None:
    async def scenario(cluster: Cluster) -> None:
        told = learning(cluster)
        await administer(cluster, AddPrincipal(SHOP))
        await administer(cluster, AddPrincipal(GUEST))
        await cluster.until(lambda: told and len(told[-1]) == 2, "the router knows of both")
        await until_all_know(cluster, GUEST, SHOP)
        await cluster.create(PLAIN)
        after = len(told)

        await cluster.drop(PLAIN.name)
        assert len(told) == after

        await administer(cluster, RemovePrincipal(GUEST.access_key))
        await cluster.until(lambda: told[-1] == [SHOP], "the router knows that one is gone")

    on_cluster(scenario)


def test_new_router_is_told_of_all_principals_at_first() -> None:
    async def scenario(cluster: Cluster) -> None:
        await administer(cluster, AddPrincipal(SHOP))
        await until_all_know(cluster, SHOP)
        told: list[Sequence[Principal]] = []
        tables = Tables()
        tables.on_principals = told.append

        cluster.dial(RemoteNodes(cluster.random, tables), "another")
        await cluster.until(lambda: tables.catalog is not None, "it knows of the tables")

        assert told[0] == [SHOP]

    on_cluster(scenario)


def test_principals_are_told_of_to_who_is_behind_their_last_change() -> None:
    news = PrincipalNews()
    news.update(5, [])
    assert [news.since(index) for index in (-1, 4, 5, 6)] == [[], [], None, None]

    news.update(6, [])
    news.update(7, [SHOP])
    news.update(8, [replace(SHOP)])

    assert [news.since(index) for index in (-1, 6, 7, 8)] == [[SHOP], [SHOP], None, None]
