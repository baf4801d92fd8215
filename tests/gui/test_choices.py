"""The wheel scrolls; it does not choose."""

from __future__ import annotations

import re
from pathlib import Path

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from pytestqt.qtbot import QtBot

from torchkeeper import gui
from torchkeeper.gui.choices import Choice, Number


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


def test_every_choice_of_the_window_is_one_that_the_wheel_passes_over() -> None:
    folder = Path(gui.__file__).parent
    bare = re.compile(r"= Q(ComboBox|SpinBox|DoubleSpinBox)\(")
    assert [path.name for path in folder.rglob("*.py") if bare.search(path.read_text())] == []
