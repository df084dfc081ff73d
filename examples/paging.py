"""Paging: an answer ends after 1 MB or `Limit` items, and says where to go on.

What to take away:
  - Go on while there is a LastEvaluatedKey. A page may be short, or empty, and not be the last.
  - Limit counts the items that were read, before the filter: it bounds work, not results.
  - The key to go on from is all there is to a cursor: the server keeps nothing, so it never expires.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

from boto3.dynamodb.conditions import Attr, Key

from tables import Item, Table, temporary_table

SONGS = 25


def pages(table: Table, artist: str, size: int) -> Iterator[list[Item]]:
    """The loop that everything else is made of."""
    request: Item = {
        "KeyConditionExpression": Key("artist").eq(artist),
        "Limit": size,
        "ConsistentRead": True,
    }
    while True:
        page = table.query(**request)
        yield page["Items"]
        if "LastEvaluatedKey" not in page:
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def web_page(table: Table, artist: str, cursor: str | None) -> tuple[list[str], str | None]:
    """One page for a browser, and the cursor for its link to the next one.

    The cursor is the last key in a form that fits a URL. Sign it, or check the artist in it, before you trust one
    that comes back: it is the caller who sends it.
    """
    request: Item = {
        "KeyConditionExpression": Key("artist").eq(artist),
        "Limit": 10,
        "ConsistentRead": True,
    }
    if cursor is not None:
        request["ExclusiveStartKey"] = json.loads(base64.urlsafe_b64decode(cursor))
    page = table.query(**request)
    last = page.get("LastEvaluatedKey")
    following = base64.urlsafe_b64encode(json.dumps(last).encode()).decode() if last else None
    return [item["song"] for item in page["Items"]], following


def main() -> None:
    with temporary_table("paging", "artist:S song:S") as table:
        with table.batch_writer() as batch:
            for number in range(SONGS):
                genre = "waltz" if number == SONGS - 1 else "march"
                song = {"artist": "Ada", "song": f"Song {number:02}", "genre": genre}
                batch.put_item(Item=song)
        print(f"Wrote {SONGS} songs, the last of them a waltz.")

        print("\nTen at a time, from key to key:")
        sizes = [len(page) for page in pages(table, "Ada", 10)]
        print(f"  pages of {sizes}")
        assert sizes == [10, 10, 5]

        print("\nThe SDK's paginator is the same loop:")
        paginator = table.meta.client.get_paginator("query")
        found = paginator.paginate(
            TableName=table.name,
            KeyConditionExpression=Key("artist").eq("Ada"),
            ConsistentRead=True,
            PaginationConfig={"PageSize": 10},
        )
        songs = [item["song"] for page in found for item in page["Items"]]
        print(f"  {len(songs)} songs, from {songs[0]} to {songs[-1]}")
        assert songs == [f"Song {number:02}" for number in range(SONGS)]

        print("\nA filter works on what was read, so a page can be empty and not be the last:")
        first = table.query(
            KeyConditionExpression=Key("artist").eq("Ada"),
            ConsistentRead=True,
            FilterExpression=Attr("genre").eq("waltz"),
            Limit=10,
        )
        print(f"  read {first['ScannedCount']}, kept {first['Count']}", end="")
        print(", and more to come" if "LastEvaluatedKey" in first else "")
        assert (first["ScannedCount"], first["Count"]) == (10, 0)
        assert "LastEvaluatedKey" in first

        print("\nA cursor for a web page survives a restart of everything but the browser:")
        shown, cursor = web_page(table, "Ada", None)
        following, _ = web_page(table, "Ada", cursor)
        print(f"  {shown[-1]}, then ?cursor={str(cursor)[:12]}..., then {following[0]}")
        assert (shown[-1], following[0]) == ("Song 09", "Song 10")


if __name__ == "__main__":
    main()
