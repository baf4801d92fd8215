"""What says how long ago something was says it anew while it is seen."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget

#: Milliseconds between two times.
_ANEW_MS = 20_000


def keep_up(widget: QWidget, say: Callable[[], object]) -> None:
    """Call ``say`` every now and then, as long as there is a widget and it is seen."""

    def anew() -> None:
        if widget.isVisible():
            say()

    timer = QTimer(widget)
    timer.setObjectName("aging")
    timer.setInterval(_ANEW_MS)
    timer.timeout.connect(anew)
    timer.start()
