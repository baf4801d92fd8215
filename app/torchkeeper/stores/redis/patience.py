"""Going on after a connection broke: a server that is restarted is back within seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.store import Lost

T = TypeVar("T")

#: Seconds after the connection broke in which the server must be back.
AWAY_S = 20.0
#: And where it says that it is back and still loads what it holds.
LOADING_S = 120.0
#: The longest pause between two attempts, in seconds.
_PAUSE_S = 2.0

#: What a server that was stopped and is started again answers, in turn, and a broken network.
PASSING = frozenset({
    "server-lost", "server-timeout", "server-refused", "server-unreachable", "server-loading",
    "socket-missing", "server-stale",
})  # fmt: skip


class Patience:
    """How long one break is borne: from when it is noticed until the server is back."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._since = time.monotonic()
        self._pause = 0.0

    def spend(self, problem: Problem) -> None:
        """Wait before the next attempt, the first time not at all.

        Says ``waiting={"code", "params"}`` once a first attempt was in vain. Raises Lost where that
        has taken too long, and where waiting does not help: the server wants a password now.
        """
        if problem.code not in PASSING:
            raise Lost(problem) from problem
        limit = LOADING_S if problem.code == "server-loading" else AWAY_S
        if time.monotonic() - self._since > limit:
            raise Lost(problem, waited=True) from problem
        if self._pause == 0.1:
            self._report.finding(waiting={"code": problem.code, "params": problem.params})
        end = time.monotonic() + self._pause
        while (left := end - time.monotonic()) > 0:
            self._report.check()
            time.sleep(min(left, 0.05))
        self._report.check()
        self._pause = min(2 * self._pause or 0.1, _PAUSE_S)


def patiently(report: Report, work: Callable[[], T], reconnect: Callable[[], None]) -> T:
    """Do something that may be done twice, on a new connection where the old one breaks.

    Raises what ``work`` raises, and as ``Patience.spend``.
    """
    try:
        return work()
    except Problem as problem:
        if problem.code not in PASSING:
            raise
        first = problem
    patience = Patience(report)
    patience.spend(first)
    while True:
        try:
            reconnect()
        except Problem as problem:
            patience.spend(problem)
            continue
        try:
            return work()
        except Problem as problem:
            if problem.code not in PASSING:
                raise
            patience.spend(problem)
