"""The choice of a device to compile for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QComboBox

from torchkeeper.gui.widgets.choices import Choice
from torchkeeper.link.words.problems import printable

if TYPE_CHECKING:
    from torchkeeper.verdict.probed import Env


class DeviceChoice(Choice):
    """What is compiled for, where a recipe does not say: one of those that an interpreter has."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(20)
        self._wanted = ""
        self.addItem(self.tr("The best there is"), "")
        self.setToolTip(self.tr("What a recipe says itself comes first"))

    def suggest(self, device: str) -> None:
        """Begin with this device, once it is known that an interpreter has it."""
        self._wanted = device
        self._take(device)

    def _take(self, device: str) -> None:
        row = self.findData(device)
        if device and row >= 0:
            self._wanted = ""
            self.setCurrentIndex(row)

    def say(self, facts: Env | None) -> None:
        """Offer the devices of an interpreter."""
        found = [(self.itemText(0), "")]
        seen: dict[str, int] = {}
        for one in facts.get("devices", ()) if facts else ():
            kind = one["type"]
            number = seen[kind] = seen.get(kind, -1) + 1
            device = kind if kind == "cpu" else f"{kind}:{number}"
            name = printable(one["name"], 60)
            found.append((f"{printable(device, 40)}  ({name})" if name else device, device))
        if [self.itemData(row) for row in range(self.count())] == [data for _, data in found]:
            return
        before = self.device
        self.blockSignals(True)
        self.clear()
        for text, data in found:
            self.addItem(text, data)
        self.setCurrentIndex(max(0, self.findData(before)))
        self._take(self._wanted)
        self.blockSignals(False)

    @property
    def device(self) -> str:
        """The chosen one; empty for the best."""
        return str(self.currentData() or "")
