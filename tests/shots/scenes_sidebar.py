"""Pictures of the sidebar: places in every state, environments, jobs, and a drop."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent
from PySide6.QtWidgets import QApplication, QWidget

from tests.shots import samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.stage import Stage, turn
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.pages import ENTRIES
from torchkeeper.gui.pages.comparing.page import ComparePage
from torchkeeper.gui.sidebar.lists import FOLDED
from torchkeeper.gui.window import Window

_TEAM, _FULL = "/srv/shared/inductor-team", "/scratch/full/torchinductor_ada"


def _window(stage: Stage, engines: SampleEngines | None = None) -> Window:
    """With five places, of which all is known."""
    window = stage.window(engines or SampleEngines())
    for path in (_TEAM, _FULL, samples.SERVER, samples.NIGHTLY):
        window.places.add(path, bundle=path == samples.NIGHTLY)
    for path, entries, size in (
        (_TEAM, 18_204, 42_800_000_000), (_FULL, 3_120, 9_310_000_000),
        (samples.SERVER, 412_000, 61_400_000_000), (samples.NIGHTLY, 214, 184_300_000),
    ):  # fmt: skip
        window.more.gauge.told(path, entries, size)
    window.more.gauge.look_at_room()
    turn(0.5)
    return window


def _places(stage: Stage) -> None:
    window = _window(stage)
    window.places.set_read_only(_TEAM, True)
    stage.take("sidebar-places", window)
    for place in [place for place in window.places.places if place.added]:
        window.places.remove(window.places.row_of(place.path))
    turn(0.3)
    stage.take("sidebar-few", window)
    stage.close(window)
    window = stage.window(SampleEngines([], places=False))
    stage.take("sidebar-none", window)
    stage.close(window)


def _many(stage: Stage) -> None:
    window = _window(stage)
    for number in range(34):
        path = f"/home/ada/experiments/2026-11-sweep-{number:02}/torchinductor_ada"
        window.places.add(path)
        window.more.gauge.told(path, 40 + number * 71, 3_000_000 * (number + 1) ** 2)
    window.more.gauge.look_at_room()
    turn(1.0)
    stage.take("sidebar-many", window)
    window.places_pane.choose(samples.NIGHTLY)
    stage.take("sidebar-many-end", window)
    stage.close(window)


def _states(stage: Stage) -> None:
    window = _window(stage)
    refused = user_error(
        "server-unreachable", {"place": samples.SERVER, "why": "Connection refused"}
    )
    window.more.gauge.fail(samples.SERVER, refused)
    turn(0.3)
    stage.take("sidebar-unreachable", window)
    job = window.jobs.add("Warm llama.toml", "warm", samples.PLACE)
    window.jobs.begin(job)
    window.jobs.progress(job, 3, 8, "steps")
    job = window.jobs.add("Import nightly.torchcache", "import", _TEAM)
    window.jobs.begin(job)
    turn(0.4)
    stage.take("sidebar-filling", window)
    stage.close(window)


def _environments(stage: Stage) -> None:
    window = stage.window(settings={FOLDED: ["places"]})
    window.here.environments.ask_all()
    turn(0.2)
    window.here.environments.ask_all()
    turn(0.2)
    stage.take("sidebar-environments", window)
    shown = window.more.environments.list
    shown.setCurrentIndex(shown.items.index(1))
    window.update_now()
    window.open_menu(
        "environments", shown.viewport(), shown.visualRect(shown.currentIndex()).center()
    )
    menu = QApplication.activePopupWidget()
    if menu is not None:
        stage.take("menu-of-environments", menu)
        menu.close()
        turn()
    window.here.environments.choose(None)
    stage.take("sidebar-no-verdicts", window)
    stage.close(window)


def _drops(stage: Stage) -> None:
    window = _window(stage)
    shown = window.places_pane.list
    at = shown.visualRect(window.places.index(window.places.row_of(_FULL))).center()
    for name, path in (("", samples.NIGHTLY), ("-folder", "/home/ada/cache")):
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(path)])
        about = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
                 Qt.KeyboardModifier.NoModifier)  # fmt: skip
        QApplication.sendEvent(shown.viewport(), QDragEnterEvent(at, *about))
        QApplication.sendEvent(shown.viewport(), QDragMoveEvent(at, *about))
        stage.take(f"sidebar-drop{name}", window)
        QApplication.sendEvent(shown.viewport(), QDragLeaveEvent())
    stage.close(window)


def _over_window(stage: Stage) -> None:
    window = stage.window(SampleEngines())

    def drag(over: QWidget, at: QPoint, path: str) -> None:
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(path)])
        about = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
                 Qt.KeyboardModifier.NoModifier)  # fmt: skip
        QApplication.sendEvent(over, QDragEnterEvent(at, *about))
        QApplication.sendEvent(over, QDragMoveEvent(at, *about))

    turn(0.3)
    drag(window, QPoint(700, 400), samples.NIGHTLY)
    stage.take("window-drop", window)
    window.show_page("recipes")
    drag(window, QPoint(700, 400), samples.NIGHTLY)
    stage.take("window-drop-refused", window)
    page = window.show_page("compare")
    assert isinstance(page, ComparePage)
    turn(0.1)
    drag(window, page.b.mapTo(window, page.b.rect().center()), "/home/ada/cache")
    stage.take("compare-drop", window)
    window.drops.leave()
    window.show_page(ENTRIES)
    dialog = window.flows.export()
    assert dialog is not None
    drag(dialog, dialog.rect().center(), samples.NIGHTLY)
    stage.dialog("dialog-drop", dialog)
    stage.close(window)


def _folded(stage: Stage) -> None:
    window = stage.window(settings={FOLDED: ["environments"]})
    stage.take("sidebar-folded", window)
    window.actions_["sidebar"].trigger()
    stage.take("sidebar-hidden", window)
    stage.close(window)


SCENES = {
    "sidebar": _places,
    "sidebar-many": _many,
    "sidebar-states": _states,
    "sidebar-environments": _environments,
    "sidebar-drop": _drops,
    "sidebar-folded": _folded,
    "drops": _over_window,
}
