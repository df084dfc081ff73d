"""Atomic counters: let the database add, and no update is lost.

Reading a number, adding one and writing it back loses updates when two do it at once. An UpdateItem that adds is done
where the item is, one after the other, however many ask. With a condition, the counter also knows its bounds.

Adding twice is not adding once: if an answer is lost, the SDK sends the update again. Count what may be off by one this way
(visits, likes); for money, use a condition on a version or on a record of what was already counted.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

from boto3.dynamodb.conditions import Attr

from tables import Item, Table, temporary_table

VISITORS = 100
STOCK = 5
BUYERS = 12
THREADS = 8


def visit(table: Table, page: str) -> Decimal:
    """Count one visit and return the new count. ADD begins with 0 where there is no item yet."""
    answer = table.update_item(
        Key={"id": page},
        UpdateExpression="ADD visits :one",
        ExpressionAttributeValues={":one": 1},
        ReturnValues="UPDATED_NEW",
    )
    # The resource turns numbers into Decimal, which keeps all 38 digits a number may have.
    count: Decimal = answer["Attributes"]["visits"]
    return count


def buy(table: Table, product: str) -> bool:
    """Take one from stock if there is one left."""
    try:
        table.update_item(
            Key={"id": product},
            UpdateExpression="SET stock = stock - :one",
            ConditionExpression=Attr("stock").gte(1),
            ExpressionAttributeValues={":one": 1},
        )
    except table.meta.client.exceptions.ConditionalCheckFailedException:
        return False
    return True


def load(table: Table, id: str) -> Item:
    item: Item = table.get_item(Key={"id": id}, ConsistentRead=True)["Item"]
    return item


def main() -> None:
    with temporary_table("atomic-counters", "id:S") as table:
        print("\nTwo visitors, each reading the count and writing back one more:")
        table.put_item(Item={"id": "naive", "visits": 0})
        seen_by_both = [load(table, "naive"), load(table, "naive")]
        for seen in seen_by_both:
            table.put_item(Item={**seen, "visits": seen["visits"] + 1})
        counted = load(table, "naive")["visits"]
        print(f"  the count is {counted}: one visit is lost")
        assert counted == 1

        print(f"\n{VISITORS} visitors in {THREADS} threads, counted with ADD:")
        with ThreadPoolExecutor(THREADS) as threads:
            counts = list(threads.map(lambda _: visit(table, "home"), range(VISITORS)))
        print(f"  the count is {max(counts)}, and everybody was given a number of their own")
        assert sorted(counts) == list(range(1, VISITORS + 1))

        print(f"\n{BUYERS} buyers, {STOCK} pieces:")
        table.put_item(Item={"id": "lamp", "stock": STOCK})
        with ThreadPoolExecutor(THREADS) as threads:
            sold = list(threads.map(lambda _: buy(table, "lamp"), range(BUYERS))).count(True)
        left = load(table, "lamp")["stock"]
        print(f"  {sold} sold, {BUYERS - sold} turned away, {left} left")
        assert (sold, left) == (STOCK, 0)


if __name__ == "__main__":
    main()
