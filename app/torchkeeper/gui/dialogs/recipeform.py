"""A form for the most frequent recipe: a model or function, its inputs, and the ways to compile."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QGridLayout,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)

from torchkeeper.gui import forms, theme
from torchkeeper.gui.dialogs.base import Dialog, choose_files
from torchkeeper.gui.recipes import forming, reforming
from torchkeeper.gui.recipes.forming import BACKWARD, FORWARD, KINDS, NO_GRAD, Form, Wrong
from torchkeeper.gui.recipes.reforming import Unfit
from torchkeeper.link.words import printable

_DTYPES = ("float32", "bfloat16", "float16")
_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


class RecipeForm(Dialog):
    """Writes a text, or changes one, which is edited from then on: it is the truth."""

    def __init__(
        self, parent: QWidget | None, then: Callable[[str, str], object], text: str = "",
        data: dict[str, Any] | None = None, folder: str = "",
    ) -> None:  # fmt: skip
        """then: is called with the text, and the folder that it is to lie in, or "" where that does
        not matter. data: of the recipe that is changed, in this ``text``; folder: where it lies.

        Raises Unfit where the form cannot show it.
        """
        shown = reforming.form_of(data) if data is not None else None
        super().__init__(parent, "", 640)
        self.setWindowTitle(self.tr("New recipe") if shown is None else self.tr("Edit recipe"))
        self._then, self._text, self._data, self._folder = then, text, data, folder
        #: Where the file with the callable lies.
        self._beside = ""
        self.kind = QComboBox()
        for title in (
            self.tr("An example: it returns the model and its inputs"),
            self.tr("A factory: it returns the model"),
            self.tr("A function that is compiled itself"),
        ):
            self.kind.addItem(title)
        self.reference = QLineEdit()
        self.reference.setPlaceholderText(self.tr("models.py:decode, or models.llm:decode"))
        self.browse = forms.button(self.tr("&File…"))
        self.browse.setAutoDefault(False)
        self.browse.setToolTip(self.tr("Choose the Python file that it is in"))
        self.browse.clicked.connect(self._choose)
        self.inputs = QPlainTextEdit()
        self.inputs.setTabChangesFocus(True)
        self.inputs.setPlaceholderText("[batch, 64] float32\n[batch, 64] bool\n3")
        self.inputs.setFixedHeight(84)
        theme.follow(self.inputs, lambda: self.inputs.setFont(theme.monospace()))
        self.sizes = QLineEdit()
        self.sizes.setPlaceholderText("batch = 1, 8, 32; cached = 512")
        self.device = QComboBox()
        self.device.setEditable(True)
        self.device.addItems(["", "cpu", "cuda"])
        if edit := self.device.lineEdit():
            edit.setPlaceholderText(self.tr("the best there is"))
        self.dtypes, dtypes = _boxes(_DTYPES, shown.dtypes if shown else (), 3)
        self.modes, modes = _boxes(_MODES, shown.modes if shown else (), 2)
        self.dynamic = QComboBox()
        for title, value in (
            (self.tr("As PyTorch decides"), None),
            (self.tr("For these sizes only"), False),
            (self.tr("For any size"), True),
        ):
            self.dynamic.addItem(title, value)
        self.gradients = QComboBox()
        for title, what in (
            (self.tr("The result"), FORWARD),
            (self.tr("The result and its gradients, as in training"), BACKWARD),
            (self.tr("The result alone, under no_grad, as in inference"), NO_GRAD),
        ):
            self.gradients.addItem(title, what)
        self.fullgraph = QCheckBox(self.tr("As one &graph (fullgraph)"))
        self.wrong = forms.label("", "error", wrap=True)
        self.cancel = forms.button(self.tr("Cancel"))
        self.go = forms.button(self.tr("Write recipe"), primary=True)
        if shown is not None:
            self.go.setText(self.tr("Change recipe"))
            self._fill(shown)
        self._lay_out(dtypes, modes)
        self.cancel.clicked.connect(self.reject)
        self.go.clicked.connect(self._go)
        self.go.setDefault(True)
        self.kind.currentIndexChanged.connect(self._say)
        self.reference.textChanged.connect(self._say)
        self.inputs.textChanged.connect(self._say)
        self.sizes.textChanged.connect(self._say)
        self._say()
        self.reference.setFocus()

    def _fill(self, form: Form) -> None:
        """Show what a recipe says."""
        self.kind.setCurrentIndex(KINDS.index(form.kind))
        self.reference.setText(form.reference)
        self.inputs.setPlainText(form.inputs)
        self.sizes.setText(form.sizes)
        self.device.setEditText(form.device)
        self.dynamic.setCurrentIndex(self.dynamic.findData(form.dynamic))
        self.gradients.setCurrentIndex(self.gradients.findData(form.gradients))
        self.fullgraph.setChecked(form.fullgraph)

    def _about(self) -> str:
        sizes = self.tr("Sizes are names that shapes use; every combination is compiled.")
        if self._data is None:
            more = self.tr(
                "It becomes a text in which all of this, and more, can be changed afterwards."
            )
            return f"{more} {sizes}"
        if not (kept := reforming.kept(self._data)):
            return sizes
        names = printable(", ".join(kept), 200)
        return f"{sizes} " + self.tr("What else the text says stays in it: {}.").format(names)

    def _lay_out(self, dtypes: QGridLayout, modes: QGridLayout) -> None:
        self.body.addWidget(forms.label(self._about(), "muted", wrap=True))
        named, line = QWidget(), forms.row()
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(self.reference, 1)
        line.addWidget(self.browse)
        named.setLayout(line)
        lines = QFormLayout()
        lines.setHorizontalSpacing(16)
        lines.setVerticalSpacing(forms.GAP)
        lines.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for text, field in (
            (self.tr("&What"), self.kind),
            (self.tr("&Name"), named),
            (self.tr("&Inputs, a line each"), self.inputs),
            (self.tr("&Sizes"), self.sizes),
            (self.tr("&Device"), self.device),
        ):
            lines.addRow(text, field)
            field.setAccessibleName(text.replace("&", ""))
            if field is named:
                field.setFocusProxy(self.reference)
                self.reference.setAccessibleName(text.replace("&", ""))
        lines.addRow(self.tr("Dtypes"), dtypes)
        lines.addRow(self.tr("Modes"), modes)
        lines.addRow(self.tr("S&hapes"), self.dynamic)
        self.dynamic.setAccessibleName(self.tr("Shapes"))
        lines.addRow(self.tr("C&ompute"), self.gradients)
        self.gradients.setAccessibleName(self.tr("Compute"))
        lines.addRow("", self.fullgraph)
        hint = self.tr("“module:name” or “path/file.py:name”, looked for beside the recipe")
        self.reference.setToolTip(hint)
        self.reference.setAccessibleDescription(hint)
        self.body.addSpacing(4)
        self.body.addLayout(lines)
        self.body.addWidget(self.wrong)
        self.body.addStretch(1)
        self.buttons(self.cancel, self.go)

    @property
    def form(self) -> Form:
        """What the fields say."""
        dynamic = self.dynamic.currentData()
        return Form(
            kind=KINDS[self.kind.currentIndex()],
            reference=self.reference.text(),
            inputs=self.inputs.toPlainText(),
            sizes=self.sizes.text(),
            device=self.device.currentText(),
            dtypes=_checked(self.dtypes),
            modes=_checked(self.modes),
            dynamic=dynamic if isinstance(dynamic, bool) else None,
            fullgraph=self.fullgraph.isChecked(),
            gradients=str(self.gradients.currentData()),
        )

    def _say(self, *_: object) -> None:
        several = self._data is not None and reforming.has_calls(self._data)
        self.inputs.setEnabled(self.kind.currentIndex() > 0 and not several)
        self.inputs.setToolTip(
            self.tr("It is called several times: change its calls in the text") if several else ""
        )
        said = ""
        try:
            forming.data_of(self.form)
        except Wrong as e:
            said = self.tr("Nobody can read “{}”.").format(printable(str(e), 80))
        self._complain(said)
        self.go.setEnabled(bool(self.reference.text().strip()) and not said)

    def _complain(self, said: str) -> None:
        self.wrong.setText(said)
        self.wrong.setVisible(bool(said))

    def _go(self) -> None:
        if self._data is None:
            text = forming.text_of(self.form)
        else:
            try:
                text = reforming.changed(self._text, self._data, self.form)
            except Unfit as e:
                self._complain(why_not(str(e)))
                return
        self.accept()
        self._then(text, self._beside)

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
        "several": _tr("The form is for one callable, and there are several: change the text."),
    }.get(code, _tr("The form cannot change this and keep the rest: change it in the text."))


def _tr(text: str) -> str:
    return QCoreApplication.translate("RecipeForm", text)


def _boxes(
    names: Sequence[str], checked: Sequence[str], wide: int
) -> tuple[dict[str, QCheckBox], QGridLayout]:
    """A box for each name; the boxes are in the order in which those ``checked`` were named."""
    grid = QGridLayout()
    grid.setHorizontalSpacing(24)
    grid.setVerticalSpacing(4)
    grid.setColumnStretch(wide, 1)
    # What somebody has put into an order stays in it.
    every = [*checked, *(name for name in names if name not in checked)]
    made = {name: QCheckBox(printable(name, 60)) for name in every}
    for number, name in enumerate(sorted(every, key=lambda one: _place(names, one))):
        made[name].setChecked(name in checked)
        grid.addWidget(made[name], number // wide, number % wide)
    return made, grid


def _place(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else len(names)


def _checked(boxes: dict[str, QCheckBox]) -> list[str]:
    return [name for name, box in boxes.items() if box.isChecked()]
