"""What the window does with signatures: making them, and knowing whose are trusted."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QDir, QObject

from torchkeeper.gui.places.model import EXPORTED_TO
from torchkeeper.link.words.problems import printable

if TYPE_CHECKING:
    from torchkeeper.gui.background.keygens import Said
    from torchkeeper.gui.context import Context
    from torchkeeper.gui.dialogs.passphrase import PassphraseDialog
    from torchkeeper.gui.dialogs.signers import SignersDialog
    from torchkeeper.gui.dialogs.signing import SignDialog
    from torchkeeper.gui.dialogs.working import WorkDialog
    from torchkeeper.gui.jobs.model import Job


class SigningFlows(QObject):
    """From an action about signatures to what comes of it; and what ssh-keygen asks meanwhile."""

    def __init__(self, context: Context, show: Callable[[WorkDialog], None]) -> None:
        """show: opens a dialog that follows a job."""
        super().__init__(context.window)
        self._context = context
        self._show = show
        #: What asks on behalf of a job.
        self._asking: dict[int, PassphraseDialog] = {}
        context.operations.asked.connect(self._ask)
        context.jobs.finished.connect(self._over)

    def sign_bundle(self) -> None:
        """Sign the bundle that is shown; where none is, ask for one."""
        from torchkeeper.gui.dialogs.base import choose_files

        context = self._context
        if context.listing.what == "file" and context.place is not None:
            self.sign(context.place)
            return
        kept = str(context.settings.value(EXPORTED_TO) or "") or QDir.homePath()
        kinds = self.tr("Torchkeeper bundles (*.torchcache);;All files (*)")
        choose_files(
            context.window, self.tr("Sign bundle"), os.path.join(kept, ""), kinds,
            lambda files: self.sign(files[0]), several=False,
        )  # fmt: skip

    def sign(self, file: str) -> SignDialog:
        """Ask with which key, then sign a bundle."""
        from torchkeeper.gui.dialogs.signing import SignDialog

        context = self._context
        dialog = SignDialog(
            context.window, context.engines, context.jobs, context.settings, file,
            lambda key, before: context.operations.sign(file, key, before),
        )  # fmt: skip
        self._show(dialog)
        return dialog

    def show_signers(self) -> SignersDialog:
        """Show whose signatures are trusted."""
        from torchkeeper.gui.dialogs.signers import SignersDialog

        dialog = SignersDialog(self._context.window, self._context.engines)
        dialog.open()
        return dialog

    def _ask(self, job: Job, ticket: int, ask: Said) -> None:
        from torchkeeper.gui.dialogs.passphrase import PassphraseDialog

        context = self._context
        key = job.asked.get("key", "")
        name = printable(os.path.basename(key) if os.path.isabs(key) else key, 60)
        # Not over the dialog that follows the job, which may be closed while the job goes on.
        dialog = PassphraseDialog(context.window, name, ask.text, ask.wrong)
        self._asking[job.id] = dialog
        dialog.accepted.connect(lambda: context.operations.answer(ticket, dialog.text.text()))
        dialog.rejected.connect(lambda: context.operations.cancel(job))
        dialog.finished.connect(lambda *_: self._forget(job, dialog))
        dialog.open()

    def _forget(self, job: Job, dialog: PassphraseDialog) -> None:
        if self._asking.get(job.id) is dialog:
            del self._asking[job.id]

    def _over(self, job: Job) -> None:
        """Nobody waits for an answer any more."""
        dialog = self._asking.pop(job.id, None)
        if dialog is not None:
            dialog.reject()
