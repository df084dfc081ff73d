"""The query string in the one way in which it is signed."""

from __future__ import annotations

import pytest

from gramme.router.http.authorization import canonical_query


@pytest.mark.parametrize(
    ("query", "canonical"),
    [
        (b"b=2&a=1", b"a=1&b=2"),
        (b"a=2&a=1&A=3", b"A=3&a=1&a=2"),
        (b"a", b"a="),
        (b"a=b=c", b"a=b%3Dc"),
        (b"a=%7e-_.%2f/", b"a=~-_.%2F%2F"),
        (b"a=x+y%20z%2B", b"a=x%20y%20z%2B"),
        (b"a=%c3%a9", b"a=%C3%A9"),
        (b"a=%ff\xfe", b"a=%FF%FE"),
        (b"a=1&X-Amz-Signature=0&b=2", b"a=1&b=2"),
    ],
)
def test_a_query_has_one_way_to_be_written(query: bytes, canonical: bytes) -> None:
    assert canonical_query(query) == canonical
