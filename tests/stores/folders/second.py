"""Waiting for the second process of a purge: on a busy machine the first may else be done alone."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable

from tests.pace import LONG

_KEY = 52


def waiting(place: str, least: int = 1) -> Callable[[], None]:
    """For the checks of a Report: the third waits until the second process has taken so many more
    kernels that lie in a place, or has ended.
    """
    number = 0

    def check() -> None:
        nonlocal number
        number += 1
        if number == 3:
            most, deadline = _there(place) - least, time.monotonic() + LONG
            while _there(place) > most and not _ended() and time.monotonic() < deadline:
                time.sleep(0.001)

    return check


def _there(place: str) -> int:
    return sum(len(name) == _KEY for name in os.listdir(place))


def _ended() -> bool:
    """Whether a child has ended; whoever waits for it hears of that as well."""
    with contextlib.suppress(ChildProcessError):
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_ALL, 0, how) is not None
    return True
