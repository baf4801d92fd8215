"""What can be wrong with a window or a dialog for whoever cannot see it, has no mouse, or has a
small screen: names, the way of Tab, letters that Alt goes by, texts that are cut.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QCheckBox,
    QComboBox,
    QDialog,
    QGroupBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMainWindow,
    QMenu,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QScrollBar,
    QTabBar,
    QTextBrowser,
    QToolButton,
    QWidget,
)

from tests.shots.stage import turn
from torchkeeper.gui.window import Window

#: More controls than any page has.
_MOST = 400
#: More links than a text has.
_LINKS = 60
#: Pixels that a field has beside its text.
_BESIDE = 8
_TEXTS = (QLabel, QAbstractButton)


def shown(root: QWidget) -> Iterator[QWidget]:
    """The widgets that somebody sees, in whole or in part."""
    for widget in root.findChildren(QWidget):
        if widget.isVisible() and widget.window() is root and not widget.visibleRegion().isEmpty():
            yield widget


def called(widget: QWidget) -> str:
    """What a widget is called in a report."""
    text = widget.text() if isinstance(widget, _TEXTS) else ""
    return f"{type(widget).__name__} “{widget.accessibleName() or text or widget.objectName()}”"


def focusable(widget: QWidget) -> bool:
    """Whether Tab goes to it."""
    return bool(
        widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and widget.isEnabled()
        and widget.focusProxy() is None
        and not isinstance(widget.parentWidget(), (QComboBox, QAbstractSpinBox))
    )


def unnamed(root: QWidget) -> list[str]:
    """Controls that a screen reader has no name for, and windows without a title."""
    found = []
    if isinstance(root, (QDialog, QMainWindow)) and not root.windowTitle().strip():
        found.append(f"no name: the title of {type(root).__name__}")
    for widget in shown(root):
        if not focusable(widget) or isinstance(widget, QScrollBar):
            continue
        text = widget.text() if isinstance(widget, QAbstractButton) else ""
        if not (widget.accessibleName().strip() or text.strip()):
            found.append(f"no name: {called(widget)} in {called(widget.parentWidget() or root)}")
    return found


def unexplained(root: QWidget) -> list[str]:
    """Buttons of an icon only that say nowhere what they do."""
    return [
        f"no tooltip: {called(widget)}"
        for widget in shown(root)
        if isinstance(widget, QAbstractButton)
        and not widget.icon().isNull()
        and focusable(widget)
        and not (widget.toolTip() or _wordy(widget))
    ]


def _wordy(button: QAbstractButton) -> bool:
    if isinstance(button, QToolButton):
        only = Qt.ToolButtonStyle.ToolButtonIconOnly
        return bool(button.text()) and button.toolButtonStyle() != only
    return bool(button.text())


# The way of Tab.


def place_of(widget: QWidget, root: QWidget, other: QWidget) -> QRect:
    """Where it is in the window; what is scrolled is where it scrolls, beside what is not."""
    above = widget.parentWidget()
    while above is not None and above is not root:
        if isinstance(above, QScrollArea) and not above.isAncestorOf(other):
            widget = above
        above = above.parentWidget()
    return QRect(widget.mapTo(root, QPoint(0, 0)), widget.size())


def area_of(widget: QWidget, root: QWidget) -> str:
    """Which part of the window it is in; a dialog is one."""
    if not isinstance(root, Window):
        return "page"
    parts = (
        ("toolbar", root.tools), ("sidebar", root.sidebar), ("inspector", root.inspector_frame),
        ("page", root.pages), ("status bar", root.statusBar()),
    )  # fmt: skip
    return next((name for name, part in parts if part.isAncestorOf(widget)), "bars")


def in_order(root: QWidget) -> list[QWidget]:
    """What Tab goes to, one after the other; what had the focus has it again."""
    found: list[QWidget] = []
    root.activateWindow()
    turn(0.02)
    before = root.focusWidget()
    if isinstance(root, Window):
        root.tools.setFocus()
    elif before is not None:
        found.append(before)
    within = 0
    for _ in range(_MOST):
        at = root.focusWidget()
        QTest.keyClick(at if at is not None else root, Qt.Key.Key_Tab)
        after = root.focusWidget()
        # In a text, Tab goes from one link to the next.
        within = within + 1 if after is at and isinstance(at, QTextBrowser) else 0
        if after is None or (after in found and not 0 < within < _LINKS):
            break
        if not within:
            found.append(after)
    if before is not None:
        before.setFocus()
    return found


def disorder(root: QWidget) -> list[str]:
    """Where Tab leaves a part of the window before all of it was visited, or goes back up in it."""
    wanted = [x for x in shown(root) if focusable(x)]
    widgets = in_order(root)
    # What came meanwhile may have been passed.
    missed = [x for x in shown(root) if focusable(x) and x in wanted and x not in widgets]
    found = [f"tab order: {called(x)} is never reached" for x in missed]
    if isinstance(root, Window):
        found += _areas_twice(root, widgets)
    ups = []
    ring = [*widgets, *widgets[:1]] if not isinstance(root, Window) else widgets
    for before, after in pairwise(ring):
        if area_of(before, root) != "page" or area_of(after, root) != "page":
            continue
        one, other = place_of(before, root, after), place_of(after, root, before)
        beside = other.left() >= one.right() or one.left() >= other.right()
        if other.bottom() < one.top() and not beside:
            ups.append((other.top(), f"tab order: from {called(before)} up to {called(after)}"))
    if not isinstance(root, Window) and ups:
        # Around the ring, there is one way from the end to the beginning.
        ups.remove(min(ups))
    return found + [text for _, text in ups]


def _areas_twice(window: Window, widgets: list[QWidget]) -> list[str]:
    areas = [area_of(widget, window) for widget in widgets]
    visits = [name for at, name in enumerate(areas) if not at or areas[at - 1] != name]
    # Where the chain begins is of no matter: it is a ring.
    ring = visits[:-1] if len(visits) > 1 and visits[-1] == visits[0] else visits
    return [
        f"tab order: {name} is visited {count} times: {visits}"
        for name, count in Counter(ring).items()
        if count > 1
    ]


def unfocused(dialog: QWidget) -> list[str]:
    """A dialog in which no key does anything before Tab was pressed."""
    at = dialog.focusWidget()
    if at is None or not at.isVisible() or not at.isEnabled():
        return [f"no focus: {type(dialog).__name__} has it at {at}"]
    return []


# Letters that Alt goes by.


def letters(root: QWidget) -> list[str]:
    """Letters that Alt goes by, of two things that are shown at once: it does neither."""
    who: dict[str, list[str]] = defaultdict(list)
    for widget in shown(root):
        if isinstance(widget, QLabel):
            text = widget.text() if widget.buddy() is not None else ""
        elif isinstance(widget, (QAbstractButton, QGroupBox)) and widget.isEnabled():
            text = widget.title() if isinstance(widget, QGroupBox) else widget.text()
        else:
            text = ""
        _note(who, text)
        if isinstance(widget, QTabBar):
            for number in range(widget.count()):
                _note(who, widget.tabText(number))
    if isinstance(root, Window):
        for action in root.menuBar().actions():
            _note(who, action.text())
    return _twice(who)


def letters_of(actions: list[QAction]) -> list[str]:
    """Letters of two items of one menu."""
    who: dict[str, list[str]] = defaultdict(list)
    for action in actions:
        if action.isVisible():
            _note(who, action.text())
    return _twice(who)


def _note(who: dict[str, list[str]], text: str) -> None:
    letter = QKeySequence.mnemonic(text).toString().rpartition("+")[2] if "&" in text else ""
    if letter:
        who[letter].append(text)


def _twice(who: dict[str, list[str]]) -> list[str]:
    return [f"one letter: {key} is of {texts}" for key, texts in who.items() if len(texts) > 1]


# Room.


def cut(root: QWidget) -> list[str]:
    """Texts that have less room than they need, and that nothing says in full."""
    found = []
    for widget in shown(root):
        if isinstance(widget, QLabel):
            short = bool(widget.text()) and widget.pixmap().isNull() and _short_label(widget)
        elif isinstance(widget, (QPushButton, QCheckBox, QRadioButton)):
            short = bool(widget.text()) and widget.sizeHint().width() > widget.width() + 1
        elif isinstance(widget, QToolButton):
            short = _wordy(widget) and widget.sizeHint().width() > widget.width() + 1
        elif isinstance(widget, QTabBar):
            arrows = [x for x in widget.findChildren(QToolButton) if x.isVisible()]
            short = widget.usesScrollButtons() and bool(arrows)
        elif isinstance(widget, QLineEdit):
            said = "" if widget.text() else widget.placeholderText()
            room = widget.contentsRect().width() - _BESIDE
            short = widget.fontMetrics().horizontalAdvance(said) > room
        elif isinstance(widget, QComboBox) and not widget.isEditable():
            short = widget.fontMetrics().horizontalAdvance(widget.currentText()) > widget.width()
        elif isinstance(widget, QHeaderView):
            found += _short_headings(widget)
            continue
        else:
            continue
        if short and not widget.toolTip():
            found.append(f"cut: {called(widget)} has {widget.width()}×{widget.height()}")
    return found


def _short_label(label: QLabel) -> bool:
    room, metrics = label.contentsRect(), label.fontMetrics()
    text = label.text().replace("&", "") if label.buddy() else label.text()
    if label.wordWrap():
        return label.heightForWidth(label.width()) > label.height() + 1
    wide = max(map(metrics.horizontalAdvance, text.splitlines() or [""]))
    return wide > room.width() + 1 or metrics.height() > room.height() + 2


def _short_headings(header: QHeaderView) -> list[str]:
    if header.orientation() != Qt.Orientation.Horizontal or header.model() is None:
        return []
    found = []
    for number in range(header.count()):
        text = str(header.model().headerData(number, header.orientation()) or "")
        tip = header.model().headerData(number, header.orientation(), Qt.ItemDataRole.ToolTipRole)
        size = header.sectionSize(number)
        if text and not tip and not header.isSectionHidden(number) and _seen(header, number):
            needed = header.fontMetrics().horizontalAdvance(text)
            if needed > size:
                found.append(f"cut: the heading “{text}” has {size} of {needed}")
    return found


def _seen(header: QHeaderView, number: int) -> bool:
    at = header.sectionViewportPosition(number)
    return at >= 0 and at + header.sectionSize(number) <= header.viewport().width()


# Menus.


def of_menu(menu: QMenu) -> list[str]:
    """What is wrong with the items of a menu, and of those in it."""
    name = menu.title().replace("&", "") or menu.objectName() or "context"
    found = [f"{fault} in the menu {name}" for fault in letters_of(menu.actions())]
    for action in menu.actions():
        if action.isSeparator():
            continue
        text = action.text().replace("&", "")
        if not text.strip():
            found.append(f"no name: an item of the menu {name}")
        inner = action.menu()
        if isinstance(inner, QMenu):
            found += of_menu(inner)
            continue
        if action.icon().isNull() and not action.isCheckable():
            found.append(f"no icon: “{text}” in the menu {name}")
        told = action.statusTip() or (menu.toolTipsVisible() and action.toolTip() != text)
        if not told and action.isEnabled():
            found.append(f"no tip: “{text}” in the menu {name}")
    return found
