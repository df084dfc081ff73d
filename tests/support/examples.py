"""How many examples a random test tries: few in every run, as many as asked for in a campaign."""

from __future__ import annotations

import os

VARIABLE = "GRAMME_EXAMPLES"


def examples(usual: int) -> int:
    return int(os.environ.get(VARIABLE, usual))
