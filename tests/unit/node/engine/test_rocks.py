"""Which of RocksDB's refusals may be tried again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gramme.node.engine.api import Family, Row, WriteStall
from gramme.node.engine.rocks import RocksEngine

FAILED_IN_A_PATH_WITH_THE_WORD = (
    "IO error: While appending to /opt/install/db/4.log: File too large"
)


class Refusing:
    def __init__(self, text: str) -> None:
        self._text = text

    def write(self, *_: Any) -> None:
        raise RuntimeError(self._text)


@pytest.mark.parametrize(
    ("text", "raised"),
    [
        ("Result incomplete: Write stall", WriteStall),
        (FAILED_IN_A_PATH_WITH_THE_WORD, RuntimeError),
    ],
    ids=["stall", "failure"],
)
def test_only_a_stall_is_no_failure(tmp_path: Path, text: str, raised: type[Exception]) -> None:
    engine = RocksEngine.open(tmp_path / "db", None)
    real: Any = engine._database
    refusing: Any = Refusing(text)
    engine._database = refusing

    with pytest.raises(raised):
        engine.write([Row(Family.ITEM, b"a", b"b")])

    engine._database = real
    engine.close()
