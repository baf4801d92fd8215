"""How a recipe is edited: as a text, looked at while it is written, and the usual one in a form."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut, QTextCursor
from PySide6.QtWidgets import QCheckBox, QFormLayout, QGridLayout, QLabel, QPlainTextEdit, QWidget

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui import theme
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.dialogs.base import UnsavedDialog, choose_files, choose_target, confirm
from torchkeeper.gui.idle import once
from torchkeeper.gui.pages.recipes import forming, known
from torchkeeper.gui.pages.recipes.tomledit import FaultList, TomlEdit
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.gui.widgets.plain import caption, tip
from torchkeeper.warm.recipes.items import MODES
from torchkeeper.warm.recipes.recipe import without_faults
from torchkeeper.warm.recipes.tables import Tables

_tr = partial(QCoreApplication.translate, "RecipeForm")

#: Milliseconds without a key press before the text is looked at.
_TYPING_MS = 250
#: Faults whose lines are marked.
_MARKED = 100
_DTYPES = ("float32", "bfloat16", "float16")
_DYNAMIC = (None, False, True)


class RecipeEditor(UnsavedDialog):
    """One recipe. The text is the truth: nothing is written into it but by who edits it."""

    #: The recipe was written; it is to be warmed: its path.
    saved = Signal(str)
    warm = Signal(str)

    def __init__(
        self, parent: QWidget | None, engines: Engines, path: str = "", text: str = "",
        folder: str = "", line: int = 1, form: bool = False, example: str = "",
    ) -> None:  # fmt: skip
        """path: the file, which is read; without one, a ``text`` to begin with, to be saved in
        ``folder`` by default. line: where to go. form: whether to open the form on it. example: the
        source that the text is an example of, until it is saved.
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
        self._look_at = Latest(engines, self)
        #: Of reading and writing the file.
        self._tickets: list[int] = []
        self._example, self._beside = example, ""
        self.looked: known.Looked | None = None
        #: The text that it is of, or that is being looked at.
        self._looked_at: str | None = None
        self.where = forms.label("", "muted")
        forms.selectable(self.where)
        self.notice = Notice()
        self.notice.again.connect(self._read)
        self.text = TomlEdit(self.tr("Text of the recipe"))
        self.state = forms.label("", "heading")
        self.faults = FaultList(self.tr("Faults"))
        self.makes = known.Makes()
        # Enter is for the text.
        self.save_as = forms.button(self.tr("Save &as…"), lambda: self._save_as(None), enter=False)
        save = self.tr("&Save")
        self.save = forms.button(save, lambda: self._save(None), primary=True, enter=False)
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
            (self.save, self.tr("Save the recipe")),
            (self.save_as, self.tr("Save the recipe to another file")),
            (self.go, self.tr("Save the recipe, then choose a place and compile into it")),
        ):
            button.setToolTip(tip(hint))
        left = forms.column((self.text, 1), self.state, self.faults, margin=(0, 0, 4, 0))
        self.faults.setFixedHeight(136)
        self.split = forms.split(forms.page(left), self.makes, sizes=[640, 392])
        self.split.setStretchFactor(0, 1)
        forms.add(self.body, self.where, self.notice, (self.split, 1))
        line = forms.row(self.go, self.form, forms.REST, self.close_button, self.save_as, self.save)
        forms.add(self.body, forms.GAP, line)

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
        self._on_disk, self._saved_text = text, text.replace("\r\n", "\n")
        self.text.setReadOnly(False)
        self.text.setPlainText(self._saved_text)
        self.text.document().setModified(False)
        self.text.go_to(self._line)
        self._title()
        self._look()

    def _title(self) -> None:
        name = known.name_of(self.path) if self.path else self.tr("New recipe")
        changed = self.changed
        self.setWindowTitle(f"• {name}" if changed else name)
        where = printable(self.path, 4096) if self.path else self.tr("Not saved yet")
        parts = [where, self.tr("changed") if self.path and changed else "", self._beside]
        self.where.setText(" · ".join(filter(None, parts)))
        can = not self.text.isReadOnly()
        self.save.setEnabled(can and (changed or not self.path))
        self.save_as.setEnabled(can)

    def _changed(self) -> None:
        self._title()
        # Colours that change are told as a change of the text, too.
        if self._written() != self._looked_at:
            self._offer_form(None)
            self._timer.start()

    def _look(self) -> None:
        path = self.path or os.path.join(self._folder or "/", "recipe.toml")
        text = self._looked_at = self._written()
        self._look_at.call(Listener(result=self._told), known.looked, text, path)

    def _told(self, looked: known.Looked) -> None:
        self.looked = looked
        marks: dict[int, str] = {}
        for fault in looked.faults[:_MARKED]:
            marks[fault.line] = "\n".join(filter(None, (marks.get(fault.line), fault.text)))
        self.text.mark(marks)
        self.faults.show_faults(looked.faults)
        many = say.count(len(looked.faults), "fault", "faults")
        self.state.setText(many if looked.faults else self.tr("No faults found"))
        forms.set_role(self.state, "error" if looked.faults else "good")
        self.go.setEnabled(not looked.faults)
        self._offer_form(looked)
        if self._form_first:
            self._form_first = False
            self.fill_in()
        self.makes.show_looked(looked)

    def _offer_form(self, looked: known.Looked | None) -> None:
        """looked: what the text comes to, as it is now; None where that is not known yet."""
        why = ""
        if looked is not None and (looked.faults or looked.data is None):
            why = self.tr("Correct the faults in the text first")
        elif looked is not None and looked.data is not None:
            try:
                forming.names(looked.data)
            except forming.Unfit as e:
                why = why_not(str(e))
        self.form.setEnabled(looked is not None and not why and not self.text.isReadOnly())
        self.form.setToolTip(tip(why or self.tr("Edit it in a form; the rest of the text stays")))

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

        title, kinds = self.tr("Save the recipe"), self.tr("Recipes (*.toml)")
        # The file dialog has asked already whether what is there may be replaced.
        choose_target(
            self, title, name, kinds, lambda path: self._write(os.path.abspath(path), then), "toml"
        )

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
            if error.code != "recipe-changed":
                self.notice.tell(error)
                return
            # Another program has written into the file: one of the two is to be lost.
            title, why = self.tr("Changed by another program"), f"{error.why} {error.remedy}"
            over = partial(self._write, path, then)

            def again() -> None:
                dialog.reject()
                self._read()

            way = self.tr("&Read it again"), again
            dialog = confirm(self, title, error.what, why, self.tr("&Overwrite"), over, way=way)

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
        what = source, os.path.dirname(self.path), text
        self._tickets.append(self._engines.background(listener, known.save_beside, *what))

    def _warm(self) -> None:
        self._save(lambda: self.warm.emit(self.path))

    def done(self, result: int) -> None:
        for ticket in self._tickets:
            # What is being written is written.
            self._engines.leave(ticket, cancel=False)
        super().done(result)

    def unsaved_names(self) -> str:
        return known.name_of(self.path) if self.path else self.tr("the new recipe")

    def save_unsaved(self, then: Callable[[], object]) -> None:
        self._save(then)


class RecipeForm(UnsavedDialog):
    """Writes a text, or changes one, which is edited from then on: it is the truth."""

    def __init__(
        self, parent: QWidget | None, then: Callable[[str, str], object], text: str = "",
        data: Tables | None = None, folder: str = "",
    ) -> None:  # fmt: skip
        """then: is called with the text, and the folder that it is to lie in, or "" where that does
        not matter. data: of the recipe that is changed, in this ``text``; folder: where it lies.
        Raises Unfit where the form cannot show it.
        """
        names = forming.names(data) if data is not None else []
        super().__init__(parent, 640, "recipe")
        self.setWindowTitle(self.tr("New recipe") if data is None else self.tr("Edit recipe"))
        self._write, self._text, self._data, self._folder = then, text, data, folder
        self._before = text
        #: Which of several callables is shown, and what of it was shown first.
        self._at = 0
        self._shown: forming.Form | None = None
        #: Where the file with the callable lies.
        self._beside = ""
        self.which = forms.Choice()
        self.which.addItems([f"{n}  {printable(name, 80)}" for n, name in enumerate(names, 1)])
        self.about = forms.label("", "muted", wrap=True)
        self.kind = forms.Choice()
        self.kind.addItem(self.tr("An example: it returns the model and its inputs"))
        self.kind.addItem(self.tr("A factory: it returns the model"))
        self.kind.addItem(self.tr("A function that is compiled itself"))
        self.reference = forms.line_edit(self.tr("models.py:decode, or models.llm:decode"))
        self.browse = forms.button(self.tr("&File…"), self._choose, enter=False)
        self.browse.setToolTip(self.tr("Choose the Python file that it is in"))
        self.inputs = QPlainTextEdit()
        self.inputs.setTabChangesFocus(True)
        self.inputs.setPlaceholderText("[batch, 64] float32\n[batch, 64] bool\n3")
        self.inputs.setFixedHeight(84)
        theme.follow(self.inputs, lambda: self.inputs.setFont(theme.monospace()))
        self.sizes = forms.line_edit("batch = 1, 8, 32; cached = 512")
        self.device = forms.Choice()
        self.device.setEditable(True)
        self.device.addItems(["", "cpu", "cuda"])
        if edit := self.device.lineEdit():
            edit.setPlaceholderText(self.tr("The best one available"))
        every = [forming.form_of(data, at) for at in range(len(names))] if data else []
        self.dtypes, dtypes = _boxes(
            [*_DTYPES, *(x for one in every for x in one.dtypes)], 3, "lbt"
        )
        self.modes, modes = _boxes([*MODES, *(x for one in every for x in one.modes)], 2, "ermc")
        self.dynamic = forms.Choice()
        usual, fixed = self.tr("As PyTorch decides"), self.tr("For these sizes only")
        self.dynamic.addItems([usual, fixed, self.tr("For any size")])
        self.gradients = forms.Choice()
        training = self.tr("The result and its gradients, as in training")
        alone = self.tr("The result alone, under no_grad, as in inference")
        self.gradients.addItem(self.tr("The result"), forming.FORWARD)
        self.gradients.addItem(training, forming.BACKWARD)
        self.gradients.addItem(alone, forming.NO_GRAD)
        self.fullgraph = QCheckBox(self.tr("As one &graph (fullgraph)"))
        self.wrong = forms.label("", "error", wrap=True)
        self.cancel = forms.button(self.tr("Cancel"), self.reject)
        self.go = forms.button(self.tr("Write reci&pe"), self._go, primary=True)
        self._lay_out(dtypes, modes)
        if data is not None:
            self.go.setText(self.tr("Change reci&pe"))
            self._fill(every[0])
        self.which.currentIndexChanged.connect(self._turn_to)
        self.go.setDefault(True)
        self.kind.currentIndexChanged.connect(self._say)
        for field in (self.reference, self.inputs, self.sizes):
            field.textChanged.connect(self._say)
        self._say()
        self._first = self.form
        self.reference.setFocus()

    @property
    def unsaved(self) -> bool:
        return self.form != self._first or self._text != self._before

    def unsaved_names(self) -> str:
        return self.tr("the form")

    def save_unsaved(self, then: Callable[[], object]) -> None:
        del then  # the text that it makes is open then, and not saved itself
        if self.go.isEnabled():
            self._go()

    def _fill(self, form: forming.Form) -> None:
        self._shown = form
        self.kind.setCurrentIndex(forming.KINDS.index(form.kind))
        self.reference.setText(form.reference)
        self.inputs.setPlainText(form.inputs)
        self.sizes.setText(form.sizes)
        self.device.setEditText(form.device)
        self.dynamic.setCurrentIndex(_DYNAMIC.index(form.dynamic))
        self.gradients.setCurrentIndex(self.gradients.findData(form.gradients))
        self.fullgraph.setChecked(form.fullgraph)
        for boxes, wanted in ((self.dtypes, form.dtypes), (self.modes, form.modes)):
            for name, box in boxes.items():
                box.setChecked(name in wanted)
        self.about.setText(self._about())

    def _turn_to(self, at: int) -> None:
        """Show another callable; what was changed of the one that was shown is kept."""
        if at == self._at or self._data is None:
            return
        try:
            self._text = forming.changed(self._text, self._data, self.form, self._at)
        except (forming.Unfit, forming.Wrong) as e:
            self.which.setCurrentIndex(self._at)
            if isinstance(e, forming.Unfit):
                forms.tell(self.wrong, why_not(str(e)))
            return
        self._data, self._at = without_faults(tomllib.loads(self._text)), at
        self._fill(forming.form_of(self._data, at))
        self._first = self.form
        self._say()

    def _about(self) -> str:
        sizes = self.tr("Sizes are names that shapes use. Every combination is compiled.")
        if self._data is None:
            more = self.tr("The form writes a text, in which you can change all of this and more.")
            return f"{more} {sizes}"
        parts = [sizes]
        if self.which.count() > 1:
            parts.append(self.tr("They and all fields below apply to all callables."))
        if own := forming.own(self._data, self._at):
            parts.append(
                self.tr("For this one alone: {}.").format(printable(say.together(own), 80))
            )
        if kept := forming.kept(self._data, self._at):
            names = printable(say.together(kept), 200)
            parts.append(self.tr("The rest of the text stays: {}.").format(names))
        return " ".join(parts)

    def _lay_out(self, dtypes: QGridLayout, modes: QGridLayout) -> None:
        self.about.setText(self._about())
        named = forms.Compound()
        named.setLayout(forms.row((self.reference, 1), self.browse))
        named.setFocusProxy(self.reference)
        lines = QFormLayout()
        lines.setHorizontalSpacing(16)
        lines.setVerticalSpacing(forms.GAP)
        lines.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        if self.which.count() > 1:
            lines.addRow(self.tr("&Callable"), self.which)
            self.which.setAccessibleName(self.tr("Callable"))
        for text, field in (
            (self.tr("&What"), self.kind),
            (self.tr("&Name"), named),
            (self.tr("&Inputs, a line each"), self.inputs),
            (self.tr("&Sizes"), self.sizes),
            (self.tr("&Device"), self.device),
            (self.tr("Dtypes"), dtypes),
            (self.tr("Modes"), modes),
            (self.tr("S&hapes"), self.dynamic),
            (self.tr("C&ompute"), self.gradients),
        ):
            lines.addRow(text, field)
            if isinstance(field, QWidget):
                field.setAccessibleName(text.replace("&", ""))
        label = lines.labelForField(named)
        if isinstance(label, QLabel):
            label.setBuddy(self.reference)
        lines.addRow("", self.fullgraph)
        hint = self.tr("“module:name” or “path/file.py:name”, looked for beside the recipe")
        self.reference.setToolTip(tip(hint))
        self.reference.setAccessibleDescription(hint)
        forms.add(self.body, self.about, 4, lines, forms.REST)
        forms.keep_room(self.wrong, 1)
        self.buttons(self.cancel, self.go, pinned=(self.wrong,))

    @property
    def form(self) -> forming.Form:
        """What the fields say."""
        return forming.Form(
            kind=forming.KINDS[self.kind.currentIndex()],
            reference=self.reference.text(),
            inputs=self.inputs.toPlainText(),
            sizes=self.sizes.text(),
            device=self.device.currentText(),
            dtypes=_checked(self.dtypes, self._shown.dtypes if self._shown else ()),
            modes=_checked(self.modes, self._shown.modes if self._shown else ()),
            dynamic=_DYNAMIC[self.dynamic.currentIndex()],
            fullgraph=self.fullgraph.isChecked(),
            gradients=str(self.gradients.currentData()),
            calls=self._shown is not None and self._shown.calls,
        )

    def _say(self, *_: object) -> None:
        several = self._shown is not None and self._shown.calls
        self.inputs.setEnabled(self.kind.currentIndex() > 0 and not several)
        why = self.tr("It is called several times: change its calls in the text")
        self.inputs.setToolTip(tip(why if several else ""))
        said = ""
        try:
            forming.data_of(self.form)
        except forming.Wrong as e:
            said = self.tr("“{}” cannot be read.").format(printable(str(e), 80))
        forms.tell(self.wrong, said)
        self.go.setEnabled(bool(self.reference.text().strip()) and not said)

    def _go(self) -> None:
        try:
            if self._data is None:
                text = forming.text_of(self.form)
            else:
                text = forming.changed(self._text, self._data, self.form, self._at)
        except forming.Unfit as e:
            forms.tell(self.wrong, why_not(str(e)))
            return
        self.accept()
        self._write(text, self._beside)

    def _choose(self) -> None:
        python = self.tr("Python (*.py)")
        folder = os.path.join(self._folder, "")
        choose_files(self, self.tr("The file with it"), folder, python, self._name_file)

    def _name_file(self, paths: Sequence[str]) -> None:
        """Name a file beside the recipe, or the recipe is to lie beside the file."""
        file, name = paths[0], self.reference.text().rpartition(":")[2]
        if self._data is None:
            self._beside, file = os.path.split(file)
        elif file.startswith(f"{self._folder.rstrip('/')}/"):
            file = os.path.relpath(file, self._folder)
        self.reference.setText(f"{file}:{name}")
        self.reference.setFocus()
        self.reference.setSelection(len(file) + 1, len(name))


def why_not(code: str) -> str:
    """Why the form cannot show a recipe, or change it, and what to do; by the code of Unfit."""
    return {
        "source": _tr("The form is for a callable; change anything else in the text."),
        "shared": _tr("This applies to all callables: change it for one of them in the text."),
    }.get(code, _tr("The form cannot change this and keep the rest: change it in the text."))


def _boxes(
    names: Sequence[str], wide: int, letters: str
) -> tuple[dict[str, QCheckBox], QGridLayout]:
    """letters: by which the first of them are gone to."""
    grid = QGridLayout()
    grid.setHorizontalSpacing(24)
    grid.setVerticalSpacing(4)
    grid.setColumnStretch(wide, 1)
    made = {name: QCheckBox(caption(name, 60)) for name in dict.fromkeys(names)}
    for box, letter in zip(made.values(), letters, strict=False):
        box.setText(forms.lettered(box.text(), letter))
    for number, box in enumerate(made.values()):
        grid.addWidget(box, number // wide, number % wide)
    return made, grid


def _checked(boxes: dict[str, QCheckBox], before: Sequence[str]) -> list[str]:
    """The names whose boxes are checked, those that were ``before`` in the order of then."""
    names = [*before, *(name for name in boxes if name not in before)]
    return [name for name in names if boxes[name].isChecked()]
