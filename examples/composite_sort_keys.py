"""Composite sort keys: one query for every level of a hierarchy.

Items under one partition key are kept in the order of their sort keys. If the sort key spells out a path, from the widest
part to the narrowest, then every level is a contiguous range, and a range is what a query reads.

What to take away:
  - End each part with a separator that occurs in none of them, in the query too.
  - Text sorts by its bytes: write dates as 2026-11-18, and pad numbers with zeros.
"""

from __future__ import annotations

from boto3.dynamodb.conditions import ConditionBase, Key

from tables import Table, temporary_table

SHOPS = [
    ("Hainaut", "Mons", "Grand-Place 1"),
    ("Liège", "Liège", "Rue du Gramme 4"),
    ("Liège", "Liège", "Quai Mativa 9"),
    ("Liège", "Liège-Airport", "Hall B"),
    ("Liège", "Seraing", "Rue Cockerill 2"),
]
READINGS = [("2026-11-17", 21), ("2026-11-18", 19), ("2026-11-18", 23), ("2026-12-01", 20)]


def paths(table: Table, condition: ConditionBase) -> list[str]:
    answer = table.query(KeyConditionExpression=condition, ConsistentRead=True)
    return [item["path"] for item in answer["Items"]]


def shops(table: Table, country: str, *path: str) -> list[str]:
    """The shops of a country, of a region, or of a city, as far as the path goes."""
    condition: ConditionBase = Key("owner").eq(f"COUNTRY#{country}")
    if path:
        condition &= Key("path").begins_with("".join(f"{part}#" for part in path))
    return paths(table, condition)


def readings(table: Table, sensor: str, first_day: str, last_day: str) -> list[str]:
    """What a sensor measured from one day to another, both included.

    "~" sorts after every digit and letter, so this ends after everything that begins with the last day.
    """
    condition = Key("owner").eq(sensor) & Key("path").between(
        f"TEMP#{first_day}", f"TEMP#{last_day}~"
    )
    return paths(table, condition)


def main() -> None:
    with temporary_table("composite-sort-keys", "owner:S path:S") as table:
        for region, city, street in SHOPS:
            table.put_item(Item={"owner": "COUNTRY#BE", "path": f"{region}#{city}#{street}"})

        print("\nOne key answers at every level:")
        for path in ((), ("Liège",), ("Liège", "Liège")):
            found = shops(table, "BE", *path)
            print(f"  {'/'.join(('BE', *path)):16} {len(found)} shops")
            assert len(found) == sum(shop[: len(path)] == path for shop in SHOPS)

        print("\nWithout the last separator, a name is also the beginning of another:")
        belgian = Key("owner").eq("COUNTRY#BE")
        careless = paths(table, belgian & Key("path").begins_with("Liège#Liège"))
        print(f"  'Liège#Liège' finds {len(careless)}, 'Liège#Liège#' {len(found)}")
        assert (len(careless), len(found)) == (3, 2)

        print("\nDates that sort as text make a range of days a range of keys:")
        for number, (day, degrees) in enumerate(READINGS):
            key = {"owner": "SENSOR#1", "path": f"TEMP#{day}#{number:03}"}
            table.put_item(Item={**key, "degrees": degrees})
        november = readings(table, "SENSOR#1", "2026-11-18", "2026-11-30")
        print(f"  from the 18th to the end of November: {november}")
        assert november == ["TEMP#2026-11-18#001", "TEMP#2026-11-18#002"]

        print("\nNumbers within text need zeros in front of them:")
        bare = sorted(f"FLOOR#{floor}" for floor in (2, 10))
        padded = sorted(f"FLOOR#{floor:03}" for floor in (2, 10))
        print(f"  {bare} but {padded}")
        assert (bare[0], padded[0]) == ("FLOOR#10", "FLOOR#002")


if __name__ == "__main__":
    main()
