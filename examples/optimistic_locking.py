"""Optimistic locking: nobody holds a lock, and nobody overwrites what they have not seen.

Every document carries a version. Who saves one says which version they read, and the save is refused if another came
between. Reading costs nothing extra, a forgotten lock cannot exist, and a conflict is found by the one who can resolve it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from boto3.dynamodb.conditions import Attr

from tables import Item, Table, temporary_table

EDITORS = 8


class Conflict(Exception):
    """Somebody else saved the document since it was read."""


def load(table: Table, id: str) -> Item:
    # A consistent read: a version from the past would only lead to a conflict.
    document: Item = table.get_item(Key={"id": id}, ConsistentRead=True)["Item"]
    return document


def save(table: Table, document: Item) -> None:
    """Write the document as the next version, if it is still the version that was read."""
    version = document["version"]
    try:
        table.put_item(
            Item={**document, "version": version + 1},
            ConditionExpression=Attr("version").eq(version),
        )
    except table.meta.client.exceptions.ConditionalCheckFailedException:
        raise Conflict(f"version {version} of {document['id']} is no longer the newest") from None


def edit(table: Table, id: str, change: Callable[[Item], Item]) -> int:
    """Load, change, save; after a conflict, again from what is there now. Return how many conflicts there were.

    A conflict means that somebody else succeeded. So with eight editors nobody meets more than seven.
    """
    for conflicts in range(EDITORS):
        try:
            save(table, change(load(table, id)))
        except Conflict:
            continue
        return conflicts
    raise Conflict(f"{id} is too busy")


def add_line(line: str) -> Callable[[Item], Item]:
    return lambda document: {**document, "lines": [*document["lines"], line]}


def main() -> None:
    with temporary_table("optimistic-locking", "id:S") as table:
        table.put_item(Item={"id": "letter", "version": 1, "lines": []})

        print("\nAda and Bob open version 1 of the same letter. Ada saves first.")
        adas, bobs = load(table, "letter"), load(table, "letter")
        save(table, add_line("from Ada")(adas))

        print("Bob saves his, which never saw Ada's line:")
        try:
            save(table, add_line("from Bob")(bobs))
        except Conflict as conflict:
            print(f"  conflict: {conflict}")
        else:
            raise AssertionError("Bob overwrote what Ada wrote")
        assert load(table, "letter")["lines"] == ["from Ada"]

        print("Bob makes his change again, to what is there now:")
        edit(table, "letter", add_line("from Bob"))
        letter = load(table, "letter")
        print(f"  version {letter['version']}: {letter['lines']}")
        assert letter["lines"] == ["from Ada", "from Bob"]

        print(f"\n{EDITORS} editors at once, each adding a line:")
        with ThreadPoolExecutor(EDITORS) as threads:
            changes = [add_line(f"from editor {number}") for number in range(EDITORS)]
            conflicts = sum(threads.map(lambda change: edit(table, "letter", change), changes))
        letter = load(table, "letter")
        print(f"  {conflicts} conflicts on the way to version {letter['version']}")
        print(f"  {len(letter['lines'])} lines, none lost")
        assert letter["version"] == 3 + EDITORS
        assert len(set(letter["lines"])) == 2 + EDITORS


if __name__ == "__main__":
    main()
