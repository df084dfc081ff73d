"""TableClass, of CreateTable and UpdateTable."""

from __future__ import annotations

from typing import Any

from gramme.errors import ValidationError
from gramme.router.validation.generated import SHAPES

_CLASSES = SHAPES["TableClass"]["enum"]


def read_table_class(body: dict[str, Any]) -> str | None:
    given: str | None = body.get("TableClass")
    if given is not None and given not in _CLASSES:
        raise ValidationError(
            "Invalid table-class parameter provided. Please try again with a valid table-class value: "
            f"[{', '.join(_CLASSES)}]."
        )
    return given
