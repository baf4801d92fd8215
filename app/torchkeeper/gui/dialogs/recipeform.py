"""A form for the most frequent recipe: a model or function, its inputs, and the ways to compile."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)

from torchkeeper.gui import forms, theme
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.recipes import forming
from torchkeeper.gui.recipes.forming import KINDS, Form, Wrong
from torchkeeper.link.words import printable

_DTYPES = ("float32", "bfloat16", "float16")
_MODES = ("default", "reduce-overhead", "max-autotune")


class RecipeForm(Dialog):
    """Writes a text, which is edited from then on: it is the truth."""

    def __init__(self, parent: QWidget | None, then: Callable[[str], object]) -> None:
        """then: is called with the text."""
        super().__init__(parent, "", 640)
        self.setWindowTitle(self.tr("New recipe"))
        self._then = then
        self.kind = QComboBox()
        for text in (
            self.tr("An example: it returns the model and its inputs"),
            self.tr("A factory: it returns the model"),
            self.tr("A function that is compiled itself"),
        ):
            self.kind.addItem(text)
        self.reference = QLineEdit()
        self.reference.setPlaceholderText("models.llm:decode")
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
        self.dtypes, dtypes = _boxes(_DTYPES)
        self.modes, modes = _boxes(_MODES)
        self.dynamic = QComboBox()
        for text, value in (
            (self.tr("As PyTorch decides"), None),
            (self.tr("For these sizes only"), False),
            (self.tr("For any size"), True),
        ):
            self.dynamic.addItem(text, value)
        self.backward = QCheckBox(self.tr("&Backward, too"))
        self.fullgraph = QCheckBox(self.tr("As one &graph (fullgraph)"))
        self.wrong = forms.label("", "error", wrap=True)
        self.cancel = forms.button(self.tr("Cancel"))
        self.go = forms.button(self.tr("Write recipe"), primary=True)
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

    def _lay_out(self, dtypes: QHBoxLayout, modes: QHBoxLayout) -> None:
        intro = self.tr(
            "It becomes a text in which all of this, and more, can be changed afterwards. Sizes "
            "are names that shapes use; every combination is compiled."
        )
        self.body.addWidget(forms.label(intro, "muted", wrap=True))
        lines = QFormLayout()
        lines.setHorizontalSpacing(16)
        lines.setVerticalSpacing(forms.GAP)
        lines.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for text, field in (
            (self.tr("&What"), self.kind),
            (self.tr("&Name"), self.reference),
            (self.tr("&Inputs, a line each"), self.inputs),
            (self.tr("&Sizes"), self.sizes),
            (self.tr("&Device"), self.device),
        ):
            lines.addRow(text, field)
            field.setAccessibleName(text.replace("&", ""))
        lines.addRow(self.tr("Dtypes"), dtypes)
        lines.addRow(self.tr("Modes"), modes)
        lines.addRow(self.tr("S&hapes"), self.dynamic)
        self.dynamic.setAccessibleName(self.tr("Shapes"))
        both = forms.row(gap=24)
        both.addWidget(self.backward)
        both.addWidget(self.fullgraph)
        both.addStretch(1)
        lines.addRow("", both)
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
            backward=self.backward.isChecked(),
        )

    def _say(self, *_: object) -> None:
        self.inputs.setEnabled(self.kind.currentIndex() > 0)
        said = ""
        try:
            forming.data_of(self.form)
        except Wrong as e:
            said = self.tr("Nobody can read “{}”.").format(printable(str(e), 80))
        self.wrong.setText(said)
        self.wrong.setVisible(bool(said))
        self.go.setEnabled(bool(self.reference.text().strip()) and not said)

    def _go(self) -> None:
        text = forming.text_of(self.form)
        self.accept()
        self._then(text)


def _boxes(names: Sequence[str]) -> tuple[dict[str, QCheckBox], QHBoxLayout]:
    made = {name: QCheckBox(name) for name in names}
    line = forms.row(gap=24)
    for box in made.values():
        line.addWidget(box)
    line.addStretch(1)
    return made, line


def _checked(boxes: dict[str, QCheckBox]) -> list[str]:
    return [name for name, box in boxes.items() if box.isChecked()]
