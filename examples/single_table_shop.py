"""A shop in a single table: begin with the questions, and lay the keys so that each is one request.

    question                                  request
    1. who is this customer?                  GetItem   pk = CUSTOMER#ada, sk = PROFILE
    2. an order with all its lines            Query     pk = ORDER#1001
    3. a customer's page: name, last orders   Query     gsi1pk = CUSTOMER#ada, backwards
    4. in which orders is this product?       Query     gsi1pk = PRODUCT#lamp
    5. what is to be packed, oldest first?    Query     gsi2pk = STATUS#open
    6. ship an order, once                    UpdateItem with a condition

    item          pk             sk          gsi1pk         gsi1sk                  gsi2pk       gsi2sk
    customer      CUSTOMER#ada   PROFILE     CUSTOMER#ada   PROFILE
    product       PRODUCT#lamp   PRODUCT
    order         ORDER#1001     HEAD        CUSTOMER#ada   ORDER#2026-11-02#1001   STATUS#open  2026-11-02
    order line    ORDER#1001     LINE#lamp   PRODUCT#lamp   ORDER#2026-11-02#1001

What is read together is kept together; what is looked up differently gets other keys in an index. gsi1 is overloaded: it means
something else for each kind of item. gsi2 is sparse: an order leaves it when it is shipped.
"""

from __future__ import annotations

from decimal import Decimal

from boto3.dynamodb.conditions import Attr, Key

from tables import Item, Table, eventually, temporary_table

PRICES = {"lamp": Decimal("39.90"), "cable": Decimal("4.50")}
ORDERS = [
    ("1001", "ada", "2026-11-02", {"lamp": 1, "cable": 2}),
    ("1002", "bob", "2026-11-05", {"lamp": 3}),
    ("1003", "ada", "2026-11-09", {"cable": 10}),
]
INDEXES = {"gsi1": "gsi1pk:S gsi1sk:S", "gsi2": "gsi2pk:S gsi2sk:S"}


def add_customer(table: Table, customer: str, name: str) -> None:
    pk = f"CUSTOMER#{customer}"
    # In gsi1, PROFILE sorts after every ORDER#: read backwards, the customer comes before the newest order.
    item = {"pk": pk, "sk": "PROFILE", "gsi1pk": pk, "gsi1sk": "PROFILE", "name": name}
    table.put_item(Item=item, ConditionExpression=Attr("pk").not_exists())


def place_order(table: Table, number: str, customer: str, day: str, lines: dict[str, int]) -> None:
    """Write the lines first and the head last: an order that can be seen has all its lines."""
    place = f"ORDER#{day}#{number}"
    with table.batch_writer() as batch:
        for product, quantity in lines.items():
            # The price is copied: what was paid does not change with the price list.
            batch.put_item(
                Item={
                    "pk": f"ORDER#{number}",
                    "sk": f"LINE#{product}",
                    "gsi1pk": f"PRODUCT#{product}",
                    "gsi1sk": place,
                    "quantity": quantity,
                    "price": PRICES[product],
                }
            )
    table.put_item(
        Item={
            "pk": f"ORDER#{number}",
            "sk": "HEAD",
            "gsi1pk": f"CUSTOMER#{customer}",
            "gsi1sk": place,
            "gsi2pk": "STATUS#open",
            "gsi2sk": day,
            "status": "open",
            "total": sum(PRICES[product] * quantity for product, quantity in lines.items()),
        },
        ConditionExpression=Attr("pk").not_exists(),
    )


def ship(table: Table, number: str) -> bool:
    """Mark an order as shipped and take it out of gsi2. False if it is not open, or not there."""
    try:
        table.update_item(
            Key={"pk": f"ORDER#{number}", "sk": "HEAD"},
            UpdateExpression="SET #status = :shipped REMOVE gsi2pk, gsi2sk",
            ConditionExpression=Attr("status").eq("open"),
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={":shipped": "shipped"},
        )
    except table.meta.client.exceptions.ConditionalCheckFailedException:
        return False
    return True


def by_index(table: Table, index: str, value: str, **more: object) -> list[Item]:
    condition = Key(f"{index}pk").eq(value)
    items: list[Item] = table.query(IndexName=index, KeyConditionExpression=condition, **more)[
        "Items"
    ]
    return items


def open_orders(table: Table) -> list[str]:
    return [item["pk"] for item in by_index(table, "gsi2", "STATUS#open")]


def main() -> None:
    with temporary_table("single-table-shop", "pk:S sk:S", INDEXES) as table:
        add_customer(table, "ada", "Ada Lovelace")
        add_customer(table, "bob", "Bob Coil")
        for product, price in PRICES.items():
            table.put_item(Item={"pk": f"PRODUCT#{product}", "sk": "PRODUCT", "price": price})
        for order in ORDERS:
            place_order(table, *order)
        print("Wrote two customers, two products and three orders, all into this table.")

        print("\n1. Who is this customer?")
        key = {"pk": "CUSTOMER#ada", "sk": "PROFILE"}
        customer = table.get_item(Key=key, ConsistentRead=True)["Item"]
        print(f"   {customer['name']}")
        assert customer["name"] == "Ada Lovelace"

        print("2. Order 1001 with all its lines, consistently:")
        one = table.query(KeyConditionExpression=Key("pk").eq("ORDER#1001"), ConsistentRead=True)
        head, *lines = one["Items"]
        for line in lines:
            print(f"   {line['quantity']} x {line['sk']} at {line['price']}")
        print(f"   total {head['total']}")
        assert head["total"] == sum(line["quantity"] * line["price"] for line in lines)

        print("3. Ada's page: who she is, and her newest orders:")
        eventually(lambda: by_index(table, "gsi1", "CUSTOMER#ada"), lambda items: len(items) == 3)
        profile, *newest = by_index(table, "gsi1", "CUSTOMER#ada", ScanIndexForward=False, Limit=3)
        print(f"   {profile['name']}: {[order['pk'] for order in newest]}")
        assert [order["pk"] for order in newest] == ["ORDER#1003", "ORDER#1001"]

        print("4. In which orders are lamps?")
        lamps = eventually(
            lambda: by_index(table, "gsi1", "PRODUCT#lamp"), lambda items: len(items) == 2
        )
        print(f"   {[(line['pk'], int(line['quantity'])) for line in lamps]}")
        assert [line["pk"] for line in lamps] == ["ORDER#1001", "ORDER#1002"]

        print("5. What is to be packed, oldest first?")
        waiting = eventually(lambda: open_orders(table), lambda orders: len(orders) == 3)
        print(f"   {waiting}")
        assert waiting == ["ORDER#1001", "ORDER#1002", "ORDER#1003"]

        print("6. Two packers ship the oldest of them:")
        shipped = [ship(table, "1001"), ship(table, "1001")]
        print(f"   the first: {shipped[0]}, the second: {shipped[1]}")
        assert shipped == [True, False]
        waiting = eventually(lambda: open_orders(table), lambda orders: "ORDER#1001" not in orders)
        print(f"   still to be packed: {waiting}")
        assert waiting == ["ORDER#1002", "ORDER#1003"]


if __name__ == "__main__":
    main()
