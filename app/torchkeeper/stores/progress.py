"""How far copying is: bytes, and what is being copied."""

from __future__ import annotations

import time

from torchkeeper.artifacts.report import Report
from torchkeeper.stores.items import Item

#: Seconds between two messages: what comes sooner nobody can read.
_EVERY = 0.05


class Progress:
    """Counts bytes towards a total and tells a Report, which may ask for an early end.

    Besides ``progress`` in bytes it sends findings ``now={"kind", "key"}``.
    """

    def __init__(self, report: Report, total: int) -> None:
        self._report = report
        self._total = total
        self._done = 0
        self._told = self._named = 0.0

    def check(self) -> None:
        """Raises Cancelled if the user asked for an early end."""
        self._report.check()

    def begin(self, item: Item) -> None:
        """An entry is being copied now."""
        self._report.check()
        now = time.monotonic()
        if now - self._named > 2 * _EVERY:
            self._named = now
            self._report.finding(now={"kind": item.kind, "key": item.key})
        self._tell(now)

    def add(self, count: int) -> None:
        """So many bytes more."""
        self._report.check()
        self._done += count
        self._tell(time.monotonic())

    def reach(self, done: int) -> None:
        """So many bytes in all, however they were counted before."""
        self._done = done

    def end(self) -> None:
        """All is done."""
        self._report.progress(self._total, self._total, "bytes")

    def _tell(self, now: float) -> None:
        if now - self._told > _EVERY:
            self._told = now
            self._report.progress(min(self._done, self._total), self._total, "bytes")
