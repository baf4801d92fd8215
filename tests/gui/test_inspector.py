"""The inspector over a real engine and a real cache, and its parts by themselves."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QRect, QSettings, Qt, QTimer, QUrl
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QLineEdit,
    QTextEdit,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, everything, idle, settle, type_in
from tests.gui.test_look import contrast
from tests.gui.test_models import entry, under_test
from tests.pace import within
from tests.shots.sample_engines import SampleEngines
from torchkeeper.artifacts.entry import Entry
from torchkeeper.artifacts.layout import payload_path
from torchkeeper.client.words import say
from torchkeeper.engine.messages.entries import Detail as Told
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.chrome.split import InspectorFrame, InspectorSplitter
from torchkeeper.gui.inspector import code_edit
from torchkeeper.gui.inspector.code_edit import LINE, CodeEdit
from torchkeeper.gui.inspector.details import (
    Counts,
    Need,
    detail_of,
    relatives_of,
    sections,
)
from torchkeeper.gui.inspector.pane import SETTLE_MS, Inspector
from torchkeeper.gui.inspector.sources import FactorsPane, RowsModel, Text, TextPane
from torchkeeper.gui.inspector.summary import REST_MS
from torchkeeper.gui.table.rows import NAME
from torchkeeper.gui.theme import DARK, LIGHT, Shades
from torchkeeper.gui.widgets import plain
from torchkeeper.gui.window import Window

SUMMARY, GRAPH, SOURCE, FACTORS, FILES = range(5)
PYTHON, CPP = code_edit.PYTHON, code_edit.CPP


def open_inspector(qtbot: QtBot, open_window: OpenWindow, place: Path) -> Window:
    window = open_window(place)
    window.resize(1640, 900)
    window.actions_["inspector"].trigger()
    assert window.inspector.isVisible()
    return window


def choose(qtbot: QtBot, window: Window, one: Entry) -> Inspector:
    """Select an entry and wait until it is shown in full."""
    window.table.select({one.identity})
    inspector = window.inspector
    qtbot.waitUntil(
        lambda: inspector.detail is not None and inspector.detail.entry.path == one.path,
        timeout=PATIENCE,
    )
    return inspector


def first(window: Window, kind: str, words: str = "", files: int = 1) -> Entry:
    return next(
        x
        for x in everything(window.entries)
        if x.kind == kind and words in (x.name or "") and x.files >= files
    )


def shown(inspector: Inspector) -> str:
    return inspector.facts.toPlainText()


def test_shows_what_an_entry_is(qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path) -> None:
    window = open_inspector(qtbot, open_window, fixture_cache)
    assert window.inspector.blank.title.text() == "No entry is selected"
    graph = first(window, "fxgraph", "sin_matmul")
    inspector = choose(qtbot, window, graph)
    assert inspector.name.text() == graph.name
    assert inspector.chip.accessibleName() == "Kind: FX graph"
    said = shown(inspector)
    for words in ("sin_matmul at make_cache.py:5", "mm, sin", "float32 100x100 on cpu",
                  "2.9.1+cu128", "12.8", "18.7 s", graph.path, str(graph.sha256)):  # fmt: skip
        assert words in said, words
    click(qtbot, inspector.copy_key)
    assert QGuiApplication.clipboard().text() == graph.key
    inspector.tabs.setCurrentIndex(FILES)
    assert inspector.files.model.rowCount() == 1
    click(qtbot, inspector.files.copy)
    assert QGuiApplication.clipboard().text() == str(fixture_cache / graph.path)


def test_the_graph_and_the_source_with_search(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_inspector(qtbot, open_window, fixture_cache)
    inspector = choose(qtbot, window, first(window, "aotautograd", "make_cache.forward"))
    asked: list[str] = []
    inspector.graph.wanted.connect(lambda name, _: asked.append(name))
    settle(qtbot)
    assert asked == [], "texts are asked for when they are looked at"
    inspector.tabs.setCurrentIndex(GRAPH)
    edit = inspector.graph.edit
    qtbot.waitUntil(lambda: "torch.ops.aten" in edit.toPlainText(), timeout=PATIENCE)
    before = edit.toPlainText()
    choice = inspector.graph.choice
    assert [choice.itemText(n) for n in range(choice.count())] == [
        "Forward graph",
        "Backward graph",
    ]
    choice.setCurrentIndex(1)
    choice.activated.emit(1)
    qtbot.waitUntil(lambda: edit.toPlainText() not in ("", before), timeout=PATIENCE)
    assert asked == ["graph", "backward_graph"]

    source = choose(qtbot, window, first(window, "fxgraph", "sin_matmul")).source
    inspector.tabs.setCurrentIndex(SOURCE)
    edit = source.edit
    qtbot.waitUntil(lambda: "async_compile" in edit.toPlainText() and not edit.busy,
                    timeout=PATIENCE)  # fmt: skip
    assert edit.document().findBlockByNumber(1).layout().formats()
    edge = QRect(0, 40, 1, 20)
    without = edit.grab(edge).toImage()
    edit.setFocus()
    qtbot.waitUntil(edit.hasFocus)
    assert not edit.textCursor().hasSelection()
    assert edit.grab(edge).toImage() != without, "the keyboard is seen there"
    qtbot.keyClick(edit, Qt.Key.Key_Down)  # type: ignore[no-untyped-call]
    assert edit.textCursor().blockNumber() == 1, "it goes on from the first line"
    qtbot.keyClick(edit, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)  # type: ignore[no-untyped-call]
    qtbot.waitUntil(source.finder.search.hasFocus)
    type_in(qtbot, source.finder.search, "import")
    number = edit.toPlainText().lower().count("import")
    assert number > 3
    qtbot.waitUntil(lambda: source.finder.count.text() == f"1/{number}")
    qtbot.keyClick(source.finder.search, Qt.Key.Key_Return)  # type: ignore[no-untyped-call]
    assert source.finder.count.text() == f"2/{number}"
    click(qtbot, source.finder.previous)
    click(qtbot, source.finder.previous)
    assert source.finder.count.text() == f"{number}/{number}"
    at = edit.textCursor()
    at.movePosition(QTextCursor.MoveOperation.EndOfWord, QTextCursor.MoveMode.KeepAnchor)
    assert at.selectedText().lower().startswith("import")
    source.finder.search.setText("no such text")
    qtbot.waitUntil(lambda: source.finder.count.text() == "None")
    assert not source.finder.next.isEnabled()


@pytest.mark.slow
def test_several_files_of_one_entry(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_inspector(qtbot, open_window, fixture_cache)
    inspector = choose(qtbot, window, first(window, "code", files=2))
    inspector.tabs.setCurrentIndex(SOURCE)
    edit = inspector.source.edit
    qtbot.waitUntil(lambda: "#include" in edit.toPlainText(), timeout=PATIENCE)
    inspector.tabs.setCurrentIndex(FILES)
    assert inspector.files.model.rowCount() == 2
    inspector.tabs.setCurrentIndex(GRAPH)
    assert inspector.graph.blank.title.text() == "This entry holds no graph"


@pytest.mark.slow
def test_key_factors_are_filtered_and_copied(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_inspector(qtbot, open_window, fixture_cache)
    inspector = choose(qtbot, window, first(window, "fxgraph", "sin_matmul"))
    factors = inspector.factors
    assert factors.model.total == 0
    inspector.tabs.setCurrentIndex(FACTORS)
    qtbot.waitUntil(lambda: factors.model.total == 393, timeout=PATIENCE)
    under_test(factors.model)
    type_in(qtbot, factors.search, "EXAMPLE_inputs float32")
    assert 0 < factors.model.rowCount() < 20
    assert factors.count.text() == f"{factors.model.rowCount()} of 393"
    qtbot.keyClick(factors.search, Qt.Key.Key_Down)  # type: ignore[no-untyped-call]
    assert "TensorMetadata(" in factors.full.toPlainText()
    qtbot.keyClick(factors.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)  # type: ignore[no-untyped-call]
    copied = QGuiApplication.clipboard().text()
    assert "] example_inputs[0]: TensorMetadata(" in copied


@pytest.mark.slow
def test_a_needed_entry_is_selected(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_inspector(qtbot, open_window, fixture_cache)
    window.head.box.setText("kind:aotautograd")
    settle(qtbot)
    graph = first(window, "aotautograd", "make_cache.forward")
    inspector = choose(qtbot, window, graph)
    assert inspector.detail is not None
    needed = inspector.detail.needs
    assert {need.kind for need in needed} == {"fxgraph"}
    assert len(needed) == 2
    inspector.facts.anchorClicked.emit(QUrl("need:1"))
    assert window.head.box.text() == "", "the filter hid it"
    assert {(x.kind, x.key) for x in window.table.selected()} == {(needed[1].kind, needed[1].key)}
    qtbot.waitUntil(
        lambda: inspector.detail is not None and inspector.detail.entry.key == needed[1].key,
        timeout=PATIENCE,
    )
    inspector.facts.anchorClicked.emit(QUrl("need:99"))
    inspector.facts.anchorClicked.emit(QUrl("file:///etc/passwd"))


@pytest.mark.slow
def test_who_needs_an_entry_is_told_and_followed_back(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_inspector(qtbot, open_window, fixture_cache)
    graph = first(window, "fxgraph", "sin_matmul")
    inspector = choose(qtbot, window, graph)
    qtbot.waitUntil(lambda: inspector.related is not None, timeout=PATIENCE)
    assert inspector.related is not None
    module, kernel = inspector.related.needs
    (autograd,) = inspector.related.needed_by
    assert (module.kind, kernel.kind, autograd.kind) == ("code", "code", "aotautograd")
    said = shown(inspector)
    assert said.index("Needs") < said.index("cpp_fused_sin_0") < said.index("Needed by")
    inspector.facts.anchorClicked.emit(QUrl("need:1"))
    assert [(x.kind, x.key) for x in window.table.selected()] == [("code", kernel.key)]
    qtbot.waitUntil(
        lambda: inspector.related is not None and inspector._entry != graph, timeout=PATIENCE
    )
    assert Need("fxgraph", graph.key) in inspector.related.needed_by
    assert inspector.related.needs == []
    back = [need.kind for need in inspector.facts._needs].index("fxgraph")
    inspector.facts.anchorClicked.emit(QUrl(f"need:{back}"))
    assert window.table.selected() == [graph]


def test_what_may_need_an_entry_and_was_not_looked_at_is_counted() -> None:
    entry = Entry("fxgraph", "f" * 52, None, 5, 1, None, None, None, None, "pt2:x", None)
    related = relatives_of({"needs": [], "missing": [], "needed_by": [], "unread": 246_500})
    [by] = [x for x in sections(entry, None, {}, related, server=True) if x.title == "Needed by"]
    [(label, [value])] = by.rows
    assert (label, value.text) == ("Not known", "about 246,500 entries were not looked at")


@pytest.mark.slow
def test_an_orphan_says_why_and_what_to_do(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    graph = next(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file())
    graph.unlink()
    window = open_inspector(qtbot, open_window, fixture_cache)
    window.head.box.setText("is:orphan kind:aotautograd")
    settle(qtbot)
    (orphan,) = window.entries.shown()
    assert window.totals.text().endswith("1 orphan")
    row = window.entries.rows_of({orphan.identity})[0]
    index = window.entries.index(row, NAME)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole).endswith(", orphan")
    assert "not in this place" in index.data(Qt.ItemDataRole.ToolTipRole)
    inspector = choose(qtbot, window, orphan)
    assert inspector.orphan.isVisible()
    assert not inspector.problem.isVisible()
    assert inspector.orphan.remedy.text() == (
        "Purge it, unless another place holds its graph: a Redis, or a cache folder."
    )
    qtbot.waitUntil(lambda: inspector.related is not None, timeout=PATIENCE)
    assert "not in this place" in shown(inspector)
    window.head.clear_filter()
    settle(qtbot)
    choose(qtbot, window, first(window, "fxgraph"))
    assert not inspector.orphan.isVisible()


@pytest.mark.slow
def test_what_only_some_kinds_have(
    qtbot: QtBot, open_window: OpenWindow, other_kinds: Path
) -> None:
    window = open_inspector(qtbot, open_window, other_kinds / "cache")
    said = {
        ("aoti_eager", "add.Tensor"): (
            "Operator\naten::add.Tensor", "f32[4, 8]\nf32[4, 8]\n2", "Library exists\nyes",
        ),
        ("precompile", "wave"): ("2 sets of guards", "Compiled graphs\n2", "Needs Python\n3."),
        ("autotune", "GEMM"): ("2 timings", "System\nno GPU"),
    }  # fmt: skip
    for (kind, words), expected in said.items():
        inspector = choose(qtbot, window, first(window, kind, words))
        shown = inspector.facts.toPlainText()
        for text in expected:
            assert text in shown
        assert shown.count("Inputs") == (kind == "aoti_eager")


def test_a_cache_inside_the_place_is_named(qtbot: QtBot) -> None:
    path = "3f1c0e77aa/rank_1_0/inductor_cache/ab/x.py"
    rows = sections(entry(1)._replace(path=path), None, {})[-1].rows
    told = {label: [value.text for value in values] for label, values in rows}
    assert told["Cache inside"] == ["3f1c0e77aa/rank_1_0/inductor_cache/"]
    plain = sections(entry(1)._replace(path="ab/x.py"), None, {})[-1].rows
    assert "Cache inside" not in dict(plain)


@pytest.mark.slow
def test_an_entry_that_has_gone_is_told_in_place(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_inspector(qtbot, open_window, fixture_cache)
    one = first(window, "fxgraph", "sin_matmul")
    kept = (fixture_cache / one.path).read_bytes()
    (fixture_cache / one.path).unlink()
    window.table.select({one.identity})
    inspector = window.inspector
    qtbot.waitUntil(inspector.notice.isVisible, timeout=PATIENCE)
    assert inspector.notice.error is not None
    assert inspector.notice.error.code == "entry-gone"
    assert str(one.sha256) in shown(inspector), "what the row knew is still there"
    assert window.error_bar.error is None
    (fixture_cache / one.path).write_bytes(kept)
    click(qtbot, inspector.notice.button)
    qtbot.waitUntil(lambda: inspector.detail is not None, timeout=PATIENCE)
    assert not inspector.notice.isVisible()
    other = first(window, "aotautograd")
    shutil.rmtree(fixture_cache)
    window.table.select({other.identity})
    qtbot.waitUntil(inspector.notice.isVisible, timeout=PATIENCE)


@pytest.mark.slow
def test_a_broken_entry_says_what_to_do(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    path = next(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file())
    path.write_bytes(b"")
    window = open_inspector(qtbot, open_window, fixture_cache)
    broken = next(x for x in everything(window.entries) if x.problem)
    inspector = choose(qtbot, window, broken)
    assert inspector.problem.isVisible()
    assert inspector.problem.what.text() == "The file is empty."
    assert inspector.problem.remedy.text() == "Purge it."


@pytest.mark.slow
def test_several_and_none(qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path) -> None:
    window = open_inspector(qtbot, open_window, fixture_cache)
    inspector = window.inspector
    window.table.selectAll()
    total = window.entries.rowCount()
    qtbot.waitUntil(lambda: inspector.stack.currentWidget() is inspector._several)
    assert inspector.several_title.text() == f"{total} entries selected"
    graphs = sum(x.kind == "fxgraph" for x in window.entries.shown())
    assert f"{graphs} entries · " in inspector.several.toPlainText()
    window.table.clearSelection()
    qtbot.waitUntil(lambda: inspector.stack.currentWidget() is inspector.blank)


@pytest.mark.slow
def test_answers_for_what_is_no_longer_chosen_are_dropped(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_inspector(qtbot, open_window, fixture_cache)
    asked: list[str] = []
    real = window.engines.ask

    def ask(op: str, params: Mapping[str, Any], listener: Listener, **more: Any) -> int:
        if op in ("detail", "text"):
            asked.append(str(params.get("path")))
        return real(op, params, listener, **more)

    window.engines.ask = ask  # type: ignore[method-assign]
    graphs = [x for x in everything(window.entries) if x.kind == "fxgraph"]
    for one in graphs[:4]:
        window.table.select({one.identity})
        window.update_now()
    inspector = choose(qtbot, window, graphs[3])
    assert asked == [graphs[3].path], "nothing is asked while the selection moves"
    inspector.tabs.setCurrentIndex(GRAPH)
    window.table.select({graphs[0].identity})
    choose(qtbot, window, graphs[0])
    qtbot.waitUntil(lambda: "forward" in inspector.graph.edit.toPlainText(), timeout=PATIENCE)
    assert asked[-1] == graphs[0].path
    # A page that comes late is of another text.
    before = inspector.graph.edit.toPlainText()
    inspector.graph.page({"name": "graph", "offset": 0, "text": "late", "chars": 4})
    assert inspector.graph.edit.toPlainText() == before


@pytest.mark.slow
def test_does_not_wait_for_a_listing(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_inspector(qtbot, open_window, fixture_cache)
    [browse] = [line for line in window.engines.worker._lines if line.shared]
    os.kill(browse.engine.pid, signal.SIGSTOP)
    try:
        window.actions_["refresh"].trigger()
        choose(qtbot, window, first(window, "fxgraph"))
        # The inspector's engine serves what follows too.
        choose(qtbot, window, first(window, "aotautograd"))
        [aside] = [line for line in window.engines.worker._lines if line.aside]
        assert window.listing.loading
    finally:
        os.kill(browse.engine.pid, signal.SIGCONT)
    idle(qtbot, window)
    # A crash of it is told in place; the next question starts another. What would leak of the one
    # before is looked for in a moment, and would be what is cut off.
    qtbot.wait(REST_MS + 200)
    qtbot.waitUntil(lambda: not aside.asked, timeout=PATIENCE)
    os.kill(aside.engine.pid, signal.SIGSTOP)
    window.table.select({first(window, "pgo").identity})
    qtbot.wait(SETTLE_MS + 200)
    os.kill(aside.engine.pid, signal.SIGKILL)
    notice = window.inspector.notice
    qtbot.waitUntil(notice.isVisible, timeout=PATIENCE)
    assert "SIGKILL" in notice.why.text()
    click(qtbot, notice.button)
    qtbot.waitUntil(lambda: window.inspector.detail is not None, timeout=PATIENCE)
    assert window.error_bar.error is None


@pytest.mark.slow
def test_is_remembered(qtbot: QtBot, open_window: OpenWindow, settings: QSettings) -> None:
    settings.remove("inspector/shown")
    window = open_window()
    assert window.inspector.isVisible(), "it is open at first"
    [switch] = [one for one in window.tools.findChildren(QToolButton)
                if one.defaultAction() is window.actions_["inspector"]]  # fmt: skip
    qtbot.waitUntil(switch.isVisible, timeout=20_000)
    click(qtbot, switch)
    assert not window.inspector.isVisible()
    click(qtbot, switch)
    window.resize(1640, 900)
    settle(qtbot)
    sizes = window.across.sizes()
    window.across.setSizes([sizes[0], sizes[1] - 80, sizes[2] + 80])
    window.across.splitterMoved.emit(0, 2)
    places = window.across.sizes()[0]
    width = window.inspector.width()
    again = open_window()
    assert again.inspector.isVisible()
    again.resize(1640, 900)
    settle(qtbot)
    assert int(str(settings.value("inspector/width"))) == width
    assert int(str(settings.value("places/width"))) == places
    again.actions_["inspector"].trigger()
    assert settings.value("inspector/shown") == "false"
    assert not open_window().inspector.isVisible()


@pytest.mark.parametrize("shown", ["true", "false"])
def test_the_places_are_as_wide_with_it_as_without(
    qtbot: QtBot, settings: QSettings, shown: str
) -> None:
    settings.setValue("inspector/shown", shown)
    side, wing = QWidget(), InspectorFrame(settings)
    side.setMinimumWidth(200)
    splitter = InspectorSplitter(settings, side, QWidget(), wing)
    qtbot.addWidget(splitter)
    wing.restore()
    splitter.resize(1640, 900)
    splitter.show()
    assert splitter.sizes()[0] == 252
    assert splitter.sizes()[2] == (420 if shown == "true" else 0)


@pytest.mark.slow
def test_every_part_can_be_reached_and_has_a_name(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_inspector(qtbot, open_window, fixture_cache)
    inspector = choose(qtbot, window, first(window, "aotautograd"))
    kinds: tuple[type[QWidget], ...] = (QAbstractButton, QComboBox, QLineEdit, QTextEdit, CodeEdit)
    for number in range(inspector.tabs.count()):
        inspector.tabs.setCurrentIndex(number)
        qtbot.wait(200)
        for kind in kinds:
            for widget in inspector.findChildren(kind):
                if not widget.isVisible() or widget.objectName() == "qt_spinbox_lineedit":
                    continue
                if isinstance(widget.parent(), (QLineEdit, QComboBox)):
                    continue
                named = widget.accessibleName() or getattr(widget, "text", str)()
                assert named or widget.parent() is inspector.tabs.tabBar(), widget
                if widget.isEnabled() and widget.parent() is not inspector.tabs.tabBar():
                    assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus, widget
    assert inspector.tabs.tabBar().focusPolicy() & Qt.FocusPolicy.TabFocus


# Size.


class Clock:
    """The longest slice of work on this thread, as a timer of 16 ms sees it.

    In the thread's own time: what else runs on the machine does not count.
    """

    def __init__(self) -> None:
        self._worst = 0.0
        self._before = time.thread_time()
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(16)
        self._timer.timeout.connect(self._tick)
        self._timer.start()

    def _tick(self) -> None:
        now = time.thread_time()
        self._worst = max(self._worst, now - self._before)
        self._before = now

    def stop(self) -> float:
        self._timer.stop()
        return self._worst


def write_graph(place: Path, graph: str, source: str) -> None:
    """An FX graph entry with these texts."""

    class CompiledFxGraph:
        def __init__(self) -> None:
            self.inductor_post_grad_graph_str = graph
            self.source_code = source

    CompiledFxGraph.__module__, CompiledFxGraph.__qualname__ = __name__, "CompiledFxGraph"
    globals()["CompiledFxGraph"] = CompiledFxGraph
    data = pickle.dumps(CompiledFxGraph())
    path = place / payload_path("fxgraph", "f" + "a" * 51, hashlib.sha256(data).hexdigest())
    path.parent.mkdir(parents=True)
    path.write_bytes(data)


@pytest.mark.slow
def test_a_graph_of_20_mb_in_one_line(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    place = tmp_path / "large"
    place.mkdir()
    write_graph(place, "x\x00" * 10_000_000, "y = 1\n" * 16_000)
    window = open_inspector(qtbot, open_window, place)
    clock = Clock()
    [one] = everything(window.entries)
    inspector = choose(qtbot, window, one)
    inspector.tabs.setCurrentIndex(GRAPH)
    edit, pane = inspector.graph.edit, inspector.graph
    qtbot.waitUntil(lambda: edit.toPlainText() != "" and not edit.busy, timeout=PATIENCE)
    assert len(edit.toPlainText()) < LINE + 100
    assert edit.toPlainText().endswith("… 98,000 more characters in this line")
    assert edit.toPlainText().startswith("x\u2400x")
    assert pane.more.isVisible()
    click(qtbot, pane.more)
    qtbot.waitUntil(lambda: "… 198,000 more" in edit.toPlainText(), timeout=PATIENCE)
    assert edit.blockCount() == 1
    click(qtbot, pane.more)
    qtbot.waitUntil(lambda: not pane.foot.isVisible(), timeout=PATIENCE)
    # Many lines, all of them coloured.
    inspector.tabs.setCurrentIndex(SOURCE)
    edit = inspector.source.edit
    with qtbot.waitSignal(edit.settled, timeout=PATIENCE):
        pass
    assert edit.blockCount() == 16_001
    inspector.source.finder.search.setText("1")
    qtbot.waitUntil(lambda: inspector.source.finder.count.text() == "1/10,000+")
    assert clock.stop() < within(0.1)


@pytest.mark.slow
def test_graphs_of_several_entries_count_once(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_inspector(qtbot, open_window, fixture_cache)
    every = everything(window.entries)
    aot = [x for x in every if x.kind == "aotautograd"]
    graphs = [x for x in every if x.kind == "fxgraph"]
    whole = say.seconds(sum(x.compile_s or 0.0 for x in aot))
    window.table.select({x.identity for x in (*aot, *graphs)})
    facts = window.inspector.several
    qtbot.waitUntil(lambda: whole in facts.toPlainText(), timeout=PATIENCE)
    window.table.select({x.identity for x in graphs})
    alone = say.seconds(sum(x.compile_s or 0.0 for x in graphs))
    qtbot.waitUntil(lambda: alone in facts.toPlainText(), timeout=PATIENCE)
    counts = Counts()
    counts.add([*aot, *graphs])
    assert counts.compile_s() is None, "nobody knows yet"
    said = [value.text for section in counts.sections(failed=True) for _, some in section.rows
            for value in some]  # fmt: skip
    assert "not known" in said


@pytest.mark.slow
def test_how_long_ago_goes_on(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torchkeeper.gui.inspector.pane.CLOCK_MS", 100)
    then = time.time() - 58.0
    for path in fixture_cache.rglob("*"):
        os.utime(path, (then, then))
    window = open_inspector(qtbot, open_window, fixture_cache)
    inspector = choose(qtbot, window, first(window, "fxgraph"))
    qtbot.waitUntil(lambda: "(1 min ago)" in shown(inspector), timeout=PATIENCE)
    window.actions_["inspector"].trigger()
    assert not inspector.clock.isActive(), "nobody sees it"


@pytest.mark.slow
def test_a_large_selection_is_counted_in_pieces(qtbot: QtBot) -> None:
    engines = SampleEngines()
    inspector = Inspector(engines, lambda _: {})
    qtbot.addWidget(inspector)
    inspector.show()
    many = [entry(n) for n in range(100_000)]
    clock = Clock()
    inspector.select("/place", True, many)
    qtbot.waitUntil(
        lambda: inspector.several_title.text() == "100,000 entries selected", timeout=PATIENCE
    )
    assert clock.stop() < within(0.1)
    counts = Counts()
    counts.add(many)
    assert counts.size == sum(x.size for x in many)
    engines.stop()


# Parts.


def fed(qtbot: QtBot, edit: CodeEdit, pages: list[str]) -> str:
    edit.start(PYTHON)
    for number, page in enumerate(pages):
        edit.feed(page, last=number == len(pages) - 1)
        if number % 2:
            qtbot.waitUntil(lambda: not edit.busy)
    qtbot.waitUntil(lambda: not edit.busy)
    return edit.toPlainText()


@pytest.mark.parametrize("size", [1, 7, 64, 5000])
def test_pages_are_put_together(qtbot: QtBot, size: int) -> None:
    edit = CodeEdit("code")
    qtbot.addWidget(edit)
    text = "def f(x):\n\n  return '''x\n" + "y" * 150 + "\n'''\n"
    pages = [text[at : at + size] for at in range(0, len(text), size)]
    assert fed(qtbot, edit, pages) == text
    long = "a\n" + "b" * 6000 + "\nc"
    pages = [long[at : at + size * 100] for at in range(0, len(long), size * 100)]
    assert fed(qtbot, edit, pages).split("\n") == [
        "a",
        "b" * LINE + " … 4,000 more characters in this line",
        "c",
    ]


def test_what_cannot_be_seen_is_made_visible(qtbot: QtBot) -> None:
    edit = CodeEdit("code")
    qtbot.addWidget(edit)
    said = fed(qtbot, edit, ["a\x00\u202eb\u2028c\ud800\r\n\U0001f600 = 'x'  # 1"])
    assert said == "a\u2400\\u202eb\\u2028c\ufffd\u240d\n\U0001f600 = 'x'  # 1"
    formats = edit.document().lastBlock().layout().formats()
    assert [(f.start, f.length) for f in formats] == [(5, 3), (10, 3)]


def test_searching_counts_as_qt_does(qtbot: QtBot) -> None:
    pane = TextPane("Text", "log", "nothing", "")
    qtbot.addWidget(pane)
    pane.show()
    with qtbot.waitSignal(pane.wanted):
        pane.offer([Text("graph", "Graph", 40)])
    text = "\U0001f600\U0001f600 here\nand HERE"
    pane.page({"name": "graph", "offset": 0, "text": text, "chars": len(text)})
    qtbot.waitUntil(lambda: not pane.edit.busy)
    pane.finder.search.setText("here")
    qtbot.waitUntil(lambda: pane.finder.count.text() == "1/2")
    assert pane.edit.textCursor().position() == 5
    pane.finder.step(back=False)
    marks = [mark.cursor.selectedText() for mark in pane.edit.extraSelections()]
    assert marks == ["here", "HERE"]


def parts(line: str, state: code_edit.State, language: str) -> tuple[list[str], code_edit.State]:
    found, after = code_edit.tokens(line, state, language)
    return [f"{part}:{line[at : at + size]}" for at, size, part in found], after


def test_colours_of_python_and_of_the_kernels_in_it() -> None:
    state = code_edit.NOTHING
    said, state = parts("@torch.no_grad()  # why", state, PYTHON)
    assert said == ["special:@torch.no_grad", "comment:# why"]
    said, state = parts("def call(x): return 'a\\'b' + 0x1F", state, PYTHON)
    assert said == ["keyword:def", "name:call", "keyword:return", "string:'a\\'b'", "number:0x1F"]
    said, state = parts("k = async_compile.cpp_pybinding(['float*'], r'''", state, PYTHON)
    assert said == ["name:cpp_pybinding", "string:'float*'", "string:r'''"]
    said, state = parts("#include <math.h> /* long", state, PYTHON)
    assert said == ["special:#include <math.h>", "comment:/* long"]
    said, state = parts("one */ auto x = 1.5f;", state, PYTHON)
    assert said == ["comment:one */", "keyword:auto", "number:1.5f"]
    said, state = parts("}''', 3)", state, PYTHON)
    assert said == ["string:'''", "number:3"]
    assert state == code_edit.NOTHING
    assert parts('"""doc', state, PYTHON) == (['string:"""doc'], code_edit.State('"""'))
    assert parts("#pragma omp for // x", state, CPP)[0] == [
        "special:#pragma", "keyword:for", "comment:// x",
    ]  # fmt: skip
    assert code_edit.language_of("a.main.cpp") == CPP
    assert code_edit.language_of("graph") == PYTHON


@pytest.mark.parametrize("line", ["'" * 2000, "((" * 1000, "\\" * 2000, "/*" * 1000, "1e" * 1000])
def test_no_line_is_slow(line: str) -> None:
    begun = time.thread_time()
    for language in (PYTHON, CPP):
        code_edit.tokens(line, code_edit.NOTHING, language)
    assert time.thread_time() - begun < within(0.1)


@pytest.mark.parametrize("shades", [LIGHT, DARK], ids=["light", "dark"])
def test_the_colours_can_be_read(shades: Shades) -> None:
    assert set(shades.syntax) == set(code_edit.PARTS)
    for colour in shades.syntax.values():
        for ground in (shades.base, shades.selected, shades.selected_quiet):
            assert contrast(colour, ground) >= 4.5, (colour, ground)


def test_rows_are_filtered_as_they_arrive(qtbot: QtBot) -> None:
    model = RowsModel(("a", "b"))
    under_test(model)
    model.filter("x 1")
    model.add([("x", "1"), ("y", "1"), ("X", "21 <b>")])
    assert [model.row_at(n)[0] for n in range(model.rowCount())] == ["x", "X"]
    assert model.index(1, 1).data(Qt.ItemDataRole.ToolTipRole) == plain.tip("21 <b>")
    model.filter("")
    assert (model.rowCount(), model.total) == (3, 3)
    model.fill([])
    assert model.rowCount() == 0


def test_factors_that_are_none(qtbot: QtBot) -> None:
    pane = FactorsPane()
    qtbot.addWidget(pane)
    pane.show()
    pane.offer(0)
    assert pane.blank.title.text() == "No key factors"
    pane.add([{"name": "a", "value": "b\x00", "hash": "c"}])
    assert pane.model.row_at(0) == ("a", "b\u2400", "c")


def test_facts_are_checked_before_they_are_believed() -> None:
    told: Told = {
        "entry": entry(1).to_json(),
        "facts": {"ops": "many", "made_in": [], "inputs": [1, "x"], "function": 3},
        "files": [{"path": "a", "size": 2, "mtime": None}],
        "needs": {"fx_keys": ["a", "a"]},
        "texts": [{"name": "graph", "chars": 3}],
        "factors": 0,
    }
    detail = detail_of(told)
    assert detail.needs == [Need("fxgraph", "a")]
    assert ([t.name for t in detail.graphs], detail.sources, detail.factors) == (["graph"], [], 0)
    said = sections(detail.entry, detail, {})
    assert any(value.text == "not in this place" for s in said for _, v in s.rows for value in v)
