"""The variants of a warm-up in a table, and below it what there is to know of the chosen one."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6 import QtWidgets
from PySide6.QtCore import QModelIndex, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractItemView, QStyleOptionViewItem, QTableView, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.idle import once
from torchkeeper.gui.matrix import variants as phases
from torchkeeper.gui.matrix.detail import DetailPane, Told
from torchkeeper.gui.matrix.model import (
    HITS,
    MISSES,
    NUMBERS,
    PHASES,
    TIME,
    VARIANT,
    Line,
    VariantsModel,
)
from torchkeeper.gui.matrix.painting import PlainDelegate, dress
from torchkeeper.gui.matrix.variants import (
    COMPILING,
    Variants,
    VariantState,
    name_of,
    told,
    uncached,
)
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.lists import CopyKey, Index
from torchkeeper.gui.widgets.plain import tip

_PAD, _BAR, _SHIFT = 8, 12, 24
_LEFT = (Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter).value
_RIGHT = (Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter).value
_MARKS = {
    "queued": ("queued", "muted"),
    "starting": ("running", "muted"),
    "compiling": ("running", "accent"),
    "done": ("done", "good"),
    "failed": ("error", "warning"),
    "cancelled": ("cancel", "muted"),
}


def mark(variant: VariantState) -> tuple[str, str]:
    """The icon of a variant and the name of its colour."""
    if variant.state == "done" and not variant.good:
        return "warning", "warning"
    return _MARKS.get(variant.state, _MARKS["queued"])


class VariantDelegate(PlainDelegate):
    """Paints what a variant is at, and where its time went."""

    def __init__(self, view: QTableView, model: VariantsModel) -> None:
        super().__init__(view)
        self._model = model

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        shades, box = theme.shades(), self.ground(painter, option)
        line, column = self._model.line(index.row()), index.column()
        if column == PHASES and not (isinstance(line, VariantState) and line.error):
            self._bar(painter, box, line)
            return
        text = self._model.text(index.row(), column, time.monotonic())
        left, width = box.left() + _PAD, box.width() - 2 * _PAD
        quiet = not isinstance(line, VariantState) or line.state in (
            "queued",
            "starting",
            "cancelled",
        )
        if column == VARIANT:
            if isinstance(line, VariantState):
                self.mark(painter, left, box, *mark(line))
            left, width = left + _SHIFT, width - _SHIFT
        colour, side = (
            shades.muted if quiet else shades.text,
            _RIGHT if column in NUMBERS else _LEFT,
        )
        self.words(painter, QRect(left, box.top(), width, box.height()), text, colour, side)

    def _bar(self, painter: QPainter, box: QRect, line: Line) -> None:
        """The phases, as long as they took beside the variant that took longest."""
        shades = theme.shades()
        every = line.phases or []
        took = line.took(time.monotonic()) if isinstance(line, VariantState) else None
        # Graphs that are compiled at once take more together than the variant.
        whole = max(took or 0.0, sum(every))
        longest = max(self._model.variants.longest, 1.0, whole)
        if whole <= 0:
            return
        room = box.width() - 2 * _PAD
        high = _BAR if isinstance(line, VariantState) else _BAR - 4
        top, left = box.center().y() - high / 2 + 0.5, float(box.left() + _PAD)
        ground = QRectF(left, top, max(2.0, room * whole / longest), high)
        painter.fillRect(ground, QColor(shades.selected_quiet))
        painter.setPen(Qt.PenStyle.NoPen)
        for name, seconds in zip(phases.PHASES, every, strict=False):
            width = room * seconds / longest
            if width <= 0:
                continue
            painter.fillRect(QRectF(left, top, width, high), QColor(shades.phases[name]))
            left += width
            if width > 3:
                # A seam, so that neighbours are told apart whatever their colours.
                painter.fillRect(QRectF(left - 1, top, 1, high), QColor(shades.base))
        painter.setPen(QPen(QColor(shades.muted), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(ground.adjusted(0, 0, -1, -1))


class _Swatch(QWidget):
    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self.setSizePolicy(QtWidgets.QSizePolicy.Policy.Fixed, QtWidgets.QSizePolicy.Policy.Fixed)
        theme.follow(self, self.update)

    def sizeHint(self) -> QSize:
        return QSize(12, 12)

    def paintEvent(self, _: QPaintEvent) -> None:
        with QPainter(self) as painter:
            theme.rounded(painter, QRect(1, 1, 10, 10), 2, theme.shades().phases[self._name])


class Legend(QWidget):
    """The phases in their order, each with its colour."""

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(self.tr("Phases of a compile"))
        line = forms.row(gap=5)
        for name in phases.PHASES:
            swatch, label = _Swatch(name), forms.label(phases.title(name), "muted")
            for widget in (swatch, label):
                widget.setToolTip(tip(phases.about(name)))
            forms.add(line, swatch, label)
            line.addSpacing(9)
        line.addStretch(1)
        self.setLayout(line)


#: Milliseconds between two looks at what has changed.
_EVERY_MS = 100
#: How the table and the log share the room.
_TABLE, _DETAIL = 3, 2


class VariantsPane(QWidget):
    """Follows one job's variants; ``show_variants`` says that there may be something new."""

    #: The recipe of the chosen variant is to be edited: its file.
    edit = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        #: The file of a recipe, by what the job calls it; empty for one that cannot be edited.
        self.file_of: Callable[[str], str] = lambda _: ""
        self.model = VariantsModel(self)
        self.view = QTableView()
        self.view.setModel(self.model)
        self.view.setItemDelegate(VariantDelegate(self.view, self.model))
        dress(self.view, self.tr("Variants"), rows=3)
        self.view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        header = self.view.horizontalHeader()
        # Where there is little room, names come first.
        for column, width in ((HITS, 48), (MISSES, 108), (TIME, 100), (PHASES, 124)):
            header.resizeSection(column, width)
        header.setSectionResizeMode(VARIANT, QtWidgets.QHeaderView.ResizeMode.Stretch)
        CopyKey(self.view, self._copy_rows)
        self.legend = Legend()
        self.bad = QtWidgets.QCheckBox(self.tr("Only what is not &warm"))
        self.bad.setToolTip(self.tr("Show only variants that failed, or that are not found again"))
        self.bad.toggled.connect(self._only_bad)
        hint = self.tr("Close this dialog and edit the text of the recipe")
        self.recipe = forms.button(self.tr("Ed&it recipe…"), self._edit, hint, enter=False)
        self.recipe.hide()
        copies = self.tr("Copy the result and the log of this variant")
        self.detail = DetailPane(self.tr("Log of the chosen variant"), copies, self.recipe)
        self._chosen: int | None = None
        #: Whether the user has chosen a variant; before, it is the one that is compiled.
        self._touched = False
        self._timer = once(self, self._refresh, _EVERY_MS)
        self._lay_out()
        self.view.selectionModel().currentChanged.connect(self._moved)
        self.view.clicked.connect(self._touch)
        theme.follow(self, self.view.viewport().update)

    def _lay_out(self) -> None:
        head = forms.column(self.legend, self.bad, gap=4)
        self._layout = forms.column(head, (self.view, _TABLE), self.detail)
        self.setLayout(self._layout)

    def show_variants(self, variants: Variants) -> None:
        """Show these variants, or what has changed of them; soon, and not each time."""
        if variants is not self.model.variants:
            self._chosen, self._touched = None, False
            self.bad.setChecked(False)
            self.model.show_variants(variants)
            self._refresh()
        elif not self._timer.isActive():
            self._timer.start()

    def choose_bad(self) -> None:
        """Go to the first variant that is not warm, if the user has chosen none."""
        self._refresh()
        bad = self.model.variants.bad
        if bad and not self._touched:
            self._go_to(next(n for n, one in enumerate(self.model.variants.rows) if one is bad[0]))

    def choose(self, row: int) -> None:
        """Go to a variant, by its place among all, and stay there."""
        self._touched = True
        self._go_to(row)

    def _go_to(self, row: int) -> None:
        if (line := self.model.line_of(row)) is not None:
            index = self.model.index(line, VARIANT)
            self.view.setCurrentIndex(index)
            self.view.scrollTo(index)

    @property
    def variant(self) -> VariantState | None:
        """The chosen variant."""
        rows = self.model.variants.rows
        return rows[self._chosen] if self._chosen is not None and self._chosen < len(rows) else None

    def _refresh(self) -> None:
        self._timer.stop()
        self.model.refresh()
        self.model.tick()
        variants = self.model.variants
        counts = variants.counts
        failed = counts.get("failed", 0) + counts.get("cancelled", 0)
        self.bad.setVisible(self.bad.isChecked() or (len(variants.rows) > 1 and failed > 0))
        if not self._touched and counts.get(COMPILING):
            first = next(n for n, variant in enumerate(variants.rows) if variant.state == COMPILING)
            if first != self._chosen:
                self._go_to(first)
        elif self._chosen is None and variants.rows:
            self._go_to(0)
        self._tell()

    def _only_bad(self, on: bool) -> None:
        kept = self._chosen
        self.model.only_bad(on)
        if kept is not None and self.model.line_of(kept) is not None:
            self._go_to(kept)
        elif self.model.rowCount():
            self.view.setCurrentIndex(self.model.index(0, VARIANT))

    def _touch(self, *_: object) -> None:
        self._touched = True

    def _moved(self, current: QModelIndex, _: QModelIndex) -> None:
        if self.view.hasFocus():
            self._touched = True
        if current.isValid():
            self._chosen = self.model.row_of(current.row())
            # Not within the signal: lines come and go.
            QTimer.singleShot(0, self, lambda: self.model.open(self._chosen))
        self._tell()

    def _tell(self) -> None:
        variant, said = self.variant, None
        if variant is not None:
            name = name_of(variant, self.model.several)
            full = name_of(variant, True)
            said = Told(name, told(variant), uncached(variant), variant.error, variant, full)
        bad = variant is not None and variant.ended and not variant.good
        self.recipe.setVisible(variant is not None and bad and bool(self.file_of(variant.recipe)))
        log = self.detail.tell(said)
        self._layout.setStretchFactor(self.detail, _DETAIL if log else 0)

    def _edit(self) -> None:
        if self.variant is not None and (file := self.file_of(self.variant.recipe)):
            self.edit.emit(file)

    def _copy_rows(self) -> None:
        current = self.view.currentIndex()
        if current.isValid():
            variants = (self.model.index(current.row(), n).data() for n in range(5))
            QGuiApplication.clipboard().setText("\t".join(str(text) for text in variants))
