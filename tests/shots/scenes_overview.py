"""Pictures of the overview: nothing, five entries, half a million, gone into, looking, trouble."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QMenu

from tests.shots import sample_overview, samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.stage import Stage, turn
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.pages.overview.page import OverviewPage
from torchkeeper.gui.window import PAGE, Window

_OTHERS = tuple(place for place, _ in sample_overview.PLACES if place != samples.PLACE)


def _opened(stage: Stage, engines: SampleEngines, *others: str) -> tuple[Window, OverviewPage]:
    """others: the places beside those that are found."""
    engines.all_answer = True
    window = stage.window(engines, settings={PAGE: "overview"})
    for path in others:
        window.places.add(path, bundle=path == samples.NIGHTLY)
    page = window.show_page("overview")
    assert isinstance(page, OverviewPage)
    turn(5.0, lambda: page.looking.found is not None or bool(page.looking.error))
    _summed(window, page)
    return window, page


def _summed(window: Window, page: OverviewPage) -> None:
    """What the table was told of the place is less than what the sums say; they come last."""
    turn(5.0, lambda: not window.listing.loading)
    page.refresh()
    turn(5.0, lambda: not page.looking.running)


def _overview(stage: Stage) -> None:
    engines = SampleEngines()
    engines.overviewed = sample_overview.rows(500_000, 214_000_000_000)
    window, page = _opened(stage, engines, *_OTHERS)
    stage.take("overview", window)
    page.show_button.click()
    _popup(stage, "menu-of-shown")
    page.reclaiming.cards["trash"].go.click()
    _popup(stage, "menu-of-reclaimed")
    _summed(window, page)
    page.map.chosen.emit([(samples.PLACE,)])
    page.map.select([(samples.PLACE,)])
    stage.take("overview-selected", window)
    page.map.opened.emit((samples.PLACE,))
    stage.take("overview-place", window)
    page.map.opened.emit(("triton",))
    stage.take("overview-torch", window)
    for name in ("kind", "age", "verdict"):
        page.by.setCurrentIndex(page.by.findData(name))
        page.by.activated.emit(page.by.currentIndex())
        _summed(window, page)
        stage.take(f"overview-by-{name}", window)
    stage.close(window)


def _popup(stage: Stage, name: str) -> None:
    """Take the menu of places that has opened."""
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    stage.menu(name, menu)


def _few(stage: Stage) -> None:
    engines = SampleEngines(samples.entries()[:5])
    engines.overviewed = sample_overview.few()
    window, _ = _opened(stage, engines)
    stage.take("overview-few", window)
    stage.close(window)
    engines = SampleEngines(places=False)
    window = stage.window(engines, settings={PAGE: "overview"})
    stage.take("overview-empty", window)
    stage.close(window)


def _trouble(stage: Stage) -> None:
    engines = SampleEngines()
    rows = sample_overview.rows(50_000, 21_000_000_000)
    engines.overviewed = [row for row in rows if row["place"] != samples.SERVER]
    engines.server_gone = True
    window, page = _opened(stage, engines, *_OTHERS)
    stage.take("overview-unreachable", window)
    engines.failing["overview"] = user_error("engine-bug", {"why": "KeyError: place"})
    page.refresh()
    turn(5.0, lambda: page.looking.error is not None)
    stage.take("overview-failed", window)
    stage.close(window)
    engines = SampleEngines(silent={"overview"})
    engines.all_answer = True
    engines.found = {
        "overview": [{"looking": {"place": "/scratch/ada/cache-llama", "number": 2, "of": 4}}]
    }
    window = stage.window(engines, settings={PAGE: "overview"})
    turn(2.5)
    stage.take("overview-looking", window)
    stage.close(window)


def _guide(stage: Stage) -> None:
    engines = SampleEngines(samples.entries()[:5])
    engines.overviewed = sample_overview.few()
    window, _ = _opened(stage, engines)
    window.guide.bar.show_step(0)
    stage.take("guide", window)
    window.guide.bar.show_step(6)
    stage.take("guide-over", window)
    stage.close(window)


SCENES = {
    "guide": _guide,
    "overview": _overview,
    "overview-few": _few,
    "overview-trouble": _trouble,
}
