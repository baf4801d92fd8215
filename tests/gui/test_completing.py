"""The filter helps whoever writes one: it completes, counts, waits with red, and has chips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.gui.conftest import (
    PATIENCE,
    OpenWindow,
    click,
    everything,
    key,
    sample_window,
    settle,
    type_in,
)
from tests.shots import samples
from tests.shots.sample_engines import SampleEngines
from tests.stores.test_jits import serving
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.jits.known import compiler
from torchkeeper.gui.chrome.completing import Completing, model_of
from torchkeeper.gui.idle import SLICE, STEP
from torchkeeper.gui.table.rows import KIND, cell_text
from torchkeeper.gui.verdicts.environments import KEY
from torchkeeper.gui.window import Window
from torchkeeper.stores.query import FILTERS, parse, unfinished

__all__ = ["serving"]
WAIT = 30_000


@pytest.fixture
def window(qtbot: QtBot, settings: QSettings) -> Iterator[Window]:
    """The window over the samples with verdicts, and the keyboard in the empty filter."""
    engines = SampleEngines()
    settings.setValue(KEY, samples.PYTHON)
    with sample_window(qtbot, settings, engines, 1300, 800) as made:
        qtbot.waitUntil(made.here.bar.buttons["usable"].isVisible, timeout=PATIENCE)
        made.head.box.setFocus()
        settle(qtbot)
        yield made


def typed(qtbot: QtBot, window: Window, text: str) -> Completing:
    """What is offered once a text is typed, with its counts."""
    window.head.box.clear()
    settle(qtbot)
    type_in(qtbot, window.head.box, text)
    qtbot.waitUntil(lambda: not window.completing._slices.busy, timeout=WAIT)
    return window.completing


def names(shown: Completing) -> list[str]:
    return [pick.name for pick in shown.list.picks]


@pytest.mark.parametrize("text", FILTERS)
def test_what_is_half_typed_may_become_a_filter(text: str) -> None:
    for end in range(len(text)):
        try:
            parse(text[:end])
        except Problem:
            assert unfinished(text[:end], end), text[:end]


@pytest.mark.parametrize(
    "text", ["size:", "size>ten", "kind>", "kind:fx graph", "kind:zebra", "sizzle>1", "is:stail",
             "size>1Q", "foo:bar kind:"],
)  # fmt: skip
def test_what_can_become_none_is_known(text: str) -> None:
    assert unfinished(text, len(text)) == (text == "kind:fx graph") or " " in text
    assert not unfinished("foo:bar kind:", 13) and not unfinished("size>ten", 8)


def test_one_may_type_on_in_the_middle() -> None:
    assert unfinished("kind: size>1", 5)
    assert not unfinished("kind: size>1", 12)


def test_fields_and_values_are_completed_by_keys(qtbot: QtBot, window: Window) -> None:
    box = window.head.box
    shown = typed(qtbot, window, "ki")
    assert names(shown) == ["kind:"] and shown.frame.isVisible()
    key(qtbot, box, Qt.Key.Key_Down)
    key(qtbot, box, Qt.Key.Key_Return)
    assert box.text() == "kind:"
    real = Counter(entry.kind for entry in everything(window.entries))
    got = {pick.name: pick.right for pick in shown.list.picks}
    assert got == {kind: f"{number:,}" for kind, number in real.items()}
    type_in(qtbot, box, "fx")
    assert names(shown) == ["fxgraph"]
    key(qtbot, box, Qt.Key.Key_Tab)
    assert box.text() == "kind:fxgraph " and box.hasFocus(), "there is only one"
    assert not shown.frame.isVisible()
    settle(qtbot)
    assert window.entries.count == real["fxgraph"]
    key(qtbot, box, Qt.Key.Key_Down)
    assert window.table.hasFocus(), "with nothing offered it goes to the table, as ever"


def test_compilers_of_jit_kernels_are_offered(
    qtbot: QtBot, open_window: OpenWindow, serving: Path
) -> None:
    window = open_window(serving)
    shown = typed(qtbot, window, "kind:")
    qtbot.waitUntil(lambda: "flashinfer" in names(shown))
    real = Counter(map(compiler, (x.name for x in everything(window.entries) if x.kind == "jit")))
    got = {pick.name: pick.right for pick in shown.list.picks}
    assert {name: got[name] for name in real} == {name: str(n) for name, n in real.items()}
    assert got["jit"] == str(real.total())
    shown = typed(qtbot, window, "kind:deep")
    [pick] = shown.list.picks
    assert (pick.name, pick.about) == ("deepgemm", "DeepGEMM")
    typed(qtbot, window, "kind:flashinfer")
    qtbot.waitUntil(lambda: window.entries.count == real["flashinfer"])
    shown_ones = [x for x in everything(window.entries) if compiler(x.name) == "flashinfer"]
    assert {cell_text(entry, KIND) for entry in shown_ones} == {"FlashInfer"}


def test_counts_are_of_what_the_rest_of_the_filter_leaves(qtbot: QtBot, window: Window) -> None:
    shown = typed(qtbot, window, "kind:fxgraph torch:")
    graphs = [entry for entry in everything(window.entries) if entry.kind == "fxgraph"]
    real = Counter(entry.torch for entry in graphs if entry.torch)
    assert {pick.name: pick.right for pick in shown.list.picks} == {
        torch: f"{number:,}" for torch, number in real.items()
    }
    shown = typed(qtbot, window, "kind:fxgraph is:")
    said = {pick.name: pick.right for pick in shown.list.picks}
    for state, number in said.items():
        found = parse(f"is:{state}")
        assert number == str(sum(map(found.matches, graphs))), state
    assert set(said) >= {"stale", "usable", "orphan", "unread", "foreign", "broken"}
    shown = typed(qtbot, window, "size>")
    assert {pick.name: pick.right for pick in shown.list.picks}["100k"] == str(
        sum(entry.size > 100_000 and entry.kind != "lock" for entry in everything(window.entries))
    )


def test_a_click_takes_one_and_escape_hides_them(qtbot: QtBot, window: Window) -> None:
    box = window.head.box
    shown = typed(qtbot, window, "is:st")
    item = shown.list.item(0)
    click(qtbot, shown.list.viewport(), shown.list.visualItemRect(item).center())
    assert box.text() == "is:stale "
    shown = typed(qtbot, window, "s")
    assert names(shown) == ["size>"]
    key(qtbot, box, Qt.Key.Key_Escape)
    assert not shown.frame.isVisible() and box.text() == "s"
    key(qtbot, box, Qt.Key.Key_Escape)
    assert box.text() == ""
    shown = typed(qtbot, window, 'mm "ki')
    assert not shown.frame.isVisible(), "a text to look for is no field"
    shown = typed(qtbot, window, "ki")
    window.table.setFocus()
    assert not shown.frame.isVisible()


def test_nothing_is_red_while_one_types(qtbot: QtBot, window: Window) -> None:
    head = window.head
    type_in(qtbot, head.box, "kind:")
    settle(qtbot)
    assert head.fault is not None, "and what is shown is not what it says"
    qtbot.wait(1000)
    assert not head.wrong.isVisible() and not head.box.property("wrong")
    key(qtbot, head.box, Qt.Key.Key_Return)
    assert head.wrong.isVisible() and head.box.property("wrong")
    type_in(qtbot, head.box, "f")
    qtbot.waitUntil(lambda: not head.wrong.isVisible(), timeout=WAIT)
    head.box.clear()
    type_in(qtbot, head.box, "mm kind:nothing")
    key(qtbot, head.box, Qt.Key.Key_Return)
    assert head.wrong.isVisible() and "The list shows" not in head.wrong.text()
    head.box.clear()
    type_in(qtbot, head.box, "mm")
    settle(qtbot)
    type_in(qtbot, head.box, " kind:nothing")
    key(qtbot, head.box, Qt.Key.Key_Return)
    assert head.wrong.text().endswith("The list shows “mm” until then.")
    head.box.clear()
    settle(qtbot)
    type_in(qtbot, head.box, "size>ten")
    settle(qtbot)
    assert not head.wrong.isVisible(), "not before a pause"
    qtbot.waitUntil(head.wrong.isVisible, timeout=WAIT)
    assert "it needs a number" in head.wrong.text()
    # All of it is seen in the width of the field.
    window.resize(1100, 700)
    settle(qtbot)
    assert head.wrong.height() >= head.wrong.heightForWidth(head.wrong.width())
    assert head.wrong.height() > 2 * head.wrong.fontMetrics().height() - 2, "two lines"
    head.box.clear()
    settle(qtbot)
    assert not head.wrong.isVisible() and not head.box.property("wrong")


def test_chips_are_put_in_and_out_by_a_click(qtbot: QtBot, window: Window) -> None:
    shown, box = window.completing, window.head.box
    click(qtbot, shown.stale)
    assert box.text() == "is:stale" and shown.stale.isChecked()
    settle(qtbot)
    assert {entry.verdict for entry in window.entries.shown()} == {"stale"}
    click(qtbot, shown.stale)
    assert box.text() == "" and not shown.stale.isChecked()
    type_in(qtbot, box, "is:stale")
    assert shown.stale.isChecked(), "typed it is the same"
    box.clear()
    settle(qtbot)
    every = [entry for entry in everything(window.entries) if entry.kind != "lock"]
    click(qtbot, shown.largest)
    qtbot.waitUntil(shown.largest.isChecked, timeout=WAIT)
    settle(qtbot)
    sizes = [entry.size for entry in window.entries.shown()]
    assert 2 * sum(sizes) >= sum(entry.size for entry in every)
    assert sizes == sorted(sizes, reverse=True) and 0 < len(sizes) < len(every)
    assert 2 * sum(sizes[:-1]) < sum(entry.size for entry in every), "no more than half take"
    click(qtbot, shown.largest)
    assert box.text() == "" and not shown.largest.isChecked()


def test_the_largest_are_of_what_the_list_shows(qtbot: QtBot, window: Window) -> None:
    every, model = everything(window.entries), window.entries
    header = every[0]._replace(kind="header", key="cpython", path="cpython.h.gch", size=10**12)
    model.begin()
    model.add([*every, header])
    model.end()
    qtbot.waitUntil(lambda: model.every["headers"] == 1, timeout=WAIT)
    settle(qtbot)
    click(qtbot, window.completing.largest)
    qtbot.waitUntil(window.completing.largest.isChecked, timeout=WAIT)
    settle(qtbot)
    assert model.shown() and "T" not in window.head.box.text()


def test_a_chip_is_about_a_whole_term(qtbot: QtBot, window: Window) -> None:
    """What excludes it, or holds its letters, is another term, and stays as it was typed."""
    shown, box = window.completing, window.head.box
    for text in ("-is:stale", '"two  blanks"', "-is:stale size>100k"):
        box.setText(text)
        assert not shown.stale.isChecked()
        click(qtbot, shown.stale)
        assert box.text() == f"{text} is:stale" and shown.stale.isChecked()
        click(qtbot, shown.stale)
        assert box.text() == text and not shown.stale.isChecked()


def test_the_model_is_that_of_the_selected_entry(qtbot: QtBot, window: Window) -> None:
    shown, box = window.completing, window.head.box
    assert not shown.model.isEnabled(), "nothing is selected"
    one = next(x for x in window.entries.shown() if (x.name or "").startswith("attention: "))
    window.table.select({one.identity})
    settle(qtbot)
    assert shown.model.isEnabled()
    click(qtbot, shown.model)
    assert box.text() == '"attention:"'
    settle(qtbot)
    assert all((x.name or "").startswith("attention:") for x in window.entries.shown())
    click(qtbot, shown.model)
    assert box.text() == ""


@pytest.mark.parametrize(
    ("name", "term"),
    [("serve.forward(f32[s77, 64]): addmm (backward)", '"serve.forward("'), ("mm", ""),
     ("serve.forward: addmm", '"serve.forward:"'), ("f32[8, 64]: addmm", '"f32[8, 64]:"'),
     ('a"b(f32[8]): mm', "")],
)  # fmt: skip
def test_a_function_is_one_model_whatever_its_inputs_are(name: str, term: str) -> None:
    assert model_of(name) == term


def test_counting_yields_between_short_steps(qtbot: QtBot, window: Window) -> None:
    """No step looks at more rows than one of any sliced work does."""
    rows = len(window.entries.every_row)
    steps = sum(1 for _ in window.completing._counting("is", ":", parse("")))
    assert steps == -(-rows // STEP) and SLICE < 0.016


def test_help_is_reached_by_tab_and_named(qtbot: QtBot, window: Window) -> None:
    key(qtbot, window.head.box, Qt.Key.Key_Tab)
    at = QApplication.focusWidget()
    assert at is window.completing.stale
    for chip in (window.completing.stale, window.completing.largest, window.completing.model):
        assert chip.text() and chip.toolTip()
    key(qtbot, at, Qt.Key.Key_Space)
    assert window.head.box.text() == "is:stale"
