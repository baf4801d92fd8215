"""The text of a recipe, looked at while it is written: its faults, and the cells it makes."""

from __future__ import annotations

import os
from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut, QTextCursor
from PySide6.QtWidgets import QSplitter, QWidget

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs.base import UnsavedDialog, choose_target, confirm
from torchkeeper.gui.dialogs.recipeform import RecipeForm, why_not
from torchkeeper.gui.idle import once
from torchkeeper.gui.pages.recipes import known
from torchkeeper.gui.pages.recipes.forming import Unfit, names
from torchkeeper.gui.pages.recipes.known import Looked, Makes
from torchkeeper.gui.pages.recipes.tomledit import FaultList, TomlEdit
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.gui.widgets.plain import tip

#: Milliseconds without a key press before the text is looked at.
_TYPING_MS = 250
#: Faults whose lines are marked.
_MARKED = 100


class RecipeEditor(UnsavedDialog):
    """One recipe. The text is the truth: nothing is written into it but by who edits it."""

    grows = False

    #: It was written: its path.
    saved = Signal(str)
    #: It is to be warmed: its path.
    warm = Signal(str)

    def __init__(
        self, parent: QWidget | None, engines: Engines, path: str = "", text: str = "",
        folder: str = "", line: int = 1, form: bool = False, example: str = "",
    ) -> None:  # fmt: skip
        """path: the file, which is read; without one, a ``text`` to begin with, to be saved in
        ``folder`` by default. line: where to go. form: whether the form is to be opened on it.
        example: the source that the text is an example of, until it is saved.
        """
        super().__init__(parent, 720, "recipe")
        self.setWindowModality(Qt.WindowModality.NonModal)
        self._engines = engines
        #: The file that it is written into; empty before there is one.
        self.path = path
        self._folder, self._line, self._form_first = folder, line, form
        self._saved_text: str | None = None
        #: What is in the file, with the ends of lines that it has.
        self._on_disk: str | None = None
        self._ticket: int | None = None
        #: Of reading and writing the file.
        self._tickets: list[int] = []
        self._example, self._beside = example, ""
        self.looked: Looked | None = None
        #: The text that it is of, or that is being looked at.
        self._looked_at: str | None = None
        self.where = forms.label("", "muted")
        forms.selectable(self.where)
        self.notice = Notice()
        self.notice.again.connect(self._read)
        self.text = TomlEdit(self.tr("Text of the recipe"))
        self.state = forms.label("", "heading")
        self.faults = FaultList(self.tr("Faults"))
        self.makes = Makes()
        # Enter is for the text.
        self.save_as = forms.button(self.tr("Save &as…"), lambda: self._save_as(None), enter=False)
        self.save = forms.button(
            self.tr("&Save"), lambda: self._save(None), primary=True, enter=False
        )
        self.form = forms.button(self.tr("&Form…"), self.fill_in, enter=False)
        self.go = forms.button(self.tr("&Warm…"), self._warm, enter=False)
        self.close_button = forms.button(self.tr("Close"), self.reject, enter=False)
        self._lay_out()
        self._timer = once(self, self._look, _TYPING_MS)
        self.text.textChanged.connect(self._changed)
        self.faults.itemClicked.connect(self.faults.want)
        self.faults.wanted.connect(self.text.go_to)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Save), self, self.save.click)
        self.resize(min(1080, self.screen().availableSize().width() - 40), 680)
        if path:
            self.text.setReadOnly(True)
            self._read()
        else:
            self.text.setPlainText(text)
        self._title()
        self.text.setFocus()

    def _lay_out(self) -> None:
        for button, hint in (
            (self.save, self.tr("Write it, whole or not at all")),
            (self.save_as, self.tr("Write it into another file")),
            (self.go, self.tr("Save it, then choose where to, and compile it")),
        ):
            button.setToolTip(tip(hint))
        left = forms.column((self.text, 1), self.state, self.faults, margin=(0, 0, 4, 0))
        self.faults.setFixedHeight(136)
        self.split = QSplitter(Qt.Orientation.Horizontal)
        self.split.setObjectName("framed")
        self.split.setChildrenCollapsible(False)
        self.split.addWidget(forms.page(left))
        self.split.addWidget(self.makes)
        self.split.setSizes([640, 392])
        self.split.setStretchFactor(0, 1)
        forms.add(self.body, self.where, self.notice, (self.split, 1))
        line = forms.row(self.go, self.form, forms.REST, self.save_as, self.save, self.close_button)
        forms.add(self.body, forms.GAP, line)

    # The file.

    @property
    def changed(self) -> bool:
        """Whether there is something that is not in the file."""
        return not self.text.isReadOnly() and self._written() != self._saved_text

    def _written(self) -> str:
        # A plain text would have spaces for those that do not break.
        return self.text.document().toRawText().replace("\u2029", "\n")

    @property
    def unsaved(self) -> bool:
        """Whether somebody has written what is not in the file: an unchanged example is none."""
        return self.changed and self.text.document().isModified()

    def go_to_line(self, line: int) -> None:
        """Go to a line, once the text is there."""
        self._line = line
        if not self.text.isReadOnly():
            self.text.go_to(line)

    def _read(self) -> None:
        self.notice.tell(None)
        listener = Listener(result=self._show, failed=self._unread)
        self._tickets.append(self._engines.background(listener, known.text, self.path))

    def _unread(self, error: UserError) -> None:
        self.notice.tell(error, again=True)
        for button in (self.save, self.save_as, self.form, self.go):
            button.setEnabled(False)

    def _show(self, text: str) -> None:
        self._on_disk = text
        self._saved_text = self._on_disk.replace("\r\n", "\n")
        self.text.setReadOnly(False)
        self.text.setPlainText(self._saved_text)
        self.text.document().setModified(False)
        self.text.go_to(self._line)
        self._title()
        self._look()

    def _title(self) -> None:
        name = known.name_of(self.path) if self.path else self.tr("New recipe")
        mark = "• " if self.changed else ""
        self.setWindowTitle(f"{mark}{name}")
        where = printable(self.path, 4096) if self.path else self.tr("Not saved yet")
        parts = [where, self.tr("changed") if self.path and mark else "", self._beside]
        self.where.setText(" · ".join(filter(None, parts)))
        can = not self.text.isReadOnly()
        self.save.setEnabled(can and (self.changed or not self.path))
        self.save_as.setEnabled(can)

    # Looking.

    def _changed(self) -> None:
        self._title()
        # Colours that change are told as a change of the text, too.
        if self._written() != self._looked_at:
            self._offer_form(None)
            self._timer.start()

    def _look(self) -> None:
        self._engines.forget(self._ticket)
        path = self.path or os.path.join(self._folder or "/", "recipe.toml")
        text = self._looked_at = self._written()
        listener = Listener(result=self._told)
        self._ticket = self._engines.background(listener, known.looked, text, path)

    def _told(self, looked: Looked) -> None:
        self.looked = looked
        marks: dict[int, str] = {}
        for fault in looked.faults[:_MARKED]:
            marks[fault.line] = "\n".join(filter(None, (marks.get(fault.line), fault.text)))
        self.text.mark(marks)
        self.faults.show_faults(looked.faults)
        many = say.count(len(looked.faults), "fault", "faults")
        self.state.setText(many if looked.faults else self.tr("Nothing is wrong with it"))
        forms.set_role(self.state, "error" if looked.faults else "good")
        self.go.setEnabled(not looked.faults)
        self._offer_form(looked)
        if self._form_first:
            self._form_first = False
            self.fill_in()
        self.makes.show_looked(looked)

    # The form.

    def _offer_form(self, looked: Looked | None) -> None:
        """looked: what the text comes to, as it is now; None where that is not known yet."""
        why = ""
        if looked is not None and (looked.faults or looked.data is None):
            why = self.tr("Correct what is wrong with the text first")
        elif looked is not None and looked.data is not None:
            try:
                names(looked.data)
            except Unfit as e:
                why = why_not(str(e))
        self.form.setEnabled(looked is not None and not why and not self.text.isReadOnly())
        self.form.setToolTip(tip(why or self.tr("Change it in a form; all else in the text stays")))

    def fill_in(self) -> None:
        """Open the form on the text, if it can show it."""
        if self.form.isEnabled() and self.looked is not None:
            folder = os.path.dirname(self.path) or self._folder
            RecipeForm(self, self._take, self._written(), self.looked.data, folder).open()

    def _take(self, text: str, _: str) -> None:
        """Have another text, which can be undone as what is typed."""
        if text != self._written():
            cursor = QTextCursor(self.text.document())
            cursor.select(QTextCursor.SelectionType.Document)
            cursor.insertText(text)
        self.text.setFocus()

    # Saving.

    def _save(self, then: Callable[[], object] | None) -> None:
        if not self.path:
            self._save_as(then)
        elif self.changed:
            self._write(self.path, then, self._on_disk)
        elif then is not None:
            then()

    def _save_as(self, then: Callable[[], object] | None) -> None:
        suggested = self.looked.file_name if self.looked is not None else "recipe.toml"
        name = self.path or os.path.join(self._folder, suggested)

        # The file dialog has asked already whether what is there may be replaced.
        def write(path: str) -> None:
            self._write(os.path.abspath(path), then)

        title, kinds = self.tr("Save the recipe"), self.tr("Recipes (*.toml)")
        choose_target(self, title, name, kinds, write, "toml")

    def _write(
        self, path: str, then: Callable[[], object] | None, before: str | None = None
    ) -> None:
        """before: what is to be in the file now, where that is not to be lost."""
        text = self._written()
        of_windows = (self._on_disk or "").count("\r\n") * 2 > (self._on_disk or "").count("\n")
        whole = text.replace("\n", "\r\n") if of_windows else text

        def written(_: None) -> None:
            self.path, self._saved_text, self._on_disk = path, text, whole
            self.text.document().setModified(self._written() != text)
            self.notice.tell(None)
            self._title()
            self._look()
            self.saved.emit(path)
            if self._example:
                self._save_beside(text, then)
            elif then is not None:
                then()

        def failed(error: UserError) -> None:
            if error.code == "recipe-changed":
                self._overwrite(error, lambda: self._write(path, then))
            else:
                self.notice.tell(error)

        listener = Listener(result=written, failed=failed)
        self._tickets.append(self._engines.background(listener, known.save, path, whole, before))

    def _save_beside(self, text: str, then: Callable[[], object] | None) -> None:
        """Write what an example names, which is nothing to begin with otherwise."""
        source, self._example = self._example, ""

        def written(files: list[str]) -> None:
            if files:
                names = say.together([printable(os.path.basename(one)) for one in files])
                self._beside = self.tr("{} written beside it").format(names)
            self._title()
            if then is not None:
                then()

        listener = Listener(result=written, failed=self.notice.tell)
        folder = os.path.dirname(self.path)
        saving = self._engines.background(listener, known.save_beside, source, folder, text)
        self._tickets.append(saving)

    def _overwrite(self, error: UserError, go: Callable[[], object]) -> None:
        """Another program has written into the file: ask which of the two is to be lost."""
        title, why = self.tr("Changed meanwhile"), f"{error.why} {error.remedy}"
        dialog = confirm(self, title, error.what, why, self.tr("&Overwrite"), go)
        again = forms.button(self.tr("&Read it again"), dialog.reject)
        again.clicked.connect(self._read)
        dialog.add_way(again)

    def _warm(self) -> None:
        self._save(lambda: self.warm.emit(self.path))

    # The end.

    def done(self, result: int) -> None:
        self._engines.forget(self._ticket)
        for ticket in self._tickets:
            # What is being written is written.
            self._engines.leave(ticket, cancel=False)
        super().done(result)

    def unsaved_names(self) -> str:
        return known.name_of(self.path) if self.path else self.tr("the new recipe")

    def save_unsaved(self, then: Callable[[], object]) -> None:
        self._save(then)
