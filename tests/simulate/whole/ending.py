"""What must be so in the end, when nothing strikes any more: everybody is there, has the same, and the index is its projection."""

from __future__ import annotations

import orjson

from gramme.codec.json import decode_item
from gramme.commands import Scan
from gramme.errors import InternalServerError, Throttling
from gramme.model.item import Item
from gramme.node.engine.api import Family
from gramme.node.engine.keyspace import group_range, log_position_key
from gramme.node.meta import META_GROUP, meta_ranges
from gramme.node.raft.messages import Configuration
from gramme.partitions import PartitionMap
from gramme.router.catalog import CatalogEntry
from tests.simulate.whole.clients import BY_GROUP, Clients
from tests.support.ledger import Violation
from tests.support.whole_cluster import Router, WholeCluster

PAGE_BYTES = 1 << 20


def problems_of_rest(cluster: WholeCluster) -> list[str]:
    """What keeps the cluster from being at rest, whole, and everybody having applied the same."""
    found = cluster.leader(META_GROUP)
    if found is None or found[0].node is None:
        return ["meta has no leader"]
    records = list(found[0].node.news().records)
    problems = _of_group(cluster, META_GROUP, set(cluster.members))
    for record in records:
        for group, placed in record.placement.items():
            problems += _of_group(cluster, group, set(placed.values()))
    return problems


def _of_group(cluster: WholeCluster, group: int, nodes: set[int]) -> list[str]:
    found = cluster.leader(group)
    if found is None:
        return [f"group {group} has no leader"]
    ledger, raft = cluster.ledger, found[1].raft
    configuration: Configuration = raft.configurations.newest
    homes = [ledger.homes.get((group, voter), 0) for voter in configuration.voters]
    lost = [voter for voter in configuration.voters if (group, voter) in ledger.wiped]
    if lost or configuration.learners or {*homes} != nodes or len(homes) != len(nodes):
        return [f"group {group} has {configuration}, on {homes}, and {lost} are lost"]
    problems = []
    for number in nodes:
        node = cluster.members[number].node
        log = None if node is None else node.log_of(group)
        applied = -1 if log is None else log.raft.applied_index
        if applied != raft.log.last_index:
            problems.append(f"group {group}: n{number} is at {applied} of {raft.log.last_index}")
    return problems


def check_equal(cluster: WholeCluster) -> None:
    """All replicas of a group have the same rows, byte for byte; and nobody has rows of what there is not."""
    for number, group in cluster.ledger.groups.items():
        if group.gone:
            continue
        if group.bounds is None:
            ranges = [found for found in meta_ranges() if found[0] is Family.SYS]
        else:
            ranges = [(Family.ITEM, *group.bounds), (Family.DEDUPE, *group.bounds)]
        lower, _ = group_range(number)
        ranges.append((Family.RAFT, lower, log_position_key(number)))
        images = {
            member.name: [row for range in ranges for row in member.disk.scan(*range)]
            for member, _ in cluster.logs(number)
        }
        first, *others = images
        for other in others:
            if images[other] != images[first]:
                raise Violation(f"group {number}: {first} and {other} have different rows")


async def index_problem(router: Router, entry: CatalogEntry) -> str | None:
    """How the index differs from the projection of its table, or None."""
    try:
        base = await _scanned(router, entry.partitions)
        index = await _scanned(router, entry.index_partitions[BY_GROUP])
    except (InternalServerError, Throttling) as error:
        return f"the table cannot be read: {error!r}"
    wanted = {id: item for id, item in base.items() if "g" in item}
    for id in wanted.keys() | index.keys():
        if wanted.get(id) != index.get(id):
            return f"the index has {index.get(id)} where the table has {wanted.get(id)}"
    return None


async def _scanned(router: Router, partitions: PartitionMap) -> dict[str, Item]:
    found: dict[str, Item] = {}
    for part in partitions.partitions:
        scan = Scan(part.start, part.last, ("id",), PAGE_BYTES, PAGE_BYTES)
        page = await router.nodes.scan(part, scan)
        for body in page.items:
            item = decode_item(body)
            found[item["id"]["S"]] = item
    return found


def counter_problem(clients: Clients, id: str, stored: bytes | None) -> str | None:
    """Whether a counter is what was added to it, as far as anybody knows."""
    count = 0 if stored is None else int(orjson.loads(stored)["n"]["N"])
    least = clients.added[id]
    most = least + clients.perhaps_added[id]
    if least <= count <= most:
        return None
    return f"counter {id} is {count}, and {least} to {most} were added"
