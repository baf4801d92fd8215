"""A thread of a fleet that has what it raised."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Thread(threading.Thread):
    """Does something at once, and has what that raised."""

    def __init__(self, does: Callable[[], None]) -> None:
        super().__init__(name="fleet")
        self._does = does
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._does()
        except BaseException as e:  # noqa: BLE001  # it is for whoever waits
            self.error = e
