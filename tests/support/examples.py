"""How many examples a random test tries: few in every run, as many as asked for in a campaign."""

from __future__ import annotations

import os

VARIABLE = "GRAMME_EXAMPLES"
SEED_VARIABLE = "GRAMME_SEED"


def examples(usual: int) -> int:
    return int(os.environ.get(VARIABLE, usual))


def first_seed() -> int:
    """Where seeds begin: at 0 in every run, elsewhere in a campaign."""
    return int(os.environ.get(SEED_VARIABLE, "0"))
