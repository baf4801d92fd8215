"""The recipes that are kept: files and folders, what each makes, and what is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QMenu,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from torchkeeper.gui import forms, icons, theme
from torchkeeper.gui.blank import Blank, Notice
from torchkeeper.gui.dialogs.base import Dialog, choose_files, choose_folder
from torchkeeper.gui.dropping import files_of
from torchkeeper.gui.engines import Engines, Listener
from torchkeeper.gui.recipes import words
from torchkeeper.gui.recipes.faultlist import FaultList
from torchkeeper.gui.recipes.items import CELLS, FILE, NAME, OF, item_of
from torchkeeper.gui.recipes.known import BUILTIN, Known, Listed
from torchkeeper.gui.trees import columns, right
from torchkeeper.link import say
from torchkeeper.link.words import UserError, printable

if TYPE_CHECKING:
    from PySide6.QtGui import QDragEnterEvent, QDropEvent

#: Edit a file at a line, or in the form; write a new one of a source; warm files and folders.
Edit = Callable[[str, int, bool], object]
New = Callable[[str], object]
Warm = Callable[[list[str]], object]


class RecipesDialog(Dialog):
    """Reads the list in the worker's thread and shows it; the window stays usable beside it."""

    grows = False

    def __init__(
        self, parent: QWidget | None, engines: Engines, edit: Edit, new: New, warm: Warm
    ) -> None:
        super().__init__(parent, "", 720)
        self.setWindowTitle(self.tr("Recipes"))
        self.setWindowModality(Qt.WindowModality.NonModal)
        self.setAcceptDrops(True)
        self._engines = engines
        self._edit_, self._new, self._warm = edit, new, warm
        self._ticket: int | None = None
        self._listed: list[Listed] = []
        self._wanted = ""
        self.title = forms.label(self.tr("Recipes"), "title")
        self.intro = forms.label(words.purpose(), "muted", wrap=True)
        self.notice = Notice()
        self.tree = QTreeWidget()
        self.blank = Blank("warm", 440)
        self.name = forms.label("", "heading", wrap=True)
        self.about = forms.label("", "muted", wrap=True)
        self.error = Notice()
        self.faults = FaultList(self.tr("What is wrong with it"))
        self.new = forms.button(self.tr("&New"))
        self.add_file = forms.button(self.tr("&Add files…"))
        self.add_folder = forms.button(self.tr("Add &folder…"))
        self.again = forms.button(self.tr("&Refresh"))
        self.edit = forms.button(self.tr("&Edit…"))
        self.fill_in = QAction(self.tr("Edit in a f&orm…"), self)
        self.remove = forms.button(self.tr("Re&move from list"))
        self.go = forms.button(self.tr("&Warm…"), primary=True)
        self.close_button = forms.button(self.tr("Close"))
        self._dress()
        self._lay_out()
        self._connect()
        self.resize(960, 620)
        self.refresh()
        self.tree.setFocus()

    def _dress(self) -> None:
        tree = self.tree
        tree.setAccessibleName(self.tr("Recipes"))
        tree.setUniformRowHeights(True)
        tree.setAllColumnsShowFocus(True)
        tree.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        tree.setHeaderLabels(
            [self.tr("Recipe"), self.tr("Compiles"), self.tr("Cells"), self.tr("Last warmed"),
             self.tr("File")]
        )  # fmt: skip
        right(tree, (CELLS,))
        columns(tree, (232, 144, 72, 200, 0), FILE)
        self.faults.setToolTip(self.tr("Press Enter, or click twice, to go to the line"))
        for button, hint in (
            (self.new, self.tr("Write a recipe, beginning with an example")),
            (self.add_file, self.tr("Put recipes that are there already on the list")),
            (self.add_folder, self.tr("Put a folder on the list, with all recipes in it")),
            (self.again, self.tr("Read the list and the recipes again")),
            (self.edit, self.tr("Change the text of the recipe; so does clicking it twice")),
            (self.remove, self.tr("Take it off the list; the file stays")),
        ):
            button.setToolTip(hint)
            button.setAutoDefault(False)
        menu = QMenu(self.new)
        ways = {words.FORM: self.tr("Fill in a form…")}
        example = self.tr("Example: {}")
        ways |= {source: example.format(words.source_title(source)) for source in words.SOURCES}
        for source, text in ways.items():
            action = QAction(text, menu)
            action.triggered.connect(lambda _=False, source=source: self._new(source))
            menu.addAction(action)
            if source == words.FORM:
                menu.addSeparator()
        self.new.setMenu(menu)
        # What the style sheet draws at the side has no room beside a text in the middle.
        self.new.setStyleSheet("QPushButton { padding-right: 28px; }")

    def _lay_out(self) -> None:
        above = forms.row()
        for button in (self.new, self.add_file, self.add_folder):
            above.addWidget(button)
        above.addStretch(1)
        above.addWidget(self.again)
        below = forms.row()
        for button in (self.edit, self.remove):
            below.addWidget(button)
        below.addStretch(1)
        for button in (self.go, self.close_button):
            below.addWidget(button)
        for widget in (self.title, self.intro, self.notice):
            self.body.addWidget(widget)
        self.body.addSpacing(4)
        self.body.addLayout(above)
        self.body.addWidget(self.tree, 3)
        self.body.addWidget(self.blank, 3)
        for widget in (self.name, self.about, self.error):
            self.body.addWidget(widget)
        self.body.addWidget(self.faults, 2)
        self.body.addLayout(below)
        self.close_button.setAutoDefault(False)
        self.go.setDefault(True)

    def _connect(self) -> None:
        self.notice.again.connect(self.refresh)
        self.tree.itemSelectionChanged.connect(self._chosen)
        # Enter, too, is told as an activation, and then presses the default button besides.
        self.tree.itemDoubleClicked.connect(lambda *_: self._edit())
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            QShortcut(QKeySequence(key), self.tree, self._enter,
                      context=Qt.ShortcutContext.WidgetShortcut)  # fmt: skip
        self.tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.tree.customContextMenuRequested.connect(self._menu)
        self.faults.wanted.connect(lambda line, _: self._edit(line))
        self.add_file.clicked.connect(self._choose_files)
        self.add_folder.clicked.connect(self._choose_folder)
        self.again.clicked.connect(self.refresh)
        self.edit.clicked.connect(self._edit)
        self.fill_in.triggered.connect(lambda *_: self._edit(form=True))
        self.remove.clicked.connect(self._remove)
        self.go.clicked.connect(self._go)
        self.close_button.clicked.connect(self.reject)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Refresh), self, self.refresh)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Delete), self.tree, self._remove,
                  context=Qt.ShortcutContext.WidgetShortcut)  # fmt: skip
        theme.follow(self, self._paint)

    # Asking.

    def refresh(self, *_: object) -> None:
        """Read the list and the recipes again."""
        self._ask()

    def add(self, paths: Sequence[str]) -> None:
        """Put files and folders on the list, and choose the last of them."""
        if paths:
            self._wanted = os.path.abspath(paths[-1])
            self._ask(add=paths)

    def saved(self, path: str) -> None:
        """A recipe was written: it is on the list from now on, if no folder of it has it."""
        self._wanted = path
        self._ask(add=[path], unless=True)

    def _ask(
        self, add: Sequence[str] = (), remove: Sequence[str] = (), unless: bool = False
    ) -> None:
        self._engines.leave(self._ticket or 0, cancel=False)
        listener = Listener(result=lambda said: self._show(said["recipes"]), failed=self._failed)
        self._ticket = self._engines.recipes(
            listener, add=add, remove=remove, unless_in_folder=unless
        )

    def done(self, result: int) -> None:
        self._engines.forget(self._ticket)
        super().done(result)

    def _failed(self, error: UserError) -> None:
        self.notice.tell(error, again=True)

    def _show(self, listed: list[Listed]) -> None:
        self.notice.tell(None)
        chosen = {self._wanted} if self._wanted else set(self.selected())
        self._listed, self._wanted = listed, ""
        tree = self.tree
        tree.blockSignals(True)
        tree.clear()
        for one in listed:
            tree.addTopLevelItem(item_of(one))
        tree.expandAll()
        items = self._items()
        again = [item for item in items if item.data(NAME, OF)[0] in chosen] or items[:1]
        for item in again:
            item.setSelected(True)
        if again:
            tree.setCurrentItem(again[0])
            tree.scrollToItem(again[0])
        tree.blockSignals(False)
        alone = len(listed) <= 1
        self.blank.say(
            self.tr("No recipe of your own yet"),
            self.tr(
                "Begin under New, with a form or an example; add files or a folder; or drop "
                "them here."
            ),
        )
        self.blank.setVisible(alone)
        if alone:
            row = max(tree.sizeHintForRow(0), 28)
            tree.setFixedHeight(tree.header().sizeHint().height() + row + 8)
        else:
            tree.setMinimumHeight(140)
            tree.setMaximumHeight(16_777_215)
        self._paint()
        self._chosen()

    def _items(self) -> list[QTreeWidgetItem]:
        tops = (self.tree.topLevelItem(row) for row in range(self.tree.topLevelItemCount()))
        found: list[QTreeWidgetItem] = []
        for top in tops:
            if top is not None:
                found.append(top)
                found += [x for row in range(top.childCount()) if (x := top.child(row))]
        return found

    def _paint(self) -> None:
        shades = theme.shades()
        for item in self._items():
            good, folder = item.data(NAME, OF)[1:]
            name = "folder" if folder else "warm" if good else "error"
            item.setIcon(NAME, icons.icon(name, None if good else shades.error))

    # What is chosen.

    def selected(self) -> list[str]:
        """The paths of what is chosen, as it is listed."""
        return [item.data(NAME, OF)[0] for item in self._items() if item.isSelected()]

    def choose(self, path: str) -> None:
        """Choose one, by its path."""
        for item in self._items():
            if item.data(NAME, OF)[0] == path:
                self.tree.clearSelection()
                self.tree.setCurrentItem(item)
                item.setSelected(True)

    def of(self, path: str) -> Listed | Known | None:
        """What is known of a path on the list, or of a file in one of its folders."""
        for one in self._listed:
            if one.path == path and (one.folder or one.error is not None):
                return one
            for known in one.recipes:
                if known.path == path:
                    return known
        return None

    def _chosen(self) -> None:
        paths = self.selected()
        one = self.of(paths[0]) if len(paths) == 1 else None
        tops = {listed.path for listed in self._listed}
        file = one if isinstance(one, Known) and one.path != BUILTIN else None
        self.edit.setEnabled(file is not None)
        self.fill_in.setEnabled(file is not None and file.good and file.source == "callable")
        self.remove.setEnabled(bool(paths) and all(x in tops and x != BUILTIN for x in paths))
        bad = isinstance(one, Known) and not one.good
        self.go.setEnabled(bool(paths) and not bad and not (one and one.error))
        folder = isinstance(one, Listed) or len(paths) > 1
        self.go.setText(self.tr("&Warm all…") if folder else self.tr("&Warm…"))
        self.go.setToolTip(
            self.tr("Choose where to, and compile all of it")
            if folder
            else self.tr("Choose where to, and compile it")
        )
        self.name.setText(self._heading(paths, one))
        about = one.about if isinstance(one, Known) else ""
        self.about.setText(words.builtin_help() if paths == [BUILTIN] else printable(about, 400))
        self.about.setVisible(bool(self.about.text()))
        self.error.tell(one.error if one is not None else None)
        self.faults.show_faults(one.faults if isinstance(one, Known) else ())

    def _heading(self, paths: list[str], one: Listed | Known | None) -> str:
        if isinstance(one, Known):
            if one.faults:
                count = say.count(len(one.faults), "fault", "faults")
                return f"{words.name_of(one.path, one.name)}: {count}"
            return words.name_of(one.path, one.name)
        if isinstance(one, Listed):
            return printable(one.path, 400)
        return self.tr("{} chosen").format(len(paths)) if paths else ""

    # What can be done.

    def _menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        for button in (self.go, self.edit, self.remove):
            action = menu.addAction(button.text())
            action.setEnabled(button.isEnabled())
            action.triggered.connect(button.click)
            if button is self.edit:
                menu.addAction(self.fill_in)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.tree.viewport().mapToGlobal(at))

    def _edit(self, line: object = 1, *, form: bool = False) -> None:
        paths = self.selected()
        if len(paths) == 1 and isinstance(self.of(paths[0]), Known) and paths[0] != BUILTIN:
            number = line if isinstance(line, int) and not isinstance(line, bool) else 1
            self._edit_(paths[0], number, form)

    def _enter(self) -> None:
        """What is chosen is warmed, or corrected where that cannot be."""
        if self.go.isEnabled():
            self._go()
        else:
            self._edit()

    def _remove(self) -> None:
        if self.remove.isEnabled():
            self._ask(remove=self.selected())

    def _go(self) -> None:
        if paths := self.selected():
            self._warm(paths)

    def _choose_files(self) -> None:
        kinds = self.tr("Recipes (*.toml);;All files (*)")
        choose_files(self, self.tr("Add recipes"), "", kinds, self.add)

    def _choose_folder(self) -> None:
        choose_folder(self, self.tr("Add a folder of recipes"), "", lambda path: self.add([path]))

    # Dropping.

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.source() is None and event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        paths = files_of(event)
        event.acceptProposedAction()
        # The source of the drag waits until this returns.
        QTimer.singleShot(0, self, lambda: self.add(paths))
