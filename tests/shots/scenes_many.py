"""Pictures of every page with five things and with very many, and of dialogs about very many."""

from __future__ import annotations

from tests.shots import sample_doctor, sample_many, sample_overview, samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.stage import Stage, turn
from torchkeeper.client.kept import history
from torchkeeper.client.kept.runs import Kept
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.pages.overview.page import OverviewPage
from torchkeeper.gui.places.model import EXPORTED_TO
from torchkeeper.gui.treemap.pane import MapPane
from torchkeeper.gui.window import PAGE, Window

#: Seconds that something may take where there is so much of it.
_PATIENCE = 30.0
#: Seconds until what a dialog asks for is answered and shown.
_REST = 1.5


def _rested(window: Window) -> None:
    """All rows are taken, sorted and added up, and it is known what is of use here."""
    turn(_PATIENCE, lambda: not window.listing.loading and window.entries.total > 0)
    turn(_PATIENCE, lambda: window.here.verdicts.counts is not None)
    turn(_PATIENCE, lambda: window.entries.totals() is not None)
    turn(0.3)


def _few(stage: Stage) -> None:
    engines = SampleEngines(samples.entries()[:5], places=True)
    engines.all_answer = True
    engines.kept = Kept(engines.kept.runs[:1], 0)
    engines.past = history.Kept(engines.past.jobs[:1], 0)
    engines.kept_profiles = engines.kept_profiles[:1]
    window = stage.window(engines, settings={"map/shown": "true", "inspector/shown": "true"})
    _rested(window)
    window.table.select({window.entries.shown()[0].identity})
    stage.take("few-entries", window, 0.8)
    for name in ("runs", "settings", "doctor"):
        if name == "doctor":
            engines.found = {"diagnose": sample_doctor.FEW}
            engines.diagnosed = sample_doctor.HEALTHY
        window.show_page(name)
        turn(1.0)
        stage.take(f"few-{name}", window)
    window.status.activity.click()
    turn(1.0)
    stage.take("few-activity", window)
    stage.close(window)


def _many(stage: Stage) -> None:
    engines = SampleEngines(sample_many.entries())
    engines.all_answer = True
    window = stage.window(engines, settings={EXPORTED_TO: "/home/ada/bundles"})
    window.places.add("/mnt/team/torch-caches/llama")
    _rested(window)
    stage.take("many-entries", window)
    window.head.box.setText("kind:triton age>30d")
    stage.take("many-filtered", window, 0.8)
    window.head.clear_filter()
    window.actions_["group-kind"].trigger()
    _rested(window)
    stage.take("many-by-kind", window, 0.8)
    window.actions_["group-none"].trigger()
    window.actions_["map"].trigger()
    turn(0.2)
    pane = window.map_splitter.widget(0)
    assert isinstance(pane, MapPane)
    turn(_PATIENCE, lambda: not pane.busy)
    stage.take("many-map", window, 0.5)
    window.actions_["map"].trigger()
    window.inspector_frame.toggle()
    window.table.selectAll()
    turn(_PATIENCE, lambda: window.table.chosen.ready)
    stage.take("many-selected", window, _REST)
    window.inspector_frame.toggle()
    _dialogs(stage, engines, window)
    stage.close(window)


def _dialogs(stage: Stage, engines: SampleEngines, window: Window) -> None:
    """What asks about all of it."""
    engines.goes = len(engines.entries)
    window.flows.purge_selected()
    stage.opened("many-purge", window, 3 * _REST)
    window.table.clearSelection()
    turn(0.2)
    export = window.flows.export()
    assert export is not None
    export.target.file.setText("/home/ada/bundles/torchinductor_ada.torchcache")
    stage.dialog("many-export", export, _REST)
    copy = window.flows.copy("/mnt/team/torch-caches/llama")
    assert copy is not None
    stage.dialog("many-copy", copy, _REST)
    stage.dialog("many-import", window.flows.open_import([samples.NIGHTLY]), 3 * _REST)
    for number in range(7):
        job = window.jobs.add(f"Import rank-{number}.torchcache", "import", samples.PLACE)
        window.jobs.begin(job)
    window.close()
    stage.opened("many-quit", window)
    for job in window.jobs.active:
        window.jobs.end(job, State.CANCELLED)


def _lists(stage: Stage) -> None:
    engines = SampleEngines()
    engines.all_answer = True
    engines.kept, engines.past = sample_many.runs(), sample_many.jobs()
    engines.kept_profiles = sample_many.profiles()
    engines.listed_recipes = sample_many.recipes()
    window = stage.window(engines)
    for name in ("runs", "recipes", "settings", "doctor"):
        if name == "doctor":
            engines.found = {"diagnose": sample_many.found()}
            engines.diagnosed = sample_doctor.HEALTHY
        window.show_page(name)
        turn(1.0)
        stage.take(f"many-{name}", window)
    window.status.activity.click()
    turn(1.0)
    stage.take("many-activity", window)
    stage.close(window)


def _places(stage: Stage) -> None:
    engines = SampleEngines()
    engines.all_answer = True
    engines.overviewed = sample_overview.of_places(40)
    window = stage.window(engines, settings={PAGE: "overview"})
    page = window.show_page("overview")
    assert isinstance(page, OverviewPage)
    turn(5.0, lambda: page.looking.found is not None)
    stage.take("many-places", window, 0.3)
    window.resize(1100, 700)
    stage.take("many-places-narrow", window, 0.3)
    stage.close(window)


SCENES = {
    "few": _few,
    "many": _many,
    "many-lists": _lists,
    "many-places": _places,
}
