"""The page of the recipes that are kept: a list, and what the chosen one makes, lacks and says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication, QSettings, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QMenu, QTreeWidgetItem, QWidget

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui import theme
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.dialogs.base import choose_files, choose_folder
from torchkeeper.gui.pages.glossary import explain
from torchkeeper.gui.pages.page import Page, go_to_field
from torchkeeper.gui.pages.recipes import known as words
from torchkeeper.gui.pages.recipes.known import BUILTIN, Known, Listed
from torchkeeper.gui.pages.recipes.tomledit import FaultList, TomlEdit
from torchkeeper.gui.places.listing import Listing
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.gui.widgets.emptystate import EmptyState
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.gui.widgets.plain import tip

NAME, SOURCE, VARIANTS, WARMED, FILE = range(5)
#: What a line is of: a path, whether it is good, and whether it is a folder.
OF = Qt.ItemDataRole.UserRole


def item_of(one: Listed) -> QTreeWidgetItem:
    """A line of the list; of a folder, with one for each recipe in it."""
    if not one.folder and one.recipes:
        return _known_item(one.recipes[0], True)
    variants = sum(known.variants for known in one.recipes)
    good = one.error is None and all(known.good for known in one.recipes)
    many = say.count(len(one.recipes), "recipe", "recipes")
    item = _row([words.name_of(one.path), many if one.folder else "", variants, "", one.path])
    item.setData(NAME, OF, (one.path, good, one.folder))
    for known in one.recipes:
        item.addChild(_known_item(known, False))
    if one.error is not None:
        gone = one.error.code == "recipe-unknown"
        item.setText(SOURCE, words.missing() if gone else "–")
        item.setToolTip(NAME, tip(one.error.what))
    return item


def _known_item(one: Known, top: bool) -> QTreeWidgetItem:
    source = words.source_title(one.source) if one.good else "–"
    if one.faults:
        source = say.count(len(one.faults), "fault", "faults")
    file = "" if one.path == BUILTIN else one.path if top else os.path.basename(one.path)
    name, warmed = words.name_of(one.path, one.name), words.warmed_text(one)
    item = _row([name, source, one.variants, warmed, file])
    item.setData(NAME, OF, (one.path, one.good, False))
    return item


def _row(texts: Sequence[str | int]) -> QTreeWidgetItem:
    shown = [printable(x, 4096) if isinstance(x, str) else f"{x:,}" if x else "–" for x in texts]
    return lists.line(shown, numbers=(VARIANTS,), tips=(NAME, WARMED, FILE))


_WIDTHS = "recipes/list"
#: What the button of what stands in place of a text does.
_WRITE, _CLEAR, _RUN = "write", "clear-filter", "run-program"


class RecipesPage(Page):
    """Reads the list in the worker's thread whenever it comes to be shown."""

    #: A recipe is to be edited: its file, the line, and whether the form is wanted.
    editing = Signal(object, int, bool)
    beginning = Signal(str)
    #: A program is to be run, of which a recipe can be made then.
    running = Signal()
    #: Some are to be warmed, or measured in the place that is shown.
    warming = Signal(object)
    #: Some are to be warmed on several machines.
    spreading = Signal(object)
    verifying = Signal(object)

    def __init__(self, engines: Engines, settings: QSettings, listing: Listing) -> None:
        super().__init__(QCoreApplication.translate("RecipesPage", "Recipes"))
        explain(self, "recipe")
        self._engines, self._settings, self._listing = engines, settings, listing
        self._ticket: int | None = None
        self._read = Latest(engines, self)
        self._listed: list[Listed] = []
        self._wanted = ""
        #: The file whose text is shown, or read.
        self._text_of = ""
        self.notice = Notice()
        self.box = forms.line_edit(self.tr("Filter recipes"))
        # Both stand beside the list for the chosen one.
        self.tree = lists.Fitted(NAME, (VARIANTS, SOURCE))
        self.name = forms.label("", "heading", wrap=True)
        self.about = forms.label("", "muted", wrap=True, selectable=True)
        self.facts = forms.label("", "muted", wrap=True, selectable=True)
        self.error = Notice()
        self.faults = FaultList(self.tr("Faults"))
        self.text = TomlEdit(self.tr("Text of the recipe"))
        self.blank = EmptyState("recipes", side=True)
        hint = self.tr("Write a recipe, starting from an example")
        self.new = forms.button(self.tr("&New"), hint=hint)
        hint = self.tr("Add existing recipes to the list")
        self.add_file = forms.button(self.tr("&Add files…"), self._choose_files, hint)
        hint = self.tr("Add a folder to the list, with all recipes in it")
        self.add_folder = forms.button(self.tr("Add fol&der…"), self._choose_folder, hint)
        warm = self.tr("&Warm…")
        self.go = forms.button(warm, lambda: self.warming.emit(self.selected()), primary=True)
        several = self.tr("Warm on several machines…")
        self.spread = forms.icon_button("fleet", several, self._spread)
        verify = self.tr("Verif&y…")
        self.verify = forms.button(verify, lambda: self.verifying.emit(self.selected()))
        hint = self.tr("Edit the text of the recipe; a double click does the same")
        self.edit = forms.button(self.tr("Ed&it…"), lambda *_: self._edit(), hint)
        self.spread_on = QAction(several, self)
        self.spread_on.triggered.connect(self.spread.click)
        self.fill_in = QAction(self.tr("Edit in a f&orm…"), self)
        self.fill_in.setStatusTip(self.tr("Edit in a form what it compiles"))
        hint = self.tr("Remove it from the list; the file stays")
        self.remove = forms.button(self.tr("Re&move"), self._remove, hint)
        self._dress()
        self._lay_out()
        self._connect()

    def _dress(self) -> None:
        tree = self.tree
        tree.setAccessibleName(self.tr("Recipes"))
        tree.setUniformRowHeights(True)
        tree.setAllColumnsShowFocus(True)
        tree.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        headings = [self.tr("Recipe"), self.tr("Compiles"), self.tr("Variants")]
        tree.head([*headings, self.tr("Last warmed"), self.tr("File")], (VARIANTS,), (WARMED, FILE))
        self.box.setAccessibleName(self.tr("Filter recipes"))
        self.box.setAcceptDrops(False)
        forms.clearable(self.box)
        self.text.setReadOnly(True)
        self.faults.setToolTip(self.tr("Press Enter or double-click to go to the line"))
        menu = QMenu(self.new)
        run = menu.addAction(self.tr("Run a program…"), self.running.emit)
        run.setStatusTip(self.tr("Run a program of your own, and save what it compiled"))
        theme.follow(run, partial(_dress, run, "runs"))
        ways = {words.FORM: self.tr("Fill in a form…")}
        example = self.tr("Example: {}")
        ways |= {source: example.format(words.source_title(source)) for source in words.SOURCES}
        for source, text in ways.items():
            action = QAction(text, menu)
            form = source == words.FORM
            begin = self.tr("Start from an example that you can warm at once")
            fields = self.tr("Fill in what to compile")
            action.setStatusTip(fields if form else begin)
            theme.follow(action, partial(_dress, action, "recipes" if form else "log"))
            action.triggered.connect(lambda _=False, source=source: self.beginning.emit(source))
            menu.addAction(action)
            if form:
                menu.addSeparator()
        self.new.setMenu(menu)
        # What the style sheet draws at the side has no room beside a text in the middle.
        self.new.setStyleSheet("QPushButton { padding-right: 28px; }")

    def _lay_out(self) -> None:
        forms.add(self.tools, self.new, self.add_file, self.add_folder)
        self._none = QWidget()
        self.below = forms.stack(self._none, self.text, self.blank)
        listed = forms.column(self.box, (self.tree, 1), margin=(0, 0, 8, 0))
        does = forms.row(self.go, self.verify, self.edit, self.remove, forms.REST)
        named = forms.row((self.name, 1), (self.spread, forms.TOP))
        beside = forms.column(named, self.about, self.facts, does, margin=(8, 0, 0, 0))
        forms.add(beside, self.error, self.faults, (self.below, 1))
        self.across = forms.split(forms.page(listed), forms.page(beside), sizes=[400, 600])
        self.across.setStretchFactor(1, 1)
        if (widths := self._settings.value(_WIDTHS)) is not None:
            self.across.restoreState(widths)
        intro = forms.label(words.purpose(), "muted", wrap=True)
        forms.add(self.body, intro, self.notice, (self.across, 1))

    def _connect(self) -> None:
        self.notice.again.connect(self.refresh)
        self.box.textChanged.connect(self._filter)
        self.blank.asked.connect(self._asked)
        self.tree.itemSelectionChanged.connect(self._chosen)
        self.tree.itemDoubleClicked.connect(lambda *_: self._edit())
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            forms.on_key(self.tree, key, self._enter)
        forms.on_key(self.tree, QKeySequence.StandardKey.Delete, self._remove)
        does = (self.go, "warm"), (self.spread_on, "fleet"), (self.verify, "verify")
        last = (self.edit, "rename"), (self.fill_in, "recipes"), (self.remove, "folder-remove")
        lists.offer_buttons(self.tree, *does, *last)
        self.faults.wanted.connect(lambda line, _: self._edit(line))
        self.fill_in.triggered.connect(lambda *_: self._edit(form=True))
        self._listing.changed.connect(self._chosen)
        theme.follow(self, self._paint)

    def left(self) -> None:
        self._settings.setValue(_WIDTHS, self.across.saveState())

    def search(self) -> bool:
        return go_to_field(self.box)

    def refresh(self, *_: object) -> None:
        self._ask()

    def seek(self, name: str) -> None:
        """Choose the recipe in a file."""
        self._wanted = name
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
        listener = Listener(result=self._show, failed=self._failed)
        given = list(add), list(remove), unless
        self._ticket = self._engines.background(listener, words.listed, *given)

    def _failed(self, error: UserError) -> None:
        self.notice.tell(error, again=True)
        self._chosen()

    def _show(self, listed: list[Listed]) -> None:
        self.notice.tell(None)
        wanted, self._wanted = self._wanted, ""
        chosen = {wanted} if wanted else set(self.selected())
        self._listed = listed
        tree = self.tree
        with QSignalBlocker(tree):
            tree.clear()
            tree.addTopLevelItems([item_of(one) for one in listed])
            tree.expandAll()
            items = self._items()
            again = [item for item in items if item.data(NAME, OF)[0] in chosen] or items[:1]
            # What is on the list by itself and in a folder is one.
            for item in again[:1] if wanted else again:
                item.setSelected(True)
            if again:
                tree.setCurrentItem(again[0], 0, lists.KEEP)
                tree.scrollToItem(again[0])
        self._paint()
        tree.fit()
        self._hide()
        if any(item.isHidden() and item.data(NAME, OF)[0] == wanted for item in again):
            self.box.clear()  # what was just put there is to be seen
        self._text_of = ""
        self._filter()
        if self.isVisible() and self.window().focusWidget() is None:
            tree.setFocus()

    def _filter(self, *_: object) -> None:
        """Show what has all words of the filter, and have nothing chosen that is not shown."""
        found, tree = self._hide(), self.tree
        with QSignalBlocker(tree):
            for item in self._items():
                if item.isHidden():
                    item.setSelected(False)
            if not tree.selectedItems() and found:
                tree.setCurrentItem(found[0])
                found[0].setSelected(True)
        tree.viewport().update()
        self._chosen()

    def _hide(self) -> list[QTreeWidgetItem]:
        """Hide what has not all words of the filter, but no folder of what has; what has."""
        found: list[QTreeWidgetItem] = []
        sought = self.box.text().casefold().split()

        def has(item: QTreeWidgetItem) -> bool:
            text = " ".join(item.text(column) for column in (NAME, SOURCE, FILE)).casefold()
            return all(word in text for word in sought)

        for top in lists.items(self.tree):
            inner = _within(top)
            own = has(top)
            fitting = inner if own else [item for item in inner if has(item)]
            for item in inner:
                item.setHidden(item not in fitting)
            top.setHidden(not own and not fitting)
            found += [top, *fitting] if own else fitting
        return found

    def _items(self) -> list[QTreeWidgetItem]:
        return [one for top in lists.items(self.tree) for one in (top, *_within(top))]

    def _paint(self) -> None:
        shades = theme.shades()
        for item in self._items():
            good, folder = item.data(NAME, OF)[1:]
            name = "folder" if folder else "warm" if good else "error"
            item.setIcon(NAME, theme.icon(name, None if good else shades.warning))

    def selected(self) -> list[str]:
        """The paths of what is chosen, as it is listed."""
        return [item.data(NAME, OF)[0] for item in self._items() if item.isSelected()]

    def choose(self, path: str) -> None:
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
        recipes = (recipe for one in self._listed for recipe in one.recipes)
        return next((recipe for recipe in recipes if recipe.path == path), None)

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
        for way in (self.spread, self.spread_on):
            way.setEnabled(self.go.isEnabled())
        self.go.setText(self.tr("&Warm all…") if folder else self.tr("&Warm…"))
        every = self.tr("Choose a place, and compile all of them into it")
        self.go.setToolTip(tip(every if folder else self.tr("Choose a place, and compile into it")))
        self.name.setText(self._heading(paths, one))
        about = printable(one.about, 400) if isinstance(one, Known) else ""
        forms.tell(self.about, words.builtin_help() if paths == [BUILTIN] else about)
        forms.tell(self.facts, self._told(one))
        self.error.tell(one.error if one is not None else None)
        self.faults.show_faults(one.faults if isinstance(one, Known) else ())
        listing = self._listing
        there = listing.is_folder or listing.what == "file"
        self.verify.setEnabled(self.go.isEnabled() and there)
        text = self.tr("Measure what a fresh process finds of it in {}")
        text = text.format(printable(listing.place or "", 200))
        choose = self.tr("Choose a folder or a bundle on the left, to measure it there")
        self.verify.setToolTip(tip(text if there else choose))
        self._show_text(paths, one)

    def _told(self, one: Listed | Known | None) -> str:
        if isinstance(one, Listed) and one.recipes:
            variants = sum(known.variants for known in one.recipes)
            many = say.count(len(one.recipes), "recipe", "recipes")
            return self.tr("{} · {}").format(many, say.count(variants, "variant", "variants"))
        if not isinstance(one, Known):
            return ""
        parts = [words.source_title(one.source)] if one.good else []
        parts += [say.count(one.variants, "variant", "variants")] if one.variants else []
        parts += [words.recorded_on(one.machine)] if one.machine else []
        parts += [self.tr("last warmed {}").format(words.warmed_text(one))] if one.warmed else []
        file = "" if one.path == BUILTIN else printable(one.path, 4096)
        return "\n".join(filter(None, (file, " · ".join(parts))))

    def _show_text(self, paths: list[str], one: Listed | Known | None) -> None:
        """The text of a recipe that has a file; of anything else what it is."""
        path = one.path if isinstance(one, Known) and one.path != BUILTIN else ""
        if not path:
            self._read.forget()
            self._text_of = ""
            # What is wrong with it is said above.
            told = bool(paths) and (one is None or one.error is None)
            hidden = not paths and bool(self._listed and self.box.text().strip())
            if told:
                # A list that could not be read may have had some.
                alone = len(self._listed) <= 1 and self.notice.error is None
                self.blank.say(*words.instead_of_text(paths, alone))
                write = self.tr("Write a recipe…") if paths == [BUILTIN] else ""
                self.blank.offer(*((self.tr("Run a program…"), _RUN) if alone else (write, _WRITE)))
            elif hidden:
                text = self.tr("No recipe matches “{}”.").format(printable(self.box.text(), 120))
                self.blank.say(self.tr("Nothing matches the filter"), text)
                self.blank.offer(self.tr("Clear filter"), _CLEAR)
            self.below.setCurrentWidget(self.blank if told or hidden else self._none)
            return
        if path == self._text_of:
            return
        self._text_of = path
        faults = one.faults if isinstance(one, Known) else ()

        def show(text: str) -> None:
            self.text.setPlainText(text)
            self.text.mark({fault.line: fault.text for fault in faults})
            self.below.setCurrentWidget(self.text)

        # Why it cannot be read is said above it.
        listener = Listener(result=show, failed=lambda _: self.below.setCurrentWidget(self._none))
        self._read.call(listener, words.text, path)

    def _heading(self, paths: list[str], one: Listed | Known | None) -> str:
        if isinstance(one, Known):
            name = words.name_of(one.path, one.name)
            count = say.count(len(one.faults), "fault", "faults")
            return f"{name}: {count}" if one.faults else name
        if isinstance(one, Listed):
            return printable(one.path, 400)
        return self.tr("{} chosen").format(len(paths)) if paths else ""

    def _edit(self, line: int = 1, *, form: bool = False) -> None:
        paths = self.selected()
        if len(paths) == 1 and isinstance(self.of(paths[0]), Known) and paths[0] != BUILTIN:
            self.editing.emit(paths[0], line, form)

    def _asked(self, what: str) -> None:
        if what == _CLEAR:
            self.box.clear()
            self.tree.setFocus()
        elif what == _RUN:
            self.running.emit()
        else:
            self.beginning.emit(words.FORM)

    def _spread(self, *_: object) -> None:
        self.spreading.emit(self.selected())

    def _enter(self) -> None:
        """What is chosen is warmed, or corrected where that cannot be."""
        (self.go if self.go.isEnabled() else self.edit).click()

    def _remove(self) -> None:
        if self.remove.isEnabled():
            self._ask(remove=self.selected())

    def _choose_files(self) -> None:
        kinds = self.tr("Recipes (*.toml);;All files (*)")
        choose_files(self, self.tr("Add recipes"), "", kinds, self.add)

    def _choose_folder(self) -> None:
        choose_folder(self, self.tr("Add a folder of recipes"), "", lambda path: self.add([path]))


def _within(top: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    return [item for row in range(top.childCount()) if (item := top.child(row))]


def _dress(action: QAction, icon: str) -> None:
    action.setIcon(theme.icon(icon))
