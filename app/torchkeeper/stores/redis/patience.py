"""How long a server is tried: on after a connection broke, as one that is restarted is back within
seconds, but not on through a scan that brings nothing new.
"""

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
    """Do something that may be done twice, on a new connection where the old one breaks. Raises
    what ``work`` raises, and as ``Patience.spend``.
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


# When a scan of a server is given up: one that brings nothing new would go on for ever.
#
# SCAN promises to end, and a Redis keeps that. It may well give empty pages, where its table is
# much larger than what it holds, and a scan that is begun anew gives all keys once more.

#: Pages, and seconds, without anything new; and keys beyond those that the server says it has.
PAGES, SECONDS, KEYS = 10_000, 120.0, 10_000_000
#: Keys on a page, and keys a second, that a server gives at the least while a scan repeats.
_PER_PAGE, _PER_SECOND = 250, 10_000
#: And a second of those that are waited for: one that gives a key now and then never ends, either.
_SLOWEST = 200
#: Keys that a server may say it has and be believed.
_BELIEVED = 100_000_000


class Endless:
    """Follows one scan. expected: how many keys may be given that bring nothing: those which an
    earlier scan has given, or all that the server has where only some are looked for.
    """

    def __init__(self, server: str, expected: int) -> None:
        self._server = server
        expected = min(expected, _BELIEVED)
        self._most = PAGES + expected // _PER_PAGE
        self._seconds = SECONDS + expected / _PER_SECOND
        self._pages, self._since = 0, time.monotonic()

    def page(
        self, cursor: bytes, new: int, looked: int = 0, total: int | None = None, waited: float = 0
    ) -> None:
        """A page has come, with so many new keys, of ``looked`` in all where the server has
        ``total``; so many seconds were waited for them. Raises Problem("server-endless").
        """
        if not cursor.isdigit():
            raise Problem("server-not-redis", server=self._server)
        if new:
            self._pages, self._since = 0, time.monotonic()
        self._pages += 1
        idle = self._pages > self._most or time.monotonic() - self._since > self._seconds
        slow = waited > self._seconds + looked / _SLOWEST
        many = total is not None and looked > 4 * min(total, _BELIEVED) + KEYS
        if idle or slow or many:
            raise Problem("server-endless", server=self._server)
