"""How fast a piece of work goes, and how long it takes yet."""

from __future__ import annotations

import math

#: Seconds before anything is said: the first pieces say little.
SETTLE = 0.5
#: Seconds that the rate remembers; what is longer ago hardly counts.
MEMORY = 3.0
#: Seconds between two samples: shorter ones are noise.
_SAMPLE = 0.1
#: Seconds without news before work counts as slower than it was.
_PATIENCE = 1.0


class Pace:
    """The rate of one piece of work, from how far it was when. Times are of any one clock."""

    def __init__(self) -> None:
        self._at = self._done = 0.0
        self._begun: float | None = None
        self._total: float | None = None
        self._rate: float | None = None

    def add(self, now: float, done: float, total: float | None) -> None:
        """So much is done now, of so much. What goes back begins anew."""
        self._total = total
        passed = now - self._at
        if self._begun is None or done < self._done:
            self._begun, self._rate = now, None
        elif passed < _SAMPLE:
            return
        else:
            rate, weight = (done - self._done) / passed, 1 - math.exp(-passed / MEMORY)
            self._rate = rate if self._rate is None else self._rate + weight * (rate - self._rate)
        self._at, self._done = now, done

    def rate(self, now: float) -> float | None:
        """Units a second; None while it is not known. It falls while nothing is heard."""
        if self._begun is None or self._rate is None or now - self._begun < SETTLE:
            return None
        return self._rate * math.exp(-max(0.0, now - self._at - _PATIENCE) / MEMORY)

    def left(self, now: float) -> float | None:
        """Seconds until all is done; None while nobody can say, or where it would be a day."""
        rate = self.rate(now)
        if not rate or self._total is None:
            return None
        seconds = (self._total - self._done) / rate - max(0.0, min(now - self._at, _PATIENCE))
        return max(0.0, seconds) if seconds < 86_400 else None


def coarse(seconds: float) -> str:
    """A time to wait, no finer than anybody can know it: 2 s, 25 s, 3 min, 1 h 10 min."""
    if seconds < 57.5:
        return f"{max(1, round(seconds)) if seconds < 9.5 else 5 * round(seconds / 5)} s"
    minutes = max(1, round(seconds / 60))
    if minutes < 60:
        return f"{minutes} min"
    tens = 10 * round(minutes / 10)
    return f"{tens // 60} h {tens % 60:02d} min" if tens % 60 else f"{tens // 60} h"
