"""How long to wait before trying again: pure but for the `Random` that is passed in."""

from __future__ import annotations

from random import Random

from gramme.links.limits import Limits


class Backoff:
    """Doubles with each failure, up to a bound, and scatters, so that many who lost one peer do not return at once."""

    def __init__(self, limits: Limits, random: Random) -> None:
        self._limits = limits
        self._random = random
        self._next_s = limits.backoff_seconds_min

    def after(self, up_seconds: float) -> float:
        """Seconds to wait after a link that was up for so long. One that did not last is as good as none."""
        if up_seconds >= self._limits.backoff_seconds_max:
            self._next_s = self._limits.backoff_seconds_min
        wait_s = self._next_s
        self._next_s = min(self._next_s * 2, self._limits.backoff_seconds_max)
        return wait_s * self._random.uniform(0.5, 1.0)
