"""Pictures of the window: the table, what stands in for it, its bars and its menus."""

from __future__ import annotations

import time

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu

from tests.shots import samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.sample_results import EXPORTED, IMPORTED
from tests.shots.stage import Stage, turn
from torchkeeper.artifacts.entry import measured
from torchkeeper.client.words.pace import Pace
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.gui import CURRENT, theme
from torchkeeper.gui.desktop.dragging import picture
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.widgets import plain
from torchkeeper.gui.window import Window


def _table(stage: Stage) -> None:
    window = stage.window()
    stage.take("window", window)
    window.head.box.setText("kind:fxgraph size>10k")
    stage.take("window-filtered", window)
    window.head.box.setText("conv3d")
    stage.take("window-no-match", window)
    window.head.box.clear()
    turn(0.5)
    window.head.box.setText("size>ten")
    stage.take("window-wrong-filter", window)
    window.head.clear_filter()
    window.table.select({entry.identity for entry in window.entries.shown()[2:7]})
    window.table.setFocus()
    stage.take("window-selected", window)
    stage.close(window)
    window = stage.window(SampleEngines(samples.entries(long=True)), size=(1120, 700))
    window.places.add(samples.LONG_PLACE)
    window.places_pane.choose(samples.LONG_PLACE)
    stage.take("window-long", window)
    stage.close(window)


def _groups(stage: Stage) -> None:
    window = stage.window()
    window.actions_["group-kind"].trigger()
    stage.take("window-by-kind", window)
    window.entries.collapse(window.entries.groups[1:3])
    stage.take("window-collapsed", window)
    window.actions_["group-age"].trigger()
    stage.take("window-by-age", window)
    window.actions_["group-torch"].trigger()
    stage.take("window-by-torch", window)
    stage.close(window)


def _bars(stage: Stage) -> None:
    window = stage.window()
    window.undo_bar.offer(samples.PLACE, window.tr("5 entries (1.2 MB) moved to the trash"), None)
    stage.take("window-undo", window)
    window.undo_bar.hide()
    window.error_bar.tell(
        user_error("place-unwritable", {"place": samples.PLACE, "why": "Permission denied"})
    )
    stage.take("window-error", window)
    window.error_bar.tell(user_error("disk-full", {"place": samples.PLACE}))
    stage.take("window-error-remedies", window)
    window.error_bar.clear()
    window.engines.trouble.emit(
        UserError(
            "The engine stopped before it was done.",
            "It was ended by SIGKILL.\ntorchkeeper: reading 41,000 of 118,200\nMemoryError",
            "The whole log is with the job.",
            code="engine-gone",
        )
    )
    stage.take("window-engine", window)
    window.error_bar.clear()
    stage.close(window)
    closed = [
        {"unreadable": {"path": f"{samples.PLACE}/{name}", "why": "Permission denied"}}
        for name in ("fxgraph/3a", "fxgraph/c7", "aotautograd/q2", "triton/0/RGPAIBNX", "tmp",
                     "locks", "n5")
    ]  # fmt: skip
    window = stage.window(SampleEngines(found={"list": closed}))
    stage.take("window-partly", window)
    stage.close(window)
    cut_off = {
        "place": samples.PLACE, "what": "purge", "outcome": "put-back", "made": 1_795_356_000.0,
        "entries": 412, "files": 1730, "bytes": 61_300_000, "left": 0, "file": "",
    }  # fmt: skip
    window = stage.window()
    window.engines.recovered.emit(cut_off)
    stage.take("window-cut-off", window)
    stage.close(window)


def _owners(stage: Stage) -> None:
    place = samples.PLACE
    bob = {"kind": "user", "number": 1002, "name": "bob"}
    about = {
        "place": place,
        "root": place,
        "path": place,
        "among": place.rpartition("/")[0],
        "mine": True,
        "default": True,
    }
    everyone = {"kind": "all", "number": 0, "name": None}
    everybody = {"what": "writable", "grave": True, **about, "who": everyone,
                 "folders": 41, "files": 118}  # fmt: skip
    left = {"what": "entries", "grave": True, **about, "who": bob, "folders": 0, "files": 2,
            "users": 1}  # fmt: skip
    engines = SampleEngines()
    engines.entries = [
        entry._replace(owner="bob") if number in (2, 9) else entry
        for number, entry in enumerate(engines.entries)
    ]
    engines.owners = [everybody, left]
    window = stage.window(engines)
    window.table.select({entry.identity for entry in window.entries.shown() if entry.owner})
    stage.take("window-owners", window)
    stage.close(window)
    engines = SampleEngines()
    engines.owners = [{"what": "taken", "grave": True, **about, "who": bob}]
    window = stage.window(engines, size=(1120, 700))
    stage.take("window-taken", window)
    stage.close(window)
    engines = SampleEngines()
    team = {"kind": "group", "number": 1500, "name": "ml"}
    engines.owners = [
        {"what": "owner", "grave": False, **about, "who": bob},
        {"what": "writable", "grave": False, **about, "who": team, "folders": 41, "files": 118},
    ]
    window = stage.window(engines)
    stage.take("window-of-a-team", window)
    stage.close(window)


def _jobs(stage: Stage) -> None:
    window = stage.window()
    busy(window)
    stage.take("window-busy", window)
    for job in window.jobs.active:
        window.jobs.end(job, State.CANCELLED)
    # Who looks at the jobs has seen what failed.
    window.status.activity.click()
    window.status.activity.click()
    window.table.setFocus()
    job = window.jobs.add("Import nightly.torchcache", "import", samples.PLACE)
    window.jobs.begin(job)
    halfway(window, job)
    stage.take("window-importing", window)
    imported = {**IMPORTED, "entries": 33, "files": 41, "bytes": 5_000_000}
    window.jobs.end(job, State.DONE, note="33 entries (5.0 MB)", result=imported)
    stage.take("window-job-done", window)
    stage.close(window)
    window = stage.window()
    busy(window)
    for job in window.jobs.active:
        window.jobs.end(job, State.CANCELLED)
    stage.take("window-job-failed", window)
    stage.close(window)


def halfway(window: Window, job: Job) -> None:
    """A running job is amid its bytes, at a steady pace."""
    total = 184_300_000
    job.started = time.time() - 9.2
    job.pace, now = Pace(), time.monotonic()
    for second in range(9):
        job.pace.add(now + second - 8.2, second * 8_400_000, total)
    job.done, job.total, job.unit = 8 * 8_400_000, total, "bytes"
    job.now = "fxgraph/k2/fk2v5qzx7h4wnbd3"
    window.jobs.touch(job)


def busy(window: Window) -> None:
    """One job is done, one has failed, and one runs."""
    jobs = window.jobs
    job = jobs.add("Export to torchinductor_ada.torchcache", "export", None)
    jobs.begin(job)
    job.started = time.time() - 1.3
    exported = {**EXPORTED, "entries": 33, "files": 41, **measured(5_000_000, on_disk=False)}
    jobs.end(job, State.DONE, note="33 entries (5.0 MB)", result=exported)
    job = jobs.add("Import nightly.torchcache", "import", samples.PLACE)
    jobs.begin(job)
    job.started = time.time() - 0.4
    error = user_error(
        "bundle-damaged", {"file": "nightly.torchcache", "why": "It ends in the middle of an entry"}
    )
    jobs.end(job, State.FAILED, error=error)
    job = jobs.add("Warm torchinductor_ada", "warm", samples.PLACE)
    jobs.begin(job)
    job.started = time.time() - 14.2
    job.note = "MLP, batch 64, backward"
    jobs.progress(job, 5, 8, "steps")
    jobs.log(
        job,
        [
            f"Interpreter: {samples.PYTHON}",
            "Device: NVIDIA H200",
            "Step: an op",
            "Graph sin_add: miss, compiled · 3.2 s",
            "Step: MLP, batch 16",
            "Graph mlp.forward: miss, compiled · 2.4 s",
            "Graph mlp.backward: miss, compiled · 2.9 s",
            "Step: MLP, batch 64",
            "Graph mlp.forward: hit · 0.04 s",
        ],
    )


def _empty(stage: Stage) -> None:
    for name, engines in (
        ("window-empty", SampleEngines([])),
        ("window-no-places", SampleEngines([], places=False)),
        ("window-looking", SampleEngines([], silent={"places"})),
    ):
        window = stage.window(engines)
        stage.take(name, window)
        stage.close(window)
    engines = SampleEngines([])
    window = stage.window(engines)
    window.places_pane.list.clearSelection()
    stage.take("window-choose", window)
    window.places_pane.choose(samples.KERNELS)
    engines.failing["list"] = user_error("place-missing", {"place": samples.KERNELS})
    window.refresh()
    stage.take("window-missing", window)
    stage.close(window)
    denied = user_error("place-unreadable", {"place": samples.PLACE, "why": "Permission denied"})
    window = stage.window(SampleEngines(failing={"list": denied}))
    stage.take("window-unreadable", window)
    stage.close(window)


def _reading(stage: Stage) -> None:
    for name, progress in (
        ("window-reading", None),
        ("window-counting", (18_240, None, "files")),
        ("window-progress", (41_000, 118_200, "entries")),
    ):
        engines = SampleEngines(silent={"list"}, progress={"list": progress} if progress else {})
        window = stage.window(engines, settings={CURRENT: samples.PLACE})
        stage.take(name, window)
        if progress is None:
            # As after the seconds for which nothing was heard.
            window.listing.silent = True
            window.listing.changed.emit()
            stage.take("window-silent", window)
        stage.close(window)


def _menus(stage: Stage) -> None:
    window = stage.window()
    window.actions_["group-kind"].trigger()
    window.table.select({entry.identity for entry in window.entries.shown()[2:7]})
    for name in ("llama/gone.bin", "shared/bert-large.torchcache", "llama/nightly.torchcache"):
        window.recent.note(f"/home/ada/{name}")
    window.recent.look()
    turn(0.1)
    for title in ("File", "Edit", "Cache", "View", "Go", "Help"):
        menu = next(
            action.menu() for action in window.menuBar().actions()
            if action.text().replace("&", "") == title
        )  # fmt: skip
        assert isinstance(menu, QMenu)
        stage.menu(f"menu-{title.lower()}", menu)
        within = {"File": ("Open recent",), "View": ("Show only", "Group by", "Columns", "Theme")}
        for inner in within.get(title, ()):
            found = next(x.menu() for x in menu.actions() if inner in x.text().replace("&", ""))
            assert isinstance(found, QMenu)
            stage.menu(f"menu-{inner.partition(' ')[0].lower()}", found)
    for name, over in (("entries", window.table), ("places", window.places_pane.list)):
        window.open_menu(name, over.viewport(), QPoint(40, 60))
        shown = [menu for menu in window.findChildren(QMenu) if menu.isVisible()]
        stage.menu(f"menu-of-{name}", shown[-1])
    stage.close(window)


def _drag(stage: Stage) -> None:
    window = stage.window()
    window.table.select({entry.identity for entry in window.entries.shown()[2:7]})
    window.statusBar().showMessage(
        window.tr("Preparing a bundle, {} of {}: keep holding the button…").format(
            "1.2 MB", "3.4 MB"
        )
    )
    stage.take("window-dragging", window)
    stage.close(window)
    label = plain.Label()
    label.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)
    theme.follow(label, lambda: label.setPixmap(picture("5 entries", label.devicePixelRatioF())))
    label.resize(label.sizeHint())
    label.show()
    stage.take("drag", label)
    label.deleteLater()


def _palette(stage: Stage) -> None:
    for size, typed in (((1360, 800), ""), ((1360, 800), "purge"), ((700, 480), "cache")):
        window = stage.window(size=size)
        window.actions_["palette"].trigger()
        window.palette_.field.setText(typed)
        turn(0.3)
        stage.take(f"palette-{typed or 'all'}", window)
        stage.close(window)


def _completing(stage: Stage) -> None:
    for size in ((1360, 800), (700, 480)):
        window = stage.window(size=size)
        box = window.head.box
        turn(0.3)
        for name, text in (("fields", "i"), ("kinds", "kind:"), ("states", "kind:fxgraph is:")):
            box.setFocus()
            box.setText(text)
            box.setModified(True)
            window.completing.complete()
            turn(0.3)
            stage.take(f"filter-{name}-{size[0]}", window)
        box.setText("is:stale kind:fxgraph")
        window.table.select({entry.identity for entry in window.entries.shown()[:1]})
        window.table.setFocus()
        stage.take(f"filter-chips-{size[0]}", window)
        stage.close(window)


SCENES = {
    "completing": _completing,
    "palette": _palette,
    "table": _table,
    "groups": _groups,
    "bars": _bars,
    "owners": _owners,
    "jobs": _jobs,
    "empty": _empty,
    "reading": _reading,
    "menus": _menus,
    "drag": _drag,
}
