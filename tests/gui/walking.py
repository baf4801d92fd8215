"""Looks over every page of the window, and over every state that there is a picture of, as a
stranger would: names, order, cut texts, contrast, menus.

As a program (``python -m tests.gui.walking SCALE THEME [SCENE…]``) it prints what it finds as JSON:
a process has one scale. Without scenes it walks the pages.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSettings, QSize, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QMenu,
    QPushButton,
    QToolButton,
    QWidget,
)

import torchkeeper.gui
from tests.gui import drawn, faults
from tests.pace import LONG
from tests.shots import run as shots
from tests.shots import sample_overview
from tests.shots.sample_engines import SampleEngines
from tests.shots.stage import Stage, turn
from torchkeeper.gui import theme
from torchkeeper.gui.app import application
from torchkeeper.gui.chrome.palette import Palette
from torchkeeper.gui.pages import COMPARE, PAGES
from torchkeeper.gui.shots import prepare_screen
from torchkeeper.gui.theme import Theme
from torchkeeper.gui.treemap.view import Treemap
from torchkeeper.gui.window import PAGE, Window

#: The smallest window that all is to be seen in.
SMALL = QSize(1100, 700)
#: Seconds until late layouts are done.
_SETTLED = 0.03
#: And those until nothing moves any more.
_LATE = 0.4
_MAKER = "made in"


def makers() -> set[str]:
    """The modules that make menus."""
    app = Path(torchkeeper.gui.__file__).parent
    paths = (path for path in app.rglob("*.py") if "QMenu(" in path.read_text(encoding="utf-8"))
    return {".".join(("torchkeeper.gui", *path.relative_to(app).with_suffix("").parts))
            for path in paths}  # fmt: skip


def note_menus() -> None:
    """From now on every menu of the app knows which module made it."""
    for name in makers():
        module = importlib.import_module(name)
        assert module.QMenu is QMenu
        setattr(module, "QMenu", partial(made_in, name))  # noqa: B010


def made_in(name: str, *args: Any) -> QMenu:
    """A menu that knows it."""
    menu = QMenu(*args)
    menu.setProperty(_MAKER, name)
    return menu


class Walk(Stage):
    """Looks at each state instead of taking a picture of it.

    faults: what is wrong, by state; nothing where all is well. dialogs: the classes of those that
    were opened. menus: the modules that made those which were looked at. states: all that was seen.
    """

    def __init__(self, private: str, tone: Theme) -> None:
        super().__init__(private, private)
        self.faults: dict[str, list[str]] = {}
        self.dialogs: set[str] = set()
        self.menus: set[str] = set()
        self.states: list[str] = []
        self._tone = tone
        #: What was walked by Tab: a page with other controls is walked again.
        self._ways: set[tuple[str, ...]] = set()
        self._said: set[str] = set()
        self._seen: set[object] = set()

    def take(self, name: str, widget: QWidget, rest: float = 0.12) -> None:
        turn(rest)
        self.states.append(name)
        if theme.look().theme is not self._tone:
            theme.look().choose(self._tone)
            turn(0.01)
        found = self.look(widget)
        if found:
            # What is still being laid out is no fault.
            turn(_LATE)
            found = [fault for fault in self.look(widget) if fault in found]
        if isinstance(widget, QDialog):
            self.dialogs.add(type(widget).__name__)
        if isinstance(widget, QMenu):
            found += self._menu(widget)
        if isinstance(widget, Window) and widget.width() > SMALL.width():
            found += self._smaller(widget)
        self._note(name, found)

    def look(self, root: QWidget) -> list[str]:
        """What is wrong with what is shown of a window, a dialog or a menu."""
        texts = drawn.texts_of(root)
        found = [*faults.unnamed(root), *faults.unexplained(root), *faults.letters(root)]
        found += [*faults.cut(root), *drawn.small(texts)]
        veil = root.findChild(QWidget, "veil")
        if veil is None or not veil.isVisible():
            # What lies under a drop is dimmed, for what the frame says is read then.
            found += drawn.pale(root, texts, self._seen)
            found += drawn.red(root)
        palette = root.findChild(Palette)
        if not isinstance(root, QMenu) and not (palette is not None and palette.isVisible()):
            # Tab goes nowhere from a palette: it closes.
            found += self._by_tab(root)
        for button in faults.shown(root):
            if isinstance(button, (QPushButton, QToolButton)) and button.menu() is not None:
                button.menu().aboutToShow.emit()
                found += self._menu(button.menu())
        return found

    def _by_tab(self, root: QWidget) -> list[str]:
        page = root.pages.current if isinstance(root, Window) else type(root).__name__
        stops = tuple(faults.called(x) for x in faults.shown(root) if faults.focusable(x))
        if (page, *stops) in self._ways:
            return []
        found = faults.unfocused(root) if isinstance(root, QDialog) else []
        found += faults.disorder(root)
        if not found:
            self._ways.add((page, *stops))
        return found

    def _smaller(self, window: Window) -> list[str]:
        before = window.size()
        window.resize(SMALL)
        turn(_SETTLED)
        if faults.cut(window):
            turn(_LATE)
        found = [f"{fault} at {SMALL.width()}×{SMALL.height()}" for fault in faults.cut(window)]
        if window.width() > SMALL.width() or window.height() > SMALL.height():
            found.append(f"too large: the window has {window.width()}×{window.height()}")
        window.resize(before)
        turn(_SETTLED)
        return found

    def _menu(self, menu: QMenu) -> list[str]:
        for one in (menu, *(x.menu() for x in menu.actions())):
            if isinstance(one, QMenu) and (name := one.property(_MAKER)):
                self.menus.add(name)
        return faults.of_menu(menu)

    def pages(self, window: Window) -> None:
        """Look at every page, at its menus, and at what is behind the Menu key."""
        for page in (*PAGES, COMPARE):
            window.show_page(page)
            turn(0.4)
            found = self.look(window) + self._context_menus(window)
            self._note(f"page {page}", found + self._smaller(window))
        found = []
        for action in window.menuBar().actions():
            menu = action.menu()
            assert isinstance(menu, QMenu)
            menu.aboutToShow.emit()
            found += self._menu(menu)
        self._note("menu bar", found)

    def _context_menus(self, window: Window) -> list[str]:
        found = []
        custom = Qt.ContextMenuPolicy.CustomContextMenu
        for widget in list(faults.shown(window)):
            if widget.contextMenuPolicy() != custom and not isinstance(widget, Treemap):
                continue
            at = widget.rect().center()
            why = QContextMenuEvent.Reason.Keyboard
            QApplication.sendEvent(widget, QContextMenuEvent(why, at, widget.mapToGlobal(at)))
            menu = QApplication.activePopupWidget()
            if isinstance(menu, QMenu):
                found += self._menu(menu)
                menu.close()
                turn()
        return found

    def _note(self, name: str, found: Iterable[str]) -> None:
        # What is in many states is said of the first.
        fresh = [fault for fault in dict.fromkeys(found) if fault not in self._said]
        self._said.update(fresh)
        if fresh:
            self.faults[name] = fresh


def opened(settings: QSettings, engines: SampleEngines | None = None) -> Window:
    """A window over the samples, as large as on a laptop."""
    engines = engines or SampleEngines()
    engines.all_answer = True
    engines.overviewed = sample_overview.rows(50_000, 21_000_000_000)
    settings.setValue(PAGE, "entries")
    window = Window(settings, engines)
    window.resize(1360, 800)
    window.show()
    window.later.start()
    turn(LONG, lambda: window.later.over and window.entries.rowCount() > 0)
    assert window.later.over
    return window


def _pages(walk: Walk, private: Path) -> dict[str, int]:
    """Walk the pages; how often Tab stops on each."""
    window = opened(QSettings(str(private / "s.ini"), QSettings.Format.IniFormat))
    window.table.go_to_row(0)
    stops = dict.fromkeys((*PAGES, COMPARE), 0)
    for page in stops:
        window.show_page(page)
        turn(0.3)
        stops[page] = len(faults.in_order(window))
    walk.pages(window)
    walk.close(window)
    return stops


def main() -> None:
    """As a program."""
    scale, tone, *scenes = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        prepare_screen(folder, int(scale))
        note_menus()
        application()
        theme.look().choose(Theme(tone))
        walk = Walk(folder, Theme(tone))
        stops = {} if scenes else _pages(walk, Path(folder))
        for scene in scenes:
            shots.SCENES[scene](walk)
        told = {"faults": walk.faults, "stops": stops, "dialogs": sorted(walk.dialogs),
                "menus": sorted(walk.menus), "states": walk.states}  # fmt: skip
        print(json.dumps(told))
        assert isinstance(QApplication.instance(), QApplication)


if __name__ == "__main__":
    main()
