"""When a scan of a server is given up: one that brings nothing new would go on for ever.

SCAN promises to end, and a Redis keeps that. It may well give empty pages, where its table is much
larger than what it holds, and a scan that is begun anew gives all keys once more.
"""

from __future__ import annotations

import time

from torchkeeper.artifacts.entry import Problem

#: Pages, and seconds, without anything new; and keys beyond those that the server says it has.
PAGES, SECONDS, KEYS = 10_000, 120.0, 10_000_000
#: Keys on a page, and keys a second, that a server gives at the least while a scan repeats.
_PER_PAGE, _PER_SECOND = 250, 10_000
#: And a second of those that are waited for: one that gives a key now and then never ends, either.
_SLOWEST = 20
#: Keys that a server may say it has and be believed.
_BELIEVED = 1_000_000_000


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
        self,
        cursor: bytes,
        new: int,
        looked: int = 0,
        total: int | None = None,
        waited: float = 0.0,
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
