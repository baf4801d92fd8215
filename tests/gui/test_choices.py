"""The wheel scrolls; it does not choose."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from pytestqt.qtbot import QtBot

from tests.gui.conftest import type_in
from torchkeeper import gui
from torchkeeper.gui import theme
from torchkeeper.gui.widgets.forms import Choice, Number


def test_the_wheel_leaves_what_is_chosen_and_goes_on_to_the_form(qtbot: QtBot) -> None:
    choice, number = Choice(), Number()
    choice.addItems(["one", "two", "three"])
    number.setValue(7)
    for control in (choice, number):
        qtbot.addWidget(control)
        control.show()
        control.setFocus()
        turn = QWheelEvent(
            QPointF(5, 5),
            QPointF(5, 5),
            QPoint(),
            QPoint(0, -120),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        control.event(turn)
        assert not turn.isAccepted()
    assert (choice.currentIndex(), number.value()) == (0, 7)


def test_a_number_that_may_not_be_is_refused_while_it_is_typed(qtbot: QtBot) -> None:
    for least, typed, shown in ((1, "0", "30 days"), (1, "100", "100 days"), (0, "0", "0 days")):
        number = Number(least, 3650)
        number.setSuffix(" days")
        number.setValue(30)
        qtbot.addWidget(number)
        number.show()
        number.setFocus()
        number.selectAll()
        type_in(qtbot, number, typed)
        assert number.text() == shown
        number.clearFocus()
        assert number.text() == shown, "and stays so"


@pytest.mark.qt_log_ignore("raise\\(\\)", "grabbing the", "SizeHints", extend=True)
def test_the_rows_of_a_list_are_easily_hit_and_a_line_between_them_is_thin(qtbot: QtBot) -> None:
    choice = Choice()
    choice.addItems(["one", "two"])
    choice.insertSeparator(1)
    qtbot.addWidget(choice)
    theme.look().dress()
    with qtbot.waitExposed(choice):
        choice.show()
    choice.showPopup()
    heights = [choice.view().sizeHintForRow(row) for row in range(3)]
    choice.hidePopup()
    assert heights[0] == heights[2] >= 24
    assert heights[1] < 12


def test_every_choice_of_the_window_is_one_that_the_wheel_passes_over() -> None:
    folder = Path(gui.__file__).parent
    bare = re.compile(r"= Q(ComboBox|SpinBox|DoubleSpinBox)\(")
    assert [path.name for path in folder.rglob("*.py") if bare.search(path.read_text())] == []
