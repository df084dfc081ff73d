"""Header names in lower case, without lowering the same few names for every request."""

from __future__ import annotations

# Spelling -> lower case. A client always spells alike, so a few hundred spellings serve everybody.
_SPELLINGS: dict[bytes, bytes] = {}
_lower = _SPELLINGS.__getitem__
_SPELLINGS_MAX = 512
_NAME_BYTES_MAX = 64


def lower_names(headers: dict[bytes, bytes]) -> dict[bytes, bytes]:
    try:
        return dict(zip(map(_lower, headers), headers.values(), strict=False))
    except KeyError:
        return _learn(headers)


def _learn(headers: dict[bytes, bytes]) -> dict[bytes, bytes]:
    if len(_SPELLINGS) + len(headers) > _SPELLINGS_MAX:
        _SPELLINGS.clear()
    lowered = {}
    for name, value in headers.items():
        lower = name.lower()
        lowered[lower] = value
        if len(name) <= _NAME_BYTES_MAX and len(_SPELLINGS) < _SPELLINGS_MAX:
            _SPELLINGS[name] = lower
    return lowered
