"""Dialogs keep the size that they open with, and are at rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from tests.gui.conftest import OpenWindow, settle
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.widgets import forms

#: Layouts that follow a change; one that asks for the next never ends.
FEW = 20


class Counter(QObject):
    """Counts how often a dialog is laid out."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.LayoutRequest
        return False


def layouts(dialog: Dialog) -> int:
    """How many there are until nothing more is asked for; many where that never is."""
    counter = Counter()
    dialog.installEventFilter(counter)
    for _ in range(10 * FEW):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
    dialog.removeEventFilter(counter)
    return counter.count


@pytest.mark.slow
@pytest.mark.parametrize("action", ["clean-up", "add-server"])
def test_one_that_is_scrolled_is_at_rest(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, action: str
) -> None:
    window = open_window(fixture_cache)
    window.actions_[action].trigger()
    [dialog] = [one for one in window.findChildren(Dialog) if one.isVisible()]
    settle(qtbot)
    assert layouts(dialog) < FEW
    dialog.reject()


def test_one_keeps_its_size_and_its_buttons_whatever_it_says(qtbot: QtBot) -> None:
    dialog = Dialog(None, 400)
    warning, close = forms.label("", "error", wrap=True), forms.button("Close")
    dialog.body.addWidget(QLabel("one line"))
    dialog.buttons(close, pinned=(warning,))
    dialog.show()
    qtbot.waitExposed(dialog)
    before, at = dialog.size(), close.pos()
    for number in range(20):
        dialog.body.addWidget(QLabel(f"line {number}"))
    warning.setText("What is wrong is in sight.")
    assert layouts(dialog) < FEW
    assert (dialog.size(), close.pos()) == (before, at)
    assert warning.visibleRegion().boundingRect() == warning.rect()
    dialog.reject()
    dialog.deleteLater()


def test_what_is_being_taken_apart_hears_events_without_harm(qtbot: QtBot) -> None:
    inside = QLabel("some")
    scrolled = forms.Scrolled(inside)
    qtbot.addWidget(scrolled)
    vars(scrolled).clear()  # as Python does before Qt's part of it goes
    QCoreApplication.sendEvent(inside, QEvent(QEvent.Type.LayoutRequest))
