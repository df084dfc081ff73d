"""The form of the validation table: what a request's shape may say of a value."""

from __future__ import annotations

from typing import Literal, TypedDict

ShapeType = Literal[
    "structure",
    "list",
    "map",
    "string",
    "boolean",
    "integer",
    "long",
    "double",
    "timestamp",
    "blob",
]


class Shape(TypedDict, total=False):
    """A shape of the service model. Shapes name each other, so that the table is flat."""

    type: ShapeType
    # structure: member name -> shape, and the members that must be there
    members: dict[str, str]
    required: list[str]
    # list: the shape of its members
    member: str
    # map: the shapes of its keys and values
    key: str
    value: str
    # the length of a string, list or map; the value of a number
    min: int
    max: int
    # string
    pattern: str
    enum: list[str]
