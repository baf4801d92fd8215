"""The choice of recipes in a dialog, and the cells that they make."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QComboBox, QListWidget, QWidget

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs.base import choose_files, choose_folder
from torchkeeper.gui.pages.help.ideas import explain
from torchkeeper.gui.pages.recipes import known as known_recipes
from torchkeeper.gui.pages.recipes import known as words
from torchkeeper.gui.pages.recipes.known import BUILTIN, Listed, Made
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.forms import Choice
from torchkeeper.gui.widgets.notice import Notice

#: Cells that are named.
_MOST = 1000
_FILE, _FOLDER = "file…", "folder…"


class RecipeChoice(QWidget):
    """The built-in recipe, one of the list, or files and folders chosen now.

    It looks at what is chosen in a thread of the worker's, and says what that makes.
    """

    #: Other recipes were chosen, or more is known of them.
    changed = Signal()

    def __init__(self, engines: Engines, names: Sequence[str] = (), rows: int = 4) -> None:
        """names: what is chosen at first; nothing: the built-in one. rows: of the list of cells."""
        super().__init__()
        self._engines = engines
        self._names: list[str] = list(names) or [BUILTIN]
        self._ticket: int | None = None
        self._list_ticket: int | None = None
        self.made: Made | None = None
        self.error: UserError | None = None
        explain(self, "recipe")
        self.combo = Choice()
        self.combo.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.combo.setMinimumContentsLength(24)
        self.said = forms.label("", "muted", wrap=True)
        self.notice = Notice()
        self.cells = QListWidget()
        self.cells.setAccessibleName(self.tr("Cells that will be compiled"))
        self.cells.setUniformItemSizes(True)
        self.cells.setSelectionMode(QListWidget.SelectionMode.NoSelection)
        self.cells.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.cells.setFixedHeight(rows * 22 + 10)
        whole = forms.column(gap=4)
        for widget in (self.combo, self.said, self.notice, self.cells):
            whole.addWidget(widget)
        self.setLayout(whole)
        self.setFocusProxy(self.combo)
        self._fill([])
        self.combo.activated.connect(self._picked)
        self._list_ticket = engines.background(
            Listener(result=self._fill, failed=self._unlisted),
            known_recipes.listed,
        )
        self._look()

    @property
    def names(self) -> list[str]:
        """What is chosen: BUILTIN, files and folders."""
        return list(self._names)

    def choose(self, names: Sequence[str]) -> None:
        """Choose these."""
        self._names = list(names) or [BUILTIN]
        self._show_chosen()
        self._look()

    def let_go(self) -> None:
        """Hear no more: the dialog closes."""
        for ticket in (self._ticket, self._list_ticket):
            self._engines.forget(ticket)

    def setAccessibleName(self, name: str) -> None:
        super().setAccessibleName(name)
        self.combo.setAccessibleName(name)

    def _fill(self, listed: Sequence[Listed]) -> None:
        self.combo.blockSignals(True)
        self.combo.clear()
        self.combo.addItem(words.name_of(BUILTIN), [BUILTIN])
        for one in listed:
            if one.path != BUILTIN:
                known = one.recipes[0].name if not one.folder and one.recipes else ""
                text = f"{words.name_of(one.path, known)}  ({printable(one.path, 400)})"
                self.combo.addItem(text, [one.path])
        self.combo.insertSeparator(self.combo.count())
        self.combo.addItem(self.tr("Choose files…"), _FILE)
        self.combo.addItem(self.tr("Choose a folder…"), _FOLDER)
        self.combo.blockSignals(False)
        self._show_chosen()

    def _unlisted(self, _: UserError) -> None:
        """The list cannot be read, which the dialog of recipes says; files can be chosen."""

    def _show_chosen(self) -> None:
        row = next((n for n in range(self.combo.count()) if self.combo.itemData(n) == self._names),
                   -1)  # fmt: skip
        if row < 0:
            text = printable(self._names[0], 400)
            if len(self._names) > 1:
                text = self.tr("{} files and folders").format(len(self._names))
            self.combo.insertItem(1, text, list(self._names))
            row = 1
        self.combo.setCurrentIndex(row)

    def _picked(self, row: int) -> None:
        data = self.combo.itemData(row)
        if isinstance(data, list):
            self._names = data
            self._look()
            return
        # Nothing of that is chosen yet.
        self._show_chosen()
        if data == _FILE:
            kinds = self.tr("Recipes (*.toml);;All files (*)")
            choose_files(self, self.tr("Choose recipes"), "", kinds, self.choose)
        elif data == _FOLDER:
            title = self.tr("Choose a folder of recipes")
            choose_folder(self, title, "", lambda path: self.choose([path]))

    # What they make.

    def _look(self) -> None:
        self._engines.forget(self._ticket)
        self.made, self.error = None, None
        self._say()
        listener = Listener(result=self._told, failed=self._failed)
        self._ticket = self._engines.background(listener, known_recipes.made, list(self._names))

    def _told(self, made: Made) -> None:
        self.made = made
        self._say()

    def _failed(self, error: UserError) -> None:
        self.error = error
        self._say()

    def _say(self) -> None:
        made = self.made
        self.notice.tell(self.error)
        self.cells.clear()
        self.cells.setVisible(made is not None and len(made.cells) > 1)
        self.said.setVisible(self.error is None)
        if made is None:
            self.said.setText(self.tr("Looking at it…"))
        elif self._names == [BUILTIN]:
            self.said.setText(words.builtin_help())
        else:
            count = say.count(len(made.cells), "cell", "cells")
            several = made.recipes > 1
            of = self.tr("{} of {}").format(count, say.count(made.recipes, "recipe", "recipes"))
            self.said.setText(of if several else count)
            shown = made.cells[:_MOST]
            forms.list_up(
                self.cells,
                [printable(f"{r} · {n}" if several and not n.startswith(r) else n, 200)
                 for r, n, _ in shown],
            )  # fmt: skip
            if len(made.cells) > _MOST:
                self.cells.addItem(self.tr("and {} more").format(f"{len(made.cells) - _MOST:,}"))
        # Not while a signal of its own is under way.
        QTimer.singleShot(0, self, self.changed.emit)
