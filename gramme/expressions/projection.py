"""A ProjectionExpression, ready to use: which parts of an item to return."""

from __future__ import annotations

from gramme.expressions import paths
from gramme.expressions.tree import Paths, is_nested, top_level
from gramme.model.item import Item


class Projection:
    """`attributes` are the top-level names, and all there is to it unless some path is `nested`.

    `encoded` is the tree as bytes, once somebody has sent it.
    """

    __slots__ = ("_names", "_root", "attributes", "encoded", "nested", "tree")

    def __init__(self, tree: Paths) -> None:
        self.tree = tree
        self.encoded: bytes | None = None
        self.attributes = top_level(tree)
        self.nested = is_nested(tree)
        self._root = paths.branches(tree.paths)
        self._names = tuple(str(name) for name in self._root)

    def project(self, item: Item) -> Item:
        """The parts of `item` that are asked for. Nothing found is an empty item."""
        if self.nested:
            return paths.pick(item, self._root)
        return {name: item[name] for name in self._names if name in item}
