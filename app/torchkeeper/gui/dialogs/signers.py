"""The dialogs about signatures: whose are trusted, whether nothing else is, and signing."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QCheckBox, QTreeWidgetItem, QWidget

from torchkeeper.client import signers
from torchkeeper.client.signers import signers_file
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.gui import theme
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs.base import ConfirmDialog, Dialog, Latest, confirm
from torchkeeper.gui.dialogs.inspected import signed
from torchkeeper.gui.dialogs.keychoice import KeyChoice
from torchkeeper.gui.dialogs.pages import ChoicePage
from torchkeeper.gui.dialogs.trust import TrustDialog
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.jobs.model import Job, JobsModel
from torchkeeper.gui.sidebar.carried import files_of
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import SignatureParams, SignatureResult
    from torchkeeper.gui.background.lookups import Signers


_NAME, _KIND, _FINGERPRINT = range(3)


class SignersDialog(Dialog):
    """Lists the allowed signers of ``client.signers``; each change is made at once."""

    def __init__(self, parent: QWidget | None, engines: Engines) -> None:
        super().__init__(parent, 820, "signature")
        self.setWindowTitle(self.tr("Trusted signers"))
        self.setAcceptDrops(True)
        self._engines = engines
        self._ticket: int | None = None
        self._signers: list[signers.Signer] = []
        self._required = self.known = False
        what = forms.label(
            self.tr("What they have signed is imported without asking; anything else asks first."),
            wrap=True,
        )
        headings = [self.tr("Name"), self.tr("Key"), self.tr("Fingerprint")]
        self.list = lists.Table(self.tr("Trusted signers"), headings)
        self.list.setAllColumnsShowFocus(True)
        lists.columns(self.list, (180, 180, 0), _FINGERPRINT)
        self.list.setMinimumHeight(170)
        self.list.itemSelectionChanged.connect(self._allow)
        theme.follow(self, self._paint)
        self.nothing = forms.label("", "muted", wrap=True)
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.list.viewport().setLayout(forms.column(self.nothing, margin=16))
        self.add = forms.button(self.tr("&Add…"), self.open_trust, enter=False)
        self.remove = forms.button(self.tr("&Remove…"), self._remove, enter=False)
        self.required = QCheckBox(self.tr("&Import only what a trusted signer has signed"))
        self.required.clicked.connect(self._require)
        self.what_then = forms.label("", "muted", wrap=True)
        self.problem = forms.label("", "error", wrap=True)
        self.problem.hide()
        self.kept_in = forms.label("", "muted", wrap=True)
        forms.selectable(self.kept_in)
        self.kept_in.hide()
        self.close_ = forms.button(self.tr("Close"), self.accept, primary=True)
        self.close_.setDefault(True)
        QShortcut(QKeySequence.StandardKey.Delete, self.list, self._remove,
                  context=Qt.ShortcutContext.WidgetShortcut)  # fmt: skip
        line = forms.row(self.add, self.remove, forms.REST)
        forms.add(self.body, what, (self.list, 1), line, forms.GAP)
        forms.add(self.body, self.required, self.what_then, self.problem, self.kept_in)
        self.buttons(self.close_)
        self._ask(None)
        self.add.setFocus()

    @property
    def current(self) -> signers.Signer | None:
        """The signer that is chosen."""
        rows = [self.list.indexOfTopLevelItem(item) for item in self.list.selectedItems()]
        return self._signers[rows[0]] if rows else None

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if files_of(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        if paths := files_of(event):
            event.acceptProposedAction()
            self.open_trust().read_file(paths[0])

    def done(self, result: int) -> None:
        if self._ticket is not None:
            # A change comes to its end all the same.
            self._engines.leave(self._ticket, cancel=False)
        super().done(result)

    def open_trust(self) -> TrustDialog:
        """Ask which key is to be trusted."""
        dialog = TrustDialog(self, self._engines)
        dialog.trusted.connect(self._told)
        dialog.open()
        return dialog

    def _ask(self, change: Callable[[], object] | None) -> None:
        listener = Listener(result=self._told, failed=self._failed)
        self._ticket = self._engines.background(listener, lookups.signers, change)
        self._allow()

    def _told(self, found: Signers) -> None:
        self._ticket, self.known = None, True
        self.problem.hide()
        self._signers = list(found["signers"])
        self.list.clear()
        for one in self._signers:
            kind = one.key.partition(" ")[0].removesuffix("@openssh.com")
            texts = [printable(text, 200) for text in (one.name, kind, one.fingerprint)]
            item = QTreeWidgetItem(texts)
            for column in (_NAME, _FINGERPRINT):
                item.setToolTip(column, tip(texts[column]))
            self.list.addTopLevelItem(item)
        self._paint()
        self._required = found["required"]
        self.required.setChecked(self._required)
        forms.tell(self.kept_in, self.tr("Kept in {}").format(printable(found["file"], 4096)))
        self._allow()

    def _failed(self, error: UserError) -> None:
        self._ticket = None
        forms.tell(self.problem, " ".join(filter(None, (error.what, error.why, error.remedy))))
        self.required.setChecked(self._required)  # it has switched itself
        self._allow()

    def _allow(self) -> None:
        idle = self.known and self._ticket is None
        self.add.setEnabled(idle)
        self.required.setEnabled(idle)
        self.remove.setEnabled(idle and self.current is not None)
        none = self.known and not self._signers
        nothing = self._nothing()
        self.list.setAccessibleDescription(nothing)
        forms.tell(self.nothing, "" if self._signers else nothing)
        on = self.required.isChecked()
        if not on:
            said = self.tr("Other bundles are imported if you say that you trust them.")
        elif none:
            said = self.tr("As you trust nobody, nothing can be imported.")
        else:
            said = self.tr("Other bundles are refused, by the window and by commands.")
        self.what_then.setText(said)
        self.what_then.setVisible(self.known)
        forms.set_role(self.what_then, "warning" if on and none else "muted")

    def _nothing(self) -> str:
        if self._ticket is not None and not self.known:
            return self.tr("Reading…")
        if not self.known:
            return self.tr("The list cannot be read")
        return self.tr(
            "You trust nobody yet.\nAdd the public key of somebody whose bundles you take, or drop "
            "its file here."
        )

    def _paint(self) -> None:
        for item in self.list.items():
            item.setFont(_FINGERPRINT, theme.monospace())

    def _remove(self) -> ConfirmDialog | None:
        one = self.current
        if one is None or not self.remove.isEnabled():
            return None
        return confirm(
            self,
            self.tr("Remove signer"),
            self.tr("Trust {} no longer?").format(printable(one.name, 80)),
            self.tr("{} What this key has signed is not imported unasked any more; what was "
                    "imported stays.").format(one.fingerprint + "."),
            self.tr("Remove"),
            lambda: self._ask(lambda: signers.forget(one)),
        )  # fmt: skip

    def _require(self, on: bool) -> None:
        self._ask(lambda: signers.require(on))


# The dialog that signs a bundle: who signed it until now, and with which key it will be.

#: The key, and who has signed it until now.
Start = Callable[[str, "SignatureResult | None"], Job]


class SignDialog(WorkDialog):
    """Nothing is changed before Sign is pressed."""

    fits = True

    def __init__(
        self,
        parent: QWidget | None,
        engines: Engines,
        jobs: JobsModel,
        settings: QSettings,
        file: str,
        start: Start,
    ) -> None:
        super().__init__(parent, jobs, 600, "signature")
        self.setWindowTitle(self.tr("Sign bundle"))
        self._file, self._start = file, start
        self.signature: SignatureResult | None = None
        self.error: UserError | None = None
        self._signature_of = Latest(engines, self)
        name = printable(os.path.basename(file), 200)
        self.title = forms.label(self.tr("Sign {}").format(name), "title", wrap=True)
        self.where = forms.label(printable(os.path.dirname(file), 4096), "muted", wrap=True)
        self.said = forms.label("", wrap=True)
        self.key = KeyChoice(engines, settings, needed=True)
        self.finished.connect(self.key.stop)
        self.key.changed.connect(self._say)
        self.cancel = forms.button(self.tr("Cancel"), self.reject, enter=False)
        self.go = forms.button(self.tr("Sign"), self._go, primary=True)
        layout = forms.column(self.title, self.where, self.said, forms.GAP)
        forms.field(layout, self.tr("S&ign with"), self.key)
        layout.addStretch(1)
        page = ChoicePage(layout, self.cancel, self.go)
        self._look()
        self.add_choice(page, self.go)
        self.resize(620, self._needed(page))
        self.key.setFocus()

    @property
    def ready(self) -> bool:
        """Whether everything there is to know is known."""
        return (self.signature is not None or self.error is not None) and not self.key.busy

    def _look(self) -> None:
        about: SignatureParams = {"file": self._file, "signers": signers_file()}
        heard = Listener(result=self._told, failed=partial(self._told, None))
        self._signature_of.ask(protocol.SIGNATURE, about, heard, soon=False)
        self._told(None)

    def _told(self, signature: SignatureResult | None, error: UserError | None = None) -> None:
        self.signature, self.error = signature, error
        self._say()

    def _say(self) -> None:
        role = ""
        if self.error is not None:
            role, error = "error", self.error
            text = " ".join(filter(None, (error.what, error.why, error.remedy)))
        elif self.signature is None:
            text = self.tr("Reading who signed it…")
        elif self.signature["status"] == "none":
            text = self.tr("Nobody has signed it yet.")
        else:
            text = printable(signed(self.signature)) + ". "
            text += self.tr("A new signature takes the place of that one.")
        forms.set_role(self.said, role)
        self.said.setText(text)
        # A signature that does not fit, or is of another version, can be replaced.
        if self.error is not None and self.error.code != "signature-wrong":
            why_not = self.error.what
        elif self.signature is None and self.error is None:
            why_not = self.tr("The bundle is still being read.")
        else:
            why_not = self.key.why_not
        forms.allow(self.go, why_not)

    def _go(self) -> None:
        self.key.keep()
        self.follow(self._start(self.key.value, self.signature))

    def choose_again(self) -> None:
        self._look()
        super().choose_again()
