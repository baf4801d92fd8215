"""A form for the most frequent recipe: a model or function, its inputs, and the ways to compile."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QCheckBox, QFormLayout, QGridLayout, QLabel, QPlainTextEdit, QWidget

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.dialogs.base import UnsavedDialog, choose_files
from torchkeeper.gui.pages.recipes import forming
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.forms import Choice
from torchkeeper.gui.widgets.plain import caption, tip
from torchkeeper.warm.recipes.items import MODES
from torchkeeper.warm.recipes.recipe import without_faults

if TYPE_CHECKING:
    from torchkeeper.warm.recipes.tables import Tables

_DTYPES = ("float32", "bfloat16", "float16")
_DYNAMIC = (None, False, True)


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
        self.which = Choice()
        self.which.addItems([f"{n}  {printable(name, 80)}" for n, name in enumerate(names, 1)])
        self.about = forms.label("", "muted", wrap=True)
        self.kind = Choice()
        for title in (
            self.tr("An example: it returns the model and its inputs"),
            self.tr("A factory: it returns the model"),
            self.tr("A function that is compiled itself"),
        ):
            self.kind.addItem(title)
        self.reference = forms.line_edit(self.tr("models.py:decode, or models.llm:decode"))
        self.browse = forms.button(self.tr("&File…"), self._choose, enter=False)
        self.browse.setToolTip(self.tr("Choose the Python file that it is in"))
        self.inputs = QPlainTextEdit()
        self.inputs.setTabChangesFocus(True)
        self.inputs.setPlaceholderText("[batch, 64] float32\n[batch, 64] bool\n3")
        self.inputs.setFixedHeight(84)
        theme.follow(self.inputs, lambda: self.inputs.setFont(theme.monospace()))
        self.sizes = forms.line_edit("batch = 1, 8, 32; cached = 512")
        self.device = Choice()
        self.device.setEditable(True)
        self.device.addItems(["", "cpu", "cuda"])
        if edit := self.device.lineEdit():
            edit.setPlaceholderText(self.tr("The best there is"))
        every = [forming.form_of(data, at) for at in range(len(names))] if data else []
        self.dtypes, dtypes = _boxes([*_DTYPES, *(x for one in every for x in one.dtypes)], 3)
        self.modes, modes = _boxes([*MODES, *(x for one in every for x in one.modes)], 2)
        self.dynamic = Choice()
        usual, fixed = self.tr("As PyTorch decides"), self.tr("For these sizes only")
        self.dynamic.addItems([usual, fixed, self.tr("For any size")])
        self.gradients = Choice()
        for title, what in (
            (self.tr("The result"), forming.FORWARD),
            (self.tr("The result and its gradients, as in training"), forming.BACKWARD),
            (self.tr("The result alone, under no_grad, as in inference"), forming.NO_GRAD),
        ):
            self.gradients.addItem(title, what)
        self.fullgraph = QCheckBox(self.tr("As one &graph (fullgraph)"))
        self.wrong = forms.label("", "error", wrap=True)
        self.cancel = forms.button(self.tr("Cancel"), self.reject)
        self.go = forms.button(self.tr("Write recipe"), self._go, primary=True)
        self._lay_out(dtypes, modes)
        if data is not None:
            self.go.setText(self.tr("Change recipe"))
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
        for boxes, names in ((self.dtypes, form.dtypes), (self.modes, form.modes)):
            for name, box in boxes.items():
                box.setChecked(name in names)
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
        sizes = self.tr("Sizes are names that shapes use; every combination is compiled.")
        if self._data is None:
            more = self.tr(
                "It becomes a text in which all of this, and more, can be changed afterwards."
            )
            return f"{more} {sizes}"
        parts = [sizes]
        if self.which.count() > 1:
            parts.append(self.tr("They are of all callables, and so is all below them."))
        if own := forming.own(self._data, self._at):
            parts.append(self.tr("Of this one alone: {}.").format(printable(say.together(own), 80)))
        if kept := forming.kept(self._data, self._at):
            names = printable(say.together(kept), 200)
            parts.append(self.tr("What else the text says stays in it: {}.").format(names))
        return " ".join(parts)

    def _lay_out(self, dtypes: QGridLayout, modes: QGridLayout) -> None:
        self.about.setText(self._about())
        self.body.addWidget(self.about)
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
        forms.add(self.body, 4, lines, self.wrong, forms.REST)
        self.buttons(self.cancel, self.go)

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
            said = self.tr("Nobody can read “{}”.").format(printable(str(e), 80))
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
        if not paths:
            return
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
        "shared": _tr("All callables have what this one is not to have: change that in the text."),
    }.get(code, _tr("The form cannot change this and keep the rest: change it in the text."))


def _tr(text: str) -> str:
    return QCoreApplication.translate("RecipeForm", text)


def _boxes(names: Sequence[str], wide: int) -> tuple[dict[str, QCheckBox], QGridLayout]:
    grid = QGridLayout()
    grid.setHorizontalSpacing(24)
    grid.setVerticalSpacing(4)
    grid.setColumnStretch(wide, 1)
    made = {name: QCheckBox(caption(name, 60)) for name in dict.fromkeys(names)}
    for number, box in enumerate(made.values()):
        grid.addWidget(box, number // wide, number % wide)
    return made, grid


def _checked(boxes: dict[str, QCheckBox], before: Sequence[str]) -> list[str]:
    """The names whose boxes are checked, those that were ``before`` in the order of then."""
    names = [*before, *(name for name in boxes if name not in before)]
    return [name for name in names if boxes[name].isChecked()]
