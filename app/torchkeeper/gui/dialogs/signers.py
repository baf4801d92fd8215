"""The dialogs about signatures: whose are trusted, whether nothing else is, and signing."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QCheckBox, QLineEdit, QPlainTextEdit, QWidget

from torchkeeper.client import signers
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.gui import theme
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.dialogs.base import ConfirmDialog, Dialog, choose_file, confirm
from torchkeeper.gui.dialogs.inspected import signed
from torchkeeper.gui.dialogs.leaving import KeyChoice
from torchkeeper.gui.dialogs.pages import TrustNotice
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.table.mimedata import files_of
from torchkeeper.gui.widgets import forms, lists

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import SignatureParams, SignatureResult

#: Characters of a pasted key that are looked at; a long RSA key has some 1,500.
_LONG = 16_384
#: The key, and who has signed it until now.
Start = Callable[[str, "SignatureResult | None"], Job]


class TrustDialog(Dialog):
    """Puts a key among the trusted signers; a key that is read or pasted is shown as it is."""

    #: Whose signatures are trusted now, as of ``lookups.signers``.
    trusted = Signal(object)

    def __init__(self, parent: QWidget | None, engines: Engines, key: str = "") -> None:
        """key: the public key that has signed something, which is not to be changed then."""
        super().__init__(parent, 600, "signature")
        self.setWindowTitle(self.tr("Trust a signer"))
        self.setAcceptDrops(not key)
        self._asked = Latest(engines, self)
        self._public: signers.PublicKey | None = None
        self._error: UserError | None = None
        self.key = QPlainTextEdit()
        self.key.setTabChangesFocus(True)
        self.key.setReadOnly(bool(key))
        hint = self.tr("Paste a line such as ssh-ed25519 AAAAC3…, or drop a file: KEY.pub")
        self.key.setPlaceholderText(hint)
        theme.follow(self.key, lambda: self.key.setFont(theme.monospace()))
        self.key.setFixedHeight(self.key.fontMetrics().lineSpacing() * 4 + 20)
        self.file = forms.button(self.tr("Read from a &file…"), self._browse, enter=False)
        self.file.setVisible(not key)
        self.fingerprint = forms.label("", wrap=True)
        self.fingerprint.setAccessibleName(self.tr("Fingerprint"))
        self.name = QLineEdit()
        self.name.setMaxLength(200)
        self.wrong = forms.label("", "error", wrap=True)
        self.wrong.hide()
        self.cancel = forms.button(self.tr("Cancel"), self.reject, enter=False)
        # Never the default: to trust is to be pressed on purpose.
        self.go = forms.button(self.tr("&Trust"), self._go, primary=True, enter=False)
        forms.field(self.body, self.tr("Public &key"), self.key)
        forms.add(self.body, forms.row(self.file, forms.REST), self.fingerprint, 4)
        forms.field(
            self.body, self.tr("&Name"), self.name,
            self.tr("Such as team@example.org: bundles show this name as their signer."),
        )  # fmt: skip
        notice = TrustNotice(
            self.tr("Torchkeeper imports what this key signs without asking, and PyTorch runs it."),
            self.tr(
                "Ask the owner for the fingerprint, in another way than the bundle came, and "
                "compare: anybody can sign with a key of any name."
            ),
        )
        self.buttons(self.cancel, self.go, pinned=(notice, self.wrong))
        self.key.textChanged.connect(self._read)
        self.name.textChanged.connect(lambda *_: self._read())
        self.key.setPlainText(key)
        self._read()
        (self.name if key else self.key).setFocus()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if files_of(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        if paths := files_of(event):
            event.acceptProposedAction()
            self.read_file(paths[0])

    def read_file(self, path: str) -> None:
        """Show the public key in a file."""
        listener = Listener(result=self._is_read, failed=self._failed)
        self._asked.call(listener, signers.public_key, path)

    def _browse(self) -> None:
        folder = os.path.expanduser("~/.ssh/")
        kinds = self.tr("Public keys (*.pub);;All files (*)")
        choose_file(self, self.tr("Public key"), folder, kinds, self.read_file)

    def _is_read(self, public: signers.PublicKey) -> None:
        self.key.setPlainText(f"{public.key} {printable(public.comment, 200)}".strip())

    def _read(self) -> None:
        self._public = self._error = None
        if text := self.key.toPlainText().strip():
            try:
                self._public = signers.public_key_in(text[:_LONG], self.tr("The text"))
            except UserError as e:
                self._error = e
        public = self._public
        if public is not None and not self.name.text() and "@" in public.comment:
            # Nobody vouches for it: it is only what the owner calls the key.
            self.name.setPlaceholderText(printable(public.comment, 80))
        self._say()

    def _failed(self, error: UserError) -> None:
        self._error = error
        self._say()

    def _say(self) -> None:
        said: list[str] = []
        if (error := self._error) is not None:
            # Of a key, the remedy is about one to sign with.
            said = [error.what, error.why, "" if error.code == "key-unusable" else error.remedy]
        self.wrong.setText(" ".join(filter(None, said)))
        self.wrong.setVisible(error is not None)
        public, shown = self._public, self.tr("The fingerprint to compare appears here.")
        if public is not None:
            shown = f"{public.key.partition(' ')[0]} {public.fingerprint}"
        self.fingerprint.setText(shown)
        forms.set_role(self.fingerprint, "muted" if public is None else "heading")
        why = self.tr("It is being added.") if self._asked.busy else ""
        if public is None:
            why = self.tr("There is no public key yet.")
        elif not self.name.text().strip():
            why = self.tr("Give the signer a name.")
        forms.allow(self.go, why)

    def _go(self) -> None:
        if self._public is None:
            return
        trust = partial(signers.trust, self.name.text().strip(), self._public.key)
        self._error = None
        listener = Listener(result=self._trusted, failed=self._failed)
        self._asked.call(listener, lookups.signers, trust)
        self._say()

    def _trusted(self, found: lookups.Signers) -> None:
        self.trusted.emit(found)
        self.accept()


class UnknownSigner(QWidget):
    """A button, seen only where there is a key to be trusted."""

    #: The key is trusted from now on.
    trusted = Signal()

    def __init__(self, engines: Engines) -> None:
        super().__init__()
        self._engines = engines
        self._key = ""
        self.button = forms.button(self.tr("Trust this &signer…"), self.open_trust, enter=False)
        self.button.setToolTip(self.tr("Import what this key signs without asking"))
        self.setLayout(forms.row(self.button, forms.REST))
        self.hide()

    def show_signature(self, signature: SignatureResult | None) -> None:
        """Offer it where a signature is good and by an unknown key."""
        unknown = signature is not None and signature["status"] == "unknown"
        self._key = signature["key"] or "" if signature and unknown else ""
        self.setVisible(bool(self._key))

    def open_trust(self) -> TrustDialog:
        """Show the key and its fingerprint, and ask whose it is."""
        dialog = TrustDialog(self.window(), self._engines, self._key)
        dialog.trusted.connect(lambda _: self.trusted.emit())
        dialog.open()
        return dialog


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
            self.tr(
                "Torchkeeper imports what they signed without asking. For other bundles it asks "
                "first."
            ),
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
        self.required.clicked.connect(lambda on: self._ask(lambda: signers.require(on)))
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
        for label in (self.what_then, self.kept_in):
            forms.keep_room(label, 1)
        self._ask(None)
        self.add.setFocus()

    @property
    def current(self) -> signers.Signer | None:
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
        # A change comes to its end all the same.
        self._engines.leave(self._ticket or 0, cancel=False)
        super().done(result)

    def open_trust(self) -> TrustDialog:
        dialog = TrustDialog(self, self._engines)
        dialog.trusted.connect(self._told)
        dialog.open()
        return dialog

    def _ask(self, change: Callable[[], object] | None) -> None:
        listener = Listener(result=self._told, failed=self._failed)
        self._ticket = self._engines.background(listener, lookups.signers, change)
        self._allow()

    def _told(self, found: lookups.Signers) -> None:
        self.known = True
        self.problem.hide()
        self._signers = list(found["signers"])
        self.list.clear()
        for one in self._signers:
            kind = one.key.partition(" ")[0].removesuffix("@openssh.com")
            texts = [printable(text, 200) for text in (one.name, kind, one.fingerprint)]
            self.list.addTopLevelItem(lists.line(texts, tips=(_NAME, _FINGERPRINT)))
        self._paint()
        self._required = found["required"]
        self.required.setChecked(self._required)
        forms.tell(self.kept_in, self.tr("Kept in {}").format(printable(found["file"], 4096)))
        self._allow()

    def _failed(self, error: UserError) -> None:
        forms.tell(self.problem, " ".join(filter(None, (error.what, error.why, error.remedy))))
        self.required.setChecked(self._required)  # it has switched itself
        self._allow()

    def _allow(self) -> None:
        idle = self.known and not self._engines.waits(self._ticket)
        self.add.setEnabled(idle)
        self.required.setEnabled(idle)
        self.remove.setEnabled(idle and self.current is not None)
        none, on = self.known and not self._signers, self.required.isChecked()
        nothing = self._nothing()
        self.list.setAccessibleDescription(nothing)
        forms.tell(self.nothing, "" if self._signers else nothing)
        said = self.tr("You can import other bundles if you say that you trust them.")
        if on and none:
            said = self.tr("You trust nobody, so you can import nothing.")
        elif on:
            said = self.tr("The window and the commands refuse other bundles.")
        self.what_then.setText(said)
        self.what_then.setVisible(self.known)
        forms.set_role(self.what_then, "warning" if on and none else "muted")

    def _nothing(self) -> str:
        if self._engines.waits(self._ticket) and not self.known:
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
            self.tr("{} Torchkeeper then asks before it imports what this key signed. Imported "
                    "entries stay.").format(one.fingerprint + "."),
            self.tr("&Remove"),
            lambda: self._ask(lambda: signers.forget(one)),
        )  # fmt: skip


class SignDialog(WorkDialog):
    """Nothing is changed before Sign is pressed."""

    fits = True

    def __init__(
        self,
        parent: QWidget,
        engines: Engines,
        settings: QSettings,
        file: str,
        start: Start,
    ) -> None:
        super().__init__(parent, 600, "signature")
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
        self.key.changed.connect(self._say)
        self.go = forms.button(self.tr("&Sign"), self._go, primary=True)
        layout = forms.column(self.title, self.where, self.said, forms.GAP)
        forms.field(layout, self.tr("S&ign with"), self.key)
        layout.addStretch(1)
        self._look()
        self.resize(620, self._needed(self.add_choice(layout, self.go)))
        self.key.setFocus()

    @property
    def ready(self) -> bool:
        """Whether everything there is to know is known."""
        return (self.signature is not None or self.error is not None) and not self.key.busy

    def _look(self) -> None:
        about: SignatureParams = {"file": self._file, "signers": signers.signers_file()}
        heard = Listener(result=self._told, failed=partial(self._told, None))
        self._signature_of.ask(protocol.SIGNATURE, about, heard)
        self._told(None)

    def _told(self, signature: SignatureResult | None, error: UserError | None = None) -> None:
        self.signature, self.error = signature, error
        self._say()

    def _say(self) -> None:
        if (error := self.error) is not None:
            text = " ".join(filter(None, (error.what, error.why, error.remedy)))
        elif self.signature is None:
            text = self.tr("Reading who signed it…")
        elif self.signature["status"] == "none":
            text = self.tr("It has no signature yet.")
        else:
            text = printable(signed(self.signature)) + ". "
            text += self.tr("A new signature replaces that one.")
        forms.set_role(self.said, "error" if error is not None else "")
        self.said.setText(text)
        why_not = self.key.why_not
        # A signature that does not fit, or is of another version, can be replaced.
        if error is not None and error.code != "signature-wrong":
            why_not = error.what
        elif self.signature is None and error is None:
            why_not = self.tr("The bundle is still being read.")
        forms.allow(self.go, why_not)

    def _go(self) -> None:
        self.key.keep()
        self.follow(self._start(self.key.value, self.signature))

    def choose_again(self) -> None:
        self._look()
        super().choose_again()
