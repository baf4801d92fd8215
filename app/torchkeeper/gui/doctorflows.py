"""The doctor's page: there is one, beside the window; it is loaded when it is first opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

if TYPE_CHECKING:
    from torchkeeper.gui.dialogs.doctor import DoctorDialog
    from torchkeeper.gui.window import Window


class DoctorFlows(QObject):
    """Shows the doctor."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._window = window

    def show_doctor(self) -> DoctorDialog:
        """Look at what the environment uses and at the place that is shown, beside the window."""
        from torchkeeper.gui.dialogs.doctor import DoctorDialog

        window = self._window
        found = window.findChildren(DoctorDialog)
        open_one = next((one for one in found if one.isVisible()), None)
        shown = None if window.listing.what == "file" else window.place
        if open_one is None:
            open_one = DoctorDialog(
                window, window.engines, window.here.environments, window.operations, window.jobs,
                window.places.places, shown,
            )  # fmt: skip
        else:
            open_one.turn_to(window.places.places, shown)
        open_one.show()
        open_one.activateWindow()
        return open_one
