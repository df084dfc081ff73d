"""DynamoDB JSON: typed values as orjson reads and writes them."""

from __future__ import annotations

import orjson

from gramme.model.item import Item


def decode_item(body: bytes) -> Item:
    item: Item = orjson.loads(body)
    return item


def encode_item(item: Item) -> bytes:
    return orjson.dumps(item)
