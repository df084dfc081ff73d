"""Header names in any spelling.

Lowering every name of every request costs more than all the rest of reading it. But one client always sends the same
names, spelled alike and in the same order, so what there is to know about the names is found out once for each such
sequence and remembered.
"""

from __future__ import annotations

# The headers that change how a request is read or answered. A request without any of them is plain.
_RARE = frozenset(
    (b"connection", b"content-encoding", b"expect", b"origin", b"transfer-encoding", b"upgrade")
)

# A handful of clients with a handful of names each; more than this is somebody playing.
_REMEMBERED_MAX = 256
_NAMES_MAX = 32
_NAME_BYTES_MAX = 64

# No header can have this name.
_ABSENT = b""


class HeaderNames:
    """How a client spells the names of its headers. Each is empty if the header is not there."""

    __slots__ = (
        "accept_encoding",
        "authorization",
        "content_length",
        "content_type",
        "has_date",
        "is_plain",
        "spelling",
        "target",
    )

    def __init__(self, names: tuple[bytes, ...]) -> None:
        # Lower case -> as the client spells it; of two spellings the last one counts.
        self.spelling = spelling = {name.lower(): name for name in names}
        self.accept_encoding = spelling.get(b"accept-encoding", _ABSENT)
        self.authorization = spelling.get(b"authorization", _ABSENT)
        self.content_length = spelling.get(b"content-length", _ABSENT)
        self.content_type = spelling.get(b"content-type", _ABSENT)
        self.target = spelling.get(b"x-amz-target", _ABSENT)
        self.has_date = b"x-amz-date" in spelling or b"date" in spelling
        self.is_plain = spelling.keys().isdisjoint(_RARE)


# The names of a request's headers, in their order -> what there is to know of them. Ask here first, then `learn`.
REMEMBERED: dict[tuple[bytes, ...], HeaderNames] = {}


def learn(names: tuple[bytes, ...]) -> HeaderNames:
    learned = HeaderNames(names)
    if len(names) <= _NAMES_MAX and all(len(name) <= _NAME_BYTES_MAX for name in names):
        if len(REMEMBERED) >= _REMEMBERED_MAX:
            REMEMBERED.clear()
        REMEMBERED[names] = learned
    return learned
