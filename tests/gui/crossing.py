"""Two threads at once: one connects receivers and lets go of them, in the other a worker hears
pipes and makes things. ``python -m tests.gui.crossing SECONDS`` prints how often each did, in JSON.

With ``signals`` the worker connects a signal for each pipe, with ``collects`` Python looks for
garbage by itself: either crashes it, or has it wait for ever, on PySide 6.11.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from functools import partial

from PySide6.QtCore import (
    QCoreApplication,
    QEventLoop,
    QObject,
    QSocketNotifier,
    Qt,
    QThread,
    Signal,
    Slot,
)

from torchkeeper.gui.background.engines import Collector
from torchkeeper.gui.background.requests import Arrivals


class Receiver:
    """Gone as soon as nobody has it, or one that only a search for garbage finds."""

    def __init__(self, found: bool) -> None:
        if found:
            self.itself = self

    def hear(self) -> None:
        """What a signal is connected to."""


class Sender(QObject):
    told = Signal()


class Hearer(QObject):
    """Lives in another thread."""

    def __init__(self, seconds: float, signals: bool) -> None:
        super().__init__()
        self.seconds = seconds
        self.signals = signals
        self.heard = 0

    @Slot()
    def run(self) -> None:
        loop = QEventLoop()
        until = time.monotonic() + self.seconds
        while time.monotonic() < until:
            made = [[number] for number in range(2000)]
            there, here = os.pipe()
            hear = partial(self.hear, there)
            if self.signals:
                notifier = QSocketNotifier(there, QSocketNotifier.Type.Read, self)
                notifier.activated.connect(hear)
            else:
                arrivals = Arrivals(there, hear, self)
            os.write(here, b"x")
            before = self.heard
            while self.heard == before:
                loop.processEvents()
            if self.signals:
                notifier.setEnabled(False)
                notifier.deleteLater()
            else:
                arrivals.end()
            loop.processEvents()
            os.close(there)
            os.close(here)
            del made
        QThread.currentThread().quit()

    def hear(self, there: int, *_: object) -> None:
        self.heard += 1
        os.read(there, 1)


def main(seconds: float, how: str) -> None:
    app = QCoreApplication([])
    sender = Sender()
    collector = Collector()
    if how != "collects":
        collector.begin()
    thread, hearer = QThread(), Hearer(seconds, how == "signals")
    hearer.moveToThread(thread)
    thread.started.connect(hearer.run, Qt.ConnectionType.DirectConnection)
    thread.start()
    let_go = 0
    while not thread.wait(0):
        for number in range(100):
            sender.told.connect(Receiver(found=number % 10 == 0).hear)
            let_go += 1
        if how != "collects" and gc.get_count()[0] > 5000:
            gc.collect()  # many at once: as the collector would
        app.processEvents()
    print(json.dumps({"heard": hearer.heard, "let_go": let_go}))


if __name__ == "__main__":
    sys.setswitchinterval(0.0005)
    main(float(sys.argv[1]), "".join(sys.argv[2:]))
