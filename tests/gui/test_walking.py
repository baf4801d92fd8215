"""What the walker finds: each kind of fault in a dialog, a menu or a window that has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QLabel,
    QLineEdit,
    QListWidget,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QTabWidget,
    QToolButton,
    QTreeWidget,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from tests.gui import drawn, walking
from tests.gui.conftest import PATIENCE
from tests.shots.stage import turn
from torchkeeper.gui import theme
from torchkeeper.gui.theme import Theme
from torchkeeper.gui.treemap.layout import Tile
from torchkeeper.gui.treemap.view import Treemap

PALE = QColor("#d8d8d8")


class Painted(QWidget):
    """Writes by itself, in a colour and a size."""

    def __init__(self, colour: QColor, pixels: int = 14) -> None:
        super().__init__()
        self._colour, self._pixels = colour, pixels
        self.setMinimumSize(200, 40)

    def paintEvent(self, _event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            font = painter.font()
            font.setPixelSize(self._pixels)
            painter.setFont(font)
            painter.fillRect(self.rect(), QColor("#ffffff"))
            painter.setPen(self._colour)
            painter.drawText(10, 24, "Painted words")


def _nameless(into: QVBoxLayout) -> None:
    into.addWidget(QLineEdit())


def _icon_only(into: QVBoxLayout) -> None:
    button = QToolButton()
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setAccessibleName("Open")
    filled = QPixmap(16, 16)
    filled.fill(QColor("#000000"))
    button.setIcon(QIcon(filled))
    into.addWidget(button)


def _letters(into: QVBoxLayout) -> None:
    into.addWidget(QPushButton("&Save"))
    into.addWidget(QCheckBox("&Several"))


def _fixed(widget: QWidget, wide: int, high: int) -> QWidget:
    widget.setFixedSize(wide, high)
    return widget


def _short_button(into: QVBoxLayout) -> None:
    into.addWidget(_fixed(QPushButton("A rather long text"), 40, 24))


def _short_label(into: QVBoxLayout) -> None:
    into.addWidget(_fixed(QLabel("A rather long text"), 40, 24))


def _short_lines(into: QVBoxLayout) -> None:
    label = QLabel("A rather long text that takes several lines where it is narrow")
    label.setWordWrap(True)
    into.addWidget(_fixed(label, 90, 24))


def _short_place(into: QVBoxLayout) -> None:
    edit = QLineEdit()
    edit.setAccessibleName("Filter")
    edit.setPlaceholderText("A rather long text")
    into.addWidget(_fixed(edit, 60, 24))


def _short_choice(into: QVBoxLayout) -> None:
    combo = QComboBox()
    combo.setAccessibleName("Which")
    combo.addItem("A rather long text")
    into.addWidget(_fixed(combo, 60, 24))


def _short_tabs(into: QVBoxLayout) -> None:
    tabs = QTabWidget()
    for number in range(8):
        tabs.addTab(QLabel("A page"), f"A rather long text {number}")
    into.addWidget(_fixed(tabs, 200, 60))


def _short_heading(into: QVBoxLayout) -> None:
    tree = QTreeWidget()
    tree.setAccessibleName("Table")
    tree.setHeaderLabels(["A rather long text", "Size"])
    tree.header().setMinimumSectionSize(10)
    tree.header().resizeSection(0, 30)
    into.addWidget(tree)


def _pale_label(into: QVBoxLayout) -> None:
    label = QLabel("Hardly to be seen")
    label.setStyleSheet("color: #d8d8d8; background: #ffffff")
    into.addWidget(label)


def _pale_painted(into: QVBoxLayout) -> None:
    into.addWidget(Painted(PALE))


def _pale_item(into: QVBoxLayout) -> None:
    items = QListWidget()
    items.setAccessibleName("List")
    items.addItem("An item")
    items.item(0).setForeground(PALE)
    into.addWidget(items)


def _small_painted(into: QVBoxLayout) -> None:
    into.addWidget(Painted(QColor("#000000"), 9))


def _upward(into: QVBoxLayout) -> None:
    one, two, three, four = (QPushButton(text) for text in ("One", "Two", "Three", "Four"))
    for button in (one, two, three, four):
        into.addWidget(button)
    for before, after in ((one, three), (three, two), (two, four)):
        QWidget.setTabOrder(before, after)


def _trap(into: QVBoxLayout) -> None:
    edit = QPlainTextEdit()
    edit.setAccessibleName("Text")
    into.addWidget(edit)
    into.addWidget(QPushButton("Behind it"))
    edit.setFocus()


def _titleless(into: QVBoxLayout) -> None:
    dialog = into.parentWidget()
    assert dialog is not None
    dialog.setWindowTitle("")


def _unfocused(into: QVBoxLayout) -> None:
    button = QPushButton("Go")
    button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    into.addWidget(button)


def _bad_menu(into: QVBoxLayout) -> None:
    button = QPushButton("More")
    menu = QMenu(button)
    menu.addAction("&Save")
    menu.addAction("&Several")
    menu.addAction("")
    button.setMenu(menu)
    into.addWidget(button)


BAD: list[tuple[Callable[[QVBoxLayout], None], list[str]]] = [
    (_nameless, ["no name: QLineEdit"]),
    (_titleless, ["no name: the title of QDialog"]),
    (_icon_only, ["no tooltip: QToolButton “Open”"]),
    (_letters, ["one letter: S is of"]),
    (_short_button, ["cut: QPushButton “A rather"]),
    (_short_label, ["cut: QLabel “A rather"]),
    (_short_lines, ["cut: QLabel “A rather"]),
    (_short_place, ["cut: QLineEdit “Filter"]),
    (_short_choice, ["cut: QComboBox “Which"]),
    (_short_tabs, ["cut: QTabBar"]),
    (_short_heading, ["cut: the heading “A rather"]),
    (_pale_label, ["pale: “Hardly to be seen”"]),
    (_pale_painted, ["pale: “Painted words”"]),
    (_pale_item, ["pale: “An item”"]),
    (_small_painted, ["small: “Painted words”"]),
    (_upward, ["tab order: from QPushButton “Three” up to QPushButton “Two”"]),
    (_trap, ["tab order: QPushButton “Behind it” is never reached"]),
    (_unfocused, ["no focus: QDialog"]),
    (_bad_menu, ["one letter: S is of", "no name: an item", "no icon: “Save”", "no tip: “Save”"]),
]


@pytest.fixture
def walk(qtbot: QtBot, tmp_path: Path) -> Iterator[walking.Walk]:
    before = theme.look().theme
    theme.look().choose(Theme.LIGHT)
    yield walking.Walk(str(tmp_path), Theme.LIGHT)
    theme.look().choose(before)


def _dialog() -> tuple[QDialog, QVBoxLayout]:
    dialog = QDialog()
    dialog.setWindowTitle("A dialog")
    return dialog, QVBoxLayout(dialog)


@pytest.mark.parametrize(("build", "faults"), BAD, ids=[build.__name__[1:] for build, _ in BAD])
def test_a_fault_is_found(
    walk: walking.Walk, build: Callable[[QVBoxLayout], None], faults: list[str]
) -> None:
    dialog, layout = _dialog()
    build(layout)
    dialog.show()
    walk.take("bad", dialog, 0.02)
    found = walk.faults.get("bad", [])
    for fault in faults:
        assert any(one.startswith(fault) for one in found), found
    dialog.close()


def test_nothing_is_found_where_nothing_is_wrong(walk: walking.Walk) -> None:
    dialog, layout = _dialog()
    layout.addWidget(QLabel("A text that fits"))
    layout.addWidget(Painted(QColor("#000000")))
    items = QListWidget()
    items.setAccessibleName("List")
    items.addItem("An item")
    layout.addWidget(items)
    for text in ("&One", "&Two"):
        layout.addWidget(QPushButton(text))
    dialog.show()
    walk.take("good", dialog, 0.02)
    assert walk.faults == {}
    assert walk.dialogs == {"QDialog"}
    dialog.close()


def test_what_is_drawn_is_known_wherever_it_is_kept(qtbot: QtBot, settings: QSettings) -> None:
    window = walking.opened(settings)
    entry = next(entry for entry in window.table.seen() if entry.torch)
    texts = {text.text for text in drawn.texts_of(window)}
    assert str(entry.torch) in texts, "the table keeps a picture of its rows"
    assert {"Overview", "Name"} <= texts, "delegates and headings"
    view = Treemap()
    view.resize(400, 200)
    view.show_tiles([Tile(("a",), "A large tile", 100), Tile(("b",), "Another", 80)])
    view.show()
    turn(0.02)
    found = {text.text: text for text in drawn.texts_of(view)}
    assert "A large tile" in found, "the map keeps a picture of its tiles"
    assert found["A large tile"].pixels >= drawn.SMALLEST
    assert drawn.pale(view, list(found.values())) == []
    view.close()
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    window.deleteLater()


@pytest.mark.qt_log_ignore("raise|grabbing the keyboard", extend=True)
def test_a_menu_knows_who_made_it(walk: walking.Walk) -> None:
    menu = walking.made_in(__name__, "&Menu")
    menu.addAction("Go").setStatusTip("Goes")
    menu.popup(menu.pos())
    walk.take("menu", menu, 0.02)
    assert walk.menus == {__name__}
    assert walk.faults == {"menu": ["no icon: “Go” in the menu Menu"]}
    menu.close()
    menu.deleteLater()
