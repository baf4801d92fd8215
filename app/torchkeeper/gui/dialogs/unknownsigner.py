"""The offer to trust whoever has signed a bundle, where that is nobody whom the user knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.widgets import forms

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import SignatureResult
    from torchkeeper.gui.dialogs.trust import TrustDialog


class UnknownSigner(QWidget):
    """A button, seen only where there is a key to be trusted."""

    #: The key is trusted from now on.
    trusted = Signal()

    def __init__(self, engines: Engines) -> None:
        super().__init__()
        self._engines = engines
        self._key = ""
        self.button = forms.button(self.tr("Trust this &signer…"), self.open_trust, enter=False)
        self.button.setToolTip(self.tr("Have what this key signs imported without being asked"))
        self.setLayout(forms.row(self.button, forms.REST))
        self.hide()

    def show_signature(self, signature: SignatureResult | None) -> None:
        """Offer it where a signature is good and by an unknown key."""
        unknown = signature is not None and signature["status"] == "unknown"
        self._key = signature["key"] or "" if signature and unknown else ""
        self.setVisible(bool(self._key))

    def open_trust(self) -> TrustDialog:
        """Show the key and its fingerprint, and ask whose it is."""
        from torchkeeper.gui.dialogs.trust import TrustDialog

        dialog = TrustDialog(self.window(), self._engines, self._key)
        dialog.trusted.connect(lambda _: self.trusted.emit())
        dialog.open()
        return dialog
