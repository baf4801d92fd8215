"""The status bar: counts, and for a while a sentence in their place."""

from __future__ import annotations

from itertools import pairwise

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from torchkeeper.gui import theme
from torchkeeper.gui.chrome.head import Head
from torchkeeper.gui.chrome.statusline import Counts, StatusBar, VerdictBar

COUNTS = Counts(
    {"usable": 160_857, "conditional": 73_135, "unknown": 14_385, "unsafe": 31, "broken": 2,
     "stale": 124_528},
    {"2.9.1+cu128": 124_528}, {},
)  # fmt: skip


def shown(bar: StatusBar) -> list[str]:
    return [label.text() for label in bar.findChildren(QLabel) if label.isVisible()]


def test_a_sentence_takes_the_place_of_the_counts(qtbot: QtBot) -> None:
    bar = StatusBar()
    qtbot.addWidget(bar)
    bar.resize(700, 30)
    bar.totals.setText("36 entries")
    bar.show()
    assert shown(bar) == ["36 entries"]
    bar.showMessage("Drop to import it")
    # What comes, or is shown anew, meanwhile does not stand over it.
    bar.count(QLabel("10 usable"))
    bar.totals.setText("37 entries")
    bar.totals.setVisible(True)
    assert shown(bar) == ["Drop to import it"]
    bar.clearMessage()
    assert shown(bar) == ["37 entries", "10 usable"]


def test_what_has_no_room_is_cut_and_said_in_full(qtbot: QtBot) -> None:
    bar = StatusBar()
    qtbot.addWidget(bar)
    bar.totals.setText("544,836 entries · 1,204,118 files · 233.4 GB · 18,837 orphans")
    assert bar.totals.minimumSizeHint().width() < bar.totals.sizeHint().width()
    bar.resize(320, 30)
    bar.show()
    QApplication.processEvents()
    assert bar.totals.toolTip() == bar.totals.text()
    bar.resize(900, 30)
    QApplication.processEvents()
    assert bar.totals.toolTip() == ""


def test_a_ring_is_around_all_of_what_has_the_keyboard(qtbot: QtBot) -> None:
    theme.look().dress()
    bar, head = StatusBar(), Head()
    qtbot.addWidget(bar)
    qtbot.addWidget(head)
    head.beside.setText("Verified just now")
    head.beside.show()
    for top, button in ((bar, bar.activity), (head, head.beside)):
        top.resize(700, 60)
        top.show()
        top.activateWindow()
        button.setFocus()
        qtbot.waitUntil(button.hasFocus)
        image = top.grab(QRect(button.mapTo(top, QPoint()), button.size())).toImage()
        accent, middle = QColor(theme.shades().accent), image.height() // 2
        edges = image.pixelColor(0, middle), image.pixelColor(image.width() - 1, middle)
        assert edges == (accent, accent)


def test_numbers_of_verdicts_keep_their_room(qtbot: QtBot) -> None:
    bar = StatusBar()
    qtbot.addWidget(bar)
    verdicts = VerdictBar()
    bar.count(verdicts)
    bar.totals.setText("544,836 entries · 1,204,118 files · 233.4 GB")
    bar.show()
    verdicts.tell(COUNTS, "")
    for width in (300, 700, 1400):
        bar.resize(max(width, bar.minimumSizeHint().width()), 30)
        QApplication.processEvents()
        boxes = [button.geometry() for button in verdicts.buttons.values()]
        assert all(a.right() < b.left() for a, b in pairwise(boxes)), width
    assert verdicts.said.text() == "made by torch 2.9.1+cu128"
    assert verdicts.buttons["stale"].text() == "124,528 stale"


def test_a_filter_by_verdict_leaves_the_other_switches(qtbot: QtBot) -> None:
    verdicts = VerdictBar()
    qtbot.addWidget(verdicts)
    verdicts.resize(900, 30)
    verdicts.show()
    verdicts.mark("gemm is:broken")
    verdicts.tell(Counts({"broken": 2}, {}, COUNTS.verdicts), "")
    texts = {name: one.text() for name, one in verdicts.buttons.items() if one.isVisible()}
    others = {name: name for name in ("usable", "conditional", "unknown", "unsafe", "stale")}
    assert texts == {"broken": "2 broken", **others}, "no mark stands alone"
    assert verdicts.buttons["broken"].isChecked()
    assert verdicts.buttons["usable"].accessibleName() == "Show only usable entries"
    # Nothing matches any more, and what is filtered by can still be taken back.
    verdicts.tell(Counts({}, {}, COUNTS.verdicts), "")
    texts = {name: one.text() for name, one in verdicts.buttons.items()}
    assert texts == {"broken": "broken", **others}
    assert all(one.isVisible() for one in verdicts.buttons.values())
    # Words alone: what they leave nothing of is no switch.
    verdicts.mark("gemm")
    verdicts.tell(Counts({"usable": 7}, {}, COUNTS.verdicts), "")
    texts = {name: one.text() for name, one in verdicts.buttons.items() if one.isVisible()}
    assert texts == {"usable": "7 usable"}
