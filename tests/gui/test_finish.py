"""The finish of the window: marks beside their titles, texts with room, colours that follow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QPoint, QSettings, Qt
from PySide6.QtGui import QColor, QContextMenuEvent, QFont, QFontMetrics, QImage
from PySide6.QtWidgets import QApplication, QHeaderView, QMenu, QTreeWidget
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, key, settle
from tests.shots import samples
from tests.shots.sample_engines import SampleEngines
from torchkeeper.artifacts.entry import KINDS
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui import theme
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.table.rows import COMPILE, DEVICE, MTIME, NAME, SIZE
from torchkeeper.gui.theme import Theme
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.window import Window


@pytest.fixture
def engines() -> SampleEngines:
    return SampleEngines()


@pytest.fixture
def window(qtbot: QtBot, settings: QSettings, engines: SampleEngines) -> Iterator[Window]:
    """The window over the samples, once it shows them."""
    made = Window(settings, engines)
    made.resize(1360, 800)
    made.show()
    qtbot.waitUntil(lambda: made.entries.rowCount() > 0, timeout=PATIENCE)
    chosen = theme.look().theme
    yield made
    theme.look().choose(chosen)
    made.close_surely()
    qtbot.waitUntil(lambda: not engines.running, timeout=PATIENCE)
    made.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def _marked(header: QHeaderView, column: int) -> list[int]:
    """The x, within a section, of the pixels that the sort mark has changed."""
    with_mark = header.grab().toImage()
    header.setSortIndicatorShown(False)
    without = header.grab().toImage()
    header.setSortIndicatorShown(True)
    left, width = header.sectionViewportPosition(column), header.sectionSize(column)
    return [
        x - left
        for x in range(with_mark.width())
        if any(with_mark.pixel(x, y) != without.pixel(x, y) for y in range(without.height()))
        and left <= x < left + width
    ]


def test_the_sort_mark_stands_beside_the_title(window: Window) -> None:
    header = window.table.horizontalHeader()
    window.table.sortByColumn(SIZE, Qt.SortOrder.DescendingOrder)
    found, width = _marked(header, SIZE), header.sectionSize(SIZE)
    # Before a title that stands to the right, behind one that stands to the left.
    title = header.fontMetrics().horizontalAdvance("Content")
    assert found
    assert width - title - 48 < found[0] and found[-1] < width - title
    window.table.sortByColumn(NAME, Qt.SortOrder.AscendingOrder)
    found = _marked(header, NAME)
    assert found
    title = header.fontMetrics().horizontalAdvance("Name")
    assert title < found[0] and found[-1] < title + 48
    assert len(found) >= 7
    for column, name in ((MTIME, "Last change"), (DEVICE, "Device"), (COMPILE, "Compile time")):
        window.table.sortByColumn(column, Qt.SortOrder.AscendingOrder)
        window.table.scrollTo(window.table.model().index(0, column))
        text, wide = _bold(header).horizontalAdvance(name), header.sectionSize(column)
        taken = range(wide - 8 - text, wide - 8) if column == COMPILE else range(8, 8 + text)
        assert not set(taken) & set(_marked(header, column)), name


def _bold(header: QHeaderView) -> QFontMetrics:
    font = QFont(header.font())
    font.setWeight(QFont.Weight.DemiBold)
    return QFontMetrics(font)


def test_the_name_keeps_its_room(qtbot: QtBot, window: Window) -> None:
    header = window.table.horizontalHeader()
    qtbot.waitUntil(lambda: header.length() == window.table.viewport().width())
    window.resize(900, 600)
    qtbot.waitUntil(lambda: header.length() > window.table.viewport().width())
    least = header.sectionSize(NAME)
    assert 180 <= least < 340
    window.resize(1500, 600)
    qtbot.waitUntil(lambda: header.length() == window.table.viewport().width())
    assert header.sectionSize(NAME) > least


def test_the_name_of_a_place_has_its_share_of_a_narrow_window(qtbot: QtBot, window: Window) -> None:
    head = window.head
    for wide, box in ((1400, 380), (640, 170)):
        window.resize(wide, 700)
        settle(qtbot)
        assert box <= head.box.width() <= 380
        assert head.title.text() == head.title.toolTip(), "nothing of it is cut"
    assert head.box.width() < 380


def test_without_jobs_the_activity_says_what_it_is_for(window: Window) -> None:
    window.actions_["activity"].trigger()
    activity = window.following.drawer
    assert activity.isVisible() and not activity.clear_button.isEnabled()
    assert "This list shows" in activity.blank.text.text() and activity.import_.isVisible()
    window.jobs.add("Export", "export", None)
    assert not activity.blank.isVisible() and activity.job is window.jobs.jobs[0]
    window.jobs.end(window.jobs.jobs[0], State.CANCELLED)
    activity.clear_button.click()
    activity.findChildren(ConfirmDialog)[-1].go.click()
    assert activity.blank.isVisible()
    assert activity.blank.title.text() == "The history is empty", "something was done"


def test_a_long_place_leaves_the_window_its_width(qtbot: QtBot, window: Window) -> None:
    window.places.add(samples.LONG_PLACE + "_and_still_more_of_it" * 8)
    window.places_pane.choose(samples.LONG_PLACE + "_and_still_more_of_it" * 8)
    window.resize(1000, 600)
    qtbot.waitUntil(lambda: "…" in window.head.title.text())
    assert window.width() == 1000
    assert window.head.title.toolTip().endswith("_and_still_more_of_it")


def test_no_tool_drops_out_of_a_narrow_window(qtbot: QtBot, window: Window) -> None:
    qtbot.waitUntil(window.here.chooser.isVisible)
    last = window.tools.widgetForAction(window.actions_["refresh"])
    first = window.tools.widgetForAction(window.actions_["warm"])
    whole = first.width()
    window.resize(780, 600)
    qtbot.waitUntil(lambda: first.width() < whole)
    qtbot.waitUntil(last.isVisible)
    assert last.mapTo(window, last.rect().topRight()).x() < window.width()
    window.resize(1360, 800)
    qtbot.waitUntil(lambda: first.width() == whole)


def test_a_dialog_has_room_for_what_is_said_later(
    qtbot: QtBot, window: Window, engines: SampleEngines
) -> None:
    engines.failing["probe"] = user_error(
        "torch-broken", {"python": samples.PYTHON, "why": "libcudart.so.13 is missing. " * 8}
    )
    dialog = window.flows.warm()
    qtbot.waitUntil(lambda: "torch 2.9.1" in dialog.environment.text())
    low = dialog.height()
    dialog.choice_of.choose(samples.PYTHON)
    qtbot.waitUntil(lambda: "cannot be imported" in dialog.environment.text())
    assert dialog.height() == low
    combo = dialog.target.combo
    assert combo.height() >= combo.sizeHint().height()
    below = combo.mapTo(dialog, QPoint(0, combo.height())).y()
    assert below < dialog.go.mapTo(dialog, QPoint(0, 0)).y()
    assert not dialog.go.isEnabled()
    dialog.reject()


def test_without_an_interpreter_warm_says_so(
    qtbot: QtBot, window: Window, engines: SampleEngines
) -> None:
    engines.failing["interpreters"] = user_error("torch-missing", {})
    window.here.environments.remove("/none")
    dialog = window.flows.warm()
    qtbot.waitUntil(lambda: "TORCHKEEPER_TORCH_PYTHON" in dialog.environment.text())
    dialog.reject()


@pytest.mark.parametrize("gone", [True, False], ids=["gone", "busy"])
def test_a_purge_of_nothing_leaves_only_a_way_out(
    qtbot: QtBot, window: Window, engines: SampleEngines, gone: bool
) -> None:
    window.table.selectAll()
    if gone:
        engines.entries = []
    else:
        engines.failing["plan_purge"] = user_error("place-busy", {"place": samples.PLACE})
    window.flows.purge_selected()
    (dialog,) = window.findChildren(PurgeDialog)
    qtbot.waitUntil(lambda: dialog.cancel.text() == "Close")
    shown = (dialog.at_once, dialog.hint)
    assert not any(widget.isVisible() for widget in shown)
    assert not dialog.go.isEnabled()
    assert dialog.waiting.text() == "Nothing goes"
    dialog.reject()


def test_the_marks_of_files_follow_the_theme(
    qtbot: QtBot, window: Window, engines: SampleEngines
) -> None:
    engines.silent.add("names")
    dialog = window.flows.open_import([samples.NIGHTLY, "/home/ada/llama/notes.txt"])
    qtbot.waitUntil(lambda: dialog.ready, timeout=PATIENCE)
    tree = next(x for x in dialog.findChildren(QTreeWidget) if x.topLevelItemCount() == 2)
    for which in (Theme.DARK, Theme.LIGHT):
        theme.look().choose(which)
        shades = theme.shades()
        for row, colour in enumerate((shades.good, shades.warning)):
            item = tree.topLevelItem(row)
            assert item is not None
            image: QImage = item.icon(0).pixmap(16, 16).toImage()
            drawn = [
                image.pixelColor(x, y) for x in range(16) for y in range(16)
                if image.pixelColor(x, y).alpha() == 255
            ]  # fmt: skip
            assert QColor(colour) in drawn, (which, row)
    # Import that is pressed while the environment is asked counts once it has answered.
    dialog.environment.choose(samples.PYTHON)
    qtbot.waitUntil(lambda: dialog.names.busy, timeout=PATIENCE)
    for into in ("/elsewhere", samples.PLACE):
        dialog.target.combo.setEditText(into)
        assert not dialog.choice.why.isVisible(), "what was pressed was about another place"
        for at in (dialog.target.combo, dialog.go):
            key(qtbot, at, Qt.Key.Key_Return)
        assert "once the environment has answered" in dialog.choice.why.text()
        assert dialog.job is None
    engines.silent = {"import"}
    assert dialog.names._asked._ticket is not None
    engines._answer(dialog.names._asked._ticket, "names", {"files": [samples.NIGHTLY]})
    (job,) = window.jobs.jobs
    assert dialog.job is job and job.place == samples.PLACE
    window.jobs.end(job, State.CANCELLED)


def test_no_code_is_shown_for_what_is_broken() -> None:
    problems = ("payload-unreadable", "triton-incomplete", "file-unreadable")
    for problem in problems:
        said = user_error("entry-broken", {"problem": problem}).what
        assert problem not in said
        assert said.startswith("It is broken: ")
        assert str(CATALOGUE[problem].what)[1:] in said
    assert "of-tomorrow" in user_error("entry-broken", {"problem": "of-tomorrow"}).what
    assert {entry.kind for entry in samples.entries()} <= set(KINDS)


ADDRESS = "redis://cache.example.org:6379/0"


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_an_address_is_not_broken_and_is_copied_as_it_is(qtbot: QtBot) -> None:
    said = f"The connection to {ADDRESS} was lost"
    label = forms.label(said, wrap=True)
    qtbot.addWidget(label)
    assert label.text() == said
    # As wide as the address at least, where it is laid out: else Qt would break it.
    assert label.minimumSizeHint().width() >= label.fontMetrics().horizontalAdvance(ADDRESS)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse
                                  | Qt.TextInteractionFlag.TextSelectableByKeyboard)  # fmt: skip
    label.resize(300, 60)
    label.show()
    label.setFocus()
    clipboard = QApplication.clipboard()
    clipboard.clear()
    label.setSelection(0, len(said) + 1)
    assert label.selectedText() == said
    qtbot.keyClick(label, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)  # type: ignore[no-untyped-call]
    assert clipboard.text() == said
    clipboard.clear()
    QApplication.sendEvent(
        label, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, QPoint(5, 5), QPoint(5, 5))
    )
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    next(one for one in menu.actions() if one.objectName() == "edit-copy").trigger()
    menu.close()
    qtbot.waitUntil(lambda: clipboard.text() == said)


def test_a_look_for_what_is_dead_that_fails_leaves_a_low_dialog(
    qtbot: QtBot, window: Window, engines: SampleEngines
) -> None:
    why = {"place": samples.PLACE, "why": "Permission denied"}
    engines.failing["suggest"] = user_error("place-unreadable", why)
    dialog = window.flows.clean_up()
    assert dialog is not None
    qtbot.waitUntil(lambda: not dialog.lines.left.isHidden(), timeout=PATIENCE)
    settle(qtbot)
    assert dialog.height() < 690, "as of a small laptop, less its panel"
    assert not dialog.go.isEnabled()
    dialog.reject()
