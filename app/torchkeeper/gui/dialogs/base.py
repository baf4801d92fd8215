"""What dialogs share: frame, choice of a place, asking engines, and asking before what is final."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QDialog, QFileDialog, QLineEdit, QToolButton, QWidget

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import taborder, theme
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.idle import once
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.pages import glossary as asking
from torchkeeper.gui.places.model import Place, machine_of
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.notice import host_of
from torchkeeper.gui.widgets.plain import window_title

if TYPE_CHECKING:
    from torchkeeper.stores.shapes import Space

_tr = partial(QCoreApplication.translate, "Dialog")

#: What an answer leads to; and what takes the path that was chosen.
Then = Callable[[], object]
Take = Callable[[str], object]
#: Jobs that are named one by one.
_NAMED = 5
#: Milliseconds without a key press before what was typed is looked at.
_TYPING_MS = 250


class Dialog(QDialog):
    """A dialog that belongs to the window, is not waited for, and is gone when it closes. It keeps
    the size that it opens with, and its buttons stay where they are, whatever arrives.
    """

    def __init__(self, parent: QWidget | None, width: int, *terms: str) -> None:
        """terms: what its What's This explains, by their names."""
        super().__init__(parent)
        asking.explain(self, *terms)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setMinimumWidth(width)
        self.body = forms.column(margin=24)
        self.setLayout(self.body)
        self._scrolled: forms.Scrolled | None = None
        # The window's own does not reach a dialog.
        QShortcut(QKeySequence("Shift+F1"), self, partial(asking.explain_focused, self))

    def setWindowTitle(self, text: str, /) -> None:
        super().setWindowTitle(window_title(text))

    @property
    def takes_nothing(self) -> str | None:
        """Why nothing can be dropped on it; None where it can, as on the window behind it."""
        return self.tr("Close this dialog first, then drop on the window")

    def focusNextPrevChild(self, forward: bool, /) -> bool:
        # What is made late comes last in Qt's own order.
        at = self.focusWidget()
        return taborder.step(self, at, forward=forward) or super().focusNextPrevChild(forward)

    @property
    def unsaved(self) -> bool:
        """Whether something in it is lost when it is closed; it asks then before it does."""
        return False

    def leave(self, then: Then) -> None:
        """Close it, and call ``then`` once it is closed: where it asks before, perhaps never."""
        self.reject()
        then()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if (inside := self._scrolled) and not self.testAttribute(Qt.WidgetAttribute.WA_Resized):
            # Be as high as all that it says: Qt takes wrapped texts for higher than they are.
            self._whole.activate()
            more = inside.needed(inside.width()) - inside.height()
            self.resize_within(self.width(), self.height() + more)
        at, stops = self.focusWidget(), taborder.stops(self)
        if (at is None or not at.isEnabled()) and (first := next(stops, None)) is not None:
            first.setFocus()
        above = self.parentWidget()
        if not self.acceptDrops() and above is not None and (host := host_of(above.window())):
            host.dialog_shown.emit(self)

    def resize_within(self, width: int, height: int) -> None:
        """Be as large as this, as far as the screen is."""
        room = self.screen().availableSize()
        self.resize(min(width, room.width() - 40), min(height, room.height() - 80))

    def grow_to(self, height: int) -> None:
        """Be at least as high as this once it opens, as far as the screen is."""
        height = min(height, self.screen().availableSize().height() - 80)
        if height > self.height() and not self.isVisible():
            self.resize(self.width(), height)

    def buttons(
        self, *ways: QWidget, before: Sequence[QWidget] = (), pinned: Sequence[QWidget] = ()
    ) -> None:
        """The row of buttons at the bottom: first the way out, last what goes on. before: at its
        left, what ends nothing. The body is scrolled where there is no room for all of it; what is
        ``pinned`` is always in sight.
        """
        edges = self.body.contentsMargins()
        self.body.setContentsMargins(0, 0, 0, 0)
        self._scrolled = forms.Scrolled(forms.Yielding(self.body), 0)
        self._button_row = forms.row(*before, forms.REST, *ways)
        self._whole = forms.column((self._scrolled, 1), *pinned, forms.GAP, self._button_row)
        self._whole.setContentsMargins(edges)
        self.setLayout(self._whole)

    def add_way(self, button: QWidget) -> None:
        """A button more, behind the way out."""
        self._button_row.insertWidget(2, button)


class ConfirmDialog(Dialog):
    """Asks before what cannot be undone. typed: a number that is to be typed first; 0 for none."""

    def __init__(
        self, parent: QWidget, title: str, question: str, detail: str, verb: str, typed: int = 0
    ) -> None:
        super().__init__(parent, 480)
        self.setWindowTitle(title)
        self.question = forms.label(question, "heading", wrap=True)
        self.detail = forms.label(detail, wrap=True)
        texts = forms.column(self.question, self.detail)
        self.typed = QLineEdit()
        if typed:
            texts.addSpacing(4)
            forms.field(texts, self.tr("&Type {} to go on").format(f"{typed:,}"), self.typed)
        texts.addStretch(1)
        line = forms.row((forms.picture("warning", 32, "warning"), forms.TOP), (texts, 1), gap=16)
        self.body.addLayout(line)
        self.cancel = forms.button(self.tr("Cancel"), self.reject)
        self.cancel.setAccessibleDescription(self.tr("Nothing is changed"))
        self.typed.setAccessibleDescription(detail)
        self.go = forms.button(verb, self.accept, danger=True)
        # Enter presses what has the focus, and Cancel has it first.
        self.go.setAutoDefault(True)
        self.cancel.setAutoDefault(True)
        self.buttons(self.cancel, self.go)
        self.cancel.setDefault(True)
        self.cancel.setFocus()
        if typed:
            self.go.setEnabled(False)
            right = str(typed)
            self.typed.textChanged.connect(lambda text: self.go.setEnabled(_digits(text) == right))
            self.typed.setFocus()


def _digits(text: str) -> str:
    """A number as somebody typed it, without what may stand between thousands."""
    return "".join(text.split()).translate({ord(mark): None for mark in ",.'’_"})


def confirm(
    parent: QWidget, title: str, question: str, detail: str, verb: str, then: Then, typed: int = 0,
    way: tuple[str, Then] | None = None,
) -> ConfirmDialog:  # fmt: skip
    """Ask, and call ``then`` if the answer is yes. way: another, which closes it itself."""
    dialog = ConfirmDialog(parent, title, question, detail, verb, typed)
    dialog.accepted.connect(then)
    if way is not None:
        dialog.add_way(forms.button(*way))
    dialog.open()
    return dialog


class PlaceChoice(forms.Compound):
    """One of the places, or a folder chosen or typed now, which need not exist yet. All are on the
    machine of the ``current`` one, unless they may lie ``apart``.
    """

    changed = Signal()
    apart = False

    def __init__(self, places: Sequence[Place], current: str | None, reads: bool = False) -> None:
        """reads: whether it is only read, so that read-only places are offered, too."""
        super().__init__()
        self.combo = forms.Choice(30)
        self.combo.setEditable(True)
        self.combo.setInsertPolicy(self.combo.InsertPolicy.NoInsert)
        self._read_only = {place.path for place in places if place.read_only and not reads}
        others = {place.path for place in places if place.server or not (reads or place.takes)}
        for path in (place.path for place in places if place.path not in others):
            self.combo.addItem(printable(path), path)
        if current is not None and current not in others:
            self.choose(current)
        self.combo.editTextChanged.connect(lambda *_: self.changed.emit())
        self.other = forms.button(self.tr("Ot&her folder…"), self._other, enter=False)
        self._machine = machine_of(current or "")
        self.other.setVisible(not self._machine and not reads)
        self.line = forms.row((self.combo, 1), self.other)
        self.setLayout(self.line)
        self.setFocusProxy(self.combo)

    @property
    def path(self) -> str | None:
        """The chosen or typed place as an absolute path; None while there is none that may be."""
        path = self._path()
        return None if path in self._read_only else path

    @property
    def wrong(self) -> str:
        """Why there is no path."""
        path = self._path()
        if path in self._read_only:
            return self.tr("{} is read-only: nothing is changed in it.").format(printable(path))
        return self.tr("Give the whole path of a folder, or choose one.")

    def _path(self) -> str | None:
        text = self.combo.currentText()
        row = self.combo.findText(text)
        if row >= 0:
            return str(self.combo.itemData(row))
        if machine := self._machine or (self.apart and machine_of(text.strip())):
            typed = text.strip().removeprefix(machine)
            return f"{machine}{typed}" if typed.startswith("/") else None
        typed = os.path.expanduser(text.strip())
        return typed.rstrip("/") or "/" if os.path.isabs(typed) else None

    def choose(self, path: str) -> None:
        """Choose a path, adding it where it is not among the places."""
        self.combo.choose(path)

    def setAccessibleName(self, name: str) -> None:
        super().setAccessibleName(name)
        self.combo.setAccessibleName(name)
        if line := self.combo.lineEdit():
            line.setAccessibleName(name)

    def _other(self) -> None:
        above = os.path.dirname(self.path or "")
        choose_folder(self, self.tr("Choose a folder"), above, self.choose)


def file_dialog(
    parent: QWidget | None, title: str, first: str, mode: QFileDialog.FileMode, kinds: str = ""
) -> QFileDialog:
    """One to be opened; first: the folder to look in, with a slash at its end, or a file in it."""
    dialog = QFileDialog(parent, title, "", kinds)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setFileMode(mode)
    for button, icon in (("back", "back"), ("forward", "forward"), ("toParent", "up")):
        # Qt's own are black, on whatever ground; the system's dialog has none of these.
        if (made := dialog.findChild(QToolButton, f"{button}Button")) is not None:
            made.setIcon(theme.icon(icon))
    folder, name = os.path.split(first)
    # Without a folder Qt would list drives, where its own choice is the current folder.
    if folder:
        dialog.setDirectory(folder)
    if name:
        dialog.selectFile(name)
    return dialog


def choose_folder(parent: QWidget, title: str, above: str, then: Take) -> None:
    """Ask for a folder; ``above``: where to look first, where that is known."""
    dialog = file_dialog(parent, title, os.path.join(above, ""), QFileDialog.FileMode.Directory)
    dialog.setOption(QFileDialog.Option.ShowDirsOnly)
    dialog.fileSelected.connect(then)
    dialog.open()


def choose_file(parent: QWidget, title: str, first: str, kinds: str, then: Take) -> None:
    """Ask for a file to read."""
    dialog = file_dialog(parent, title, first, QFileDialog.FileMode.ExistingFile, kinds)
    dialog.fileSelected.connect(then)
    dialog.open()


def choose_files(
    parent: QWidget, title: str, first: str, kinds: str, then: Callable[[list[str]], object]
) -> None:
    """Ask for files to read."""
    dialog = file_dialog(parent, title, first, QFileDialog.FileMode.ExistingFiles, kinds)
    dialog.filesSelected.connect(then)
    dialog.open()


def choose_target(
    parent: QWidget, title: str, name: str, kinds: str, then: Take, suffix: str = "torchcache"
) -> None:
    """Ask for a file to write. Whoever asks for a bundle sees to what is there already."""
    dialog = file_dialog(parent, title, name, QFileDialog.FileMode.AnyFile, kinds)
    dialog.setOption(QFileDialog.Option.DontConfirmOverwrite, suffix == "torchcache")
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix(suffix)
    dialog.fileSelected.connect(then)
    dialog.open()


def ask(parent: QWidget, names: str, without: Then, save: Then) -> ConfirmDialog:
    """Ask what becomes of what is not saved. names: a part of the question."""
    title, question = _tr("Unsaved changes"), _tr("Close without saving {}?").format(names)
    lost = _tr("You lose the changes since you last saved it.")
    way = _tr("&Save"), save
    return confirm(parent, title, question, lost, _tr("&Close without saving"), without, way=way)


class UnsavedDialog(Dialog):
    """Closes at once where nothing is unsaved, and else asks: save, close without, or stay."""

    def __init__(self, parent: QWidget | None, width: int, *terms: str) -> None:
        super().__init__(parent, width, *terms)
        self._sure = False
        self._question: ConfirmDialog | None = None
        #: What was asked for that comes after its end.
        self._then: Then | None = None

    def unsaved_names(self) -> str:
        """What is not saved, as a part of the question."""
        raise NotImplementedError

    def save_unsaved(self, then: Then) -> None:
        """Save it; ``then``: what follows where all could be saved."""
        raise NotImplementedError

    def reject(self) -> None:
        # Escape and the button of the frame come here, too.
        if self.unsaved and not self._sure:
            self._ask()
            return
        super().reject()

    def leave(self, then: Then) -> None:
        self._then = then
        self.reject()

    def done(self, result: int) -> None:
        super().done(result)
        then, self._then = self._then, None
        if then is not None:
            then()

    def _ask(self) -> None:
        if self._question is not None:
            self._question.activateWindow()
            return

        def save_first() -> None:
            then = self._then
            dialog.reject()
            self.save_unsaved(lambda: self._close_surely(then))

        self._question = dialog = ask(self, self.unsaved_names(), self._close_surely, save_first)

        def answered(_: int) -> None:
            # It stays, or is closed by now; later it is closed for its own sake.
            self._question = self._then = None

        dialog.finished.connect(answered)

    def _close_surely(self, then: Then | None = None) -> None:
        """Close without asking; ``then``: what comes after it, where that is not known."""
        self._then = then or self._then
        self._sure = True
        self.reject()


class LeaveDialog(ConfirmDialog):
    """Go on in the background, stop, or stay. Cancel is the default: nothing happens then."""

    def __init__(self, parent: QWidget, jobs: Sequence[Job], background: Then, stop: Then) -> None:
        """jobs: what has not ended. background, stop: what is called for each answer."""
        tr = partial(QCoreApplication.translate, "LeaveDialog")
        number = say.count(len(jobs), "job is", "jobs are")
        names = [job.title for job in jobs[:_NAMED]]
        if len(jobs) > _NAMED:
            names.append(tr("and {} more").format(len(jobs) - _NAMED))
        more = tr("In the background, the jobs go on while the window is closed; start Torchkeeper "
                  "again to open it. If you stop them, finished work stays, and nothing is left "
                  "half-written.")  # fmt: skip
        question = tr("{} still running or waiting").format(number)
        detail = "\n".join([*names, "", more])
        super().__init__(parent, tr("Quit"), question, detail, tr("&Stop and quit"))
        self.background = forms.button(tr("Go on in the &background"), self.reject)
        self.background.clicked.connect(background)
        self.add_way(self.background)
        self.accepted.connect(stop)


class Typed(Latest):
    """Asks about what somebody types: once they pause."""

    def __init__(self, engines: Engines, owner: QObject) -> None:
        super().__init__(engines, owner)
        self._next: Callable[[], None] | None = None
        self._timer = once(self, self._on, _TYPING_MS)

    @property
    def busy(self) -> bool:
        return super().busy or self._next is not None

    def ask(
        self, op: str, params: Mapping[str, object], heard: Listener, soon: bool = True, **more: Any
    ) -> None:
        """Ask once the typing pauses; at once where it is not ``soon``."""
        self.forget()
        self._next = partial(super().ask, op, params, heard, **more)
        if soon:
            self._timer.start()
        else:
            self._on()

    def _on(self) -> None:
        if (ask := self._next) is not None:
            ask()

    def forget(self) -> None:
        self._timer.stop()
        self._next = None
        super().forget()


def room_text(needed: int, space: Space) -> tuple[str, str]:
    """Whether there is room where something is to be written, and the role of the label."""
    why, free = space["why"], space["free"]
    if why:
        return _tr("It cannot be written: {}.").format(why), "error"
    if free is None:
        return "", ""
    if needed > free:
        # Not refused: a file system that compresses may take it.
        text = _tr("The room may be too small: {} are needed, {} are free.")
        return text.format(say.size(needed), say.size(free)), "warning"
    return _tr("{} are free there.").format(say.size(free)), ""
