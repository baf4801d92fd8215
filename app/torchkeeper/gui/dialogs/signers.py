"""The dialogs about signatures: whose are trusted, whether nothing else is imported, and signing a
bundle.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QCheckBox, QTreeWidget, QTreeWidgetItem, QWidget

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
from torchkeeper.gui.pages.help.ideas import explain
from torchkeeper.gui.sidebar.carried import files_of
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import SignatureParams, SignatureResult
    from torchkeeper.gui.background.looked import Signers


_NAME, _KIND, _FINGERPRINT = range(3)


class SignersDialog(Dialog):
    """Lists the allowed signers of ``client.signers``; each change is made at once."""

    def __init__(self, parent: QWidget | None, engines: Engines) -> None:
        super().__init__(parent, "", 820)
        self.setWindowTitle(self.tr("Trusted signers"))
        explain(self, "signature")
        self.setAcceptDrops(True)
        self._engines = engines
        self._ticket: int | None = None
        self._signers: list[signers.Signer] = []
        self._required = self.known = False
        what = forms.label(
            self.tr("What they have signed is imported without asking; anything else asks first."),
            wrap=True,
        )
        self.list = QTreeWidget()
        self.list.setAccessibleName(self.tr("Trusted signers"))
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setAllColumnsShowFocus(True)
        self.list.setHeaderLabels([self.tr("Name"), self.tr("Key"), self.tr("Fingerprint")])
        lists.columns(self.list, (180, 180, 0), _FINGERPRINT)
        self.list.setMinimumHeight(170)
        self.list.itemSelectionChanged.connect(self._chosen)
        theme.follow(self, self._paint)
        self.nothing = forms.label("", "muted", wrap=True)
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        over = forms.column(margin=16)
        over.addWidget(self.nothing)
        self.list.viewport().setLayout(over)
        self.add = forms.button(self.tr("&Add…"))
        self.add.clicked.connect(self.open_trust)
        self.remove = forms.button(self.tr("&Remove…"))
        self.remove.clicked.connect(self._remove)
        self.required = QCheckBox(self.tr("&Import only what a trusted signer has signed"))
        self.required.clicked.connect(self._require)
        self.what_then = forms.label("", "muted", wrap=True)
        self.problem = forms.label("", "error", wrap=True)
        self.problem.hide()
        self.kept_in = forms.label("", "muted", wrap=True)
        self.kept_in.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.kept_in.hide()
        self.close_ = forms.button(self.tr("Close"), primary=True)
        self.close_.clicked.connect(self.accept)
        for button in (self.add, self.remove):
            button.setAutoDefault(False)
        self.close_.setDefault(True)
        QShortcut(QKeySequence.StandardKey.Delete, self.list, self._remove,
                  context=Qt.ShortcutContext.WidgetShortcut)  # fmt: skip
        line = forms.row()
        line.addWidget(self.add)
        line.addWidget(self.remove)
        line.addStretch(1)
        self.body.addWidget(what)
        self.body.addWidget(self.list, 1)
        self.body.addLayout(line)
        self.body.addSpacing(forms.GAP)
        self.body.addWidget(self.required)
        self.body.addWidget(self.what_then)
        self.body.addWidget(self.problem)
        self.body.addWidget(self.kept_in)
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
        paths = files_of(event)
        if paths:
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
        self._ticket = self._engines.background(
            Listener(result=self._told, failed=self._failed), lookups.signers, change
        )
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
            item.setToolTip(_NAME, tip(texts[_NAME]))
            item.setToolTip(_FINGERPRINT, tip(texts[_FINGERPRINT]))
            self.list.addTopLevelItem(item)
        self._paint()
        self._required = found["required"]
        self.required.setChecked(self._required)
        self.kept_in.show()
        self.kept_in.setText(self.tr("Kept in {}").format(printable(found["file"], 4096)))
        self._allow()

    def _failed(self, error: UserError) -> None:
        self._ticket = None
        self.problem.setText(" ".join(x for x in (error.what, error.why, error.remedy) if x))
        self.problem.show()
        self.required.setChecked(self._required)  # it has switched itself
        self._allow()

    def _chosen(self) -> None:
        self._allow()

    def _allow(self) -> None:
        idle = self.known and self._ticket is None
        self.add.setEnabled(idle)
        self.required.setEnabled(idle)
        self.remove.setEnabled(idle and self.current is not None)
        none = self.known and not self._signers
        self.list.setAccessibleDescription(self._nothing())
        self.nothing.setText(self._nothing())
        self.nothing.setVisible(not self._signers)
        on = self.required.isChecked()
        said = self.tr("Other bundles are refused, by the window and by commands.")
        if on and none:
            said = self.tr("As you trust nobody, nothing can be imported.")
        elif not on:
            said = self.tr("Other bundles are imported if you say that you trust them.")
        self.what_then.setText(said)
        self.what_then.setVisible(self.known)
        forms.set_role(self.what_then, "warning" if on and none else "muted")

    def _nothing(self) -> str:
        """What the list says while it has no rows."""
        if self._ticket is not None and not self.known:
            return self.tr("Reading…")
        if not self.known:
            return self.tr("The list cannot be read")
        return self.tr(
            "You trust nobody yet.\nAdd the public key of somebody whose bundles you take, or drop "
            "its file here."
        )

    def _paint(self) -> None:
        for row in range(self.list.topLevelItemCount()):
            item = self.list.topLevelItem(row)
            if item is not None:
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
        super().__init__(parent, jobs, 600)
        self.setWindowTitle(self.tr("Sign bundle"))
        explain(self, "signature")
        self._file = file
        self._start = start
        self.signature: SignatureResult | None = None
        self.error: UserError | None = None
        self._signature_of = Latest(engines, self)
        name = printable(os.path.basename(file), 200)
        self.title = forms.label(self.tr("Sign {}").format(name), "title", wrap=True)
        self.where = forms.label(printable(os.path.dirname(file), 4096), "muted", wrap=True)
        self.said = forms.label("", wrap=True)
        self.key = KeyChoice(engines, settings, needed=True)
        self.key.changed.connect(self._say)
        self.cancel = forms.button(self.tr("Cancel"), enter=False)
        self.cancel.clicked.connect(self.reject)
        self.go = forms.button(self.tr("Sign"), primary=True)
        self.go.clicked.connect(self._go)
        layout = forms.column()
        for widget in (self.title, self.where, self.said):
            layout.addWidget(widget)
        layout.addSpacing(forms.GAP)
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
        self.signature = self.error = None
        about: SignatureParams = {"file": self._file, "signers": signers_file()}
        self._signature_of.ask(protocol.SIGNATURE, about, self._seen, self._failed, soon=False)
        self._say()

    def _seen(self, signature: SignatureResult) -> None:
        self.signature = signature
        self._say()

    def _failed(self, error: UserError) -> None:
        self.error = error
        self._say()

    def _say(self) -> None:
        role = ""
        if self.error is not None:
            role, error = "error", self.error
            text = " ".join(part for part in (error.what, error.why, error.remedy) if part)
        elif self.signature is None:
            text = self.tr("Reading who signed it…")
        elif self.signature["status"] == "none":
            text = self.tr("Nobody has signed it yet.")
        else:
            text = printable(signed(self.signature)) + ". "
            text += self.tr("A new signature takes the place of that one.")
        forms.set_role(self.said, role)
        self.said.setText(text)
        why = self._why_not()
        self.go.setEnabled(not why)
        self.go.setToolTip(tip(why))

    def _why_not(self) -> str:
        """Why it cannot begin; empty where it can."""
        # A signature that does not fit, or is of another version, can be replaced.
        if self.error is not None and self.error.code != "signature-wrong":
            return self.error.what
        if self.signature is None and self.error is None:
            return self.tr("The bundle is still being read.")
        return self.key.why_not

    def _go(self) -> None:
        self.key.keep()
        self.follow(self._start(self.key.value, self.signature))

    def choose_again(self) -> None:
        super().choose_again()
        self.setWindowTitle(self.tr("Sign bundle"))
        self._look()
        self.go.setFocus()

    def done(self, result: int) -> None:
        self._signature_of.forget()
        self.key.stop()
        super().done(result)
