"""The choice of recipes in a dialog, and the cells that they make."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import QListWidget

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs.base import choose_files, choose_folder
from torchkeeper.gui.pages.help.ideas import explain
from torchkeeper.gui.pages.recipes import known
from torchkeeper.gui.pages.recipes.known import BUILTIN, Listed, Made
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.forms import Choice, Compound
from torchkeeper.gui.widgets.notice import Notice

#: Cells that are named.
_MOST = 1000
_FILE, _FOLDER = "file…", "folder…"


class RecipeChoice(Compound):
    """The built-in recipe, one of the list, or files and folders; and what the chosen one makes."""

    #: Other recipes were chosen, or more is known of them.
    changed = Signal()

    def __init__(self, engines: Engines, names: Sequence[str] = (), rows: int = 4) -> None:
        """names: what is chosen at first; nothing: the built-in one. rows: of the list of cells."""
        super().__init__()
        self._engines = engines
        #: What is chosen: BUILTIN, files and folders.
        self.names = list(names) or [BUILTIN]
        self._ticket: int | None = None
        self.made: Made | None = None
        self.error: UserError | None = None
        explain(self, "recipe")
        self.combo = Choice(24)
        self.said = forms.label("", "muted", wrap=True)
        self.notice = Notice()
        self.cells = QListWidget()
        self.cells.setAccessibleName(self.tr("Cells that will be compiled"))
        self.cells.setUniformItemSizes(True)
        self.cells.setSelectionMode(QListWidget.SelectionMode.NoSelection)
        self.cells.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.cells.setFixedHeight(rows * 22 + 10)
        self.setLayout(forms.column(self.combo, self.said, self.notice, self.cells, gap=4))
        self.setFocusProxy(self.combo)
        self._fill([])
        self.combo.activated.connect(self._picked)
        # Where the list cannot be read, which the dialog of recipes says, files can be chosen.
        self._list_ticket = engines.background(Listener(result=self._fill), known.listed)
        self._look()

    def choose(self, names: Sequence[str]) -> None:
        """Choose these."""
        self.names = list(names) or [BUILTIN]
        self._show_chosen()
        self._look()

    def let_go(self) -> None:
        """Hear no more: the dialog closes."""
        for ticket in (self._ticket, self._list_ticket):
            self._engines.forget(ticket)

    def _fill(self, listed: Sequence[Listed]) -> None:
        with QSignalBlocker(self.combo):
            self.combo.clear()
            self.combo.addItem(known.name_of(BUILTIN), [BUILTIN])
            for one in listed:
                if one.path != BUILTIN:
                    name = one.recipes[0].name if not one.folder and one.recipes else ""
                    text = f"{known.name_of(one.path, name)}  ({printable(one.path, 400)})"
                    self.combo.addItem(text, [one.path])
            self.combo.insertSeparator(self.combo.count())
            self.combo.addItem(self.tr("Choose files…"), _FILE)
            self.combo.addItem(self.tr("Choose a folder…"), _FOLDER)
        self._show_chosen()

    def _show_chosen(self) -> None:
        row = next((n for n in range(self.combo.count()) if self.combo.itemData(n) == self.names),
                   -1)  # fmt: skip
        if row < 0:
            text = printable(self.names[0], 400)
            if len(self.names) > 1:
                text = self.tr("{} files and folders").format(len(self.names))
            self.combo.insertItem(1, text, list(self.names))
            row = 1
        self.combo.setCurrentIndex(row)

    def _picked(self, row: int) -> None:
        data = self.combo.itemData(row)
        if isinstance(data, list):
            self.names = data
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
        self._told(None)
        listener = Listener(result=self._told, failed=lambda error: self._told(None, error))
        self._ticket = self._engines.background(listener, known.made, list(self.names))

    def _told(self, made: Made | None, error: UserError | None = None) -> None:
        self.made, self.error = made, error
        self.notice.tell(error)
        self.cells.clear()
        self.cells.setVisible(made is not None and len(made.cells) > 1)
        self.said.setVisible(error is None)
        if made is None:
            self.said.setText(self.tr("Looking at it…"))
        elif self.names == [BUILTIN]:
            self.said.setText(known.builtin_help())
        else:
            count = say.count(len(made.cells), "cell", "cells")
            several = made.recipes > 1
            of = self.tr("{} of {}").format(count, say.count(made.recipes, "recipe", "recipes"))
            self.said.setText(of if several else count)
            texts = (f"{r} · {n}" if several and not n.startswith(r) else n
                     for r, n, _ in made.cells[:_MOST])  # fmt: skip
            forms.list_up(self.cells, [printable(text, 200) for text in texts])
            if len(made.cells) > _MOST:
                self.cells.addItem(self.tr("and {} more").format(f"{len(made.cells) - _MOST:,}"))
        # Not while a signal of its own is under way.
        QTimer.singleShot(0, self, self.changed.emit)
