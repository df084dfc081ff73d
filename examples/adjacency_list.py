"""Adjacency lists: a graph in one table, read along its edges in both directions.

A node is an item whose sort key is its own name. An edge is an item under the node it starts from, with the node it leads to as
its sort key, and with whatever belongs to the edge itself. An index with the two keys exchanged reads the same edges backwards,
so that many-to-many needs neither a second table nor a second write.
"""

from __future__ import annotations

from boto3.dynamodb.conditions import Key

from tables import Item, Table, eventually, temporary_table

BANDS = {"BAND#Armature": "1871", "BAND#Brushes": "1873"}
MEMBERS = [
    ("MUSICIAN#Ada", "BAND#Armature", "drums"),
    ("MUSICIAN#Ada", "BAND#Brushes", "voice"),
    ("MUSICIAN#Bob", "BAND#Armature", "bass"),
    ("MUSICIAN#Cleo", "BAND#Brushes", "piano"),
]


def bands_of(table: Table, musician: str) -> list[Item]:
    """Along the edges: from a musician to their bands. The prefix leaves out the musician's own item."""
    condition = Key("node").eq(musician) & Key("target").begins_with("BAND#")
    answer = table.query(KeyConditionExpression=condition, ConsistentRead=True)
    edges: list[Item] = answer["Items"]
    return edges


def members_of(table: Table, band: str) -> list[Item]:
    """Against the edges: from a band to its musicians, by the index with the keys exchanged."""
    condition = Key("target").eq(band) & Key("node").begins_with("MUSICIAN#")
    edges: list[Item] = table.query(IndexName="backwards", KeyConditionExpression=condition)[
        "Items"
    ]
    return edges


def colleagues_of(table: Table, musician: str) -> set[str]:
    """Two steps: to the bands and back. One query per band: a graph is walked, not joined."""
    found = {
        edge["node"]
        for band in bands_of(table, musician)
        for edge in members_of(table, band["target"])
    }
    return found - {musician}


def main() -> None:
    indexes = {"backwards": "target:S node:S"}
    with temporary_table("adjacency-list", "node:S target:S", indexes) as table:
        for band, founded in BANDS.items():
            table.put_item(Item={"node": band, "target": band, "founded": founded})
        for musician in {musician for musician, _, _ in MEMBERS}:
            table.put_item(Item={"node": musician, "target": musician})
        for musician, band, instrument in MEMBERS:
            table.put_item(Item={"node": musician, "target": band, "plays": instrument})

        print("\nAlong the edges, from the table:")
        for edge in bands_of(table, "MUSICIAN#Ada"):
            print(f"  Ada plays {edge['plays']} in {edge['target']}")
        assert [edge["plays"] for edge in bands_of(table, "MUSICIAN#Ada")] == ["drums", "voice"]

        print("Against them, from the index:")
        eventually(
            lambda: [len(members_of(table, band)) for band in BANDS], lambda sizes: sizes == [2, 2]
        )
        for band in BANDS:
            players = [f"{edge['node']} ({edge['plays']})" for edge in members_of(table, band)]
            print(f"  {band}: {', '.join(players)}")

        print("Two steps, there and back:")
        print(f"  Bob has played with {sorted(colleagues_of(table, 'MUSICIAN#Bob'))}")
        assert colleagues_of(table, "MUSICIAN#Bob") == {"MUSICIAN#Ada"}
        assert colleagues_of(table, "MUSICIAN#Ada") == {"MUSICIAN#Bob", "MUSICIAN#Cleo"}

        print("\nAda leaves Armature: one delete, and both directions know.")
        table.delete_item(Key={"node": "MUSICIAN#Ada", "target": "BAND#Armature"})
        left = eventually(
            lambda: [edge["node"] for edge in members_of(table, "BAND#Armature")],
            lambda nodes: "MUSICIAN#Ada" not in nodes,
        )
        print(f"  BAND#Armature: {', '.join(left)}")
        assert left == ["MUSICIAN#Bob"]
        assert [edge["target"] for edge in bands_of(table, "MUSICIAN#Ada")] == ["BAND#Brushes"]


if __name__ == "__main__":
    main()
