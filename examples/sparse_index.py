"""Sparse indexes: an index of the few items that matter now.

An item is in a global index only while it has the index's key attributes. So an attribute that is there just for the
index works as a switch: set it, and the item is found; remove it, and the index forgets the item. Reading the index then
costs what the few items cost, however many the table has.
"""

from __future__ import annotations

from boto3.dynamodb.conditions import Attr, Key

from tables import Item, Table, eventually, temporary_table

ORDERS = 100
OPEN = 3


def place(table: Table, number: int) -> None:
    """Write an order that waits to be packed: `waits_in` is what puts it into the index."""
    order = {"order": f"{number:04}", "placed": f"2026-11-18T10:{number % 60:02}:00Z"}
    table.put_item(Item={**order, "status": "open", "waits_in": "LIEGE"})


def ship(table: Table, order: str) -> None:
    table.update_item(
        Key={"order": order},
        UpdateExpression="SET #status = :shipped REMOVE waits_in",
        ConditionExpression=Attr("waits_in").exists(),
        # `status` is one of the words that expressions reserve: it needs another name there.
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues={":shipped": "shipped"},
    )


def waiting(table: Table, warehouse: str) -> Item:
    """What a warehouse has to pack, oldest first."""
    answer: Item = table.query(
        IndexName="waiting", KeyConditionExpression=Key("waits_in").eq(warehouse)
    )
    return answer


def numbers(page: Item) -> list[str]:
    return [item["order"] for item in page["Items"]]


def main() -> None:
    indexes = {"waiting": "waits_in:S placed:S"}
    with temporary_table("sparse-index", "order:S", indexes) as table:
        for number in range(ORDERS):
            place(table, number)
        for number in range(ORDERS - OPEN):
            ship(table, f"{number:04}")
        print(f"\nPlaced {ORDERS} orders and shipped all but {OPEN}.")

        print("\nWithout the index, a scan reads everything to keep a little:")
        scan = table.scan(FilterExpression=Attr("status").eq("open"), ConsistentRead=True)
        print(f"  read {scan['ScannedCount']} items, kept {scan['Count']}")
        assert (scan["ScannedCount"], scan["Count"]) == (ORDERS, OPEN)

        print("The sparse index has nothing else in it:")
        found = eventually(
            lambda: waiting(table, "LIEGE"), lambda page: numbers(page) == ["0097", "0098", "0099"]
        )
        print(f"  read {found['ScannedCount']} items, kept {found['Count']}: {numbers(found)}")
        assert found["ScannedCount"] == found["Count"] == OPEN

        print("\nShipping order 0097 removes the attribute, and so the item from the index:")
        ship(table, "0097")
        found = eventually(lambda: waiting(table, "LIEGE"), lambda page: page["Count"] < OPEN)
        print(f"  still waiting: {numbers(found)}")
        assert numbers(found) == ["0098", "0099"]
        kept = table.get_item(Key={"order": "0097"}, ConsistentRead=True)["Item"]
        print(f"  the table still has it: {kept['status']}")
        assert kept["status"] == "shipped"


if __name__ == "__main__":
    main()
