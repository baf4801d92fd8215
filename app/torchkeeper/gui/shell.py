"""What the main window looks like; what is not seen at first is made on demand, or when idle."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QPoint, QRectF, QSettings, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QActionGroup, QContextMenuEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QMainWindow, QMenu, QSizePolicy, QToolBar, QWidget

from torchkeeper.gui import actions, taborder, theme
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.chrome.bars import ErrorBar, NoteBar, OwnersBar, UndoBar
from torchkeeper.gui.chrome.head import Head, MenuBar
from torchkeeper.gui.chrome.split import InspectorFrame, InspectorSplitter
from torchkeeper.gui.chrome.statusline import ApartLine, StatusBar, Trash
from torchkeeper.gui.context import Context, late
from torchkeeper.gui.idle import IdleTasks
from torchkeeper.gui.jobs.following import Following, Notifier
from torchkeeper.gui.jobs.model import JobsModel
from torchkeeper.gui.pages import ENTRIES
from torchkeeper.gui.pages.stack import Pages
from torchkeeper.gui.places.discovery import Discovery, Recent
from torchkeeper.gui.places.model import PlacesModel
from torchkeeper.gui.sidebar.pane import Sidebar
from torchkeeper.gui.table.chosen import Keyed
from torchkeeper.gui.table.columns import Columns, GroupBy, SortBy
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.rows import shown_name
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.gui.treemap.splitter import MapSplitter
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.emptystate import EmptyState

if TYPE_CHECKING:
    from torchkeeper.gui.chrome.completing import Completing
    from torchkeeper.gui.chrome.palette import Palette
    from torchkeeper.gui.closing import Closing
    from torchkeeper.gui.desktop.dragging import DragOut
    from torchkeeper.gui.desktop.dropping import Drops
    from torchkeeper.gui.flows import Flows
    from torchkeeper.gui.inspector.details import Need
    from torchkeeper.gui.inspector.pane import Inspector
    from torchkeeper.gui.jobs.operations import Operations
    from torchkeeper.gui.places.listing import Listing
    from torchkeeper.gui.places.servers import Servers
    from torchkeeper.gui.sidebar.deferred import DeferredSidebar
    from torchkeeper.gui.table.mimedata import RowCopier
    from torchkeeper.gui.verdicts.controller import VerdictController

#: The modules of the parts that are made later; loading them is a step each.
_LATER = ("inspector.code_edit", "inspector.sources", "inspector.details", "inspector.pane",
          "pages.overview.page")  # fmt: skip


class Shell(QMainWindow):
    """The models and the widgets; ``Window`` makes them work, and answers what they ask for."""

    inspector_made = Signal()

    actions_: actions.Actions
    context: Context
    closing: Closing
    discovery: Discovery
    listing: Listing
    following: Following
    #: Made when the first rows are shown: before, there is nothing to drag.
    dragging: DragOut
    _here: VerdictController | None = None
    _notifier: Notifier | None = None
    _more: DeferredSidebar | None = None

    def __init__(self, settings: QSettings | None = None, engines: Engines | None = None) -> None:
        super().__init__()
        self.setWindowTitle("Torchkeeper")
        self.setAcceptDrops(True)
        self.settings = settings or QSettings()
        self.engines = engines or Engines()
        self.engines.setParent(self)
        self.jobs = JobsModel(self)
        self.entries = EntriesModel(self)
        self.keyed = Keyed(self.entries, self)
        self.group_by = GroupBy(self.entries, self.settings, self)
        self.places = PlacesModel(self.settings, self)
        self.later = IdleTasks(self)
        self._inspector: Inspector | None = None
        #: Pixels that the words on the toolbar take, while they are not there.
        self._words_width = 0

    @property
    def place(self) -> str | None:
        """The path of the place that is shown."""
        return self.listing.place

    def lay_out(self) -> None:
        """Make the widgets and put them in their places."""
        self.table = EntryTable(self.entries)
        self.columns = Columns(self.table, self.settings)
        self.sort_by = SortBy(self.table)
        self.empty = EmptyState()
        self.sidebar = Sidebar(self.places, self.settings)
        self.places_pane = self.sidebar.places
        self.head = Head()
        self.owners_bar = OwnersBar()
        self.error_bar = ErrorBar()
        self.note_bar = NoteBar()
        self.undo_bar = UndoBar()
        self.inspector_frame = InspectorFrame(self.settings)
        self.status = StatusBar()
        self.totals = self.status.totals
        self.trash_label = Trash()
        self.stack = forms.stack(self.empty, self.table)
        self.map_splitter = MapSplitter(self.settings, self.stack, self._make_map)
        self.apart_line = ApartLine()
        parts = self.head, self.owners_bar, (self.map_splitter, 1), self.apart_line
        self.pages = Pages(forms.frame("pane", forms.column(*parts, gap=0)))
        bars = self.error_bar, self.note_bar, self.undo_bar
        self.top = forms.column(*bars, (self.pages, 1), gap=0)
        page = forms.frame("pane", self.top)
        self.across = InspectorSplitter(self.settings, self.sidebar, page, self.inspector_frame)
        self.setCentralWidget(self.across)
        self.setStatusBar(self.status)
        self.status.insertPermanentWidget(1, self.trash_label)
        room = self.screen().availableSize()
        # Wide enough for the inspector, where the screen is.
        self.resize(min(1640, room.width() - 40), min(900, room.height() - 60))
        for name in _LATER:
            self.later.add(partial(importlib.import_module, f"torchkeeper.gui.{name}"))
        self.later.add(lambda: self.inspector, self.map_splitter.restore)
        # A tool button that Qt makes in the box takes two milliseconds.
        self.later.add(lambda: forms.clearable(self.head.box), lambda: self.completing)

    def make_menus(self) -> None:
        """Make the menu bar and the toolbar. What is in the menus is seen by nobody yet."""
        self.setMenuBar(MenuBar(self._take_refuge))
        menus = {name: self.menuBar().addMenu(actions.tr(title)) for name, title in actions.MENUS}
        self.tools = bar = QToolBar(self.tr("Main tools"))
        bar.setObjectName("tools")
        bar.setMovable(False)
        bar.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        bar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        bar.setIconSize(bar.iconSize().scaled(18, 18, Qt.AspectRatioMode.KeepAspectRatio))
        for spec in self.actions_.toolbar():
            if spec.id == "refresh":
                spacer = QWidget()
                spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
                bar.addWidget(spacer)
            bar.addAction(self.actions_[spec.id])
        self.addToolBar(bar)
        for name, menu in menus.items():
            self.later.add(partial(self._fill_menu, name, menu))
        # To ask Qt for a widget it has made itself takes 10 ms the first time.
        self.later.add(partial(self._make_reachable, bar))

    def fit_tools(self) -> None:
        """Leave the words on the toolbar away where they have no room: nothing drops out of it."""
        bar, whole = self.tools, Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        wordy = bar.toolButtonStyle() == whole
        needed = bar.sizeHint().width() + (0 if wordy else self._words_width)
        if wordy and needed > self.width():
            bar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
            if (layout := bar.layout()) is not None:
                layout.invalidate()  # before it is shown it does not notice
            self._words_width = needed - bar.sizeHint().width()
        elif not wordy and needed <= self.width():
            bar.setToolButtonStyle(whole)

    def focusNextPrevChild(self, forward: bool, /) -> bool:
        # Qt's own order is that in which things were made; here most are when they are needed.
        at = self.focusWidget()
        if at is not None and not (at.isVisible() and at.isEnabled()):
            # Nobody has gone from it: it was hidden, or switched off.
            return self._take_refuge(at)
        return taborder.step(self, at, forward=forward) or super().focusNextPrevChild(forward)

    def _take_refuge(self, at: QWidget) -> bool:
        """Give the focus to what is beside something that is gone, or to the table or the page; a
        button of the toolbar would do with the next key what nobody meant.
        """
        parts = self.following.open, self.inspector_frame, self.sidebar, self.pages.page
        for part in filter(None, parts):
            near = taborder.refuge(part, at) if part.isVisible() else None
            if near is not None:
                if part is self.pages.page and near is next(taborder.stops(part)):
                    break  # nothing is left around it: as where one comes to the page
                near.setFocus(Qt.FocusReason.OtherFocusReason)
                return True
        return self.focus_page()

    def focus_page(self) -> bool:
        """Give the focus to the table, or to the first control of the page that is shown."""
        shown = self.pages.page
        page: QWidget | None = shown or self.stack.currentWidget()
        if page is None or not page.isVisible():
            return False
        of_page = (shown.first if shown else None) or next(taborder.stops(page), None)
        first = self.table if page is self.table else of_page or page
        first.setFocus(Qt.FocusReason.OtherFocusReason)
        return True

    def keep_focus(self, before: QWidget | None, among: QWidget) -> None:
        """What had the focus ``before``, and was ``among`` what was shown, may be gone by now."""
        if before is None or not (before is among or among.isAncestorOf(before)):
            return
        at = self.focusWidget()
        if at is None or not at.isVisible():
            self.focus_page()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit_tools()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        super().keyPressEvent(event)
        if event.key() == Qt.Key.Key_Escape:
            self.error_bar.clear()  # what has the keyboard had no use for it
        shifted = event.modifiers() == Qt.KeyboardModifier.ShiftModifier
        if event.key() == Qt.Key.Key_F10 and shifted and (at := self.focusWidget()) is not None:
            # As the menu key, which not every keyboard has.
            cursor = at.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle)
            within = QRectF(cursor).toRect().center()
            where = within, at.mapToGlobal(within)
            menu = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, *where)
            QCoreApplication.sendEvent(at, menu)

    def _fill_menu(self, name: str, menu: QMenu) -> None:
        menu.setToolTipsVisible(True)
        self.actions_.fill(menu, self.actions_.menu(name))
        if name == "file":
            self.recent.put_into(menu, self.actions_["import"])
        if name == "view":
            menu.addSeparator()
            for inner, words in (actions.ONLY_MENU, actions.GROUP_MENU, actions.ENVIRONMENT_MENU):
                self.actions_.fill(menu.addMenu(actions.tr(words)), self.actions_.menu(inner))
            self.sort_by.fill(menu.addMenu(self.tr("Sort &by")))
            self.columns.fill(menu.addMenu(self.tr("&Columns")))
            self._make_themes(menu.addMenu(self.tr("&Theme")))

    def _make_reachable(self, bar: QToolBar) -> None:
        for spec in self.actions_.toolbar():
            button = bar.widgetForAction(self.actions_[spec.id])
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setAccessibleName(self.actions_[spec.id].iconText())

    def _make_themes(self, menu: QMenu) -> None:
        group = QActionGroup(self)
        for which in theme.Theme:
            action = QAction(which.called, group)
            action.setStatusTip(self.tr("Use this look from now on"))
            action.setCheckable(True)
            theme.follow(action, partial(_tick, action, which))
            action.triggered.connect(lambda _checked=False, which=which: self.choose_theme(which))
            menu.addAction(action)

    def choose_theme(self, which: theme.Theme) -> None:
        """Use this look from now on."""
        theme.look().choose(which)
        self.settings.setValue("look/theme", which.value)

    @property
    def inspector(self) -> Inspector:
        """What there is to know of the selection; made when it is first asked for."""
        if self._inspector is None:
            from torchkeeper.gui.inspector.pane import Inspector

            self._inspector = Inspector(self.engines, self.needed)
            self.keyed.found.connect(self._inspector.show_names)
            self.inspector_frame.hold(self._inspector)
            self.inspector_made.emit()
        return self._inspector

    def _make_map(self) -> QWidget:
        from torchkeeper.gui.treemap.pane import MapPane

        made = MapPane(self.table, partial(self.group_by.group, "kind"))
        made.close_button.clicked.connect(lambda: self.map_splitter.want(False))
        made.view.menu_asked.connect(lambda at: self.open_menu("entries", made.view, at))

        def put_in_order() -> None:
            order = self.head.box, made.up_button, made.close_button, made.view, self.table
            for before, after in pairwise(order):
                QWidget.setTabOrder(before, after)

        self.map_splitter.placed.connect(put_in_order)
        return made

    def needed(self, needs: Sequence[Need]) -> dict[Need, str]:
        """The names of needed entries that are in the place; of more the inspector hears later."""
        found = self.keyed.of({(need.kind, need.key) for need in needs})
        names = {which: shown_name(entries[0]) for which, entries in found.items()}
        return {n: names[n.kind, n.key] for n in needs if (n.kind, n.key) in names}

    def open_menu(self, name: str, over: QWidget, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        # Until the one that is chosen is done, which is after the menu has gone.
        self.actions_.over = name
        menu.aboutToHide.connect(lambda: QTimer.singleShot(0, self, self._menu_over))
        self.update_now()
        self.actions_.fill(menu, self.actions_.context(name))
        if name in actions.INNER:
            inner, words = actions.INNER[name]
            menu.addSeparator()
            specs = self.actions_.menu(inner) or self.actions_.context(inner)
            self.actions_.fill(menu.addMenu(actions.tr(words)), specs)
        menu.popup(over.mapToGlobal(at))

    def _menu_over(self) -> None:
        self.actions_.over = ""
        self.update_soon()

    @cached_property
    def operations(self) -> Operations:
        """What starts jobs; made when it is first asked for."""
        from torchkeeper.gui.jobs.operations import Operations

        made = Operations(self.engines, self.jobs, self)
        made.changed.connect(self.discovery.changed)
        self.following.attend(made)
        return made

    @cached_property
    def copier(self) -> RowCopier:
        """What puts selected entries on the clipboard; made when it is first asked for."""
        from torchkeeper.gui.table.mimedata import RowCopier

        return RowCopier(self.table, lambda: self.place)

    @cached_property
    def flows(self) -> Flows:
        """The dialogs between an action and its job; made when they are first asked for."""
        from torchkeeper.gui.flows import Flows

        made = Flows(self.context, self.note_bar)
        made.looked.connect(self.recent.note)
        made.results.begun.connect(self.following.show)
        return made

    @cached_property
    def servers(self) -> Servers:
        """The dialogs about servers; made when one is first asked for."""
        from torchkeeper.gui.places.servers import Servers

        made = Servers(self.context, self.discovery)
        made.renamed.connect(self.show_title)
        return made

    @property
    def here(self) -> VerdictController:
        """What is about verdicts; made when it is first asked for."""
        if self._here is None:
            from torchkeeper.gui.verdicts.controller import VerdictController

            self._here = made = VerdictController(self.context, self.head)
            self.tools.insertWidget(self.actions_["refresh"], made.chooser)
            self.status.count(made.bar)
            # What it says is about the place.
            made.bar.setVisible(self.pages.current == ENTRIES)
            # The button is as wide as what it says.
            made.machines.changed.connect(self.fit_tools)
            made.preparing.connect(late(lambda: self.flows.prepare))
            self.fit_tools()
        return self._here

    @cached_property
    def completing(self) -> Completing:
        """What helps with the filter; made when the first rows are shown."""
        from torchkeeper.gui.chrome.completing import Completing

        return Completing(self.head, self.table)

    @cached_property
    def palette_(self) -> Palette:
        """The command palette; made when it is first asked for."""
        from torchkeeper.gui.chrome.palette import Palette

        self.later.finish()  # the menus are filled
        return Palette(self.context, self.menuBar(), self.actions_.go, self.focus_page)

    @cached_property
    def recent(self) -> Recent:
        """The bundles that were opened or made lately; made when it is first asked for."""
        return Recent(self.context)

    @property
    def notifier(self) -> Notifier:
        """What tells the desktop of jobs that have ended; made when it is first asked for."""
        if self._notifier is None:
            self._notifier = made = Notifier(self.context, lambda: self.closing.in_background)
            made.opened.connect(self.following.show_log)
            self.update_soon()
        return self._notifier

    @property
    def more(self) -> DeferredSidebar:
        """What the sidebar has besides pages and places; made when it is first asked for."""
        if self._more is None:
            from torchkeeper.gui.sidebar.deferred import DeferredSidebar

            parts = self.context, self.sidebar, self.discovery, self.flows
            self._more = made = DeferredSidebar(*parts)
            view = made.environments.list.viewport()
            made.menu_asked.connect(lambda at: self.open_menu("environments", view, at))
            on = made.targets.list.viewport()
            made.targets_asked.connect(lambda at: self.open_menu("targets", on, at))
        return self._more

    @cached_property
    def drops(self) -> Drops:
        """What becomes of what is dropped; made when something is first dragged over the window."""
        from torchkeeper.gui.desktop.dropping import Drops

        made = Drops(self, self.pages, self.more.taking)
        made.said.connect(self.more.say)
        made.back.connect(late(lambda: self.dragging.take_here))
        return made

    if TYPE_CHECKING:  # what the window answers

        def show_title(self, path: str) -> None: ...

        def update_soon(self, *_: object) -> None: ...

        def update_now(self) -> None: ...


def _tick(action: QAction, which: theme.Theme) -> None:
    action.setChecked(theme.look().theme is which)
