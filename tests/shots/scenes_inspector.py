"""Pictures of the inspector: each of its tabs, and what it says where there is nothing to show."""

from __future__ import annotations

import time

from tests.shots import sample_kinds, sample_vllm, samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.scenes_verifying import result
from tests.shots.stage import Stage, turn
from torchkeeper.artifacts.entry import COUNTED_APART, Entry
from torchkeeper.client.kept.verified import Verified
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.window import Window

#: Seconds until a selection has come to rest and its entry was told.
_REST = 0.8


def _open(stage: Stage, engines: SampleEngines | None = None) -> Window:
    window = stage.window(engines, size=(1640, 900))
    window.inspector_frame.toggle()
    turn(0.1)
    return window


def _select(window: Window, kind: str) -> Entry:
    window.entries.show_apart(kind in COUNTED_APART)
    every = window.entries.shown()
    fit = [entry for entry in every if entry.kind == kind and not entry.problem]
    # What is told in full of a graph is of this one.
    entry = next((x for x in fit if str(x.name).startswith("decoder_layer")), fit[0])
    window.table.select({entry.identity})
    turn(_REST)
    return entry


def _entry(stage: Stage) -> None:
    window = _open(stage)
    inspector = window.inspector
    stage.take("inspector-nothing", window)
    graph = _select(window, "fxgraph")
    for number, name in enumerate(("summary", "graph", "source", "factors", "files")):
        inspector.tabs.setCurrentIndex(number)
        if name == "source":
            inspector.source.finder.search.setText("import")
        turn(0.2)
        inspector.factors.table.selectRow(1)
        stage.take(f"inspector-{name}", window)
    inspector.tabs.setCurrentIndex(0)
    _to_end(window)
    stage.take("inspector-shared", window, 0.5)
    every = window.entries.shown()
    window.table.select({entry.identity for entry in every if entry.problem})
    stage.take("inspector-broken", window, _REST)
    window.table.select({entry.identity for entry in every if entry.orphan})
    stage.take("inspector-orphan", window, _REST)
    window.table.select({graph.identity})
    turn(_REST)
    inspector.notice.tell(user_error("entry-gone", {"path": graph.path}), again=True)
    stage.take("inspector-gone", window)
    window.table.selectAll()
    stage.take("inspector-several", window, _REST)
    stage.close(window)


def _to_end(window: Window) -> None:
    bar = window.inspector.summary.verticalScrollBar()
    turn(0.6)
    bar.setValue(bar.maximum())


def _secrets(stage: Stage) -> None:
    engines = SampleEngines()
    engines.leaky = True
    one = Verified(samples.PLACE, time.time() - 7_000, result(), samples.PYTHON, "mark")
    engines.verifications[samples.PLACE] = one, False
    window = _open(stage, engines)
    _select(window, "fxgraph")
    _to_end(window)
    stage.take("inspector-secrets", window)
    stage.close(window)
    window = _open(stage, SampleEngines(silent={"leaks"}))
    _select(window, "fxgraph")
    _to_end(window)
    stage.take("inspector-searching", window)
    stage.close(window)
    stuck = {"leaks": user_error("reader-stuck", {})}
    window = _open(stage, SampleEngines(failing=stuck))
    _select(window, "fxgraph")
    _to_end(window)
    stage.take("inspector-not-searched", window)
    stage.close(window)


def _nothing(stage: Stage) -> None:
    window = _open(stage)
    tabs = window.inspector.tabs
    _select(window, "triton")
    tabs.setCurrentIndex(4)
    stage.take("inspector-kernel-files", window)
    _select(window, "lock")
    for number, name in ((1, "no-graph"), (2, "no-source"), (3, "no-factors")):
        tabs.setCurrentIndex(number)
        stage.take(f"inspector-{name}", window)
    stage.close(window)
    window = _open(stage, SampleEngines(silent={"detail"}))
    _select(window, "fxgraph")
    window.inspector.tabs.setCurrentIndex(1)
    stage.take("inspector-reading", window)
    stage.close(window)
    failing = {
        "text": user_error("text-unknown", {"name": "source"}),
        "factors": user_error("reader-stuck", {}),
    }
    window = _open(stage, SampleEngines(failing=failing))
    _select(window, "fxgraph")
    for number, name in ((2, "source-failed"), (3, "factors-failed")):
        window.inspector.tabs.setCurrentIndex(number)
        stage.take(f"inspector-{name}", window)
    stage.close(window)


def _kinds(stage: Stage) -> None:
    engines = SampleEngines(entries=sample_kinds.entries())
    window = _open(stage, engines)
    window.entries.show_apart(True)
    for entry in engines.entries:
        window.table.select({entry.identity})
        turn(2 * _REST)
        stage.take(f"inspector-{entry.kind}", window)
    stage.close(window)


def _vllm(stage: Stage) -> None:
    engines = SampleEngines(entries=sample_vllm.entries())
    engines.vllm = sample_vllm.rows()
    window = _open(stage, engines)
    window.places.add(sample_vllm.PLACE)
    window.places_pane.choose(sample_vllm.PLACE)
    stage.take("inspector-keys", window, 2 * _REST)
    first, second, other, *_ = engines.entries
    window.table.select({second.identity})
    turn(_REST)
    _to_end(window)
    stage.take("inspector-key", window)
    window.table.select({first.identity, other.identity})
    stage.take("inspector-two-keys", window, _REST)
    window.table.clearSelection()
    window.actions_["inspector"].trigger()
    window.actions_["group-rank"].trigger()
    stage.take("vllm-ranks", window, _REST)
    engines.cause = "key"
    window.table.select({first.identity, other.identity})
    window.flows.comparing.compare_selected()
    stage.take("compare-keys", window, _REST)
    stage.close(window)


def _small(stage: Stage) -> None:
    window = _open(stage)
    _select(window, "fxgraph")
    for name, size in (("beside", (1100, 700)), ("below", (900, 640))):
        window.resize(*size)
        stage.take(f"inspector-{name}", window)
    window.navigator.toggle_map()
    stage.take("inspector-below-a-map", window, 0.5)
    window.navigator.toggle_map()
    window.table.clearSelection()
    stage.take("inspector-below-empty", window, 0.5)
    window.resize(1366, 768)
    stage.take("inspector-beside-empty", window, 0.5)
    window.resize(900, 640)
    window.guide.bar.show_step(1)
    window.head.box.setText("no such entry")
    stage.take("inspector-below-nothing", window, 0.8)
    stage.close(window)


SCENES = {
    "entry": _entry,
    "small": _small,
    "secrets": _secrets,
    "nothing": _nothing,
    "kinds": _kinds,
    "vllm": _vllm,
}
