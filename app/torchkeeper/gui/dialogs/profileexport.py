"""A profile for others to read: shown in the format that is chosen, copied, or saved."""

from __future__ import annotations

import math

from PySide6.QtCore import QDir, QSize, Qt
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QFileDialog, QLineEdit, QPlainTextEdit, QWidget

from torchkeeper.client.profiles.profile import Profile, with_password
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui import theme
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.pages.help.ideas import explain
from torchkeeper.gui.pages.profiles import known as known_profiles
from torchkeeper.gui.pages.profiles import words
from torchkeeper.gui.pages.profiles.known import Written
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.blank import Notice
from torchkeeper.gui.widgets.choices import Choice

#: Pixels that it is wide, and lines of the text that it has room for at least.
_WIDE, _FEW = 880, 4


class _Text(QPlainTextEdit):
    """Asks for as many lines as there are."""

    def sizeHint(self) -> QSize:
        lines, margin = max(self.blockCount(), _FEW), self.document().documentMargin()
        line = self.blockBoundingRect(self.firstVisibleBlock()).height()
        # Its frame, and what scrolls it sideways where that is there.
        around = self.height() - self.viewport().height()
        # A last line that touches the edge would be scrolled to.
        height = lines * line + 2 * margin + around + 1
        return QSize(super().sizeHint().width(), math.ceil(height))


class ProfileExport(Dialog):
    """A password is not shown; what is copied or saved has it, which is said before."""

    grows = False

    def __init__(self, parent: QWidget | None, engines: Engines, profile: Profile) -> None:
        super().__init__(parent, "", 640)
        self.setWindowTitle(self.tr("Export {}").format(printable(profile.name, 64)))
        explain(self, "profile")
        self._engines, self._profile = engines, profile
        self._ticket: int | None = None
        self.written: Written | None = None
        self.format = Choice()
        for text, data in words.formats():
            self.format.addItem(text, data)
        self.secret = QLineEdit()
        self.secret.setPlaceholderText(self.tr("NAME/KEY"))
        self.text = _Text()
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.document().setDocumentMargin(8)
        self.notice = Notice()
        self.warning = Notice()
        self.said = forms.label("", "good", wrap=True)
        self.copy = forms.button(self.tr("&Copy"))
        self.save = forms.button(self.tr("&Save as…"), primary=True)
        self.close_button = forms.button(self.tr("Close"))
        forms.field(self.body, self.tr("&Format"), self.format)
        self._of_cluster = QWidget()
        asked = forms.column()
        forms.field(
            asked, self.tr("Password from the Sec&ret"), self.secret,
            self.tr("The manifest then names this Secret of the cluster, and carries no password."),
        )  # fmt: skip
        self._of_cluster.setLayout(asked)
        self.body.addWidget(self._of_cluster)
        self.body.addSpacing(forms.GAP)
        forms.field(self.body, self.tr("&What is written"), self.text)
        self.body.setStretchFactor(self.text, 1)
        for widget in (self.warning, self.notice, self.said):
            self.body.addWidget(widget)
        for button in (self.copy, self.save, self.close_button):
            button.setAutoDefault(False)
        self.buttons(self.copy, self.save, self.close_button)
        self.format.currentIndexChanged.connect(self._write)
        self.secret.textChanged.connect(self._write)
        self.copy.clicked.connect(self._copy)
        self.save.clicked.connect(self._save)
        self.close_button.clicked.connect(self.reject)
        self.notice.again.connect(self._write)
        theme.follow(self, self._paint)
        self.resize(_WIDE, self.sizeHint().height())
        #: How high it was made for what is written.
        self._fitted = self.height()
        self._write()
        self.format.setFocus()

    @property
    def form(self) -> str:
        """The format that is chosen (client.profiles.formats)."""
        return str(self.format.currentData())

    def _paint(self) -> None:
        self.text.setFont(theme.monospace())

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Be as high as what is written, as far as the screen is, and at least as high as somebody
        has made it.
        """
        if not self.isVisible():
            return
        self.text.updateGeometry()
        self.body.activate()
        body = self.body
        needed = body.totalSizeHint().height()
        if body.hasHeightForWidth():
            needed = body.totalHeightForWidth(self.width())
        needed = min(needed, self.screen().availableSize().height() - 80)
        if needed > self.height() or self.height() == self._fitted:
            self.resize(self.width(), needed)
            self._fitted = self.height()

    def _say(self, text: str) -> None:
        self.said.setText(text)
        self.said.setVisible(bool(text))
        self._fit()

    def _write(self, *_: object) -> None:
        self._engines.forget(self._ticket)
        self.written = None
        asks = self.form == "kubernetes" and bool(with_password(self._profile))
        self._of_cluster.setVisible(asks)
        secret = self.secret.text().strip() if asks else ""
        self.said.setText("")
        self.said.hide()
        self._able()
        listener = Listener(result=self._show, failed=self._failed)
        self._ticket = self._engines.background(
            listener, known_profiles.written, self._profile, self.form, secret
        )

    def _show(self, written: Written) -> None:
        self.written = written
        self.notice.tell(None)
        self.text.setPlainText(written.shown.rstrip("\n"))
        self.warning.tell(
            UserError(
                self.tr("A password goes along."),
                self.tr("It is shown here as …; what is copied or saved has it as it is."),
                self.tr("Keep the file to yourself, or have the address come from a secret of "
                        "the cluster."),
            ) if written.secret else None
        )  # fmt: skip
        self._able()
        self._fit()

    def _failed(self, error: UserError) -> None:
        self.text.setPlainText("")
        self.warning.tell(None)
        self.notice.tell(error)
        self._fit()

    def _able(self) -> None:
        for button in (self.copy, self.save):
            button.setEnabled(self.written is not None)

    def _copy(self) -> None:
        if self.written is not None:
            QGuiApplication.clipboard().setText(self.written.text)
            self._say(self.tr("Copied."))

    def _save(self) -> None:
        dialog = QFileDialog(self, self.tr("Save the export"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setFileMode(QFileDialog.FileMode.AnyFile)
        dialog.setDirectory(QDir.homePath())
        name = self._profile.name
        named = {"sh": f"{name}.sh", "env": f"{name}.env", "dockerfile": f"Dockerfile.{name}",
                 "kubernetes": f"{name}.yaml"}  # fmt: skip
        dialog.selectFile(named[self.form])
        # The file dialog has asked already whether what is there may be replaced.
        dialog.fileSelected.connect(self._put)
        dialog.open()

    def _put(self, path: str) -> None:
        if self.written is None:
            return

        def done(path: str) -> None:
            self.notice.tell(None)
            self._say(self.tr("Saved as {}").format(printable(path, 400)))

        listener = Listener(result=done, failed=self.notice.tell)
        self._ticket = self._engines.background(
            listener, known_profiles.put, path, self.written.text, self.written.secret
        )

    def done(self, result: int) -> None:
        # What is being written is written.
        self._engines.leave(self._ticket or 0, cancel=False)
        super().done(result)
