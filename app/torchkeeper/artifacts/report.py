"""How long work says where it is, and hears that it should stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Cancelled(Exception):
    """The user asked for an early end."""


class Report:
    """Where work reports to. This one listens to nothing; an engine's sends what it is told. Every
    function that can take long takes one, calls ``check`` at least every few milliseconds of work,
    and lets ``Cancelled`` pass through after cleaning up.
    """

    #: Whether nobody listens any more, so that ``Cancelled`` is not what anybody asked for.
    alone = False

    def progress(self, done: int, total: int | None, unit: str) -> None:
        """``done`` of ``total`` (None where not known); unit: entries, files, bytes, steps."""

    def rows(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Some rows of the answer, in order."""

    def finding(self, **what: Any) -> None:
        """One thing worth knowing that is not a row, such as ``left={...}``."""

    def relay(self, body: Mapping[str, Any]) -> None:
        """Pass on what another process reported of the same work."""

    def check(self) -> None:
        """Raises Cancelled if the user asked for an early end."""


class Quiet(Report):
    """Hears of a wish to end, and passes nothing else on."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def check(self) -> None:
        self._report.check()
