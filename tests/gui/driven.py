"""The window as it is started, moved by its own buttons, in a process that a test may kill:
``python -m tests.gui.driven PLACE``.

It takes lines of JSON from its standard input and says lines of JSON on its standard output:
``{"warm": RECIPE, "jobs": N}`` goes through the dialog and starts; ``{"close": BUTTON}`` closes the
window, and presses that button of what it asks ("background" or "stop"); ``{"cancel": true}``
presses the button of the strip that shows the job; ``{"look": true}`` has it say what it shows:
``{"jobs", "bar", "strip", "visible"}``. Unasked it says ``{"begun": true}`` when a
warm-up was started and ``{"ended": STATE, "said": TEXT}`` when one has ended.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QSettings, QSocketNotifier, QTimer
from PySide6.QtWidgets import QAbstractButton, QApplication

from torchkeeper.gui import start
from torchkeeper.gui.activity.drawer import Drawer
from torchkeeper.gui.activity.shown import JobStrip
from torchkeeper.gui.app import application
from torchkeeper.gui.dialogs.base import LeaveDialog
from torchkeeper.gui.jobs.model import Job, state_text
from torchkeeper.gui.verdicts.environments import KEY, NONE
from torchkeeper.gui.window import Window

#: Milliseconds between two looks at whether something can be done now.
_TURN_MS = 20


def _say(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class Driver(QObject):
    """Does in a window what a test asks for."""

    def __init__(self) -> None:
        super().__init__()
        self._window: Window | None = None
        self._notifier = QSocketNotifier(0, QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(lambda *_: self._hear())
        self._rest = b""

    @property
    def window(self) -> Window:
        """The window; there is one by the time that anybody asks."""
        if self._window is None:
            [self._window] = [x for x in QApplication.topLevelWidgets() if isinstance(x, Window)]
            self._window.jobs.finished.connect(self._ended)
        return self._window

    def _hear(self) -> None:
        data = os.read(0, 1 << 16)
        self._notifier.setEnabled(bool(data))
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            asked = json.loads(line)
            if "warm" in asked:
                self._warm(asked["warm"], asked["jobs"])
            elif "close" in asked:
                self._close(asked["close"])
            elif "cancel" in asked:
                _press(self._strip().cancel)
            else:
                self._look()

    def _warm(self, recipe: str, jobs: int) -> None:
        dialog = self.window.flows.warm([recipe])

        def go() -> None:
            dialog.jobs_at_once.setValue(jobs)
            _press(dialog.go)
            _say(begun=bool(self.window.jobs.active))

        _when(dialog.go.isEnabled, go)

    def _close(self, button: str) -> None:
        self.window.close()
        [dialog] = [x for x in self.window.findChildren(LeaveDialog) if x.isVisible()]
        _press({"background": dialog.background, "stop": dialog.go}[button])
        self._look()

    def _strip(self) -> JobStrip:
        [strip] = self.window.findChildren(JobStrip)
        return strip

    def _look(self) -> None:
        window = self.window
        drawers = [one for one in window.findChildren(Drawer) if one.isVisible()]
        # What the drawer shows of a job, the bar does not say as well.
        error = drawers[0].detail.notice.error if drawers else window.error_bar.error
        _say(
            jobs=[job.state.value for job in window.jobs.jobs],
            bar=str(error) if error is not None else "",
            strip=self._strip().words.text() if self._strip().isVisible() else "",
            visible=window.isVisible(),
        )

    def _ended(self, job: Job) -> None:
        _say(ended=job.state.value, said=state_text(job))


def _press(button: QAbstractButton) -> None:
    assert button.isEnabled()
    button.click()


def _when(able: Callable[[], bool], then: Callable[[], None]) -> None:
    if able():
        then()
    else:
        QTimer.singleShot(_TURN_MS, lambda: _when(able, then))


def main() -> int:
    """Open the window as ``torchkeeper PLACE`` does, and do what is asked for."""
    application(dressed=False)
    # To ask every torch of the machine for verdicts takes seconds.
    QSettings().setValue(KEY, NONE)
    driver = Driver()
    status = start.run(sys.argv[1:])
    del driver
    return status


if __name__ == "__main__":
    sys.exit(main())
