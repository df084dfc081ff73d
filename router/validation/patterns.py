"""The model's regular expressions are Java's; this gives Python's for them."""

from __future__ import annotations

import re

_PRINTABLE = (r"\p{Print}", r"[\x20-\x7e]")
# Java reads this pair of surrogates, and its range, as the characters beyond the basic plane.
_SUPPLEMENTARY = (r"\uD800\uDC00-\uDBFF\uDFFF", "\U00010000-\U0010ffff")


def compile_pattern(pattern: str) -> re.Pattern[str]:
    for java, python in (_PRINTABLE, _SUPPLEMENTARY):
        pattern = pattern.replace(java, python)
    return re.compile(pattern, re.ASCII)
