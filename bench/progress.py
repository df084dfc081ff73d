"""The progress display: one line that is rewritten on a terminal, and now and then printed elsewhere."""

import sys
import time

TERMINAL_INTERVAL_S = 0.1
LOG_INTERVAL_S = 15.0


class Progress:
    """Shows `label done/total`, the time left and a note."""

    def __init__(self, label: str, total: int) -> None:
        self._label = label
        self._total = total
        self._done = 0
        self._started_at = time.monotonic()
        self._shown_at = 0.0
        self._terminal = sys.stderr.isatty()

    def advance(self, count: int = 1, note: str = "") -> None:
        self._done += count
        now = time.monotonic()
        interval = TERMINAL_INTERVAL_S if self._terminal else LOG_INTERVAL_S
        if now - self._shown_at >= interval or self._done >= self._total:
            self._shown_at = now
            self._show(now, note)

    def _show(self, now: float, note: str) -> None:
        elapsed = now - self._started_at
        share = self._done / self._total if self._total else 1.0
        left = elapsed * (1 - share) / share if share else 0.0
        filled = int(24 * share)
        text = (
            f"{self._label} [{'#' * filled}{'.' * (24 - filled)}] {self._done}/{self._total}"
            f"  {clock(elapsed)} gone, {clock(left)} left  {note}"
        )
        if self._terminal:
            end = "\n" if self._done >= self._total else ""
            print(f"\r\x1b[2K{text[:160]}", end=end, file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
